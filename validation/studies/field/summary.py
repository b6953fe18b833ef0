"""From cells to figures: every method on every data set, and ours against each rival.

Scores of a set are means over repeats, each of which tests every row once. The error of an ECE is the mean of the
repeats' jackknife errors over folds. A difference of log losses has the standard error over paired rows, each row's
loss averaged over repeats. Repeats share all rows and folds most training rows, so that errors for new data of the same
kind are larger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from bayes_lssvm.base.typing import Array
from validation.harness import FinishedCell, StudyResult
from validation.harness.scores import BINS, Gain, paired_gain

from .methods import METHODS

REFERENCE = "ours"
YARDSTICKS = ("logistic", "svc")
"""The plain alternatives that the default is held against, set by set."""
KERNEL_RIVALS = ("logistic", "svc", "gpc", "neo")
"""Kernel methods and logistic regression."""
WITHIN = 1.10


class Entry(NamedTuple):
    """A method on a data set, over all repeats.

    Attributes
    ----------
    log_loss, accuracy, brier, seconds : float
        Means; accuracy in %.
    ece, ece_error : float
    row_losses : array of shape (N,)
        Log loss of each row.
    bins : array of shape (3, 10)
        Rows, summed confidence and correct decisions by confidence.
    """

    log_loss: float
    accuracy: float
    brier: float
    seconds: float
    ece: float
    ece_error: float
    row_losses: Array
    bins: Array


class SetFacts(NamedTuple):
    """A data set: its group, rows, inputs and classes, where it was read from, and the base rate's log loss."""

    name: str
    group: str
    source: str
    n: int
    d: int
    classes: int
    repeats: int
    base_rate: float


class Against(NamedTuple):
    """Ours against a rival: numbers of sets by log loss, the clear ones among them, and the ratio over all.

    Attributes
    ----------
    wins, losses, clear_wins, clear_losses : int
        A win is a smaller log loss; it is clear beyond two standard errors over paired rows.
    ratio, ratio_error : float
        Geometric mean over sets of ours over theirs, and its factor of one standard error less 1.
    logs : array of shape (sets,)
        Logs of the ratios.
    """

    wins: int
    losses: int
    clear_wins: int
    clear_losses: int
    ratio: float
    ratio_error: float
    logs: Array


@dataclass(frozen=True)
class Field:
    """Every figure of the study.

    Attributes
    ----------
    sets : dict
        By name, in the order of the cells.
    entries : dict
        (set, method) to its figures.
    partial : tuple of str
        Sentences about methods and sets that lack repeats, and are left out.
    """

    sets: dict[str, SetFacts]
    entries: dict[tuple[str, str], Entry]
    partial: tuple[str, ...] = ()

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Methods with a figure on any set, ours first."""
        return tuple(m for m in METHODS if any((name, m) in self.entries for name in self.sets))

    @cached_property
    def complete(self) -> tuple[str, ...]:
        """Methods with a figure on every set."""
        return tuple(m for m in self.methods if all((name, m) in self.entries for name in self.sets))

    @property
    def rivals(self) -> tuple[str, ...]:
        """Methods of others."""
        return tuple(m for m in self.complete if m not in ("ours", "papers"))

    @property
    def yardsticks(self) -> tuple[str, ...]:
        """Those of the plain alternatives that were run on every set."""
        return tuple(m for m in YARDSTICKS if m in self.complete)

    def figures(self, measure: str, method: str) -> Array:
        """A figure of a complete method on every set, of shape (sets,)."""
        return np.array([getattr(self.entries[name, method], measure) for name in self.sets])

    def table(self, measure: str, methods: Sequence[str] | None = None) -> Array:
        """A figure of all complete methods, of shape (sets, methods), to ten digits: rounding makes no ranks."""
        return np.asarray(np.round(np.column_stack([self.figures(measure, m) for m in methods or self.complete]), 10))

    @property
    def base_rates(self) -> Array:
        """Log loss of the class frequencies, of shape (sets,)."""
        return np.array([facts.base_rate for facts in self.sets.values()])

    def gain(self, name: str, rival: str, method: str = REFERENCE) -> Gain:
        """Log loss of a method minus a rival's on a set, with its error over paired rows."""
        return paired_gain(self.entries[name, method].row_losses, self.entries[name, rival].row_losses)

    def best(self, name: str, methods: Sequence[str]) -> str:
        """The one of several methods with the smallest log loss on a set."""
        return min(methods, key=lambda m: self.entries[name, m].log_loss)


def summarise(result: StudyResult) -> Field:
    """The figures of all cells that came through."""
    cells = [finished for finished in result.cells if finished.error is None]
    own = {
        (f.cell.settings["set"], f.cell.settings["repeat"]): f for f in cells if f.cell.settings["method"] == REFERENCE
    }
    if not own:
        raise ValueError("No cell of the default classifier has come through, so that there is nothing to compare.")
    grouped: dict[tuple[str, str], list[FinishedCell]] = {}
    for finished in cells:
        s = finished.cell.settings
        if (s["set"], s["repeat"]) in own:
            _require_same_rows(finished, own[s["set"], s["repeat"]])
            grouped.setdefault((s["set"], s["method"]), []).append(finished)
    repeats = Counter(name for name, _ in own)
    whole = {key: found for key, found in grouped.items() if len(found) == repeats[key[0]]}
    partial = tuple(
        f"{METHODS[method].title} on {name}: {len(found)} of {repeats[name]} repeats were computed."
        for (name, method), found in grouped.items()
        if (name, method) not in whole
    )
    sets = {name: _facts(whole[name, REFERENCE]) for name in repeats}
    return Field(sets, {key: entry(found) for key, found in whole.items()}, partial)


def _require_same_rows(finished: FinishedCell, reference: FinishedCell) -> None:
    if finished.values["rows"] != reference.values["rows"]:
        raise ValueError(
            f"The cell {finished.cell.key!r} has other folds than {reference.cell.key!r}. Set the "
            "older one aside and run the study again."
        )


def _facts(cells: Sequence[FinishedCell]) -> SetFacts:
    s, v = cells[0].cell.settings, cells[0].values
    base = float(np.mean([f.values["base_rate"] for f in cells]))
    return SetFacts(s["set"], s["group"], s["source"], v["n"], v["d"], v["classes"], len(cells), base)


def entry(cells: Sequence[FinishedCell]) -> Entry:
    """The repeats of a method on a set as one."""
    scores = ("log_loss", "accuracy", "brier", "seconds", "ece", "ece_error")
    mean = {k: float(np.mean([f.values[k] for f in cells])) for k in scores}
    bins = np.array([[f.values["bins"][k] for k in ("n", "confidence", "correct")] for f in cells], dtype=float)
    rows = np.array([f.values["row_losses"] for f in cells]) / 1000.0  # [repeats, N]
    return Entry(**mean, row_losses=rows.mean(axis=0), bins=bins.sum(axis=0))


def against(field: Field, rival: str, method: str = REFERENCE) -> Against:
    """A method held against a rival over all sets; both are complete."""
    ours, theirs = field.figures("log_loss", method), field.figures("log_loss", rival)
    gains = [field.gain(name, rival, method) for name in field.sets]
    logs = np.log(ours / theirs)
    error = float(logs.std(ddof=1) / np.sqrt(len(logs))) if len(logs) > 1 else float("nan")
    return Against(
        wins=int((logs < 0).sum()),
        losses=int((logs > 0).sum()),
        clear_wins=sum(g.clear and g.mean < 0 for g in gains),
        clear_losses=sum(g.clear and g.mean > 0 for g in gains),
        ratio=float(np.exp(logs.mean())),
        ratio_error=float(np.expm1(error)),
        logs=logs,
    )


class Yardstick(NamedTuple):
    """Ours on a set against the better of the plain alternatives."""

    name: str
    ours: float
    theirs: float
    rival: str
    gain: Gain

    @property
    def ratio(self) -> float:
        """Ours over theirs."""
        return self.ours / self.theirs


def held_against_yardsticks(field: Field) -> list[Yardstick]:
    """Set by set, the largest loss first; nothing where no plain alternative was run on all sets."""
    found = []
    for name in field.sets if field.yardsticks else ():
        rival = field.best(name, field.yardsticks)
        ours, theirs = field.entries[name, REFERENCE].log_loss, field.entries[name, rival].log_loss
        found.append(Yardstick(name, ours, theirs, rival, field.gain(name, rival)))
    return sorted(found, key=lambda y: -y.ratio)


def pooled_bins(field: Field, method: str) -> Array:
    """Reliability over all sets, each set with the same weight: shares of rows, confidence and correct, (3, 10)."""
    pooled = np.zeros((3, BINS))
    for name in field.sets:
        bins = field.entries[name, method].bins
        pooled += bins / bins[0].sum()
    return pooled / len(field.sets)
