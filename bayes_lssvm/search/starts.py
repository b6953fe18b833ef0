"""Where searches of kernel parameters start: points of the kernel's own choice, sifted by what they promise."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

from ..base.errors import NotPositiveSemidefiniteError
from ..base.typing import AnyArray, Array
from ..kernels import Kernel

__all__ = ["distinct", "promising", "rank_or_nothing", "spread_subset", "starting_points"]

_MAX_CLIMBS = 3
_HOPELESS = 30.0  # nats behind the best, for each target
_SAME_OPTIMUM = 0.05

Found = TypeVar("Found")


def starting_points(kernel: Kernel, X: Array, bounds: Array) -> Array:
    """The kernel's starting points within the box, one a row, those that differ by more than a hundredth."""
    starts = np.clip(kernel.starting_points(X), bounds[:, 0], bounds[:, 1])
    _, first = np.unique(np.round(starts, 2), axis=0, return_index=True)
    return starts[np.sort(first)]


def promising(rank: Callable[[Kernel], float], kernel: Kernel, starts: Array, n_targets: int = 1) -> Array:
    """The starts worth climbing from: peaks along a line of starts, the best three, none hopelessly behind.

    Parameters
    ----------
    rank : callable
        What kernels are compared by, summed over the targets.
    kernel : Kernel
    starts : array of shape (S, P)
    n_targets : int
    """
    ranks = np.array([rank_or_nothing(rank, kernel.with_log_params(start)) for start in starts])
    if not np.isfinite(ranks).any():
        rank(kernel)  # says what is wrong with it
    order = np.argsort(starts[:, 0], kind="stable")
    peaks = order[_is_peak(ranks[order])] if starts.shape[1] == 1 else np.arange(len(starts))
    best_first = peaks[np.argsort(-ranks[peaks], kind="stable")][:_MAX_CLIMBS]
    return starts[best_first[ranks[best_first] > ranks[best_first[0]] - _HOPELESS * n_targets]]


def rank_or_nothing(rank: Callable[[Kernel], float], kernel: Kernel) -> float:
    """The rank of a kernel, or −inf where its matrix is indefinite, as an MLP kernel's may be for some parameters."""
    try:
        return rank(kernel)
    except NotPositiveSemidefiniteError:
        return -np.inf


def _is_peak(values: Array) -> AnyArray:
    """Where a sequence is no lower than its neighbours and higher than one of them; the maximum in any case."""
    values = np.where(np.isfinite(values), values, values[np.isfinite(values)].min() - 1.0)
    left, right = np.append(values[0], values[:-1]), np.append(values[1:], values[-1])
    higher = np.maximum(values - left, values - right) > 1e-6
    return np.asarray((values >= left) & (values >= right) & higher) | (np.arange(len(values)) == np.argmax(values))


def distinct(ends: Iterable[Found], position: Callable[[Found], Array]) -> list[Found]:
    """The first of each cluster of ends, in their order."""
    kept: list[Found] = []
    for end in ends:
        if all(np.abs(position(end) - position(other)).max() > _SAME_OPTIMUM for other in kept):
            kept.append(end)
    return kept


def spread_subset(y: AnyArray, size: int, rng: np.random.Generator) -> AnyArray:
    """Indices of `size` points spread evenly over the sorted targets, so that small classes stay represented."""
    order = np.lexsort((rng.random(len(y)), y))
    return np.sort(order[np.linspace(0, len(order) - 1, size).round().astype(int)])
