"""
Many rows
=========

Five thousand rows would need a kernel matrix of 25 million entries. A model of fixed size uses a few rows as
landmarks and goes over the others once for each step.
"""

import matplotlib.pyplot as plt
import numpy as np

from bayes_lssvm import FixedSizeLSSVC

rng = np.random.default_rng(0)


def crescents(n):
    angle, side = rng.uniform(0, np.pi, n), rng.integers(0, 2, n)
    x = np.column_stack([np.cos(angle) + side, np.where(side, 0.4 - np.sin(angle), np.sin(angle))])
    return x + 0.25 * rng.normal(size=(n, 2)), side


X, y = crescents(5000)
X_test, y_test = crescents(2000)
sizes = [5, 10, 20, 40]
models = [FixedSizeLSSVC(n_landmarks=m, polish=False).fit(X, y) for m in sizes]
accuracy = [model.score(X_test, y_test) for model in models]

# %%
# Predictions settle long before the evidence does.

figure, (left, right) = plt.subplots(1, 2, figsize=(7.2, 3.2), layout="constrained")
left.plot(sizes, accuracy, "o-")
left.set(xlabel="landmarks", ylabel="accuracy on test points")
right.plot(sizes, [model.log_evidence_ for model in models], "o-", label="low rank")
right.plot(sizes, [model.log_evidence_lower_ for model in models], "s--", label="lower bound")
right.set(xlabel="landmarks", ylabel="log evidence (nats)")
right.legend()
plt.show()
