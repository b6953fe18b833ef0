"""The figures of docs/guide/multiclass.md: code books, and a plane of three classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.multiclass import MulticlassLSSVC, code_book, hamming_distances, votes

from .style import BLACK, BLUE, GREEN, GREY, VERMILION, WIDE, new_figure

SIGNS = {-1: ("−", "#9ecae1"), 0: ("×", "#eeeeee"), 1: ("+", "#fdae6b")}
TITLES = {"ovo": "one versus one", "ova": "one versus all", "moc": "minimal", "ecoc": "error-correcting"}
CLASS_COLOURS = (BLUE, VERMILION, GREEN)
MARKS = ("o", "s", "^")
NAMES = ("A", "B", "C")
CENTRES = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.4]])
SPREAD = 0.5
SURE = 0.8


# --- code books


def figure_code_books(n_classes: int = 4, n_many: int = 10) -> Figure:
    """The four codings of a few classes, and the error-correcting one of many."""
    few = {coding: code_book(coding, n_classes) for coding in TITLES}
    many = code_book("ecoc", n_many)
    with new_figure(12.0, 6.0, settings=WIDE) as figure:
        top, bottom = figure.subfigures(2, 1, height_ratios=(n_classes + 2.2, n_many + 2.2))
        panels = top.subplots(1, len(few))
        for axes, (coding, code) in zip(panels, few.items(), strict=True):
            draw_code_book(axes, code, TITLES[coding])
            axes.set_anchor("NW")
        panels[0].set_ylabel("class")
        wide = bottom.subplots()
        draw_code_book(wide, many, f"{TITLES['ecoc']}, {n_many} classes")
        wide.set_ylabel("class")
        wide.set_xlabel("bit")
        meanings = ("− class on the minus side", "× class takes no part", "+ class on the plus side")
        patches = [
            Patch(facecolor=colour, edgecolor=GREY, label=meaning)
            for (_, colour), meaning in zip(SIGNS.values(), meanings, strict=True)
        ]
        figure.legend(handles=patches, loc="outside lower center", ncols=3)
        return figure


def draw_code_book(axes: Axes, code: Array, title: str) -> None:
    """A code book as coloured cells with its signs: a row for each class, a column for each bit."""
    classes, bits = code.shape
    axes.imshow(code, cmap=ListedColormap([colour for _, colour in SIGNS.values()]), vmin=-1, vmax=1, aspect="equal")
    for (row, column), value in np.ndenumerate(code):
        axes.text(column, row, SIGNS[int(value)][0], ha="center", va="center_baseline", fontsize=11)
    axes.set_xticks(np.arange(bits), [str(bit + 1) for bit in range(bits)], fontsize=10 if bits < 20 else 9)
    axes.set_yticks(np.arange(classes), [str(label + 1) for label in range(classes)], fontsize=10)
    axes.set_xticks(np.arange(bits + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(classes + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1.5)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    closest = hamming_distances(code)[np.triu_indices(classes, 1)].min()
    axes.set_title(f"{title}\n{bits} bits, closest {closest:g} apart", loc="left", fontsize=12)


# --- the plane of three classes


class Plane(NamedTuple):
    """Three classes in the plane: training points, and the classes' shares on a grid."""

    X: Array
    labels: AnyArray  # 0, 1, 2
    x1: Array  # [n1]
    x2: Array  # [n2]
    bayes: Array  # probabilities by Bayesian decoding, [n2, n1, 3]
    votes: Array  # shares of Hamming's votes, [n2, n1, 3]


def three_classes(n: int = 40, seed: int = 0) -> tuple[Array, AnyArray]:
    """N points of each of three Gaussian classes of width 0.5, drawn as in docs/guide/multiclass.md."""
    labels = np.repeat([0, 1, 2], n)
    return CENTRES[labels] + SPREAD * np.random.default_rng(seed).normal(size=(3 * n, 2)), labels


def three_class_plane(n: int = 40, seed: int = 0, *, pixels: int = 400) -> Plane:
    """Fit the three classes one versus all, one kernel for all members, and look at the plane."""
    X, labels = three_classes(n, seed)
    model = MulticlassLSSVC(coding="ova", shared_kernel=True).fit(X, np.array(NAMES)[labels])
    x1, x2 = np.linspace(-4.0, 4.0, pixels), np.linspace(-2.8, 4.0, round(0.85 * pixels))
    grid = np.stack(np.meshgrid(x1, x2), axis=-1).reshape(-1, 2)
    shape = (len(x2), len(x1), 3)
    shares = votes(model.code_book_, model.outputs(grid))
    return Plane(X, labels, x1, x2, model.predict_proba(grid).reshape(shape), shares.reshape(shape))


def blend(shares: Array) -> Array:
    """Colours of shares of shape (…, 3): a class's own where it is certain, white where the three are even."""
    away = 1.0 - np.array([to_rgb(colour) for colour in CLASS_COLOURS])  # from white
    return np.asarray(1.0 - 0.65 * np.maximum(1.5 * shares - 0.5, 0.0) @ away)


def figure_three_classes(plane: Plane) -> Figure:
    """Class probabilities by Bayesian decoding beside what the members' votes alone can say."""
    with new_figure(12.0, 6.1, settings=WIDE) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        for axes, shares, title in (
            (left, plane.bayes, "Bayesian decoding: probabilities"),
            (right, plane.votes, "Hamming's votes: shares"),
        ):
            extent = (plane.x1[0], plane.x1[-1], plane.x2[0], plane.x2[-1])
            axes.imshow(blend(shares), origin="lower", extent=extent, interpolation="nearest", aspect="equal")
            axes.set_title(title, loc="left")
            axes.set_xlabel("$x_1$")
            for k, (colour, mark) in enumerate(zip(CLASS_COLOURS, MARKS, strict=True)):
                mine = plane.X[plane.labels == k]
                axes.scatter(*mine.T, marker=mark, s=22, color=colour, edgecolors=BLACK, linewidths=0.6)
        left.set_ylabel("$x_2$")
        for k in range(3):
            rest = np.delete(plane.bayes, k, axis=2).max(axis=2)
            lead = np.where(plane.bayes.max(axis=2) > 0.4, plane.bayes[:, :, k] - rest, np.nan)
            left.contour(plane.x1, plane.x2, lead, levels=[0.0], colors=BLACK, linewidths=1.8)
        largest = plane.bayes.max(axis=2)
        left.contour(plane.x1, plane.x2, largest, levels=[SURE], colors=BLACK, linewidths=1.1, linestyles="dotted")
        figure.legend(handles=_legend(), loc="outside lower center", ncols=5)
        return figure


def _legend() -> list[Any]:
    marks = [
        Line2D([], [], linestyle="", marker=mark, color=colour, markeredgecolor=BLACK, label=f"class {name}")
        for name, colour, mark in zip(NAMES, CLASS_COLOURS, MARKS, strict=True)
    ]
    return [
        *marks,
        Line2D([], [], color=BLACK, linewidth=1.8, label="decision boundary"),
        Line2D([], [], color=BLACK, linewidth=1.1, linestyle="dotted", label=f"largest probability {SURE:g}"),
    ]
