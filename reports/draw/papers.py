"""Pictures that the papers print as sketches, drawn from the program: figure 1 of paper 0, the ellipsoid of paper 4."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayes_lssvm import BayesianLSSVC, BayesianLSSVR
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import Linear
from bayes_lssvm.levels.level1 import PrimalPosterior

from .style import BLACK, BLUE, GREEN, GREY, ORANGE, VERMILION, WIDE, new_figure

COLOURS = {-1.0: BLUE, 1.0: VERMILION}
MIDDLES, SPREAD = np.array([[-1.0, -0.6], [1.0, 0.6]]), np.array([[0.9, -0.45], [-0.45, 0.7]])
"""Of the two classes of figure 1: their centres, and their covariance."""
SLOPE, OFFSET, NOISE = 0.8, 0.5, 0.5
"""Of the line whose parameters the ellipsoid is about."""
ROWS = {20: ORANGE, 80: GREEN, 320: BLUE}


class Projected(NamedTuple):
    """Two classes on the discriminant of a linear LS-SVM, with μ and ζ of the largest evidence.

    Attributes
    ----------
    outputs : array of shape (N,)
        wᵀx + b.
    w, b : array of shape (2,) and float
    zeta, zeta_star : float
        1/ζ is the variance about the targets ±1 (3.4), 1/ζ_* that about the projected class centres (3.8).
    centres : dict
        wᵀm̂ + b of class −1 and of class +1.
    """

    outputs: Array
    w: Array
    b: float
    zeta: float
    zeta_star: float
    centres: dict[float, float]


def two_normal_classes(n: int = 400, seed: int = 1) -> tuple[Array, Array]:
    """Inputs of shape (n, 2) and labels ±1, half of them of each class; the classes share a covariance."""
    rng = np.random.default_rng(seed)
    y = np.repeat([-1.0, 1.0], n // 2)
    return MIDDLES[(y > 0).astype(int)] + rng.multivariate_normal(np.zeros(2), SPREAD, size=len(y)), y


def projected(X: Array, y: Array) -> Projected:
    """The LS-SVM of figure 1, on inputs as they come."""
    model = BayesianLSSVC(Linear(), prior="flat", moderation="class", standardise=False).fit(X, y)
    outputs = np.asarray(model.latent(X))
    w = X.T @ model.alpha_
    centres = {label: float(outputs[y == label].mean()) for label in COLOURS}
    return Projected(outputs, w, float(np.mean(outputs - X @ w)), model.zeta_, model.zeta_star_, centres)


def figure_1() -> Figure:
    """Figure 1 of paper 0: the classes with the hyperplanes z = −1, 0, 1, and the outputs about the targets."""
    X, y = two_normal_classes()
    found = projected(X, y)
    with new_figure(11, 5.0, settings=WIDE) as figure:
        left, right = figure.subplots(1, 2)
        for label, colour in COLOURS.items():
            left.plot(*X[y == label].T, ".", color=colour, ms=5, alpha=0.55)
            left.plot(*X[y == label].mean(axis=0), "o", color=colour, mec=BLACK, ms=10, zorder=3)
        _hyperplanes(left, found)
        _outputs(right, y, found)
        return figure


def _hyperplanes(axes: Axes, found: Projected) -> None:
    """Where wᵀx + b is −1, 0 and 1."""
    side = np.linspace(-4.5, 4.5, 60)
    plane = np.stack(np.meshgrid(side, side), axis=-1)
    lines = axes.contour(side, side, plane @ found.w + found.b, [-1.0, 0.0, 1.0], colors=BLACK,
                         linestyles=["dashed", "solid", "dashed"], linewidths=1.2)  # fmt: skip
    axes.clabel(lines, fmt=lambda level: f"z = {_signed(level, 0)}" if level else "z = 0", fontsize=10)
    axes.set(xlabel="$x_1$", ylabel="$x_2$", aspect="equal", xlim=(-4.2, 4.2), ylim=(-3.6, 3.6))
    axes.set_title("large dots: class centres", fontsize=12)


def _outputs(axes: Axes, y: Array, found: Projected) -> None:
    """Histograms of the outputs of each class, with the normal densities of 3.4 and of 3.8."""
    z = np.linspace(-3.2, 3.2, 300)
    for label, colour in COLOURS.items():
        own = found.outputs[y == label]
        axes.hist(own, bins=24, density=True, color=colour, alpha=0.3, label=f"outputs, class {_signed(label, 0)}")
        axes.plot(z, _normal(z, found.centres[label], found.zeta_star), color=colour, lw=2.0,
                  label=f"about their mean {_signed(found.centres[label], 2)}")  # fmt: skip
        target = f"about the target {_signed(label, 0)}"
        axes.plot(z, _normal(z, label, found.zeta), "--", color=colour, lw=1.3, label=target)
    axes.axvline(0.0, color=GREY, lw=0.8)
    axes.set(xlabel="output z = wᵀx + b", ylabel="density")
    axes.set_title(f"sd {found.zeta_star**-0.5:.2f} about the means, {found.zeta**-0.5:.2f} about ±1", fontsize=12)
    axes.legend(fontsize=9.5, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, columnspacing=1.0)


def _signed(value: float, digits: int) -> str:
    return f"{value:+.{digits}f}".replace("-", "−")


def _normal(z: Array, mean: float, precision: float) -> Array:
    return np.asarray(np.sqrt(precision / (2.0 * np.pi)) * np.exp(-0.5 * precision * (z - mean) ** 2))


# --- the ellipsoid ----------------------------------------------------------------------------------------------------


def line_posterior(n: int, seed: int = 2) -> tuple[Array, Array, PrimalPosterior]:
    """Points about a line, and the posterior of its [w; b] with μ and ζ of the largest evidence."""
    rng = np.random.default_rng(seed)
    x = rng.normal(1.0, 1.0, n)[:, None]
    y = SLOPE * x[:, 0] + OFFSET + NOISE * rng.normal(size=n)
    model = BayesianLSSVR(Linear(), prior="flat", standardise=False).fit(x, y)
    return x, y, PrimalPosterior.fit(x, y, mu=model.mu_, zeta=model.zeta_)


def ellipse(posterior: PrimalPosterior, radius: float, n: int = 200) -> Array:
    """Points [w; b] of shape (n, 2) on the edge of (θ − θ_MP)ᵀ H (θ − θ_MP) ≤ radius²."""
    angle = np.linspace(0.0, 2.0 * np.pi, n)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    middle = np.append(posterior.w, posterior.b)
    return np.asarray((radius * np.linalg.cholesky(posterior.covariance) @ circle).T + middle)


def volume(posterior: PrimalPosterior) -> float:
    """π/√det H, that of the ellipse of radius one."""
    return float(np.pi * np.exp(-0.5 * posterior.log_det_hessian))


def figure_ellipsoid() -> Figure:
    """The ellipsoid of paper 4's level 2 for a line: its axes and volume, and the lines that it holds."""
    with new_figure(11, 4.8, settings=WIDE) as figure:
        left, right = figure.subplots(1, 2)
        for n, colour in ROWS.items():
            _, _, posterior = line_posterior(n)
            for radius, style in ((1.0, "-"), (2.0, ":")):
                label = f"N = {n}: volume {volume(posterior):.4f}" if radius == 1.0 else None
                left.plot(*ellipse(posterior, radius).T, style, color=colour, lw=1.8, label=label)
            left.plot(*posterior.w, posterior.b, "+", color=colour, ms=9)
        left.plot(SLOPE, OFFSET, "*", color=BLACK, ms=10, label="the line that the data are from")
        left.set(xlabel="w", ylabel="b")
        left.legend(fontsize=9.5, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2, columnspacing=1.0)
        _lines(right, min(ROWS))
        return figure


def _lines(axes: Axes, n: int) -> None:
    """The points, and the lines of draws inside and outside the ellipse of radius one."""
    x, y, posterior = line_posterior(n)
    draws = posterior.sample(80, np.random.default_rng(5))
    off = draws - np.append(posterior.w, posterior.b)
    inside = np.einsum("ij,ij->i", off, np.linalg.solve(posterior.covariance, off.T).T) <= 1.0
    grid = np.array([-1.5, 3.5])
    for (w, b), near in sorted(zip(draws, inside, strict=True), key=lambda one: bool(one[1])):
        axes.plot(grid, w * grid + b, color=ROWS[n] if near else GREY, lw=0.7, alpha=0.8 if near else 0.35)
    axes.plot(x[:, 0], y, "o", color=BLACK, ms=4)
    axes.set(xlabel="x", ylabel="y")
    axes.set_title(f"N = {n}: {inside.sum()} of {len(draws)} draws inside radius 1 (coloured)", fontsize=12)
