"""What the study says, in sentences made from its numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reports.frame.answer import Answer, State
from reports.frame.words import joined, many, number
from validation.studies.laplace_reference import LIMIT

from .posteriors import FIGURES, RULES, Posterior, confusion, rank_correlation, z_scores

RULE = (
    f"Holds where Laplace's evidence is within {LIMIT:g} nats on every posterior; with care where it is not, but "
    "`trust_model` warns every time; fails where it is wrong without a warning."
)


def badge(wrong: int, missed: int) -> State:
    """From the number of posteriors on which Laplace's method is wrong, and of those without a warning."""
    if missed:
        return "fails"
    return "with care" if wrong else "holds"


def answer(posteriors: Sequence[Posterior]) -> Answer:
    """Can Laplace's evidence be trusted?"""
    found = confusion(RULES[-1], posteriors)
    within, missed = len(posteriors) - found.off, found.off - found.caught
    verdict = f"Laplace's evidence is right to {LIMIT:g} nats on {within} of {many(len(posteriors), 'posterior')}"
    if found.off:
        which = "all" if not missed else f"{found.caught} of the"
        verdict += f"; the trust check flags {which} {found.off} others"
    kinds = {"real models": "reference", "simulated ones made to be hard": "simulated"}
    counts = []
    for words, kind in kinds.items():
        own = [p for p in posteriors if (p.kind == "reference") == (kind == "reference")]
        if own:
            counts.append(f"{sum(not p.is_off for p in own)} of {len(own)} {words}")
    points = [f"It is right on {joined(counts)}."]
    points.append(f"False alarms: {found.false} of {many(found.fine, 'posterior')} on which it is right.")
    figures = {words: rank_correlation(figure, posteriors) for figure, words in FIGURES.items()}
    if np.isfinite(list(figures.values())).all():
        best = max(figures, key=lambda words: figures[words])
        points.append(
            f"The best warning before any sampling is {best} (rank correlation {figures[best]:.2f} with the error)."
        )
    return Answer(badge(found.off, missed), f"{verdict}.", tuple(points), RULE)


def findings(posteriors: Sequence[Posterior]) -> tuple[str, ...]:
    """All that the numbers say."""
    references = [p for p in posteriors if p.kind == "reference"]
    made = [p for p in posteriors if p.kind != "reference"]
    return (
        *_where(references, "reference posteriors"),
        *_where(made, "simulated posteriors, which were made to be hard"),
        _next_order(posteriors),
        _trust(posteriors),
        *_figures(posteriors),
        *_bridge(references),
    )


def _where(posteriors: Sequence[Posterior], what: str) -> tuple[str, ...]:
    if not posteriors:
        return ()
    within = sum(not p.is_off for p in posteriors)
    worst = max(posteriors, key=lambda p: p.error)
    median = float(np.median([p.error for p in posteriors]))
    return (
        f"Laplace's evidence is within {LIMIT:g} nats on {within} of {len(posteriors)} {what}: its median error is "
        f"{median:.3f} nats, its largest {number(worst['laplace'], '+.2f')} ({worst.name}).",
    )


def _next_order(posteriors: Sequence[Posterior]) -> str:
    small = [p for p in posteriors if abs(p["correction"]) <= LIMIT]
    large = [p for p in posteriors if not abs(p["correction"]) <= LIMIT]
    said = "The next term of the expansion, from 2d Hessians at the mode, predicts how large the error is"
    if small:
        before, left = max(p.error for p in small), max(abs(p["next_order"]) for p in small)
        said += (
            f": on the {len(small)} posteriors where it is at most {LIMIT:g} nats the error is at most {before:.2f}, "
            f"and at most {left:.3f} once it is added"
        )
    if large:
        helped = sum(abs(p["next_order"]) < p.error for p in large)
        left = max(abs(p["next_order"]) for p in large)
        said += (
            f"; on the {len(large)} where it is larger, adding it makes the error smaller on {helped} and leaves up to "
            f"{left:.2f} nats: there it is an alarm, not a correction"
        )
    return f"{said}."


def _trust(posteriors: Sequence[Posterior]) -> str:
    found = confusion(RULES[-1], posteriors)
    missed = [p.name for p in posteriors if p.is_off and not RULES[-1].warns(p)]
    alarms = [p.name for p in posteriors if not p.is_off and RULES[-1].warns(p)]
    by = "with NUTS" if all(p.sampled for p in posteriors) else "without sampling"
    said = f"Of {found.off} posteriors that are off by more than {LIMIT:g} nats `trust_model` {by} flags {found.caught}"
    said += f", and of the {found.fine} others {found.false} ({_share(found.false, found.fine)})"
    notes = [f"it misses {joined(missed)}"] if missed else []
    notes += [f"the false alarms are {joined(alarms)}"] if alarms else []
    return f"{said}{': ' + '; '.join(notes) if notes else ''}."


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "–"


def _figures(posteriors: Sequence[Posterior]) -> tuple[str, ...]:
    found = {words: rank_correlation(figure, posteriors) for figure, words in FIGURES.items()}
    if not np.isfinite(list(found.values())).all():
        return ()
    order = sorted(found, key=lambda words: -found[words])
    ranked = joined([f"{words} {found[words]:.2f}" for words in order])
    return (f"Rank correlations with the size of the error, before any sampling: {ranked}.",)


def _bridge(references: Sequence[Posterior]) -> tuple[str, ...]:
    z = z_scores(references)
    if not len(z):
        return ()
    beyond, mean = float(np.mean(np.abs(z) > 1.96)), number(float(z.mean()), "+.2f")
    return (
        f"Bridge sampling on single chains of 1000 reference draws: {len(z)} z-scores against the exact value, or "
        f"against the nine other chains, have mean {mean} and standard deviation {z.std(ddof=1):.2f}; "
        f"{100 * beyond:.1f} % lie beyond ±1.96.",
    )
