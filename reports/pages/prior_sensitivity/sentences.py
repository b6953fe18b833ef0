"""What the answers owe to the prior, in sentences made from the numbers."""

from __future__ import annotations

from collections.abc import Sequence

from bayes_lssvm.comparison.words import kass_raftery
from bayes_lssvm.trust import LIMITS

from .answers import SYMBOLS, Answer, kind_of

MOVED = 0.25  # posterior standard deviations by which a mean may move and count as the same


def verdict(reference: Answer, answers: Sequence[Answer], permuted: Sequence[Answer]) -> tuple[str, ...]:
    """What the answers owe to the prior, in sentences made from the numbers."""
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
        f"prior is part of the answer."
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
        f"({high.name}), {high.log_evidence - low.log_evidence:.1f} nats, because it counts the prior's widths and its "
        "place: compare kernels under one prior only. With σ held, where both kernels have the same parameters, the "
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
        f"Under {count} the integral has no end in the range that is searched ({', '.join(a.name for a in answers)}): "
        "as σ → ∞ the RBF kernel becomes a linear one, as γ → ∞ the data are interpolated, and where the data have no "
        "objection only the prior could stop it. These answers are marked † and are not counted above.",
    )


def _control(permuted: Sequence[Answer]) -> tuple[str, ...]:
    if len(permuted) < 2:
        return ()
    low, high = (f(permuted, key=lambda a: a.values["sd"]["mu"]) for f in (min, max))
    zeta = sorted(a.values["sd"]["zeta"] for a in permuted)
    return (
        f"Where the data say nothing the prior is the answer: with permuted targets the posterior standard deviation "
        f"of log μ is {low.values['sd']['mu']:.2f} under {low.name} and {high.values['sd']['mu']:.2f} under "
        f"{high.name}. That of log ζ, which is about the noise alone, is {zeta[0]:.3f} to {zeta[-1]:.3f}.",
    )


def signed(value: float, digits: int = 2) -> str:
    """A number with a true minus sign, and none before a zero."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0.0 else text.replace("-", "−")
