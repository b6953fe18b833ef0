"""A posterior by NUTS, with what its sampler says of it: the programs of `models`, and the collapsed sampler's rung.

Chains that fail a check are run again before anything is called failed: `ATTEMPTS` is the budget, the same for all, and
a cell that needed more than one attempt says so among its checks. Where the last attempt fails too, its sentence says
what the data have to do with it (`why`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from bayes_lssvm.base.arviz import datatree
from bayes_lssvm.base.checks import Check
from bayes_lssvm.base.errors import quiet
from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.evidence import LogEvidence, log_evidence
from bayes_lssvm.kernels import Kernel
from bayes_lssvm.levels.level2 import optimise
from bayes_lssvm.linalg.spectrum import TridiagonalReduction
from bayes_lssvm.marginal.ladder import Rung, ladder
from bayes_lssvm.sampling.diagnostics import Diagnostics
from models import Sampled, sample

_LENGTHS = ("draws", "warmup", "chains")


class Attempt(NamedTuple):
    """One run of chains.

    Attributes
    ----------
    target_accept : float
        Mean acceptance probability that the step size is adapted to.
    length : int
        How many times the draws and the warm-up of the first run.
    diverging : float
        Share of trajectories that may diverge. At steps so short, one in a thousand is no sign of a region that the
        chains cannot enter: were there one, they would diverge there every time.
    """

    target_accept: float
    length: int
    diverging: float


ATTEMPTS = (Attempt(0.8, 1, 0.0), Attempt(0.95, 2, 0.001), Attempt(0.99, 4, 0.001))
"""The runs that chains are given, one after the other, until their checks pass."""
BUDGET = (
    f"Chains that fail a check are run again, {len(ATTEMPTS)} times at most: "
    + "; then ".join(
        f"{a.length} times the draws and warm-up at target acceptance {a.target_accept:g}" for a in ATTEMPTS[1:]
    )
    + f", where at most {ATTEMPTS[-1].diverging:.1%} of the trajectories may diverge."
)
"""The same in words, for pages."""
NUTS_EVERY = 4
"""Of programs that factorise a matrix at every step: NUTS moves for every so many draws, jumps for all of them."""
_SMALL = 0.1  # share of the rows
T = TypeVar("T")


class SampledPosterior(NamedTuple):
    """Chains, of shape (chains, draws, …) for each site.

    Attributes
    ----------
    draws : dict of arrays
        Every site.
    statistics : dict of arrays of shape (chains, draws)
    diagnostics : Diagnostics
        Its checks are what the numbers rest on.
    log_evidence, error : float
        By bridge sampling, where it was asked for.
    concerns : tuple of str
        Of the bridge; that the bias is flat, as on every rung, is none.
    attempts : int
        How many times chains were run.
    reason : str
        What in the data stands against sampling, where the last attempt failed.
    """

    draws: dict[str, Array]
    statistics: dict[str, AnyArray]
    diagnostics: Diagnostics
    log_evidence: float = float("nan")
    error: float = float("nan")
    concerns: tuple[str, ...] = ()
    attempts: int = 1
    reason: str = ""

    @property
    def checks(self) -> tuple[Check, ...]:
        """Those of the chains, with the reason where one failed, and that of the attempts where there were several."""
        own = self.diagnostics.checks
        if self.reason:
            own = tuple(c if c.passed else replace(c, sentence=f"{c.sentence}. {self.reason}") for c in own)
        if self.attempts == 1:
            return own
        sentence = f"The chains were run {self.attempts} times (at most {len(ATTEMPTS)})."
        return (*own, Check("attempts", float(self.attempts), float(len(ATTEMPTS)), True, sentence))

    @property
    def points(self) -> dict[str, Array]:
        """The log parameters; weights are left out: there may be hundreds, and no figure shows them."""
        return {name: values for name, values in self.draws.items() if name.startswith("log_")}

    def tree(self, *sites: str) -> Any:
        """What a cell keeps: the log parameters, other sites by name, and the sampler's statistics."""
        kept = self.points | {name: self.draws[name] for name in sites}
        return datatree({"posterior": kept, "sample_stats": self.statistics})


def lengths(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Draws, warm-up and chains of a cell's settings, as samplers take them."""
    return {name: settings[name] for name in _LENGTHS if name in settings}


def sample_program(
    program: Callable[..., None],
    arguments: tuple[Any, ...],
    settings: Mapping[str, Any],
    seed: int,
    *,
    bridge: bool = False,
    **options: Any,
) -> SampledPosterior:
    """NUTS on a program of `models`, tried again where a check fails; what fails in the end is kept as failed.

    A program that names its `hyperparameters` is sampled with moves between their modes. `options` are for
    `models.sample`.
    """
    if getattr(program, "whitened", False):  # as the programs with `hyperparameters` say
        options = {"modes_over": program.hyperparameters, **options}  # type: ignore[attr-defined]

    def run(target_accept: float, length: int, seed: int) -> Sampled:
        target = max(target_accept, options.get("target_accept", 0.0))
        given = {**options, **_longer(settings, length), "target_accept": target}
        with quiet():  # a check that fails is kept as one
            return sample(program, *arguments, seed=seed, check=False, progress=False, **given)

    bridged: list[tuple[Sampled, LogEvidence]] = []  # of the chains that pass their own checks, and of the last

    def evidence_of(found: Sampled) -> LogEvidence:
        if not bridged or bridged[-1][0] is not found:
            bridged.append((found, log_evidence(program, arguments, draws=found.draws, seed=seed, methods=("bridge",))))
        return bridged[-1][1]

    def concerns_of(found: Sampled) -> tuple[str, ...]:
        if not bridge:
            return ()
        return tuple(concern for concern in evidence_of(found).concerns if "is improper" not in concern)

    found, diagnostics, attempts = _tried(run, lambda sampled: sampled.diagnostics, seed, concerns_of)
    statistics = {**found.stats, "lp": found.log_density}
    whole = SampledPosterior(found.draws, statistics, diagnostics, attempts=attempts)
    if not bridge:
        return whole
    estimate, concerns = evidence_of(found), concerns_of(found)
    return whole._replace(log_evidence=estimate.value, error=estimate.standard_error, concerns=concerns)


def sample_collapsed(X: Array, y: Array, settings: Mapping[str, Any], seed: int, **options: Any) -> SampledPosterior:
    """Collapsed NUTS, tried again where a check fails; `options` are for `ladder`."""
    return collapsed_rung(X, y, settings, seed, **options)[1]


def collapsed_rung(
    X: Array, y: Array, settings: Mapping[str, Any], seed: int, **options: Any
) -> tuple[Rung, SampledPosterior]:
    """The ladder's rung "nuts" and its chains, tried again where a check fails."""

    def run(target_accept: float, length: int, seed: int) -> Rung:
        with quiet():
            found = ladder(X, y, rungs=("nuts",), seed=seed, progress=False, **_longer(settings, length), **options)
        return found["nuts"]

    rung, diagnostics, attempts = _tried(run, _diagnostics_of, seed, _concerns_of)
    return rung, chains_of(rung)._replace(attempts=attempts, diagnostics=diagnostics)


def _longer(settings: Mapping[str, Any], length: int) -> dict[str, Any]:
    return {name: value if name == "chains" else value * length for name, value in lengths(settings).items()}


def _tried(
    run: Callable[[float, int, int], T],
    diagnostics: Callable[[T], Diagnostics],
    seed: int,
    concerns: Callable[[T], tuple[str, ...]] = lambda found: (),
) -> tuple[T, Diagnostics, int]:
    """The first attempt that passes, or the one with the most effective draws; its diagnostics; how many there were.

    Chains pass whose diagnostics do, and from which the bridge has its evidence without concerns: it asks for more
    draws where they move too seldom between modes for an integral, be they enough for means.
    """
    tried: list[tuple[T, Diagnostics, bool]] = []
    for number, attempt in enumerate(ATTEMPTS):
        found = run(attempt.target_accept, attempt.length, seed + number)
        said = diagnostics(found)
        most = int(attempt.diverging * said.n_chains * said.n_draws)
        said = replace(said, thresholds=replace(said.thresholds, divergences=most))
        tried.append((found, said, said.ok and not concerns(found)))
        if tried[-1][2]:
            break
    found, said, _ = max(tried, key=lambda one: (one[2], one[1].ok, np.nan_to_num(one[1].min_ess)))
    return found, said, len(tried)


def why(found: SampledPosterior, X: Array, y: Array, kernel: Kernel) -> SampledPosterior:
    """The same with a reason where its chains failed: what level 2 and the rows say about the posterior.

    Parameters of the kernel that were sampled are put at their means.
    """
    if found.diagnostics.ok:
        return found
    names = [f"log_{name}" for name in kernel.param_names]
    if names and all(name in found.points for name in names):
        kernel = kernel.with_log_params(np.array([found.points[name].mean() for name in names]))
    level2 = optimise(TridiagonalReduction.from_kernel_matrix(kernel(X), y))
    repeated = len(y) - len(np.unique(np.column_stack([X, y]), axis=0))
    smaller = min(np.mean(y > 0), np.mean(y <= 0))
    said = []
    if level2.at_boundary:
        said.append(f"level 2 has no mode over γ ({level2.status})")
    if len(level2.modes) > 1:
        said.append(f"level 2 has {len(level2.modes)} modes over γ")
    if repeated:
        said.append(f"{repeated} of {len(y)} rows repeat another, and noise can be as small as one likes there")
    if smaller < _SMALL:
        said.append(f"the smaller class has {smaller:.0%} of the rows")
    facts = "; ".join(said) or "one mode at level 2, no rows that repeat: nothing in them stands against longer chains"
    return found._replace(reason=f"About the data at {kernel!s}: {facts}.")


def chains_of(rung: Rung) -> SampledPosterior:
    """The chains behind a ladder's rung "nuts"."""
    posterior = rung.integral
    assert posterior.chains is not None
    points = {name: posterior.chains.points[..., i] for i, name in enumerate(rung.mean)}
    if posterior.diagnostics["correction"]["corrected"]:  # plain moments of draws with weights would be wrong
        points = _resampled(points, posterior.weights)
    diagnostics, concerns = _diagnostics_of(rung), _concerns_of(rung)
    return SampledPosterior(points, posterior.chains.statistics, diagnostics, rung.log_evidence, rung.error, concerns)


def _diagnostics_of(rung: Rung) -> Diagnostics:
    return Diagnostics.from_dict(rung.integral.diagnostics["chains"])


def _concerns_of(rung: Rung) -> tuple[str, ...]:
    return tuple(rung.integral.diagnostics["bridge"]["concerns"])


def _resampled(points: dict[str, Array], weights: Array) -> dict[str, Array]:
    """Draws as often as their weights say, in the order of each chain."""
    chains, draws = next(iter(points.values())).shape
    shares = np.cumsum(weights.reshape(chains, draws), axis=1)
    places = [np.searchsorted(row[:-1], row[-1] * (np.arange(draws) + 0.5) / draws) for row in shares]
    return {name: np.take_along_axis(values, np.stack(places), axis=1) for name, values in points.items()}
