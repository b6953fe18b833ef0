"""The examples of the documentation run as they are, without a warning, and end at a figure."""

from __future__ import annotations

import runpy
import warnings

import matplotlib
import pytest
from matplotlib import pyplot as plt

from tests.contracts.imports import ROOT

EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))


@pytest.fixture(autouse=True)
def no_screen():
    before = matplotlib.get_backend()
    plt.switch_backend("agg")
    yield
    plt.close("all")
    plt.switch_backend(before)


def test_there_are_at_least_ten():
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_draws(path):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive", UserWarning)
        runpy.run_path(str(path), run_name="__main__")
    figures = [plt.figure(number) for number in plt.get_fignums()]
    assert figures
    assert all(axes.has_data() for figure in figures for axes in figure.axes)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_has_a_title_and_says_what_it_shows(path):
    title, rule, empty, *text = path.read_text(encoding="utf-8").removeprefix('"""').strip().splitlines()
    assert rule == "=" * len(title)
    assert not empty
    assert len(text[0].split()) > 3
