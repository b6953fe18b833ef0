"""What all figures share: the palette, the sizes of letters, and how a figure becomes a PNG or an SVG file.

Figures are drawn without pyplot: no global state, no display, the Agg renderer only. Colours are Okabe and Ito's,
which colour-blind readers can tell apart; the map of probabilities runs from blue (y = −1) over white (undecided) to
red (y = +1).
"""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.contour import ContourSet
from matplotlib.figure import Figure
from PIL import Image

BLUE, VERMILION, GREEN, PURPLE, BLACK = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000"
SKY, ORANGE = "#56B4E9", "#E69F00"
DARK_BLUE, DARK_RED = "#053061", "#7a0418"
GREY = "#555555"
PALE = "#e4e4e4"
"""Of bands behind marks and lines."""
DIVERGING = "RdBu_r"

PAGE_WIDTH = 7.2
"""Inches of a page of a report: letters of 9 points are as large as the text around the figure."""

_STRETCH, _MOST_STRETCHES = 1.5, 5  # of a figure whose labels leave no room
_MOST_POINTS, _MOST_FILLED, _MOST_MARKS = 4000, 1000, 400  # of an artist that an SVG file keeps as lines
_BOTTOM = -10  # below all that is drawn in a panel
_BITMAPS = re.compile(rb'(?<=data:image/png;base64,)[^"]+(?=")')
_PLACES, _DECIMALS = re.compile(rb'(?<= (?:d|x|y)=")[^"]*(?=")'), re.compile(rb"-?\d+\.\d+(?:e-?\d+)?")
_FRAME: dict[str, Any] = {"axes.spines.top": False, "axes.spines.right": False, "legend.frameon": False}
PAGE: dict[str, Any] = {**_FRAME, "font.size": 9.5, "axes.titlesize": 10, "axes.labelsize": 9.5}
"""Settings of figures about as wide as a page."""
MAP: dict[str, Any] = {**PAGE, "axes.spines.top": True, "axes.spines.right": True}
"""The same for figures whose panels are maps: these have a frame."""
WIDE: dict[str, Any] = {**_FRAME, "font.size": 12, "axes.titlesize": 13, "axes.labelsize": 13}
"""Settings of figures of 9 to 13 inches, which README, docs and section 7.1 show reduced."""


@contextmanager
def new_figure(width: float, height: float, *, settings: dict[str, Any] = PAGE) -> Iterator[Figure]:
    """A figure of that many inches, with room made for its labels; what is drawn inside has the settings."""
    with matplotlib.rc_context(settings):
        yield Figure(figsize=(width, height), layout="constrained")


def legend_above(axes: Axes, ncols: int = 2) -> None:
    """A legend at the upper right, above the panel, where it covers no data."""
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=ncols, fontsize=8.5, borderaxespad=0.2)


def as_png(figure: Figure, *, dpi: int = 120) -> bytes:
    """The figure as a PNG file of 256 colours, the same bytes for the same picture and library versions."""
    for _ in range(_MOST_STRETCHES):
        drawn, cramped = _saved(figure, dpi)
        if not cramped:
            break
        # labels leave no room for the axes: many rows, or long names
        figure.set_size_inches(figure.get_figwidth(), _STRETCH * figure.get_figheight())
    with Image.open(drawn) as image:
        return packed(image)


def as_svg(figure: Figure) -> bytes:
    """The figure as an SVG file, the same bytes for the same picture; text stays text, very many points a bitmap."""
    for axes in figure.axes:
        for part in axes.collections:
            points = sum(len(path) for path in part.get_paths())
            if isinstance(part, ContourSet):
                if part.filled and points > _MOST_FILLED:
                    # contours have no bitmap of their own, but what lies at the bottom of a panel can be one
                    part.set_zorder(_BOTTOM)
                    axes.set_rasterization_zorder(_BOTTOM + 1)
            elif points > _MOST_POINTS or _count(part) > _MOST_MARKS:
                part.set_rasterized(True)
        for line in axes.lines:
            if len(np.atleast_1d(line.get_xdata())) > _MOST_MARKS and line.get_marker() not in ("None", "", None):
                line.set_rasterized(True)
    file = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "bayes-lssvm", "svg.fonttype": "none"}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the PNG has given them
        figure.savefig(file, format="svg", dpi=100, metadata={"Date": None, "Creator": None})
    return _BITMAPS.sub(_fewer_colours, _PLACES.sub(_rounded, file.getvalue()))


def _rounded(attribute: re.Match[bytes]) -> bytes:
    """Coordinates to a hundredth of a point, which is finer than any screen or printer shows."""
    return _DECIMALS.sub(lambda number: b"%g" % round(float(number[0]), 2), attribute[0])


def _fewer_colours(bitmap: re.Match[bytes]) -> bytes:
    """A bitmap within an SVG file, with 256 colours, transparent ones among them."""
    with Image.open(io.BytesIO(base64.b64decode(bitmap[0]))) as image:
        file, layers = io.BytesIO(), image.convert("RGBA")
        if layers.getchannel("A").getextrema() == (255, 255):
            return base64.b64encode(packed(image))
        layers.quantize(256, method=Image.Quantize.FASTOCTREE).save(file, "png", optimize=True)
    return min(base64.b64encode(file.getvalue()), bitmap[0], key=len)


def _count(part: Any) -> int:
    return len(np.atleast_1d(part.get_offsets())) if hasattr(part, "get_offsets") else 0


def _saved(figure: Figure, dpi: int) -> tuple[io.BytesIO, bool]:
    """The figure as a file, and whether its labels had no room; other warnings are shown as they would have been."""
    drawn = io.BytesIO()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        figure.savefig(drawn, format="png", dpi=dpi)
    cramped = [w for w in said if "constrained_layout not applied" in str(w.message)]
    for other in said:
        if other not in cramped:
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
    return drawn, bool(cramped)


def packed(image: Image.Image) -> bytes:
    """An image as a PNG file of 256 colours."""
    file = io.BytesIO()
    # a palette is a third of the size; without dithering, flat areas stay flat
    image.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(file, "png", optimize=True)
    return file.getvalue()


def address(png: bytes) -> str:
    """A PNG file as an address that needs no network."""
    return "data:image/png;base64," + base64.b64encode(png).decode("ascii")
