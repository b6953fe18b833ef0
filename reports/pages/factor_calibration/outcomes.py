"""What the methods promised and what was true, set by set, and the figures by which calibration is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit

from bayes_lssvm.base.typing import AnyArray, Array
from validation.harness import StudyResult
from validation.studies.factor_calibration import METHODS, PAIRS

NAMES = {
    "maximised": "maximised",
    "mackay": "MacKay (5.2)",
    "hessian": "Hessian",
    "laplace": "Laplace",
    "integrated": "integrated",
    "sampled": "sampled",
}
"""Methods as pages name them, in the order of the ladder."""
SURE = 0.95
_COLUMNS = ("log_odds", "first", "n", "number")
BEYOND = 3.0
"""Standard errors at which a method is called not calibrated: eighteen are looked at."""


@dataclass(frozen=True)
class Outcomes:
    """One method on the sets of one pair that it has an answer for.

    Attributes
    ----------
    log_odds : array of shape (S,)
        Of the pair's first kernel, prior odds included.
    first : array of bool of shape (S,)
        Whether that is the one that made the data.
    n : array of int of shape (S,)
        Points of each set.
    number : array of int of shape (S,)
        Which of the pair's sets they are.
    """

    pair: str
    method: str
    log_odds: Array
    first: AnyArray
    n: AnyArray
    number: AnyArray

    @property
    def probability(self) -> Array:
        """P(H₁ | D)."""
        return np.asarray(expit(self.log_odds))

    @property
    def log_scores(self) -> Array:
        """Log P(the true one | D)."""
        return np.asarray(log_expit(np.where(self.first, self.log_odds, -self.log_odds)))

    @property
    def promised(self) -> Array:
        """P of the kernel that is preferred."""
        return np.asarray(expit(np.abs(self.log_odds)))

    @property
    def right(self) -> AnyArray:
        """Whether the kernel that is preferred is the true one."""
        return np.asarray((self.log_odds > 0.0) == self.first)

    @property
    def z(self) -> float:
        """Spiegelhalter's (1986): the Brier score less what the probabilities promise of it, in standard errors."""
        p = self.probability
        spread = float(np.sqrt(((1.0 - 2.0 * p) ** 2 * p * (1.0 - p)).sum()))
        return float(((self.first - p) * (1.0 - 2.0 * p)).sum()) / spread if spread > 0.0 else np.nan

    @property
    def z_share(self) -> float:
        """Sets from the first kernel less the sum of its probabilities, in standard errors."""
        p = self.probability
        spread = float(np.sqrt((p * (1.0 - p)).sum()))
        return float((self.first - p).sum()) / spread if spread > 0.0 else np.nan

    @property
    def calibrated(self) -> bool:
        """Whether neither figure is beyond what chance allows."""
        return bool(max(abs(self.z), abs(self.z_share)) <= BEYOND)

    def of(self, chosen: AnyArray) -> Outcomes:
        """Some of the sets."""
        columns = (getattr(self, name)[chosen] for name in _COLUMNS)
        return Outcomes(self.pair, self.method, *columns)


def outcomes_of(result: StudyResult) -> dict[str, dict[str, Outcomes]]:
    """By pair and method, as far as there are numbers; pairs and methods in the order of the study."""
    found: dict[str, dict[str, Outcomes]] = {}
    for pair in PAIRS:
        cells = [cell for cell in result.cells if cell.cell.settings["pair"] == pair and cell.values]
        if not cells:
            continue
        first = np.concatenate([cell.values["sets"]["first"] for cell in cells]).astype(bool)
        n = np.concatenate([np.full(len(cell.values["sets"]["first"]), cell.cell.settings["n"]) for cell in cells])
        prior = PAIRS[pair].prior
        for method in METHODS:
            log_b = np.concatenate([np.array(cell.values["sets"][method], dtype=float) for cell in cells])
            there = np.isfinite(log_b)
            if there.any():
                odds = log_b[there] + np.log(prior / (1.0 - prior))
                own = Outcomes(pair, method, odds, first[there], n[there], np.flatnonzero(there))
                found.setdefault(pair, {})[method] = own
    return found


def loss(own: Outcomes, exact: Outcomes) -> tuple[float, float]:
    """Mean log score of `own` less that of a method that has an answer for every set, and its standard error."""
    gap = own.log_scores - exact.log_scores[own.number]
    return float(gap.mean()), float(gap.std(ddof=1) / np.sqrt(len(gap))) if len(gap) > 1 else np.nan


def together(parts: Sequence[Outcomes]) -> Outcomes:
    """Several pairs as one, for each of which there is an answer for every set."""
    log_odds, first, n = (np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS[:3])
    return Outcomes("all", parts[0].method, log_odds, first, n, np.arange(len(n)))
