"""Symmetric matrices of which one triangle is computed."""

from __future__ import annotations

import numpy as np

from ..base.typing import Array

_SIZE = 128
_UPPER = np.triu(np.ones((_SIZE, _SIZE), dtype=bool), 1)


def mirror_lower(A: Array) -> Array:
    """Copy the lower triangle of A into the upper one, in place and by blocks that fit the cache."""
    for start in range(0, len(A), _SIZE):
        stop = min(start + _SIZE, len(A))
        A[start:stop, stop:] = A[stop:, start:stop].T
        block = A[start:stop, start:stop]
        np.copyto(block, block.T.copy(), where=_UPPER[: stop - start, : stop - start])
    return A
