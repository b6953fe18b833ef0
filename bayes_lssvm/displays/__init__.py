"""Displays in scikit-learn's conventions: what a model found, drawn with matplotlib when `plot` is called.

Each has `from_estimator`, and where it makes sense `from_predictions` or `from_posterior`; `plot(ax=None)` draws, and
`ax_` and `figure_` are what was drawn on.
"""

from .evidence import EvidenceDisplay
from .hyperposterior import HyperposteriorDisplay
from .left_out import LeftOutDisplay
from .relevance import RelevanceDisplay
from .reliability import ReliabilityDisplay
from .surface import DecisionSurfaceDisplay

__all__ = [
    "DecisionSurfaceDisplay",
    "EvidenceDisplay",
    "HyperposteriorDisplay",
    "LeftOutDisplay",
    "RelevanceDisplay",
    "ReliabilityDisplay",
]
