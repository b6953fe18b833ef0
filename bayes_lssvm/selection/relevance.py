"""Relevance of inputs: an ARD kernel at the maximum of the evidence, and its scales with error bars (paper 4).

    K(x, z) = exp(−Σ_i (x_i − z_i)²/s_i²),     relevance of input i = 1/s_i², for standardised inputs.

`ard_relevance` follows paper 4: level 3 chooses the width of a spherical kernel, s_1 = … = s_d = σ, and from there the
same evidence is climbed in all log s_i at once. The evidence can have several maxima, so that other widths are tried
as starts too (`refine`), and the largest maximum is taken.

`relevance_posterior` integrates μ, ζ and the scales out instead, so that each log s_i has an interval and

    P(input i is the most relevant | D) = P(s_i < s_j for all j ≠ i | D)

can be told. A scale that the data do not bound from above is bounded by its prior.

Columns that do not vary have no relevance. Of columns that are the same up to shift, scale and sign only the first
takes part: its copies tell nothing more, and 1/s_i² could be shared among them in any way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..base.columns import Columns, check_inputs
from ..base.errors import NoSignalWarning, warn
from ..base.typing import AnyArray, Array
from ..kernels import ARD, RBF
from ..levels.level3 import DEFAULT_PRIOR_SD, as_prior_sd
from ..levels.objective import Objective
from ..marginal.marginalise import marginalise
from ..marginal.posterior import HyperPosterior
from ..priors import HyperPrior, LogPrior
from ..search.refinement import best_ard, best_spherical

__all__ = ["Relevance", "RelevancePosterior", "ard_relevance", "relevance_posterior"]

_MAX_INPUTS = 10


@dataclass(frozen=True)
class Relevance:
    """The ARD kernel of the largest evidence, and what it says of the inputs.

    Attributes
    ----------
    relevance : array of shape (d,)
        1/s_i²; zero for columns that are constant or copies.
    ranking : array of int of shape (d,)
        Columns by falling relevance; of equal ones the first comes first.
    kernel : ARD
        Over the columns `columns.used`.
    log_evidence : float
        Of that kernel: with the Occam factor of μ and ζ or without, as asked for.
    spherical : RBF
        The best one: where the search started.
    spherical_log_evidence : float
        Its evidence; the gain is what scales of their own bring, not paid for.
    status : "interior", "no signal" or "interpolation"
        Of level 2 at the maximum.
    columns : Columns
    """

    relevance: Array
    ranking: AnyArray
    kernel: ARD
    log_evidence: float
    spherical: RBF
    spherical_log_evidence: float
    status: str
    columns: Columns


@dataclass(frozen=True)
class RelevancePosterior:
    """Scales of an ARD kernel with μ, ζ and each other integrated out.

    Attributes
    ----------
    columns : Columns
        The arrays below have one entry for each of `columns.used`, in that order.
    mean, sd : arrays of shape (P,)
        Of log s_i.
    interval : array of shape (P, 2)
        Central interval of log s_i.
    probability : float
        Of the interval.
    most_relevant : array of shape (P,)
        P(s_i is the smallest of all scales | D); sums to one.
    posterior : HyperPosterior
        The whole posterior, with the evidence and its error.
    """

    columns: Columns
    mean: Array
    sd: Array
    interval: Array
    probability: float
    most_relevant: Array
    posterior: HyperPosterior

    def __str__(self) -> str:
        lines = [f"input  {'mean log s':>10}  {'sd':>6}  {f'{self.probability:.0%} interval':>16}  P(most relevant)"]
        lines += [
            f"{column:5d}  {mean:10.2f}  {sd:6.2f}  {low:7.2f} … {high:6.2f}  {p:16.3f}"
            for column, mean, sd, (low, high), p in zip(
                self.columns.used, self.mean, self.sd, self.interval, self.most_relevant, strict=True
            )
        ]
        return "\n".join(lines)


def ard_relevance(
    X: Any,
    y: Any,
    *,
    occam: bool = True,
    prior_sd: float | tuple[float, float] = DEFAULT_PRIOR_SD,
    seed: int = 0,
) -> Relevance:
    """Relevances at the maximum of the evidence, searched from the best spherical kernel and other widths.

    Parameters
    ----------
    X : array of shape (N, d)
        Inputs, standardised as a rule: 1/s_i² of columns of other widths cannot be compared.
    y : array of shape (N,)
        Targets: ±1 for classes, real numbers for regression.
    occam : bool
        Whether the evidence has the Occam factor of μ and ζ (5.2) or not.
    prior_sd : float or pair of floats
        Prior widths of log μ and log ζ.
    seed : int
        Chooses the subset on which widths are sifted when N > 300.
    """
    X, y, columns = check_inputs(X, y)
    objective = Objective(X[:, columns.used], y, occam, as_prior_sd(prior_sd))
    spherical = best_spherical(objective, seed)
    found = best_ard(objective, spherical, seed)
    assert isinstance(spherical.kernel, RBF)
    assert isinstance(found.kernel, ARD)
    relevance = np.zeros(X.shape[1])
    relevance[list(columns.used)] = np.square(found.kernel.scales) ** -1.0
    if found.level2.status == "no signal":
        warn(
            f"No signal: the best scales explain the targets only {found.level2.log_gain:.2f} nats better than "
            "noise alone, so these relevances mean nothing.",
            NoSignalWarning,
        )
    return Relevance(
        relevance=relevance,
        ranking=np.argsort(-relevance, kind="stable"),
        kernel=found.kernel,
        log_evidence=found.value,
        spherical=spherical.kernel,
        spherical_log_evidence=spherical.value,
        status=found.level2.status,
        columns=columns,
    )


def relevance_posterior(
    X: Any,
    y: Any,
    *,
    method: str = "ccd",
    prior: HyperPrior | LogPrior | None = None,
    probability: float = 0.9,
    draws: int | None = None,
    chains: int = 4,
    warmup: int = 500,
    seed: int = 0,
    progress: bool = True,
) -> RelevancePosterior:
    """Error bars for relevances: the posterior of the log scales of an ARD kernel, for at most ten inputs.

    Parameters
    ----------
    X : array of shape (N, d)
        Inputs, standardised as a rule.
    y : array of shape (N,)
    method : {"ccd", "nuts", "laplace", "importance"}
        As in `marginalise`. A design ("ccd") is quick and takes the posterior for one hill; chains ("nuts") do not.
    prior : HyperPrior, LogPrior or None
        Normal(0, 3) for each log parameter by default.
    probability : float
        Of the intervals.
    draws, chains, warmup, seed, progress
        As in `marginalise`.
    """
    if method not in ("ccd", "nuts", "laplace", "importance"):
        raise ValueError(f"method must be one of ccd, nuts, laplace, importance for several scales, got {method!r}.")
    if not 0.0 < probability < 1.0:
        raise ValueError(f"The probability of an interval must be between 0 and 1, got {probability!r}.")
    X, y, columns = check_inputs(X, y)
    if len(columns.used) > _MAX_INPUTS:
        raise ValueError(
            f"Scales are integrated out for at most {_MAX_INPUTS} inputs, and {len(columns.used)} columns vary on "
            "their own. Select inputs first, with backward_elimination or forward_selection."
        )
    posterior = marginalise(
        X[:, columns.used],
        y,
        kernel="ard",
        prior=prior,
        method=method,
        draws=draws,
        chains=chains,
        warmup=warmup,
        seed=seed,
        progress=progress,
        standardise=False,
    )
    names = [f"log_{name}" for name in ARD((1.0,) * len(columns.used)).param_names]
    which = [posterior.names.index(name) for name in names]
    mean, sd, interval = posterior.mean(), posterior.sd(), posterior.interval(probability)
    smallest = np.argmin(posterior.points[:, which], axis=1)
    return RelevancePosterior(
        columns=columns,
        mean=np.array([mean[name] for name in names]),
        sd=np.array([sd[name] for name in names]),
        interval=np.array([interval[name] for name in names]),
        probability=probability,
        most_relevant=np.bincount(smallest, minlength=len(which)) / len(smallest),
        posterior=posterior,
    )
