"""Figures by ArviZ: the one module that imports arviz_plots.

ArviZ draws through pyplot. The figures are taken out of pyplot's hands before they are returned, so that nothing stays
behind there.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from inspect import signature
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayes_lssvm.base.arviz import datatree
from bayes_lssvm.base.typing import Array
from bayes_lssvm.sampling.chains import rhat_and_ess

from .style import BLACK, BLUE, GREEN, GREY, PAGE, PAGE_WIDTH, VERMILION

if TYPE_CHECKING:
    from xarray import DataTree

RANK_BAND = 0.99
_COLOURS = (BLUE, VERMILION, GREEN, BLACK)
_LINES = ("-", "--", "-.", ":")
_FEWEST, _MOST = 50, 200  # draws of a chain that are shown


def rank_figure(draws: Mapping[str, Array], *, width: float = 7.2, height: float = 2.9) -> Figure:
    """Rank plots (Δ-ECDF) of chains, one panel for each quantity.

    Draws are ranked over all chains; for every chain the share of ranks below a value is drawn, minus what chains that
    agree would have. With 99 % probability all chains that agree stay within the band. It is for independent draws, so
    chains are thinned to about their effective number first, and to 200 draws each at most.

    Parameters
    ----------
    draws : dict of arrays of shape (chains, draws)
        By the label that the panel shall have.
    """
    tree = datatree({"posterior": thinned(draws)})
    chains = len(next(iter(draws.values())))
    cycle: dict[str, Any] = {"color": _repeated(_COLOURS, chains), "linestyle": _repeated(_LINES, chains)}
    figure, _ = _drawn(
        "plot_rank",
        tree,
        size=(width, height),
        shared={"sharey": True},
        col_wrap=len(draws),
        # The band of a single chain: ranks over all chains spread less, so that it holds all four of them in 99.6 %
        # of simulated runs, at a tenth of the cost of the band for several chains.
        stats={"ecdf_pit": {"n_chains": 1, "rng": np.random.default_rng(0)}},
        aes={"color": ["chain"], "linestyle": ["chain"], "overlay": ["chain"]},
        visuals={
            "remove_axis": False,
            "title": {"size": 11},
            "xlabel": {
                "text": "rank of a draw, as a share of all" if len(draws) < 3 else "rank, as a share",
                "color": BLACK,
                "size": 10,
            },
            "credible_interval": {"color": GREY, "alpha": 0.18},
        },
        **cycle,
        **_band(),
    )
    figure.axes[0].set_ylabel("share of ranks below\nminus what is expected", fontsize=10)
    return figure


def _band() -> dict[str, Any]:
    """How ArviZ is asked for the band: a probability up to version 0.8, a method with it from version 1 on."""
    import arviz_plots

    if "envelope_prob" not in signature(arviz_plots.plot_rank).parameters:
        return {"ci_prob": RANK_BAND}
    return {"envelope_prob": RANK_BAND, "method": "envelope", "thin": False}


class Bar(NamedTuple):
    """A mean with a standard deviation that a method has without draws."""

    mean: float
    sd: float


def forest_figure(draws: Mapping[str, Array], beside: Mapping[str, tuple[str, Mapping[str, Bar]]]) -> Figure:
    """Intervals of draws, one row for each label, and below each the bars of other methods.

    Parameters
    ----------
    draws : dict of arrays of shape (chains, draws)
        By the label of the row. Thick and thin lines hold as much as one and two standard deviations of a Gaussian.
    beside : dict
        Method to its colour and its bars by label; a bar is one standard deviation to either side, and two thinly.
    """
    tree = datatree({"posterior": dict(draws)})
    size = (PAGE_WIDTH, 0.8 + 0.55 * len(draws))
    look: Any = {part: {"color": GREEN} for part in ("trunk", "twig", "point_estimate")}
    intervals: Any = {"ci_kind": "eti", "ci_probs": (0.683, 0.954), "point_estimate": "mean"}
    figure, found = _drawn("plot_forest", tree, size=size, combined=True, visuals=look, **intervals)
    labels, axes = figure.axes
    labels.set_xticks([])
    for k, (colour, bars) in enumerate(beside.values(), start=1):
        for label, bar in bars.items():
            height = float(found.aes["y"][label]) - 0.22 * k
            for times, thickness in ((2.0, 1.0), (1.0, 2.4)):
                axes.plot(
                    bar.mean + np.array([-times, times]) * bar.sd, [height] * 2, color=colour, linewidth=thickness
                )
    axes.set_ylim(-0.35 - 0.22 * len(beside), len(draws) - 0.5)
    shown = {"draws": GREEN, **{name: colour for name, (colour, _) in beside.items()}}
    handles = [axes.plot([], [], color=colour, linewidth=2.4, label=name)[0] for name, colour in shown.items()]
    figure.legend(handles=handles, loc="outside upper center", ncols=max(len(handles), 1))
    return figure


def pair_figure(draws: Mapping[str, Array], decorate: Callable[[Axes, str, str], None]) -> Figure:
    """Scatter plots of every pair with the margins; `decorate` draws on top of each, given the labels of its axes."""
    tree = datatree({"posterior": thinned(draws)})
    side = 1.2 + 1.9 * len(draws)
    visuals = {"scatter": {"color": GREY, "alpha": 0.35, "size": 6}, "dist": {"color": GREY}}
    figure, found = _drawn("plot_pair", tree, size=(side, side), visuals=visuals)
    names = list(draws)
    for i, j in combinations(range(len(names)), 2):
        decorate(found.viz["plot"].isel(row_index=j, col_index=i).item(), names[i], names[j])
    return figure


def ess_figure(draws: Mapping[str, Array]) -> Figure:
    """Effective sizes of chains at quantiles, one panel for each quantity; the dashed line is what they should have."""
    figure, _ = _drawn("plot_ess", datatree({"posterior": dict(draws)}), size=(PAGE_WIDTH, 2.6), col_wrap=len(draws))
    return figure


def energy_figure(energy: Array) -> Figure:
    """Energies of chains of shape (chains, draws), beside the steps between them, and E-FMI of each chain."""
    tree = datatree({"posterior": {"x": energy}, "sample_stats": {"energy": energy}})
    return _drawn("plot_energy", tree, size=(PAGE_WIDTH, 2.6))[0]


def loo_pit_figure(trees: Mapping[str, DataTree]) -> Figure:
    """Leave-one-out PIT of each model (Δ-ECDF): within the band where its left-out predictions are calibrated."""
    with matplotlib.rc_context(PAGE):
        figure, panels = pyplot.subplots(1, len(trees), figsize=(PAGE_WIDTH, 2.4), layout="constrained", sharey=True)
        pyplot.close(figure)
    for axes, (label, tree) in zip(np.atleast_1d(panels), trees.items(), strict=True):
        own, _ = _drawn("plot_loo_pit", tree, size=(3.0, 2.4))
        _copied(own.axes[0], axes)
        axes.set_title(label, fontsize=9)
        axes.set_xlabel("LOO-PIT")
    np.atleast_1d(panels)[0].set_ylabel("Δ ECDF")
    return figure


def compare_figure(table: Any) -> Figure:
    """ArviZ's comparison of models: elpd by PSIS-LOO with its standard error, the best one first."""
    figure, _ = _drawn("plot_compare", table, size=(PAGE_WIDTH, 0.9 + 0.4 * len(table)))
    figure.axes[0].set_title("")
    figure.axes[0].set_xlabel("elpd by PSIS-LOO, nats")
    return figure


def _copied(source: Axes, target: Axes) -> None:
    """Lines and bands of one panel on another."""
    for band in source.collections:
        for path in band.get_paths():
            target.fill(*np.asarray(path.vertices).T, color=GREY, alpha=0.18, linewidth=0)
    for line in source.lines:
        target.plot(*line.get_data(), color=BLUE, linewidth=1.2, drawstyle=line.get_drawstyle())


def _drawn(
    name: str, data: Any, *, size: tuple[float, float], shared: Mapping[str, Any] | None = None, **options: Any
) -> tuple[Figure, Any]:
    """A figure by ArviZ, out of pyplot's hands, and the collection that made it."""
    import arviz_plots

    with matplotlib.rc_context(PAGE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of k̂, which pages say themselves
        settings = {"figsize": size, "layout": "constrained", **(shared or {})}
        collection: Any = getattr(arviz_plots, name)(data, backend="matplotlib", figure_kwargs=settings, **options)
        figure: Figure = collection.viz["figure"].item()
        pyplot.close(figure)
    for axes in figure.axes:
        axes.tick_params(labelsize=9)
    return figure, collection


def thinned(draws: Mapping[str, Array]) -> dict[str, Array]:
    """Every k-th draw of all chains, so that a chain has about as many as it is worth by itself, from 50 to 200."""
    chains, length = next(iter(draws.values())).shape[:2]
    alone = [rhat_and_ess({name: x[c : c + 1] for name, x in draws.items()}).ess_bulk for c in range(chains)]
    effective = min(float(size) for sizes in alone for size in sizes.values())
    wanted = np.clip(effective if np.isfinite(effective) else _MOST, _FEWEST, _MOST)
    step = max(int(np.ceil(length / wanted)), 1)
    return {name: np.asarray(values)[:, ::step] for name, values in draws.items()}


def _repeated(values: tuple[str, ...], count: int) -> list[str]:
    return [values[i % len(values)] for i in range(count)]
