"""Posteriors as ArviZ data and as netCDF files.

A file holds what `HyperPosterior.to_arviz` gives, so that ArviZ and xarray can read it, and beside it what `load` needs
to predict again. Nothing in it is code.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._version import __version__
from ..base.arviz import datatree, read_netcdf, write_netcdf
from ..base.typing import AnyArray, Array
from ..kernels import kernel_from_dict
from ..priors import hyper_prior_from_dict
from .density import Density
from .latent import latent_draws
from .posterior import Chains, HyperPosterior
from .predictions import PredictionNode, Rows

if TYPE_CHECKING:
    from xarray import DataTree

FORMAT = "bayes-lssvm posterior"
VERSION = 1


class PosteriorFileError(ValueError):
    """A file that is not a posterior, or not one that this version can read."""


def to_datatree(posterior: HyperPosterior, *, draws: int = 1000, seed: int = 0) -> DataTree:
    """The groups posterior, sample_stats, log_likelihood, posterior_predictive, observed_data and constant_data."""
    groups, dims, coords = _groups(posterior, draws, seed)
    return datatree(groups, dims=dims, coords=coords, attrs=_attributes(posterior))


def _groups(
    posterior: HyperPosterior, draws: int, seed: int
) -> tuple[dict[str, dict[str, AnyArray]], dict[str, list[str]], dict[str, Any]]:
    if draws < 4:
        raise ValueError(f"ArviZ data need four draws or more, got {draws!r}.")
    rng = np.random.default_rng(seed)
    points, statistics = _draws(posterior, draws, rng)  # [chains, draws, 2 + P]
    shape, flat = points.shape[:2], points.reshape(-1, points.shape[2])
    density = _density(posterior)
    if density is not None and "lp" not in statistics:
        statistics["lp"] = density.values(flat).reshape(shape)
    kernel, free = posterior.kernel, points.shape[2] > 2
    latent = latent_draws(
        flat, lambda x: kernel.with_log_params(x[2:]) if free else kernel, posterior.X, posterior.y, rng
    )
    logs = {name: points[..., i] for name, i in _columns(posterior).items()}
    logs["log_gamma"] = logs["log_zeta"] - logs["log_mu"]
    variables = {**logs, **{name.removeprefix("log_"): np.exp(value) for name, value in logs.items()}}
    groups: dict[str, dict[str, AnyArray]] = {
        "posterior": variables,
        "sample_stats": statistics,
        "log_likelihood": {"y": latent.log_likelihood.reshape(*shape, -1)},
        "posterior_predictive": {"y": latent.replicated.reshape(*shape, -1)},
        "observed_data": {"y": posterior.y},
        "constant_data": {"X": posterior.X},
    }
    coords = {"observation": np.arange(len(posterior.y)), "feature": np.arange(posterior.X.shape[1])}
    return groups, {"y": ["observation"], "X": ["observation", "feature"]}, coords


def _columns(posterior: HyperPosterior) -> dict[str, int]:
    """Position of each log parameter among (log μ, log ζ, log θ…)."""
    return {name: i for i, name in enumerate(n for n in posterior.names if n != "log_gamma")}


def _draws(posterior: HyperPosterior, draws: int, rng: np.random.Generator) -> tuple[Array, dict[str, AnyArray]]:
    """Draws in chains: the sampler's own, thinned, or independent ones in one chain."""
    if posterior.chains is not None:
        points, statistics = posterior.chains
        step = max(1, -(-points.shape[0] * points.shape[1] // draws))
        return points[:, ::step], {name: values[:, ::step] for name, values in statistics.items()}
    if posterior.sampler is not None:
        points = posterior.sampler.draw_at_nodes(rng.random((draws, posterior.sampler.n_uniforms)))
    else:
        chosen = rng.choice(len(posterior.nodes), size=draws, p=posterior.weights)
        points = np.delete(posterior.nodes[chosen], 2, axis=1)
    return points[None], {}


def _density(posterior: HyperPosterior) -> Density | None:
    if posterior.prior is None:  # a file with a prior of the user's own
        return None
    free = len(posterior.names) - 3
    return Density(posterior.X, posterior.y, posterior.kernel, posterior.prior.components(free))


def _attributes(posterior: HyperPosterior) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "format_version": VERSION,
        "bayes_lssvm_version": __version__,
        "method": posterior.method,
        "log_evidence": posterior.log_evidence,
        "log_evidence_error": posterior.log_evidence_error,
        "tail": posterior.tail,
        "kernel": json.dumps(posterior.kernel.to_dict()),
        "prior": json.dumps(None if posterior.prior is None else posterior.prior.to_dict()),
        "names": json.dumps(posterior.names),
        "diagnostics": json.dumps(posterior.diagnostics, default=_plain),
        "provenance": json.dumps(posterior.provenance, default=_plain),
    }


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else repr(value)


def save(posterior: HyperPosterior, path: str | Path, *, draws: int = 1000, seed: int = 0) -> Path:
    """Write a posterior to a netCDF file."""
    groups, dims, coords = _groups(posterior, draws, seed)
    nodes = posterior.prediction_nodes
    sizes = [len(node.rows.s) for node in nodes]
    groups["rule_data"] = {
        "nodes": posterior.nodes,
        "weights": posterior.weights,
        "points": posterior.points,
        "kernel_log_params": np.array([node.kernel.log_params for node in nodes]).reshape(len(nodes), -1),
        "kernel_weights": np.array([node.weight for node in nodes]),
        "row_kernel": np.repeat(np.arange(len(nodes)), sizes),
        "row_s": np.concatenate([node.rows.s for node in nodes]),
        "row_weight": np.concatenate([node.rows.weight for node in nodes]),
        "row_inverse_mu": np.concatenate([node.rows.inverse_mu for node in nodes]),
    }
    dims |= {
        "nodes": ["node", "parameter"],
        "weights": ["node"],
        "points": ["point", "parameter"],
        "kernel_log_params": ["kernel", "kernel_parameter"],
        "kernel_weights": ["kernel"],
        **{name: ["row"] for name in ("row_kernel", "row_s", "row_weight", "row_inverse_mu")},
    }
    if posterior.chains is not None:
        groups["chains_data"] = {"chain_points": posterior.chains.points, **posterior.chains.statistics}
        dims["chain_points"] = ["chain_number", "draw_number", "hyperparameter"]
        dims |= {name: ["chain_number", "draw_number"] for name in posterior.chains.statistics}
    return write_netcdf(_tree(groups, dims, coords, _attributes(posterior)), path)


def _tree(groups: Any, dims: Any, coords: Any, attributes: dict[str, Any]) -> DataTree:
    # the same names mean draws in sample_stats and plain arrays in chains_data: two trees, then one
    plain = {name: groups.pop(name) for name in ("rule_data", "chains_data") if name in groups}
    drawn = [name for name in dims if name in ("y", "X")]
    tree = datatree(groups, dims={name: dims[name] for name in drawn}, coords=coords, attrs=attributes)
    for name, variables in plain.items():
        tree[name] = datatree({name: variables}, dims={v: dims[v] for v in variables})[name]
    return tree


def load(path: str | Path) -> HyperPosterior:
    """Read a posterior that `save` wrote."""
    tree = read_netcdf(path)
    attributes = tree.attrs
    if attributes.get("format") != FORMAT:
        raise PosteriorFileError(f"{path} is a netCDF file, but not a posterior of bayes-lssvm.")
    if int(attributes.get("format_version", -1)) != VERSION:
        raise PosteriorFileError(
            f"{path} has format version {attributes.get('format_version')}, written by bayes-lssvm "
            f"{attributes.get('bayes_lssvm_version')}; this version reads format {VERSION}. Its groups can still be "
            "read by ArviZ or xarray; make the posterior again to predict with it."
        )
    try:
        return _posterior(tree)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise PosteriorFileError(f"{path} is damaged: {error!r}. Make the posterior again.") from error


def _posterior(tree: DataTree) -> HyperPosterior:
    attributes, rule = tree.attrs, {name: np.asarray(v.values) for name, v in tree["rule_data"].data_vars.items()}
    kernel, prior = kernel_from_dict(json.loads(attributes["kernel"])), json.loads(attributes["prior"])
    nodes = []
    for k, log_params in enumerate(rule["kernel_log_params"]):
        rows = rule["row_kernel"] == k
        found = Rows(rule["row_s"][rows], rule["row_weight"][rows], rule["row_inverse_mu"][rows])
        own = kernel.with_log_params(log_params) if log_params.size else kernel
        nodes.append(PredictionNode(own, float(rule["kernel_weights"][k]), found))
    chains = None
    if "chains_data" in tree.children:
        stored = {str(name): np.asarray(v.values) for name, v in tree["chains_data"].data_vars.items()}
        chains = Chains(stored.pop("chain_points"), stored)
    posterior = HyperPosterior(
        method=str(attributes["method"]),
        kernel=kernel,
        prior=None if prior is None else hyper_prior_from_dict(prior),
        log_evidence=float(attributes["log_evidence"]),
        log_evidence_error=float(attributes["log_evidence_error"]),
        names=tuple(json.loads(attributes["names"])),
        nodes=rule["nodes"],
        weights=rule["weights"],
        X=np.asarray(tree["constant_data"]["X"].values, dtype=float),
        y=np.asarray(tree["observed_data"]["y"].values, dtype=float),
        provenance=json.loads(attributes["provenance"]),
        make_prediction_nodes=lambda: tuple(nodes),
        tail=float(attributes["tail"]),
        diagnostics=json.loads(attributes["diagnostics"]),
        chains=chains,
    )
    posterior.__dict__["points"] = rule["points"]
    return posterior
