"""
A rare class with a price
=========================

One point in ten is a case. The classifier's probabilities already carry that frequency, so that nothing has to be
weighted or over-sampled. What a missed case costs decides how many alarms to raise.
"""

import matplotlib.pyplot as plt
import numpy as np

from bayes_lssvm import BayesianLSSVC

rng = np.random.default_rng(0)


def sample(n):
    is_case = rng.uniform(size=n) < 0.1
    centre = np.where(is_case[:, None], [1.6, 1.0], [0.0, 0.0])
    return centre + rng.normal(size=(n, 2)), is_case.astype(int)


X, y = sample(250)
X_test, y_test = sample(4000)
model = BayesianLSSVC().fit(X, y)
P = model.predict_proba(X_test)[:, 1]
print(f"cases are {y.mean():.1%} of the training rows; their mean probability on test rows is {P.mean():.1%}")

# %%
# The same model decides for different prices of a missed case, in units of a false alarm. No fit is repeated.

prices = [1, 2, 5, 10, 20, 50]
missed, alarms = [], []
for price in prices:
    labels = model.predict(X_test, costs=[[0, 1], [price, 0]])
    missed.append(np.mean(labels[y_test == 1] == 0))
    alarms.append(np.mean(labels[y_test == 0] == 1))

figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
axes.semilogx(prices, missed, "o-", label="missed cases")
axes.semilogx(prices, alarms, "s-", label="false alarms among the others")
axes.set_xticks(prices, [str(price) for price in prices])
axes.set(xlabel="price of a missed case (a false alarm is 1)", ylabel="share", ylim=(0, None))
axes.legend()
plt.show()
