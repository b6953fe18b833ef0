"""How the evidence and γ_eff change with the number of landmarks: nested maps, from the sums of one pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.text import html_table, table_of
from ..base.typing import Array
from ..priors import HyperPrior
from .objective import posteriors_of, tasks_of
from .statistics import Statistics

_SETTLED = 0.01  # of γ_eff: what the landmarks left out would change


@dataclass(frozen=True)
class Convergence:
    """The model with its first m′ landmarks.

    Attributes
    ----------
    n_landmarks : array of shape (K,)
        m′, ascending.
    log_evidence, log_evidence_lower, gamma_eff : arrays of shape (K,)
        Sums over the members, the kernel held; the lower bound is looser for m′ < m than a pass with m′ would give.
    """

    n_landmarks: Array
    log_evidence: Array
    log_evidence_lower: Array
    gamma_eff: Array

    @property
    def suggested(self) -> int:
        """Landmarks with which γ_eff has settled to 1 %, or twice as many as there are where it has not."""
        last = self.gamma_eff[-1]
        settled = np.abs(self.gamma_eff - last) <= _SETTLED * last
        # all from there on, and the last alone says nothing
        first = len(settled) - int(np.argmin(settled[::-1])) if not settled.all() else 0
        return int(2 * self.n_landmarks[-1] if first >= len(settled) - 1 else self.n_landmarks[first])

    def rows(self) -> list[dict[str, float]]:
        """The curve for JSON and tables: a dict for each m′."""
        names = ("landmarks", "log_evidence", "log_evidence_lower", "gamma_eff")
        return [dict(zip(names, row, strict=True)) for row in self._table().tolist()]

    def _repr_html_(self) -> str:
        """The curve as a table, for notebooks."""
        header = ("landmarks", "log evidence", "at least", "γ_eff")
        return html_table("The evidence with fewer landmarks", header, self._table().tolist())

    def __str__(self) -> str:
        rows = [("landmarks", "log evidence", "at least", "γ_eff")]
        rows += [(f"{m:.0f}", f"{e:.2f}", f"{low:.2f}", f"{g:.4g}") for m, e, low, g in self._table()]
        return "\n".join(table_of(rows, right=range(4)))

    def _table(self) -> Array:
        return np.column_stack([self.n_landmarks, self.log_evidence, self.log_evidence_lower, self.gamma_eff])

    def plot(self, ax: Any = None) -> Any:
        """Evidence and its lower bound against m′, on matplotlib axes."""
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(6, 4), layout="constrained")[1] if ax is None else ax
        ax.plot(self.n_landmarks, self.log_evidence, "o-", label="low-rank evidence")
        ax.plot(self.n_landmarks, self.log_evidence_lower, "s--", label="lower bound of the exact evidence")
        ax.set_xscale("log", base=2)
        ax.set_xlabel("number of landmarks")
        ax.set_ylabel("log evidence (nats)")
        ax.legend()
        return ax


def convergence(statistics: Statistics, code: Array | None, priors: list[HyperPrior], steps: int = 5) -> Convergence:
    """The curve at m, m/2, m/4, … for the sums of features whose first m′ belong to the first m′ landmarks."""
    sizes = sorted({max(1, statistics.size >> k) for k in range(steps)})
    found = []
    for size in sizes:
        part = statistics if size == statistics.size else statistics.first(size)
        total = np.zeros(3)
        for task in tasks_of(part, code):
            plain = posteriors_of(task, priors)
            lower = posteriors_of(task._replace(reduction=task.reduction.bounded(*part.lack())), priors)
            total[0] += sum(each.log_evidence for each in plain)
            total[1] += sum(each.log_evidence for each in lower)
            total[2] += sum(each.level2.gamma_eff for each in plain)
        found.append(total)
    return Convergence(np.array(sizes, dtype=float), *np.array(found).T)
