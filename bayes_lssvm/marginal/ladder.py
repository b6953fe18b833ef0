"""The ladder of approximations to log p(D | H) and to the posterior of the hyperparameters, every rung on one prior.

| rung         | what it is                                                                    | kernel's parameters  |
| ------------ | ----------------------------------------------------------------------------- | -------------------- |
| `mackay`     | 5.2 with MacKay's error bars, none wider than the prior                       | held, or one free    |
| `hessian`    | 5.2 with the exact Hessian of the evidence at its mode                        | held                 |
| `laplace`    | Laplace's method with the prior in it, at the posterior's highest mode        | held or free         |
| `importance` | Student draws at the posterior's modes with Pareto-smoothed weights           | held or free         |
| `ccd`        | a central composite design, exact over μ and ζ                                | two or more free     |
| `quadrature` | the integral: the truth                                                       | held, or one free    |
| `nuts`       | NUTS on the evidence and bridge sampling                                      | held or free         |

All constants are kept, so that rungs differ by nats. A rung without an answer on given data (no mode) is missing, and
says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2

from ..base.checks import Check
from ..base.scikit import check_X_y
from ..base.text import html_table
from ..base.typing import Array
from ..base.weights import with_weight
from ..kernels import Kernel, as_kernel
from ..levels.level3 import ErrorBars, Level3, evaluate
from ..priors import HyperPrior, LogPrior, as_hyper_prior
from ..sampling.diagnostics import Diagnostics
from .density import Density
from .marginalise import integrated, request_of
from .posterior import HyperPosterior
from .surface import surface_of

QUADRATURE_ERROR = 1e-4
"""Nats: a hundredth of the smallest difference between rungs that anybody reads."""
K_HAT = 0.7
MISSED_MASS = 0.05
_THREE_SD = 0.9973  # a Gaussian's mass within three standard deviations
# Fewest and most free parameters of the kernel that a rung is for, in the order of the rungs.
_FREE: dict[str, tuple[int, float]] = {
    "mackay": (0, 1),
    "hessian": (0, 0),
    "laplace": (0, np.inf),
    "importance": (0, np.inf),
    "ccd": (2, np.inf),
    "quadrature": (0, 1),
    "nuts": (0, np.inf),
}
RUNGS = tuple(_FREE)


@dataclass(frozen=True)
class Rung:
    """One approximation.

    Attributes
    ----------
    method : str
    log_evidence : float
        log p(D | H); nan where the Hessian is not negative definite.
    error : float
        What the method knows of its error: a rule's change at its last refinement, the standard error of an estimate
        from draws; nan for an approximation that cannot tell.
    mean, sd : dict
        Of "log_mu", "log_zeta" and the logs of the kernel's free parameters.
    correlation : array of shape (D, D)
        Of the log parameters in the same order.
    checks : tuple of Check
        What the number rests on.
    posterior : HyperPosterior or None
        None for the closed forms at a held kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm import ladder
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 2))
    >>> y = X[:, 0] + 0.3 * rng.normal(size=30)
    >>> mackay, exact = ladder(X, y, kernel="linear", rungs=("mackay", "quadrature"), progress=False)
    >>> print(f"{mackay.log_evidence - exact.log_evidence:.1f} nats from the exact value")
    0.3 nats from the exact value
    """

    method: str
    log_evidence: float
    error: float
    mean: dict[str, float]
    sd: dict[str, float]
    correlation: Array
    checks: tuple[Check, ...]
    posterior: HyperPosterior | None = None

    @property
    def integral(self) -> HyperPosterior:
        """The posterior, where there must be one."""
        if self.posterior is None:
            raise ValueError(
                f"The approximation {self.method!r} is a closed form and has no posterior to predict with."
            )
        return self.posterior

    def mass_beyond(self, points: Array, weights: Array | None = None) -> float:
        """Weight of points of shape (n, D) farther than 3 standard deviations from this rung's Gaussian, in its metric.

        A Gaussian of the same moments has 0.0027.
        """
        mean, sd = np.array(list(self.mean.values())), np.array(list(self.sd.values()))
        factor = np.linalg.cholesky(self.correlation * np.outer(sd, sd))
        z = np.linalg.solve(factor, (points - mean).T)
        return float(np.average((z**2).sum(axis=0) > chi2.ppf(_THREE_SD, len(mean)), weights=weights))


@dataclass(frozen=True)
class Ladder:
    """Rungs by name, in the order of the module's table.

    Attributes
    ----------
    rungs : tuple of Rung
    missing : dict
        Rungs that were asked for and have no answer, with the reason.
    level3 : Level3 or None
        μ_MP, ζ_MP, best fit and Occam factors, where a closed form at a held kernel was asked for.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm import ladder
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(30, 2))
    >>> y = X[:, 0] + 0.3 * rng.normal(size=30)
    >>> found = ladder(X, y, kernel="linear", rungs=("mackay", "quadrature"), progress=False)
    >>> "mackay" in found, [rung.method for rung in found]
    (True, ['mackay', 'quadrature'])
    """

    rungs: tuple[Rung, ...]
    missing: dict[str, str]
    level3: Level3 | None = None

    def _repr_html_(self) -> str:
        """The rungs as a table, for notebooks."""
        rows = [[r.method, r.log_evidence, r.error, r.sd["log_mu"], r.sd["log_zeta"]] for r in self.rungs]
        header = ("method", "log evidence", "its error", "sd of log μ", "sd of log ζ")
        return html_table("Approximations of the evidence and of the error bars, all with the same prior", header, rows)

    def __iter__(self) -> Iterator[Rung]:
        return iter(self.rungs)

    def __contains__(self, method: str) -> bool:
        return any(rung.method == method for rung in self.rungs)

    def __getitem__(self, method: str) -> Rung:
        """The rung of this name; a ValueError with the reason where it has no answer."""
        for rung in self.rungs:
            if rung.method == method:
                return rung
        if method in self.missing:
            raise ValueError(self.missing[method])
        raise KeyError(f"the ladder has no approximation {method!r}; it has {', '.join(r.method for r in self.rungs)}")


def ladder(
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    kernel: Kernel | str = "rbf",
    prior: HyperPrior | LogPrior | None = None,
    rungs: Sequence[str] | None = None,
    fixed_kernel: bool = False,
    tolerance: float = 1e-6,
    draws: int | None = None,
    chains: int = 4,
    warmup: int = 500,
    seed: int | np.random.Generator = 0,
    progress: bool = True,
) -> Ladder:
    """Every approximation of the evidence and of the hyperparameters' posterior that is asked for.

    Parameters
    ----------
    rungs : sequence of str or None
        Names of the module's table; all but "nuts" that are for so many free parameters by default.
    X : array of shape (N, d)
        Inputs as the kernel shall see them (standardised, as a rule).
    y : array of shape (N,)
        Targets: ±1 for classes, real numbers for regression.
    sample_weight : array of shape (N,), optional
        As in `marginalise`.
    kernel, prior, fixed_kernel, tolerance, draws, chains, warmup, seed, progress
        As in `marginalise`, the same on every rung.

    Returns
    -------
    Ladder

    Examples
    --------
    >>> from bayes_lssvm import datasets
    >>> from bayes_lssvm.trust import ladder
    >>> X, labels = datasets.load("ripley").Xy
    >>> y = 2.0 * labels - 1.0
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    >>> found = ladder(X, y, kernel="linear", rungs=("mackay", "hessian", "laplace", "quadrature"))
    >>> for rung in found:
    ...     print(f"{rung.method:10} {rung.log_evidence:.3f}  sd of log mu {rung.sd['log_mu']:.3f}")
    mackay     -275.060  sd of log mu 1.004
    hessian    -275.057  sd of log mu 1.008
    laplace    -275.175  sd of log mu 1.022
    quadrature -275.127  sd of log mu 1.173
    """
    X, y = check_X_y(X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=3)
    X, y, weights = with_weight(X, y, sample_weight)
    chosen, hyper_prior = as_kernel(kernel, X.shape[1]), as_hyper_prior(prior)
    free = 0 if fixed_kernel else int(chosen.log_params.size)
    if free == 0 and isinstance(hyper_prior.kernel, tuple):
        hyper_prior = HyperPrior(hyper_prior.mu, hyper_prior.zeta)
    wanted = _wanted(rungs, free)
    for method in wanted:
        if method != "laplace":
            hyper_prior.require_proper(free, method)
    by_forms = free == 0 and {"mackay", "hessian"} & set(wanted)
    closed = _closed_forms(X, y, weights, chosen, hyper_prior) if by_forms else None
    options: dict[str, Any] = {"kernel": chosen, "prior": hyper_prior, "fixed_kernel": fixed_kernel}
    options |= {"tolerance": tolerance, "draws": draws, "chains": chains, "warmup": warmup, "seed": seed}
    surface, seen = surface_of(X, y, weights, standardise=False, task="auto")
    request = request_of(surface, *seen, check=False, progress=progress, **options)
    found, missing = [], {}
    for method in wanted:
        if closed is not None and method in ("mackay", "hessian"):
            found.append(_mackay(closed) if method == "mackay" else _hessian(closed))
            continue
        try:
            found.append(_rung(integrated(request, method)))
        except ValueError as error:
            if method not in ("laplace", "importance", "ccd"):  # those that stand on a mode
                raise
            missing[method] = str(error)
    return Ladder(tuple(found), missing, closed)


def _wanted(rungs: Sequence[str] | None, free: int) -> tuple[str, ...]:
    """Names in the table's order; refuse those that are not for so many free parameters."""
    fitting = [name for name, (fewest, most) in _FREE.items() if fewest <= free <= most]
    if rungs is None:
        return tuple(name for name in fitting if name != "nuts")
    unknown = [name for name in rungs if name not in fitting]
    if unknown:
        raise ValueError(
            f"With {free} free parameters of the kernel the approximations are {', '.join(fitting)}; got "
            f"{', '.join(unknown)}."
        )
    return tuple(name for name in fitting if name in rungs)


# --- closed forms at a held kernel ------------------------------------------------------------------------------------


def _closed_forms(X: Array, y: Array, weights: Array | None, kernel: Kernel, prior: HyperPrior) -> Level3:
    reduction = Density(X, y, kernel, prior.components(0), weights).reduction(kernel)
    return evaluate(reduction, prior_sd=(prior.mu.width, prior.zeta.width))


def _mackay(closed: Level3) -> Rung:
    mu, zeta = np.minimum(closed.mackay[:2], closed.prior_sd)  # as in 5.2's Occam factor
    capped = ErrorBars(float(mu), float(zeta), 0.0)
    return _at_mode("mackay", closed, closed.log_evidence, capped)


def _hessian(closed: Level3) -> Rung:
    value = closed.log_evidence_without_occam + closed.log_occam_factor_hessian
    return _at_mode("hessian", closed, value, closed.hessian)


def _at_mode(method: str, closed: Level3, log_evidence: float, bars: ErrorBars) -> Rung:
    level2 = closed.level2
    return Rung(
        method,
        log_evidence,
        np.nan,
        mean={"log_mu": float(np.log(level2.mu)), "log_zeta": float(np.log(level2.zeta))},
        sd={"log_mu": float(bars.log_mu), "log_zeta": float(bars.log_zeta)},
        correlation=np.array([[1.0, bars.correlation], [bars.correlation, 1.0]]),
        checks=(_mode_check(closed),),
    )


def _mode_check(closed: Level3) -> Check:
    level2 = closed.level2
    found = "has a mode" if not level2.at_boundary else f"has no mode: {level2.status}"
    return Check("mode", float(level2.at_boundary), 0.0, not level2.at_boundary, f"Level 2 {found}.")


# --- what `marginalise` integrates ------------------------------------------------------------------------------------


def _rung(posterior: HyperPosterior) -> Rung:
    at = {name: i for i, name in enumerate(posterior.names) if name != "log_gamma"}
    mean = {name: float(posterior.weights @ posterior.nodes[:, i]) for name, i in at.items()}
    variance = {name: posterior.weights @ (posterior.nodes[:, i] - mean[name]) ** 2 for name, i in at.items()}
    return Rung(
        posterior.method,
        posterior.log_evidence,
        posterior.log_evidence_error,
        mean=mean,
        sd={name: float(np.sqrt(value)) for name, value in variance.items()},
        correlation=posterior.correlation()[np.ix_(list(at.values()), list(at.values()))],
        checks=checks_of(posterior),
        posterior=posterior,
    )


def checks_of(posterior: HyperPosterior) -> tuple[Check, ...]:
    """What a posterior by any method of `marginalise` rests on."""
    facts = posterior.diagnostics
    if posterior.method == "quadrature":
        return (quadrature_check(posterior.log_evidence_error),)
    if posterior.method == "importance":
        k_hat = float(facts["k_hat_of_weights"])
        sentence = f"Pareto k̂ is {k_hat:.2f} (must be below {K_HAT:g})."
        return (Check("Pareto k", k_hat, K_HAT, k_hat < K_HAT, sentence),)
    if posterior.method == "laplace":
        missed = float(facts["missed_mass"])
        sentence = f"The Gaussian covers one mode and leaves out {missed:.3f} times its mass (at most {MISSED_MASS:g})."
        return (Check("missed modes", missed, MISSED_MASS, missed <= MISSED_MASS, sentence),)
    if posterior.method == "nuts":
        return (*Diagnostics.from_dict(facts["chains"]).checks, bridge_check(facts["bridge"]["concerns"]))
    return ()


def quadrature_check(error: float) -> Check:
    """Whether a rule is as fine as what is read from it needs, by its own account."""
    sentence = f"The quadrature's error is {error:.1e} nats by its own estimate (at most {QUADRATURE_ERROR:g})."
    return Check("quadrature error", error, QUADRATURE_ERROR, bool(error <= QUADRATURE_ERROR), sentence)


def bridge_check(concerns: Sequence[str]) -> Check:
    """Whether bridge sampling found something wrong with itself."""
    sentence = "Bridge sampling: " + ("; ".join(concerns) if concerns else "nothing looks wrong") + "."
    return Check("bridge", float(len(concerns)), 0.0, not concerns, sentence)
