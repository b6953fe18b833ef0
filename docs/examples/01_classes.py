"""
Class probabilities on Ripley's data
====================================

A classifier is fitted to 250 points in the plane, with nothing to tune. The figure shows the probability of the second
class: it is sure where there are many points of one class, and not sure between the classes and far from all points.
"""

import matplotlib.pyplot as plt
import numpy as np

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.datasets import load

ripley = load("ripley")
X, y = ripley.Xy
model = BayesianLSSVC().fit(X, y)
print(f"{model.kernel_}: {model.score(*ripley.test_Xy):.1%} of the test points are classified correctly")

# %%
# The probability on a grid that reaches beyond the data.

horizontal, vertical = np.meshgrid(np.linspace(-2, 1.7, 90), np.linspace(-0.7, 1.8, 90))
grid = np.column_stack([horizontal.ravel(), vertical.ravel()])
P = model.predict_proba(grid)[:, 1].reshape(horizontal.shape)

figure, axes = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
filled = axes.contourf(horizontal, vertical, P, levels=np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.8)
axes.contour(horizontal, vertical, P, levels=[0.5], colors="black")
for label, marker in ((0, "o"), (1, "^")):
    axes.scatter(*X[y == label].T, marker=marker, s=14, edgecolor="white", linewidth=0.4, label=f"class {label}")
figure.colorbar(filled, label="probability of class 1")
axes.set(xlabel="first input", ylabel="second input")
axes.legend(loc="lower left")
plt.show()
