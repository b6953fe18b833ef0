"""The modes of a program's posterior over a few of its sites, the others held at zero.

Climbs start at points spread over the unconstrained space, the best ones that are apart from each other; an end counts
once. The covariance at a mode is the inverse of minus the Hessian, by differences of gradients. Where there is no
curvature, a direction is as wide as the search; what is made of the modes (starting points, proposals that are accepted
or not) stays right whatever they are.

The best points of a scan lie about the highest mode, and a low and narrow one beside it has none of them. So from every
mode walks lead along each site, down and up, the other sites being climbed again at each step: the profile

    p_i(s) = max { log p(D, x) : x_i = s },   dp_i/ds = ∂ log p/∂x_i at the maximum

falls from the mode on. Where it rises again there is another mode, and a climb from there ends at it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer.util import potential_energy
from scipy.optimize import minimize
from scipy.stats import norm, qmc

from bayes_lssvm.base.typing import Array
from models.log_density import Program

_SCAN = 64  # points, a power of two
_SPREAD = 2.0  # standard deviation of the points, in unconstrained parameters
_CLIMBS = 5
_APART = 1.5  # distance of starts
_SAME = 0.05  # distance of ends, over their standard deviations
_STEP = 1e-4
_WIDEST = 5.0
_HOPELESS = 12.0  # nats below the best mode
_PACES, _GROWTH, _EVEN = 14, 1.3, 8  # steps of a walk, of a standard deviation each; after so many they grow
_DOWN = 25.0  # nats below the highest mode where a walk ends
_INNER = 4  # iterations of the climb of the other sites
_MOST = 8  # modes that are kept


class Mixture(NamedTuple):
    """Modes with their Gaussians, the highest first.

    Attributes
    ----------
    means : array of shape (m, k)
    factors : array of shape (m, k, k)
        Lower triangular; F Fᵀ is a mode's covariance.
    log_weights : array of shape (m,)
        Logs of the shares of Laplace's masses, none below a tenth of the largest.
    """

    means: Any
    factors: Any
    log_weights: Any


class Mode(NamedTuple):
    """Where a climb ended: minus the log density, the point, and a lower triangular factor of the covariance."""

    value: float
    x: Array
    factor: Array


ValueAndGradient = Callable[[Array], tuple[float, Array]]


def find_modes(model: Program, args: tuple[Any, ...], shapes: dict[str, Any], block: tuple[str, ...]) -> Mixture:
    """Modes over the scalar sites of `block`, in this order; call it where 64-bit mode is on."""
    others = {name: jnp.zeros(s.shape) for name, s in shapes.items() if name not in block}
    compiled = _compiled(model, block)

    def at(x: Array) -> tuple[float, Array]:
        value, gradient = compiled(jnp.asarray(x), others, args)
        finite = bool(np.isfinite(value) and np.isfinite(gradient).all())
        return (float(value), np.asarray(gradient)) if finite else (1e150, np.zeros(len(x)))

    ends: list[Mode] = []
    for start in _starts(at, len(block)):
        _climbed(at, start, ends)
    for mode in ends:  # those that walks add are walked from as well
        if mode.value < min(end.value for end in ends) + _HOPELESS:
            for i in range(len(block)):
                for sign in (-1.0, 1.0):
                    _walk(at, mode, i, sign, ends)
    ends.sort(key=lambda end: end.value)
    kept = [end for end in ends if end.value < ends[0].value + _HOPELESS]
    masses = np.array([np.log(np.diag(mode.factor)).sum() - mode.value for mode in kept])
    weights = np.maximum(np.exp(masses - masses.max()), 0.1)
    means, factors = np.stack([mode.x for mode in kept]), np.stack([mode.factor for mode in kept])
    return Mixture(means, factors, np.log(weights / weights.sum()))


def _climbed(at: ValueAndGradient, start: Array, ends: list[Mode]) -> bool:
    """Climb from a start; whether its end is a new one, which is then among them."""
    with np.errstate(all="ignore"):
        found = minimize(at, start, jac=True, method="L-BFGS-B", bounds=[(x - 40.0, x + 40.0) for x in start])
    x, factor = np.asarray(found.x), _factor(at, found.x)
    distances = [np.abs(np.linalg.solve(known.factor, x - known.x)).max() for known in ends]
    new = bool(min(distances, default=np.inf) > _SAME and np.isfinite(found.fun)) and len(ends) < _MOST
    if new:
        ends.append(Mode(float(found.fun), x, factor))
    return new


def _walk(at: ValueAndGradient, mode: Mode, i: int, sign: float, ends: list[Mode]) -> None:
    """Along site i away from a mode until the profile rises, where a climb starts, or is too low to matter."""
    others = np.arange(len(mode.x)) != i
    covariance = mode.factor @ mode.factor.T
    slope = covariance[others, i] / covariance[i, i]  # of the ridge, near the mode
    # given x_i the others are slope·(x_i − m_i) + R⁻¹v with v ~ Normal(0, I), RᵀR their part of P = F⁻ᵀF⁻¹
    R = np.asarray(np.linalg.qr(np.linalg.solve(mode.factor, np.eye(len(mode.x)))[:, others], mode="r"))
    floor = min(end.value for end in ends) + _DOWN
    reach, v, falling = 0.0, np.zeros(int(others.sum())), True

    def placed(v: Array) -> Array:
        x = mode.x + 0.0
        x[i] += reach
        x[others] += slope * reach + np.linalg.solve(R, v)
        return x

    def along(v: Array) -> tuple[float, Array]:
        value, gradient = at(placed(v))
        return value, np.linalg.solve(R.T, gradient[others])

    for pace in range(_PACES):
        reach += sign * np.sqrt(covariance[i, i]) * _GROWTH ** max(0, pace + 1 - _EVEN)
        if len(v):
            with np.errstate(all="ignore"):
                v = minimize(along, v, jac=True, method="L-BFGS-B", options={"maxiter": _INNER, "gtol": 0.1}).x
        value, gradient = at(placed(v))
        if not value < floor:
            return
        rising = sign * gradient[i] < 0.0
        if rising and falling and _climbed(at, placed(v), ends):
            return
        falling = not rising


def _compile(model: Program, block: tuple[str, ...]) -> Callable[..., Any]:
    def potential(x: jax.Array, others: dict[str, jax.Array], args: tuple[Any, ...]) -> jax.Array:
        return potential_energy(model, args, {}, {**others, **dict(zip(block, x, strict=True))})

    return jax.jit(jax.value_and_grad(potential))


_compile_once = lru_cache(maxsize=32)(_compile)


def _compiled(model: Program, block: tuple[str, ...]) -> Callable[..., Any]:
    try:
        return _compile_once(model, block)
    except TypeError:  # a program that cannot be hashed
        return _compile(model, block)


def _starts(at: ValueAndGradient, k: int) -> list[Array]:
    """The best points of a scan that are apart from each other, and the centre."""
    grid = _SPREAD * norm.ppf(np.clip(qmc.Sobol(k, seed=0).random(_SCAN), 1e-3, 1.0 - 1e-3))
    points = np.vstack([np.zeros(k), grid])
    values = np.array([at(x)[0] for x in points])
    chosen: list[Array] = []
    for i in np.argsort(values):
        if all(np.abs(points[i] - known).max() > _APART for known in chosen):
            chosen.append(points[i])
        if len(chosen) == _CLIMBS:
            break
    return chosen


def _factor(at: ValueAndGradient, x: Array) -> Array:
    """Lower triangular F with F Fᵀ the inverse of the Hessian; flat directions are as wide as the search."""
    steps = _STEP * np.eye(len(x))
    hessian = np.stack([(at(x + step)[1] - at(x - step)[1]) / (2.0 * _STEP) for step in steps])
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    covariance = (vectors / np.maximum(values, _WIDEST**-2)) @ vectors.T
    return np.asarray(np.linalg.cholesky(covariance))
