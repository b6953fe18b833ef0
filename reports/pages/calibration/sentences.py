"""Who is calibrated and who is not, in words made from the counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reports.frame.answer import Answer, State
from validation.studies.calibration import SCENARIOS, Coverage, Results, regimes, rows_of

LEVEL = 0.9
CLAIMED = "90 %"
EXACT = ("quadrature", "nuts")
METHODS = {
    "quadrature": "the exact posterior (quadrature)",
    "nuts": "NUTS",
    "laplace": "Laplace's method with the prior",
    "hessian": "the Hessian's error bars",
    "mackay": "MacKay's error bars",
}
NAMES = {
    "log_mu": "log μ",
    "log_zeta": "log ζ",
    "log_gamma": "log γ",
    "log_sigma": "log σ",
    "log_likelihood": "likelihood",
    "y_new": "new target",
    "y_new_normal": "new target, `predict` ± std",
}
PARAMETERS = ("log_mu", "log_zeta", "log_gamma")
Scenarios = Mapping[str, Mapping[str, Results]]


RULE = (
    f"Looks at the {CLAIMED} intervals of log μ and log ζ from MacKay's error bars. Holds where none of them "
    "covers clearly less than claimed (Wilson's 95 % limits), with care where the lowest coverage is at least 75 "
    "%, fails otherwise."
)
POOR = 0.75


def badge(short: int, lowest: float) -> State:
    """From the number of cases with clearly too short intervals, and the lowest coverage."""
    if not short:
        return "holds"
    return "with care" if lowest >= POOR else "fails"


def _coverages(results: Scenarios, method: str) -> list[Coverage]:
    return [
        coverage_at(row.coverage)
        for own in results.values()
        if method in own
        for row in rows_of(own[method])
        if row.quantity in ("log_mu", "log_zeta") and row.coverage
    ]


def answer(results: Scenarios) -> Answer:
    """Are MacKay's error bars honest?"""
    found, exact = _coverages(results, "mackay"), _coverages(results, "quadrature")
    if not found or not exact:
        return Answer("with care", "There are too few simulated sets to tell whether error bars are honest.", (), RULE)
    lowest, best = min(c.share for c in found), min(c.share for c in exact)
    state = badge(sum(c.high < LEVEL for c in found), lowest)
    start = {
        "holds": "MacKay's error bars are honest",
        "with care": "MacKay's error bars are somewhat too short",
        "fails": "MacKay's error bars are too short",
    }[state]
    points = [exact_sentence(results, "quadrature").partition(":")[0] + "."]
    if others := _coverages(results, "laplace"):
        low = min(c.share for c in others)
        points.append(f"Laplace's method with the prior covers at least {100 * low:.0f} % in every case.")
    points += [sentence] if (sentence := _weakest(results)) else []
    return Answer(
        state,
        f"{start}: {CLAIMED} intervals contain the truth in as little as {100 * lowest:.0f} % of cases (exact ones: "
        f"{100 * best:.0f} %).",
        tuple(points),
        RULE,
    )


def findings(results: Scenarios) -> tuple[str, ...]:
    """Who is calibrated and who is not, in sentences made from the counts."""
    said = [exact_sentence(results, method) for method in EXACT]
    said += [_closed(results, method) for method in ("laplace", "hessian", "mackay")]
    said += [_weakest(results), _predictions(results)]
    return tuple(sentence for sentence in said if sentence)


def exact_sentence(results: Scenarios, method: str) -> str:
    """Whether a method that should be exact is calibrated; empty where no set has it."""
    tested, untested, outside, sets, failures = 0, 0, [], 0, 0
    for scenario, own in results.items():
        if method not in own:
            continue
        sets += len(own[method].records)
        failures += sum(record.status != "ok" for record in own[method].records)
        for row in rows_of(own[method]):
            if row.quantity == "y_new_normal":
                continue  # a mixture read as a Gaussian: nearly right only
            tested += row.tests is not None
            untested += row.tests is None
            if row.tests is not None and not row.uniform:
                outside.append(f"{NAMES[row.quantity]} ({SCENARIOS[scenario].title})")
    if not sets:
        return ""
    name = capital(METHODS[method])
    lost = f" {failures} of its sets have no posterior and are left out." if failures else ""
    if not tested:
        return f"{name}: {sets} sets are too few to test whether it is calibrated.{lost}"
    if outside:
        return f"{name} is NOT calibrated: outside the 95 % band are {', '.join(outside)}.{lost}"
    few = f" ({untested} more have too few sets to test)" if untested else ""
    return (
        f"{name} is calibrated as far as {sets} sets can tell: all {tested} quantities that were tested{few} stay "
        f"inside the 95 % band.{lost}"
    )


def _closed(results: Scenarios, method: str) -> str:
    parts = []
    for scenario, own in results.items():
        if method not in own:
            continue
        rows = {row.quantity: row for row in rows_of(own[method])}
        shares = [
            f"{NAMES[name]} in {share(coverage_at(rows[name].coverage))}"
            for name in ("log_mu", "log_zeta", "log_sigma")
            if name in rows and rows[name].coverage
        ]
        lost = rows["log_mu"].failures / rows["log_mu"].n
        none = f" (and {100 * lost:.0f} % of the sets have no mode)" if lost else ""
        parts.append(f"{' and '.join(shares)} of the sets with a {SCENARIOS[scenario].title}{none}")
    if not parts:
        return ""
    return (
        f"{capital(METHODS[method])}: intervals of {CLAIMED} are {grade(results, method)}. They contain the true "
        f"{'; '.join(parts)}."
    )


def grade(results: Scenarios, method: str) -> str:
    """Whether the intervals of log μ and log ζ cover as often as they claim, in words."""
    found = _coverages(results, method)
    short = sum(c.high < LEVEL for c in found)
    if short:
        return f"too short in {short} of {len(found)} cases"
    return "wider than necessary" if any(c.low > LEVEL for c in found) else "honest within what chance allows"


def _weakest(results: Scenarios) -> str:
    """The regime in which MacKay's interval of log μ covers least, among those with sets enough to say."""
    found: list[tuple[Coverage, str, int]] = []
    for scenario, own in results.items():
        if "mackay" not in own:
            continue
        for regime in regimes(own["mackay"], SCENARIOS[scenario].setting.n):
            rows = [r for r in rows_of(own["mackay"], regime.chosen) if r.quantity == "log_mu" and r.coverage]
            count = int(regime.chosen.sum())
            if rows and count >= 20:
                found.append((coverage_at(rows[0].coverage), f"{regime.name}, {SCENARIOS[scenario].title}", count))
    if not found:
        return ""
    worst, where, count = min(found, key=lambda one: one[0].share)
    return f"MacKay's interval of log μ is worst for data with {where}: it covers {share(worst)} of {count} sets."


def _predictions(results: Scenarios) -> str:
    parts = []
    for scenario, own in results.items():
        if "quadrature" not in own or "mackay" not in own:
            continue
        exact, fixed = (
            coverage_at(next(r.coverage for r in rows_of(own[name]) if r.quantity == "y_new"))
            for name in ("quadrature", "mackay")
        )
        parts.append(f"{SCENARIOS[scenario].title}: {share(fixed)} against {share(exact)} for the exact mixture")
    if not parts:
        return ""
    return f"Plug-in intervals of {CLAIMED} contain a new target in: {'; '.join(parts)}."


def coverage_at(found: Sequence[Coverage], level: float = LEVEL) -> Coverage:
    """The coverage of intervals of this level."""
    return next(c for c in found if c.level == level)


def share(c: Coverage) -> str:
    """A coverage in per cent with its limits."""
    return f"{100 * c.share:.0f} % ({100 * c.low:.0f}–{100 * c.high:.0f})"


def capital(text: str) -> str:
    """A text as the beginning of a sentence."""
    return text[0].upper() + text[1:]
