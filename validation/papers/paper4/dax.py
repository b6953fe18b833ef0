"""Paper 4's financial case study: one-step-ahead forecasts of the DAX, and what trading on them would have earned.

The lecture's series (S&P 500, US bonds, its period) are not public, and it prints a figure without numbers. Here the
DAX is forecast from lagged DAX, SMI, CAC and FTSE, 1991–1998. The last 850 days are tested in ten blocks of 85; each
block is forecast by models of the 750 days before it (`paper4_dax_models`), every day from the days before it. A block
is a cell. Orders, kernels, hyperparameters, weights and standardisation come from the window alone.

One difference matters: the lecture's S&P 500 closes hours after the DAX, so that its last return holds news that the
DAX has not seen. The four indices here close within the same hours.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayes_lssvm.base.typing import AnyArray, Array
from validation.harness import Cell, CellResult, Size, StudyResult
from validation.harness.splits import seed_of

from ..table import Entry, ReproducedTable, table_study
from .dax_models import LSSVM_ORDERS, MODELS, forecast_block
from .dax_series import DAX, NAME, prices, returns_of
from .dax_strategy import COST, DAYS_A_YEAR, SignTest, hit_rate, log_scores, positions, profits, sign_test, turnover

BLOCKS, DAYS, WINDOW = 10, 85, 750
COLUMNS = ("hit rate, %", "profit before costs, % a year", "profit after costs, % a year", "log score, nats a day")
SOURCE = "Paper 4, DAX"


def cells(data: None, size: Size) -> list[Cell]:
    """All blocks; the last two for "quick", two small ones for "toy"."""
    P, sha256 = prices()
    rows = len(P) - 1
    blocks, days, window = {
        "toy": (range(2), 10, 80),
        "quick": (range(BLOCKS - 2, BLOCKS), DAYS, WINDOW),
        "full": (range(BLOCKS), DAYS, WINDOW),
    }[size]
    start = rows - days * (blocks[-1] + 1)
    cells = []
    for block in blocks:
        settings: dict[str, Any] = {
            "data": NAME,
            "block": block,
            "first": start + days * block,
            "days": days,
            "window": window,
            "orders": list(LSSVM_ORDERS[:2] if size == "toy" else LSSVM_ORDERS),
            "sha256": sha256,
        }
        cells.append(Cell(f"block.{block:02d}", settings, seed_of(NAME, block)))
    return cells


def compute(cell: Cell, data: None) -> CellResult:
    """Forecasts of the block's days, beside what came."""
    s = cell.settings
    returns = returns_of(prices()[0])
    block = forecast_block(
        returns, s["first"], s["days"], window=s["window"], seed=cell.seed, orders=tuple(s["orders"])
    )
    values = {
        "returns": returns[s["first"] : s["first"] + s["days"], DAX],
        "forecasts": {name: {"mean": f.mean, "sd": f.sd} for name, f in block.forecasts.items()},
        "facts": block.facts,
    }
    return CellResult(values)


STUDY = table_study(
    name="paper4-dax",
    title="Paper 4: forecasting the DAX one day ahead",
    cells=cells,
    compute=compute,
)
"""Blocks of test days in the order of time."""


class Trading(NamedTuple):
    """A model's days, all blocks in the order of time.

    Attributes
    ----------
    block : array of int of shape (n,)
    returns, mean, sd : arrays of shape (n,)
        In %.
    held, before_costs, after_costs : arrays of shape (n,)
        Positions, and profits in % of the stake.
    log_score : array of shape (n,)
    """

    block: AnyArray
    returns: Array
    mean: Array
    sd: Array
    held: Array
    before_costs: Array
    after_costs: Array
    log_score: Array

    @property
    def sign_test(self) -> SignTest:
        """Of the whole period."""
        return sign_test(self.held, self.returns)

    @property
    def turnover(self) -> float:
        """Units of the stake bought or sold."""
        return turnover(self.held)

    @property
    def break_even(self) -> float:
        """Cost of a unit, in %, at which nothing is left of the profit."""
        return float(self.before_costs.sum()) / self.turnover if self.turnover > 0.0 else float("nan")


def trading(result: StudyResult) -> dict[str, Trading]:
    """What each model would have done over all blocks that were computed; positions are carried on between them."""
    done = [f for f in result.cells if f.error is None]
    if not done:
        return {}
    block = np.concatenate([np.full(len(f.values["returns"]), f.cell.settings["block"]) for f in done])
    returns = np.concatenate([f.values["returns"] for f in done])
    simple = np.expm1(returns / 100.0)
    found = {}
    for name in MODELS:
        mean, sd = (np.concatenate([f.values["forecasts"][name][k] for f in done]) for k in ("mean", "sd"))
        # whoever buys and holds is long whatever the past mean says
        held = np.ones(len(mean)) if name == "buy and hold" else positions(mean)
        found[name] = Trading(
            block,
            returns,
            mean,
            sd,
            held,
            100.0 * profits(held, simple, 0.0),
            100.0 * profits(held, simple, COST),
            log_scores(mean, sd, returns),
        )
    return found


def table(result: StudyResult) -> ReproducedTable:
    """Hit rate, profits and log score of each model, one score a block; the paper prints none of them."""
    entries = []
    for name, own in trading(result).items():
        scores: dict[str, list[float]] = {column: [] for column in COLUMNS}
        for block in dict.fromkeys(own.block.tolist()):
            chosen = own.block == block
            year = DAYS_A_YEAR / int(chosen.sum())
            scores[COLUMNS[0]].append(hit_rate(own.held[chosen], own.returns[chosen]))
            scores[COLUMNS[1]].append(year * float(own.before_costs[chosen].sum()))
            scores[COLUMNS[2]].append(year * float(own.after_costs[chosen].sum()))
            scores[COLUMNS[3]].append(float(own.log_score[chosen].mean()))
        entries += [Entry(name, column, tuple(found)) for column, found in scores.items()]
    absent = [
        "Paper 4 shows the cumulative profits as a figure without numbers, and its S&P 500, bond and DAX series are "
        "not public: the indices of EuStockMarkets stand in for them."
    ]
    failed = [f for f in result.cells if f.error is not None]
    if failed:
        absent.append(f"{len(failed)} blocks of days could not be computed.")
    return ReproducedTable(
        STUDY.name,
        STUDY.title,
        SOURCE,
        f"as the columns say; each purchase or sale costs {100 * COST:g} % of the stake",
        True,
        MODELS,
        COLUMNS,
        tuple(entries),
        tuple(absent),
    )
