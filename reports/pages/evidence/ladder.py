"""The study's cells as curves along σ, and what they say in words.

The methods form a ladder, from the best fit without any integration to the exact integral; its steps are its rungs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from bayes_lssvm.base.typing import Array
from bayes_lssvm.marginal.ladder import QUADRATURE_ERROR
from reports.frame.answer import Answer, State, graded, worst
from validation.harness import StudyResult
from validation.studies.evidence import MATTERS

RUNGS = {
    "without_occam": "best fit, no Occam factor",
    "mackay": "MacKay's Occam factor (5.2)",
    "hessian": "Occam factor by the Hessian",
    "laplace": "Laplace with the prior",
    "importance": "importance sampling",
    "quadrature": "quadrature (exact)",
}
APPROXIMATE = ("mackay", "hessian", "laplace")
PROGRAMS = {"collapsed": "collapsed NUTS", "weights": "weight-space NUTS", "gp": "GP NUTS"}
SMALL_LOSS = 0.1  # nats that no reader of evidence would act on
LARGE_ERROR = 1.0  # nats: Kass and Raftery's words begin to change
K_HAT = 0.7
STANDARD_ERRORS = 3.0
CHANCE = 0.0027


@dataclass(frozen=True)
class Ladder:
    """All rungs along σ.

    Attributes
    ----------
    sigma : array of shape (S,)
        Ascending.
    values : dict of arrays of shape (S,)
        log p(D | σ) by rung; nan where a rung has none.
    points : tuple of dict
        Everything that was computed at each width.
    """

    sigma: Array
    values: dict[str, Array]
    points: tuple[dict[str, Any], ...]

    def error(self, rung: str) -> Array:
        """A rung minus the exact integral, in nats."""
        return np.asarray(self.values[rung] - self.values["quadrature"])

    @property
    def matters(self) -> Array:
        """Where the exact evidence is close enough to its maximum to matter."""
        exact = self.values["quadrature"]
        return np.asarray(exact > exact.max() - MATTERS)

    def between(self, low: float, high: float) -> Ladder:
        """The widths of a range, and one more at either end."""
        inside = np.flatnonzero((self.sigma >= low) & (self.sigma <= high))
        keep = slice(max(inside[0] - 1, 0), inside[-1] + 2)
        return Ladder(self.sigma[keep], {rung: v[keep] for rung, v in self.values.items()}, self.points[keep])

    def part(self, *names: str) -> Array:
        """A number of each width, by its keys; nan where there is none."""
        found = []
        for point in self.points:
            value: Any = point
            for name in names:
                value = value[name]
            found.append(np.nan if value is None else float(value))
        return np.array(found)


def ladder(result: StudyResult, part: str) -> Ladder:
    """The rungs along "curve" (all widths) or "near" (those close to the maximum)."""
    points = [
        point
        for cell in result.cells
        if cell.cell.settings["kind"] == "ladder" and cell.cell.settings["part"] == part and cell.error is None
        for point in cell.values["points"]
    ]
    points.sort(key=lambda point: float(point["sigma"]))
    values = {
        rung: np.array([np.nan if p["log_evidence"][rung] is None else p["log_evidence"][rung] for p in points])
        for rung in RUNGS
    }
    return Ladder(np.array([p["sigma"] for p in points]), values, tuple(points))


def choices(result: StudyResult) -> dict[str, dict[str, Any]]:
    """What each rung selects."""
    found = {
        cell.cell.settings["rung"]: cell.values
        for cell in result.cells
        if cell.cell.settings["kind"] == "choice" and cell.error is None
    }
    return {rung: found[rung] for rung in RUNGS if rung in found}


def bridges(result: StudyResult) -> list[dict[str, Any]]:
    """What NUTS with bridge sampling found, by ascending width."""
    found = [c.values for c in result.cells if c.cell.settings["kind"] == "bridge" and c.error is None]
    return sorted(found, key=lambda values: (values["sigma"], values["program"]))


def profiles(result: StudyResult) -> list[dict[str, Any]]:
    """Evidence and posterior over log γ at some widths."""
    return [c.values for c in result.cells if c.cell.settings["kind"] == "profile" and c.error is None]


def hills(log_density: Sequence[float]) -> int:
    """Number of local maxima inside the range."""
    values = np.asarray(log_density)
    inside = (values[1:-1] > values[:-2]) & (values[1:-1] >= values[2:])
    return int(inside.sum())


def loss(result: StudyResult, rung: str) -> float:
    """Exact evidence, in nats, that is lost by taking a rung's width instead of the best one."""
    chosen = choices(result)
    return float(chosen["quadrature"]["exact"] - chosen[rung]["exact"])


# --- words -----------------------------------------------------------------------------------------------------------

RULE = (
    "Looks at the evidence with MacKay's Occam factor (5.2): the exact evidence that is lost at the width it selects, "
    f"and its largest error where the exact evidence is within {MATTERS:g} nats of its maximum. Holds up to "
    f"{SMALL_LOSS:g} nats lost and an error of 0.5 nats, with care up to {LARGE_ERROR:g} nat of both, fails beyond."
)


def badge(lost: float, error: float) -> State:
    """From the exact evidence lost by the choice of the width, and the largest error where it matters, in nats."""
    return worst(graded(lost, SMALL_LOSS, LARGE_ERROR), graded(error, 0.5, LARGE_ERROR))


def answer(result: StudyResult) -> Answer:
    """Does the evidence framework choose the right width?"""
    curve, chosen = ladder(result, "curve"), choices(result)
    lost = max(loss(result, "mackay"), 0.0)
    errors = {rung: float(np.nanmax(np.abs(curve.error(rung)[curve.matters]))) for rung in APPROXIMATE}
    state = badge(lost, errors["mackay"])
    small = "less than 0.01" if lost < 0.01 else f"{lost:.2f}"
    verdict = {
        "holds": f"The evidence framework picks a kernel width as good as the exact one: it loses {small} nats of "
        "evidence.",
        "with care": f"The width that the evidence framework picks loses {lost:.2f} nats of exact evidence; its "
        f"log evidence is off by up to {errors['mackay']:.2f} nats.",
        "fails": f"The evidence framework picks a poor kernel width here, which loses {lost:.1f} nats; its log "
        f"evidence is off by up to {errors['mackay']:.1f} nats."
        if lost > SMALL_LOSS
        else f"The evidence framework picks a good kernel width (it loses {small} nats), but its log evidence is off "
        f"by up to {errors['mackay']:.1f} nats.",
    }[state]
    exact, own = chosen["quadrature"], chosen["mackay"]
    edge = ", at the end of the range searched" if own["at_edge"] else ""
    return Answer(
        state,
        verdict,
        (
            f"Width: {exact['sigma']:.4g} by the exact integral, {own['sigma']:.4g} with MacKay's Occam factor "
            f"(5.2){edge}.",
            f"Largest error of the log evidence where it matters: {errors['mackay']:.2f} nats (5.2), "
            f"{errors['laplace']:.2f} by Laplace's method with the prior.",
            *_confirmed(result),
        ),
        RULE,
    )


def _confirmed(result: StudyResult) -> tuple[str, ...]:
    found = bridges(result)
    if not found:
        return ()
    close = sum(b["z"] is not None and abs(b["z"]) <= STANDARD_ERRORS for b in found)
    return (
        f"Sampling confirms the exact integral: {close} of {len(found)} estimates by NUTS and bridge sampling are "
        f"within {STANDARD_ERRORS:g} standard errors.",
    )


def findings(result: StudyResult) -> tuple[str, ...]:
    """All that the numbers say; every clause depends on them."""
    curve = ladder(result, "curve")
    return (
        _about_choice(result),
        _about_errors(curve),
        *_about_rounding(curve),
        _about_occam(curve),
        _about_modes(curve),
        _about_importance(curve),
        _about_bridges(result),
    )


def _about_choice(result: StudyResult) -> str:
    chosen = choices(result)
    exact = chosen["quadrature"]
    others = [
        f"{chosen[rung]['sigma']:.4g} by {words}"
        for rung, words in (
            ("without_occam", "the best fit, without Occam factor"),
            ("mackay", "the evidence with MacKay's Occam factor (5.2)"),
            ("hessian", "the same with the exact Hessian"),
            ("laplace", "Laplace's method with the prior"),
        )
        if rung in chosen
    ]
    said = (
        f"The width: the exact evidence is largest at σ = {exact['sigma']:.4g}. The other methods select "
        f"{', '.join(others)}."
    )
    edge = [RUNGS[rung] for rung, found in chosen.items() if found["at_edge"]]
    if edge:
        said += f" At the end of the range, so the true maximum may lie beyond it: {', '.join(edge)}."
    farthest = max((rung for rung in chosen if rung != "quadrature"), key=lambda rung: loss(result, rung))
    lost = loss(result, farthest)
    weight = "The choice of method matters little here" if lost < SMALL_LOSS else "The choice of method matters"
    return f"{said} {weight}: the worst of these widths ({RUNGS[farthest]}) loses {lost:.2g} nats of exact evidence."


def _about_errors(curve: Ladder) -> str:
    near = np.flatnonzero(curve.matters)
    low, high = curve.sigma[near[0]], curve.sigma[near[-1]]
    parts, large = [], []
    for rung in APPROXIMATE:
        error = curve.error(rung)
        largest = near[np.nanargmax(np.abs(error[near]))]
        everywhere = int(np.nanargmax(np.abs(error)))
        parts.append(
            f"{RUNGS[rung]}: {_nats(error[largest])} at σ = {curve.sigma[largest]:.3g} "
            f"({_nats(error[everywhere])} at σ = {curve.sigma[everywhere]:.3g} over all widths)"
        )
        if abs(error[largest]) > LARGE_ERROR:
            large.append(RUNGS[rung])
    said = (
        f"The error: for σ from {low:.3g} to {high:.3g}, where the exact evidence is within {MATTERS:g} nats of its "
        f"maximum, the largest errors in nats are: {'; '.join(parts)}."
    )
    offset = curve.part("prior_offset")
    at = near[np.nanargmax(offset[near])]
    if offset[at] > SMALL_LOSS:
        said += (
            f" The formula (5.2) uses the width of the prior but ignores where it is centred. At "
            f"σ = {curve.sigma[at]:.3g}, where the mode is farthest from the centre, this alone makes it "
            f"{offset[at]:.2f} nats too large."
        )
    if large:
        return (
            f"{said} Off by more than {LARGE_ERROR:g} nat, enough to change the reading of a Bayes factor: "
            f"{', '.join(large)}."
        )
    return f"{said} None of them exceeds {LARGE_ERROR:g} nat."


def _about_rounding(curve: Ladder) -> tuple[str, ...]:
    """Widths at which the exact integral is less exact than elsewhere, and how little hangs on them."""
    error, exact = curve.part("quadrature_error"), curve.values["quadrature"]
    coarse = np.flatnonzero(~(error <= QUADRATURE_ERROR))
    if not len(coarse):
        return ()
    low, high = curve.sigma[coarse[0]], curve.sigma[coarse[-1]]
    where = f"At σ = {low:.3g}" if len(coarse) == 1 else f"At {len(coarse)} widths from σ = {low:.3g} to {high:.3g}"
    below = float(exact.max() - exact[coarse].max())
    return (
        f"{where} the exact integral itself is known to {np.max(error[coarse]):.2g} nats only, because of rounding or "
        f"of the end of what can be computed in γ. The evidence there is {below:.0f} nats or more below its maximum"
        + (", so no choice of a width depends on it." if below > MATTERS else "."),
    )


def _about_occam(curve: Ladder) -> str:
    best = int(np.argmax(curve.values["quadrature"]))
    mu, zeta = curve.part("occam", "mackay_mu")[best], curve.part("occam", "mackay_zeta")[best]
    exact = curve.part("occam", "exact")
    span = exact[curve.matters]
    capped = [point["sigma"] for point in curve.points if point["occam"]["capped"]]
    said = (
        f"The Occam factor: at the best width on the curve (σ = {curve.sigma[best]:.3g}) it costs {-exact[best]:.2f} "
        f"nats; by MacKay's error bars {-(mu + zeta):.2f}, of which {-mu:.2f} for μ and {-zeta:.2f} for ζ. Where the "
        f"evidence matters it varies between {-span.max():.2f} and {-span.min():.2f} nats; only this variation can "
        "move the selected σ."
    )
    if capped:
        said += (
            f" For σ between {min(capped):.3g} and {max(capped):.3g} an error bar is wider than the prior and was "
            "cut to the prior's width."
        )
    return said


def _about_modes(curve: Ladder) -> str:
    posterior, evidence = curve.part("n_modes_posterior"), curve.part("n_modes_evidence")
    parts = []
    for words, counts in (("the posterior of (log μ, log ζ)", posterior), ("the evidence along γ", evidence)):
        several = np.flatnonzero(counts > 1)
        if len(several):
            widths = curve.sigma[several]
            where = f"at σ = {widths[0]:.3g}"
            if len(several) > 1:
                where = f"at {len(several)} widths from σ = {widths.min():.3g} to {widths.max():.3g}"
            parts.append(f"{words} has more than one {where}")
    if not parts:
        return "Modes: one at every width, so a single Gaussian can describe the posterior."
    missed = float(np.nanmax(curve.part("missed_mass")))
    said = f"Modes: {' and '.join(parts)}."
    if missed > 0.0:
        said += (
            f" Laplace's method uses the highest mode alone; the modes that it leaves out hold up to {missed:.2f} "
            "times as much posterior mass."
        )
    return said


def _about_importance(curve: Ladder) -> str:
    errors, k_hat = curve.part("importance_error"), curve.part("k_hat")
    z = np.abs(curve.error("importance") / errors)
    worst = int(np.nanargmax(z))
    said = f"Importance sampling is at most {z[worst]:.1f} of its standard errors (up to {np.nanmax(errors):.1g} nats) "
    said += f"from quadrature at {len(z)} widths"
    if z[worst] > STANDARD_ERRORS:
        beyond = int(np.sum(z > STANDARD_ERRORS))
        said += f"; beyond {STANDARD_ERRORS:g} at {beyond}, where chance would put about {len(z) * CHANCE:.1f}, and "
        said += f"farthest at σ = {curve.sigma[worst]:.3g} ({_nats(curve.error('importance')[worst], 3)} nats)"
    if (~(k_hat <= K_HAT)).any():
        widths = ", ".join(f"{s:.3g}" for s in curve.sigma[~(k_hat <= K_HAT)])
        return f"{said}. Its k̂ exceeds {K_HAT:g}, so it cannot be relied on, for σ = {widths}."
    return f"{said}; k̂ is nowhere above {K_HAT:g}."


def _about_bridges(result: StudyResult) -> str:
    found = bridges(result)
    if not found:
        return "Nothing was sampled here, so the exact integral is not confirmed by another method."
    own = {c.cell.key for c in result.cells if c.cell.settings["kind"] == "bridge"}
    failed = ", ".join(sorted(own & {key for key, _ in result.failed}))
    doubt = f" A check failed for {failed}: do not rely on these chains." if failed else ""
    count = f"{len(found)} estimate{'s' if len(found) > 1 else ''} by NUTS and bridge sampling"
    beyond = [b for b in found if b["z"] is None or abs(b["z"]) > STANDARD_ERRORS]
    if not beyond:
        return (
            f"Sampled: {'all ' if len(found) > 1 else 'the '}{count} {'are' if len(found) > 1 else 'is'} within "
            f"{STANDARD_ERRORS:g} standard errors of quadrature (the farthest {max(abs(b['z']) for b in found):.1f}; "
            f"standard errors up to {max(b['error'] for b in found):.1g} nats).{doubt}"
        )
    listed = "; ".join(f"σ = {b['sigma']:g} by {PROGRAMS[b['program']]} ({_distance(b)})" for b in beyond)
    return (
        f"Sampled: {len(beyond)} of {count} {'are' if len(beyond) > 1 else 'is'} more than {STANDARD_ERRORS:g} "
        f"standard errors from quadrature, where chance alone would explain about {len(found) * CHANCE:.2f}: {listed}. "
        f"{_chance([b['z'] for b in found])}{doubt}"
    )


def _chance(z: list[float | None]) -> str:
    limit = float(norm.isf(0.025 / len(z)))
    worst = max(np.inf if value is None else abs(value) for value in z)
    said = f"The farthest of {len(z)} is below {limit:.1f} with 95 % probability"
    return f"{said}: this is {'no more than chance explains' if worst <= limit else 'more than chance explains'}."


def _distance(b: dict[str, Any]) -> str:
    if b["z"] is None or b["log_evidence"] is None:
        return "not a number"
    return f"{_nats(b['log_evidence'] - b['exact'], 4)} ± {b['error']:.4f} nats, {abs(b['z']):.1f} standard errors"


def _nats(value: float, digits: int = 2) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")
