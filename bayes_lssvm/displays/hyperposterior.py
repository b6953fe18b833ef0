"""The posterior of the hyperparameters as it is, and Laplace's Gaussian in its place."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import gaussian_kde, norm

from ..base.typing import Array
from ..marginal.density import Density
from ..marginal.posterior import HyperPosterior
from .canvas import BLUE, VERMILION, Display

_SHARES = (0.5, 0.9)
_OF_BOTH = {"log_mu": (1.0, 0.0), "log_zeta": (0.0, 1.0), "log_gamma": (-1.0, 1.0)}  # of (log μ, log ζ)


class Gaussian(NamedTuple):
    """Laplace's approximation at the mode: means and covariance of the log parameters that are shown."""

    mean: Array
    covariance: Array


class HyperposteriorDisplay(Display):
    """One or two log parameters: contours of 50 % and 90 % of the exact posterior, and Laplace's ellipses.

    Attributes
    ----------
    names : tuple of one or two str
    grid : tuple of arrays
    density : array of shape (n,) or (n, n)
        Up to a constant factor. Exact for (log μ, log ζ) of a fixed kernel, else smoothed from points.
    gaussian : Gaussian or None
    ax_, figure_

    Examples
    --------
    >>> from bayes_lssvm import BayesianLSSVC, HyperposteriorDisplay
    >>> from bayes_lssvm.datasets import load
    >>> X, y = load("ripley").Xy
    >>> model = BayesianLSSVC(refine=False).fit(X[::5], y[::5])
    >>> HyperposteriorDisplay.from_estimator(model, grid_resolution=30, plot=False).density.shape
    (30, 30)
    """

    def __init__(
        self, names: tuple[str, ...], grid: tuple[Array, ...], density: Array, gaussian: Gaussian | None = None
    ) -> None:
        self.names, self.grid, self.density, self.gaussian = names, grid, density, gaussian

    @classmethod
    def from_posterior(
        cls,
        posterior: HyperPosterior,
        *,
        parameters: tuple[str, ...] = ("log_mu", "log_zeta"),
        gaussian: Gaussian | None = None,
        grid_resolution: int = 80,
        ax: Any = None,
        plot: bool = True,
        **options: Any,
    ) -> HyperposteriorDisplay:
        """The posterior of one or two of `posterior.names`."""
        unknown = [name for name in parameters if name not in posterior.names]
        if unknown or not 1 <= len(parameters) <= 2:
            raise ValueError(f"parameters must be one or two of {', '.join(posterior.names)}; got {parameters!r}.")
        points = posterior.points[:, [posterior.names.index(name) for name in parameters]]
        grid = tuple(_range(column, grid_resolution) for column in points.T)
        mesh = np.stack([axis.ravel() for axis in np.meshgrid(*grid)])
        if parameters == ("log_mu", "log_zeta") and len(posterior.names) == 3 and posterior.prior is not None:
            data = posterior.X, posterior.y, posterior.kernel, posterior.prior.components(0), posterior.sample_weight
            values = Density(*data).values(mesh.T)
            density = np.exp(values - values.max())
        else:
            density = gaussian_kde(points.T)(mesh)
        shape = tuple(len(axis) for axis in reversed(grid))
        display = cls(tuple(parameters), grid, density.reshape(shape), gaussian)
        return display.plot(ax, **options) if plot else display

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, prior: Any = None, ax: Any = None, plot: bool = True, **options: Any
    ) -> HyperposteriorDisplay:
        """(log μ, log ζ) of a model of two classes or of real targets, its kernel held, beside Laplace's Gaussian.

        For real targets both are of the standardised target.
        """
        posterior = estimator.marginalise(prior=prior, fixed_kernel=True, progress=False)
        laplace = _laplace(estimator, posterior.surface.target_scale)
        shown = [_OF_BOTH.get(name) for name in options.get("parameters", ("log_mu", "log_zeta"))]
        gaussian = None
        if laplace is not None and None not in shown:
            A = np.array(shown)
            gaussian = Gaussian(A @ laplace.mean, A @ laplace.covariance @ A.T)
        return cls.from_posterior(posterior, gaussian=gaussian, ax=ax, plot=plot, **options)

    def plot(self, ax: Any = None, *, color: str = BLUE) -> HyperposteriorDisplay:
        """Draw on `ax`, or on axes of its own."""
        ax = self._on(ax)
        if len(self.names) == 1:
            self._curve(ax, color)
        else:
            self._contours(ax, color)
        return self

    def _curve(self, ax: Any, color: str) -> None:
        (x,) = self.grid
        ax.plot(x, self.density / np.trapezoid(self.density, x), color=color, label="exact")
        if self.gaussian is not None:
            normal = norm.pdf(x, self.gaussian.mean[0], np.sqrt(self.gaussian.covariance[0, 0]))
            ax.plot(x, normal, "--", color=VERMILION, label="Laplace")
        ax.set(xlabel=_symbol(self.names[0]), ylabel="posterior density", ylim=(0.0, None))
        ax.legend(frameon=False)

    def _contours(self, ax: Any, color: str) -> None:
        levels = sorted(_level(self.density, share) for share in _SHARES)
        ax.contourf(*self.grid, self.density, levels=[*levels, self.density.max()], colors=color, alpha=0.15)
        ax.contour(*self.grid, self.density, levels=levels, colors=color, linewidths=1.3)
        ax.plot([], [], color=color, label="exact: 50 % and 90 %")
        if self.gaussian is not None:
            for share in _SHARES:
                ax.plot(*_ellipse(self.gaussian, share), "--", color=VERMILION, lw=1.2)
            ax.plot(*self.gaussian.mean, "+", color=VERMILION)
            ax.plot([], [], "--", color=VERMILION, label="Laplace: 50 % and 90 %")
        ax.set(xlabel=_symbol(self.names[0]), ylabel=_symbol(self.names[1]))
        ax.legend(frameon=False, loc="best")


def _laplace(model: Any, scale: float) -> Gaussian | None:
    """The Gaussian of (log μ, log ζ) of the standardised target, where the Hessian has error bars."""
    bars = model.level3_.hessian
    if not np.isfinite([bars.log_mu, bars.log_zeta, bars.correlation]).all():
        return None
    sd = np.array([bars.log_mu, bars.log_zeta])
    covariance = np.outer(sd, sd) * np.array([[1.0, bars.correlation], [bars.correlation, 1.0]])
    return Gaussian(np.log([model.mu_, model.zeta_]) + 2.0 * np.log(scale), covariance)


def _range(values: Array, resolution: int) -> Array:
    low, high = np.quantile(values, [0.001, 0.999])
    margin = 0.1 * (high - low)
    return np.linspace(low - margin, high + margin, resolution)


def _level(density: Array, share: float) -> float:
    """The density above which this share of the mass lies."""
    ordered = np.sort(density.ravel())[::-1]
    mass = np.cumsum(ordered) / ordered.sum()
    return float(ordered[np.searchsorted(mass, share)])


def _ellipse(gaussian: Gaussian, share: float) -> Array:
    """The curve that holds this share of a Gaussian in the plane: χ² of two degrees is −2 log(1 − share)."""
    angle = np.linspace(0.0, 2.0 * np.pi, 200)
    circle = np.stack([np.cos(angle), np.sin(angle)]) * np.sqrt(-2.0 * np.log1p(-share))
    return np.asarray(gaussian.mean[:, None] + np.linalg.cholesky(gaussian.covariance) @ circle)


def _symbol(name: str) -> str:
    greek = {"log_mu": "log μ", "log_zeta": "log ζ", "log_gamma": "log γ", "log_sigma": "log σ"}
    return greek.get(name, name.replace("_", " "))
