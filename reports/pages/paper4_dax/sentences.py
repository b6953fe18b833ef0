"""What the DAX study's numbers say, in sentences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping

from bayes_lssvm.base.typing import Array
from reports.frame.answer import Answer, State
from reports.frame.words import number
from validation.harness import StudyResult
from validation.papers.paper4.dax import Trading
from validation.papers.paper4.dax_strategy import COST, DAYS_A_YEAR


def difference(a: Array, b: Array) -> tuple[float, float]:
    """Mean of a − b, a day, and its standard error for independent days."""
    d = a - b
    return float(d.mean()), float(d.std(ddof=1)) / math.sqrt(len(d))


RULE = (
    "Compares the profit of the LS-SVM with volatility correction after costs with buy and hold, day by day. Holds "
    "where it is larger by more than two standard errors, with care where it is larger but not clearly, fails "
    "otherwise."
)


def badge(mean: float, error: float) -> State:
    """From the mean daily difference from buy and hold, after costs, and its standard error."""
    if not mean > 0.0:
        return "fails"
    return "holds" if mean > 2.0 * error else "with care"


def answer(found: Mapping[str, Trading]) -> Answer:
    """Does the LS-SVM with volatility correction earn more than buy and hold?"""
    mean, error = difference(found["LS-SVM + volatility"].after_costs, found["buy and hold"].after_costs)
    state = badge(mean, error)
    verdict = {
        "holds": "After costs, the LS-SVM with volatility correction clearly earns more than buy and hold.",
        "with care": "After costs, the LS-SVM with volatility correction earns more than buy and hold, but not "
        "clearly.",
        "fails": "After costs, the LS-SVM with volatility correction does not earn more than buy and hold.",
    }[state]
    tests = [own.sign_test.p_value for own in found.values() if math.isfinite(own.sign_test.p_value)]
    gain, gain_error = difference(found["LS-SVM + volatility"].log_score, found["LS-SVM"].log_score)
    points = [
        f"Difference from buy and hold: {number(DAYS_A_YEAR * mean, '+.1f')} ± {DAYS_A_YEAR * error:.1f} % of the "
        "stake a year.",
        f"Volatility itself {'is' if gain > 2.0 * gain_error else 'is not shown to be'} predictable: modelling it "
        f"{'raises' if gain > 0.0 else 'lowers'} the log score by {abs(gain):.3f} ± {gain_error:.3f} nats a day.",
    ]
    if tests:
        better = sum(p < 0.05 for p in tests)
        which = f"{better or 'None'} of {len(tests)} models predict{'s' * (better <= 1)}"
        points.insert(1, f"{which} the sign of the next day's return better than chance.")
    return Answer(state, verdict, tuple(points), RULE)


def findings(result: StudyResult, found: Mapping[str, Trading]) -> tuple[str, ...]:
    """Whether there is an edge, and what volatility brings."""
    return (
        _edge(found),
        _order(found),
        _signs(found),
        _signal(result),
        _by_volatility(found),
        _by_learning(result, found),
    )


def _edge(found: Mapping[str, Trading]) -> str:
    hold = found["buy and hold"]
    parts, better = [], []
    for name, own in found.items():
        if name == "buy and hold":
            continue
        mean, error = difference(own.after_costs, hold.after_costs)
        parts.append(f"{name} {number(DAYS_A_YEAR * mean, '.1f')} ± {DAYS_A_YEAR * error:.1f}")
        if mean > 2.0 * error and error > 0.0:
            better.append(name)
    start = (
        f"No model beats buy and hold after costs of {100 * COST:g} %"
        if not better
        else f"After costs of {100 * COST:g} % {', '.join(better)} beat buy and hold by more than two standard errors"
    )
    earned = number(DAYS_A_YEAR * float(hold.after_costs.mean()), ".1f")
    return (
        f"{start}. Buy and hold earned {earned} % of the stake a year; "
        f"differences from it, in % a year: {', '.join(parts)}."
    )


def _order(found: Mapping[str, Trading]) -> str:
    order = sorted(found, key=lambda name: -float(found[name].after_costs.sum()))
    mean, error = difference(found["LS-SVM + volatility"].after_costs, found["LS-SVM"].after_costs)
    return (
        "In the lecture's figure the order is LS-SVM + volatility, ARX, buy and hold, AR; by profit after costs "
        f"it is here {', '.join(order)}. Volatility correction changes the profit of the LS-SVM by "
        f"{number(DAYS_A_YEAR * mean, '+.1f')} ± {DAYS_A_YEAR * error:.1f} % a year."
    )


def _signs(found: Mapping[str, Trading]) -> str:
    tests = {name: own.sign_test for name, own in found.items()}
    tested = {name: test for name, test in tests.items() if math.isfinite(test.p_value)}
    none = [name for name in tests if name not in tested and name != "buy and hold"]
    long = f" {' and '.join(none)} never changed position, so there is nothing to test." if none else ""
    if not tested:
        return f"Hit rates: no model's signs can be tested.{long}"
    listed = ", ".join(f"{name} p = {test.p_value:.2f}" for name, test in tested.items())
    significant = [name for name, test in tested.items() if test.p_value < 0.05]
    who = (
        " and ".join(significant) + f" forecast{'s' if len(significant) == 1 else ''}"
        if significant
        else "No model forecasts"
    )
    return f"{who} signs better than chance at the 5 % level (Pesaran and Timmermann: {listed}).{long}"


def _signal(result: StudyResult) -> str:
    facts = [f.values["facts"] for f in result.cells if not f.error]
    none, weighted = (Counter(f[key] for f in facts)["no signal"] for key in ("status", "weighted_status"))
    gain = max(f["log_gain"] for f in facts)
    return (
        f"In {none} of {len(facts)} windows the evidence finds no signal in the lagged returns, and in {weighted} "
        "with volatility correction. The forecast is then the mean return or close to it, and the position that "
        f"of buy and hold. The largest signal that the uncorrected LS-SVM finds is worth {gain:.1f} nats."
    )


def _by_volatility(found: Mapping[str, Trading]) -> str:
    mean, error = difference(found["LS-SVM + volatility"].log_score, found["LS-SVM"].log_score)
    known = "is predictable" if mean > 2.0 * error else "is not shown to be predictable"
    return (
        f"Volatility {known}: with it the log score of the LS-SVM changes by {number(mean, '+.3f')} ± {error:.3f} nats "
        "a day. That is a matter of error bars, not of the sign of the forecast."
    )


def _by_learning(result: StudyResult, found: Mapping[str, Trading]) -> str:
    learned, lecture = found["LS-SVM, learned noise"].log_score, found["LS-SVM + volatility"].log_score
    gain, gain_error = difference(learned, found["LS-SVM"].log_score)
    mean, error = difference(learned, lecture)
    kept = Counter(f.values["facts"]["noise"] for f in result.cells if not f.error)
    better = "the library's is better" if mean > 0.0 else "the lecture's is better"
    clear = "clearly" if abs(mean) > 2.0 * error else "by less than two standard errors"
    return (
        f"The library's learned noise is kept in {kept['learned']} of {sum(kept.values())} windows and changes the log "
        f"score of the LS-SVM by {number(gain, '+.3f')} ± {gain_error:.3f} nats a day. Compared with the lecture's "
        f"volatility model, {better}, {clear}: {number(mean, '+.3f')} ± {error:.3f} nats a day."
    )
