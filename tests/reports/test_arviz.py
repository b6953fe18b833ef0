"""Rank plots by ArviZ: what they show of chains that agree and of chains that do not."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.collections import FillBetweenPolyCollection

from reports.draw.arviz import rank_figure, thinned
from reports.draw.style import as_png


@pytest.fixture(scope="module")
def chains():
    rng = np.random.default_rng(0)
    moved = rng.normal(size=(4, 400))
    moved[2] += 0.7
    return {"log μ": rng.normal(size=(4, 400)), "log ζ": moved}


@pytest.fixture(scope="module")
def figure(chains):
    return rank_figure(chains)


def outside(axes):
    """Which of the lines leave the band."""
    (band,) = [c for c in axes.collections if isinstance(c, FillBetweenPolyCollection)]
    x, y = band.get_paths()[0].vertices.T
    left = []
    for line in axes.lines:
        grid, values = line.get_data()
        inside = [y[np.abs(x - g) < 0.01] for g in grid[10:-10:10]]
        left.append(
            any(v > b.max() or v < b.min() for v, b in zip(values[10:-10:10], inside, strict=True) if len(b) > 1)
        )
    return left


def test_one_panel_for_each_quantity_and_one_line_for_each_chain(figure):
    assert [axes.get_title() for axes in figure.axes] == ["log μ", "log ζ"]
    for axes in figure.axes:
        assert len(axes.lines) == 4
        # told apart in grey, too
        assert len({line.get_linestyle() for line in axes.lines}) == 4
        assert len({line.get_color() for line in axes.lines}) == 4


def test_only_the_chain_that_is_elsewhere_leaves_the_band(figure):
    agree, differ = figure.axes
    assert outside(agree) == [False] * 4
    assert outside(differ)[2]


def test_pyplot_keeps_nothing_and_the_picture_is_the_same_again(chains, figure):
    assert as_png(rank_figure(chains)) == as_png(figure)
    assert pyplot.get_fignums() == []


def test_chains_are_thinned_to_what_they_are_worth():
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(2, 2000))
    sticky = np.empty_like(noise)
    sticky[:, 0] = noise[:, 0]
    for i in range(1, noise.shape[1]):  # an effective size of one draw in nineteen
        sticky[:, i] = 0.9 * sticky[:, i - 1] + noise[:, i]
    assert thinned({"x": noise})["x"].shape == (2, 200)
    assert 50 <= thinned({"x": noise, "y": sticky})["y"].shape[1] <= 160
    # chains apart from each other are thinned by their own steps, not by their distance
    assert thinned({"x": noise + np.array([[0.0], [9.0]])})["x"].shape == (2, 200)
    assert thinned({"x": noise[:, :30]})["x"].shape == (2, 30)
