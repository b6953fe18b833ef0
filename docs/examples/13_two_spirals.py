"""
Two spirals by four kernels
===========================

The benchmark on which LS-SVMs were introduced: two interlocking spirals of 97 points each. Only a kernel that looks at
distances can follow them, and the evidence says so without a single test point: polynomials find no signal. The MLP
kernel of the papers, tanh(k xᵀz + θ), is not an inner product here and is refused with a sentence.
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
# The probability of the second spiral, by each of them. White is undecided: by a polynomial, everywhere.

side = np.linspace(-8, 8, 120)
horizontal, vertical = np.meshgrid(side, side)
grid = np.column_stack([horizontal.ravel(), vertical.ravel()])
figure, panels = plt.subplots(2, 2, figsize=(7, 6), sharex=True, sharey=True, layout="constrained")
for axes, (name, model) in zip(panels.flat, models.items(), strict=True):
    P = model.predict_proba(grid)[:, 1].reshape(horizontal.shape)
    filled = axes.contourf(horizontal, vertical, P, levels=np.linspace(0, 1, 12), cmap="RdBu_r", alpha=0.8)
    for label, marker in zip(model.classes_, "o^", strict=True):
        axes.scatter(
            *X[y == label].T, marker=marker, s=9, color="black" if marker == "o" else "white", edgecolor="black"
        )
    axes.set_title(f"{name}: {model.log_evidence_:.0f} nats", fontsize=10)
    axes.set_aspect("equal")
figure.colorbar(filled, ax=panels, label="probability of the second spiral", shrink=0.7)
plt.show()
