"""The prior that a design by evidence has unless another is asked for: weak, proper, and free of units.

For labels ±1

    log μ ~ Normal(0, 3)       the model's outputs are of the size of the labels, within a factor of 400 either way
    ζ     ~ Gamma(½, r)        r = 2/(4p₊p₋): as if one label had been seen that was wrong where the model was sure, an
                               error of 2, shared by the classes, whose frequencies are p₊ and p₋

so that labels are never taken for targets without noise, which is what the evidence does where a kernel can
interpolate them. For real targets log μ and log ζ are Normal with a standard deviation of 3 around minus the log
variance of the targets, so that a change of units changes nothing.

The width of an RBF kernel has log σ ~ Normal(log √d, 1): standardised inputs are √(2d) apart, and a kernel far wider
than that is a linear one in disguise. A length scale ℓ of exp(−r²/2ℓ²) has the same prior in terms of σ = √2 ℓ, and the
log of a period is Normal(log ½, 0.7): from 2 to 28 cycles within the range of an input. log α of a rational quadratic
kernel is Normal(0, 1), as it is an RBF kernel where α is large. Other parameters have a standard deviation of 3 around
their natural size. `Kernel.log_prior` has these numbers.
"""

from __future__ import annotations

import numpy as np

from ..base.typing import Array
from ..base.weights import weighted_mean
from ..kernels import Kernel
from ..priors import Gamma, HyperPrior, Normal

_WEAK = 3.0


def default_prior(kernel: Kernel, X: Array, y: Array, *, classes: bool, weights: Array | None = None) -> HyperPrior:
    """The prior for a kernel on standardised inputs X of shape (N, d) and labels ±1 or real targets y of shape (N,).

    Frequencies and variance are weighted where rows have weights; 1/ζ is the noise of a row of weight one.
    """
    if classes:
        return prior_of_labels(kernel, X, float(weighted_mean(y > 0, weights)))
    spread = (
        float(np.var(y)) if weights is None else float(weighted_mean((y - weighted_mean(y, weights)) ** 2, weights))
    )
    return prior_of_targets(kernel, X, spread)


def prior_of_labels(kernel: Kernel, X: Array, plus: float) -> HyperPrior:
    """The prior for labels of which the share `plus` is +1."""
    noise = Gamma(0.5, 0.5 / (plus * (1.0 - plus)))
    return HyperPrior(Normal(0.0, _WEAK), noise, _of_kernel(kernel, X))


def prior_of_targets(kernel: Kernel, X: Array, variance: float) -> HyperPrior:
    """The prior for real targets of a given variance."""
    size = Normal(-float(np.log(variance)) if variance > 0.0 else 0.0, _WEAK)
    return HyperPrior(size, size, _of_kernel(kernel, X))


def _of_kernel(kernel: Kernel, X: Array) -> tuple[Normal, ...]:
    return tuple(Normal(mean, sd) for mean, sd in kernel.log_prior(X).tolist())
