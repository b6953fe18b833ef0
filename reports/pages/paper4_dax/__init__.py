"""The page of paper 4's DAX study: forecasts one day ahead, what they earn, and the volatility."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from reports.frame.index import TABLES_HEADING
from reports.frame.page import Page, Row, Section, Table
from reports.frame.words import number
from validation.harness import StudyResult
from validation.papers.paper4.dax import BLOCKS, DAYS, WINDOW, Trading, table, trading
from validation.papers.paper4.dax_strategy import COST, hit_rate

from .figures import DAYS_IN_YEAR, FIRST_DAY, profit_picture, thumbnail, times, volatility_picture
from .sentences import answer, findings

INTRODUCTION = (
    "Paper 4 (Suykens, lecture 7) forecasts the DAX one day ahead by an LS-SVM fitted by the evidence, lets a second "
    "LS-SVM model the volatility, and shows the cumulative profit of trading on the forecasts next to that of ARX, AR "
    "and buy and hold. Its series are not public. Here the DAX is forecast from the lagged returns of DAX, SMI, CAC "
    "and FTSE, 1991–1998, by models that see the past only."
)
METHODS = (
    f"The last {BLOCKS * DAYS} days, in {BLOCKS} blocks of {DAYS}. Models of a block are fitted on the {WINDOW} "
    "days before it: numbers of lags, kernel, hyperparameters, volatility and standardisation. A day is then "
    "forecast from the days before it. A test replaces and shuffles the future, and past forecasts stay exactly "
    "the same.",
    "AR and ARX: least squares, order by AIC. LS-SVM: RBF kernel on lags 1 to p of all indices; kernel and p by the "
    "evidence. The volatility's LS-SVM has targets log(e² + ε) with the leave-one-out errors e of the first LS-SVM, "
    "and mean absolute returns of the last day, week and month as inputs. The corrected LS-SVM has the noise precision "
    "ζw_t on day t, in its evidence, its solution and its forecasts.",
    'Learned noise is the library\'s own: BayesianLSSVR(noise="learned"), whose log variance is the most probable '
    "function under the density of the squared left-out errors, kept where the evidence prefers it by 2 nats. It has "
    "no inputs of its own, so that lags and mean absolute returns are those of both.",
    f"Long where the forecast is positive, short where it is negative, with the same stake every day. Each purchase or "
    f"sale costs {100 * COST:g} % of the stake, so that a turn costs twice that; the lecture does not state its costs.",
    "Pesaran and Timmermann's test (PT) asks whether the signs of forecasts and returns are independent; it has no "
    "answer where all positions are equal. Errors of daily means take days as independent.",
    "The lecture's S&P 500 closes after the DAX, and its last return is news to the DAX of the next day. The indices "
    "here close at nearly the same hour, and their lagged returns are old news.",
)


def page(result: StudyResult) -> Page:
    """Profits, hit rates and volatility."""
    found = trading(result)
    if not found:
        raise ValueError("None of the blocks of paper 4's DAX study was computed, so there is nothing to show.")
    when = times(result)
    sections = (
        Section("Volatility", pictures=(volatility_picture(found, when),), tables=(coverage_table(found),)),
        Section("What the evidence selects", tables=(design_table(result),)),
    )
    return Page(
        answer=answer(found),
        introduction=INTRODUCTION,
        findings=(*findings(result, found), *table(result).absent),
        key_picture=profit_picture(found, when),
        key_table=key_table(found),
        sections=sections,
        methods=METHODS,
        result=result,
        thumbnail=thumbnail(found, when),
        group=TABLES_HEADING,
        related=("reproduction", "paper4-ovarian"),
    )


def key_table(found: Mapping[str, Trading]) -> Table:
    """The whole period, model by model."""
    rows = []
    for name, own in found.items():
        test = own.sign_test
        rows.append(
            Row(
                name,
                (
                    number(hit_rate(own.held, own.returns), ".1f"),
                    number(test.p_value, ".2f"),
                    number(float(own.before_costs.sum()), ".1f"),
                    number(float(own.after_costs.sum()), ".1f"),
                    number(own.turnover, ".0f"),
                    number(own.break_even if own.turnover > 1.0 else math.nan, ".3f"),
                    number(float(own.log_score.mean()), ".4f"),
                ),
            )
        )
    days = len(found["buy and hold"].returns)
    return Table(
        f"{days} days out of sample",
        (
            "",
            "hit rate, %",
            "PT test, p",
            "profit before costs, %",
            "after costs, %",
            "turnover",
            "break-even cost, %",
            "log score",
        ),
        tuple(rows),
        "Profits are in % of the stake over the whole period. Turnover: units of the stake bought or sold. Break-even: "
        "the cost of a unit at which nothing is left. Log score: nats a day, of Gaussian forecasts of returns in %; "
        "larger is better.",
    )


def coverage_table(found: Mapping[str, Trading]) -> Table:
    """Whether error bars hold what they should, on quiet and on wild days."""
    spread = found["LS-SVM + volatility"].sd
    quiet = spread <= np.median(spread)
    rows = []
    for name in ("LS-SVM + volatility", "LS-SVM, learned noise", "LS-SVM"):
        own = found[name]
        inside = np.abs(own.returns - own.mean) <= 1.6449 * own.sd
        cells = (100 * inside.mean(), 100 * inside[quiet].mean(), 100 * inside[~quiet].mean())
        rows.append(Row(name, tuple(number(float(c), ".1f") for c in cells)))
    return Table(
        "Returns inside the 90 % error bars, %",
        ("", "all days", "days forecast quiet", "days forecast wild"),
        tuple(rows),
        "Quiet and wild: below and above the median of the forecast volatility.",
    )


def design_table(result: StudyResult) -> Table:
    """Orders and statuses, block by block."""
    rows = []
    for f in result.cells:
        if f.error:
            continue
        own, s = f.values["facts"], f.cell.settings
        begins = FIRST_DAY + (s["first"] + 1) / DAYS_IN_YEAR
        cells = (
            *(str(own[f"{name} order"]) for name in ("AR", "ARX", "LS-SVM")),
            number(own["log_gain"], ".2f"),
            own["status"],
            own["volatility_status"],
            own["weighted_status"],
            " … ".join(f"{w:.2f}" for w in (own["weights"][0], own["weights"][-1])),
            f"{own['noise']}, {number(own['noise_gain'], '+.1f')}",
        )
        rows.append(Row(f"{begins:.2f}", cells))
    return Table(
        "Fits of the blocks",
        (
            "first day",
            "AR, p",
            "ARX, p",
            "LS-SVM, p",
            "log gain",
            "LS-SVM",
            "volatility",
            "corrected",
            "weights w",
            "noise kept",
        ),
        tuple(rows),
        "Log gain: nats by which the LS-SVM explains the window's returns better than noise alone; less than 2 is what "
        "chance gives. Then the status of level 2 of the three LS-SVMs, the 5 % and 95 % quantiles of w, and the noise "
        "that the library keeps, with the nats by which the evidence prefers it to constant noise.",
    )
