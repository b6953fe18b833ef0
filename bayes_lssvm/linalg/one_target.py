"""One of the sets of targets of a reduction with several, as a reduction of its own: nothing is reduced again."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ..base.typing import AnyArray, Array
from .spectrum import TridiagonalReduction


@dataclass(frozen=True)
class OneTarget(TridiagonalReduction):
    """A reduction of one set of targets in a basis that does not start at them."""

    @classmethod
    def of(cls, reduction: TridiagonalReduction, target: int) -> OneTarget:
        """The set of this number."""
        shared = {field.name: getattr(reduction, field.name) for field in fields(TridiagonalReduction)}
        own = {"targets": reduction.targets[target, None], "totals": reduction.totals[target, None], "aligned": False}
        return cls(**(shared | own))

    def values(self, gamma: Array, target: AnyArray | None = None) -> tuple[Array, Array]:
        gamma = np.atleast_1d(np.asarray(gamma, dtype=float))
        return super().values(gamma, np.zeros(len(gamma), dtype=np.intp) if target is None else target)
