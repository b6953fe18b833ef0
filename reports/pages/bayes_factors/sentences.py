"""The verdict on the Bayes factors, in sentences computed from the numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import isfinite

from reports.frame.words import joined, minus
from validation.harness import StudyResult
from validation.studies.bayes_factors import ANALYTIC, MODELS, RUNGS, SAMPLED, Evidence, Flip, words
from validation.studies.bayes_factors.comparison import DESIGN, Ladder, n_pairs, worst_pair

STANDARD_ERRORS = 3.0


def label(name: str) -> str:
    """A model's name for readers."""
    return MODELS[name].label


def spoken(said: str) -> str:
    """Words of `words`, with the models' names for readers."""
    strength, found, name = said.partition(" for ")
    return f"{strength} for {label(name)}" if found else said


def verdict(result: StudyResult, ladder: Ladder, flips: Mapping[str, tuple[Flip, ...]]) -> tuple[str, ...]:
    """What the numbers say."""
    exact = ladder["quadrature"]
    left_out = [m for m in dict.fromkeys(f.cell.settings["model"] for f in result.cells) if m not in exact]
    return (
        _winner(exact),
        *(_of_rung(rung, exact, ladder[rung], flips[rung]) for rung in (*ANALYTIC, *DESIGN) if ladder[rung]),
        _of_sampling(ladder),
        *(f"There is no exact evidence of {label(name)}, which is left out of the comparisons." for name in left_out),
    )


def _winner(exact: Mapping[str, Evidence]) -> str:
    order = list(exact)
    if len(order) == 1:
        return f"{label(order[0])} is the only model with an exact evidence."
    first, second = order[:2]
    lead = exact[first].value - exact[second].value
    said = words(lead, first, second)
    strength = "not worth more than a bare mention" if said == "bare mention" else f"{said.split(' for ')[0]} evidence"
    return (
        f"By the exact evidence {label(first)} comes first, {lead:.2f} nats before {label(second)}: {strength}. "
        f"Last is {label(order[-1])}, {exact[first].value - exact[order[-1]].value:.1f} nats behind."
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
        return "Nothing was sampled, so that quadrature stands alone."
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
        f"of quadrature. Not so: {named}."
    )


def offset(ladder: Ladder, rung: str, name: str) -> str:
    """A rung's log evidence minus quadrature's."""
    if name not in ladder[rung]:
        return "–"
    return minus(f"{ladder[rung][name].value - ladder['quadrature'][name].value:+.4f}")


def count(number: int, what: str) -> str:
    """A number of things."""
    return f"{number} {what}" + ("" if number == 1 else "s")
