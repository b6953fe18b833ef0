"""Model files: a fitted estimator as arrays and JSON in one .npz file.

Nothing in such a file is code, and it is read with pickling switched off, so that opening somebody else's model cannot
run anything. The header names the format and its version; a file of another version is refused with a sentence.
"""

from __future__ import annotations

import json
import zipfile
import zlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ._files import write_atomically
from ._typing import AnyArray
from .estimators import BayesianLSSVC, BayesianLSSVR
from .kernels import Kernel, kernel_from_dict
from .level1 import ClassCentres, DualPosterior
from .level2 import Level2, Mode
from .level3 import ErrorBars, Level3
from .standardisation import Standardiser

FORMAT = "bayes-lssvm model"
VERSION = 1
_CLASSES: dict[str, type[BayesianLSSVC] | type[BayesianLSSVR]] = {
    "BayesianLSSVC": BayesianLSSVC,
    "BayesianLSSVR": BayesianLSSVR,
}


_UNREADABLE = (OSError, ValueError, KeyError, TypeError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)


class ModelFileError(ValueError):
    """A file that is not a model, or not one that this version can read."""


def save(model: Any, path: str | Path) -> Path:
    """Write a fitted `BayesianLSSVC` or `BayesianLSSVR`; the file appears whole or not at all."""
    kind = type(model).__name__
    if kind not in _CLASSES:
        raise TypeError(f"Only {' and '.join(_CLASSES)} can be saved, got {kind}.")
    if not hasattr(model, "posterior_"):
        raise ValueError(f"This {kind} is not fitted yet; call fit first.")
    posterior = model.posterior_
    arrays: dict[str, AnyArray] = {
        "X": posterior.X,
        "y": model.y_fit_,
        "alpha": posterior.alpha,
        "inverse_factor": posterior.inverse_factor,
        "kernel_means": posterior.kernel_means,
        "mean": model.standardiser_.mean,
        "scale": model.standardiser_.scale,
    }
    header: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "estimator": kind,
        "params": {name: _plain(value) for name, value in model.get_params(deep=False).items()},
        "kernel": posterior.kernel.to_dict(),
        "intercept": posterior.intercept,
        "level3": asdict(model.level3_),
        "n_features": int(model.n_features_in_),
        "feature_names": list(model.feature_names_in_) if hasattr(model, "feature_names_in_") else None,
        "provenance": model.provenance_,
    }
    if kind == "BayesianLSSVC":
        centres = model.centres_
        classes = model.classes_.astype(str) if model.classes_.dtype.hasobject else model.classes_
        arrays |= {
            "classes": classes,
            "members": centres.members,
            "projected_mean": centres.projected_mean,
            "inner": centres.inner,
            "centre": centres.centre,
        }
        header["zeta_star"] = centres.zeta_star
    arrays["header"] = np.array(json.dumps(header))
    return write_atomically(path, lambda stream: np.savez_compressed(stream, allow_pickle=False, **arrays))


def _plain(value: Any) -> Any:
    if isinstance(value, Kernel):
        return {"kernel": value.to_dict()}
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {"mapping": [[_plain(k), _plain(v)] for k, v in value.items()]}
    return value


def _unplain(value: Any) -> Any:
    if isinstance(value, dict) and set(value) == {"kernel"}:
        return kernel_from_dict(value["kernel"])
    if isinstance(value, dict) and set(value) == {"mapping"}:
        return {k: _unplain(v) for k, v in value["mapping"]}
    return value


def load(path: str | Path) -> BayesianLSSVC | BayesianLSSVR:
    """Read a model that `save` wrote."""
    path = Path(path)
    header, arrays = _read(path)
    if header.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a model file of bayes-lssvm.")
    if header.get("version") != VERSION:
        raise ModelFileError(
            f"{path} has format version {header.get('version')!r}; this version of bayes-lssvm reads version "
            f"{VERSION}. Fit and save the model again."
        )
    try:
        _check(header, arrays)
        return _rebuild(header, arrays)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} is damaged: {error}") from error


def _read(path: Path) -> tuple[dict[str, Any], dict[str, AnyArray]]:
    """Header and arrays; whatever is wrong with the bytes comes out as a `ModelFileError`."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        header = json.loads(str(arrays.pop("header")))
        if not isinstance(header, dict):
            raise ValueError("its header is not a table")
    except (FileNotFoundError, PermissionError):
        raise
    except (*_UNREADABLE, RecursionError) as error:
        raise ModelFileError(f"{path} is not a model file of bayes-lssvm.") from error
    return header, arrays


def _check(header: dict[str, Any], arrays: dict[str, AnyArray]) -> None:
    """Refuse arrays whose types or shapes do not belong together."""
    if header["estimator"] not in tuple(_CLASSES):
        raise ValueError(f"it holds an estimator of an unknown kind, {header['estimator']!r}")
    n, d = arrays["X"].shape
    shapes: dict[str, tuple[int, ...]] = {
        "X": (n, d),
        "y": (n,),
        "alpha": (n,),
        "inverse_factor": (n, n),
        "kernel_means": (n,),
        "mean": (d,),
        "scale": (d,),
    }
    if header["estimator"] == "BayesianLSSVC":
        shapes |= {"members": (n, 2), "projected_mean": (2,), "inner": (2,), "centre": (2, n), "classes": (2,)}
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has the shape {arrays[name].shape}, not {shape}")
        if name not in ("members", "classes") and arrays[name].dtype != np.float64:
            raise ValueError(f"{name} is not an array of double-precision numbers")
    names = header["feature_names"]
    if header["n_features"] != d or (names is not None and len(names) != d):
        raise ValueError(f"its header does not describe {d} inputs")


def _rebuild(header: dict[str, Any], arrays: dict[str, AnyArray]) -> BayesianLSSVC | BayesianLSSVR:
    model: Any = _CLASSES[header["estimator"]](**{k: _unplain(v) for k, v in header["params"].items()})
    spec = header["level3"]
    level2 = Level2(**(spec["level2"] | {"modes": tuple(Mode(*mode) for mode in spec["level2"]["modes"])}))
    bars = {name: ErrorBars(*spec[name]) for name in ("mackay", "hessian")}
    model.level3_ = Level3(**(spec | bars | {"level2": level2, "prior_sd": tuple(spec["prior_sd"])}))
    model.kernel_ = kernel_from_dict(header["kernel"])
    model.posterior_ = DualPosterior(
        model.kernel_,
        arrays["X"],
        arrays["alpha"],
        float(header["intercept"]),
        level2.mu,
        level2.zeta,
        np.asfortranarray(arrays["inverse_factor"]),
        arrays["kernel_means"],
    )
    model.standardiser_ = Standardiser(arrays["mean"], arrays["scale"])
    model.X_fit_, model.y_fit_ = arrays["X"], arrays["y"]
    model.n_features_in_ = header["n_features"]
    if header["feature_names"] is not None:
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    model.refinement_ = None
    model.provenance_ = header["provenance"]
    model._publish()
    if header["estimator"] == "BayesianLSSVC":
        model.classes_ = arrays["classes"]
        model.training_frequencies_ = np.array([np.mean(model.y_fit_ < 0), np.mean(model.y_fit_ > 0)])
        model.centres_ = ClassCentres(
            arrays["members"],
            arrays["projected_mean"],
            arrays["inner"],
            arrays["centre"],
            float(header["zeta_star"]),
        )
        model.zeta_star_ = model.centres_.zeta_star
    rebuilt: BayesianLSSVC | BayesianLSSVR = model
    return rebuilt
