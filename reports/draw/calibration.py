"""Figures and tables of docs/findings/calibration.md: `python -m reports.draw.calibration --output docs/figures`.

It runs the study of `validation.studies.calibration` (about half an hour with two processes; a killed run continues),
draws two figures and writes a JSON file with what they and the page's tables show. With `--from` it only reads that
file and prints the tables.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayes_lssvm.base.files import write_bytes
from validation.studies.calibration import (
    SCENARIOS,
    Results,
    ecdf,
    ecdf_band,
    methods_of,
    regimes,
    rows_of,
    run,
    summary,
)

from .figures import BLACK, BLUE, GREEN, GREY, PURPLE, STYLE, VERMILION, as_png, new_figure


class Look(NamedTuple):
    """How a method is drawn and called."""

    name: str
    colour: str
    line: Any
    mark: str


LOOKS = {
    "quadrature": Look("exact (quadrature)", BLUE, "-", "o"),
    "laplace": Look("Laplace, prior included", GREEN, (0, (6, 2)), "D"),
    "hessian": Look(r"Hessian at $\mu_{\mathrm{MP}}, \zeta_{\mathrm{MP}}$", PURPLE, (0, (3, 1.5)), "^"),
    "mackay": Look("MacKay's error bars", VERMILION, (0, (1, 1)), "s"),
}
NAMES = {
    "log_mu": "log μ",
    "log_zeta": "log ζ",
    "log_gamma": "log γ",
    "log_sigma": "log σ",
    "log_likelihood": "likelihood",
    "y_new": "new target",
    "y_new_normal": "new target, `predict` ± std",
}
PARAMETERS = ("log_mu", "log_zeta", "log_gamma")
SUMMARY = "calibration.json"


# --- figures


def figure_ecdf(results: Mapping[str, Results]) -> Figure:
    """ECDF of the PIT minus the diagonal, over the sets that have a mode, with the simultaneous band."""
    common = np.all([np.isfinite(results[name].column("log_gamma")) for name in LOOKS], axis=0)
    band = ecdf_band(int(common.sum()))
    with matplotlib.rc_context(STYLE):
        figure = new_figure(13.0, 5.0)
        panels = figure.subplots(1, 3, sharey=True)
        for axes, parameter in zip(panels, PARAMETERS, strict=True):
            axes.fill_between(
                band.z,
                band.low - band.z,
                band.high - band.z,
                color="#d9d9d9",
                linewidth=0,
                label="95 % band, all points",
            )
            axes.axhline(0.0, color=GREY, linewidth=1.0)
            for method, look in LOOKS.items():
                difference = ecdf(results[method].column(parameter)[common], band.z) - band.z
                axes.plot(band.z, difference, color=look.colour, linestyle=look.line, linewidth=2.4, label=look.name)
            axes.set(xlabel="posterior probability below the truth (PIT)", xlim=(0, 1))
            axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
            axes.set_title(NAMES[parameter], loc="left")
        panels[0].set_ylabel("share of sets with a smaller PIT,\nminus what it should be")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=12)
        return figure


def figure_coverage(results: Mapping[str, Mapping[str, Results]]) -> Figure:
    """Coverage of 90 % intervals of log μ and log ζ by regime, for known kernels with 20 and with 100 points."""
    with matplotlib.rc_context(STYLE):
        figure = new_figure(13.0, 8.6)
        grid = figure.subplots(2, 2, sharex="row", sharey=True)
        for row, (scenario, own) in zip(grid, results.items(), strict=True):
            for axes, parameter in zip(row, PARAMETERS[:2], strict=True):
                _coverage_panel(axes, scenario, own, parameter)
            row[0].set_ylabel("share of 90 % intervals\nthat hold the truth")
        for axes in grid[1]:
            axes.set_xlabel("gain: log evidence at the mode minus that of noise alone", fontsize=12)
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize=12)
        return figure


def _coverage_panel(axes: Axes, scenario: str, results: Mapping[str, Results], parameter: str) -> None:
    found = [r for r in regimes(results["mackay"], SCENARIOS[scenario].setting.n) if r.chosen.any()]
    axes.axhline(0.9, color=BLACK, linewidth=1.2, linestyle="--", label="claimed: 90 %", zorder=0)
    for i, (method, look) in enumerate(LOOKS.items()):
        for x, regime in enumerate(found):
            (row,) = [r for r in rows_of(results[method], regime.chosen) if r.quantity == parameter]
            place = x + 0.17 * (i - 1.5)
            label = look.name if x == len(found) - 1 else None
            if not row.coverage:
                axes.text(
                    place, 0.515, "no error bar", rotation=90, ha="center", va="bottom", color=look.colour, fontsize=11
                )
                continue
            _, share, low, high = row.coverage[2]
            axes.errorbar(
                place, share, [[share - low], [high - share]], fmt=look.mark, color=look.colour, markersize=8,
                linewidth=1.8, capsize=3, label=label,
            )  # fmt: skip
    names = [f"{_short(r.name)}\n{int(r.chosen.sum())} sets" for r in found]
    axes.set_xticks(range(len(found)), names, fontsize=10.5)
    axes.set(ylim=(0.5, 1.0), xlim=(-0.5, len(found) - 0.5))
    for x in range(1, len(found)):
        axes.axvline(x - 0.5, color="#e5e5e5", linewidth=1.0, zorder=0)
    axes.set_title(f"{NAMES[parameter]}, N = {SCENARIOS[scenario].setting.n}", loc="left")


def _short(name: str) -> str:
    return name.replace(" (", "\n(").replace("gain ", "gain\n").replace("N − γ_eff", "N − $\\gamma_{\\mathrm{eff}}$\n")


# --- tables


def _percent(found: dict[str, list[float]], level: str, limits: bool = False) -> str:
    if level not in found:
        return "–"
    share, low, high = (100 * value for value in found[level])
    return f"{share:.1f} ({low:.1f}–{high:.1f})" if limits else f"{share:.1f}"


def _failed(row: dict[str, Any]) -> str:
    return f"{100 * row['failures'] / row['n']:.1f} %" if row["failures"] else "0"


def _p(value: float) -> str:
    return "<1e-4" if value < 1e-4 else f"{value:.2g}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def main_table(record: dict[str, Any]) -> str:
    """Uniformity and coverage of every quantity of every method, as Markdown."""
    head = [
        "method",
        "quantity",
        "no posterior",
        "KS p",
        "χ² p",
        "band p",
        "in band",
        "50 %",
        "80 %",
        "90 %",
        "95 %",
        "90 %, all",
    ]
    rows = []
    for row in record["rows"]:
        p = ["–"] * 3 if row["p"] is None else [_p(value) for value in row["p"]]
        failed = _failed(row)
        shares = [_percent(row["coverage"], level) for level in ("0.5", "0.8", "0.9", "0.95")]
        verdict = "yes" if row["uniform"] else "**no**"
        everything = _percent(row["coverage_all"], "0.9")
        rows.append([row["method"], NAMES[row["quantity"]], failed, *p, verdict, *shares, everything])
    return _table(head, rows)


def regime_table(record: dict[str, Any]) -> str:
    """Coverage of 90 % intervals by regime with Wilson's limits, and median error bars over the exact ones."""
    shown = [name for name in NAMES if any(row["quantity"] == name for row in record["rows"])]
    shown = [name for name in shown if name in (*PARAMETERS, "y_new")]
    head = ["data", "sets", "method", *(NAMES[name] for name in shown), "sd of log μ / exact", "sd of log ζ / exact"]
    rows = []
    for regime in record["regimes"]:
        for method in dict.fromkeys(row["method"] for row in regime["rows"]):
            own = {row["quantity"]: row["coverage"] for row in regime["rows"] if row["method"] == method}
            ratio = {"log_mu": 1.0, "log_zeta": 1.0} if method == "quadrature" else regime["sd_ratio"].get(method, {})
            cells = [_percent(own.get(name, {}), "0.9", limits=True) for name in shown]
            bars = [f"{ratio[name]:.2f}" if name in ratio else "–" for name in ("log_mu", "log_zeta")]
            first = method == next(iter(LOOKS))
            rows.append(
                [regime["regime"] if first else "", str(regime["sets"]) if first else "", method, *cells, *bars]
            )
    return _table(head, rows)


def repeated_table(records: Mapping[str, dict[str, Any]]) -> str:
    """Frequentist coverage of 90 % intervals at one truth."""
    head = ["truth", "method", "no posterior", *(NAMES[name] for name in (*PARAMETERS, "y_new"))]
    rows = []
    for record in records.values():
        truth = record["setting"]["truth"]
        said = f"log μ = {truth[0]:g}, log ζ = {truth[1]:g}".replace("-", "−")
        for method in dict.fromkeys(row["method"] for row in record["rows"]):
            own = {row["quantity"]: row for row in record["rows"] if row["method"] == method}
            failed = _failed(own["log_mu"])
            cells = [_percent(own[name]["coverage"], "0.9", limits=True) for name in (*PARAMETERS, "y_new")]
            rows.append([said, method, failed, *cells])
    return _table(head, rows)


def tables(record: Mapping[str, Any]) -> dict[str, str]:
    """Every table of the page, by name."""
    own = record["scenarios"]
    made = {f"{name}: all sets": main_table(r) for name, r in own.items() if r["setting"]["truth"] is None}
    made |= {f"{name}: by regime": regime_table(r) for name, r in own.items() if "regimes" in r}
    held = {name: r for name, r in own.items() if r["setting"]["truth"] is not None}
    return made | ({"repeated data": repeated_table(held)} if held else {})


# --- the program


def main(argv: list[str] | None = None) -> int:
    """Run the study, draw its figures, print its tables."""
    parser = argparse.ArgumentParser(prog="python -m reports.draw.calibration", description=__doc__)
    default = Path(__file__).resolve().parents[2] / "docs" / "figures"
    parser.add_argument("--output", type=Path, default=default, help="folder for figures and summary")
    parser.add_argument("--results", type=Path, default=Path("output/calibration"), help="folder for the study's sets")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the documented number of sets (default: 1)")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--from", dest="stored", type=Path, help="print the tables of a stored summary and stop")
    options = parser.parse_args(argv)
    if options.stored is not None:
        print_tables(json.loads(options.stored.read_text(encoding="utf-8")))
        return 0
    results: dict[str, dict[str, Results]] = {}
    for name, scenario in SCENARIOS.items():
        print(f"{scenario.title} …", file=sys.stderr)
        methods = methods_of(scenario.setting, scenario.methods)
        n_sets = max(int(scenario.n_sets * options.scale), 1)
        results[name] = run(scenario.setting, methods, n_sets=n_sets, folder=options.results / name, jobs=options.jobs)
    record = {"scenarios": {name: summary(SCENARIOS[name], found) for name, found in results.items()}}
    options.output.mkdir(parents=True, exist_ok=True)
    known = {name: results[name] for name in ("known_20", "known_100")}
    write_bytes(options.output / SUMMARY, _packed(record).encode())
    write_bytes(options.output / "calibration_ecdf.png", as_png(figure_ecdf(known["known_20"]), dpi=100))
    write_bytes(options.output / "calibration_coverage.png", as_png(figure_coverage(known), dpi=100))
    print_tables(record)
    return 0


def _packed(record: dict[str, Any]) -> str:
    """JSON with a line for each row of a table."""
    return re.sub(r'(\{"method")', r"\n\1", json.dumps(record, ensure_ascii=False)) + "\n"


def print_tables(record: Mapping[str, Any]) -> None:
    """Every table with its name, as Markdown."""
    for name, table in tables(record).items():
        print(f"{name}\n\n{table}\n")


if __name__ == "__main__":
    raise SystemExit(main())
