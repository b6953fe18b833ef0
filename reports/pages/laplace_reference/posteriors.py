"""The posteriors of the study as rows, and the rules that would have warned of Laplace's error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr

from bayes_lssvm.base.typing import Array
from validation.harness import StudyResult
from validation.studies.laplace_reference import LIMIT

K_HAT_LIMIT = 0.7


@dataclass(frozen=True)
class Posterior:
    """A cell: its name, kind and family, whether its verdict rests on draws of NUTS, and what was measured."""

    name: str
    kind: str
    family: str
    sampled: bool
    values: dict[str, Any]

    def __getitem__(self, key: str) -> float:
        """A number of the cell; NaN where there is none."""
        value = self.values[key]
        return float("nan") if value is None else float(value)

    @property
    def error(self) -> float:
        """Of Laplace's evidence, in nats, without its sign; infinite where there is no mode."""
        return abs(self["laplace"]) if np.isfinite(self["laplace"]) else float("inf")

    @property
    def is_off(self) -> bool:
        """Whether the error matters."""
        return self.error > LIMIT


def posteriors_of(result: StudyResult) -> list[Posterior]:
    """The cells that were computed."""
    return [
        Posterior(f.cell.key, s["kind"], s["family"], s["sample"], f.values)
        for f in result.cells
        if f.error is None
        for s in [f.cell.settings]
    ]


class Rule(NamedTuple):
    """A warning: what it is called, when it warns, the figure behind it and its limit (NaN for none)."""

    name: str
    warns: Callable[[Posterior], bool]
    figure: str = ""
    limit: float = float("nan")


def _above(figure: str, limit: float) -> Callable[[Posterior], bool]:
    return lambda p: not abs(p[figure]) <= limit


def _weights(p: Posterior) -> bool:
    """Importance sampling from the mode has no answer, or one that is far from Laplace's."""
    return not abs(p["laplace"] - p["importance"]) <= LIMIT


RULES = (
    Rule("next term beyond 0.5 nats", _above("correction", LIMIT), "correction", LIMIT),
    Rule("importance sampling from the mode", _weights),
    Rule("k̂ of the Student density > 0.7", lambda p: not p["k_hat"] <= K_HAT_LIMIT, "k_hat", K_HAT_LIMIT),
    Rule("k̂ of the Gaussian > 0.7", lambda p: not p["k_hat_gaussian"] <= K_HAT_LIMIT, "k_hat_gaussian", K_HAT_LIMIT),
    Rule("trust_model", lambda p: p.values["verdict"] != "good"),
)
"""The last draws by NUTS at full size; the others need no draws of the posterior."""
FIGURES = {
    "correction": "the next term of the expansion",
    "skewness": "the largest skewness",
    "k_hat": "k̂ of the Student density",
    "k_hat_gaussian": "k̂ of the Gaussian",
}


class Confusion(NamedTuple):
    """How often a rule warns: of those that are off, and of the others."""

    caught: int
    off: int
    false: int
    fine: int


def confusion(rule: Rule, posteriors: Sequence[Posterior]) -> Confusion:
    """The rule's table."""
    off, fine = [p for p in posteriors if p.is_off], [p for p in posteriors if not p.is_off]
    return Confusion(sum(map(rule.warns, off)), len(off), sum(map(rule.warns, fine)), len(fine))


def rank_correlation(figure: str, posteriors: Sequence[Posterior]) -> float:
    """Spearman's, of the size of a figure with the size of the error; k̂ with its sign."""
    sizes = [p[figure] if figure.startswith("k_hat") else abs(p[figure]) for p in posteriors]
    pairs = np.column_stack([sizes, [p.error for p in posteriors]])
    pairs = pairs[np.isfinite(pairs).all(axis=1)]
    return float(spearmanr(*pairs.T).statistic) if len(pairs) > 2 else float("nan")


def z_scores(posteriors: Sequence[Posterior]) -> Array:
    """Of the bridge on single chains, all posteriors together."""
    return np.array([z for p in posteriors for z in p.values["z_scores"]], dtype=float)
