"""Cost curves of fits, from the series that the benchmarks keep."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

SERIES = Path(__file__).resolve().parents[2] / "benchmarks" / "series" / "costs.jsonl"


def latest(path: Path = SERIES) -> dict[str, list[dict[str, Any]]]:
    """For each contender its newest line of every size, small sizes first."""
    found: dict[tuple[str, int], dict[str, Any]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        found[record["who"], record["n"]] = record  # lines are appended: the last is the newest
    curves: dict[str, list[dict[str, Any]]] = {}
    for (who, _), record in sorted(found.items(), key=lambda item: item[0][1]):
        curves.setdefault(who, []).append(record)
    return curves


def figure_costs(curves: dict[str, list[dict[str, Any]]]) -> Figure:
    """CPU seconds against N on logarithmic axes, with the exponent between the two largest sizes of each curve."""
    figure = Figure(figsize=(7.2, 4.4), layout="constrained")
    axes = figure.subplots()
    for who, records in curves.items():
        n, seconds = (np.array([record[name] for record in records]) for name in ("n", "cpu_seconds"))
        label = who
        if len(n) > 1:
            power = np.log(seconds[-1] / seconds[-2]) / np.log(n[-1] / n[-2])
            label = f"{who}: N^{power:.1f} from {n[-2]} to {n[-1]}"
        own = "LSSVC" in who or who == "marginalise"
        axes.loglog(n, seconds, "o-" if own else "s--", label=label, markersize=4)
    every = sorted({record["n"] for records in curves.values() for record in records})
    axes.set_xticks(every, [str(n) for n in every])
    axes.minorticks_off()
    axes.set_xlabel("rows N")
    axes.set_ylabel("CPU seconds, one thread")
    axes.legend(fontsize=8, frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
