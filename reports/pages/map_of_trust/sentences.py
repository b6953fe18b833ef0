"""What the map says, in sentences made from its numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayes_lssvm.trust import LIMITS
from reports.frame.answer import Answer, State
from reports.frame.words import joined

from .spots import ENOUGH, NATS, Spot, median, problems_of, thresholds

RULE = (
    "Counts the settings in which every check of `bayes_lssvm.trust` is good on 90 % of the simulated sets. Holds "
    "where these are at least 90 % of all settings, with care where there are any, fails where there are none."
)


def badge(safe: int, of: int) -> State:
    """From the number of settings in which every check is good."""
    if safe >= ENOUGH * of:
        return "holds"
    return "with care" if safe else "fails"


def answer(spots: Sequence[Spot]) -> Answer:
    """Where can the closed forms be trusted?"""
    good = [spot for spot in spots if spot.trusted >= ENOUGH]
    verdict = f"The closed forms pass every check in none of {len(spots)} settings: integrate instead."
    if good:
        verdict = (
            f"The closed forms are fully reliable in only {len(good)} of {len(spots)} settings, all with at least "
            f"{min(s.n for s in good)} points and a signal-to-noise ratio ≥ {min(s.snr for s in good):g}."
        )
        if len(good) >= ENOUGH * len(spots):
            verdict = f"The closed forms are fully reliable in {len(good)} of {len(spots)} settings."
    margin = float(np.exp(LIMITS["error bars"][0]))
    ratios = [median(s.column("mackay_log_mu")) for s in spots]
    bars = sum(1.0 / margin <= ratio <= margin for ratio in ratios)
    evidence, laplace = (sum(s.within(m) >= ENOUGH for s in spots) for m in ("mackay", "laplace"))
    return Answer(
        badge(len(good), len(spots)),
        verdict,
        (
            f"Their evidence (5.2) alone is right to {NATS:g} nats in {evidence} of {len(spots)} settings.",
            f"Laplace's method with the prior is right to {NATS:g} nats in {laplace} of {len(spots)}.",
            f"MacKay's error bars of log μ are within a factor of {margin:.2f} of the exact ones in {bars}.",
        ),
        RULE,
    )


def findings(spots: Sequence[Spot]) -> tuple[str, ...]:
    """What the map says, in sentences made from its numbers."""
    problems = problems_of(spots)
    right = [s for s in spots if not s.mistaken]
    return (
        headline(spots),
        "What holds in 90 % of the sets, from which number of points and at which signal-to-noise ratios:",
        *(_of_problem(name, own) for name, own in problems.items()),
        _of_laplace(spots),
        *_place_of_the_prior(right),
        *_without_signal(right),
        *_error_bars(right),
        _modes(spots),
        *_of_mistaken([s for s in spots if s.mistaken]),
        *_predictions(right),
    )


def _of_problem(name: str, spots: Sequence[Spot]) -> str:
    trusted = threshold_words(thresholds(spots, lambda s: s.trusted))
    within = threshold_words(thresholds(spots, lambda s: s.within("mackay")))
    return f"{name}: every check is good {trusted}; the evidence (5.2) is within {NATS:g} nats {within}."


def headline(spots: Sequence[Spot]) -> str:
    """How much of the map can be trusted."""
    good = [spot for spot in spots if spot.trusted >= ENOUGH]
    if not good:
        return "Nowhere on this map is every check of the closed forms good in 90 % of the sets: integrate instead."
    return (
        f"The closed forms can be trusted on {len(good)} of the {len(spots)} cells of this map, where every check of "
        f"`bayes_lssvm.trust` is good in 90 % of the sets: all of them have a signal-to-noise ratio of at least "
        f"{min(s.snr for s in good):g} and N of at least {min(s.n for s in good)}."
    )


def threshold_words(found: dict[float, int | None]) -> str:
    """Thresholds in words: "from N = 30 at ratio 10, from N = 100 at ratios 1 and 3"; other ratios are left out."""
    groups: dict[int, list[str]] = {}
    for snr, n in found.items():
        if n is not None:
            groups.setdefault(n, []).append(ratio_words(snr))
    parts = [f"from N = {n} at ratio{'s' * (len(groups[n]) > 1)} {joined(groups[n])}" for n in sorted(groups)]
    return ", ".join(parts) or "nowhere"


def ratio_words(snr: float) -> str:
    """A signal-to-noise ratio in words."""
    return "0 (no signal)" if snr == 0.0 else f"{snr:g}"


def _of_laplace(spots: Sequence[Spot]) -> str:
    low = min(spots, key=lambda s: s.within("laplace"))
    worst = max(float(np.nanmedian(np.abs(s.column("laplace")))) for s in spots)
    if low.within("laplace") >= ENOUGH:
        return (
            f"Laplace's method with the prior is within {NATS:g} nats in 90 % of the sets everywhere on the map; "
            f"its median error is at most {worst:.2f} nats."
        )
    return (
        f"Laplace's method with the prior is within {NATS:g} nats in {100 * low.within('laplace'):.0f} % of the "
        f"sets at its worst (N = {low.n}, {_name(low)}, signal-to-noise {ratio_words(low.snr)}); its median error "
        f"is at most {worst:.2f} nats."
    )


def _place_of_the_prior(spots: Sequence[Spot]) -> tuple[str, ...]:
    """What 5.2 loses by taking the prior as its width, where there is most signal."""
    clear = _clear(spots)
    most = [s for s in clear if s.snr == max(one.snr for one in clear)]
    if not most:
        return ()
    hessian, laplace = (median(np.concatenate([s.column(name) for s in most])) for name in ("hessian", "laplace"))
    if not hessian - abs(laplace) > 0.5 * NATS:
        return ()
    return (
        f"At signal-to-noise {most[0].snr:g} and N ≥ 100 the evidence (5.2) is {hessian:.2f} nats too large at the "
        f"median, even with the exact Hessian, while Laplace's method is off by {abs(laplace):.3f}. The formula (5.2) "
        "uses the width of the prior and ignores its centre, and ζ is far from it.",
    )


def _without_signal(spots: Sequence[Spot]) -> tuple[str, ...]:
    pure = [s for s in spots if s.snr == 0.0]
    if not pure:
        return ()
    lost = np.mean(np.concatenate([s.column("no_mode") for s in pure]))

    def off(n: int) -> str:
        errors = np.concatenate([s.column("mackay") for s in pure if s.n == n])
        return f"{float(np.nanmedian(np.abs(errors))):.1f} nats at N = {n}"

    fewest, most = min(s.n for s in pure), max(s.n for s in pure)
    return (
        f"Without signal level 2 has no mode (γ → 0 or ∞) in {100 * lost:.0f} % of the sets, and the evidence (5.2) is "
        f"off by a median of {off(fewest)} and {off(most)}.",
    )


def _clear(spots: Sequence[Spot]) -> list[Spot]:
    return [s for s in spots if s.snr >= 1.0 and s.n >= 100]


def _error_bars(spots: Sequence[Spot]) -> tuple[str, ...]:
    clear = problems_of(_clear(spots))
    if not clear:
        return ()

    def span(name: str) -> str:
        medians = [np.nanmedian(np.concatenate([s.column(name) for s in own])) for own in clear.values()]
        low, high = float(min(medians)), float(max(medians))
        return f"{low:.2f}" if f"{low:.2f}" == f"{high:.2f}" else f"{low:.2f} to {high:.2f}"

    return (
        f"With N ≥ 100 and signal-to-noise ≥ 1, MacKay's error bar of log μ is {span('mackay_log_mu')} times the exact "
        f"standard deviation (medians of the problems) and that of log ζ {span('mackay_log_zeta')} times; the "
        f"Hessian's are {span('hessian_log_mu')} and {span('hessian_log_zeta')} times.",
    )


def _modes(spots: Sequence[Spot]) -> str:
    shares = [spot.share(spot.column("n_modes") >= 2.0) for spot in spots]
    most = spots[int(np.argmax(shares))]
    total = float(np.mean(np.concatenate([s.column("n_modes") >= 2.0 for s in spots])))
    if total == 0.0:
        return "The posterior of μ and ζ under this prior has one mode on every set."
    return (
        f"The posterior of μ and ζ has two modes or more in {100 * total:.1f} % of the sets, most often "
        f"({100 * max(shares):.0f} %) at N = {most.n}, {_name(most)}, signal-to-noise "
        f"{ratio_words(most.snr)}."
    )


def _name(spot: Spot) -> str:
    return next(iter(problems_of([spot])))


def _of_mistaken(spots: Sequence[Spot]) -> tuple[str, ...]:
    """What a kernel that is too wide does, where there is a signal to be seen."""
    seen = [s for s in spots if s.snr >= 1.0]
    if not seen:
        return ()
    far = [s for s in seen if s.n == max(one.n for one in seen)]
    two = np.mean(np.concatenate([s.column("n_modes") >= 2.0 for s in seen]))
    trusted = np.mean(np.concatenate([s.column("trusted") == 1.0 for s in seen]))
    off = median(np.abs(np.concatenate([s.column("mackay") for s in far])))
    laplace = median(np.abs(np.concatenate([s.column("laplace") for s in far])))
    return (
        f"Fitted with a kernel {seen[0].assumed_sigma / seen[0].sigma:.2g} times as wide as the true one, and with "
        f"signal-to-noise ≥ 1, the posterior has two modes or more in {100 * two:.0f} % of the sets and every check is "
        f"good in {100 * trusted:.0f} %; at N = {far[0].n} the evidence (5.2) is off by a median of {off:.1f} nats and "
        f"Laplace's method by {laplace:.2f}.",
    )


def _predictions(spots: Sequence[Spot]) -> tuple[str, ...]:
    """From which N on plug-in predictions are as good as integrated ones, over all problems."""
    limit = LIMITS["regression"][0]
    seen = [s for s in spots if s.snr >= 1.0]
    bad = [s for s in seen if s.share(s.column("change") <= limit) < ENOUGH]
    if not seen:
        return ()
    largest = max(s.n for s in seen)
    after = sorted({s.n for s in seen if s.n > max((b.n for b in bad), default=0)})
    if after:
        end = f"of every problem from N = {after[0]} on"
    else:
        names = joined(list(problems_of([b for b in bad if b.n == largest])))
        end = f"of the problems other than {names}, where even N = {largest} is not enough"
    return (
        f"With signal-to-noise ≥ 1 fixing μ and ζ moves no prediction by more than {limit:g} of its standard "
        f"deviations in 90 % of the sets {end}.",
    )
