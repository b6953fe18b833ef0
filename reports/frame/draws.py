"""Draws behind a page: from the file of a cell, or those that the page's record keeps."""

from __future__ import annotations

import numpy as np

from bayes_lssvm.base.arviz import read_netcdf
from bayes_lssvm.base.typing import Array
from reports.frame.write import KEPT
from validation.harness import FinishedCell


def draws_of(cell: FinishedCell) -> dict[str, Array]:
    """Draws of a cell, of shape (chains, draws) each."""
    if cell.draws is None:
        return {name: np.array(values) for name, values in cell.values[KEPT].items()}
    posterior = read_netcdf(cell.draws)["posterior"]
    return {str(name): np.asarray(values.values) for name, values in posterior.data_vars.items()}


def has_draws(cell: FinishedCell) -> bool:
    """Whether there are draws to show; records of pages keep some of them."""
    return cell.draws is not None or KEPT in cell.values


def energies_of(cell: FinishedCell) -> Array | None:
    """Energies of the chains, of shape (chains, draws), where the sampler has them; records of pages do not."""
    if cell.draws is None:
        return None
    statistics = read_netcdf(cell.draws)["sample_stats"]
    return np.asarray(statistics["energy"].values) if "energy" in statistics.data_vars else None


def largest_rhat(cell: FinishedCell) -> float:
    """The largest R-hat of a cell's chains; infinite where they never moved, and 0 where it has none."""
    values = [check.value for check in cell.checks if check.name == "R-hat"]
    return max((v if v == v else float("inf") for v in values), default=0.0)
