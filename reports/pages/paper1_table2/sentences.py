"""Sentences on columns against columns: what section 3 of paper 1 says, and what is found here."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from validation.harness import StudyResult
from validation.papers.paper1.algorithms import OURS
from validation.papers.paper1.comparisons import Comparison, compare, published_comparison, wilcoxon_p
from validation.papers.paper1.published import SECTION_3, SIGNIFICANCE, TABLE_1, TABLE_2
from validation.papers.paper1.table2 import SEARCHED, errors_of, finished_of
from validation.papers.table import ReproducedTable

from ..papers import verdict_sentences


def comparison(result: StudyResult, name: str, first: str, second: str) -> Comparison | None:
    """How the second column does against the first on a set."""
    return compare(errors_of(result, name, first), errors_of(result, name, second))


def comparisons(result: StudyResult, first: str, second: str) -> dict[str, Comparison]:
    """The same by set's name; sets without at least two shared partitions are left out."""
    found = {b.name: comparison(result, b.name, first, second) for b in TABLE_1}
    return {name: c for name, c in found.items() if c is not None and not math.isnan(c.z)}


def significant(found: dict[str, Comparison], *, paired: bool = False) -> list[str]:
    """Sets on which the second column is significantly better."""
    return [name for name, c in found.items() if (c.significant_paired if paired else c.significant)]


def titles(names: Sequence[str]) -> str:
    """Names of sets as a sentence has them."""
    listed = [b.title.lower() if b.title != "German" else b.title for b in TABLE_1 if b.name in names]
    return ", ".join(listed)


def points(result: StudyResult) -> tuple[str, ...]:
    """The main findings, in short sentences."""
    said = []
    if found := comparisons(result, "ARD LSSVM", "ARD LSSVM-BR"):
        lower = sum(c.difference > 0.0 for c in found.values())
        said.append(
            f"With one scale for each input (ARD), Bayesian regularisation has the lower error on {lower} of "
            f"{_sets(len(found))}."
        )
    if found := comparisons(result, "RBF LSSVM", "RBF LSSVM-BR"):
        better, worse = significant(found), [c for c in found.values() if c.z <= -SIGNIFICANCE]
        said.append(
            f"With a single width (RBF) it is significantly better on {len(better)} and worse on {len(worse)} of "
            f"{_sets(len(found))}."
            if better or worse
            else f"With a single width (RBF) it makes no significant difference on any of {_sets(len(found))}."
        )
    if found := comparisons(result, "ARD LSSVM", "RBF LSSVM"):
        said.append(
            f"Without regularisation the ARD kernel is significantly worse than the RBF kernel on "
            f"{len(significant(found))} of {_sets(len(found))}."
        )
    return tuple(said)


def findings(result: StudyResult, shown: ReproducedTable) -> tuple[str, ...]:
    """What the paper says of its columns, and what is found here."""
    sentences = []
    for (first, second), kernel in (
        (("ARD LSSVM", "ARD LSSVM-BR"), "elliptical"),
        (("RBF LSSVM", "RBF LSSVM-BR"), "spherical"),
    ):
        if comparisons(result, first, second):
            sentences.append(_regularisation(result, (first, second), kernel))
    if found := comparisons(result, "ARD LSSVM", "RBF LSSVM"):
        worse, better = significant(found), significant(comparisons(result, "RBF LSSVM", "ARD LSSVM"))
        sentences.append(
            "Without regularisation the elliptical kernel is significantly worse than the spherical one on "
            f"{_some(worse, len(found))} and better on {_some(better)}; in the paper it is worse on "
            f"{_of_paper('ARD LSSVM', 'RBF LSSVM')} and better on {_of_paper('RBF LSSVM', 'ARD LSSVM')}."
        )
    sentences += [s for kernel in ("RBF", "ARD") if (s := _processes(result, kernel))]
    if stalled := stalled_sentence(result):
        sentences.append(stalled)
    if flat := _flat(result):
        sentences.append(flat)
    return (*sentences, *verdict_sentences(shown))


def _some(names: Sequence[str], of: int | None = None) -> str:
    """How many sets and which: "2 of 13 (image, splice)", "none of 13"."""
    if not names:
        return "none" if of is None else f"none of {of}"
    return f"{len(names)}{'' if of is None else f' of {of}'} ({titles(names)})"


def _of_paper(first: str, second: str) -> str:
    return _some(SECTION_3[first, second], len(TABLE_1))


def _sets(count: int) -> str:
    return f"{count} set{'' if count == 1 else 's'}"


def _regularisation(result: StudyResult, columns: tuple[str, str], kernel: str) -> str:
    found = comparisons(result, *columns)
    better, sharper = significant(found), significant(found, paired=True)
    worse = [name for name, c in found.items() if c.z <= -SIGNIFICANCE]
    theirs = SECTION_3[columns]
    lower = [name for name, c in found.items() if c.difference > 0.0]
    sentence = (
        f"{kernel.capitalize()} kernel: Bayesian regularisation has the lower mean error on {len(lower)} of "
        f"{_sets(len(found))}: significantly by the paper's z on {_some(better)}, by paired differences on "
        f"{_some(sharper)}. By z it is significantly worse on {_some(worse)}. In the paper it is better on "
        f"{_of_paper(*columns)} and worse on none."
    )
    if theirs:
        kept = [name for name in theirs if name in found and _at_ours(result, name, columns) >= SIGNIFICANCE]
        sentence += (
            " With as few partitions as here, the paper's own means and spreads would be significant on "
            f"{_some(kept, len(found))}."
        )
    p = wilcoxon_p(*(_means(result, column, found) for column in columns))
    return sentence if p is None else f"{sentence} Wilcoxon's signed rank test over sets gives p = {p:.2g}."


def _at_ours(result: StudyResult, name: str, columns: tuple[str, str]) -> float:
    """The z of the paper's figures had it used as many partitions as are here."""
    count = len(finished_of(result, name, columns[0]))
    of = next(b.partitions for b in TABLE_1 if b.name == name)
    return published_comparison(*(TABLE_2[name, c] for c in columns)).z * math.sqrt(count / of)


def searching(result: StudyResult) -> tuple[str, ...]:
    """What several descents of PRESS do to the errors, against one; nothing where one was not computed."""
    found = comparisons(result, SEARCHED, OURS)
    if not found:
        return ()
    fewer, more = significant(found, paired=True), significant(comparisons(result, OURS, SEARCHED), paired=True)
    p = wilcoxon_p(*(_means(result, column, found) for column in (SEARCHED, OURS)))
    test = "" if p is None else f" Wilcoxon's signed rank test over sets gives p = {p:.2g}."
    lower = sum(c.difference > 0.0 for c in found.values())
    return (
        "Like every criterion that is estimated from few points, PRESS can be over-optimised. One descent from "
        f"the best spherical kernel has the lower mean test error on {lower} of {_sets(len(found))}, by paired "
        f"differences significantly on {_some(fewer)}; the least of several descents is significantly better on "
        f"{_some(more)}.{test} This column and the figure are ours; they were added after we had seen the table.",
    )


def _processes(result: StudyResult, kernel: str) -> str:
    first, second = f"{kernel} LSSVM-BR", f"{kernel} EP-GPC"
    found = comparisons(result, first, second)
    if not found:
        return ""
    better, worse = significant(found), significant(comparisons(result, second, first))
    p = wilcoxon_p(*(_means(result, column, found) for column in (first, second)))
    test = (
        f"Wilcoxon's signed rank test over sets gives p = {p:.2g}"
        if p is not None
        else "too few sets for Wilcoxon's test"
    )
    return (
        f"{kernel}: EP-GPC is significantly better than LSSVM-BR on {_some(better, len(found))} and worse on "
        f"{_some(worse)}; {test}. In the paper it is better on {_of_paper(first, second)} and worse on "
        f"{_of_paper(second, first)}, with no significant difference over sets."
    )


def _means(result: StudyResult, column: str, names: Iterable[str]) -> list[float]:
    return [float(np.mean(list(errors_of(result, name, column).values()))) for name in names]


def _flat(result: StudyResult) -> str:
    cells = [f for b in TABLE_1 for c in ("RBF LSSVM-BR", "ARD LSSVM-BR") for f in finished_of(result, b.name, c)]
    flat = sum(bool(f.values["flat_limit"]) for f in cells)
    if not cells:
        return ""
    return f"In {flat} of {len(cells)} selections by the criterion (15) the choice is its flat limit, a linear model."


def stalled_sentence(result: StudyResult) -> str:
    """What counting stalled descents as minima would change; nothing where no cell has the rule against them."""
    cells = [f for f in result.cells if f.error is None and f.cell.settings.get("stalled")]
    other = [f for f in cells if "by_value" in f.values]
    if not cells:
        return ""
    start = f"A descent of criterion (15) that stalls on its way to the flat limit is no minimum in {len(cells)} cells"
    if not other:
        return f"{start}; that changes no choice there."
    own = np.mean([f.values["error"] for f in other])
    by_value = np.mean([f.values["by_value"]["error"] for f in other])
    return (
        f"{start}; counted as one it would be chosen in {len(other)} of them, with {by_value:.2f} % errors instead of "
        f"{own:.2f} % there."
    )
