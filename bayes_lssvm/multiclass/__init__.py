"""More than two classes: codings, members with moderated outputs, decodings (paper 2)."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .codings import CODINGS, check_code_book, code_book, error_correcting, hamming_distances
from .decodings import (
    DECODINGS,
    PROBABILISTIC,
    bayes_log_posterior,
    couple_pairwise,
    hamming_distance,
    least_cost,
    loss_scores,
    votes,
)
from .design import SharedDesign, design_shared
from .posterior import SharedMember, SharedPosterior
from .search import SharedRefinement

if TYPE_CHECKING:
    from ..estimators.multiclass import MulticlassLSSVC

__all__ = [
    "CODINGS",
    "DECODINGS",
    "PROBABILISTIC",
    "MulticlassLSSVC",
    "SharedDesign",
    "SharedMember",
    "SharedPosterior",
    "SharedRefinement",
    "bayes_log_posterior",
    "check_code_book",
    "code_book",
    "couple_pairwise",
    "design_shared",
    "error_correcting",
    "hamming_distance",
    "hamming_distances",
    "least_cost",
    "loss_scores",
    "votes",
]


def __getattr__(name: str) -> Any:
    """The estimator by the name under which it is known; built on this package, it is loaded when asked for."""
    if name == "MulticlassLSSVC":
        return import_module("bayes_lssvm.estimators.multiclass").MulticlassLSSVC
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
