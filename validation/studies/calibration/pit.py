"""Probability integral transforms: where the truth lies in a posterior, as a number that must be uniform.

If θ is drawn from the prior and D given θ, then F(θ | D) is uniform on (0, 1) for the exact posterior's distribution
function F, and stays so in any subset of the sets that is chosen by the data alone. Three kinds of posterior are read:

    Gaussian            Φ((θ − mean)/sd)
    draws               (rank + U)/(L + 1), U uniform, so that ties and the finite number of draws do no harm
    weighted nodes      Σ_j w_j S((θ − x_j)/h_j)

In the last, S is the integral of Keys' cubic convolution kernel (which reproduces quadratics) and h_j the distance of
the node's neighbours along the parameter: each weight is spread over its own cell, for a sum of steps would be lumpy.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from bayes_lssvm.base.typing import AnyArray, Array

_SAME_ROW = 1e-9  # rounding of log ζ − log μ along a row of equal γ
_NEGLIGIBLE = 1e-10  # share of the heaviest node below which one does not matter


def of_gaussian(truth: float, mean: float, sd: float) -> float:
    """PIT of a Gaussian; a point mass (sd = 0) gives 0 or 1."""
    if sd > 0.0:
        return float(ndtr((truth - mean) / sd))
    return float(truth > mean)


def of_draws(truth: float, draws: Array, rng: np.random.Generator, weights: Array | None = None) -> float:
    """PIT of independent draws of shape (L,), equally or otherwise weighted, randomised within the truth's own step."""
    w = np.full(len(draws), 1.0) if weights is None else np.asarray(weights, dtype=float) * len(draws) / np.sum(weights)
    below, ties = float(w[draws < truth].sum()), float(w[draws == truth].sum())
    return (below + float(rng.uniform()) * (1.0 + ties)) / (len(draws) + 1.0)


def smooth_step(t: Array) -> Array:
    """S(t) = ∫_{−∞}^t of Keys' kernel: 1.5|t|³ − 2.5t² + 1 up to 1, −0.5|t|³ + 2.5t² − 4|t| + 2 up to 2, then 0."""
    a = np.minimum(np.abs(t), 2.0)
    inner = a * (1.0 + a**2 * (0.375 * a - 2.5 / 3.0))
    outer = a * (2.0 + a * (-2.0 + a * (2.5 / 3.0 - 0.125 * a))) - 2.0 / 3.0 + 0.5
    half = np.where(a <= 1.0, inner, outer)  # the integral from 0 to |t|; both are 13/24 at 1
    return np.asarray(0.5 + np.sign(t) * half)


def _spacing(x: Array, new_line: AnyArray) -> Array:
    """Half the distance between a node's neighbours on its line; at the ends of a line, to the only one."""
    gap = np.diff(x)
    linked = ~new_line[1:]
    before = np.concatenate([[0.0], np.where(linked, gap, 0.0)])
    after = np.concatenate([np.where(linked, gap, 0.0), [0.0]])
    neighbours = np.concatenate([[False], linked]).astype(float) + np.concatenate([linked, [False]])
    return np.asarray((before + after) / np.maximum(neighbours, 1.0))


def _pit_on_line(truth: float, x: Array, weights: Array, new_line: AnyArray) -> float:
    h = _spacing(x, new_line)
    step = np.where(h > 0.0, smooth_step((truth - x) / np.where(h > 0.0, h, 1.0)), np.heaviside(truth - x, 0.5))
    return float(np.clip(weights @ step / weights.sum(), 0.0, 1.0))


def of_quadrature(truth: dict[str, float], names: tuple[str, ...], nodes: Array, weights: Array) -> dict[str, float]:
    """PIT of each log parameter from the nodes and weights of `bayes_lssvm.marginal.HyperPosterior`.

    The nodes form a grid of kernels, each with a grid of log γ, each with a row of log μ (and so of log ζ).

    Parameters
    ----------
    truth : dict
    names : tuple of str
        Columns of `nodes`: "log_mu", "log_zeta", "log_gamma" and at most one parameter of the kernel.
    nodes : array of shape (M, len(names))
    weights : array of shape (M,)
    """
    heavy = weights > _NEGLIGIBLE * weights.max()
    column = {name: nodes[heavy, i] for i, name in enumerate(names)}
    kernel = [name for name in names if name not in ("log_mu", "log_zeta", "log_gamma")]
    if len(kernel) > 1:
        raise ValueError(f"A grid of one kernel parameter at most can be read, got {', '.join(kernel)}.")
    theta = column[kernel[0]] if kernel else np.zeros(int(heavy.sum()))
    u = np.round(column["log_gamma"] / _SAME_ROW) * _SAME_ROW
    order = np.lexsort((column["log_mu"], u, theta))
    theta, u, w = theta[order], u[order], weights[heavy][order]
    new_kernel = np.concatenate([[True], np.diff(theta) != 0.0])
    new_row = new_kernel | np.concatenate([[True], np.diff(u) > 2.0 * _SAME_ROW])
    pit = {name: _pit_on_line(truth[name], column[name][order], w, new_row) for name in ("log_mu", "log_zeta")}
    rows = np.flatnonzero(new_row)
    pit["log_gamma"] = _pit_on_line(truth["log_gamma"], u[rows], np.add.reduceat(w, rows), new_kernel[rows])
    if kernel:
        first = np.flatnonzero(new_kernel)
        line = np.arange(len(first)) == 0
        pit[kernel[0]] = _pit_on_line(truth[kernel[0]], theta[first], np.add.reduceat(w, first), line)
    return pit
