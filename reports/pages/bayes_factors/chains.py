"""The chains behind sampled evidences, by ArviZ: a forest of the best kernels' parameters, and ranks."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from bayes_lssvm.base.typing import Array
from reports.draw.arviz import Bar, energy_figure, ess_figure, forest_figure, rank_figure
from reports.draw.style import BLACK, VERMILION
from reports.frame.draws import draws_of, energies_of, has_draws, largest_rhat
from reports.frame.page import Picture, Section, plain_label
from validation.harness import FinishedCell, StudyResult
from validation.studies.bayes_factors import RUNGS

from .sentences import label

_PROGRAMS = ("gp", "weights", "nuts")  # those that are independent of the library first
_BESIDE = {"laplace": ("Laplace", VERMILION), "quadrature": ("exact (quadrature)", BLACK)}
_SYMBOLS = {"mu": "log μ", "zeta": "log ζ", "sigma": "log σ", "scale": "log s", "factor": "log a"}
_MOST_MODELS = 3
_MOST_RANKS = 3


def chains_section(result: StudyResult, order: Sequence[str]) -> tuple[Section, ...]:
    """Forest, ranks, effective sizes and energies; nothing where no chain has draws to show."""
    cells = {(c.cell.settings["model"], c.cell.settings["method"]): c for c in result.cells if c.error is None}
    sampled = {key: cell for key, cell in cells.items() if key[1] in _PROGRAMS and has_draws(cell)}
    if not sampled:
        return ()
    having = {name: _first(sampled, name) for name in order}
    best = {name: cell for name, cell in having.items() if cell is not None}
    shown = dict(list(best.items())[:_MOST_MODELS])
    names = ", ".join(f"{label(name)} ({RUNGS[cell.cell.settings['method']]})" for name, cell in shown.items())
    pictures = [
        Picture(
            "arviz-forest",
            _forest(shown, cells),
            f"ArviZ's forest plot of the hyperparameters of {names}, with the bars of Laplace's method and quadrature.",
            f"Hyperparameters of {names}. The upper line of each row is ArviZ's summary of the draws: thick 68 %, thin "
            "95 %. Below it are the bars of Laplace's method and, for kernels with at most one parameter, the exact "
            "ones, of one and two standard deviations.",
        )
    ]
    for cell in sorted(sampled.values(), key=largest_rhat, reverse=True)[:_MOST_RANKS]:
        settings = cell.cell.settings
        said = f"{label(settings['model'])}, {RUNGS[settings['method']]}"
        pictures.append(
            Picture(
                f"ranks-{cell.cell.key}",
                rank_figure(_by_symbol(cell)),
                f"Rank plots of the chains of {said}: one line for each chain and a grey band around zero.",
                f"{said}. Each line is a chain. Chains that draw from the same distribution all stay within the grey "
                f"band with 99 % probability; the largest R-hat is {largest_rhat(cell):.4f}.",
            )
        )
    pictures += _of_worst(max(sampled.values(), key=largest_rhat))
    return (Section("The chains by ArviZ", pictures=tuple(pictures)),)


def _of_worst(cell: FinishedCell) -> list[Picture]:
    """Effective sizes and energies of the chains with the largest R-hat."""
    said = f"{label(cell.cell.settings['model'])}, {RUNGS[cell.cell.settings['method']]}"
    pictures = [
        Picture(
            f"ess-{cell.cell.key}",
            ess_figure(_by_symbol(cell)),
            f"Effective sample sizes at the quantiles of each parameter, {said}.",
            f"{said}: effective draws for each quantile. The line marks the 400 that ArviZ recommends.",
        )
    ]
    energy = energies_of(cell)
    if energy is not None:
        pictures.append(
            Picture(
                f"energy-{cell.cell.key}",
                energy_figure(energy),
                f"E-FMI of each chain, and densities of the energy and of its steps, {said}.",
                f"{said}: where the steps spread less than the energy itself (E-FMI below 0.3), chains are slow.",
            )
        )
    return pictures


def _first(sampled: dict[tuple[str, str], FinishedCell], name: str) -> FinishedCell | None:
    return next((sampled[name, program] for program in _PROGRAMS if (name, program) in sampled), None)


def symbol(site: str) -> str:
    """A site's name for readers: "log_1.sigma", the second part of a sum, is log σ."""
    return _SYMBOLS[site.removeprefix("log_").split(".")[-1]]


def _by_symbol(cell: FinishedCell) -> dict[str, Array]:
    drawn = draws_of(cell)
    return {symbol(site): drawn[site] for site in sorted(drawn, key=lambda s: list(_SYMBOLS.values()).index(symbol(s)))}


def _values(cells: dict[tuple[str, str], FinishedCell], name: str, method: str, kind: str) -> dict[str, float]:
    """Means or standard deviations of a model by a rung; none where the rung was not run or has none."""
    cell = cells.get((name, method))
    return (cell.values.get(kind) or {}) if cell is not None else {}


def _forest(shown: dict[str, FinishedCell], cells: dict[tuple[str, str], FinishedCell]) -> Figure:
    draws: dict[str, Array] = {}
    bars: dict[str, dict[str, Bar]] = {method: {} for method in _BESIDE}
    for name, cell in shown.items():
        for site, values in draws_of(cell).items():
            row = f"{symbol(site)}, {plain_label(label(name))}"
            draws[row] = values
            for method, found in bars.items():
                mean, sd = (_values(cells, name, method, k) for k in ("mean", "sd"))
                if mean.get(site) is not None and sd.get(site) is not None:
                    found[row] = Bar(mean[site], sd[site])
    rows = sorted(draws, key=lambda row: list(_SYMBOLS.values()).index(row.split(", ")[0]))
    beside = {words: (colour, bars[method]) for method, (words, colour) in _BESIDE.items()}
    return forest_figure({row: draws[row] for row in rows}, beside)
