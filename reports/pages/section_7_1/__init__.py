"""Section 7.1 of paper 0 on Ripley's data: the tables, figures 2 and 3 and the evidence along σ.

The study behind it, `validation.studies.section_7_1`, is closed forms from end to end: nothing is sampled, and there
are no checks to fail.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from reports.frame.page import Page, Picture, Row, Section, Table
from validation.harness import StudyResult
from validation.studies.section_7_1 import Design, RipleyStudy, from_record

from .figures import figure_2, figure_3, figure_evidence, thumbnail
from .sentences import SCORE_NAMES, answer, findings, wording

PAGE_NAME = "ripley"
INTRODUCTION = (
    "An LS-SVM with RBF kernel is fitted by the evidence framework on 250 training points and tested on 1000 more. "
    "Its numbers are compared with those that Van Gestel et al. (2002) print. The kernel width σ maximises the "
    "evidence, once without the Occam factor and once by the formula (5.3), which includes it."
)
METHODS = (
    "Inputs are standardised by their training mean and standard deviation (N − 1 in the denominator); labels are −1 "
    "and +1. For each width μ and ζ are at the maximum of level 2; σ then maximises the evidence by either criterion.",
    "Test points are classified by the sign of the latent output (2.22) and by the moderated output (3.17). The "
    "unbalanced test set contains every negative point three times and every positive one once.",
)
MAIN_HEADER = ("", "paper", "without Occam factor", "formula (5.3)")
SCORE_HEADER = ("moderated output", "log loss", "Brier", "% correct")


def main_table(result: RipleyStudy) -> Table:
    """The rows of section 7.1: what the paper prints, the fit without Occam factor, the fit by eq 5.3."""
    printed, width = result.printed, f"prior widths {result.prior_sd:g}"

    def row(label: str, value: Callable[[Design], float], form: str, paper: float | None = None) -> Row:
        cells = ["–" if paper is None else format(paper, form), *(format(value(d), form) for d in result.designs)]
        return Row("  " + label, tuple(cell.replace("-", "−") for cell in cells))

    def share(label: str, value: Callable[[Design], float], paper: float) -> Row:
        # a share of 2000 points can end on half a tenth: show what is there, and no trailing zero
        cells = [f"{100 * v:.2f}".removesuffix("0") for v in (paper, *(value(d) for d in result.designs))]
        return Row("  " + label, tuple(cells))

    rows = (
        Row("Hyperparameters"),
        row("σ_MP, kernel width", lambda d: d.sigma, ".4f", printed.sigma),
        row("μ_MP, precision of the weights", lambda d: d.mu, ".4f"),
        row("ζ_MP, precision of the noise", lambda d: d.zeta, ".4f"),
        row("γ_MP = ζ_MP / μ_MP", lambda d: d.gamma, ".4f"),
        row("γ_eff, effective number of parameters", lambda d: d.gamma_eff, ".2f"),
        row("ζ_*, precision around the class centres", lambda d: d.zeta_star, ".4f"),
        Row("Error bars"),
        row("of log μ, MacKay's formula", lambda d: d.mackay.log_mu, ".4f"),
        row("of log μ, exact Hessian", lambda d: d.hessian.log_mu, ".4f"),
        row("of log ζ, MacKay's formula", lambda d: d.mackay.log_zeta, ".4f"),
        row("of log ζ, exact Hessian", lambda d: d.hessian.log_zeta, ".4f"),
        Row("Evidence (nats)"),
        row("log p(D | μ_MP, ζ_MP, σ)", lambda d: d.log_evidence_without_occam, ".4f"),
        row(f"log Occam factor, MacKay ({width})", lambda d: d.log_occam_factor, ".4f"),
        row(f"log Occam factor, Hessian ({width})", lambda d: d.log_occam_factor_hessian, ".4f"),
        row("log evidence with MacKay's Occam factor (5.2)", lambda d: d.log_evidence, ".4f"),
        row("log of the formula (5.3), without its constants", lambda d: d.log_eq_5_3, ".4f"),
        Row(f"Test set, {result.n_test} points (% correct)"),
        share("sign of the latent output (2.22)", lambda d: d.accuracy_sign, printed.accuracy),
        share("moderated output (3.17)", lambda d: d.accuracy_moderated, printed.accuracy),
        Row(f"Unbalanced test set, {result.n_unbalanced} points (% correct)"),
        share("ignoring its class priors", lambda d: d.unbalanced_ignoring, printed.unbalanced_ignoring),
        share("using P(−1) = 0.75, P(+1) = 0.25", lambda d: d.unbalanced_using, printed.unbalanced_using),
    )
    return Table("The numbers of section 7.1", MAIN_HEADER, rows, "A dash marks what the paper does not print.")


def score_table(result: RipleyStudy) -> Table:
    """Log loss, Brier score and accuracy of the three moderated outputs on the test set, for both fits."""
    rows = []
    for design in result.designs:
        rows.append(Row(f"σ_MP = {design.sigma:.4f} ({wording(design)})"))
        for s in design.scores:
            cells = (f"{s.log_loss:.4f}", f"{s.brier:.4f}", f"{100 * s.accuracy:.1f}")
            rows.append(Row("  " + SCORE_NAMES[s.moderation], cells))
    rows += [Row("For comparison"), Row("  always ½", (f"{np.log(2):.4f}", f"{0.25:.4f}", "–"))]
    note = "On the test set; smaller log loss (nats a point) and Brier score are better."
    return Table("Scores of the moderated outputs", SCORE_HEADER, tuple(rows), note)


def pictures(result: RipleyStudy) -> tuple[Picture, Picture, Picture]:
    """Figures 2 and 3 of the paper, and the evidence along σ."""
    return (
        Picture(
            "figure_2",
            figure_2(result),
            "Contour map of the probability of class +1 over the two inputs, with the 250 training points. A red "
            "region of high probability above, a blue one of low probability below, and a wavy 0.5 contour between "
            "them.",
            "Figure 2 of the paper. The heavy line is P = 0.5, the decision. Contours crowd together where the classes "
            "meet and spread out where the training points end: far from them the colours fade, because the "
            "classifier no longer knows.",
        ),
        Picture(
            "figure_3",
            figure_3(result),
            "The same probability as a surface above the two inputs: a plateau near 1, a basin near 0, a steep wall "
            "between them, and a flat rim a little below one half all around.",
            "Figure 3 of the paper. The same as a surface. The wall between plateau and basin is steep where data are "
            "dense; the rim, away from all data, levels off a little below ½ and not at 0 or 1.",
        ),
        Picture(
            "evidence",
            figure_evidence(result),
            "Two plots of log evidence against the kernel width. Left, over all widths: two single-peaked curves. "
            "Right, enlarged: the curve without Occam factor peaks on the line that marks the paper's value, the other "
            "one to the right of it.",
            "Evidence along σ. Left: both criteria have one broad maximum. Right, enlarged: the dotted line, the "
            "paper's σ, is at the maximum of the curve without the Occam factor; the formula (5.3) peaks further "
            "right, and the difference is worth a few thousandths of a nat.",
        ),
    )


def page(result: StudyResult) -> Page:
    """The page of section 7.1."""
    (finished,) = result.cells
    found = from_record(finished.values)
    decision, surface, evidence = pictures(found)
    main, scores = main_table(found), score_table(found)
    return Page(
        name=PAGE_NAME,
        exact=True,
        answer=answer(found),
        introduction=INTRODUCTION,
        findings=findings(found),
        key_picture=decision,
        key_table=main,
        sections=(
            Section("The probability as a surface", pictures=(surface,)),
            Section("The evidence along σ", pictures=(evidence,)),
            Section("How good are the probabilities?", tables=(scores,)),
        ),
        methods=METHODS,
        result=result,
        printed=(main, scores),
        thumbnail=thumbnail(found),
        related=("evidence", "paper0-table1"),
    )
