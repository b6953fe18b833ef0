"""
Three classes
=============

The iris flowers by the length and width of their petals. Classes are told apart in pairs, and pairwise coupling brings
the probabilities together.
"""

import matplotlib.pyplot as plt
import numpy as np

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.datasets import load

iris = load("iris")
X, y = iris.data[:, 2:], iris.target
model = BayesianLSSVC().fit(X, y)

# %%
# Each colour stands for a class; where colours mix, the classifier is not sure.

horizontal, vertical = np.meshgrid(np.linspace(0.5, 7.5, 80), np.linspace(-0.2, 2.9, 80))
P = model.predict_proba(np.column_stack([horizontal.ravel(), vertical.ravel()]))
colours = np.array([plt.get_cmap("Set2")(i)[:3] for i in range(3)])
image = (P @ colours).reshape(*horizontal.shape, 3)

figure, axes = plt.subplots(figsize=(6, 4.2), layout="constrained")
axes.imshow(image, origin="lower", extent=(0.5, 7.5, -0.2, 2.9), aspect="auto", interpolation="bilinear")
for label, colour in zip(model.classes_, colours, strict=True):
    axes.scatter(*X[y == label].T, color=colour, edgecolor="black", s=22, label=f"class {label}")
axes.set(xlabel="petal length (cm)", ylabel="petal width (cm)")
axes.legend(loc="upper left")
plt.show()
