"""What is calibrated: functions from a simulated set to the probability integral transforms (PIT) of its truth.

| method                  | posterior of (log μ, log ζ)                             | kernel's parameter    |
| ----------------------- | ------------------------------------------------------- | --------------------- |
| `Quadrature`            | exact, on weighted nodes                                | integrated out too    |
| `Laplace`               | Gaussian at the posterior's mode, prior included        | in the Gaussian too   |
| `ClosedForm("hessian")` | Gaussian at (μ_MP, ζ_MP), exact Hessian of the evidence | at its maximum (5.2)  |
| `ClosedForm("mackay")`  | the same with variances 2/(γ_eff − 1) and 2/(N − γ_eff) | at its maximum (5.2)  |
| `Draws(sampler)`        | draws of any sampler (X, y, seed) → {name: draws}       | as the sampler has it |

Where level 2 has no mode (γ → 0 or ∞) the closed forms have no error bars. Such a set gets a status that says so, and
for the hyperparameters, kept apart, the PIT of a point mass at what level 2 returned: 0 or 1, which nothing covers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import Kernel
from bayes_lssvm.levels.level2 import Level2
from bayes_lssvm.levels.level3 import ErrorBars, evaluate
from bayes_lssvm.linalg.spectrum import CentredSpectrum
from bayes_lssvm.marginal import laplace_evidence, marginalise
from bayes_lssvm.priors import HyperPrior
from bayes_lssvm.search.refinement import refine

from .pit import of_draws, of_gaussian, of_quadrature
from .quantities import mixture, plug_in_pit
from .simulation import SimulatedSet

OK = "ok"
_BASIC = ("log_mu", "log_zeta", "log_gamma")


class Outcome(NamedTuple):
    """What a method says about one set.

    Attributes
    ----------
    pit : dict
        PIT of each quantity that the method has a distribution of.
    status : str
        "ok", or why there is no posterior.
    facts : dict
        Numbers of the method's own, functions of the data alone: error bars, γ_eff, ….
    fallback : dict
        PIT, 0 or 1, of point masses where there is no distribution.
    """

    pit: dict[str, float]
    status: str = OK
    facts: dict[str, float] = {}  # noqa: RUF012 - never changed
    fallback: dict[str, float] = {}  # noqa: RUF012


Method = Callable[[SimulatedSet, int], Outcome]


@dataclass(frozen=True)
class Quadrature:
    """`marginalise(method="quadrature")`: the exact posterior, the likelihood and a new target.

    "y_new" is the new target under the whole mixture, "y_new_normal" under a Gaussian with mean and std of `predict`.
    The likelihood is ranked among independent draws by `sample`: on the nodes it would be lumpy, since a whole ridge of
    them can share one value of ζ. The tolerance of the log evidence is far below what any number of sets can show.
    """

    kernel: Kernel
    prior: HyperPrior
    fixed_kernel: bool
    draws: int = 199
    tolerance: float = 1e-4

    def __call__(self, data: SimulatedSet, seed: int) -> Outcome:
        posterior = marginalise(
            data.X,
            data.y,
            kernel=self.kernel,
            prior=self.prior,
            fixed_kernel=self.fixed_kernel,
            tolerance=self.tolerance,
            progress=False,
            standardise=False,
        )
        nodes, weights = posterior.nodes, posterior.weights
        pit = of_quadrature(data.truth, posterior.names, nodes, weights)
        drawn = posterior.sample(self.draws, seed=seed)
        columns = np.stack([drawn[name] for name in posterior.names], axis=1)
        pit["log_likelihood"] = _likelihood_rank(self.kernel, data, columns, np.random.default_rng([seed, 1]))
        mixed = mixture(self.kernel, data, nodes[:, 0], nodes[:, 1], nodes[:, 3:], weights)
        mean, std = posterior.predict(data.x_new, return_std=True)
        pit["y_new"] = mixed.y_new_pit
        pit["y_new_normal"] = of_gaussian(data.y_new, float(mean[0]), float(std[0]))
        sd = posterior.sd()
        facts = {f"sd_{name}": sd[name] for name in posterior.names}
        facts |= {"log_evidence": posterior.log_evidence, "tail": posterior.tail}
        return Outcome(pit, OK, facts | {"predicted_sd_ratio": float(std[0]) / mixed.y_new_sd})


def _likelihood_rank(kernel: Kernel, data: SimulatedSet, draws: Array, rng: np.random.Generator) -> float:
    """PIT of the true likelihood among those of draws, whose columns are log μ, log ζ, log γ and the kernel's."""
    equal = np.full(len(draws), 1.0 / len(draws))
    found = mixture(kernel, data, draws[:, 0], draws[:, 1], draws[:, 3:], equal)
    return of_draws(found.true_log_likelihood, found.log_likelihood, rng)


@dataclass(frozen=True)
class Laplace:
    """Laplace's method with the exact Hessian and the prior in it."""

    kernel: Kernel
    prior: HyperPrior
    fixed_kernel: bool

    def __call__(self, data: SimulatedSet, seed: int) -> Outcome:
        mode, covariance = self._gaussian(data)
        sds = {"log_mu": covariance[0, 0], "log_zeta": covariance[1, 1]}
        sds["log_gamma"] = covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1]
        means = {"log_mu": mode[0], "log_zeta": mode[1], "log_gamma": mode[1] - mode[0]}
        for i, name in enumerate(name for name in data.truth if name not in _BASIC):
            means[name], sds[name] = mode[2 + i], covariance[2 + i, 2 + i]
        sd = {name: float(np.sqrt(value)) for name, value in sds.items()}
        pit = {name: of_gaussian(data.truth[name], float(means[name]), sd[name]) for name in means}
        kernel = self.kernel if self.fixed_kernel else self.kernel.with_log_params(mode[2:])
        pit["y_new"] = plug_in_pit(kernel, data, float(mode[0]), float(mode[1]))
        return Outcome(pit, OK, {f"sd_{name}": value for name, value in sd.items()})

    def _gaussian(self, data: SimulatedSet) -> tuple[Array, Array]:
        if self.fixed_kernel or self.kernel.log_params.size == 0:
            reduction = CentredSpectrum.from_kernel_matrix(self.kernel(data.X), data.y)
            found = laplace_evidence(reduction, self.prior)
            return found.mode, found.covariance
        posterior = marginalise(
            data.X, data.y, kernel=self.kernel, prior=self.prior, method="laplace", progress=False, standardise=False
        )
        basic = [0, 1, *range(3, len(posterior.names))]
        mean = posterior.weights @ posterior.nodes
        return mean[basic], posterior.covariance()[np.ix_(basic, basic)]


@dataclass(frozen=True)
class ClosedForm:
    """Error bars of the evidence framework at (μ_MP, ζ_MP): "mackay" (below 5.2) or "hessian"."""

    bars: str
    kernel: Kernel
    prior: HyperPrior
    fixed_kernel: bool

    def __post_init__(self) -> None:
        if self.bars not in ("mackay", "hessian"):
            raise ValueError(f'bars must be "mackay" or "hessian", got {self.bars!r}.')

    def __call__(self, data: SimulatedSet, seed: int) -> Outcome:
        widths = (self.prior.mu.width, self.prior.zeta.width)
        kernel = self.kernel
        if not self.fixed_kernel and kernel.log_params.size:
            kernel = refine(kernel, data.X, data.y, occam=True, prior_sd=widths).kernel
        found = evaluate(CentredSpectrum.from_kernel_matrix(kernel(data.X), data.y), prior_sd=widths)
        bars: ErrorBars = getattr(found, self.bars)
        mode = found.level2
        status = OK
        if mode.at_boundary:
            status = f"no mode: {mode.status}"
        elif not np.isfinite(bars.log_mu):
            status = "no mode: the Hessian is not negative definite"
        sd = {"log_mu": bars.log_mu, "log_zeta": bars.log_zeta}
        mixed = bars.correlation * bars.log_mu * bars.log_zeta
        sd["log_gamma"] = float(np.sqrt(max(bars.log_mu**2 + bars.log_zeta**2 - 2.0 * mixed, 0.0)))
        means = {"log_mu": np.log(mode.mu), "log_zeta": np.log(mode.zeta), "log_gamma": np.log(mode.gamma)}
        facts = _level2_facts(mode)
        facts |= {f"log_{n}": float(v) for n, v in zip(kernel.param_names, kernel.log_params, strict=True)}
        predicted = {"y_new": plug_in_pit(kernel, data, float(means["log_mu"]), float(means["log_zeta"]))}
        if status != OK:
            points = {name: of_gaussian(data.truth[name], float(means[name]), 0.0) for name in means}
            return Outcome(predicted, status, facts, points)
        pit = {name: of_gaussian(data.truth[name], float(means[name]), sd[name]) for name in means}
        return Outcome(pit | predicted, OK, facts | {f"sd_{name}": float(value) for name, value in sd.items()})


def _level2_facts(mode: Level2) -> dict[str, float]:
    return {"gamma_eff": mode.gamma_eff, "log_gain": mode.log_gain, "n_modes": float(len(mode.modes))}


Sampler = Callable[[Array, Array, int], dict[str, Array]]


@dataclass(frozen=True)
class Draws:
    """Ranks among the draws of a sampler.

    Parameters
    ----------
    sampler : callable (X, y, seed) → dict of arrays of shape (S,)
        Draws of the log parameters, by the names of the truth ("log_gamma" may be left out).
    kernel : Kernel, optional
        Adds the likelihood and the new target, which need the model's kernel.
    keep : int
        Draws that are ranked, spread evenly over all: few enough to be nearly independent where they come from a chain.
    """

    sampler: Sampler
    kernel: Kernel | None = None
    keep: int = 199

    def __call__(self, data: SimulatedSet, seed: int) -> Outcome:
        found = {
            name: np.asarray(values, dtype=float).ravel() for name, values in self.sampler(data.X, data.y, seed).items()
        }
        if "log_mu" in found and "log_zeta" in found:
            found["log_gamma"] = found["log_zeta"] - found["log_mu"]
        missing = set(data.truth) - set(found)
        if missing:
            raise ValueError(f"The sampler returned no draws of {', '.join(sorted(missing))}.")
        total = min(len(values) for values in found.values())
        chosen = np.unique(np.linspace(0, total - 1, self.keep).round().astype(int))
        rng = np.random.default_rng([seed, 1])
        pit = {name: of_draws(data.truth[name], found[name][chosen], rng) for name in data.truth}
        if self.kernel is not None:
            columns = np.stack([found[name][chosen] for name in data.truth], axis=1)
            pit["log_likelihood"] = _likelihood_rank(self.kernel, data, columns, rng)
            equal = np.full(len(chosen), 1.0 / len(chosen))
            pit["y_new"] = mixture(self.kernel, data, columns[:, 0], columns[:, 1], columns[:, 3:], equal).y_new_pit
        return Outcome(pit, OK, {f"sd_{name}": float(found[name].std()) for name in data.truth})
