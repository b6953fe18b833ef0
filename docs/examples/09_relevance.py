"""
Which inputs matter?
====================

A kernel with one scale for each input (automatic relevance determination) finds the inputs that matter: here two of
eight.
"""

import matplotlib.pyplot as plt
import numpy as np

from bayes_lssvm import BayesianLSSVR

rng = np.random.default_rng(1)
X = rng.normal(size=(100, 8))
y = np.sin(1.5 * X[:, 0]) + 0.7 * X[:, 1] + 0.5 * rng.normal(size=100)
model = BayesianLSSVR("ard").fit(X, y)
print("relevance:", model.relevance_.round(3))

# %%
# The relevance 1/s² says how fast the function changes along an input.

figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.bar(range(8), model.relevance_, color=["C1", "C1", *["C0"] * 6])
axes.set_xticks(range(8), [f"$x_{i}$" for i in range(8)])
axes.set(ylabel="relevance $1/s_i^2$", title="the first two inputs make the target")
plt.show()
