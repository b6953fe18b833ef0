"""The numbers of the explorer as its script takes them: one list over the widths for each thing that is shown.

Every number is that of a computed width, in full precision; grids are whole numbers in base64, as the cells have them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from validation.harness import FinishedCell, StudyResult
from validation.studies.explorer import PARTS, RADIUS, RUNGS, SUBTOTAL

APART = 5.0
"""The stops called too narrow and too wide are this factor from the most probable width."""
STATUS_WORDS = {
    "no signal": "Level 2 finds no signal at this width, so (5.2) has no mode.",
    "interpolation": "Level 2 finds no noise at this width (the data are interpolated), so (5.2) has no mode.",
}

_POSTERIOR = ("window", "levels", "log_density", "gaussians", "covered")


class Stops(NamedTuple):
    """Numbers of the widths that the buttons go to."""

    narrow: int
    best: int
    wide: int


def widths(result: StudyResult) -> list[FinishedCell]:
    """The cells of the widths, the narrowest first."""
    return [cell for cell in result.cells if cell.cell.key != "data"]


def stops(result: StudyResult) -> Stops:
    """The width of the largest exact evidence, and those a factor `APART` from it, or the ends."""
    nodes = widths(result)
    logs = np.log([node.values["sigma"] for node in nodes])
    best = int(np.argmax([node.values["log_evidence"]["quadrature"] for node in nodes]))
    nearest = [int(np.argmin(np.abs(logs - logs[best] - step))) for step in (-np.log(APART), np.log(APART))]
    return Stops(nearest[0], best, nearest[1])


def payload(result: StudyResult) -> dict[str, Any]:
    """All that the script draws and writes."""
    nodes = [node.values for node in widths(result)]
    points, data = result["data"].values, result.data or {}
    return {
        "task": data["task"],
        "features": data["feature_names"],
        "n": nodes[0]["n"],
        "points": [[*row, target] for row, target in zip(points["X"], points["y"], strict=True)],
        "window": points["window"],
        "best": stops(result).best,
        "sigma": [node["sigma"] for node in nodes],
        "rungs": {name: [node["log_evidence"][name] for node in nodes] for name in RUNGS},
        "best_fit": [node["best_fit"] for node in nodes],
        "parts": {name: [node["parts"][name] for node in nodes] for name in PARTS},
        "groups": {"first": SUBTOTAL, "second": PARTS[len(SUBTOTAL) :]},
        "gamma_eff": [node["gamma_eff"] for node in nodes],
        "status": [node["status"] for node in nodes],
        "words": STATUS_WORDS,
        "radius": RADIUS,
        "posterior": [
            {name: node["posterior"][name] for name in ("window", "levels", "log_density", "gaussians", "covered")}
            for node in nodes
        ],
        "plane": [node["plane"] for node in nodes],
        "leave_one_out": [node["leave_one_out"] for node in nodes],
    }
