"""What methods say about simulated sets: a record for each set, and all records of a method.

Each set is a function of the seed and its number alone, so that sets can be evaluated in any order and in any process.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bayes_lssvm.base.errors import BayesLSSVMWarning
from bayes_lssvm.base.typing import Array

from .methods import Method, Outcome
from .simulation import Simulator


@dataclass(frozen=True)
class Record:
    """What one method said about one set.

    Attributes
    ----------
    index : int
    truth, pit, facts, fallback : dict of float
        The truth, and what `Outcome` holds.
    status : str
        "ok", why there is no posterior, or the error that was raised.
    warned : tuple of str
        Warnings of the library.
    """

    index: int
    truth: dict[str, float]
    pit: dict[str, float]
    status: str
    facts: dict[str, float]
    fallback: dict[str, float]
    warned: tuple[str, ...]


@dataclass(frozen=True)
class Results:
    """All records of one method, ordered by the number of the set."""

    method: str
    records: tuple[Record, ...]

    def column(self, name: str, where: str = "pit") -> Array:
        """A quantity of every record, nan where a record lacks it."""
        return np.array([getattr(record, where).get(name, np.nan) for record in self.records], dtype=float)

    @property
    def quantities(self) -> tuple[str, ...]:
        """Names of all quantities with a PIT, those of new targets last."""
        names = dict.fromkeys(name for record in self.records for name in (*record.fallback, *record.pit))
        return tuple(sorted(names, key=lambda name: name.startswith("y_")))


def evaluate_set(problem: Simulator, method: Method, index: int) -> Record:
    """One record. An error of the method is a status, not the end of the run; its PITs are then missing."""
    data = problem.simulate(index)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", BayesLSSVMWarning)
        try:
            found = method(data, problem.method_seed(index))
        except (ValueError, ArithmeticError, np.linalg.LinAlgError, RuntimeError) as error:
            found = Outcome({}, f"{type(error).__name__}: {error}")
    warned = tuple(f"{w.category.__name__}: {w.message}" for w in caught)
    return Record(index, data.truth, found.pit, found.status, found.facts, found.fallback, warned)


def evaluate(problem: Simulator, methods: Mapping[str, Method], *, n_sets: int) -> dict[str, Results]:
    """Every method on the first sets of a problem; nothing is kept, as the study's cells are."""
    if n_sets < 1:
        raise ValueError(f"n_sets must be positive, got {n_sets}.")
    return {
        name: Results(name, tuple(evaluate_set(problem, method, index) for index in range(n_sets)))
        for name, method in methods.items()
    }
