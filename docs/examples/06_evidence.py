"""
The evidence against the width of the kernel
============================================

The evidence of the training data alone finds the width of the kernel that predicts test points well. No validation set
takes part.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import log_loss

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.datasets import load
from bayes_lssvm.kernels import RBF

ripley = load("ripley")
widths = np.geomspace(0.15, 15, 25)
models = [BayesianLSSVC(RBF(width), refine=False).fit(*ripley.Xy) for width in widths]
evidence = np.array([model.log_evidence_ for model in models])
loss = np.array([log_loss(ripley.test_target, model.predict_proba(ripley.test_data)) for model in models])
chosen = BayesianLSSVC().fit(*ripley.Xy)
print(
    f"width by the evidence: {chosen.kernel_.sigma:.2f}; best of these on the test points: {widths[loss.argmin()]:.2f}"
)

# %%

figure, (top, bottom) = plt.subplots(2, 1, figsize=(6, 4.8), sharex=True, layout="constrained")
top.semilogx(widths, evidence, "o-", markersize=3)
top.set(ylabel="log evidence (nats)")
bottom.semilogx(widths, loss, "o-", color="C1", markersize=3)
bottom.set(xlabel="width σ of the kernel", ylabel="log loss on test points")
for axes in (top, bottom):
    axes.axvline(chosen.kernel_.sigma, color="black", linestyle="--", linewidth=1)
plt.show()
