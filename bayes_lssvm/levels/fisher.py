"""Regularised kernel Fisher discriminant analysis (paper 0, section 2.4).

    max_w  (wᵀ(m̂₊ − m̂₋))² / (wᵀ S_WC w)        (2.28)        w = S_WC⁻¹(m̂₊ − m̂₋)        (2.29)

with the within-class scatter S_WC = Υ C Υᵀ + γ⁻¹I, where C centres each class on its own mean. For w = Υa the dual
system is (CΩ + γ⁻¹I) a = d, d_i = ±1/N_±: a general linear system that shares nothing with the LS-SVM's solver. Its
direction is the LS-SVM's: w_LSSVM = c·w with c = 2N₊N₋/N · (1 + (N₊N₋/N)(m̂₊ − m̂₋)ᵀw)⁻¹.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve

from ..base.errors import require_positive
from ..base.typing import Array


@dataclass(frozen=True)
class FisherDiscriminant:
    """The discriminant w = Σ_i a_i φ(x_i), without a bias: Fisher's criterion does not give one.

    Attributes
    ----------
    coefficients : array of shape (N,)
        a.
    separation : float
        wᵀ(m̂₊ − m̂₋), the distance of the projected class centres.
    criterion : float
        The maximum of 2.28.
    """

    coefficients: Array
    separation: float
    criterion: float


def class_difference(y: Array) -> Array:
    """D with Υd = m̂₊ − m̂₋: 1/N₊ for the points of class +1 and −1/N₋ for those of class −1."""
    positive = y > 0
    return np.where(positive, 1.0 / positive.sum(), -1.0 / (~positive).sum())


def centre_classes(A: Array, y: Array) -> Array:
    """CA: each row minus the mean of the rows of its class."""
    out = np.array(A, dtype=float)
    for members in (y > 0, y <= 0):
        out[members] -= out[members].mean(axis=0)
    return out


def fisher_discriminant(K: Array, y: Array, gamma: float) -> FisherDiscriminant:
    """Solve 2.29 in the dual for the kernel matrix K of shape (N, N) and labels y = ±1."""
    require_positive("gamma", gamma)
    d = class_difference(y)
    system = centre_classes(K, y)  # CΩ
    system[np.diag_indices_from(system)] += 1.0 / gamma
    a = solve(system, d, overwrite_a=True, check_finite=False)
    return FisherDiscriminant(a, float(d @ K @ a), rayleigh_quotient(K, y, gamma, a))


def rayleigh_quotient(K: Array, y: Array, gamma: float, a: Array) -> float:
    """J_FDA(w) of 2.28 for w = Υa."""
    projections = K @ a
    scatter = centre_classes(projections[:, None], y)[:, 0]
    s = float(scatter @ scatter) + float(a @ projections) / gamma  # 2.27
    return float(class_difference(y) @ projections) ** 2 / s


def lssvm_scale(discriminant: FisherDiscriminant, y: Array) -> float:
    """C with w_LSSVM = c·w_Fisher, from the identity after 2.30 (with the factor N₊N₋/N that holds)."""
    n_plus = int(np.sum(y > 0))
    n_minus = len(y) - n_plus
    weight = n_plus * n_minus / len(y)
    return 2.0 * weight / (1.0 + weight * discriminant.separation)
