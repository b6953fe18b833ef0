"""What a posterior is made of, and netCDF files of it.

A file holds what `HyperPosterior.to_arviz` gives, so that ArviZ and xarray can read it, and beside it what `load` needs
to predict again. Nothing in it is code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._version import __version__
from ..base.archive import State
from ..base.arviz import datatree, read_netcdf, write_netcdf
from ..base.provenance import data_hash
from ..base.typing import AnyArray, Array
from ..base.weights import check_weights
from ..kernels import Kernel, kernel_from_dict, kernel_to_dict
from ..priors import HyperPrior, hyper_prior_from_dict
from .predictions import PredictionNode, Rows
from .surface import Surface

if TYPE_CHECKING:
    from xarray import DataTree

FORMAT = "bayes-lssvm posterior"
VERSION = 1
_CHECKSUM = "sha256"
_RULE = (
    "nodes",
    "weights",
    "points",
    "kernel_log_params",
    "kernel_weights",
    "row_kernel",
    "row_s",
    "row_weight",
    "row_inverse_mu",
)
_READ = ("constant_data", "observed_data", "rule_data", "chains_data")


class Chains(NamedTuple):
    """Draws as they came: points of shape (chains, draws, 2 + P) and statistics of shape (chains, draws)."""

    points: Array
    statistics: dict[str, AnyArray]


@dataclass(frozen=True)
class PosteriorState:
    """What ArviZ data and files keep of a posterior; `HyperPosterior` says what the fields are."""

    method: str
    kernel: Kernel
    prior: HyperPrior | None
    log_evidence: float
    log_evidence_error: float
    names: tuple[str, ...]
    nodes: Array
    weights: Array
    X: Array
    y: Array
    provenance: dict[str, Any]
    tail: float = np.nan
    diagnostics: dict[str, Any] = field(default_factory=dict)
    chains: Chains | None = field(default=None, repr=False)
    surface: Surface = field(default=Surface(), repr=False)
    sample_weight: Array | None = field(default=None, repr=False)


class Predictive(NamedTuple):
    """What a file keeps beside, to predict and to give intervals: kernels, and points of equal weight."""

    prediction_nodes: tuple[PredictionNode, ...]
    points: Array


class Data(NamedTuple):
    """The rows of a posterior as a file holds them."""

    X: Array
    y: Array
    weights: AnyArray | None


class PosteriorFileError(ValueError):
    """A file that is not a posterior, or not one that this version can read."""


def attributes_of(state: PosteriorState) -> dict[str, Any]:
    """What the root of a tree, or the header of a file, says of a posterior."""
    return {
        "format": FORMAT,
        "format_version": VERSION,
        "bayes_lssvm_version": __version__,
        "method": state.method,
        "log_evidence": state.log_evidence,
        "log_evidence_error": state.log_evidence_error,
        "tail": state.tail,
        "kernel": json.dumps(kernel_to_dict(state.kernel)),
        "prior": json.dumps(None if state.prior is None else state.prior.to_dict()),
        "names": json.dumps(state.names),
        "diagnostics": json.dumps(state.diagnostics, default=_plain),
        "provenance": json.dumps(state.provenance, default=_plain),
        "surface": json.dumps(state.surface.to_dict(), default=_plain),
    }


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else repr(value)


def _kept(state: PosteriorState, predictive: Predictive) -> dict[str, tuple[AnyArray, list[str]]]:
    """What files of any kind hold beside the data: the rule, its points, and kernels with their rows."""
    nodes = predictive.prediction_nodes
    return {
        "nodes": (state.nodes, ["node", "parameter"]),
        "weights": (state.weights, ["node"]),
        "points": (predictive.points, ["point", "parameter"]),
        "kernel_log_params": (
            np.array([node.kernel.log_params for node in nodes]).reshape(len(nodes), -1),
            ["kernel", "kernel_parameter"],
        ),
        "kernel_weights": (np.array([node.weight for node in nodes]), ["kernel"]),
        "row_kernel": (np.repeat(np.arange(len(nodes)), [len(node.rows.s) for node in nodes]), ["row"]),
        "row_s": (np.concatenate([node.rows.s for node in nodes]), ["row"]),
        "row_weight": (np.concatenate([node.rows.weight for node in nodes]), ["row"]),
        "row_inverse_mu": (np.concatenate([node.rows.inverse_mu for node in nodes]), ["row"]),
    }


def posterior_state(state: PosteriorState, predictive: Predictive) -> State:
    """A posterior as JSON and arrays, for model files; chains of draws are not kept."""
    arrays = {name: values for name, (values, _) in _kept(state, predictive).items()}
    arrays |= {"X": state.X, "y": state.y} | weights_of(state)
    return State({"posterior": attributes_of(state)}, arrays)


def weights_of(state: PosteriorState) -> dict[str, AnyArray]:
    """The weights of the rows, where they have any."""
    return {} if state.sample_weight is None else {"sample_weight": state.sample_weight}


def restored_posterior(state: State) -> tuple[PosteriorState, Predictive]:
    """The posterior of `posterior_state`."""
    rule = {name: np.asarray(state.arrays[name]) for name in _RULE}
    data = Data(state.arrays["X"], state.arrays["y"], state.arrays.get("sample_weight"))
    return _restored(state.header["posterior"], rule, data, None)


def save(tree: DataTree, state: PosteriorState, predictive: Predictive, path: str | Path) -> Path:
    """Write a posterior, whose ArviZ data are given, to a netCDF file."""
    _attach(tree, "rule_data", _kept(state, predictive))
    if state.chains is not None:
        own: dict[str, tuple[AnyArray, list[str]]] = {
            "chain_points": (state.chains.points, ["chain_number", "draw_number", "hyperparameter"])
        }
        own |= {name: (v, ["chain_number", "draw_number"]) for name, v in state.chains.statistics.items()}
        _attach(tree, "chains_data", own)
    tree.attrs[_CHECKSUM] = _checksum(tree)
    return write_netcdf(tree, path)


def _checksum(tree: DataTree) -> str:
    """SHA-256 over what `load` reads: the attributes of the root, inputs, targets, rule and chains."""
    told = [f"{k}={v if isinstance(v, str) else float(v)!r}" for k, v in sorted(tree.attrs.items()) if k != _CHECKSUM]
    kept = [(f"{group}/{name}", np.asarray(v.values)) for group in _READ for name, v in sorted(_variables(tree, group))]
    names = "\n".join([*told, *(name for name, _ in kept)])
    return data_hash(np.frombuffer(names.encode(), dtype=np.uint8), *(np.asarray(a, dtype=float) for _, a in kept))


def _variables(tree: DataTree, group: str) -> list[tuple[str, Any]]:
    return [(str(name), v) for name, v in tree[group].data_vars.items()] if group in tree.children else []


def _attach(tree: DataTree, group: str, variables: dict[str, tuple[AnyArray, list[str]]]) -> None:
    """Add a group of plain arrays, which are not draws, each with the names of its axes."""
    arrays = {name: values for name, (values, _) in variables.items()}
    tree[group] = datatree({group: arrays}, dims={name: dims for name, (_, dims) in variables.items()})[group]


def load(path: str | Path) -> tuple[PosteriorState, Predictive]:
    """Read a posterior that `save` wrote."""
    tree = read_netcdf(path)
    attributes = tree.attrs
    if attributes.get("format") != FORMAT:
        raise PosteriorFileError(f"{path} is a netCDF file, but not a posterior of bayes-lssvm.")
    if attributes.get("format_version") != VERSION:
        raise PosteriorFileError(
            f"{path} has format version {attributes.get('format_version')}, written by bayes-lssvm "
            f"{attributes.get('bayes_lssvm_version')}; this version reads format {VERSION}. Its groups can still "
            "be read by ArviZ or xarray; compute the posterior again to predict with it."
        )
    try:
        if _CHECKSUM in attributes and _checksum(tree) != attributes[_CHECKSUM]:  # earlier files have none
            raise ValueError("its checksum does not match its content")
        rule = {str(name): np.asarray(v.values) for name, v in tree["rule_data"].data_vars.items()}
        X = np.asarray(tree["constant_data"]["X"].values, dtype=float)
        y = np.asarray(tree["observed_data"]["y"].values, dtype=float)
        held = tree["constant_data"].data_vars
        weights = np.asarray(held["sample_weight"].values, dtype=float) if "sample_weight" in held else None
        return _restored(attributes, rule, Data(X, y, weights), _chains(tree))
    except Exception as error:  # any exception here comes from what the file says
        raise PosteriorFileError(f"{path} is damaged: {error!r}. Compute the posterior again.") from error


def _chains(tree: DataTree) -> Chains | None:
    if "chains_data" not in tree.children:
        return None
    stored = {str(name): np.asarray(v.values) for name, v in tree["chains_data"].data_vars.items()}
    return Chains(stored.pop("chain_points"), stored)


def _restored(
    attributes: Mapping[Any, Any], rule: dict[str, AnyArray], data: Data, chains: Chains | None
) -> tuple[PosteriorState, Predictive]:
    kernel, prior = kernel_from_dict(json.loads(attributes["kernel"])), json.loads(attributes["prior"])
    nodes = []
    for k, log_params in enumerate(rule["kernel_log_params"]):
        rows = rule["row_kernel"] == k
        found = Rows(rule["row_s"][rows], rule["row_weight"][rows], rule["row_inverse_mu"][rows])
        own = kernel.with_log_params(log_params) if log_params.size else kernel
        nodes.append(PredictionNode(own, float(rule["kernel_weights"][k]), found))
    state = PosteriorState(
        method=str(attributes["method"]),
        kernel=kernel,
        prior=None if prior is None else hyper_prior_from_dict(prior),
        log_evidence=float(attributes["log_evidence"]),
        log_evidence_error=float(attributes["log_evidence_error"]),
        names=tuple(json.loads(attributes["names"])),
        nodes=rule["nodes"],
        weights=rule["weights"],
        X=data.X,
        y=data.y,
        provenance=json.loads(attributes["provenance"]),
        tail=float(attributes["tail"]),
        diagnostics=json.loads(attributes["diagnostics"]),
        chains=chains,
        surface=Surface.from_dict(json.loads(attributes["surface"])) if "surface" in attributes else Surface(),
        sample_weight=check_weights(data.weights, len(data.y), "its sample_weight"),
    )
    _require_finite({**rule, "X": data.X, "y": data.y, "log evidence": np.array(state.log_evidence)})
    return state, Predictive(tuple(nodes), rule["points"])


def _require_finite(arrays: dict[Any, AnyArray]) -> None:
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ValueError(f"{name} holds numbers that are not finite")
