"""The Gaussian at a mode, nowhere flatter than the prior: what Laplace's method has where data say little.

A direction of which the data say nothing has a curvature of about zero, which rounding or a plateau can make negative;
the prior's own is a bound that every posterior has in the end.
"""

from __future__ import annotations

import numpy as np

from ..base.typing import Array

_FLATTEST = 1.5  # prior standard deviations


def bounded_gaussian(precision: Array, sd: Array) -> tuple[Array, float]:
    """Covariance Σ of shape (P, P) and log volume ½P log 2π + ½ log det Σ of the Gaussian at a mode.

    Parameters
    ----------
    precision : array of shape (P, P)
        Minus the Hessian, by differences of the gradient; it is made symmetric.
    sd : array of shape (P,)
        The prior's standard deviations, in units of which eigenvalues are bounded from below.
    """
    scaled = 0.5 * (precision + precision.T) * np.outer(sd, sd)
    curvatures, axes = np.linalg.eigh(scaled)
    curvatures = np.maximum(curvatures, _FLATTEST**-2)
    log_volume = 0.5 * len(sd) * np.log(2.0 * np.pi) - 0.5 * np.log(curvatures).sum() + np.log(sd).sum()
    return (axes / curvatures) @ axes.T * np.outer(sd, sd), float(log_volume)
