"""What the study says, in sentences made from its numbers."""

from __future__ import annotations

import numpy as np

from reports.frame.answer import Answer, State
from reports.frame.words import joined, number
from validation.studies.factor_calibration import PAIRS

from .outcomes import BEYOND, NAMES, SURE, Outcomes, loss, together

Found = dict[str, dict[str, Outcomes]]


RULE = (
    "Holds where Bayes factors are calibrated both with the kernels' parameters integrated out and by the evidence "
    "(5.2) at the best parameters; with care where only the former are; fails where these are not."
)


def badge(integrated: bool, papers: bool) -> State:
    """From whether the integrated evidence, and that of the papers, is calibrated on every pair."""
    if not integrated:
        return "fails"
    return "holds" if papers else "with care"


def answer(found: Found) -> Answer:
    """Can Bayes factors be taken at their word?"""
    good, papers = (all(own[name].calibrated for own in found.values()) for name in ("integrated", "mackay"))
    exact, closed = (together([own[name] for own in found.values()]) for name in ("integrated", "mackay"))
    verdict = {
        "holds": "Bayes factors are calibrated, by the papers' formula as well as with everything integrated out.",
        "with care": "Bayes factors can be taken at face value only if the kernels' parameters are integrated "
        "out; by the papers' formula they are overconfident.",
        "fails": "Bayes factors are not calibrated here, even with everything integrated out.",
    }[badge(good, papers)]
    points = [
        f"{name}: mean confidence {100 * own.promised.mean():.0f} %, right in {100 * own.right.mean():.0f} % of "
        f"{len(own.first)} simulated sets."
        for name, own in (("Integrated", exact), ("Formula (5.2)", closed))
    ]
    worse = [PAIRS[pair].label for pair, own in found.items() if not own["mackay"].calibrated]
    if worse:
        points.append(f"The formula fails for {joined(worse)}.")
    return Answer(badge(good, papers), verdict, tuple(points), RULE)


def calibrated(found: Found) -> str:
    """Are they calibrated, with numbers?"""
    exact, closed = (together([own[name] for own in found.values()]) for name in ("integrated", "mackay"))
    good, papers = (all(own[name].calibrated for own in found.values()) for name in ("integrated", "mackay"))
    return (
        f"{'Yes' if good else 'No'}: with the kernels' parameters integrated out Bayes factors are "
        f"{'' if good else 'not '}calibrated (the kernel that they prefer has P(H | D) {exact.promised.mean():.2f} on "
        f"average, and is the true one in {100 * exact.right.mean():.0f} % of {len(exact.first)} simulated sets); by "
        f"the evidence (5.2) at the best parameters they are {'too' if papers else 'not'} "
        f"({closed.promised.mean():.2f}, and {100 * closed.right.mean():.0f} %)."
    )


def findings(found: Found) -> tuple[str, ...]:
    """All that the numbers say."""
    of_pairs = (_of_pair(pair, own) for pair, own in found.items())
    return (calibrated(found), *of_pairs, _sure(found), *_scores(found), *_sampled(found))


def _methods(found: Found) -> list[str]:
    return [name for name in NAMES if any(name in own for own in found.values())]


def _of_pair(pair: str, own: dict[str, Outcomes]) -> str:
    good = [NAMES[name] for name, part in own.items() if part.calibrated]
    bad = [f"{NAMES[name]} ({_zs(part)})" for name, part in own.items() if not part.calibrated]
    said = f"{PAIRS[pair].label}, {len(own['integrated'].first)} sets: "
    said += f"calibrated as far as these sets can tell: {joined(good)}" if good else "no method is calibrated"
    return said + (f"; not calibrated: {joined(bad)}." if bad else ".")


def _zs(part: Outcomes) -> str:
    worst = max((part.z, part.z_share), key=abs)
    return f"{number(abs(worst), '.1f')} standard errors off"


def _sure(found: Found) -> str:
    parts = []
    for name in _methods(found):
        if name == "sampled":
            continue
        whole = together([own[name] for own in found.values()])
        sure = whole.promised >= SURE
        if sure.any():
            wrong, due = float(np.mean(~whole.right[sure])), float(np.mean(1.0 - whole.promised[sure]))
            parts.append(f"{NAMES[name]} is wrong in {100 * wrong:.1f} % (it claims {100 * due:.1f} %)")
    return (
        f"Of the sets on which it gives P(H | D) ≥ {SURE:g}, {joined(parts)}."
        if parts
        else f"No method ever gives P(H | D) ≥ {SURE:g}."
    )


def _scores(found: Found) -> tuple[str, ...]:
    said = []
    for name in ("maximised", "mackay", "hessian", "laplace"):
        pairs = [own for own in found.values() if name in own]
        gap, error = loss(together([own[name] for own in pairs]), together([own["integrated"] for own in pairs]))
        said.append(f"{NAMES[name]} {number(gap, '+.3f')} ± {error:.3f}")
    return (f"Mean log P(true kernel | D) minus that of the integrated evidence, in nats per set: {joined(said)}.",)


def _sampled(found: Found) -> tuple[str, ...]:
    drawn = [(own["sampled"], own["integrated"]) for own in found.values() if "sampled" in own]
    gaps = [np.abs(few.log_odds - every.log_odds[few.number]) for few, every in drawn]
    if not gaps:
        return ()
    every = np.concatenate(gaps)
    return (
        f"On {len(every)} sets with the fewest points NUTS with bridge sampling was run as well: its log Bayes "
        f"factors differ from the integrated ones by {np.median(every):.3f} nats at the median and "
        f"{every.max():.2f} at most.",
    )


def not_calibrated(found: Found) -> str:
    """What the figures of the key table mean."""
    return (
        f"A method is called calibrated where neither z is beyond ±{BEYOND:g}. z of the score is Spiegelhalter's, "
        "positive where a method is more confident than it should be; z of the share is positive where the first "
        "kernel is true more often than promised."
    )
