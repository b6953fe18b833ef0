"""
The hyperparameters integrated out
==================================

The evidence framework fixes μ (the precision of the weights) and ζ (the precision of the noise) at their most probable
values and puts Gaussian error bars around them. Quadrature gives the exact posterior. With a kernel that is far too
wide, the posterior is not Gaussian at all.
"""

import matplotlib.pyplot as plt
import numpy as np

from bayes_lssvm import marginalise
from bayes_lssvm.datasets import load
from bayes_lssvm.kernels import RBF
from bayes_lssvm.priors import Normal

ripley = load("ripley")
X = (ripley.data - ripley.data.mean(axis=0)) / ripley.data.std(axis=0, ddof=1)
y = np.where(ripley.target == 1, 1.0, -1.0)
posteriors = {
    sigma: marginalise(X, y, kernel=RBF(sigma), prior=Normal(0, 3), fixed_kernel=True) for sigma in (1.3, 8.0)
}

# %%
# Draws of the exact posterior, beside the Gaussian of the same mean and standard deviation.

figure, both = plt.subplots(1, 2, figsize=(7.2, 3.2), layout="constrained")
for axes, (sigma, posterior) in zip(both, posteriors.items(), strict=True):
    log_mu = np.asarray(posterior.sample(20000, seed=0)["log_mu"])
    axes.hist(log_mu, bins=80, density=True, color="C0", alpha=0.6, label="exact")
    grid = np.linspace(log_mu.min(), log_mu.max(), 300)
    mean, sd = posterior.mean()["log_mu"], posterior.sd()["log_mu"]
    axes.plot(grid, np.exp(-0.5 * ((grid - mean) / sd) ** 2) / (sd * np.sqrt(2 * np.pi)), "k--", label="Gaussian")
    axes.set(title=f"kernel width {sigma:g}", xlabel="log μ", ylabel="density")
    axes.legend()
plt.show()
