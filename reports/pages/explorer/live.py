"""The explorer as a piece of HTML with its style, its numbers and its script: nothing is loaded from elsewhere.

Texts that come from data (names of classes and inputs) are escaped by the template engine; numbers go into the page as
JSON, in which "<" is written so that it cannot end the element around it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from reports.frame.html import environment
from reports.frame.page import Live
from reports.frame.words import number
from validation.harness import StudyResult

from .payload import payload, stops

FOLDER = Path(__file__).parent


class RungWords(NamedTuple):
    """How a rung is called and drawn."""

    name: str
    label: str
    short: str
    colour: str
    dashed: bool = False


RUNG_WORDS = (
    RungWords("best_fit", "No Occam factor (μ, ζ fixed)", "", "--x-soft", dashed=True),
    RungWords("mackay", "MacKay's error bars (5.2)", "MacKay's error bars (5.2)", "--x-mackay"),
    RungWords("hessian", "Exact Hessian in (5.2)", "exact Hessian", "--x-hessian"),
    RungWords("laplace", "Laplace, prior included", "Laplace, prior included", "--x-laplace"),
    RungWords("importance", "Corrected by sampling", "", "--x-importance"),
    RungWords("quadrature", "Exact, by quadrature", "", "--x-exact"),
)


class PartWords(NamedTuple):
    """A row of the evidence taken apart; `group` is a heading above it."""

    name: str
    label: str
    symbol: str = ""
    sum: bool = False
    group: str = ""


PART_WORDS = (
    PartWords("fit", "Fit of the best weights", "log p(D | w, b, ζ)", group="With the most probable μ and ζ"),
    PartWords("size", "Occam: size of the weights", "−μ E_W"),
    PartWords("volume", "Occam: weights ruled out by the data", "−½ Σ log(1 + γλ)"),
    PartWords("bias", "Occam: the bias", "½ log(2π/Nζ)"),
    PartWords("subtotal", "Log evidence at μ_MP, ζ_MP", sum=True),
    PartWords("mu", "Occam factor of μ", "log(σ_logμ|D/σ_logμ)", group="Not knowing μ and ζ (bars on a larger scale)"),
    PartWords("zeta", "Occam factor of ζ", "log(σ_logζ|D/σ_logζ)"),
    PartWords("left_out", "What (5.2) leaves out"),
    PartWords("total", "Log evidence, exact", sum=True),
)


def live(result: StudyResult) -> Live:
    """The explorer of a result."""
    numbers, where = payload(result), stops(result)
    template = environment().from_string((FOLDER / "explorer.html.j2").read_text(encoding="utf-8"))
    html = template.render(
        css=Markup((FOLDER / "explorer.css").read_text(encoding="utf-8")),
        data=Markup(json.dumps(numbers, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")),
        last=len(numbers["sigma"]) - 1,
        start=where.best,
        shown={"sigma": number(numbers["sigma"][where.best], ".3g"), "says": "The most probable width."},
        stops=(
            {"label": "Too narrow", "index": where.narrow},
            {"label": "Most probable σ", "index": where.best},
            {"label": "Too wide", "index": where.wide},
        ),
        rungs=RUNG_WORDS,
        ellipses=[rung for rung in RUNG_WORDS if rung.short],
        rows=PART_WORDS,
        map=_map_words(result.data or {}),
    )
    return Live(html, (FOLDER / "explorer.js").read_text(encoding="utf-8"))


def _map_words(data: dict[str, Any]) -> dict[str, Any]:
    """What the map over the two inputs shows, for classes or for real targets."""
    first, second = data["feature_names"]
    where = f"over {first} and {second}, with the data"
    if data["task"] == "regression":
        return {
            "title": "What it predicts",
            "caption": "Mean of the target, in standard deviations, and the data. The line is the overall mean.",
            "alt": f"Map of the predicted mean of {data['target_name']} {where}",
            "ends": ("−2.5 sd", str(data["target_name"]), "+2.5 sd"),
        }
    minus, plus = data["class_names"]
    return {
        "title": "What it predicts",
        "caption": "Class probabilities over the two inputs (standardised), and the data. On the line both classes are "
        "equally likely.",
        "alt": f"Map of the class probabilities {where}",
        "ends": (f"● {minus}", "even", f"▲ {plus}"),
    }
