"""Laplace's method on any log density: modes from several starts, the Gaussian at each, and the next order.

    log Z ≃ log q(x̂) + ½ d log 2π − ½ log det(−∇² log q(x̂))

at the best mode x̂. In coordinates z with x = x̂ + Lz and LLᵀ the inverse of minus the Hessian, derivatives g_{ijk} of
log q give the terms of the next order (Tierney and Kadane 1986; Shun and McCullagh 1995),

    log Z − Laplace ≃ ⅛ Σ_ij g_iijj + ⅛ Σ_k (Σ_i g_iik)² + 1/12 Σ_ijk g_ijk²

They are differences of Hessians along the axes of z: 2d Hessians and no draws. The largest g_vvv over unit vectors v is
the skewness in the direction in which it is largest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from ..base.errors import NotPositiveSemidefiniteError
from ..base.typing import Array
from ..search.climb import Stop, climb

_FAR = 1e8  # unconstrained parameters: beyond it there is no mode
_CLIMB = Stop(1e-12, 1e-6, 2000, 3000)
_NEWTON_STEPS = 100
_AT_MODE = 1e-8  # Newton decrement, in nats
_SAME_MODE = 0.1  # standard deviations between two that are one
_STEP = 0.01  # of the differences, in standard deviations
_POWER_STEPS = 50
_MOST_DIRECTIONS = 200  # beyond it the differences cost more than sampling


class SmoothDensity(Protocol):
    """A log density with its derivatives."""

    @property
    def dim(self) -> int:
        """Number of parameters d."""

    def log_density(self, x: Array) -> Array:
        """From points of shape (m, d) to (m,)."""

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """At one point of shape (d,)."""

    def hessians(self, x: Array) -> Array:
        """From points of shape (m, d) to (m, d, d)."""


@dataclass(frozen=True)
class Mode:
    """A mode of a density with the Gaussian that fits it.

    Attributes
    ----------
    position : array of shape (d,)
    log_density : float
        log q(x̂).
    covariance : array of shape (d, d)
        Inverse of minus the Hessian.
    log_mass : float
        Laplace's approximation of the integral over this mode.
    """

    position: Array
    log_density: float
    covariance: Array
    log_mass: float

    @classmethod
    def at(cls, position: Array, log_density: float, hessian: Array) -> Mode | None:
        """The mode with this value and Hessian; None where the Hessian is not negative definite."""
        precision = -hessian
        if not np.isfinite(precision).all() or np.linalg.eigvalsh(precision)[0] <= 0.0:
            return None
        log_det = float(np.linalg.slogdet(precision)[1])
        mass = log_density + 0.5 * len(position) * float(np.log(2.0 * np.pi)) - 0.5 * log_det
        return cls(position, log_density, np.asarray(np.linalg.inv(precision)), mass)


class NextOrder(NamedTuple):
    """What follows Laplace's approximation.

    Attributes
    ----------
    correction : float
        The terms of the next order, in nats.
    cubic, quartic : float
        Those of third derivatives, which are positive, and of fourth derivatives.
    skewness : float
        Largest standardised third derivative in any direction.
    """

    correction: float
    cubic: float
    quartic: float
    skewness: float


def find_modes(density: SmoothDensity, starts: Array) -> tuple[Mode, ...]:
    """The modes that climbs from the starts reach, the one of the largest mass first; empty if there is none."""
    modes: list[Mode] = []
    for start in starts:
        mode = _climbed(density, start)
        if mode is not None and not any(_same(mode, known) for known in modes):
            modes.append(mode)
    return tuple(sorted(modes, key=lambda mode: -mode.log_mass))


def _same(mode: Mode, known: Mode) -> bool:
    apart = mode.position - known.position
    return bool(apart @ np.linalg.solve(known.covariance, apart) < _SAME_MODE**2)


def _climbed(density: SmoothDensity, start: Array) -> Mode | None:
    """A climb by gradients, then Newton's method to the top."""
    if not np.isfinite(density.value_and_gradient(start)[0]):
        return None
    bounds = np.tile([-_FAR, _FAR], (density.dim, 1))
    x = climb(density.value_and_gradient, start, bounds, _CLIMB).position
    value, gradient = density.value_and_gradient(x)
    if not (np.isfinite(value) and np.isfinite(gradient).all()):
        # far from its mode a density in bad units can throw the climb out; Newton's steps know the units
        x, (value, gradient) = start, density.value_and_gradient(start)
    for _ in range(_NEWTON_STEPS):
        H = density.hessians(x[None])[0]
        if not (np.isfinite(value) and np.isfinite(H).all() and np.isfinite(gradient).all()):
            return None
        step = _newton_step(gradient, H)
        if step @ gradient < _AT_MODE:
            return Mode.at(x, value, H)
        x, value, gradient, moved = _up(density, x, value, gradient, step)
        if not moved:
            return Mode.at(x, value, H) if step @ gradient < 1e-4 else None
    return None


def _newton_step(gradient: Array, H: Array) -> Array:
    """Newton's step, upwards everywhere: at a saddle or on a slope the curvature's size sets its length.

    Each parameter is measured in its own curvature first, so that units that differ by many powers of ten do no harm.
    """
    curvature = np.abs(np.diag(H))
    scale = 1.0 / np.sqrt(np.maximum(curvature, 1e-20 * curvature.max() + np.finfo(float).tiny))
    eigenvalues, V = np.linalg.eigh(scale[:, None] * H * scale)
    lengths = np.maximum(np.abs(eigenvalues), 1e-10 * np.abs(eigenvalues).max())
    return scale * (V @ ((V.T @ (scale * gradient)) / lengths))


def _up(
    density: SmoothDensity, x: Array, value: float, gradient: Array, step: Array
) -> tuple[Array, float, Array, bool]:
    """The point along the step, halved until the density grows."""
    for _ in range(30):
        new, slope = density.value_and_gradient(x + step)
        if np.isfinite(new) and np.isfinite(slope).all() and new > value:
            return x + step, new, slope, True
        step = 0.5 * step
    return x, value, gradient, False


def next_order(density: SmoothDensity, mode: Mode) -> NextOrder:
    """The terms after Laplace's approximation; NaN in more dimensions than is reasonable."""
    d = density.dim
    if d > _MOST_DIRECTIONS:
        return NextOrder(*(float("nan"),) * 4)
    try:
        L = np.linalg.cholesky(mode.covariance)
    except np.linalg.LinAlgError:
        raise NotPositiveSemidefiniteError("The covariance at the mode has no Cholesky factor.") from None
    points = np.concatenate([mode.position + sign * _STEP * L.T for sign in (-1.0, 0.0, 1.0)])  # rows of Lᵀ are axes
    points[d : 2 * d] = mode.position
    W = L.T @ density.hessians(points) @ L
    below, at, above = W[:d], W[d], W[2 * d :]
    third = (above - below) / (2.0 * _STEP)  # g_ijk, first index the direction
    fourth = (above + below - 2.0 * at) / _STEP**2  # g_iijk
    cubic = float(np.sum(np.einsum("iik->k", third) ** 2) / 8.0 + np.sum(third**2) / 12.0)
    quartic = float(np.einsum("ijj->", fourth) / 8.0)
    return NextOrder(cubic + quartic, cubic, quartic, _largest_cubic(third))


def _largest_cubic(T: Array) -> float:
    """The largest T_vvv over unit vectors v, by the power method of symmetric tensors from each axis."""
    V = np.eye(len(T))
    for _ in range(_POWER_STEPS):
        new = np.einsum("ijk,aj,ak->ai", T, V, V)
        # half of the old vector is kept: the plain iteration may circle
        new = new / np.maximum(np.linalg.norm(new, axis=1, keepdims=True), 1e-300) + 0.5 * V
        V = new / np.maximum(np.linalg.norm(new, axis=1, keepdims=True), 1e-300)
    return float(np.abs(np.einsum("ijk,ai,aj,ak->a", T, V, V, V)).max())
