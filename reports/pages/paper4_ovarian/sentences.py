"""What the pipeline's numbers say, in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from reports.frame.answer import Answer, State
from validation.harness import StudyResult
from validation.papers.paper4.ovarian import SETS, differences, of_set, over_majority, table
from validation.papers.paper4.roc import CUT_OFFS, Difference


def each(values: Sequence[Any], model: str, name: str) -> list[float]:
    """A model's measure of this name, one a randomisation."""
    return [v["models"][model][name] for v in values]


def mean(values: Sequence[Any], model: str, name: str) -> float:
    """Its mean."""
    return float(np.mean(each(values, model, name)))


PAIRS = (("LS-SVM RBF", "LR"), ("LS-SVM RBF, all inputs", "LR, all inputs"))
RULE = (
    "Compares the AUC of the RBF LS-SVM with that of logistic regression, on selected and on all inputs of each data "
    "set. Holds where it is clearly larger (by two errors) in all comparisons, fails where it is clearly smaller in "
    "all, with care otherwise."
)


def badge(better: int, worse: int, of: int) -> State:
    """From the comparisons in which the RBF LS-SVM is clearly better and clearly worse."""
    if better == of:
        return "holds"
    return "fails" if worse == of else "with care"


def answer(result: StudyResult, sets: Sequence[str]) -> Answer:
    """Does the RBF LS-SVM beat logistic regression, as in the paper?"""
    found = [differences(result, name)[pair] for name in sets for pair in PAIRS]
    better = sum(math.isfinite(d.se) and d.z > 2.0 for d in found)
    worse = sum(math.isfinite(d.se) and d.z < -2.0 for d in found)
    points = []
    for name in sets:
        values = of_set(result, name)
        rbf, lr = (mean(values, model, "auc") for model in PAIRS[0])
        points.append(f"{SETS[name]}: AUC {rbf:.3f} against {lr:.3f} for logistic regression, on selected inputs.")
    points.append("The paper's ovarian data are not public; two other medical data sets take their place.")
    return Answer(
        badge(better, worse, len(found)),
        f"In {len(found)} comparisons of AUC on other medical data, the RBF LS-SVM clearly beats logistic regression "
        f"{_times(better)} and clearly loses to it {_times(worse)}.",
        tuple(points[-3:]),
        RULE,
    )


def _times(count: int) -> str:
    return {0: "never", 1: "once", 2: "twice"}.get(count, f"{count} times")


def findings(result: StudyResult, sets: Sequence[str]) -> tuple[str, ...]:
    """Which of the paper's findings hold on other data, from the numbers."""
    said = [_finding(result, name) for name in sets]
    said += [_majority(result, sets), _order(result, sets), _corner_counts(result, sets), _pruned(result, sets)]
    return (*(sentence for sentence in said if sentence), *table(result).absent)


def _finding(result: StudyResult, name: str) -> str:
    """RBF LS-SVM against logistic regression, on selected and on all inputs."""
    found, values = differences(result, name), of_set(result, name)
    parts = []
    for where, pair in (("selected", ("LS-SVM RBF", "LR")), ("all", ("LS-SVM RBF, all inputs", "LR, all inputs"))):
        auc, log = ([mean(values, model, measure) for model in pair] for measure in ("auc", "log_score"))
        scores = f"log scores {log[0]:.3f} and {log[1]:.3f}".replace("-", "−")
        parts.append(f"on {where} inputs {auc[0]:.4f} against {auc[1]:.4f} ({scores}), {_in_words(found[pair])}")
    return f"{SETS[name]}, AUC of the RBF LS-SVM and of logistic regression: {'; '.join(parts)}."


def _majority(result: StudyResult, sets: Sequence[str]) -> str:
    """Whether all models pass the lecture's minimal requirement, and by how much the weakest does."""
    parts = []
    for name in sets:
        found = over_majority(result, name)
        clear = sum(math.isfinite(d.se) and d.mean > 2.0 * d.se for d in found.values())
        model = min(found, key=lambda one: found[one].mean)
        error = f" ± {found[model].se:.1f}" if math.isfinite(found[model].se) else ""
        lead = f"{found[model].mean:.1f}".replace("-", "−")
        parts.append(f"{clear} of {len(found)} models on {SETS[name]} (the weakest, {model}, by {lead}{error} points)")
    return (
        "The lecture's minimal requirement is to be more accurate than the majority rule. At a cut-off of "
        f"{CUT_OFFS[0]:g} it is clearly met by {' and by '.join(parts)}."
    )


def _in_words(d: Difference) -> str:
    """A difference of AUC; in the paper the RBF LS-SVM has the larger one."""
    if not math.isfinite(d.se):
        return "too few randomisations to tell them apart"
    if not abs(d.z) > 2.0:
        return f"equal within two errors of {d.se:.4f}"
    if d.mean > 0.0:
        return f"better by {d.z:.1f} errors, as the paper finds"
    return f"worse by {-d.z:.1f} errors: the paper's finding does not hold"


def _order(result: StudyResult, sets: Sequence[str]) -> str:
    """Whether LR < linear < RBF, the paper's order of AUC."""
    parts = []
    for name in sets:
        values = of_set(result, name)
        order = sorted(("LR", "LS-SVM lin", "LS-SVM RBF"), key=lambda model: -mean(values, model, "auc"))
        parts.append(f"{SETS[name]}: {' > '.join(order)}")
    return f"The paper's order of AUC is LS-SVM RBF > LS-SVM lin > LR; here it is, {'; '.join(parts)}."


def _corner_counts(result: StudyResult, sets: Sequence[str]) -> str:
    parts = []
    for name in sets:
        lost = [v["facts"]["lssvm"]["LS-SVM RBF"]["status"] == "interpolation" for v in of_set(result, name)]
        parts.append(f"{SETS[name]} {sum(lost)} of {len(lost)}")
    return (
        "Randomisations in which the evidence of the selected inputs runs to interpolation, γ → ∞: "
        f"{', '.join(parts)}. The section “Which inputs” says why."
    )


def stepwise(result: StudyResult, sets: Sequence[str]) -> tuple[str, ...]:
    """How often a stepwise search selects other inputs than the forward one; nothing of cells without such a search."""
    parts = []
    for name in sets:
        facts = [v["facts"] for v in of_set(result, name) if "stepwise" in v["facts"]]
        if not facts:
            return ()
        other = sum(sorted(f["stepwise"]["selected"]) != sorted(f["selected"]) for f in facts)
        back = sum(f["stepwise"]["taken_back"] > 0 for f in facts)
        parts.append(f"{SETS[name]} {other} of {len(facts)} (an input is taken back in {back})")
    return (
        "A stepwise search, which may take an input back, is the other heuristic that the paper names. Randomisations "
        f"in which it selects other inputs than the forward search: {', '.join(parts)}.",
    )


def corner(result: StudyResult, sets: Sequence[str]) -> tuple[str, ...]:
    """Where γ ran to the interpolating corner, and why."""
    said = []
    for name in sets:
        facts = [v["facts"] for v in of_set(result, name)]
        lost = [f for f in facts if f["lssvm"]["LS-SVM RBF"]["status"] == "interpolation"]
        if not lost:
            continue
        gap = max(abs(f["lssvm"]["LS-SVM RBF"]["gamma_eff"] - f["distinct_rows"]) for f in lost)
        rows = float(np.mean([f["distinct_rows"] for f in lost]))
        said.append(
            f"{SETS[name]}: on the inputs selected where γ → ∞, the {lost[0]['n_train']} training rows have "
            f"{rows:.0f} distinct values on average, and rows that are equal have equal labels. A kernel narrow "
            f"enough then explains all labels without noise: γ_eff is the number of distinct rows (to {gap:.1g}), "
            "and the Gaussian likelihood of labels has no bound. The forward search favours just such inputs, "
            "because the formula does."
        )
    return tuple(said)


def _pruned(result: StudyResult, sets: Sequence[str]) -> str:
    parts = []
    for name in sets:
        values = of_set(result, name)
        kept = np.mean([v["facts"]["kept_points"] / v["facts"]["n_train"] for v in values])
        d = differences(result, name)[("LS-SVM RBF, pruned", "LS-SVM RBF")]
        parts.append(f"{SETS[name]} {100 * kept:.0f} % of the points are kept and AUC changes by {signed(d)}")
    return f"Pruning negative support values: on {'; on '.join(parts)}."


def signed(d: Difference) -> str:
    """A difference with its sign and its error."""
    sign = "−" if d.mean < 0 else "+"
    error = f" ± {d.se:.4f}" if math.isfinite(d.se) else ""
    return f"{sign}{abs(d.mean):.4f}{error}"
