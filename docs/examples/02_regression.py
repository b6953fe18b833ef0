"""
Regression with error bars
==========================

Ninety noisy values of a curve, with a gap. The error bar of the curve opens where there are no data. The error bar of a
new value adds the noise, which is inferred.
"""

import matplotlib.pyplot as plt
import numpy as np

from bayes_lssvm import BayesianLSSVR

rng = np.random.default_rng(2)
x = np.concatenate([rng.uniform(-12, 1, 60), rng.uniform(5, 12, 30)])
y = np.sinc(x / np.pi) + 0.1 * rng.normal(size=x.size)
model = BayesianLSSVR().fit(x[:, None], y)
print(f"noise: {model.zeta_**-0.5:.3f} inferred, 0.100 true")

# %%
# `latent` is the curve with its own error bar, `predict` a new value with the noise on top.

grid = np.linspace(-15, 15, 400)
mean, of_curve = model.latent(grid[:, None], return_std=True)
_, of_value = model.predict(grid[:, None], return_std=True)

figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
axes.fill_between(grid, mean - 2 * of_value, mean + 2 * of_value, color="C0", alpha=0.2, label="new value, ±2 sd")
axes.fill_between(grid, mean - 2 * of_curve, mean + 2 * of_curve, color="C0", alpha=0.4, label="curve, ±2 sd")
axes.plot(grid, mean, "C0", label="prediction")
axes.plot(grid, np.sinc(grid / np.pi), "k--", linewidth=1, label="truth")
axes.plot(x, y, "C1.", label="data")
axes.set(xlabel="x", ylabel="y", ylim=(-1.2, 1.7))
axes.legend(ncols=2, fontsize="small")
plt.show()
