"""
Are the probabilities right?
============================

A reliability diagram on 1000 test points: of the points that get a probability of 0.8, eight in ten should be of the
class. The default is compared with the form of the original paper, which measures the noise on the training rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.datasets import make_ringnorm

train, test = make_ringnorm(150, seed=1), make_ringnorm(1000, seed=2)
models = {"default": BayesianLSSVC(), "paper's form": BayesianLSSVC(prior="flat", moderation="class")}

# %%
# Test points are sorted by their probability of class 1 and cut into ten groups. The bars are two standard errors of
# the share that is expected in a group.

figure, axes = plt.subplots(figsize=(5, 4.6), layout="constrained")
axes.plot([0, 1], [0, 1], "k--", linewidth=1, label="right on average")
for (name, model), colour in zip(models.items(), ("C0", "C1"), strict=True):
    P = model.fit(*train).predict_proba(test[0])[:, 1]
    is_one = test[1] == model.classes_[1]
    groups = np.array_split(np.argsort(P), 10)
    said = np.array([P[group].mean() for group in groups])
    seen = np.array([is_one[group].mean() for group in groups])
    error = 2 * np.sqrt([np.mean(P[group] * (1 - P[group])) / len(group) for group in groups])
    axes.errorbar(
        said, seen, error, fmt="o-", color=colour, capsize=2, label=f"{name}: log loss {log_loss(is_one, P):.3f}"
    )
axes.set(xlabel="mean predicted probability", ylabel="share of class 1", aspect="equal")
axes.legend(loc="upper left")
plt.show()
