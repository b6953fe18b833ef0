"""Can Laplace's approximation of a model be trusted? Its evidence and error bars against draws, and a verdict.

| question                          | measured by                                                                  |
| --------------------------------- | ---------------------------------------------------------------------------- |
| is there a mode to stand on?      | climbs from several starts, the Hessian there                                |
| is the evidence right?            | Laplace minus bridge sampling of NUTS draws, or minus importance sampling    |
| are there other modes?            | the masses of all that were found                                            |
| are the error bars right?         | their ratios to the draws' standard deviations, and the mode's distance      |
| is the posterior near a Gaussian? | Pareto k̂, the next order of Laplace's expansion, the largest skewness        |

Everything is in the unconstrained parameters, where the approximation is made. The verdict is on the evidence; the
error bars have one of their own. Limits are those of `trust`: half a nat, a factor of 1.25.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..base.grades import Grade, Level, level_of, worst
from ..base.provenance import provenance
from ..sampling.bridge import bridge
from ..sampling.diagnostics import Thresholds
from .estimate import EvidenceEstimate
from .figures import LaplaceFigures, figures_of
from .numpyro_model import DEFAULT_CHUNK, UnconstrainedModel, versions
from .nuts import NutsDraws, nuts
from .of_draws import DISAGREEMENT_LIMIT, as_estimate, disagreement
from .result import effective_draws
from .trust_report import MethodRow, ModelTrust, ParameterRow

VERDICTS = {
    "good": "Laplace's evidence of this model can be trusted.",
    "doubtful": "Use Laplace's evidence of this model with care.",
    "bad": "Do not trust Laplace's evidence of this model; sample it.",
    "not checked": "Laplace's evidence of this model could not be checked.",
}
ERROR_BARS = {
    "good": "Its error bars are right.",
    "doubtful": "Use its error bars with care.",
    "bad": "Do not trust its error bars.",
    "not checked": "",
}
BELIEVABLE = Thresholds(rhat=1.05, ess_per_chain=25.0, divergences=40, e_fmi=0.1, tree_depth_share=0.1)
"""What chains must reach to be the measure of others; a few divergences do not spoil the evidence."""
_LARGEST_ERROR = 0.25  # nats: half of the limit of a good evidence


def trust_model(
    model: Callable[..., Any],
    args: tuple[Any, ...] = (),
    *,
    kwargs: Mapping[str, Any] | None = None,
    sample: bool = True,
    chains: int = 4,
    warmup: int = 500,
    draws: int = 1000,
    starts: int = 10,
    n_importance: int = 2000,
    seed: int = 0,
    chunk: int = DEFAULT_CHUNK,
    progress: bool = True,
) -> ModelTrust:
    """Tell whether Laplace's approximation of a NumPyro model can be trusted.

    Parameters
    ----------
    model : callable
        A NumPyro model with continuous parameters.
    args, kwargs : tuple and dict
        Its arguments, observed data included.
    sample : bool
        Draw by NUTS and compare; without it only what is cheap is said (`laplace_figures`).
    chains, warmup, draws : int
        Of NUTS.
    starts : int
        Points from which modes are looked for.
    n_importance : int
        Draws of each importance proposal.
    seed : int
        Of streams that are told apart by name.
    chunk : int
        Densities that are evaluated at a time; less needs less memory.
    progress : bool
        Show a bar of the chains, on a terminal.

    Examples
    --------
    >>> import numpy as np, numpyro, numpyro.distributions as dist
    >>> from bayes_lssvm.evidence import trust_model
    >>> def model(y):
    ...     mean = numpyro.sample("mean", dist.Normal(0.0, 10.0))
    ...     numpyro.sample("y", dist.Normal(mean, 1.0), obs=y)
    ...
    >>> report = trust_model(model, (np.array([0.1, -0.4, 0.9]),), sample=False, starts=2, progress=False)
    >>> report.verdict
    'good'
    """
    began = time.perf_counter()
    density = UnconstrainedModel.of(model, tuple(args), kwargs or {}, chunk=chunk)
    figures = figures_of(density, starts, n_importance, seed)
    settings = {"model": density.title, "seed": seed, "chains": chains, "warmup": warmup, "draws": draws}
    record = provenance(settings=settings | {"starts": starts, "n_importance": n_importance}, data=density.data)
    record["versions"] |= versions()
    found, bridged = None, None
    if sample:
        found = nuts(
            density,
            figures.modes,
            seed=seed,
            chains=chains,
            warmup=warmup,
            draws=draws,
            progress=progress,
            thresholds=BELIEVABLE,
        )
        bridged = _bridged(density, found, seed, record)
    believed = _believed(found, bridged, figures)
    error = float("nan") if believed is None else figures.log_evidence - believed.log_z
    parameters = _parameters(figures, found)
    on_evidence = _evidence_grades(figures, believed, error)
    on_bars = _bar_grades(parameters)
    others = _shape_grades(figures, found, bridged)
    verdict, bars = worst(on_evidence), worst(on_bars)
    return ModelTrust(
        verdict=verdict,
        error_bars=bars,
        sentence=" ".join(words for words in (VERDICTS[verdict], ERROR_BARS[bars]) if words),
        checks=(*on_evidence, *on_bars, *others),
        methods=_methods(figures, bridged, believed),
        parameters=parameters,
        error=error,
        figures=figures,
        draws=None if found is None else found.points,
        diagnostics=None if found is None else found.diagnostics,
        seconds=time.perf_counter() - began,
        provenance=record,
    )


def _bridged(
    density: UnconstrainedModel, found: NutsDraws, seed: int, record: dict[str, Any]
) -> EvidenceEstimate | None:
    """The evidence from the draws; None where they do not move."""
    try:
        return as_estimate(bridge(found.points, density.log_density, seed=seed), record)
    except ValueError:
        return None


def _believed(
    found: NutsDraws | None, bridged: EvidenceEstimate | None, figures: LaplaceFigures
) -> EvidenceEstimate | None:
    """The bridge where its chains mixed, else importance sampling where its k̂ is small, else nothing.

    Chains may all have ended at one of several modes, where nothing in them tells; importance sampling has been told of
    the others.
    """
    weighted = figures.weighted
    if weighted is not None and not weighted.standard_error < _LARGEST_ERROR:
        weighted = None
    if found is None or bridged is None or not (found.diagnostics.ok and bridged.standard_error < _LARGEST_ERROR):
        return weighted
    missed = len(figures.modes) > 1 and disagreement(bridged, weighted) < -DISAGREEMENT_LIMIT
    return weighted if missed else bridged


def _parameters(figures: LaplaceFigures, found: NutsDraws | None) -> tuple[ParameterRow, ...]:
    if found is None or not figures.modes:
        return ()
    flat = found.points.reshape(-1, figures.dim)
    columns = (figures.modes[0].position, flat.mean(axis=0), figures.sd, flat.std(axis=0, ddof=1))
    return tuple(ParameterRow(n, *map(float, row)) for n, *row in zip(figures.names, *columns, strict=True))


def _methods(
    figures: LaplaceFigures, bridged: EvidenceEstimate | None, believed: EvidenceEstimate | None
) -> tuple[MethodRow, ...]:
    """Laplace, its next order, both importance proposals, the bridge; the believed one last."""
    nan = float("nan")
    reference = nan if believed is None else believed.log_z
    rows = [
        MethodRow(name, value, nan, value - reference, nan, nan)
        for name, value in (
            ("Laplace", figures.log_evidence),
            ("Laplace, next order", figures.log_evidence + figures.correction),
        )
    ]
    named = (("importance, Gaussian", figures.gaussian), ("importance, Student", figures.student), ("bridge", bridged))
    made = [(name, estimate) for name, estimate in named if estimate is not None]
    made.sort(key=lambda pair: pair[1] is believed)
    for name, e in made:
        k_hat = float(e.diagnostics.get("k_hat", nan))
        rows.append(MethodRow(name, e.log_z, e.standard_error, e.log_z - reference, k_hat, effective_draws(e)))
    return tuple(rows)


# --- checks ----------------------------------------------------------------------------------------------------------


def _evidence_grades(figures: LaplaceFigures, believed: EvidenceEstimate | None, error: float) -> tuple[Grade, ...]:
    if not figures.modes:
        sentence = (
            "No starting point led to a mode with curvature in all directions, so there is nothing to expand around."
        )
        return (Grade("mode", 0.0, "bad", sentence),)
    count, missed = len(figures.modes), figures.missed
    sentence = (
        "All searches end at the same mode."
        if count == 1
        else f"There are {count} modes; those that a single Gaussian misses add {missed:.2f} nats."
    )
    modes = Grade("modes", float(count), level_of("evidence", missed), sentence)
    if believed is None:
        sentence = "Neither the chains nor importance sampling is reliable, so the evidence is not known."
        return (modes, Grade("evidence", error, "doubtful", sentence))
    if believed is figures.weighted:
        expected = figures.expected_error
        sentence = (
            f"Without reliable chains to compare with, Laplace's evidence is expected to be {expected:+.3f} nats off."
        )
        return (modes, Grade("evidence", expected, level_of("evidence", abs(expected)), sentence))
    sentence = f"Laplace's evidence is {error:+.3f} nats from {believed.method} (± {believed.standard_error:.3f})."
    return (modes, Grade("evidence", error, level_of("evidence", abs(error)), sentence))


def _bar_grades(parameters: tuple[ParameterRow, ...]) -> tuple[Grade, ...]:
    if not parameters:
        return (Grade("error bars", float("nan"), "not checked", "There are no draws to compare the error bars with."),)
    ratios = np.array([row.laplace_sd / row.sd for row in parameters])
    i = int(np.argmax(np.abs(np.log(ratios))))
    sentence = f"Laplace's error bar of {parameters[i].name} is {ratios[i]:.2f} times the standard deviation"
    sentence += " of its draws, the largest disagreement." if len(parameters) > 1 else " of its draws."
    return (Grade("error bars", float(ratios[i]), level_of("error bars", abs(float(np.log(ratios[i])))), sentence),)


def _shape_grades(
    figures: LaplaceFigures, found: NutsDraws | None, bridged: EvidenceEstimate | None
) -> tuple[Grade, ...]:
    grades = []
    if figures.modes:
        k, correction, skewness = figures.k_hat, figures.correction, figures.skewness
        sentence = f"Pareto k̂ of a Student proposal at the mode is {k:.2f} (0.7 is the limit of reliable weights)."
        grades.append(Grade("k_hat", k, level_of("k_hat", k), sentence))
        if np.isfinite(correction):
            sentence = (
                f"The next order of the expansion is {correction:+.3f} nats; the largest skewness {skewness:.2f}."
            )
            grades.append(Grade("next order", correction, level_of("evidence", abs(correction)), sentence))
    if found is not None:
        checks = found.diagnostics
        level: Level = "good" if checks.ok else "bad"
        sentence = checks.message().removesuffix(" check=False returns the draws with a warning instead.")
        grades.append(Grade("chains", checks.min_ess, level, sentence))
    apart = disagreement(bridged, figures.weighted)
    if not np.isnan(apart):
        sentence = f"Bridge and importance sampling differ by {abs(apart):.1f} standard errors of their difference."
        grades.append(Grade("cross-check", apart, "good" if abs(apart) <= DISAGREEMENT_LIMIT else "doubtful", sentence))
    return tuple(grades)
