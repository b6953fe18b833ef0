"""Tables of docs/findings/calibration.md: `python -m reports.pages.calibration.document`.

It runs the study of `validation.studies.calibration` (about half an hour with two processes; a killed run continues),
writes a JSON file with what the page's tables show and prints them. With `--from` it only reads that file and prints
the tables. The figures of the page are drawn by `reports.docs`.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bayes_lssvm.base.files import write_bytes
from validation.harness import SIZES, Size, run
from validation.studies.calibration import SCENARIOS, STUDY, collect, summary

from .figures import LOOKS
from .sentences import NAMES, PARAMETERS
from .tables import p_value

SUMMARY = "calibration.json"


def _percent(found: dict[str, list[float]], level: str, limits: bool = False) -> str:
    if level not in found:
        return "–"
    share, low, high = (100 * value for value in found[level])
    return f"{share:.1f} ({low:.1f}–{high:.1f})" if limits else f"{share:.1f}"


def _failed(row: dict[str, Any]) -> str:
    return f"{100 * row['failures'] / row['n']:.1f} %" if row["failures"] else "0"


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
        p = ["–"] * 3 if row["p"] is None else [p_value(value) for value in row["p"]]
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


def main(argv: list[str] | None = None) -> int:
    """Run the study, print its tables."""
    parser = argparse.ArgumentParser(prog="python -m reports.pages.calibration.document", description=__doc__)
    default = Path(__file__).resolve().parents[3] / "docs" / "figures"
    parser.add_argument("--output", type=Path, default=default, help="folder for the summary")
    parser.add_argument("--cells", type=Path, default=Path("output/cells"), help="folder of the study's cells")
    parser.add_argument("--size", choices=SIZES, default="full", help="of the study (default: full, as documented)")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--from", dest="stored", type=Path, help="print the tables of a stored summary and stop")
    options = parser.parse_args(argv)
    if options.stored is not None:
        print_tables(json.loads(options.stored.read_text(encoding="utf-8")))
        return 0
    size: Size = options.size
    results = collect(run(STUDY, None, size=size, folder=options.cells, jobs=options.jobs).cells)
    record = {"scenarios": {name: summary(SCENARIOS[name], found) for name, found in results.items()}}
    options.output.mkdir(parents=True, exist_ok=True)
    write_bytes(options.output / SUMMARY, _packed(record).encode())
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
