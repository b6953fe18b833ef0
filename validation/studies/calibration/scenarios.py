"""The study behind docs/findings/calibration.md: which settings, and what of their results is kept.

| setting       | what it is                                                                               |
| ------------- | ---------------------------------------------------------------------------------------- |
| known kernel  | RBF, σ = 1.5; log μ, log ζ ~ Normal(0, 3), the default prior; N = 20 and N = 100         |
| free kernel   | the same with log σ ~ Normal(0, 1), N = 20                                               |
| repeated data | known kernel, N = 20, one truth: a weak signal (γ = 0.37) and a strong one (γ = 20)      |
| NUTS          | the first sets of the known and the free kernel again, by draws                          |
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayes_lssvm.base.typing import AnyArray
from bayes_lssvm.kernels import RBF
from validation.harness.compute import versions
from validation.ladder import PRIOR

from .records import Results
from .simulation import Setting
from .tables import QuantityRow, regimes, rows_of

CLOSED = ("laplace", "hessian", "mackay")


@dataclass(frozen=True)
class Scenario:
    """A setting with its methods; `n_sets` is what the documentation shows."""

    title: str
    setting: Setting
    n_sets: int
    methods: tuple[str, ...] = ("quadrature", *CLOSED)


def _known(n: int, truth: tuple[float, float] | None = None) -> Setting:
    return Setting(n=n, kernel=RBF(1.5), prior=PRIOR, fixed_kernel=True, truth=truth, seed=2002)


_FREE = Setting(n=20, kernel=RBF(1.5), prior=PRIOR, seed=2002)

SCENARIOS: dict[str, Scenario] = {
    "known_20": Scenario("known kernel, N = 20", _known(20), 2000),
    "known_100": Scenario("known kernel, N = 100", _known(100), 2000),
    "free_20": Scenario("kernel width free, N = 20", _FREE, 2000),
    "nuts_known_20": Scenario("NUTS, known kernel, N = 20", _known(20), 500, ("nuts", "program")),
    "nuts_free_20": Scenario("NUTS, kernel width free, N = 20", _FREE, 500, ("nuts",)),
    "weak_20": Scenario("repeated data, γ = 0.37, N = 20", _known(20, (0.0, -1.0)), 2000),
    "strong_20": Scenario("repeated data, γ = 20, N = 20", _known(20, (0.0, 3.0)), 2000),
}


def summary(scenario: Scenario, results: Mapping[str, Results]) -> dict[str, Any]:
    """What a page shows of a scenario, in plain values: rows of all sets and of each regime, and median error bars."""
    kept: dict[str, Any] = {
        "title": scenario.title,
        "setting": scenario.setting.description(),
        "n_sets": len(next(iter(results.values())).records),
        "versions": versions(),
        "rows": [_plain(row) for one in results.values() for row in rows_of(one)],
        "warned": {name: int(sum(bool(r.warned) for r in one.records)) for name, one in results.items()},
    }
    if scenario.setting.truth is None and "mackay" in results:
        kept["regimes"] = [
            {
                "regime": regime.name,
                "sets": int(regime.chosen.sum()),
                "rows": [_shares(row) for one in results.values() for row in rows_of(one, regime.chosen)],
                "sd_ratio": _ratios(results, regime.chosen),
            }
            for regime in regimes(results["mackay"], scenario.setting.n)
            if regime.chosen.any()
        ]
    return kept


def _shares(row: QuantityRow) -> dict[str, Any]:
    """Coverage in values for JSON: shares with their limits, to a digit more than is shown."""
    return {
        "method": row.method,
        "quantity": row.quantity,
        "coverage": {f"{c.level:g}": _digits(c[1:]) for c in row.coverage},
    }


def _plain(row: QuantityRow) -> dict[str, Any]:
    """A whole row in values for JSON."""
    return {
        **_shares(row),
        "n": row.n,
        "failures": row.failures,
        "p": None if row.tests is None else _digits(row.tests[1:]),
        "p_all": None if row.tests_all is None else _digits(row.tests_all[1:]),
        "uniform": row.uniform,
        "coverage_all": {f"{c.level:g}": _digits(c[1:]) for c in row.coverage_all},
    }


def _digits(values: tuple[Any, ...]) -> list[float]:
    return [float(f"{value:.4g}") for value in values]


def _ratios(results: Mapping[str, Results], chosen: AnyArray) -> dict[str, dict[str, float]]:
    """Median over sets of a method's error bar over the exact posterior's standard deviation."""
    found: dict[str, dict[str, float]] = {}
    for name in (name for name in CLOSED if name in results and "quadrature" in results):
        for parameter in ("log_mu", "log_zeta"):
            own = results[name].column(f"sd_{parameter}", "facts")
            exact = results["quadrature"].column(f"sd_{parameter}", "facts")
            ratio = (own / exact)[chosen & np.isfinite(own)]
            if len(ratio):
                found.setdefault(name, {})[parameter] = float(f"{np.median(ratio):.4g}")
    return found
