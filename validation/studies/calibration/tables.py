"""Rows of a calibration table: uniformity and coverage of each quantity of each method, and by regime.

The verdict on a quantity is that of the ECDF band, at a family level of 5 % shared out among the quantities of a method
(Bonferroni). The p values of the three tests are printed as they are.

Regimes are functions of the data alone: in a subset chosen by the data the exact posterior stays calibrated, so that a
failure there is the method's. Subsets chosen by the truth would not do: no posterior is calibrated at a given truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bayes_lssvm.base.typing import AnyArray
from bayes_lssvm.levels.level2 import NO_SIGNAL_GAIN

from .coverage import Coverage, coverage
from .records import Results
from .uniformity import BINS, Uniformity, uniformity

FAMILY = 0.05


@dataclass(frozen=True)
class QuantityRow:
    """One quantity of one method.

    Attributes
    ----------
    n : int
        Sets, those without a posterior included.
    failures : int
        Sets for which the method has no posterior: no mode, or an error.
    tests : Uniformity or None
        Over the sets with a posterior; None where they are too few.
    tests_all : Uniformity or None
        Over all sets, one without a mode as the point mass that level 2 returns.
    coverage : tuple of Coverage
        Over the sets with a posterior.
    coverage_all : tuple of Coverage
        Over all sets; one without a posterior does not cover.
    uniform : bool
        Whether the ECDF of the sets with a posterior stays in its band, at the family level.
    """

    method: str
    quantity: str
    n: int
    failures: int
    tests: Uniformity | None
    tests_all: Uniformity | None
    coverage: tuple[Coverage, ...]
    coverage_all: tuple[Coverage, ...]
    uniform: bool


def _tested(pit: AnyArray) -> Uniformity | None:
    return uniformity(pit) if len(pit) >= 5 * BINS else None


def rows_of(results: Results, chosen: AnyArray | None = None) -> list[QuantityRow]:
    """A row for each quantity of a method, over all sets or over those that are chosen (a mask of shape (n,))."""
    mask = np.ones(len(results.records), dtype=bool) if chosen is None else chosen
    rows = []
    for quantity in results.quantities:
        pit = results.column(quantity)
        ok = np.isfinite(pit)
        good, tests = pit[mask & ok], _tested(pit[mask & ok])
        misses = np.where(ok, pit, 1.0)[mask]
        everything = np.where(ok, pit, results.column(quantity, "fallback"))[mask]
        rows.append(
            QuantityRow(
                method=results.method,
                quantity=quantity,
                n=int(mask.sum()),
                failures=int(np.sum(mask & ~ok)),
                tests=tests,
                tests_all=_tested(everything[np.isfinite(everything)]),
                coverage=coverage(good) if len(good) else (),
                coverage_all=coverage(misses) if len(misses) else (),
                uniform=tests is not None and tests.band > FAMILY / len(results.quantities),
            )
        )
    return rows


class Regime(NamedTuple):
    """A subset of the sets, chosen by the data."""

    name: str
    chosen: AnyArray


def regimes(level2: Results, n: int) -> tuple[Regime, ...]:
    """Subsets by what level 2 finds: no mode, or how far the evidence there is above that of noise alone.

    Parameters
    ----------
    level2 : Results
        Of a `ClosedForm` method, whose facts have "log_gain" and "gamma_eff".
    n : int
        Number of points of a set.
    """
    mode = np.array([not record.status.startswith("no mode") for record in level2.records])
    gain, left = level2.column("log_gain", "facts"), n - level2.column("gamma_eff", "facts")
    fitted = mode & (left < 0.25 * n)
    return (
        Regime("no mode (γ → 0 or ∞)", ~mode),
        Regime(f"gain < {NO_SIGNAL_GAIN:g} nats", mode & ~fitted & (gain < NO_SIGNAL_GAIN)),
        Regime(f"gain {NO_SIGNAL_GAIN:g} to 6 nats", mode & ~fitted & (gain >= NO_SIGNAL_GAIN) & (gain < 6.0)),
        Regime("gain > 6 nats", mode & ~fitted & (gain >= 6.0)),
        Regime("N − γ_eff < N/4", fitted),
    )


def _aligned(lines: Sequence[tuple[str, ...]]) -> str:
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)


def _per_cent(found: tuple[Coverage, ...], level: float) -> str:
    return next((f"{100 * c.share:.1f}" for c in found if c.level == level), "")


def as_text(results: Mapping[str, Results]) -> str:
    """The table that the command line prints."""
    lines = [
        ("method", "quantity", "sets", "failed", "KS p", "chi2 p", "band p", "uniform", "50 %", "90 %", "90 % all")
    ]
    for row in (row for one in results.values() for row in rows_of(one)):
        tests = ("", "", "", "too few")
        if row.tests is not None:
            p = (row.tests.ks, row.tests.chi_square, row.tests.band)
            tests = (f"{p[0]:.2g}", f"{p[1]:.2g}", f"{p[2]:.2g}", "yes" if row.uniform else "NO")
        shares = (_per_cent(row.coverage, 0.5), _per_cent(row.coverage, 0.9), _per_cent(row.coverage_all, 0.9))
        lines.append((row.method, row.quantity, str(row.n), str(row.failures), *tests, *shares))
    return _aligned(lines)


def regime_text(results: Mapping[str, Results], n: int, level: float = 0.9) -> str:
    """Coverage of the intervals of the parameters and of a new target in each regime; `results` must hold "mackay"."""
    quantities = tuple(dict.fromkeys(name for one in results.values() for name in one.quantities))
    shown = tuple(name for name in quantities if name.startswith("log_") or name == "y_new")
    lines: list[tuple[str, ...]] = [("regime", "sets", "method", *shown)]
    for regime in regimes(results["mackay"], n):
        for one in results.values():
            found = {row.quantity: row.coverage for row in rows_of(one, regime.chosen)}
            cells = (_per_cent(found.get(name, ()), level) or "–" for name in shown)
            lines.append((regime.name, str(int(regime.chosen.sum())), one.method, *cells))
    return _aligned(lines)
