"""The posterior of the hyperparameters, and predictions averaged over it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit

from ..base.archive import State
from ..base.intervals import Interval, require_coverage
from ..base.text import html_table
from ..base.typing import Array
from ..base.weights import weighted_mean
from ..levels.moderation import PAPERS_MODERATIONS
from . import export, groups
from .density import Density
from .export import Chains, PosteriorState, Predictive
from .predictions import CLASSES, MEAN, MixturePredictor, PredictionNode
from .quantiles import target_quantiles
from .rules.transport import Draw, quasi_uniform

if TYPE_CHECKING:
    from xarray import DataTree

_CACHED_BYTES = 2**29  # predictors beyond that are made anew at each call


class Sampler(NamedTuple):
    """How uniform numbers become draws of (log μ, log ζ, log θ), and how many a draw needs.

    `draw_at_nodes` draws kernels of the rule itself, where `draw` interpolates between them.
    """

    draw: Draw
    n_uniforms: int
    draw_at_nodes: Draw


@dataclass(frozen=True)
class HyperPosterior(PosteriorState):
    """p(log μ, log ζ, log θ | D) as weighted nodes, with the evidence.

    `marginalise` makes it. Names of parameters are "log_mu", "log_zeta", "log_gamma" (γ = ζ/μ), the kernel's with
    "log_" before them, and each without "log_" for the parameter itself.

    Attributes
    ----------
    method : str
    log_evidence : float
        log p(D | H): weights, bias and hyperparameters integrated out, all constants kept.
    log_evidence_error : float
        What the method knows of its error: the change at the last refinement of a rule, the standard error of an
        estimate from draws (2½ of them for "ccd"), nan for an approximation that cannot tell; and log(1 + tail).
    tail : float
        What may be missing at the ends of the ranges of γ and of the kernel's parameter, over the evidence; nan for an
        approximation that does not look there.
    names : tuple of str
        The log parameters, in the order of the columns of `nodes`.
    nodes : array of shape (M, len(names))
        Nodes of the rule, or draws.
    weights : array of shape (M,)
        Posterior probabilities of the nodes.
    sample_weight : array of shape (N,) or None
        Of the rows of the data: row i has the noise precision ζw_i. New targets have weight one.
    diagnostics : dict
        What the method tells of its work: modes, k̂, R-hat and the like.
    chains : Chains or None
        Draws in chains with their statistics, for method="nuts".

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm import marginalise
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-3, 3, size=(40, 1))
    >>> y = np.sinc(x[:, 0]) + 0.1 * rng.normal(size=40)
    >>> posterior = marginalise(x, y, kernel="linear", progress=False)
    >>> posterior.names, posterior.log_evidence_error < 1e-6
    (('log_mu', 'log_zeta', 'log_gamma'), True)
    >>> mean, sd = posterior.predict([[0.0]], return_std=True)
    >>> mean.shape, sd.shape
    ((1,), (1,))
    """

    make_prediction_nodes: Callable[[], tuple[PredictionNode, ...]] = field(kw_only=True, repr=False)
    sampler: Sampler | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        # functions and matrices stay behind: a copy keeps nodes, points and what predictions need
        state = {**self.__dict__, "prediction_nodes": self.prediction_nodes, "points": self.points}
        state["make_prediction_nodes"] = state["sampler"] = None
        state.pop("_kept_predictor", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    # --- the hyperparameters ---------------------------------------------------------------------------------------

    def mean(self) -> dict[str, float]:
        """Posterior mean of each log parameter and of each parameter."""
        return {name: float(self.weights @ column) for name, column in self._columns(self.nodes)}

    def sd(self) -> dict[str, float]:
        """Posterior standard deviation of each log parameter and of each parameter."""
        return {
            name: float(np.sqrt(self.weights @ (column - self.weights @ column) ** 2))
            for name, column in self._columns(self.nodes)
        }

    def interval(self, probability: float = 0.9) -> dict[str, tuple[float, float]]:
        """Central posterior interval of each log parameter and of each parameter."""
        if not 0.0 < probability < 1.0:
            raise ValueError(f"The probability of an interval must be between 0 and 1, got {probability!r}.")
        tails = [0.5 * (1.0 - probability), 0.5 * (1.0 + probability)]
        ends = np.quantile(self.points, tails, axis=0)
        logs = {name: (float(ends[0, i]), float(ends[1, i])) for i, name in enumerate(self.names)}
        plain = {_plain(name): (float(np.exp(a)), float(np.exp(b))) for name, (a, b) in logs.items()}
        return {**logs, **plain}

    def covariance(self, *, logs: bool = True) -> Array:
        """Posterior covariance of the log parameters in the order of `names`, or of the parameters themselves."""
        values = self.nodes if logs else np.exp(self.nodes)
        centred = values - self.weights @ values
        return np.asarray(centred.T @ (self.weights[:, None] * centred))

    def correlation(self, *, logs: bool = True) -> Array:
        """Posterior correlations of the log parameters in the order of `names`, or of the parameters themselves."""
        covariance = self.covariance(logs=logs)
        scale = np.sqrt(np.maximum(np.diag(covariance), 1e-300))
        return np.asarray(covariance / np.outer(scale, scale))

    def expectation(self, function: Callable[[Array], Array]) -> float:
        """Posterior mean of a function of the nodes, whose columns are `names`: `lambda x: np.exp(x[:, 0])` for μ."""
        return float(self.weights @ function(self.nodes))

    def sample(self, n: int, *, seed: int = 0) -> dict[str, Array]:
        """Independent draws of each log parameter and each parameter, of shape (n,).

        From a quadrature rule they come by interpolation of its densities; from draws by drawing again.
        """
        if n < 1:
            raise ValueError(f"The number of draws must be positive, got {n!r}.")
        rng = np.random.default_rng(seed)
        if self.sampler is not None:
            points = with_gamma(self.sampler.draw(rng.random((n, self.sampler.n_uniforms))))
        elif "points" in self.__dict__:
            points = self.points[rng.integers(len(self.points), size=n)]
        else:
            points = self.nodes[rng.choice(len(self.nodes), size=n, p=self.weights)]
        return dict(self._columns(points))

    @cached_property
    def points(self) -> Array:
        """Points of equal weight that stand for the posterior, of shape (n, len(names))."""
        if self.sampler is not None:
            return with_gamma(self.sampler.draw(quasi_uniform(self.sampler.n_uniforms)))
        if np.ptp(self.weights) == 0.0:
            return self.nodes
        n = max(len(self.nodes), 4000)
        positions = (np.arange(n) + 0.5) / n
        return self.nodes[np.searchsorted(np.cumsum(self.weights)[:-1], positions)]

    def _columns(self, points: Array) -> Iterator[tuple[str, Array]]:
        for i, name in enumerate(self.names):
            yield name, points[:, i]
        for i, name in enumerate(self.names):
            yield _plain(name), np.exp(points[:, i])

    def __repr__(self) -> str:
        """One line: the method, the kernel, the data and the evidence."""
        n, d = self.X.shape
        target = "real targets" if self.surface.classes is None and np.any(np.abs(self.y) != 1.0) else "two classes"
        return (
            f"HyperPosterior(method={self.method!r}, kernel={self.kernel!s}, N={n}, d={d}, {target}, "
            f"log_evidence={self.log_evidence:.3f} ± {self.log_evidence_error:.1g})"
        )

    def _repr_html_(self) -> str:
        """The table of `summary`, for notebooks."""
        mean, sd, interval = self.mean(), self.sd(), self.interval(0.9)
        rows = [[name, mean[name], sd[name], *interval[name]] for name in mean]
        return html_table(repr(self), ("", "mean", "sd", "5 %", "95 %"), rows)

    def summary(self) -> str:
        """A table of means, standard deviations and 90 % intervals, and the evidence with its error."""
        mean, sd, interval = self.mean(), self.sd(), self.interval(0.9)
        width = max(len(name) for name in mean)
        lines = [f"{'':{width}}  {'mean':>9}  {'sd':>9}  {'5 %':>9}  {'95 %':>9}"]
        lines += [
            f"{name:{width}}  {_number(mean[name])}  {_number(sd[name])}  {_number(interval[name][0])}  "
            f"{_number(interval[name][1])}"
            for name in mean
        ]
        error = "error not known" if np.isnan(self.log_evidence_error) else f"error about {self.log_evidence_error:.0e}"
        lines.append(f"log evidence {self.log_evidence:.6f} ({self.method}, {error})")
        return "\n".join(lines)

    # --- predictions -----------------------------------------------------------------------------------------------

    @cached_property
    def prediction_nodes(self) -> tuple[PredictionNode, ...]:
        """The kernels, with their shares and values of γ, over which predictions are averaged."""
        return self.make_prediction_nodes()

    @cached_property
    def _kept_predictor(self) -> MixturePredictor | None:
        """Kept between calls where its matrices are small enough."""
        if 8 * len(self.y) ** 2 * len(self.prediction_nodes) > _CACHED_BYTES:
            return None
        return MixturePredictor(self.prediction_nodes, self.X, self.y, self.sample_weight)

    def _predictor(self) -> MixturePredictor:
        return self._kept_predictor or MixturePredictor(self.prediction_nodes, self.X, self.y, self.sample_weight)

    def predict(self, X: Array, *, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Mean of a new target at each row of X, and on request its standard deviation, noise included.

        Classes count as −1 and +1. Means and variances are those of the whole mixture, by the law of total variance.
        """
        first, variance = self._predictor().moments(self._new_inputs(X))
        mean, scale = self.surface.target_mean, self.surface.target_scale
        found = mean + scale * first
        return (found, scale * np.sqrt(variance)) if return_std else found

    def predict_interval(self, X: Array, coverage: float = 0.9) -> Interval:
        """Central interval that holds a new target at each row of X with the probability `coverage`, noise included.

        Its ends are quantiles of the mixture, not those of the Gaussian with its mean and variance.
        """
        tail = 0.5 * (1.0 - require_coverage(coverage))
        ends = target_quantiles(self._predictor(), self._new_inputs(X), np.array([tail, 1.0 - tail]))
        mean, scale = self.surface.target_mean, self.surface.target_scale
        return Interval(mean + scale * ends[:, 0], mean + scale * ends[:, 1])

    def predict_proba(
        self, X: Array, *, moderation: str = "class", class_prior: tuple[float, float] | None = None
    ) -> Array:
        """[P(y=−1 | x, D), P(y=+1 | x, D)] for two classes: moderated outputs averaged over the posterior.

        The first label in sorted order is −1 (`surface.classes`).
        """
        if not np.all(np.abs(self.y) == 1.0):
            raise ValueError("predict_proba needs two classes; this posterior is for real targets.")
        if moderation not in PAPERS_MODERATIONS:
            raise ValueError(f"moderation must be one of {', '.join(PAPERS_MODERATIONS)}, got {moderation!r}.")
        X = self._new_inputs(X)
        frequency = float(weighted_mean(self.y > 0, self.sample_weight))
        plus = frequency if class_prior is None else float(class_prior[1])
        prior, training = np.log(plus) - np.log1p(-plus), np.log(frequency) - np.log1p(-frequency)
        positive = np.zeros(len(X))
        for part, node, own, outputs in self._predictor()(X, CLASSES if moderation == "class" else MEAN):
            odds = node.log_odds_from(own, outputs, moderation, prior, training)
            positive[part] += node.weight * (expit(odds) @ node.fine.weight)
        positive = np.clip(positive, 0.0, 1.0)  # weights sum to one but for rounding
        return np.stack([1.0 - positive, positive], axis=1)

    def _new_inputs(self, X: Array) -> Array:
        X = np.asarray(X, dtype=float)
        width = self.surface.width or self.X.shape[1]
        if X.ndim != 2 or X.shape[1] != width or not np.isfinite(X).all():
            raise ValueError(
                f"New inputs must be a finite array of shape (n, {width}), as the data were; got shape {X.shape}."
            )
        return self.surface.inputs(X)

    # --- files and ArviZ -------------------------------------------------------------------------------------------

    def to_arviz(self, *, draws: int = 1000, seed: int = 0) -> DataTree:
        """A DataTree for ArviZ, with all that its tables and plots ask for.

        Groups: posterior, sample_stats, log_likelihood, posterior_predictive, observed_data, constant_data; and with a
        proper prior log_prior, prior and prior_predictive. Inputs have their names as coordinates, classes their
        labels. Draws that no sampler made come in four chains.

        Parameters
        ----------
        draws : int
            How many to draw in all; chains of method="nuts" are taken as they are, thinned to about as many.
        seed : int
            Of the draws, the latent values and the replicated targets.
        """
        rng = np.random.default_rng(seed)
        return groups.to_datatree(self, self._drawn(draws, rng), rng)

    def save(self, path: str | Path) -> Path:
        """Write everything to a netCDF file, which `load` reads; it appears whole or not at all."""
        predictive = Predictive(self.prediction_nodes, self.points)
        return export.save(self.to_arviz(), self, predictive, path)

    @classmethod
    def load(cls, path: str | Path) -> HyperPosterior:
        """A posterior that `save` wrote."""
        return cls._restored(*export.load(path))

    def state(self) -> State:
        """All that predicts, as JSON and arrays, for model files."""
        return export.posterior_state(self, Predictive(self.prediction_nodes, self.points))

    @classmethod
    def from_state(cls, state: State) -> HyperPosterior:
        """A posterior from its `state`."""
        return cls._restored(*export.restored_posterior(state))

    @classmethod
    def _restored(cls, state: PosteriorState, predictive: Predictive) -> HyperPosterior:
        posterior = cls(**vars(state), make_prediction_nodes=lambda: predictive.prediction_nodes)
        posterior.__dict__["points"] = predictive.points
        return posterior

    def _drawn(self, draws: int, rng: np.random.Generator) -> Chains:
        """Draws in chains with their log densities: the sampler's own, thinned, or independent ones."""
        if draws < 4 * groups.N_CHAINS:
            raise ValueError(f"ArviZ data need four draws or more in each of four chains, 16 in all, got {draws!r}.")
        if self.chains is not None:
            points, statistics = self.chains
            step = max(1, -(-points.shape[0] * points.shape[1] // draws))
            return Chains(points[:, ::step], {name: values[:, ::step] for name, values in statistics.items()})
        if self.sampler is not None:
            points = self.sampler.draw_at_nodes(rng.random((draws, self.sampler.n_uniforms)))
        else:
            chosen = rng.choice(len(self.nodes), size=draws, p=self.weights)
            points = np.delete(self.nodes[chosen], 2, axis=1)
        if self.prior is None:  # a file with a prior of the user's own
            return Chains(groups.in_chains(points, np.zeros(len(points)), rng).points, {})
        parts = self.prior.components(len(self.names) - 3)
        density = Density(self.X, self.y, self.kernel, parts, self.sample_weight)
        return groups.in_chains(points, density.values(points), rng)


def with_gamma(points: Array) -> Array:
    """Columns (log μ, log ζ, log γ, log θ…) from (log μ, log ζ, log θ…)."""
    return np.column_stack([points[:, :2], points[:, 1] - points[:, 0], points[:, 2:]])


def names_with_gamma(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of `with_gamma`'s columns."""
    return (*names[:2], "log_gamma", *names[2:])


def _plain(name: str) -> str:
    return name.removeprefix("log_")


def _number(value: float) -> str:
    return f"{value:9.4f}" if abs(value) < 1000.0 else f"{value:9.3g}"
