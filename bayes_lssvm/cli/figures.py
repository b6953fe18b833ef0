"""Figures as files and as SVG within a page, by the displays; matplotlib is imported when one is drawn."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..base.text import InputError
from ..displays.canvas import NEEDS

FORMATS = (".png", ".svg", ".pdf")
_INK = "#010203"  # of letters and frames, which take the colour of the text around them in a page
_SIZE, _SQUARE = (4.6, 3.6), (4.6, 4.0)
_LOOK = {
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",
    "text.parse_math": False,  # a column may have a dollar sign in its name
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), _INK),
}
_OUTER = re.compile(r'(<svg [^>]*?) width="[^"]*" height="[^"]*"|(<svg [^>]*?) height="[^"]*" width="[^"]*"')

_TAG, _NAME = re.compile(r"<[^>]*>"), re.compile(r'(\bid="|xlink:href="#|url\(#)')


def require_matplotlib(option: str) -> None:
    """Say before the work that nothing could be drawn at its end."""
    if find_spec("matplotlib") is None:
        raise InputError(f"{option}: {NEEDS}")


def check_format(path: str) -> None:
    """Refuse a file whose ending names no format."""
    if Path(path).suffix.lower() not in FORMATS:
        raise InputError(f"the ending of {path!r} must say the format: {', '.join(FORMATS)}.")


def as_svg(draw: Callable[[Any], object], name: str, alt: str, *, square: bool = False) -> str:
    """What `draw` draws on axes, as an SVG element whose ink has the colour of the text; the same for the same data."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_LOOK | {"svg.hashsalt": name}):  # names within must differ from those of other figures
        figure = Figure(figsize=_SQUARE if square else _SIZE, layout="constrained")
        figure.patch.set_alpha(0.0)
        axes = figure.subplots()
        axes.patch.set_alpha(0.0)
        draw(axes)
        for legend in (ax.get_legend() for ax in figure.axes):
            if legend is not None:
                legend.get_frame().set_alpha(0.0)
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    text = text[text.index("<svg ") :].replace(_INK, "currentColor")
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = _OUTER.sub(lambda m: m[1] or m[2], text, count=1)
    text = _TAG.sub(lambda m: _NAME.sub(rf"\g<1>{name}-", m[0]), text)
    return text.replace("<svg ", f'<svg role="img" aria-label="{alt}" ', 1)


def write_figure(draw: Callable[[Any], object], stream: Any, suffix: str) -> None:
    """What `draw` draws on axes, into a file of the format that the suffix names."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(_LOOK | dict.fromkeys((k for k in _LOOK if k.endswith("color")), "black")):
        figure = Figure(figsize=(6.4, 4.8), layout="constrained")
        draw(figure.subplots())
        figure.savefig(stream, format=suffix.removeprefix("."), dpi=150)
