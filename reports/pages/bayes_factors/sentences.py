"""What the Bayes factors say, in sentences computed from the numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite

from reports.frame.answer import Answer, State
from reports.frame.words import joined, many, minus
from validation.harness import StudyResult
from validation.studies.bayes_factors import ANALYTIC, MODELS, RUNGS, SAMPLED, Evidence, Flip, words
from validation.studies.bayes_factors.comparison import DESIGN, Ladder, n_pairs, worst_pair

STANDARD_ERRORS = 3.0
LARGE_ERROR = 1.0  # nats: a whole word of Kass and Raftery's scale
RULE = (
    "Looks at the evidence with MacKay's Occam factor (5.2). Holds where it prefers the same kernel as the exact "
    f"evidence and changes the wording of no pair; fails where a Bayes factor is off by more than {LARGE_ERROR:g} "
    "nat; with care in between. Wording is Kass and Raftery's."
)


def badge(same: bool, flips: int, error: float) -> State:
    """From whether the same kernel comes first, the number of changed wordings, and the largest error in nats."""
    if error > LARGE_ERROR:
        return "fails"
    return "holds" if same and not flips else "with care"


def answer(ladder: Ladder, flips: Mapping[str, tuple[Flip, ...]]) -> Answer:
    """Do the closed forms rank the kernels as the exact evidence does?"""
    exact, own = ladder["quadrature"], ladder["mackay"]
    pairs = n_pairs(exact, own)
    if not pairs:
        return Answer("with care", "There are too few kernels with an evidence by both methods to compare.", (), RULE)
    *_, error = worst_pair(exact, own)
    known = [name for name in exact if name in own]
    same = max(known, key=lambda name: own[name].value) == known[0]
    choice = "prefers the same kernel as" if same else "does not prefer the same kernel as"
    changed = len(flips["mackay"])
    found = distances(ladder)
    close = sum(abs(z) <= STANDARD_ERRORS for z in found.values())
    sampled = f"Sampling confirms the exact evidence: {close} of {len(found)} estimates are within 3 standard errors."
    return Answer(
        badge(same, changed, error),
        f"The evidence framework {choice} the exact evidence; its log Bayes factors are off by at most {error:.2f} "
        "nats.",
        (
            *_lead(exact),
            f"The wording (Kass and Raftery) changes for {changed} of {many(pairs, 'pair')} of kernels.",
            *((sampled,) if found else ()),
        ),
        RULE,
    )


def label(name: str) -> str:
    """A model's name for readers."""
    return MODELS[name].label


def spoken(said: str) -> str:
    """Words of `words`, with the models' names for readers."""
    strength, found, name = said.partition(" for ")
    return f"{strength} for {label(name)}" if found else said


def findings(result: StudyResult, ladder: Ladder, flips: Mapping[str, tuple[Flip, ...]]) -> tuple[str, ...]:
    """All that the numbers say."""
    exact = ladder["quadrature"]
    left_out = [m for m in dict.fromkeys(f.cell.settings["model"] for f in result.cells) if m not in exact]
    return (
        _winner(exact),
        *(_of_rung(rung, exact, ladder[rung], flips[rung]) for rung in (*ANALYTIC, *DESIGN) if ladder[rung]),
        _of_sampling(ladder),
        *(f"There is no exact evidence of {label(name)}, which is left out of the comparisons." for name in left_out),
    )


def _lead(exact: Mapping[str, Evidence]) -> tuple[str, ...]:
    """The best kernel and how far it is ahead, in a short sentence."""
    if len(exact) < 2:
        return ()
    first, second = list(exact)[:2]
    lead = exact[first].value - exact[second].value
    small = ", too little to matter" if lead < LARGE_ERROR else ""
    return (f"By the exact evidence {label(first)} is best, {lead:.2f} nats ahead of {label(second)}{small}.",)


def _winner(exact: Mapping[str, Evidence]) -> str:
    order = list(exact)
    if len(order) == 1:
        return f"{label(order[0])} is the only model with an exact evidence."
    first, second = order[:2]
    lead = exact[first].value - exact[second].value
    said = words(lead, first, second)
    strength = "not worth more than a bare mention" if said == "bare mention" else f"{said.split(' for ')[0]} evidence"
    return (
        f"By the exact evidence {label(first)} is best, {lead:.2f} nats ahead of {label(second)}: {strength}. "
        f"{label(order[-1])} is last, {exact[first].value - exact[order[-1]].value:.1f} nats behind."
    )


def _of_rung(rung: str, exact: Mapping[str, Evidence], own: Mapping[str, Evidence], flips: tuple[Flip, ...]) -> str:
    name = RUNGS[rung][0].upper() + RUNGS[rung][1:]
    pairs = n_pairs(exact, own)
    if pairs == 0:
        return f"{name} has one model only, so no pair."
    high, low, off = worst_pair(exact, own)
    known = [model for model in exact if model in own]
    best = max(known, key=lambda model: own[model].value)
    choice = "chooses the same model" if best == known[0] else f"chooses {label(best)} instead of {label(known[0])}"
    changed = (
        "the wording of the one pair does not change"
        if not flips and pairs == 1
        else f"no wording changes among {count(pairs, 'pair')}"
        if not flips
        else f"the wording changes for {len(flips)} of {count(pairs, 'pair')} ({_listed(flips)})"
    )
    missing = [label(model) for model in exact if model not in own]
    without = f" It has no answer for {joined(missing)}." if missing and rung in ANALYTIC else ""
    return (
        f"{name}: {choice}; log Bayes factors are off by at most {off:.2f} nats ({label(high)} against {label(low)}), "
        f"and {changed}.{without}"
    )


def _listed(flips: Iterable[Flip]) -> str:
    return "; ".join(
        f"{label(f.first)} against {label(f.second)}, {spoken(f.exact_words)} becomes {spoken(f.approximate_words)}"
        for f in flips
    )


def distances(ladder: Ladder) -> dict[tuple[str, str], float]:
    """(rung, model) to the distance of a sampled log evidence from quadrature, in standard errors."""
    exact = ladder["quadrature"]
    found = {}
    for rung in SAMPLED:
        for name, own in ladder[rung].items():
            if name in exact:
                rule = exact[name].error if isfinite(exact[name].error) else 0.0
                found[rung, name] = (own.value - exact[name].value) / max((own.error**2 + rule**2) ** 0.5, 1e-12)
    return found


def _of_sampling(ladder: Ladder) -> str:
    found = distances(ladder)
    if not found:
        return "Nothing was sampled, so quadrature is not confirmed by another method."
    far = {key: z for key, z in found.items() if not abs(z) <= STANDARD_ERRORS}
    if not far:
        (rung, name), z = max(found.items(), key=lambda item: abs(item[1]))
        return (
            f"All {len(found)} sampled log evidences are within {STANDARD_ERRORS:g} standard errors of quadrature; the "
            f"farthest is {label(name)} by {RUNGS[rung]}, {abs(z):.1f} standard errors away."
        )
    named = "; ".join(
        f"{label(name)} by {RUNGS[rung]} is {minus(f'{z:+.1f}')} standard errors away "
        f"({offset(ladder, rung, name)} nats)"
        for (rung, name), z in far.items()
    )
    return (
        f"{len(found) - len(far)} of {len(found)} sampled log evidences are within {STANDARD_ERRORS:g} standard errors "
        f"of quadrature. The others: {named}."
    )


def offset(ladder: Ladder, rung: str, name: str) -> str:
    """A rung's log evidence minus quadrature's."""
    if name not in ladder[rung]:
        return "–"
    return minus(f"{ladder[rung][name].value - ladder['quadrature'][name].value:+.3f}")


def count(number: int, what: str) -> str:
    """A number of things."""
    return f"{number} {what}" + ("" if number == 1 else "s")
