"""A posterior by NUTS, with what its sampler says of it: the programs of `models`, and the collapsed sampler's rung."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bayes_lssvm.base.arviz import datatree
from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.evidence import log_evidence
from bayes_lssvm.marginal.ladder import Rung
from bayes_lssvm.sampling.diagnostics import Diagnostics
from models import sample

_LENGTHS = ("draws", "warmup", "chains")


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
    """

    draws: dict[str, Array]
    statistics: dict[str, AnyArray]
    diagnostics: Diagnostics
    log_evidence: float = float("nan")
    error: float = float("nan")
    concerns: tuple[str, ...] = ()

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
    target_accept: float = 0.8,
    bridge: bool = False,
) -> SampledPosterior:
    """NUTS on a program of `models`; a check that fails is kept as one."""
    found = sample(
        program,
        *arguments,
        seed=seed,
        target_accept=target_accept,
        check=False,
        progress=False,
        **lengths(settings),
    )
    whole = SampledPosterior(found.draws, {**found.stats, "lp": found.log_density}, found.diagnostics)
    if not bridge:
        return whole
    estimate = log_evidence(program, arguments, draws=found.draws, seed=seed, methods=("bridge",))
    concerns = tuple(concern for concern in estimate.concerns if "is improper" not in concern)
    return whole._replace(log_evidence=estimate.value, error=estimate.standard_error, concerns=concerns)


def chains_of(rung: Rung) -> SampledPosterior:
    """The chains behind a ladder's rung "nuts"."""
    posterior = rung.integral
    assert posterior.chains is not None
    points = {name: posterior.chains.points[..., i] for i, name in enumerate(rung.mean)}
    diagnostics = Diagnostics.from_dict(posterior.diagnostics["chains"])
    concerns = tuple(posterior.diagnostics["bridge"]["concerns"])
    return SampledPosterior(points, posterior.chains.statistics, diagnostics, rung.log_evidence, rung.error, concerns)
