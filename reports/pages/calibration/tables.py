"""Tables of calibration: coverage by method, and every quantity of every method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.frame.page import Row, Table
from validation.studies.calibration import SCENARIOS, QuantityRow, Results, rows_of

from .sentences import NAMES, Scenarios, capital, coverage_at, share

CALLED = {
    "quadrature": "exact (quadrature)",
    "laplace": "Laplace's method with the prior",
    "hessian": "Hessian's error bars",
    "mackay": "MacKay's error bars",
    "nuts": "NUTS",
}
"""Methods as the tables call them."""


def key_table(results: Scenarios) -> Table:
    """Coverage of 90 % intervals by scenario and method."""
    there = {row.quantity for own in results.values() for one in own.values() for row in rows_of(one) if row.coverage}
    shown = [name for name in ("log_mu", "log_zeta", "log_sigma", "y_new") if name in there]
    rows: list[Row] = []
    for scenario, own in results.items():
        rows.append(Row(f"{SCENARIOS[scenario].title}, {len(next(iter(own.values())).records)} sets"))
        for method, one in own.items():
            found = {row.quantity: row for row in rows_of(one)}
            cells = [share(coverage_at(found[q].coverage)) if q in found and found[q].coverage else "–" for q in shown]
            lost = found["log_mu"].failures / found["log_mu"].n
            rows.append(
                Row(
                    "  " + CALLED.get(method, method),
                    (f"{100 * lost:.0f} %" if lost else "0", _in_band(found.values()), *cells),
                )
            )
    header = ("intervals of 90 %", "no posterior", "in band", *(NAMES[name] for name in shown))
    note = (
        "Share of the sets with a posterior whose central 90 % interval contains the truth, with Wilson's 95 % limits. "
        "No posterior: sets without a mode. In band: quantities, of those tested, whose ranks are uniform."
    )
    return Table("Do 90 % intervals cover?", header, tuple(rows), note)


def _in_band(rows: Any) -> str:
    tested = [row for row in rows if row.tests is not None and row.quantity != "y_new_normal"]
    return f"{sum(row.uniform for row in tested)} of {len(tested)}" if tested else "too few"


def quantity_table(scenario: str, own: Mapping[str, Results]) -> Table:
    """Every quantity of every method: tests and coverage."""
    rows: list[Row] = []
    for method, one in own.items():
        rows.append(Row(CALLED.get(method, method)))
        rows += [Row("  " + NAMES[row.quantity].replace("`", ""), _tested(row)) for row in rows_of(one)]
    header = ("", "KS p", "χ² p", "band p", "50 %", "80 %", "90 %", "95 %", "90 %, all")
    note = "p-values are not adjusted. “90 %, all”: sets without a posterior count as not covered."
    return Table(capital(SCENARIOS[scenario].title), header, tuple(rows), note)


def _tested(row: QuantityRow) -> tuple[str, ...]:
    p = ("–",) * 3 if row.tests is None else tuple(p_value(value) for value in row.tests[1:])
    shares = tuple(f"{100 * c.share:.1f}" for c in row.coverage) or ("–",) * 4
    return (*p, *shares, f"{100 * coverage_at(row.coverage_all).share:.1f}")


def p_value(value: float) -> str:
    """A p value with two digits."""
    return "<1e-4" if value < 1e-4 else f"{value:.2g}"
