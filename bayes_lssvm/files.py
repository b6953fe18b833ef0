"""Model files: a fitted estimator written and read again; the estimators say what their states are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .base.archive import ModelFileError, open_state
from .estimators.averaged import AveragedLSSVC, AveragedLSSVR
from .estimators.classifier import BayesianLSSVC
from .estimators.fixed_size import FixedSizeLSSVC, FixedSizeLSSVR
from .estimators.fully_bayesian import FullyBayesianLSSVC, FullyBayesianLSSVR
from .estimators.regressor import BayesianLSSVR
from .estimators.state import save
from .multiclass.decodings import DECODINGS

__all__ = ["ModelFileError", "load", "save"]

Classifier = BayesianLSSVC | FullyBayesianLSSVC | AveragedLSSVC | FixedSizeLSSVC
Model = Classifier | BayesianLSSVR | FullyBayesianLSSVR | AveragedLSSVR | FixedSizeLSSVR

_CLASSES: dict[str, Any] = {
    "BayesianLSSVC": BayesianLSSVC,
    "BayesianLSSVR": BayesianLSSVR,
    "FullyBayesianLSSVC": FullyBayesianLSSVC,
    "FullyBayesianLSSVR": FullyBayesianLSSVR,
    "AveragedLSSVC": AveragedLSSVC,
    "AveragedLSSVR": AveragedLSSVR,
    "FixedSizeLSSVC": FixedSizeLSSVC,
    "FixedSizeLSSVR": FixedSizeLSSVR,
}


def load(path: str | Path) -> Model:
    """Read a model that `save` wrote.

    A file from elsewhere can be opened safely: nothing in it is run, and it takes no more memory than a model of its
    shapes. One that is damaged, or not a model, is refused with a `ModelFileError`.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import bayes_lssvm
    >>> from bayes_lssvm.datasets import load
    >>> model = bayes_lssvm.BayesianLSSVC("linear").fit(*load("ripley").Xy)
    >>> path = model.save(pathlib.Path(tempfile.mkdtemp()) / "ripley.npz")
    >>> bayes_lssvm.load(path).kernel_
    Linear()
    """
    with open_state(path) as state:
        kind = state.header["estimator"]
        if kind not in tuple(_CLASSES):
            raise ValueError(f"it holds an estimator of an unknown kind, {kind!r}")
        model: Model = _CLASSES[kind]._from_state(state)
        _require_predictions(model)
        return model


def _require_predictions(model: Model) -> None:
    """Refuse a model that cannot predict at the mean of its inputs: settings and arrays are then not of one model."""
    if isinstance(model, BayesianLSSVC | FullyBayesianLSSVC | FixedSizeLSSVC) and model.decoding not in tuple(
        DECODINGS
    ):
        raise ValueError(f"there is no decoding {model.decoding!r}")
    names = model.__dict__.pop("feature_names_in_", None)
    with np.errstate(all="ignore"):
        rows = model.standardiser_.mean[None]
        found = model.decision_function(rows) if isinstance(model, Classifier) else model.predict(rows)
    if not np.isfinite(found).all():
        raise ValueError("its predictions are not finite numbers")
    if names is not None:
        model.feature_names_in_ = names
