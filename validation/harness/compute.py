"""Compute one cell, in whatever process: one thread, double precision, warnings and errors as data.

The numbers of a cell depend on the cell and the data alone. So BLAS gets one thread everywhere (sums over threads are
rounded differently), and JAX is in 64 bits for the time of the call, whatever the process is set to.
"""

from __future__ import annotations

import platform
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from bayes_lssvm import __version__
from bayes_lssvm.base.arviz import as_netcdf
from bayes_lssvm.base.errors import BayesLSSVMWarning

from .cell import Cell, CellResult
from .data import StudyData
from .json_values import as_json
from .study import Study

_PACKAGES = ("numpy", "scipy", "scikit-learn", "jax", "numpyro", "arviz-base", "arviz-stats", "neo-ls-svm")
# What a computation may end in without being a mistake in a program: chains that did not mix are a RuntimeError.
_ERRORS = (ValueError, ArithmeticError, np.linalg.LinAlgError, RuntimeError, MemoryError)
# Filters of warnings and thread limits belong to the process, so a Dask worker with threads takes one cell at a time.
_ONE_AT_A_TIME = threading.Lock()


class ComputedCell(NamedTuple):
    """What travels from the worker to the store.

    Attributes
    ----------
    key : str
    record : dict
        values, checks, warnings, seconds and provenance, as JSON will hold them.
    draws : bytes or None
        A netCDF file: a worker on another computer cannot write where the caller keeps its cells.
    error : str or None
    """

    key: str
    record: dict[str, Any]
    draws: bytes | None = None
    error: str | None = None


def compute_cell(study: Study, cell: Cell, data: StudyData | None) -> ComputedCell:
    """Compute a cell; an error that data can cause is part of the outcome, any other one is raised."""
    error, found = None, CellResult({})
    with _ONE_AT_A_TIME, threadpool_limits(limits=1), _double_precision(), _own_warnings() as said:
        began = time.perf_counter()
        try:
            found = study.compute(cell, data)
        except _ERRORS as raised:
            error = f"Could not be computed ({type(raised).__name__}): {raised}"
        seconds = time.perf_counter() - began
    record = {
        "values": found.values,
        # written as text where they are not finite: a limit of infinity is a limit, and nan is a value that fails
        "checks": [{**asdict(c), "value": _number(c.value), "limit": _number(c.limit)} for c in found.checks],
        "warnings": list(dict.fromkeys(said)),
        "seconds": seconds,
        "provenance": {
            "versions": versions(),
            "platform": f"{platform.system()} {platform.machine()}",
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
        },
    }
    what = f"The result of cell {cell.key!r} of the study {study.name!r}"
    return ComputedCell(cell.key, as_json(record, what), None if found.draws is None else as_netcdf(found.draws), error)


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that a result depends on."""
    found = {"python": platform.python_version(), "bayes-lssvm": __version__}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _double_precision() -> Any:
    if find_spec("jax") is None:
        return nullcontext()
    import jax

    return jax.enable_x64(True)


@contextmanager
def _own_warnings() -> Iterator[list[str]]:
    """Collect the library's warnings; those of others are shown as they would have been.

    SciPy's optimisers warn when they subtract infinities, which is what a density of zero gives them.
    """
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", BayesLSSVMWarning)
        warnings.filterwarnings("ignore", "invalid value|overflow|divide by zero", RuntimeWarning, module=r"scipy\.")
        yield said
    for w in caught:
        if issubclass(w.category, BayesLSSVMWarning):
            said.append(f"{w.category.__name__}: {w.message}")
        else:
            warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)


def _number(value: float) -> float | str:
    return float(value) if np.isfinite(value) else str(float(value))
