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
from typing import Any, NamedTuple

import numpy as np

from .base.files import write_atomically
from .base.standardisation import Standardiser
from .base.typing import AnyArray
from .estimators import BayesianLSSVC, BayesianLSSVR
from .estimators.binary import BinaryLSSVC
from .kernels import Kernel, kernel_from_dict
from .levels.level1 import ClassCentres, DualPosterior
from .levels.level2 import Level2, Mode
from .levels.level3 import ErrorBars, Level3, as_prior_sd
from .multiclass.design import design_shared

FORMAT = "bayes-lssvm model"
VERSION = 2
_READABLE = (1, 2)  # 1 had two classes or a number, and no columns left out
_CLASSES: dict[str, type[BayesianLSSVC] | type[BayesianLSSVR]] = {
    "BayesianLSSVC": BayesianLSSVC,
    "BayesianLSSVR": BayesianLSSVR,
}
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, EOFError, NotImplementedError, zipfile.BadZipFile, zlib.error)


class ModelFileError(ValueError):
    """A file that is not a model, or not one that this version can read."""


class Parts(NamedTuple):
    """A model as JSON and arrays."""

    header: dict[str, Any]
    arrays: dict[str, AnyArray]


def save(model: Any, path: str | Path) -> Path:
    """Write a fitted `BayesianLSSVC` or `BayesianLSSVR`; the file appears whole or not at all."""
    kind = type(model).__name__
    if kind not in _CLASSES:
        raise TypeError(f"Only {' and '.join(_CLASSES)} can be saved, got {kind}.")
    if not hasattr(model, "provenance_"):
        raise ValueError(f"This {kind} is not fitted yet; call fit first.")
    header, arrays = _of_members(model) if getattr(model, "multiclass_", None) is not None else _of_one(model)
    header = {"format": FORMAT, "version": VERSION, **header}
    arrays = {**arrays, "header": np.array(json.dumps(header))}
    return write_atomically(path, lambda stream: np.savez_compressed(stream, allow_pickle=False, **arrays))


def _common(model: Any) -> Parts:
    """What models of all kinds have."""
    header = {
        "estimator": "BayesianLSSVC" if isinstance(model, BinaryLSSVC) else type(model).__name__,
        "params": {name: _plain(value) for name, value in model.get_params(deep=False).items()},
        "n_features": int(model.n_features_in_),
        "feature_names": list(model.feature_names_in_) if hasattr(model, "feature_names_in_") else None,
        "provenance": model.provenance_,
    }
    arrays = {"mean": model.standardiser_.mean, "scale": model.standardiser_.scale}
    if hasattr(model, "classes_"):
        arrays["classes"] = model.classes_.astype(str) if model.classes_.dtype.hasobject else model.classes_
    return Parts(header, arrays)


def _of_one(model: Any) -> Parts:
    """A regression, or a classifier for two classes."""
    header, arrays = _common(model)
    posterior = model.posterior_
    arrays |= {
        "X": posterior.X,
        "y": model.y_fit_,
        "alpha": posterior.alpha,
        "inverse_factor": posterior.inverse_factor,
        "kernel_means": posterior.kernel_means,
    }
    header |= {
        "kernel": posterior.kernel.to_dict(),
        "columns": model.columns_.tolist(),
        "intercept": posterior.intercept,
        "level3": asdict(model.level3_),
    }
    if hasattr(model, "centres_"):
        centres = model.centres_
        arrays |= {
            "members": centres.members,
            "projected_mean": centres.projected_mean,
            "inner": centres.inner,
            "centre": centres.centre,
        }
        header["zeta_star"] = centres.zeta_star
    return Parts(header, arrays)


def _of_members(model: Any) -> Parts:
    """A classifier for more than two classes: each member, or what members that share a kernel are designed from."""
    header, arrays = _common(model)
    several = model.multiclass_
    arrays |= {"code_book": several.code_book_, "frequencies": several.training_frequencies_}
    header["log_evidence"] = several.log_evidence_
    if several.design_ is not None:
        header["shared_kernel"] = several.design_.kernel.to_dict()
        arrays |= {"inputs": several.inputs_, "labels": several.labels_}
        return Parts(header, arrays)
    header["members"] = []
    for bit, member in enumerate(several.members_):
        own, its_arrays = _of_one(member)
        header["members"].append(own)
        arrays |= {f"{bit}/{name}": array for name, array in its_arrays.items()}
    return Parts(header, arrays)


def _plain(value: Any) -> Any:
    if isinstance(value, Kernel):
        return {"kernel": value.to_dict()}
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
    if isinstance(value, dict) and set(value) == {"mapping"}:
        return {k: _unplain(v) for k, v in value["mapping"]}
    return value


def load(path: str | Path) -> BayesianLSSVC | BayesianLSSVR:
    """Read a model that `save` wrote."""
    path = Path(path)
    header, arrays = _read(path)
    if header.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a model file of bayes-lssvm.")
    if header.get("version") not in _READABLE:
        raise ModelFileError(
            f"{path} has format version {header.get('version')!r}; this version of bayes-lssvm reads versions "
            f"{' and '.join(map(str, _READABLE))}. Fit and save the model again."
        )
    if header["version"] == 1 and isinstance(header.get("n_features"), int):
        header["columns"] = list(range(header["n_features"]))
    try:
        if header["estimator"] not in tuple(_CLASSES):
            raise ValueError(f"it holds an estimator of an unknown kind, {header['estimator']!r}")
        if "code_book" in arrays:
            return _rebuild_several(header, arrays)
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


def _check_common(header: dict[str, Any], arrays: dict[str, AnyArray]) -> int:
    """The number of inputs, after a look at what describes them."""
    d = int(header["n_features"])
    names = header["feature_names"]
    if names is not None and len(names) != d:
        raise ValueError(f"its header does not describe {d} inputs")
    _check_shapes(arrays, {"mean": (d,), "scale": (d,)})
    return d


def _check_shapes(arrays: dict[str, AnyArray], shapes: dict[str, tuple[int, ...]]) -> None:
    for name, shape in shapes.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{name} has the shape {arrays[name].shape}, not {shape}")
        if name not in ("members", "classes", "labels") and arrays[name].dtype != np.float64:
            raise ValueError(f"{name} is not an array of double-precision numbers")


def _check(header: dict[str, Any], arrays: dict[str, AnyArray]) -> None:
    """Refuse arrays whose types or shapes do not belong together."""
    n, width = arrays["X"].shape
    d = _check_common(header, arrays)
    columns = header["columns"]
    if len(columns) != width or not all(isinstance(c, int) and 0 <= c < d for c in columns):
        raise ValueError(f"its header does not describe {width} inputs")
    shapes: dict[str, tuple[int, ...]] = {
        "X": (n, width),
        "y": (n,),
        "alpha": (n,),
        "inverse_factor": (n, n),
        "kernel_means": (n,),
    }
    if header["estimator"] == "BayesianLSSVC":
        shapes |= {"members": (n, 2), "projected_mean": (2,), "inner": (2,), "centre": (2, n), "classes": (2,)}
    _check_shapes(arrays, shapes)


def _blank(header: dict[str, Any], arrays: dict[str, AnyArray]) -> Any:
    """An estimator with its settings, its inputs' names and scales, and nothing learnt."""
    model: Any = _CLASSES[header["estimator"]](**{k: _unplain(v) for k, v in header["params"].items()})
    model.standardiser_ = Standardiser(arrays["mean"], arrays["scale"])
    model.n_features_in_ = header["n_features"]
    if header["feature_names"] is not None:
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    model.provenance_ = header["provenance"]
    return model


def _rebuild(header: dict[str, Any], arrays: dict[str, AnyArray]) -> BayesianLSSVC | BayesianLSSVR:
    _check(header, arrays)
    model = _blank(header, arrays)
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
    model.X_fit_, model.y_fit_ = arrays["X"], arrays["y"]
    model.columns_ = np.array(header["columns"], dtype=int)
    model.refinement_ = model.press_ = None
    model._publish()
    if header["estimator"] == "BayesianLSSVC":
        model.multiclass_ = None
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


def _rebuild_several(header: dict[str, Any], arrays: dict[str, AnyArray]) -> BayesianLSSVC:
    d, classes = _check_common(header, arrays), len(arrays["classes"])
    _check_shapes(
        arrays, {"classes": (classes,), "frequencies": (classes,), "code_book": (classes, arrays["code_book"].shape[1])}
    )
    model: BayesianLSSVC = _blank(header, arrays)
    several = model._multiclass()
    several.classes_, several.code_book_ = arrays["classes"], arrays["code_book"]
    several.training_frequencies_, several.log_evidence_ = arrays["frequencies"], header["log_evidence"]
    several.standardiser_, several.n_features_in_ = Standardiser.identity(d), d
    several.provenance_, several.design_ = header["provenance"], None
    if "shared_kernel" in header:
        several.inputs_, several.labels_ = arrays["inputs"], arrays["labels"]
        _check_shapes(arrays, {"inputs": (len(several.labels_), d)})
        several.design_ = design_shared(
            several.inputs_,
            several.labels_,
            several.code_book_,
            kernel_from_dict(header["shared_kernel"]),
            refine=False,
            occam=model.occam,
            prior_sd=as_prior_sd(model.prior_sd),
        )
        several.members_ = list(several.design_.members)
    else:
        if len(header["members"]) != several.code_book_.shape[1]:
            raise ValueError(f"it has {len(header['members'])} members for {several.code_book_.shape[1]} bits")
        several.members_ = [
            _rebuild(own, {name[len(f"{bit}/") :]: a for name, a in arrays.items() if name.startswith(f"{bit}/")})
            for bit, own in enumerate(header["members"])
        ]
    model._take_over(several)
    return model
