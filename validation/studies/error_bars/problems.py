"""The kernels whose error bars are compared, and how much of each data set they see.

Ripley's data get the widths that the tables of the documentation are about; any other data get multiples of the width
at the evidence's maximum, from too narrow to much too wide. The linear kernel, a free width, and permuted labels (the
case without signal) come with all data.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import Kernel, kernel_from_dict
from validation.harness import Size, StudyData
from validation.ladder import best_width, four_figures, sensible_widths, spread_rows

RIPLEY_WIDTHS = (0.2, 1.311, 4.0, 8.0)
RIPLEY_MAIN = 1.311
MULTIPLES = (0.25, 1.0, 3.0, 6.0)
MOST_ROWS: dict[Size, int] = {"toy": 40, "quick": 1000, "full": 2000}
PERMUTATION_SEED = 0


@dataclass(frozen=True)
class Problem:
    """One posterior of hyperparameters.

    Attributes
    ----------
    name : str
        Part of the cells' keys.
    label : str
        For readers.
    kernel : dict
        As `kernel_from_dict` takes it.
    free : bool
        Whether the kernel's width is integrated out too.
    permuted : bool
        Whether the targets are permuted, which leaves no signal.
    rows : int or None
        How many of the rows, where not all.
    """

    name: str
    label: str
    kernel: dict[str, Any]
    free: bool = False
    permuted: bool = False
    rows: int | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """What a cell keeps of it."""
        return asdict(self)

    @property
    def function(self) -> Kernel:
        """The kernel."""
        return kernel_from_dict(self.kernel)

    def data(self, data: StudyData) -> tuple[Array, Array]:
        """Inputs and targets of shapes (n, d) and (n,)."""
        X, y = spread_rows(data.X, data.y, self.rows)
        return X, np.random.default_rng(PERMUTATION_SEED).permutation(y) if self.permuted else y


def problems(data: StudyData, size: Size) -> tuple[Problem, ...]:
    """The posteriors of a data set; the second is the main one, that of a width near the evidence's maximum."""
    rows = MOST_ROWS[size] if len(data.y) > MOST_ROWS[size] else None
    best = best_width(*spread_rows(data.X, data.y, rows))
    widths: tuple[float, ...]
    if data.name == "ripley":
        widths, main = (*RIPLEY_WIDTHS, best), RIPLEY_MAIN
    else:
        widths, main = tuple(four_figures(m * best) for m in MULTIPLES), best
    if size == "toy":
        widths = (main, widths[2])
    low, high = sensible_widths(data.X.shape[1])
    named = best if four_figures(low) < best < four_figures(high) else None  # an end of the range is no maximum
    found = [_rbf(width, named, main) for width in sorted(set(widths))]
    found.append(Problem("linear", "linear", {"kind": "Linear"}))
    if size != "toy":
        found.append(Problem("rbf-free", "RBF, σ free", {"kind": "RBF", "sigma": 1.0}, free=True))
    kernel = {"kind": "RBF", "sigma": main}
    found.append(Problem("permuted", f"RBF, σ = {main:g}, targets permuted", kernel, permuted=True))
    return tuple(replace(problem, rows=rows) for problem in found)


def _rbf(width: float, best: float | None, main: float) -> Problem:
    label = f"RBF, σ = {width:g}" + (" (best by 5.2)" if width == best else "")
    return Problem("rbf-main" if width == main else f"rbf-{width:g}", label, {"kind": "RBF", "sigma": width})
