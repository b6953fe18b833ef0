"""Model files: a fitted estimator written and read again; the estimators say what their states are."""

from __future__ import annotations

from pathlib import Path

from .base.archive import ModelFileError, read_state
from .estimators.classifier import BayesianLSSVC
from .estimators.regressor import BayesianLSSVR
from .estimators.state import save

__all__ = ["ModelFileError", "load", "save"]

_CLASSES: dict[str, type[BayesianLSSVC] | type[BayesianLSSVR]] = {
    "BayesianLSSVC": BayesianLSSVC,
    "BayesianLSSVR": BayesianLSSVR,
}


def load(path: str | Path) -> BayesianLSSVC | BayesianLSSVR:
    """Read a model that `save` wrote."""
    state = read_state(path)
    try:
        kind = state.header["estimator"]
        if kind not in tuple(_CLASSES):
            raise ValueError(f"it holds an estimator of an unknown kind, {kind!r}")
        return _CLASSES[kind]._from_state(state)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} is damaged: {error}") from error
