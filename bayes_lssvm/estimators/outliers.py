"""Rows that the model of the other rows does not expect: a table and a plot.

The error of row i by the model of the others, in units of its standard deviation, is z_i = r_i/√(v_i + s_i²), with the
variance v_i of the function without the row and the noise s_i² of a row of its weight. A row is named where N times the
probability of so large an error, were the noise Gaussian, is below a chance. Its support value α_i = γw_i e_i says how
hard it pulls: without robust noise an outlier has the largest, with it hardly any. Labels are targets ±1 (2.12), and an
error beyond the own one is no fault: of labels only rows on the side of the other class are named, where y_iα_i > 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from ..base.text import table_of
from ..base.typing import AnyArray, Array
from ..press.leave_one_out import LeaveOneOut

_NUMBERED, _HEIGHTS = 10, (18, 34, 50)  # rows whose numbers are drawn, and how far from them, in points


@dataclass(frozen=True)
class Outliers:
    """All rows with their errors, and those that are named.

    Attributes
    ----------
    rows : array of int
        Numbers of the rows that are named, the largest error first; rows of weight zero are not counted.
    deviations : array of shape (N,)
        z_i.
    targets, predictions : arrays of shape (N,)
        y_i, and what the model of the others predicts.
    alpha, weights : arrays of shape (N,)
        Support values, and relative noise precisions that were found for the rows.
    chance : float
    """

    rows: AnyArray
    deviations: Array
    targets: Array
    predictions: Array
    alpha: Array
    weights: Array
    chance: float

    def table(self) -> list[dict[str, float]]:
        """The named rows: row, target, left_out (its prediction), deviation, alpha, weight."""
        columns = (self.targets, self.predictions, self.deviations, self.alpha, self.weights)
        names = ("target", "left_out", "deviation", "alpha", "weight")
        return [
            {"row": int(i), **{name: float(column[i]) for name, column in zip(names, columns, strict=True)}}
            for i in self.rows.tolist()
        ]

    def __str__(self) -> str:
        if not len(self.rows):
            return f"No row of {len(self.targets)} is farther from what the others predict than chance would explain."
        rows: list[tuple[str, ...]] = [("row", "target", "left out", "deviation", "alpha", "weight")]
        rows += [tuple(f"{value:.4g}" for value in row.values()) for row in self.table()]
        return "\n".join(table_of(rows, right=range(6)))

    def plot(self, ax: Any = None) -> Any:
        """Support values against leave-one-out deviations, with the named rows marked, on matplotlib axes."""
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(6, 4), layout="constrained")[1] if ax is None else ax
        drawn = ax.scatter(self.deviations, self.alpha, c=self.weights, cmap="viridis", s=18)
        ax.figure.colorbar(drawn, ax=ax, label="weight")
        ax.scatter(self.deviations[self.rows], self.alpha[self.rows], s=80, facecolors="none", edgecolors="tab:red")
        named = sorted(self.rows[:_NUMBERED].tolist(), key=lambda i: self.deviations[i])
        for k, i in enumerate(named):  # neighbours at different heights, so that their numbers can be read
            ax.annotate(
                str(i),
                (self.deviations[i], self.alpha[i]),
                xytext=(0, (1 if self.alpha[i] > 0 else -1) * _HEIGHTS[k % len(_HEIGHTS)]),
                textcoords="offset points",
                ha="center",
                va="center",
                arrowprops={"arrowstyle": "-", "color": "0.6", "lw": 0.6, "shrinkA": 6, "shrinkB": 5},
            )
        ax.set_xlabel("leave-one-out error (standard deviations)")
        ax.set_ylabel("support value α")
        return ax


def outliers_of(left: LeaveOneOut, noise: Array, weights: Array, chance: float, *, labels: bool = False) -> Outliers:
    """Rows of a model by its leave-one-out errors, noise variances and relative precisions, of shape (N,) each.

    Targets that are `labels` ±1 may be exceeded.
    """
    if not 0.0 < chance < 1.0:
        raise ValueError(f"chance must lie between 0 and 1, got {chance!r}.")
    deviations = left.residuals / np.sqrt(left.latent_variances + noise)
    away, tails = (left.targets * deviations, 1.0) if labels else (np.abs(deviations), 2.0)
    unlikely = tails * ndtr(-away) * len(deviations) < chance
    order = np.argsort(-away, kind="stable")
    rows = order[unlikely[order]]
    return Outliers(rows, deviations, left.targets, left.predictions, left.alpha, weights, chance)
