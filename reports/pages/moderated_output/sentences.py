"""What the class probabilities say, in sentences computed from the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from bayes_lssvm.base.typing import AnyArray, Array
from reports.frame.answer import Answer, State, graded
from reports.frame.words import joined, number
from validation.harness.scores import Gain, ReliabilityBin
from validation.studies.moderated_output import LABELS

from .figures import Places

EXACT = "mu-zeta-sigma"
QUADRATURE_ERROR = 1e-3  # of a probability, by quadrature's own account
SMALL = 0.05  # a difference of probabilities that no decision should depend on
LARGE = 0.15
RULE = (
    "The largest change of a test point's class probability when μ, ζ and σ are integrated out instead of fixed: "
    f"holds up to {SMALL:g}, with care up to {LARGE:g}, fails beyond."
)


class Probabilities(NamedTuple):
    """P(second class | x) of one method at the test points and on the map, with Monte-Carlo errors or zeros."""

    test: Array
    map: Array
    test_error: Array


class Difference(NamedTuple):
    """Where two methods differ most.

    Attributes
    ----------
    on_map, at_test, mean_test : float
        Largest difference on the map and at the test points, and the mean one there.
    place : tuple of float
        Of the largest on the map.
    first, second : float
        The two probabilities there.
    nearest : float
        Its distance from the nearest training point.
    """

    on_map: float
    at_test: float
    mean_test: float
    place: tuple[float, ...]
    first: float
    second: float
    nearest: float


def difference(found: Mapping[str, Probabilities], one: str, other: str, places: Places) -> Difference:
    """Largest and mean differences of two methods."""
    on_map = np.abs(found[one].map - found[other].map)
    at_test = np.abs(found[one].test - found[other].test)
    k = int(on_map.argmax())
    return Difference(
        float(on_map[k]),
        float(at_test.max()),
        float(at_test.mean()),
        places.at(k),
        float(found[one].map[k]),
        float(found[other].map[k]),
        float(places.nearest[k]),
    )


def badge(change: float) -> State:
    """From the largest change of a probability at a test point."""
    return graded(change, SMALL, LARGE)


def answer(
    apart: Mapping[str, Difference],
    gains: Mapping[str, Gain],
    calibration: Mapping[str, tuple[ReliabilityBin, ...]],
) -> Answer:
    """Is it enough to fix the hyperparameters?"""
    if "plug-in" not in apart:
        return Answer("fails", "The classifier with fixed hyperparameters could not be compared.", (), RULE)
    d = apart["plug-in"]
    state = badge(d.at_test)
    start = {
        "holds": "Fixing the hyperparameters changes the class probabilities very little",
        "with care": "Fixing the hyperparameters changes some class probabilities",
        "fails": "Fixing the hyperparameters changes class probabilities a lot",
    }[state]
    points = [f"The average change is {d.mean_test:.3f}; far from the data it reaches {d.on_map:.3f}."]
    if (clear := [LABELS[n] for n, g in gains.items() if n != "plug-in" and g.clear]) or gains:
        says = (
            f"{joined(clear)} differ{'s' if len(clear) == 1 else ''} clearly"
            if clear
            else "no other method differs clearly"
        )
        points.append(f"By the log score on the test set, {says} from fixed hyperparameters.")
    own = calibration["plug-in"]
    points.append(
        f"Calibration with fixed hyperparameters: {sum(b.outside for b in own)} of {len(own)} bins are outside the 95 "
        "% band."
    )
    return Answer(state, f"{start}: by at most {d.at_test:.3f} at a test point.", tuple(points), RULE)


def findings(
    found: Mapping[str, Probabilities],
    apart: Mapping[str, Difference],
    gains: Mapping[str, Gain],
    calibration: Mapping[str, tuple[ReliabilityBin, ...]],
) -> tuple[str, ...]:
    """All that the numbers say."""
    sentences = []
    if "plug-in" in apart:
        sentences.append(_of_fixing(apart))
    if "nuts" in apart:
        sentences.append(_of_sampling(found["nuts"], found[EXACT]))
    if "bernoulli" in apart:
        d, error = apart["bernoulli"], _error_at_worst(found["bernoulli"], found[EXACT])
        sentences.append(
            f"The Bernoulli GP, another likelihood, differs from the LS-SVM with everything integrated out by up to "
            f"{d.at_test:.3f} ± {error:.3f} at test points ({d.mean_test:.3f} on average; ± is the Monte-Carlo "
            f"standard error) and up to {d.on_map:.3f} on the map, {_where(d)}."
        )
    if gains:
        sentences.append(_of_scores(gains))
    sentences.append(_of_calibration(calibration))
    return tuple(sentences)


def _of_fixing(apart: Mapping[str, Difference]) -> str:
    d = apart["plug-in"]
    amount = (
        "Fixing the hyperparameters changes little here"
        if d.at_test <= SMALL
        else "Fixing the hyperparameters changes probabilities that matter here"
    )
    partly = ""
    if "mu-zeta" in apart:
        rest = apart["mu-zeta"].at_test
        partly = (
            f" With μ and ζ integrated out and σ alone fixed, {rest:.3f} of that remains."
            if rest <= d.at_test
            else (f" Integrating out μ and ζ alone does not help: with σ fixed the difference is {rest:.3f}.")
        )
    return (
        f"{amount}: integrating out μ, ζ and σ moves P by at most {d.at_test:.3f} at a test point ({d.mean_test:.3f} "
        f"on average) and {d.on_map:.3f} on the map, {_where(d)}.{partly}"
    )


def _where(d: Difference) -> str:
    place = ", ".join(f"{x:.2f}" for x in d.place).replace("-", "−")
    return (
        f"at ({place}), {d.nearest:.2f} from the nearest training point, where it is {d.first:.2f} against "
        f"{d.second:.2f}"
    )


def _error_at_worst(sampled: Probabilities, exact: Probabilities) -> float:
    return float(sampled.test_error[np.abs(sampled.test - exact.test).argmax()])


def outside_error(sampled: Probabilities, exact: Probabilities) -> AnyArray:
    """Test points at which an average over draws is not within three standard errors, and rounding, of quadrature."""
    return np.abs(sampled.test - exact.test) > 3.0 * sampled.test_error + QUADRATURE_ERROR


def _of_sampling(sampled: Probabilities, exact: Probabilities) -> str:
    off = np.abs(sampled.test - exact.test)
    outside = int(outside_error(sampled, exact).sum())
    k = int(off.argmax())
    worst = f"the largest difference is {off[k]:.4f}, with a standard error of {sampled.test_error[k]:.4f}"
    if outside == 0:
        return (
            f"Averaged over NUTS draws, P agrees with quadrature at all {len(off)} test points within three "
            f"Monte-Carlo standard errors; {worst}."
        )
    return (
        f"Averaged over NUTS draws, P is farther from quadrature than three Monte-Carlo standard errors at {outside} "
        f"of {len(off)} test points; {worst}."
    )


def _of_scores(gains: Mapping[str, Gain]) -> str:
    others = {name: g for name, g in gains.items() if name != "plug-in"}
    clear = {name: g for name, g in others.items() if g.clear}
    said = ", ".join(f"{LABELS[n]} {number(g.mean, '+.4f')} ± {g.error:.4f}" for n, g in others.items())
    if not clear:
        return (
            f"No method's log score differs from the plug-in's by more than two standard errors on the test set "
            f"({said} nats a point)."
        )
    better = [LABELS[n] for n, g in clear.items() if g.mean > 0]
    worse = [LABELS[n] for n, g in clear.items() if g.mean < 0]
    parts = [f"{joined(better)} {_verb(better)} better"] if better else []
    parts += [f"{joined(worse)} {_verb(worse)} worse"] if worse else []
    return f"By the log score on the test set, {' and '.join(parts)} than the plug-in ({said} nats a point)."


def _of_calibration(calibration: Mapping[str, tuple[ReliabilityBin, ...]]) -> str:
    said = "; ".join(
        f"{LABELS[name]} {sum(b.outside for b in bins)} of {len(bins)}" for name, bins in calibration.items()
    )
    bins = max(len(b) for b in calibration.values())
    return f"Bins of the reliability diagram outside their 95 % band (about {0.05 * bins:.1f} expected): {said}."


def _verb(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"
