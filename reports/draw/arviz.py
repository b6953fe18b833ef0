"""Figures by ArviZ: the one module that imports arviz_plots.

ArviZ draws through pyplot. The figures are taken out of pyplot's hands before they are returned, so that nothing stays
behind there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib
import numpy as np
from matplotlib import pyplot
from matplotlib.figure import Figure

from bayes_lssvm.base.arviz import datatree, rhat_and_ess
from bayes_lssvm.base.typing import Array

from .style import BLACK, BLUE, GREEN, GREY, PAGE, VERMILION

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
    import arviz_plots

    tree = datatree({"posterior": thinned(draws)})
    chains = len(next(iter(draws.values())))
    cycle: dict[str, Any] = {"color": _repeated(_COLOURS, chains), "linestyle": _repeated(_LINES, chains)}
    with matplotlib.rc_context(PAGE):
        collection: Any = arviz_plots.plot_rank(
            tree,
            ci_prob=RANK_BAND,
            backend="matplotlib",
            col_wrap=len(draws),
            # The band of a single chain: ranks over all chains spread less, so that it holds all four of them in 99.6 %
            # of simulated runs, at a tenth of the cost of the band for several chains.
            stats={"ecdf_pit": {"n_chains": 1, "rng": np.random.default_rng(0)}},
            aes={"color": ["chain"], "linestyle": ["chain"], "overlay": ["chain"]},
            figure_kwargs={"figsize": (width, height), "layout": "constrained", "sharey": True},
            visuals={
                "remove_axis": False,
                "title": {"size": 11},
                "xlabel": {"text": "rank of a draw, as a share of all", "color": BLACK, "size": 10},
                "credible_interval": {"color": GREY, "alpha": 0.18},
            },
            **cycle,
        )
        figure: Figure = collection.viz["figure"].item()
        pyplot.close(figure)
    figure.axes[0].set_ylabel("share of ranks below\nminus what is expected", fontsize=10)
    for axes in figure.axes:
        axes.tick_params(labelsize=9)
    return figure


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
