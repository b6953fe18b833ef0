"""How much the answers depend on the prior, in sentences made from the numbers."""

from __future__ import annotations

from collections.abc import Sequence

from bayes_lssvm.comparison.words import kass_raftery
from bayes_lssvm.trust import LIMITS
from reports.frame.answer import Answer as PageAnswer
from reports.frame.answer import State, graded
from reports.frame.words import many

from .answers import SYMBOLS, Answer, kind_of

MOVED = 0.25  # posterior standard deviations by which a mean may move and count as the same


RULE = (
    "The largest change of a prediction under any of the priors against the reference: holds up to the change that "
    "`bayes_lssvm.trust` calls good, with care up to the one that it calls doubtful, fails beyond."
)


def badge(change: float, kind: str) -> State:
    """From the largest change of a prediction; `kind` is "probability" or "regression"."""
    return graded(change, *LIMITS[kind])


def answer(reference: Answer, answers: Sequence[Answer]) -> PageAnswer:
    """Do the answers depend on the prior?"""
    others = [a for a in answers if a is not reference and not a.endless]
    if not others:
        return PageAnswer("with care", f"There is no answer to compare with that under {reference.name}.", (), RULE)
    kind = kind_of(reference)
    change = max(a.change_from(reference) for a in others)
    state = badge(change, kind)
    what = "no class probability moves" if kind == "probability" else "no prediction moves"
    unit = "" if kind == "probability" else " standard deviations"
    start = {
        "holds": "Predictions hardly depend on the prior",
        "with care": "Predictions depend a little on the prior",
        "fails": "Predictions depend on the prior",
    }[state]
    low, high = (f(a.bayes_factor for a in (reference, *others)) for f in (min, max))
    sign = ": even its sign depends on the prior" if low < 0.0 < high else ""
    moved = sum(any(abs(a.moved_from(reference, name)) > MOVED for name in SYMBOLS) for a in others)
    widths = [a.values["sigma"] for a in (reference, *others)]
    return PageAnswer(
        state,
        f"{start}: {what} by more than {change:.3f}{unit} under {many(len(others), 'other prior')}.",
        (
            f"The selected kernel width lies between {min(widths):.3g} and {max(widths):.3g}.",
            f"The log Bayes factor of the RBF against the linear kernel lies between {signed(low)} and {signed(high)} "
            f"nats{sign}.",
            (
                f"Under {moved} of {many(len(others), 'prior')} a posterior mean moves by more than {MOVED:g} of its "
                "standard deviation."
                if moved
                else f"Under none of {many(len(others), 'prior')} does a posterior mean move by more than {MOVED:g} of "
                "its standard deviation."
            ),
        ),
        RULE,
    )


def findings(reference: Answer, answers: Sequence[Answer], permuted: Sequence[Answer]) -> tuple[str, ...]:
    """How much the answers depend on the prior, in sentences made from the numbers."""
    whole = [a for a in answers if a is reference or not a.endless]
    rest = (*_endless([a for a in answers if a.endless]), *_control(permuted))
    if len(whole) < 2:
        return (f"There is no answer to compare with that under {reference.name}.", *rest)
    return (
        _predictions(reference, whole),
        _posterior(reference, whole),
        _selected(whole),
        _bayes_factors(whole),
        _evidence(whole),
        *_scores(whole),
        *rest,
    )


def _predictions(reference: Answer, answers: Sequence[Answer]) -> str:
    changes = {a.name: a.change_from(reference) for a in answers if a is not reference}
    worst = max(changes, key=lambda name: changes[name])
    limit, bad = LIMITS[kind_of(reference)]
    what, unit = ("probability", "") if kind_of(reference) == "probability" else ("prediction", " standard deviations")
    size = changes[worst]
    words = (
        "Predictions hardly depend on the prior"
        if size <= limit
        else "Predictions depend on the prior a little"
        if size <= bad
        else "Predictions depend on the prior"
    )
    return f"{words}: no {what} moves by more than {size:.3f}{unit} (under {worst}), against {reference.label} on all."


def _posterior(reference: Answer, answers: Sequence[Answer]) -> str:
    moves = {
        (a.name, symbol): a.moved_from(reference, name)
        for a in answers
        for name, symbol in SYMBOLS.items()
        if a is not reference
    }
    name, symbol = max(moves, key=lambda key: abs(moves[key]))
    worst = moves[name, symbol]
    many = sorted({prior for (prior, _), move in moves.items() if abs(move) > MOVED})
    if not many:
        return (
            f"No posterior mean moves by more than {MOVED:g} standard deviations; the largest shift is that of "
            f"{symbol} under {name} ({signed(worst)} sd). The data determine the hyperparameters."
        )
    return (
        f"Under {len(many)} of the {len(answers) - 1} other priors a posterior mean moves by more than {MOVED:g} "
        f"standard deviations; the largest shift is that of {symbol} under {name} ({signed(worst)} sd). There the "
        "prior affects the answer."
    )


def _selected(answers: Sequence[Answer]) -> str:
    low, high = (f(answers, key=lambda a: a.values["sigma"]) for f in (min, max))
    first, last = low.values["sigma"], high.values["sigma"]
    return f"The σ of highest posterior density is between {first:.3g} ({low.name}) and {last:.3g} ({high.name})."


def _bayes_factors(answers: Sequence[Answer]) -> str:
    low, high = (f(answers, key=lambda a: a.bayes_factor) for f in (min, max))
    span = (
        f"The log Bayes factor of the RBF kernel against the linear one is between {signed(low.bayes_factor)} "
        f"({low.name}) and {signed(high.bayes_factor)} nats ({high.name})"
    )
    words = {kass_raftery(a.bayes_factor) for a in answers}
    if low.bayes_factor < 0.0 < high.bayes_factor:
        return f"{span}: even its sign depends on the prior."
    if len(words) == 1:
        return f"{span}: “{words.pop()}” by Kass and Raftery's scale under every prior."
    ends = f"“{kass_raftery(low.bayes_factor)}” to “{kass_raftery(high.bayes_factor)}”"
    return f"{span}: the wording of Kass and Raftery's scale depends on the prior, {ends}."


def _evidence(answers: Sequence[Answer]) -> str:
    low, high = (f(answers, key=lambda a: a.log_evidence) for f in (min, max))
    held = [a.held_bayes_factor for a in answers]
    return (
        f"The log evidence itself runs from {signed(low.log_evidence)} ({low.name}) to {signed(high.log_evidence)} "
        f"({high.name}), {high.log_evidence - low.log_evidence:.1f} nats, because it depends on the prior's width and "
        "centre: compare kernels under one prior only. With σ fixed, where both kernels have the same parameters, the "
        f"Bayes factor moves by {max(held) - min(held):.2f} nats over the same priors."
    )


def _scores(answers: Sequence[Answer]) -> tuple[str, ...]:
    known = [a for a in answers if a.values.get("log_score") is not None]
    if not known:
        return ()
    low, high = (f(known, key=lambda a: a.values["log_score"]) for f in (min, max))
    return (
        f"On the test set the log score is between {signed(low.values['log_score'], 4)} ({low.name}) and "
        f"{signed(high.values['log_score'], 4)} nats a point ({high.name}).",
    )


def _endless(answers: Sequence[Answer]) -> tuple[str, ...]:
    if not answers:
        return ()
    count = f"{len(answers)} prior{'s' * (len(answers) > 1)}"
    return (
        f"Under {count} the integral extends beyond the range that is searched "
        f"({', '.join(a.name for a in answers)}): as σ → ∞ the RBF kernel becomes a linear one, as γ → ∞ the data "
        "are interpolated, and where the data do not rule this out, only the prior can. These answers are marked "
        "† and are left out above.",
    )


def _control(permuted: Sequence[Answer]) -> tuple[str, ...]:
    if len(permuted) < 2:
        return ()
    low, high = (f(permuted, key=lambda a: a.values["sd"]["mu"]) for f in (min, max))
    zeta = sorted(a.values["sd"]["zeta"] for a in permuted)
    return (
        "Without signal the prior decides: with permuted targets the posterior standard deviation of log μ is "
        f"{low.values['sd']['mu']:.2f} under {low.name} and {high.values['sd']['mu']:.2f} under {high.name}. That "
        f"of log ζ, which is about the noise alone, is {zeta[0]:.3f} to {zeta[-1]:.3f}.",
    )


def signed(value: float, digits: int = 2) -> str:
    """A number with a true minus sign, and none before a zero."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0.0 else text.replace("-", "−")
