"""README's figure: class probabilities on Ripley's data, and a regression with error bars."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayes_lssvm import BayesianLSSVC, BayesianLSSVR, datasets
from bayes_lssvm.base.typing import Array
from reports.draw.style import BLACK, BLUE, GREY, VERMILION, WIDE, new_figure
from validation.studies.section_7_1 import RipleyStudy, probability_map

from .figures import name_inputs, probability_fill, training_points

NOISE = 0.1
GAP = (1.5, 5.5)


class SincFit(NamedTuple):
    """`BayesianLSSVR` on noisy values of sin(x)/x with a gap in the data."""

    x: Array
    y: Array
    grid: Array
    mean: Array
    std: Array  # of a new target
    latent_std: Array  # of the function
    noise: float  # 1/√ζ


def sinc_fit(n: int = 80, seed: int = 1) -> SincFit:
    """Fit n points of sin(x)/x between −10 and 10, none of them in the gap, with Gaussian noise of width 0.1."""
    rng = np.random.default_rng(seed)
    low, high = -10.0, 10.0
    x = np.sort(rng.uniform(low, high - (GAP[1] - GAP[0]), n))
    x = np.where(x > GAP[0], x + GAP[1] - GAP[0], x)
    y = np.sinc(x / np.pi) + NOISE * rng.normal(size=n)
    model = BayesianLSSVR().fit(x[:, None], y)
    grid = np.linspace(low - 3.0, high + 3.0, 521)
    mean, std = model.predict(grid[:, None], return_std=True)
    _, latent_std = model.latent(grid[:, None], return_std=True)
    return SincFit(x, y, grid, mean, std, latent_std, float(model.zeta_**-0.5))


def hero(result: RipleyStudy, sinc: SincFit) -> Figure:
    """What one line of code gives: probabilities that know where they do not know, and error bars."""
    with new_figure(13.0, 4.95, settings=WIDE) as figure:
        left, right = figure.subplots(1, 2, width_ratios=(1.32, 1))
        _classifier_panel(figure, left, result)
        _regressor_panel(right, sinc)
        return figure


def _title(axes: Axes, code: str, message: str) -> None:
    axes.set_title(message, loc="left", fontsize=12, pad=8)
    axes.text(0, 1.11, code, transform=axes.transAxes, family="monospace", weight="bold", fontsize=15, va="bottom")


def _classifier_panel(figure: Figure, axes: Axes, result: RipleyStudy) -> None:
    data = datasets.load("ripley")
    model = BayesianLSSVC().fit(*data.Xy)
    s = probability_map(model, result.surface.x1, result.surface.x2)
    filled = probability_fill(axes, s)
    training_points(axes, result, size=30)
    axes.contour(s.x1, s.x2, s.probability, levels=[0.5], colors=BLACK, linewidths=2.4)
    for level, position in ((0.4, (0.1, 1.15)), (0.7, (-0.1, -0.35))):
        line = axes.contour(s.x1, s.x2, s.latent_std, levels=[level], colors=GREY, linewidths=1.3, linestyles="dotted")
        axes.clabel(line, fmt="error bar %.1f", fontsize=10.5, manual=[position])
    name_inputs(axes)
    axes.set_aspect("equal")
    axes.legend(loc="lower right", fontsize=11, handletextpad=0.2)
    accuracy = 100 * model.score(*data.test_Xy)  # of the model that is drawn, which is the default and not the papers'
    _title(
        axes,
        "BayesianLSSVC().fit(X, y)",
        f"Class probabilities, nothing tuned by hand: {accuracy:.1f} % of {result.n_test} test points right",
    )
    figure.colorbar(filled, ax=axes, ticks=np.linspace(0, 1, 5), shrink=0.85, label="P(y = +1 | x)")


def _regressor_panel(axes: Axes, sinc: SincFit) -> None:
    axes.axvspan(*GAP, color="#eeeeee", zorder=0)
    axes.text(sum(GAP) / 2, -0.83, "no data", ha="center", va="bottom", color=GREY)
    axes.plot(sinc.x, sinc.y, "o", color=VERMILION, markersize=4.5, label="data", zorder=5)
    axes.plot(sinc.grid, sinc.mean, color=BLUE, linewidth=2.2, label="prediction")
    for std, shade, label in (
        (sinc.latent_std, 0.38, "±2σ, function"),
        (sinc.std, 0.18, "±2σ, new value"),
    ):
        axes.fill_between(
            sinc.grid, sinc.mean - 2 * std, sinc.mean + 2 * std, color=BLUE, alpha=shade, linewidth=0, label=label
        )
    axes.plot(sinc.grid, np.sinc(sinc.grid / np.pi), "--", color=BLACK, linewidth=1.4, label="truth, sin(x)/x")
    axes.set(xlabel="x", ylabel="y", xlim=(-12, 12), ylim=(-0.85, 1.45))
    _title(
        axes,
        "BayesianLSSVR().fit(X, y)",
        f"Error bars, and the noise: {sinc.noise:.3f} inferred, {NOISE:.3f} true",
    )
    axes.legend(loc="upper left", fontsize=11)
