"""What the numbers of section 7.1 say about the print; every clause depends on them."""

from __future__ import annotations

import numpy as np

from reports.frame.answer import Answer, State
from validation.studies.section_7_1 import Design, RipleyStudy

# A line search in the paper's day stopped well within this; the two criteria are 0.017 apart.
SIGMA_TOLERANCE = 5e-4
# Below this many nats no reader of evidence would prefer one model to another (Kass and Raftery's scale begins at 1).
SMALL_LOSS = 0.1
RULE = (
    "Holds where the paper's width is the maximum of the formula it names (5.3) and all printed accuracies are "
    "reproduced; with care where the width is that of the other criterion; fails where a printed number is not "
    "reproduced."
)
SCORE_NAMES = {
    "class": "class centres (paper 0, 3.17)",
    "target": "targets ±1 (paper 2, 11)",
    "softmax": "logistic (MacKay)",
}
"""The three moderated outputs, for readers."""


def badge(off_5_3: float, off_other: float, accuracies: bool) -> State:
    """From the distances of the printed width to the two maxima, and whether every accuracy is as printed."""
    if not accuracies or min(off_5_3, off_other) > SIGMA_TOLERANCE:
        return "fails"
    return "holds" if off_5_3 <= SIGMA_TOLERANCE else "with care"


def answer(result: RipleyStudy) -> Answer:
    """Is section 7.1 reproduced?"""
    printed, d = result.printed, result.without_occam
    pairs = (
        (d.accuracy_moderated, printed.accuracy),
        (d.unbalanced_ignoring, printed.unbalanced_ignoring),
        (d.unbalanced_using, printed.unbalanced_using),
    )
    off = [abs(fit.sigma - printed.sigma) for fit in (result.eq_5_3, d)]
    state = badge(off[0], off[1], all(_matches(ours, theirs) for ours, theirs in pairs))
    verdict = {
        "holds": "Every number that the paper prints in section 7.1 is reproduced.",
        "with care": "The paper's numbers are reproduced, but its kernel width comes from the evidence without the "
        "Occam factor, not from the formula it names.",
        "fails": "Not every number that the paper prints in section 7.1 is reproduced.",
    }[state]
    return Answer(
        state,
        verdict,
        (
            f"Accuracy on {result.n_test} test points: {100 * d.accuracy_moderated:.1f} %; the paper prints "
            f"{100 * printed.accuracy:.1f} %.",
            f"Kernel width: {d.sigma:.4f} without the Occam factor and {result.eq_5_3.sigma:.4f} with it (5.3); the "
            f"paper prints {printed.sigma:.4f}.",
            f"With the right class priors, accuracy on the unbalanced test set goes from "
            f"{100 * d.unbalanced_ignoring:.1f} to {100 * d.unbalanced_using:.1f} % without refitting.",
        ),
        RULE,
    )


def findings(result: RipleyStudy) -> tuple[str, ...]:
    """All that the numbers say about the print; every clause depends on them."""
    return _about_sigma(result), _about_accuracy(result), _about_priors(result), _about_probabilities(result)


def _about_sigma(result: RipleyStudy) -> str:
    printed = result.printed.sigma
    near, far = sorted(result.designs, key=lambda d: abs(d.sigma - printed))
    peaks = ", ".join(f"{d.sigma:.4f} {wording(d)}" for d in result.designs)
    said = f"Kernel width: the evidence peaks at {peaks}; the paper prints {printed:.4f}. "
    if abs(near.sigma - printed) > SIGMA_TOLERANCE:
        return said + "Neither criterion reproduces the printed value."
    if abs(far.sigma - printed) <= SIGMA_TOLERANCE:
        return said + "Both reproduce the printed value, so they cannot be told apart."
    if near is result.eq_5_3:
        return said + "The formula (5.3) reproduces the printed value, as the text says."
    loss = near.log_evidence_without_occam - far.log_evidence_without_occam
    weight = "It matters little here" if loss < SMALL_LOSS else "The choice matters here"
    return (
        said + "So the printed value is the maximum of p(D | μ_MP, ζ_MP, σ), and not, as the text says, of the formula "
        f"(5.3); see the errata. {weight}: between the two widths log p(D | μ_MP, ζ_MP, σ) differs by {loss:.4f}."
    )


def wording(design: Design) -> str:
    """Which evidence chose the width."""
    return "by the formula (5.3)" if design.criterion == "eq 5.3" else "without the Occam factor"


def _matches(value: float, printed: float) -> bool:
    """Whether a share of correct answers rounds to the print's one decimal of a per cent."""
    return abs(value - printed) < 5e-4 * (1 - 1e-9)


def _about_accuracy(result: RipleyStudy) -> str:
    printed, n = result.printed.accuracy, result.n_test
    parts = []
    for d in result.designs:
        both = (d.accuracy_sign, d.accuracy_moderated)
        agreed = "as printed" if all(_matches(a, printed) for a in both) else _points(both[1], printed, n)
        rules = f"{100 * both[0]:.1f} % right by both rules"
        if both[0] != both[1]:
            rules = f"{100 * both[0]:.1f} % right by the sign of z and {100 * both[1]:.1f} % by the moderated output"
        parts.append(f"{wording(d)} {rules} ({agreed})")
    error = 100 * np.sqrt(printed * (1 - printed) / n)
    return f"Accuracy: {'; '.join(parts)}. With {n} test points the standard error is {error:.1f} percentage points."


def _points(value: float, printed: float, n: int) -> str:
    difference = round(n * (value - printed))
    unit = "test point" if abs(difference) == 1 else "test points"
    return f"{abs(difference)} {unit} {'more' if difference > 0 else 'fewer'} than printed"


def _about_priors(result: RipleyStudy) -> str:
    d, printed = result.without_occam, result.printed
    ignoring, using = d.unbalanced_ignoring, d.unbalanced_using
    agreed = _matches(ignoring, printed.unbalanced_ignoring) and _matches(using, printed.unbalanced_using)
    moved = "raises" if using > ignoring else "lowers" if using < ignoring else "does not change"
    change = "" if using == ignoring else f" from {100 * ignoring:.1f} to"
    return (
        f"Priors: on the unbalanced test set, telling the classifier P(−1) = 0.75 {moved} the accuracy{change} "
        f"{100 * using:.1f} %, without refitting"
        + (", as printed." if agreed else ", which is not what the paper prints.")
    )


def _about_probabilities(result: RipleyStudy) -> str:
    ranked = sorted(result.without_occam.scores, key=lambda s: s.log_loss)
    best, worst = ranked[0], ranked[-1]
    return (
        f"Probabilities: of the three moderated outputs, {SCORE_NAMES[best.moderation]} has the smallest log loss on "
        f"the test set ({best.log_loss:.3f}) and {SCORE_NAMES[worst.moderation]} the largest ({worst.log_loss:.3f}); "
        f"always predicting ½ gives {np.log(2):.3f}."
    )
