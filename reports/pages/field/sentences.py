"""What the numbers of the field study say, wins and losses alike."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reports.frame.answer import Answer, State
from reports.frame.words import joined, many, number
from validation.harness import StudyResult
from validation.harness.keel import ENVIRONMENT, FOLDER
from validation.harness.ranks import LEVEL, average_ranks, critical_difference, friedman
from validation.studies.field.methods import METHODS
from validation.studies.field.sets import BALANCED, IMBALANCED
from validation.studies.field.summary import (
    KERNEL_RIVALS,
    REFERENCE,
    WITHIN,
    Field,
    against,
    held_against_yardsticks,
)

from .tables import geometric_mean, mean_ece, the_better, title

PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth")


RULE = (
    "Fails where Nemenyi's test finds a method that is clearly better in log loss. Holds where none is and the "
    f"default is within {WITHIN:.2f} times the log loss of the better plain alternative on at least 90 % of the data "
    "sets; with care otherwise."
)


def badge(better: int, within: int, of: int) -> State:
    """From the number of clearly better methods, and the sets on which the default is close to plain alternatives."""
    if better:
        return "fails"
    return "holds" if within >= 0.9 * of else "with care"


def answer(field: Field) -> Answer:
    """Are the defaults good?"""
    ranks = average_ranks(field.table("log_loss"), higher_is_better=False)
    n, k = len(field.sets), len(field.complete)
    own = ranks[field.complete.index(REFERENCE)]
    place = PLACES[int((ranks < own).sum())]
    apart = critical_difference(k, n) if k > 2 and n > 2 else float("inf")
    better = int((own - ranks > apart).sum())
    found = held_against_yardsticks(field)
    beyond = [y for y in found if y.ratio > WITHIN]
    points = []
    if found:
        lost = f"; it is much worse on {joined([y.name for y in beyond[:4]])}" if beyond else ""
        points.append(
            f"It matches or beats the better of {joined([title(m) for m in field.yardsticks])} on "
            f"{len(found) - len(beyond)} of {many(len(found), 'set')}{lost}."
        )
    ece, _ = mean_ece(field, REFERENCE)
    means = {m: float(field.figures("accuracy", m).mean()) for m in field.complete}
    best = max(means, key=lambda m: means[m])
    points.append(f"Mean accuracy {means[REFERENCE]:.1f} %; the best method, {title(best)}, has {means[best]:.1f} %.")
    points.append(f"Mean calibration error (ECE): {ece:.3f}.")
    return Answer(
        badge(better, len(found) - len(beyond), len(found)),
        f"With default settings {title(REFERENCE)} ranks {place} of {k} methods in log loss over {many(n, 'data set')}"
        + (f"; {many(better, 'method is', 'methods are')} clearly better." if better else "."),
        tuple(points),
        RULE,
    )


def findings(field: Field) -> tuple[str, ...]:
    """Place, ratio to the best rival, losses to the plain alternatives, calibration, and the papers' rules."""
    parts = (ranking(field), ratio(field), yardsticks(field), accuracy(field), calibration(field), papers(field))
    return tuple(sentence for sentence in parts if sentence)


def ranking(field: Field) -> str:
    """Where ours stands by average rank in log loss, and which differences are clear."""
    ranks = average_ranks(field.table("log_loss"), higher_is_better=False)
    n, k = len(field.sets), len(field.complete)
    own = field.complete.index(REFERENCE)
    place = PLACES[int((ranks < ranks[own]).sum())]
    said = f"In log loss over {sets(n)} the default, {title(REFERENCE)}, is {place} of {k} methods by average rank"
    said += f" ({ranks[own]:.2f})"
    if (best := int(np.argmin(ranks))) != own:
        said += f"; the best is {title(field.complete[best])} ({ranks[best]:.2f})"
    if k < 3 or n < 3:
        return f"{said}."
    if friedman(field.table("log_loss")) > LEVEL:
        return f"{said}. Friedman's test finds no difference between the methods."
    apart = critical_difference(k, n)
    better, worse = (
        [m for m, r in zip(field.complete, ranks, strict=True) if s * (r - ranks[own]) > apart] for s in (-1, 1)
    )
    return (
        f"{said}. By Nemenyi's test it is clearly better than {_names(worse)} and clearly worse than {_names(better)}."
    )


def ratio(field: Field) -> str:
    """The geometric mean against the best single rival among kernel methods and logistic regression, and of all."""
    kin = [m for m in field.rivals if m in KERNEL_RIVALS]
    said = _ratio(field, kin, "kernel methods and logistic regression") if kin else ""
    others = [m for m in field.rivals if m not in kin]
    return " ".join(filter(None, (said, _ratio(field, others, "the others") if others else "")))


def _ratio(field: Field, rivals: Sequence[str], which: str) -> str:
    best = min(rivals, key=lambda m: geometric_mean(field.figures("log_loss", m)))
    found = against(field, best)
    side = "below" if found.ratio < 1.0 else "above"
    return (
        f"Its geometric mean log loss is {100.0 * abs(1.0 - found.ratio):.0f} % {side} that of {title(best)}, the "
        f"best of {which}: it wins on {sets(found.wins)} (clearly on {found.clear_wins}) and loses on "
        f"{found.losses} (clearly on {found.clear_losses})."
    )


def yardsticks(field: Field) -> str:
    """On how many sets ours is close to the better of the plain alternatives, and where it is not."""
    found = held_against_yardsticks(field)
    if not found:
        return ""
    beyond = [y for y in found if y.ratio > WITHIN]
    far = joined([f"{y.name} ({y.ratio:.2f})" for y in beyond]) if beyond else ""
    said = f"It is within {WITHIN:.2f} of {the_better(field)} on {len(found) - len(beyond)} of {sets(len(found))}"
    said += f", beyond it on {far}" if beyond else ""
    clear = [y for y in found if y.gain.clear and y.gain.mean > 0]
    wins = sum(y.gain.clear and y.gain.mean < 0 for y in found)
    lost = f": {joined([y.name for y in clear])}" if clear else ""
    return f"{said}. Set by set it clearly wins on {sets(wins)} and clearly loses on {len(clear)}{lost}."


def accuracy(field: Field) -> str:
    """Mean accuracy beside the best rival's."""
    means = {m: float(field.figures("accuracy", m).mean()) for m in field.complete}
    if not field.rivals:
        return ""
    best = max(field.rivals, key=lambda m: means[m])
    gap = field.figures("accuracy", REFERENCE) - field.figures("accuracy", best)
    error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else float("nan")
    return (
        f"Accuracy: {means[REFERENCE]:.1f} % on average, {title(best)}, the most accurate rival, {means[best]:.1f} % "
        f"(ours − theirs {number(gap.mean(), '+.1f')} ± {number(error, '.1f')})."
    )


def calibration(field: Field) -> str:
    """Mean calibration error, and sets on which the base rate would have been better."""
    ece, error = mean_ece(field, REFERENCE)
    worse = [n for n, f in field.sets.items() if field.entries[n, REFERENCE].log_loss > f.base_rate]
    said = f"Its calibration error (ECE) is {ece:.3f} ± {number(error, '.3f')} on average"
    if field.rivals:
        best = min(field.rivals, key=lambda m: mean_ece(field, m)[0])
        said += f", that of the best rival {mean_ece(field, best)[0]:.3f} ({title(best)})"
    return f"{said}. It is worse than the base rate on {f'{sets(len(worse))}: {joined(worse)}' if worse else 'no set'}."


def papers(field: Field) -> str:
    """What the defaults change against the papers' rules."""
    if "papers" not in field.complete:
        return ""
    found = against(field, "papers")
    if found.wins == found.losses == 0:
        return "The defaults are the papers' rules here."
    return (
        f"The papers' rules have {1.0 / found.ratio:.2f} times the default's log loss (geometric mean); the "
        f"default is better on {sets(found.wins)} (clearly on {found.clear_wins}) and worse on {found.losses} "
        f"(clearly on {found.clear_losses})."
    )


def sets(count: int) -> str:
    """A number of data sets."""
    return f"{count} set{'' if count == 1 else 's'}"


def _names(methods: Sequence[str]) -> str:
    return joined([title(m) for m in methods]) if methods else "none"


def left_out(field: Field, result: StudyResult) -> tuple[str, ...]:
    """Remarks on data sets and methods that are not in the tables, and on those that are not in the ranks."""
    said = list(field.partial[:5])
    if result.size != "full":
        said.append(
            f"This is the size {result.size!r}, with only some of the data sets and methods. `--full` runs all of them."
        )
    else:
        absent = [name for name in (*BALANCED, *IMBALANCED) if name not in field.sets]
        if absent:
            said.append(
                f"Left out, as their files were not in the folder {FOLDER!r} below the one that {ENVIRONMENT} names: "
                f"{joined(absent)}."
            )
        for method in METHODS.values():
            if method.package and method.title not in map(title, field.methods):
                said.append(f"{method.title} is left out: it was not installed (the extra `field` has it).")
    if shipped := [f.name for f in field.sets.values() if f.group != "shipped" and f.source == "library"]:
        said.append(f"Read from the library's own copy instead of KEEL's file: {joined(shipped)}.")
    if some := [m for m in field.methods if m not in field.complete]:
        said.append(f"Not on every set, and so without ranks: {joined([title(m) for m in some])}.")
    return tuple(said)
