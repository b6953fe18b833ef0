"""Kernel principal components, and the LS-SVM as a ridge regression on them (paper 0, sections 2.3 and 4.1).

The bias that is not regularised centres the kernel matrix, so that levels 2 and 3 run on the eigenvalues λ_k of MΩM:
those of kernel principal component analysis (Schölkopf, Smola and Müller, 1998). In the coordinates

    s_k(x) = (φ(x) − m̂_Υ)ᵀ ΥMv_k / √λ_k ,        Σ_i s_k(x_i)² = λ_k ,

the covariance G is diagonal, and the LS-SVM shrinks each coordinate on its own:

    z(x) = ȳ + Σ_k  γ √λ_k / (1 + γλ_k) · (v_kᵀy) · s_k(x) ,        γ_eff = 1 + Σ_k γλ_k / (1 + γλ_k)        (4.4).

All N − 1 components give the LS-SVM itself; fewer give principal component regression with the same shrinkage.
"""

from __future__ import annotations

import numpy as np

from ..base.errors import require_positive
from ..base.typing import Array
from ..kernels import Kernel
from .truncated import LeadingSpectrum


def kernel_pca(kernel: Kernel, X: Array, n_components: int | None = None, *, seed: int = 0) -> LeadingSpectrum:
    """The leading components of inputs X of shape (N, d); all N − 1 of them by default.

    `scores(X_new)` gives the score variables of new inputs, `eigenvalues` the sums of squares of the training scores.

    Examples
    --------
    >>> from bayes_lssvm.datasets import load
    >>> from bayes_lssvm.kernels import RBF
    >>> X = load("ripley").data
    >>> components = kernel_pca(RBF(1.0), X, 3)
    >>> components.scores(X).shape
    (250, 3)
    """
    return LeadingSpectrum.of(kernel, X, len(X) - 1 if n_components is None else n_components, seed=seed)


def score_coefficients(components: LeadingSpectrum, y: Array, gamma: float) -> Array:
    """γ√λ_k / (1 + γλ_k) · v_kᵀy: the LS-SVM's weight of each score variable, for targets y of shape (N,)."""
    require_positive("gamma", gamma)
    shrunk = gamma * np.sqrt(components.eigenvalues) / (1.0 + gamma * components.eigenvalues)
    return np.asarray(shrunk * (components.vectors.T @ y))
