"""`model.plot()`: the display that suits a model, or the one that is asked for."""

from __future__ import annotations

from typing import Any

from .evidence import EvidenceDisplay
from .hyperposterior import HyperposteriorDisplay
from .left_out import LeftOutDisplay
from .relevance import RelevanceDisplay
from .reliability import ReliabilityDisplay
from .surface import DecisionSurfaceDisplay

DISPLAYS: dict[str, Any] = {
    "surface": DecisionSurfaceDisplay,
    "reliability": ReliabilityDisplay,
    "left-out": LeftOutDisplay,
    "evidence": EvidenceDisplay,
    "relevance": RelevanceDisplay,
    "hyperposterior": HyperposteriorDisplay,
}


def suited(model: Any) -> str:
    """The kind of display that says most about a model: its surface if it has one or two inputs."""
    if model.n_features_in_ <= 2 and getattr(model, "X_fit_", None) is not None:
        return "surface"
    if hasattr(model, "X_fit_"):
        return "reliability" if hasattr(model, "classes_") else "left-out"
    return "surface"


def plot_model(model: Any, kind: str | None = None, **options: Any) -> Any:
    """The display of a fitted model, drawn; `kind` is one of `DISPLAYS`."""
    if kind is not None and kind not in DISPLAYS:
        raise ValueError(f"kind must be one of {', '.join(DISPLAYS)}, got {kind!r}.")
    return DISPLAYS[kind or suited(model)].from_estimator(model, **options)
