"""Tables of the field study: the methods over all sets, ours against each, and every set."""

from __future__ import annotations

import numpy as np

from bayes_lssvm.base.typing import Array
from reports.frame.page import Row, Table
from reports.frame.words import NONE, joined, number
from validation.harness.ranks import average_ranks, holm, wilcoxon
from validation.studies.field.methods import METHODS
from validation.studies.field.sets import GROUPS
from validation.studies.field.summary import (
    REFERENCE,
    WITHIN,
    Field,
    Yardstick,
    against,
    held_against_yardsticks,
)

SMALL = 0.05
"""A log loss, in nats, from which on a set counts as one with errors to make."""
GROUP_TITLES = {"balanced": "balanced, KEEL", "imbalanced": "imbalanced, KEEL", "shipped": "shipped with the library"}


def title(method: str) -> str:
    """A method's name in tables and sentences."""
    return METHODS[method].title


def the_better(field: Field) -> str:
    """The plain alternatives in words."""
    names = [title(m) for m in field.yardsticks]
    return names[0] if len(names) == 1 else f"the better of {joined(names)}"


def geometric_mean(values: Array) -> float:
    """Of positive numbers."""
    return float(np.exp(np.mean(np.log(values))))


def key_table(field: Field) -> Table:
    """Each method over all sets, in the order of their ranks in log loss."""
    losses, right = field.table("log_loss"), field.table("accuracy")
    ranks, accuracy_ranks = average_ranks(losses, higher_is_better=False), average_ranks(right)
    rows = []
    for j in np.argsort(ranks, kind="stable"):
        method = field.complete[j]
        worse = int((losses[:, j] > field.base_rates).sum())
        ece, error = mean_ece(field, method)
        cells = (
            f"{ranks[j]:.2f}",
            f"{geometric_mean(losses[:, j]):.3f}",
            f"{accuracy_ranks[j]:.2f}",
            f"{right[:, j].mean():.1f}",
            f"{field.figures('brier', method).mean():.3f}",
            f"{ece:.3f} ± {number(error, '.3f')}",
            str(worse),
            f"{np.median(field.figures('seconds', method)):.2g}",
        )
        rows.append(Row(title(method), cells))
    header = ("", "rank", "log loss", "rank, acc.", "% correct", "Brier", "ECE", "> base", "time, s")
    return Table(
        f"Methods over {len(field.sets)} data sets",
        header,
        tuple(rows),
        "Average ranks over sets in log loss and in accuracy (acc.), 1 the best. Log loss: geometric mean over sets; "
        "accuracy, Brier score and ECE: means. “> base”: the number of sets on which always predicting the classes' "
        "shares in the training part has a smaller log loss. Time: median seconds over sets of a fit with its "
        "predictions, on one thread of a computer that was doing other work too.",
    )


def mean_ece(field: Field, method: str) -> tuple[float, float]:
    """Mean over sets of the calibration error, and its standard error from those of the sets."""
    errors = field.figures("ece_error", method)
    return float(field.figures("ece", method).mean()), float(np.sqrt((errors**2).sum()) / len(errors))


def group_table(field: Field) -> Table:
    """Geometric mean log loss by group of sets, and over those whose best log loss is not small."""
    groups = {GROUP_TITLES[g]: [f.group == g for f in field.sets.values()] for g in GROUPS}
    groups[f"best log loss from {SMALL} on"] = list(field.table("log_loss").min(axis=1) >= SMALL)
    there = {name: np.array(own) for name, own in groups.items() if any(own)}
    rows = []
    for method in field.complete:
        losses = field.figures("log_loss", method)
        rows.append(Row(title(method), tuple(f"{geometric_mean(losses[own]):.3f}" for own in there.values())))
    return Table(
        "Log loss by group of data sets",
        ("", *(f"{name} ({own.sum()})" for name, own in there.items())),
        tuple(rows),
        "Geometric means; in brackets the number of sets. Ratios of tiny losses count as much as any other in "
        "such a mean: the last column leaves out sets that are all but solved.",
    )


def duel_table(field: Field) -> Table:
    """Ours against each other method: wins, losses and ratios."""
    others = [m for m in field.complete if m != REFERENCE]
    found = [against(field, m) for m in others]
    p_values = holm([wilcoxon(f.logs, np.zeros(len(f.logs))) for f in found])
    rows = []
    for method, f, p in zip(others, found, p_values, strict=True):
        gap = field.figures("accuracy", REFERENCE) - field.figures("accuracy", method)
        error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else float("nan")
        cells = (
            f"{f.wins} ({f.clear_wins})",
            f"{f.losses} ({f.clear_losses})",
            f"{f.ratio:.3f} ± {number(f.ratio * f.ratio_error, '.3f')}",
            f"{p:.2g}",
            f"{number(gap.mean(), '+.1f')} ± {number(error, '.1f')}",
        )
        rows.append(Row(title(method), cells))
    return Table(
        f"{title(REFERENCE)} against each method",
        (
            "",
            "smaller log loss (clearly)",
            "larger (clearly)",
            "ratio of log losses",
            "p",
            "accuracy, ours − theirs, %",
        ),
        tuple(rows),
        "Numbers of sets; clear is beyond two standard errors over paired rows. The ratio is the geometric mean "
        "over sets of ours over theirs, below 1 where ours is better, with its standard error over sets. p: "
        "Wilcoxon's signed rank test over sets, two-sided, Holm's correction.",
    )


def yardstick_table(field: Field) -> Table:
    """Set by set against the better of the plain alternatives, the largest loss first."""
    rows = tuple(Row(y.name, _yardstick(field, y)) for y in held_against_yardsticks(field))
    return Table(
        f"{title(REFERENCE)} against {the_better(field)}",
        ("", "rows, inputs, classes", "log loss", "the better one", "its log loss", "ratio", "difference", ""),
        rows,
        "Losses come first, wins last. Differences have standard errors over paired rows; a loss of more than "
        f"{WITHIN:.2f} times the better one is marked ✗.",
    )


def _yardstick(field: Field, y: Yardstick) -> tuple[str, ...]:
    facts = field.sets[y.name]
    words = ("win" if y.gain.mean < 0 else "loss") if y.gain.clear else "not clear"
    return (
        f"{facts.n}, {facts.d}, {facts.classes}",
        f"{y.ours:.3f}",
        title(y.rival),
        f"{y.theirs:.3f}",
        f"{y.ratio:.2f}",
        f"{number(y.gain.mean, '+.3f')} ± {number(y.gain.error, '.3f')}",
        f"✗ {words}" if y.ratio > WITHIN else words,
    )


def set_table(field: Field) -> Table:
    """Log loss with accuracy, every set by every method."""
    rows: list[Row] = []
    for group in GROUPS:
        names = [name for name, facts in field.sets.items() if facts.group == group]
        rows += [Row(GROUP_TITLES[group])] if names else []
        rows += [Row(f"  {name}", _set_cells(field, name)) for name in names]
    return Table(
        "Log loss, and % correct, of every set",
        ("", *(title(m) for m in field.methods), "base rate"),
        tuple(rows),
        "* the smallest log loss of the row. A dash: not computed.",
    )


def _set_cells(field: Field, name: str) -> tuple[str, ...]:
    there = [m for m in field.methods if (name, m) in field.entries]
    best = field.best(name, there)
    cells = []
    for method in field.methods:
        entry = field.entries.get((name, method))
        star = "*" if method == best else ""
        cells.append(NONE if entry is None else f"{entry.log_loss:.3f}{star} ({entry.accuracy:.1f})")
    return (*cells, f"{field.sets[name].base_rate:.3f}")
