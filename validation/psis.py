"""PSIS-LOO by ArviZ, whose warnings of large k̂ are silenced: k̂ is what the study looks at.

Silencing changes the filters of the whole process, which the library never does; a study's process is its own.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayes_lssvm.base.typing import Array

if TYPE_CHECKING:
    from xarray import DataTree

_STATS: Any = import_module("arviz_stats")  # has no types


class PsisLoo(NamedTuple):
    """Leave-one-out by Pareto-smoothed importance sampling (Vehtari, Gelman and Gabry 2017).

    Attributes
    ----------
    elpd_i : array of shape (N,)
        Log density of each target given the others.
    k_hat : array of shape (N,)
        Shape of the tail of each target's importance weights.
    good_k : float
        What a k̂ may be for this number of draws.
    """

    elpd_i: Array
    k_hat: Array
    good_k: float


def psis_loo(tree: DataTree) -> PsisLoo:
    """PSIS-LOO of a data tree with a group log_likelihood; a large k̂ is returned and not warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _STATS.loo(tree, pointwise=True)
    elpd_i, k_hat = (np.asarray(values, dtype=float) for values in (found.elpd_i, found.pareto_k))
    return PsisLoo(elpd_i, k_hat, float(found.good_k))


def psis_compare(trees: Mapping[str, DataTree]) -> Any:
    """ArviZ's table of models by PSIS-LOO, the best one first; the data have to be the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _STATS.compare(dict(trees))
