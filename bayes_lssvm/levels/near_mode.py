"""Laplace's evidence near its mode by one Cholesky factor: what a search needs on the way, at half a reduction's cost.

`levels.level2_posterior` finds the mode x̂ of x = (log μ, log ζ) from a tridiagonal reduction, exactly and wherever it
is. While a search of the kernel's parameters θ goes on, x may lag a little behind x̂(θ). At any (x, θ) one Cholesky
factor of Ω + sI, s = μ/ζ, and its inverse give

    log p(D, x, θ) with its gradient in (x, θ),     A = −∂² log p(D, x, θ)/∂x²,     the volume log 2π − ½ log det A

all exact, as A needs no more than q_1 … q_3, tr_1 and tr_2 = ‖R‖². How the volume changes on the way from x to x̂ needs
tr_3 too. With Q = M − sR it is s·tr_3 = tr_2 − tr R²Q, and the last trace is an average of zᵀR²Qz over a few random
signs z, which is good to some per cent: it serves a correction only.

On the way single precision will do as a rule: factor and inverse then cost half, and a gradient loses about 1e-6 γ tr Ω
nats, by which a step is less wrong than by its curvature. Such a look is `rough`. What a search
reports is never of it.

The slope of the volume in θ, with the mode moving, has terms in α, β and η = Rβ, which are exact, and tr R²dΩ and
tr R³dΩ: averages of zᵀR dΩ Rz and zᵀR dΩ R²z over more signs, with a standard error from how groups of them differ, or
exact ones for two products of N × N matrices.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from scipy.linalg.blas import get_blas_funcs

from ..base.typing import AnyArray, Array
from ..kernels import Kernel
from ..linalg.blas import mirror_lower, product, trace_of_product
from ..linalg.factor import ProjectedInverse
from ..linalg.reduction import log_constant
from .level2_posterior import LaplaceDerivative, derivative_around, volume_slopes
from .objective import Objective, evidence_derivative, laplace_weights

__all__ = ["NearMode", "near_mode", "random_signs"]

_FEW, _GROUPS = 8, 4  # signs for a correction and in a group; groups for a slope
_COLUMNS = 256  # at a time
# γ times the trace of the kernel matrix, up to which single precision will do for a step, and the share of it that
# is lost of a gradient: twice what happened on 18 simulated sets with γ times the largest eigenvalue from 1 to 1e5
_SINGLE, _LOST = 2e4, 1e-6

HowExact = Literal["no", "estimated", "exact"]


class NearMode(NamedTuple):
    """Laplace's evidence around a point.

    Attributes
    ----------
    density : float
        log p(D, x, θ).
    gradient : array of shape (2 + P,)
        Of the density, in (log μ, log ζ, log θ).
    precision : array of shape (2, 2)
        A.
    volume : float
        log 2π − ½ log det A, with A as it is to first order at the mode for this θ; nan where A is not positive.
    volume_error : float
        Its standard error, from the signs.
    volume_slope : array of shape (P,) or None
        Its derivative in log θ, the mode moving with θ; where it was asked for.
    slope_error : float
        The largest standard error of these; 0 where they are exact.
    pull : array of shape (2,) or None
        The derivative of the volume in x, about.
    rounding : float
        About what single precision has done to the gradient; 0 in double precision.
    """

    density: float
    gradient: Array
    precision: Array
    volume: float
    volume_error: float
    volume_slope: Array | None = None
    slope_error: float = 0.0
    pull: Array | None = None
    rounding: float = 0.0


def random_signs(n: int, rng: np.random.Generator) -> Array:
    """What traces are averaged over, of shape (N, 32)."""
    return rng.choice([-1.0, 1.0], (n, _FEW * _GROUPS))


def near_mode(
    objective: Objective, kernel: Kernel, x: Array, signs: Array, *, slope: HowExact = "no", rough: bool = False
) -> NearMode:
    """Laplace's evidence with its prior around x = (log μ, log ζ), of shape (2,), for one kernel.

    Parameters
    ----------
    objective : Objective
        With a prior.
    kernel : Kernel
    x : array of shape (2,)
    signs : array of shape (N, 32)
        From `random_signs`, the same along a search.
    slope : {"no", "estimated", "exact"}
        Whether the slope of the volume is wanted, and how: exactly it costs two products of N × N matrices more.
    rough : bool
        Whether single precision will do, where γ is not too large for it. For kernels of one parameter.
    """
    assert objective.prior is not None
    theta = kernel.log_params
    signs = signs if slope == "estimated" else signs[:, :_FEW]
    priors = objective.prior.components(len(theta))
    at = list(zip(priors, [*x.tolist(), *theta.tolist()], strict=True))
    mu, zeta = np.exp(x).tolist()
    n, w, s = len(objective.y), objective.weights, mu / zeta
    noise = np.ones(n) if w is None else 1.0 / w
    size = float(np.sum(kernel.diag(objective.X) / noise)) / s  # above γ times the largest eigenvalue
    single = rough and len(theta) == 1 and slope != "exact" and size < _SINGLE
    K: AnyArray
    dK: AnyArray | None
    if len(theta) == 1:
        K, dK = kernel.lower_with_slope(objective.X, np.float32 if single else np.float64)
    else:
        K, dK = kernel(objective.X), None
    inverse = ProjectedInverse.of(K, s * noise) if dK is None else ProjectedInverse.in_place(K, s * noise)
    log_det = inverse.log_det + float(np.log(inverse.total / np.sum(1.0 / noise)) - np.log(noise).sum())
    R = inverse.lower()
    del inverse  # it holds the memory of R
    y = objective.y - np.average(objective.y, weights=w)
    root = np.sqrt(noise)[:, None]
    once = _times(R, np.column_stack([y, root * signs]))  # α, and R of the signs
    twice = _times(R, noise[:, None] * once)  # β, and R² of them
    alpha, beta = once[:, 0], twice[:, 0]
    q = [float(v) for v in (y @ alpha, alpha @ (noise * alpha), alpha @ (noise * beta), beta @ (noise * beta))]
    tr1, tr2 = float(np.diagonal(R) @ noise), _squares(R, None if w is None else noise)
    few = signs[:, :_FEW]
    hat = few - np.sum(few / root, axis=0) / root / np.sum(1.0 / noise) - s * root * once[:, 1 : _FEW + 1]  # Qz
    third = (tr2 - np.sum(root * twice[:, 1 : _FEW + 1] * hat, axis=0)) / s  # [8], tr_3 by each sign
    tr3 = float(third.mean())
    A1, A2 = s * tr1, s**2 * tr2
    u, p, r = mu * q[0], mu * s * q[1], mu * s**2 * q[2]

    density = 0.5 * ((n - 1) * float(np.log(mu / (2.0 * np.pi))) - u - log_det) + log_constant(n, w)
    density += sum(float(prior.log_density(v)) for prior, v in at)
    along_x = [0.5 * (n - 1 - A1 - u + p), 0.5 * (A1 - p)]
    mixed = A1 - A2 - 2.0 * p + 2.0 * r
    hessian = 0.5 * np.array([[A2 - A1 - u + 3.0 * p - 2.0 * r, mixed], [mixed, A2 - A1 + p - 2.0 * r]])
    precision = np.diag([float(prior.curvature(v)) for prior, v in at[:2]]) - hessian
    eta = _times(R, noise * beta) if slope == "estimated" else None
    moved = None
    if dK is not None:  # one dΩ, and what is to be known of it are products with vectors
        own = [alpha] if eta is None else [alpha, beta, eta, once[:, 1:]]
        moved = _times(dK, np.column_stack(own))
        along_kernel = np.array([0.5 * (mu * float(alpha @ moved[:, 0]) - trace_of_product(R, dK))])
    elif slope == "exact":
        W = np.multiply.outer(mu * alpha, alpha)
        W -= mirror_lower(R)
        along_kernel = 0.5 * kernel.contract(objective.X, W, K)
        del W
    else:
        along_kernel = kernel.contract(objective.X, evidence_derivative(R, alpha, 0.5 * mu), K)
    if slope != "exact":
        del R
    gradient = np.append(along_x, along_kernel) + np.array([float(prior.gradient(v)) for prior, v in at])
    determinant = float(np.linalg.det(precision))
    if not (determinant > 0.0 and precision[0, 0] > 0.0):
        return NearMode(float(density), gradient, precision, np.nan, np.inf)
    rounding = _LOST * size if single else 0.0
    of_x, traces = (priors[0], priors[1]), (tr1, tr2, tr3)
    form, pull = volume_slopes(mu, zeta, precision, of_x, q, traces)
    lag = np.linalg.solve(precision, gradient[:2])
    unsure = 2.0 * abs(float(form[1]) * float(lag[1] - lag[0])) * s**3 * float(third.std(ddof=1)) / np.sqrt(_FEW)
    volume = float(np.log(2.0 * np.pi) - 0.5 * np.log(determinant) + pull @ lag)
    unsure += rounding / n
    found = NearMode(float(density), gradient, precision, volume, unsure, pull=pull, rounding=rounding)
    if slope == "exact":
        R = mirror_lower(R).T
        W = laplace_weights(R, y, alpha, w, lambda q, tr: derivative_around(mu, zeta, precision, of_x, q, tr))
        if dK is not None:
            return found._replace(volume_slope=np.einsum("ij,ij->", W, mirror_lower(dK)) - along_kernel)
        return found._replace(volume_slope=kernel.contract(objective.X, W, K) - along_kernel)
    if eta is None:
        return found
    c = derivative_around(mu, zeta, precision, of_x, q, traces)
    c = c._replace(own=c.own - 0.5 * mu)  # what is left once the density has its share
    vectors = np.column_stack([alpha, beta, eta])
    if dK is not None:
        assert moved is not None
        own_share = float(np.sum(_vector_form(c) * (vectors.T @ moved[:, :3])))
        by_sign = c.square * np.sum(once[:, 1:] * moved[:, 3:], axis=0)
        by_sign += c.cube * np.sum(twice[:, 1:] * moved[:, 3:], axis=0)
        error = float(by_sign.std(ddof=1)) / np.sqrt(len(by_sign))
        return found._replace(volume_slope=np.array([own_share + by_sign.mean()]), slope_error=error)
    slopes = np.array(
        [
            kernel.contract(objective.X, _about(c, vectors, once[:, group], twice[:, group]), K)
            for group in (slice(start, start + _FEW) for start in range(1, once.shape[1], _FEW))
        ]
    )  # [groups, P]
    error = float(slopes.std(axis=0, ddof=1).max()) / np.sqrt(len(slopes))
    return found._replace(volume_slope=slopes.mean(axis=0), slope_error=error)


def _about(c: LaplaceDerivative, vectors: Array, once: Array, twice: Array) -> Array:
    """∂(volume)/∂Ω of shape (N, N), with averages over Rz and R²z, each of shape (N, k), for R² and R³."""
    k, far = once.shape[1], _vector_form(c)
    left = np.column_stack([once, twice, vectors])
    right = np.column_stack([c.square / k * once + 0.5 * c.cube / k * twice, 0.5 * c.cube / k * once, vectors @ far])
    return product(np.ascontiguousarray(left), np.ascontiguousarray(right.T))


def _vector_form(c: LaplaceDerivative) -> Array:
    """The form of α, β and η in ∂(Laplace's evidence)/∂Ω, of shape (3, 3)."""
    return np.array([[c.own, c.mixed, c.far], [c.mixed, c.far, 0.0], [c.far, 0.0, 0.0]])


def _times(R: AnyArray, B: Array) -> Array:
    """RB of shape (N, k) from the lower triangle of R."""
    symm = get_blas_funcs("symm", (R,))
    return np.asarray(symm(1.0, R, np.asarray(B, R.dtype, order="F"), lower=1), dtype=float)


def _squares(R: AnyArray, noise: Array | None) -> float:
    """Σ_ij R_ij² n_i n_j of a symmetric matrix from its lower triangle, with zeros above; n_i = 1 by default."""
    if noise is None:
        return trace_of_product(R, R)
    total = 0.0
    for start in range(0, len(R), _COLUMNS):
        columns = slice(start, start + _COLUMNS)
        total += float((noise @ np.square(R[:, columns])) @ noise[columns])
    return 2.0 * total - float(np.sum((np.diagonal(R) * noise) ** 2))
