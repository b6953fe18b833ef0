"""The page of paper 4's ovarian pipeline on public data: ROC curves, cut-offs, selection of inputs, pruning."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from bayes_lssvm import datasets
from reports.draw.thumbnail import bars
from reports.frame.index import TABLES_HEADING
from reports.frame.page import Page, Row, Section, Table
from validation.harness import StudyResult
from validation.papers.paper4.ovarian import POSITIVE, RATES, SETS, differences, majority_rule, of_set
from validation.papers.paper4.ovarian_pipeline import MODELS
from validation.papers.paper4.ovarian_published import N_TEST, N_TRAIN, RANDOMISATIONS, SELECTED, TABLE_2
from validation.papers.paper4.roc import CUT_OFFS

from .figures import roc_picture
from .sentences import answer, corner, each, findings, mean, signed, stepwise

INTRODUCTION = (
    "Paper 4 (Suykens, lecture 7) predicts whether ovarian tumours are malignant: inputs are chosen forward by the "
    "evidence, and a linear and an RBF LS-SVM are compared with logistic regression by ROC curves over 30 stratified "
    "randomisations. Its data are not public. This page runs the same pipeline on two public sets, Wisconsin breast "
    "cancer and Pima diabetes, in the paper's ratio of training to test cases. The paper's figures are shown for "
    "context only."
)
METHODS = (
    f"{RANDOMISATIONS} stratified randomisations with {N_TRAIN} : {N_TEST} as the ratio of training to test rows. "
    "Standardisation, selection, hyperparameters and pruning see training rows only. Inputs are selected again in "
    "each randomisation; the paper selected them once.",
    "LS-SVM probabilities are moderated outputs (3.17) with the training frequencies as class priors. Logistic "
    "regression is fitted by maximum likelihood, without a penalty.",
    "A case is called positive where its probability reaches the cut-off. AUC and curves come from log odds, so "
    "probabilities rounded to 0 or 1 do not tie. Curves are averaged vertically.",
    "Differences of AUC are paired over randomisations. Their standard errors are corrected for the rows that "
    "randomisations share (Nadeau and Bengio, 2003); the plain ones would be several times smaller.",
    "Pruning removes points with negative y_iα_i, chooses μ and ζ again on the others, and stops when there are "
    "none left.",
)


def page(result: StudyResult) -> Page:
    """The pipeline's results on both sets."""
    sets = [name for name in SETS if of_set(result, name)]
    if not sets:
        raise ValueError("None of the cells of paper 4's ovarian pipeline was computed, so there is nothing to show.")
    sections = (
        Section("Differences of AUC", tables=(difference_table(result, sets),)),
        Section(
            "Which inputs",
            (*corner(result, sets), *stepwise(result, sets)),
            (selection_table(result, sets), design_table(result, sets)),
        ),
        Section("What pruning costs", tables=(pruning_table(result, sets),)),
    )
    return Page(
        answer=answer(result, sets),
        introduction=INTRODUCTION,
        key_picture=roc_picture(result, sets),
        findings=findings(result, sets),
        key_table=key_table(result, sets),
        sections=sections,
        methods=METHODS,
        result=result,
        thumbnail=_thumbnail(result, sets),
        group=TABLES_HEADING,
        related=("reproduction", "paper4-dax"),
    )


def _thumbnail(result: StudyResult, sets: Sequence[str]) -> Figure:
    short = {"LS-SVM RBF": "RBF", "LR": "logistic"}
    auc = {f"{SETS[s].split()[0]}, {w}": mean(of_set(result, s), m, "auc") for s in sets for m, w in short.items()}
    return bars(auc, "AUC on selected inputs", form=".3f", own=[name for name in auc if name.endswith("RBF")])


def _with_sd(numbers: Sequence[float], digits: int) -> str:
    spread = f" ({np.std(numbers, ddof=1):.{digits}f})" if len(numbers) > 1 else ""
    return f"{np.mean(numbers):.{digits}f}{spread}".replace("-", "−")


def key_table(result: StudyResult, sets: Sequence[str]) -> Table:
    """AUC, and accuracy, sensitivity and specificity at each cut-off."""
    rows: list[Row] = []
    for name in sets:
        values = of_set(result, name)
        facts = values[0]["facts"]
        rows.append(Row(f"{SETS[name]}: {len(values)} randomisations, {facts['n_train']} training rows"))
        for model in MODELS:
            at = {
                c: {r: np.mean([v["models"][model]["cut_offs"][f"{c:g}"][r] for v in values]) for r in RATES}
                for c in CUT_OFFS
            }
            cells = (" / ".join(f"{at[c][rate]:.1f}" for rate in RATES) for c in CUT_OFFS)
            rows.append(Row(f"  {model}", (_with_sd(each(values, model, "auc"), 4), *cells)))
        rule = majority_rule(result, name)
        same = " / ".join(f"{np.mean([rates[rate] for rates in rule]):.1f}" for rate in RATES)
        rows.append(Row("  majority rule", ("0.5000", *[same] * len(CUT_OFFS))))
    rows.append(Row("Ovarian tumours, as printed in the paper (other data)"))
    for model, printed in TABLE_2.items():
        cells = (
            " / ".join(f"{x:.1f}" for x in printed.cut_offs[f"{c:g}"]) if f"{c:g}" in printed.cut_offs else "–"
            for c in CUT_OFFS
        )
        rows.append(Row(f"  {model}", (f"{printed.auc:.4f} ({printed.sd:.4f})", *cells)))
    positive = ", ".join(f"{POSITIVE[name]} ({SETS[name]})" for name in sets)
    return Table(
        "AUC, and accuracy / sensitivity / specificity in %",
        ("", "AUC (sd)", *(f"cut-off {c:g}" for c in CUT_OFFS)),
        tuple(rows),
        f"Means over randomisations. The positive class: {positive}. The majority rule gives every case the class that "
        "most training rows have. RMI, the risk of malignancy index, has cut-offs of its own kind.",
    )


def difference_table(result: StudyResult, sets: Sequence[str]) -> Table:
    """Paired differences of AUC and log score."""
    rows: list[Row] = []
    for name in sets:
        rows.append(Row(SETS[name]))
        auc, log = (differences(result, name, measure) for measure in ("auc", "log_score"))
        for pair, d in auc.items():
            z = f"{d.z:+.1f}".replace("-", "−") if math.isfinite(d.z) else "–"
            cells = (signed(d), z, f"{d.larger} of {d.runs}", signed(log[pair]))
            rows.append(Row(f"  {pair[0]} − {pair[1]}", cells))
    return Table(
        "Differences of AUC and of the log score",
        ("", "AUC ± error", "in errors", "larger in", "log score ± error"),
        tuple(rows),
        "Log score: mean log probability of the true class, nats. Errors are corrected for shared rows.",
    )


def selection_table(result: StudyResult, sets: Sequence[str]) -> Table:
    """How often each input was selected."""
    rows: list[Row] = []
    for name in sets:
        facts = [v["facts"] for v in of_set(result, name)]
        counts = Counter(i for f in facts for i in f["selected"])
        numbers = [len(f["selected"]) for f in facts]
        names = datasets.load(name).feature_names
        rows.append(Row(f"{SETS[name]}: {_with_sd(numbers, 1)} of {len(names)} inputs selected"))
        rows += [
            Row(f"  {names[i]}", (f"{100 * counts[i] / len(facts):.0f} %",))
            for i in sorted(range(len(names)), key=lambda i: (-counts[i], i))
        ]
    return Table(
        "Inputs selected by the evidence of the RBF LS-SVM",
        ("", "randomisations"),
        tuple(rows),
        f"The paper selects {SELECTED} of its inputs.",
    )


def design_table(result: StudyResult, sets: Sequence[str]) -> Table:
    """What level 2 chose, and how often it ran to a corner."""
    rows: list[Row] = []
    for name in sets:
        facts = [v["facts"] for v in of_set(result, name)]
        rows.append(Row(SETS[name]))
        for model in facts[0]["lssvm"]:
            own = [f["lssvm"][model] for f in facts]
            sigma = _with_sd([o["sigma"] for o in own], 2) if own[0]["sigma"] is not None else "–"
            corner = sum(o["status"] == "interpolation" for o in own)
            key = "distinct_rows_all" if model.endswith("all inputs") else "distinct_rows"
            distinct = [f[key] for f in facts if f[key] is not None]
            cells = (sigma, _with_sd([o["gamma_eff"] for o in own], 1), f"{np.mean(distinct):.0f}", f"{corner}")
            rows.append(Row(f"  {model}", cells))
    return Table(
        "What the evidence selects",
        ("", "σ (sd)", "γ_eff (sd)", "distinct rows", "interpolation"),
        tuple(rows),
        "Interpolation: randomisations in which γ went to the largest value that can be computed.",
    )


def pruning_table(result: StudyResult, sets: Sequence[str]) -> Table:
    """Points, AUC, log score and Brier score before and after."""

    def change(values: Sequence[Any], measure: str) -> str:
        before, after = (mean(values, m, measure) for m in ("LS-SVM RBF", "LS-SVM RBF, pruned"))
        return f"{before:.4f} → {after:.4f}".replace("-", "−")

    rows = []
    for name in sets:
        values = of_set(result, name)
        facts = [v["facts"] for v in values]
        cells = (
            f"{facts[0]['n_train']} → {_with_sd([f['kept_points'] for f in facts], 0)}",
            _with_sd([f["pruning_rounds"] for f in facts], 1),
            *(change(values, measure) for measure in ("auc", "log_score", "brier")),
        )
        rows.append(Row(SETS[name], cells))
    return Table(
        "RBF LS-SVM before and after pruning",
        ("", "points (sd)", "rounds (sd)", "AUC", "log score", "Brier score"),
        tuple(rows),
        "Larger AUC and log scores are better, smaller Brier scores.",
    )
