"""A fitted estimator as JSON and arrays, and back: what model files hold."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Self, TypeVar, get_args

import numpy as np

from ..base.archive import State, write_state
from ..base.encoding import Encoding
from ..base.errors import require_positive
from ..base.standardisation import Standardiser
from ..kernels import EXTRA, Kernel, Precomputed, kernel_from_dict, kernel_to_dict
from ..levels.grown import GrownPosterior
from ..levels.level1 import DualPosterior
from ..levels.level2 import Level2, Mode, Status
from ..levels.level3 import ErrorBars, Level3
from ..priors import HyperPrior, LogPrior, as_hyper_prior, hyper_prior_from_dict

Model = TypeVar("Model")
KINDS = tuple(f"{kind}LSSV{task}" for kind in ("Bayesian", "FullyBayesian", "Averaged", "FixedSize") for task in "CR")


def save(model: Any, path: str | Path) -> Path:
    """Write a fitted model of one of `KINDS`; the file appears whole or not at all.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import bayes_lssvm
    >>> from bayes_lssvm.datasets import load
    >>> model = bayes_lssvm.BayesianLSSVC("linear").fit(*load("ripley").Xy)
    >>> bayes_lssvm.save(model, pathlib.Path(tempfile.mkdtemp()) / "ripley.npz").name
    'ripley.npz'
    """
    kind = type(model).__name__
    if kind not in KINDS:
        raise TypeError(f"Only {', '.join(KINDS[:-1])} and {KINDS[-1]} can be saved, got {kind}.")
    if not hasattr(model, "provenance_"):
        raise ValueError(f"This {kind} is not fitted yet; call fit first.")
    return write_state(model._state(), path)


class Saved:
    """An estimator that is written to a file and read again: `_state` says what was found, `_restore` takes it up."""

    def save(self, path: str | Path) -> Path:
        """Write the fitted model to a file of arrays and JSON; `bayes_lssvm.load` reads it."""
        return save(self, path)

    @classmethod
    def _from_state(cls, state: State) -> Self:
        """The fitted estimator that has this state."""
        model = with_surface(cls, state)
        model._restore(state)
        return model

    @abstractmethod
    def _state(self) -> State:
        """All that was found, as JSON and arrays."""

    @abstractmethod
    def _restore(self, state: State) -> None:
        """What was found, from a state."""


# --- settings and scales, which models of all kinds have -------------------------------------------------------------


def surface_state(model: Any) -> State:
    """Settings, names and scales of the inputs, labels."""
    header = {
        "estimator": model._saved_as,
        "params": {name: _plain(value) for name, value in model.get_params(deep=False).items()},
        "n_features": int(model.n_features_in_),
        "feature_names": list(model.feature_names_in_) if hasattr(model, "feature_names_in_") else None,
        "provenance": model.provenance_,
    }
    if hasattr(model, "encoding_"):
        header["encoding"] = model.encoding_.to_dict()
    if model._takes_matrices:
        header["precomputed"] = kernel_to_dict(model.precomputed_)
    arrays = {"mean": model.standardiser_.mean, "scale": model.standardiser_.scale}
    if hasattr(model, "classes_"):
        arrays["classes"] = model.classes_.astype(str) if model.classes_.dtype.hasobject else model.classes_
    return State(header, arrays)


def with_surface(cls: type[Model], state: State) -> Model:
    """An estimator with its settings, the names and scales of its inputs, and nothing learnt."""
    header, arrays = state
    d, names = header["n_features"], header["feature_names"]
    described = isinstance(d, int) and not isinstance(d, bool)
    if names is not None:
        described = described and len(names) == d and all(isinstance(name, str) for name in names)
    if not described:
        raise ValueError(f"its header does not describe {d} inputs")
    state.require_shapes({"mean": (d,), "scale": (d,)})
    model: Any = cls(**{name: _unplain(value) for name, value in header["params"].items()})
    model.standardiser_ = Standardiser(arrays["mean"], arrays["scale"])
    if not (model.standardiser_.scale > 0).all():
        raise ValueError("scale holds numbers that are not positive")
    model.n_features_in_ = d
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    model.provenance_ = header["provenance"]
    if "encoding" in header:  # of a table with columns that were not all numbers, or that the command line read
        model.encoding_ = Encoding.from_dict(header["encoding"])
        if list(model.encoding_.inputs) != names:
            raise ValueError("its encoding does not match its inputs")
    if model._takes_matrices:
        model.precomputed_ = Precomputed(_finite("diagonal", header["precomputed"]["diagonal"]))
    whole: Model = model
    return whole


def _plain(value: Any) -> Any:
    if isinstance(value, Kernel):
        return {"kernel": kernel_to_dict(value)}
    if isinstance(value, HyperPrior | LogPrior):
        return {"prior": as_hyper_prior(value).to_dict()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, dict):
        return {"mapping": [[_plain(k), _plain(v)] for k, v in value.items()]}
    return value


def _unplain(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"kernel"}:
        return kernel_from_dict(value["kernel"])
    if isinstance(value, dict) and set(value) == {"prior"}:
        return None if value["prior"] is None else hyper_prior_from_dict(value["prior"])
    if isinstance(value, dict) and set(value) == {"mapping"}:
        return {k: _unplain(v) for k, v in value["mapping"]}
    if isinstance(value, list):
        return [_unplain(v) for v in value]
    return value


# --- what the evidence framework found for one target ----------------------------------------------------------------


def design_state(model: Any) -> State:
    """The design of a regressor or of a classifier of two classes: levels 1 to 3."""
    posterior = model.posterior_
    header = {
        "kernel": kernel_to_dict(posterior.kernel),
        "columns": model.columns_.tolist(),
        "intercept": posterior.intercept,
        "level3": asdict(model.level3_),
        "log_evidence": model.log_evidence_,
    }
    if isinstance(posterior, GrownPosterior):
        header["n_first"] = posterior.n_first
    arrays = {
        "X": posterior.X,
        "y": model.y_fit_,
        "alpha": posterior.alpha,
        "inverse_factor": posterior.inverse_factor,
        "kernel_means": posterior.kernel_means,
    }
    if posterior.weights is not None:
        arrays["weights"] = posterior.weights
    return State(header, arrays)


def restore_design(model: Any, state: State) -> None:
    """The design into an estimator whose surface is restored; what does not belong together is refused."""
    header, arrays = state
    n, width = state.shape("X")
    columns = header["columns"]
    most = model.n_features_in_ + (EXTRA if model._takes_matrices else 0)
    if len(columns) != width or not all(isinstance(c, int) and 0 <= c < most for c in columns):
        raise ValueError(f"its header does not describe {width} inputs")
    state.require_shapes({"X": (n, width), "y": (n,), "alpha": (n,), "inverse_factor": (n, n), "kernel_means": (n,)})
    weights = arrays.get("weights")
    if weights is not None:
        state.require_shapes({"weights": (n,)})
        if not (weights > 0.0).all():
            raise ValueError("weights holds numbers that are not positive")
    model.weights_ = weights
    first = header.get("n_first", n)  # the rows that the hyperparameters were chosen on; others came later
    if not isinstance(first, int) or not 0 < first <= n:
        raise ValueError(f"its header does not describe {n} points")
    model.level3_ = _level3(header["level3"], first)
    model.kernel_ = kernel_from_dict(header["kernel"])
    model.kernel_.check_width(width)
    level2 = model.level3_.level2
    model.X_fit_, model.y_fit_ = arrays["X"], arrays["y"]
    posterior = DualPosterior(
        model.kernel_,
        model.X_fit_,
        arrays["alpha"],
        _finite("intercept", header["intercept"]),
        level2.mu,
        level2.zeta,
        np.asfortranarray(arrays["inverse_factor"]),
        arrays["kernel_means"],
        weights,
    )
    model.posterior_ = posterior if "n_first" not in header else replace(GrownPosterior.of(posterior), n_first=first)
    model.columns_ = np.array(columns, dtype=int)
    model.refinement_ = model.press_ = None


def _level3(spec: dict[str, Any], n: int) -> Level3:
    """Levels 2 and 3 of a model of n points; error bars may be undefined, the parameters themselves may not."""
    level2 = Level2(**(spec["level2"] | {"modes": tuple(Mode(*map(_number, m)) for m in spec["level2"]["modes"])}))
    for name in ("mu", "zeta", "gamma"):
        require_positive(f"its {name}", getattr(level2, name))
    for name in ("gamma_eff", "d_eff", "log_evidence", "log_gain"):
        _finite(name, getattr(level2, name))
    if level2.n != n or level2.status not in get_args(Status):
        raise ValueError(f"its header does not describe {n} points")
    bars = {name: ErrorBars(*map(_number, spec[name])) for name in ("mackay", "hessian")}
    level3 = Level3(**(spec | bars | {"level2": level2, "prior_sd": tuple(map(_number, spec["prior_sd"]))}))
    for name in ("log_evidence", "log_evidence_without_occam", "log_occam_factor"):
        _finite(name, getattr(level3, name))
    return level3


def _number(value: Any) -> float:
    """A number of a header, which may be nan or infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{value!r} was found where a number was expected")
    return float(value)


def _finite(name: str, value: Any) -> float:
    if not math.isfinite(_number(value)):
        raise ValueError(f"its {name} is {value!r}, not a finite number")
    return float(value)
