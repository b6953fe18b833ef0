"""log p(D | H) of one kernel with its parameters integrated out, with an error in nats.

    p(D | H) = ∫ p(D | θ) p(log θ) dlog θ,     p(D | θ) = ∫∫ p(D | μ, ζ, θ) p(log μ) p(log ζ) dlog μ dlog ζ

μ and ζ are integrated by quadrature, to rounding. Over the kernel's log parameters the method goes by their number:

| parameters | method       | error                                                                          |
| ---------- | ------------ | ------------------------------------------------------------------------------ |
| none       | "quadrature" | that of the rule over μ and ζ                                                  |
| 1 or 2     | "lattice"    | what further halvings of a trapezoidal rule may change                         |
| more       | "draws"      | 2½ standard errors of importance sampling with proposals from Laplace's method |

A lattice that would need too many points gives way to draws; whichever declares the smaller error counts.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..base.progress import tqdm
from ..base.typing import Array
from ..evidence.laplace import Mode
from ..kernels import Kernel
from ..marginal.draws.adaptive import integrate_by_draws
from ..marginal.rules.lattice import integrate_on_lattice
from ..priors import HyperPrior, LogPrior, as_hyper_prior
from .integrand import Integrand, default_priors
from .peaks import Spread, find_peaks
from .problem import Problem

Prior = HyperPrior | LogPrior | None
_ON_A_LATTICE = 2  # parameters
_SOME = 128  # draws that show how wide a posterior is
_TRUSTED = 30.0  # effective draws, by which it is known well enough
_LATTICE_TOLERANCE = 5e-4  # nats: half of what is promised
_MOST_ON_LATTICE = 6000
_COARSEST = 0.6  # of a log parameter: a kernel does not change its mind within a factor of two
TOLERANCE = 0.1
MOST_DRAWS = 4096


@dataclass(frozen=True)
class KernelEvidence:
    """The evidence of one kernel.

    Attributes
    ----------
    kernel : Kernel
        At the most probable parameters that were met.
    log_evidence, error : float
        log p(D | H) and its error in nats.
    method : str
        How the kernel's parameters were integrated: "quadrature", "lattice" or "draws".
    priors : tuple of HyperPrior
        One for each member; the priors of the kernel's parameters are those of the first.
    n_parameters : int
        How many parameters of the kernel were integrated out.
    laplace : float
        Laplace's approximation at the best mode; nan where no parameter is free.
    log_params : array of shape (n, P)
        Kernels at which the evidence was computed, and `weights` of shape (n,), their posterior probabilities.
    n_evaluations : int
    """

    kernel: Kernel
    log_evidence: float
    error: float
    method: str
    priors: tuple[HyperPrior, ...]
    n_parameters: int
    laplace: float
    log_params: Array = field(repr=False)
    weights: Array = field(repr=False)
    n_evaluations: int

    @property
    def prior(self) -> HyperPrior:
        """That of the first member."""
        return self.priors[0]

    def mean_and_sd(self) -> tuple[Array, Array]:
        """Posterior mean and standard deviation of each log parameter, of shape (P,)."""
        mean = self.weights @ self.log_params
        return mean, np.sqrt(np.maximum(self.weights @ (self.log_params - mean) ** 2, 0.0))


def kernel_evidence(
    problem: Problem,
    kernel: Kernel,
    *,
    prior: Prior | tuple[HyperPrior, ...] = None,
    free: bool = True,
    tolerance: float = TOLERANCE,
    draws: int = MOST_DRAWS,
    seed: int = 0,
    progress: bool = True,
) -> KernelEvidence:
    """Integrate a kernel's parameters out.

    Parameters
    ----------
    problem : Problem
        `as_problem(X, y)`.
    kernel : Kernel
        Its parameters are where the search for modes starts.
    prior : HyperPrior, LogPrior, tuple of HyperPrior, or None
        Of log μ, log ζ and the kernel's log parameters, for all members or one for each; the weak, proper one of
        `levels.default_prior` if None.
    free : bool
        False takes the kernel's parameters as given, and integrates over μ and ζ only.
    tolerance : float
        Error in nats at which draws are enough; a lattice goes on to 5·10⁻⁴.
    draws : int
        At most; a lattice has up to 6000 points, or up to this many: narrow peaks of a period need tens of thousands.
    seed : int
    """
    if isinstance(prior, tuple):
        priors = prior
    else:
        priors = default_priors(problem, kernel) if prior is None else (as_hyper_prior(prior),) * len(problem.members)
    if not free:
        priors = tuple(HyperPrior(own.mu, own.zeta) for own in priors)
    integrand = Integrand(problem, kernel, priors, free)
    priors[0].require_proper(integrand.dimension, "integrated")
    if integrand.dimension == 0:
        found = integrand.value(np.empty(0))
        common: dict[str, Any] = {"laplace": np.nan, "log_params": np.empty((1, 0)), "weights": np.ones(1)}
        return KernelEvidence(
            kernel, found.log_density, found.error, "quadrature", priors, 0, n_evaluations=1, **common
        )
    spread = Spread.of(integrand)
    peaks = find_peaks(integrand, spread)
    by_lattice = None
    with tqdm(desc="kernels integrated", unit="", disable=None if progress else True, leave=False) as bar:
        if integrand.dimension <= _ON_A_LATTICE:
            by_lattice = _by_lattice(integrand, peaks, spread, max(draws, _MOST_ON_LATTICE), bar)
            if by_lattice.error <= tolerance:
                return by_lattice
        by_draws = _by_draws(integrand, peaks, spread, tolerance, draws, seed, bar)
    return by_draws if by_lattice is None or by_draws.error < by_lattice.error else by_lattice


def _expect(bar: Any, more: int) -> None:
    """Let a bar estimate the time that so many kernels more will take."""
    bar.total = bar.n + more
    bar.refresh()


def _by_lattice(integrand: Integrand, peaks: tuple[Mode, ...], spread: Spread, most: int, bar: Any) -> KernelEvidence:
    def value(z: Array) -> float:
        bar.update()
        return integrand.log_density(z)

    scale = np.asarray(np.linalg.cholesky(_covariance(integrand, peaks, spread)))
    # a plain of the prior's size may lie as much deeper below the peak as it is larger
    deeper = max(float(np.log(spread.sd).sum() - np.log(np.diag(scale)).sum()), 0.0)
    found = integrate_on_lattice(
        value,
        peaks[0].position,
        scale,
        tolerance=_LATTICE_TOLERANCE,
        most=most,
        others=[peak.position for peak in peaks[1:]],
        depth=deeper,
        smooth=False,
        coarsest=_COARSEST,
        expect=partial(_expect, bar),
    )
    weights = np.exp(found.log_values - logsumexp(found.log_values))
    error = found.error + 0.1 * _LATTICE_TOLERANCE  # and what is left outside
    return _result(integrand, peaks, "lattice", found.log_integral, error, found.points, weights)


def _covariance(integrand: Integrand, peaks: tuple[Mode, ...], spread: Spread) -> Array:
    """What sets the steps of the lattice: at a mode of one parameter, of some draws for two, whose posterior is often
    far wider in places than at its mode.
    """
    if integrand.dimension == 1:
        return peaks[0].covariance
    found = integrate_by_draws(integrand, peaks, spread.sd, tolerance=0.0, most=_SOME, rng=np.random.default_rng(0))
    weights = np.exp(found.log_weights)
    centred = found.points - weights @ found.points
    covariance = centred.T @ (weights[:, None] * centred)
    share = min(1.0, found.effective_size / _TRUSTED)
    return np.asarray(share * covariance + (1.0 - share) * peaks[0].covariance)


def _by_draws(
    integrand: Integrand,
    peaks: tuple[Mode, ...],
    spread: Spread,
    tolerance: float,
    draws: int,
    seed: int,
    bar: Any,
) -> KernelEvidence:
    follow: dict[str, Any] = {"tick": bar.update, "expect": partial(_expect, bar)}
    rng = np.random.default_rng(seed)
    found = integrate_by_draws(integrand, peaks, spread.sd, tolerance=tolerance, most=draws, rng=rng, **follow)
    return _result(integrand, peaks, "draws", found.log_integral, found.error, found.points, np.exp(found.log_weights))


def _result(
    integrand: Integrand,
    peaks: tuple[Mode, ...],
    method: str,
    log_integral: float,
    error: float,
    points: Array,
    weights: Array,
) -> KernelEvidence:
    seen = np.vstack([points, *(peak.position for peak in peaks)])
    best = seen[int(np.argmax([integrand(z).log_density for z in seen]))]
    inner = float(weights @ np.array([min(integrand(z).error, 1e6) for z in points]))
    kept = weights > 1e-12
    return KernelEvidence(
        kernel=integrand.kernel_at(best),
        log_evidence=log_integral,
        error=error + inner,
        method=method,
        priors=integrand.priors,
        n_parameters=integrand.dimension,
        laplace=peaks[0].log_mass,
        log_params=integrand.log_params(points[kept]),
        weights=weights[kept] / weights[kept].sum(),
        n_evaluations=len(integrand.known),
    )
