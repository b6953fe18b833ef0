"""
Two spirals by the kernels of paper 3
=====================================

The benchmark on which LS-SVMs were introduced: two interlocking spirals of 97 points each. Of the four kernels that the
article lists, only the one that looks at distances can follow them, and the evidence says so without a single test
point: polynomials find no signal. The MLP kernel, tanh(k xᵀz + θ), is not an inner product here and is refused with a
sentence.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.base.errors import BayesLSSVMWarning
from bayes_lssvm.datasets import make_two_spirals
from bayes_lssvm.kernels import MLP, RBF, Linear, Polynomial

X, y = make_two_spirals()
kernels = {
    "linear": Linear(),
    "polynomial, degree 3": Polynomial(3, 1.0),
    "polynomial, degree 7": Polynomial(7, 1.0),
    "radial basis function": RBF(1.0),
}
models = {}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", BayesLSSVMWarning)  # polynomials find no signal, and say so
    for name, kernel in kernels.items():
        models[name] = BayesianLSSVC(kernel).fit(X, y)
        print(f"{name:22} log evidence {models[name].log_evidence_:8.1f}   correct {models[name].score(X, y):4.0%}")
try:
    BayesianLSSVC(MLP(2.0, -1.0), refine=False).fit(X, y)
except ValueError as error:
    print("MLP kernel:", error)

# %%
# The linear system of an LS-SVM can be solved with that kernel all the same. Its solution is no longer the minimum of a
# cost, so that there is no posterior and no probability, but there is a decision: sign(Σ α_i K(x, x_i) + b).

scaled, gamma, mlp = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), 1000.0, MLP(2.0, -1.0)
K, ones = mlp(scaled), np.ones((len(y), 1))
system = np.block([[np.zeros((1, 1)), ones.T], [ones, K + np.eye(len(y)) / gamma]])
b, *alpha = np.linalg.solve(system, np.append(0.0, y))
print(f"MLP kernel, γ = {gamma:g}: correct {np.mean(np.sign(K @ alpha + b) == y):.0%}")

# %%
# The probability of the second spiral by the other three, with the decision surface, where it is a half. White is
# undecided: by a polynomial, nearly everywhere. The last panel has decisions alone.

side = np.linspace(-8, 8, 120)
horizontal, vertical = np.meshgrid(side, side)
grid = np.column_stack([horizontal.ravel(), vertical.ravel()])
shown = ("linear", "polynomial, degree 3", "radial basis function")
maps = {f"{name}: {models[name].log_evidence_:.0f} nats": models[name].predict_proba(grid)[:, 1] for name in shown}
outputs = mlp((grid - X.mean(axis=0)) / X.std(axis=0, ddof=1), scaled) @ alpha + b
maps["MLP: no evidence, decisions only"] = np.where(outputs >= 0.0, 0.75, 0.25)
figure, panels = plt.subplots(2, 2, figsize=(7.5, 6.4), sharex=True, sharey=True, layout="constrained")
for axes, (title, values) in zip(panels.flat, maps.items(), strict=True):
    P = values.reshape(horizontal.shape)
    filled = axes.contourf(horizontal, vertical, P, levels=np.linspace(0, 1, 12), cmap="RdBu_r", alpha=0.8)
    axes.contour(horizontal, vertical, P, levels=[0.5], colors="black", linewidths=0.8)
    for label, colour in ((-1, "black"), (1, "white")):
        axes.scatter(*X[y == label].T, s=9, color=colour, edgecolor="black", linewidth=0.5)
    axes.set_title(title, fontsize=10)
    axes.set_aspect("equal")
figure.colorbar(filled, ax=panels, label="probability of the second spiral", shrink=0.7, ticks=np.linspace(0, 1, 5))
plt.show()
