"""Posteriors as ArviZ data: the groups that its tables and plots ask for.

ArviZ wants pointwise log likelihoods, given latent values z = φᵀw + b. In the basis V of the centred kernel matrix they
have independent posteriors,

    a_i | D ~ Normal(λ_i t_i/(λ_i + s), λ_i s/(μ(λ_i + s))),    z = V a + z̄ 1,    z̄ | D ~ Normal(ȳ, 1/(Nζ)),

s = μ/ζ, and given z the targets are independent. A priori a_i ~ Normal(0, λ_i/μ). The bias has a flat prior, from which
nothing can be drawn: prior predictive targets have their mean where the data have it. Rows of weights w_i have the
noise 1/(ζw_i), z = W⁻¹Va + z̄ 1 with V = W^½ times a basis, and z̄ ~ Normal(Σw_iy_i/Σw_i, 1/(ζΣw_i)).

Draws that no sampler made come in four chains all the same, with the statistics that a perfect one would have: the
energy is −log p(θ, D) plus a kinetic energy of its own, half a χ² of as many degrees as there are parameters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._version import __version__
from ..base.arviz import datatree
from ..base.progress import tqdm
from ..base.rows import group_equal_inputs
from ..base.typing import AnyArray, Array
from ..base.weights import weighted_mean
from ..kernels import Kernel
from ..linalg.repeats import decomposed, repeated_inputs
from ..linalg.spectrum import CentredSpectrum
from ..priors import HyperPrior
from .export import Chains, PosteriorState, attributes_of, weights_of

if TYPE_CHECKING:
    from xarray import DataTree

N_CHAINS = 4
_MOST_KERNELS = 64
_LARGEST = 300.0  # log of a scale


def in_chains(points: Array, log_density: Array, rng: np.random.Generator) -> Chains:
    """Independent draws of shape (n, 2 + P), and log p(θ, D) of each, as four chains of n // 4 draws."""
    length = len(points) // N_CHAINS
    kinetic = 0.5 * rng.chisquare(points.shape[1], len(points))
    columns = {"lp": log_density, "energy": kinetic - log_density, "diverging": np.zeros(len(points), dtype=bool)}
    shape = (N_CHAINS, length)
    statistics = {name: values[: N_CHAINS * length].reshape(shape) for name, values in columns.items()}
    return Chains(points[: N_CHAINS * length].reshape(*shape, -1), statistics)


def to_datatree(state: PosteriorState, drawn: Chains, rng: np.random.Generator) -> DataTree:
    """All groups; those of the prior only where there is a proper one."""
    points, statistics = drawn  # [chains, draws, 2 + P]
    shape, flat = points.shape[:2], points.reshape(-1, points.shape[2])
    latent = latent_draws(flat, state.kernel, state.X, state.y, rng, state.sample_weight)
    names = [name for name in state.names if name != "log_gamma"]
    groups: dict[str, dict[str, AnyArray]] = {
        "posterior": _variables(points, names),
        "sample_stats": statistics,
        "log_likelihood": {"y": latent.log_likelihood.reshape(*shape, -1)},
        "posterior_predictive": {"y": latent.replicated.reshape(*shape, -1)},
        "observed_data": {"y": state.y},
        "constant_data": {"X": state.X, **weights_of(state), **_classes(state)},
    }
    n_kernel = points.shape[2] - 2
    if state.prior is not None and all(part.proper for part in state.prior.components(n_kernel)):
        groups |= _of_prior(state, state.prior, points, names, rng)
    features, labels = state.surface.features, state.surface.classes
    if features is not None and state.surface.columns is not None:
        features = tuple(features[column] for column in state.surface.columns)
    coords = {
        "observation": np.arange(len(state.y)),
        "feature": np.arange(state.X.shape[1]) if features is None else np.array(features, dtype=str),
    }
    if labels is not None:
        coords["class"] = np.array([str(label) for label in labels])
    dims = {
        "y": ["observation"],
        "sample_weight": ["observation"],
        "X": ["observation", "feature"],
        "class_frequency": ["class"],
    }
    tree = datatree(groups, dims=dims, coords=coords, attrs=attributes_of(state))
    library = {"inference_library": "bayes_lssvm", "inference_library_version": __version__}
    for group in ("posterior", "prior", "posterior_predictive", "prior_predictive"):
        if group in tree.children:
            tree[group].attrs.update(library)
    tree.attrs.update(library)
    return tree


def _variables(points: Array, names: list[str]) -> dict[str, AnyArray]:
    """Log parameters, log γ among them, and the parameters themselves."""
    logs = {name: points[..., i] for i, name in enumerate(names)}
    logs["log_gamma"] = logs["log_zeta"] - logs["log_mu"]
    # a wide prior has draws whose exponentials are no numbers
    plain = {name.removeprefix("log_"): np.exp(np.clip(value, -700.0, 700.0)) for name, value in logs.items()}
    return {**logs, **plain}


def _classes(state: PosteriorState) -> dict[str, AnyArray]:
    if state.surface.classes is None:
        return {}
    frequencies = [weighted_mean(state.y < 0, state.sample_weight), weighted_mean(state.y > 0, state.sample_weight)]
    return {"class_frequency": np.array(frequencies)}


def _of_prior(
    state: PosteriorState, prior: HyperPrior, points: Array, names: list[str], rng: np.random.Generator
) -> dict[str, dict[str, AnyArray]]:
    """The log prior at the draws, as many draws from the prior, and targets from each of them."""
    parts = prior.components(points.shape[2] - 2)
    size = points.shape[0] * points.shape[1]
    drawn = np.stack([part.sample(size, rng) for part in parts], axis=1)
    replicated = prior_predictive(drawn, state.kernel, state.X, state.y, rng, state.sample_weight)
    at = {name: (part, points[..., i]) for i, (name, part) in enumerate(zip(names, parts, strict=True))}
    return {
        "log_prior": {name: np.asarray(part.log_density(x)) for name, (part, x) in at.items()},
        "prior": _variables(drawn.reshape(points.shape), names),
        "prior_predictive": {"y": replicated.reshape(*points.shape[:2], -1)},
    }


class LatentDraws(NamedTuple):
    """For each draw: latent values, log p(y_i | z_i, ζ) and replicated targets, each of shape (n, N)."""

    z: Array
    log_likelihood: Array
    replicated: Array


def latent_draws(
    points: Array, kernel: Kernel, X: Array, y: Array, rng: np.random.Generator, weights: Array | None = None
) -> LatentDraws:
    """One draw of z for each row (log μ, log ζ, log θ…) of `points`; rows without θ take the kernel as it is."""
    z, own = np.empty((len(points), len(y))), np.ones(len(y)) if weights is None else weights
    for rows, spectrum, factor in _spectra(points[:, 2:], kernel, X, y, weights):
        mu, zeta = np.exp(points[rows, 0])[:, None] / factor, np.exp(points[rows, 1])[:, None]
        s, eigenvalues = mu / zeta, spectrum.eigenvalues
        centre = eigenvalues * spectrum.t / (eigenvalues + s)
        width = np.sqrt(eigenvalues * s / (mu * (eigenvalues + s)))
        a = centre + width * rng.standard_normal(width.shape)
        level = weighted_mean(y, weights) + rng.standard_normal((len(rows), 1)) / np.sqrt(own.sum() * zeta)
        z[rows] = a @ spectrum.vectors.T / own + level
    noise = np.exp(-0.5 * points[:, 1:2]) / np.sqrt(own)
    log_likelihood = -0.5 * ((y - z) / noise) ** 2 - np.log(noise) - 0.5 * np.log(2.0 * np.pi)
    return LatentDraws(z, log_likelihood, z + noise * rng.standard_normal(z.shape))


def prior_predictive(
    points: Array, kernel: Kernel, X: Array, y: Array, rng: np.random.Generator, weights: Array | None = None
) -> Array:
    """Targets, of shape (n, N), from each row (log μ, log ζ, log θ…) of draws from the prior, about the mean of y."""
    own = np.ones(len(y)) if weights is None else weights
    noise = np.exp(np.clip(-0.5 * points[:, 1:2], -_LARGEST, _LARGEST)) / np.sqrt(own)
    found = weighted_mean(y, weights) + noise * rng.standard_normal((len(points), len(y)))
    for rows, spectrum, factor in _spectra(points[:, 2:], kernel, X, y, weights):
        scale = np.exp(np.clip(-0.5 * points[rows, :1], -_LARGEST, _LARGEST)) * np.sqrt(factor)
        a = scale * np.sqrt(spectrum.eigenvalues) * rng.standard_normal((len(rows), len(spectrum.eigenvalues)))
        found[rows] += a @ spectrum.vectors.T / own
    return np.asarray(found)


def _spectra(
    theta: Array, kernel: Kernel, X: Array, y: Array, weights: Array | None
) -> Iterator[tuple[AnyArray, CentredSpectrum, float]]:
    """Rows of draws that share a kernel, its spectrum, and what it has to be multiplied by.

    With one kernel parameter and more than 64 different values of it, draws are put together in 64 groups, from the
    smallest values to the largest, each with the kernel of its median: a decomposition for each row would cost more
    than the draws did. With several parameters every row has its own.
    """
    repeats = repeated_inputs(group_equal_inputs(X, y, weights))
    distinct, group = np.unique(_grouped(theta), axis=0, return_inverse=True)
    group = group.ravel()
    bar = tqdm(range(len(distinct)), desc="latent values", disable=None if len(distinct) > 64 else True, leave=False)
    for g in bar:
        own, factor = (kernel.with_log_params(distinct[g]) if theta.shape[1] else kernel).within_bounds(X)
        K = own(X if repeats is None else repeats.X)
        yield np.flatnonzero(group == g), decomposed(K, y, repeats, weights), factor


def _grouped(theta: Array) -> Array:
    if theta.shape[1] != 1 or len(np.unique(theta)) <= _MOST_KERNELS:
        return theta
    found = np.empty_like(theta)
    for rows in np.array_split(np.argsort(theta[:, 0]), _MOST_KERNELS):
        found[rows] = np.median(theta[rows])
    return found
