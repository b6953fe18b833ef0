"""Run methods over simulated sets, in parallel, so that a killed run continues where it stopped.

Each set is a function of the seed and its number alone. Records are kept in blocks, one JSON file a block in a folder
for each method. A file appears whole or not at all, and carries a checksum, the problem's description, the method and
the versions. A run reads what is there and computes what is missing: more sets, another method, a damaged block.
"""

from __future__ import annotations

import hashlib
import json
import platform
import time
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from tqdm.auto import tqdm

from bayes_lssvm.base.errors import BayesLSSVMWarning
from bayes_lssvm.base.files import write_bytes
from bayes_lssvm.base.typing import Array

from .methods import Method, Outcome
from .simulation import Problem

_FORMAT = 1
_PACKAGES = ("bayes-lssvm", "numpy", "scipy", "scikit-learn", "jax", "numpyro")


class OtherRunError(ValueError):
    """A folder holds results of another problem or method."""


class DamagedBlockWarning(UserWarning):
    """A stored block could not be read and is computed again."""


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
    seconds : float
    """

    index: int
    truth: dict[str, float]
    pit: dict[str, float]
    status: str
    facts: dict[str, float]
    fallback: dict[str, float]
    warned: tuple[str, ...]
    seconds: float


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


def evaluate_set(problem: Problem, method: Method, index: int) -> Record:
    """One record. An error of the method is a status, not the end of the run; its PITs are then missing."""
    data = problem.simulate(index)
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", BayesLSSVMWarning)
        try:
            found = method(data, problem.method_seed(index))
        except (ValueError, ArithmeticError, np.linalg.LinAlgError, RuntimeError) as error:
            found = Outcome({}, f"{type(error).__name__}: {error}")
    warned = tuple(f"{w.category.__name__}: {w.message}" for w in caught)
    return Record(
        index, data.truth, found.pit, found.status, found.facts, found.fallback, warned, time.perf_counter() - began
    )


def _block(problem: Problem, method: Method, indices: list[int]) -> list[Record]:
    return [evaluate_set(problem, method, index) for index in indices]


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that a result depends on."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


class _Store:
    """The blocks of one method in a folder."""

    def __init__(self, folder: Path, identity: dict[str, Any]) -> None:
        self.folder, self.identity = folder, identity

    def read(self) -> dict[int, Record]:
        found: dict[int, Record] = {}
        for path in sorted(self.folder.glob("sets_*.json")):
            try:
                content = json.loads(path.read_text(encoding="utf-8"))
                payload = content["payload"]
                if content["sha256"] != _digest(payload):
                    raise ValueError("its checksum does not match")
                records = [Record(**{**r, "warned": tuple(r["warned"])}) for r in payload["records"]]
            except (ValueError, KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
                message = f"{path.name} of {self.folder} is damaged ({error}); its sets are computed again."
                warnings.warn(message, DamagedBlockWarning, stacklevel=4)
                continue
            if payload["identity"] != self.identity:
                raise OtherRunError(
                    f"{path} belongs to another run: {_difference(payload['identity'], self.identity)}. Choose another "
                    "folder, or the same settings."
                )
            found.update({record.index: record for record in records})
        return found

    def write(self, records: list[Record]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        payload = {"identity": self.identity, "versions": versions(), "records": [asdict(r) for r in records]}
        payload = json.loads(json.dumps(payload))  # tuples as lists, as they will be read
        name = f"sets_{records[0].index:06d}_{records[-1].index:06d}.json"
        content = json.dumps({"sha256": _digest(payload), "payload": payload}, indent=1)
        write_bytes(self.folder / name, content.encode())


def _digest(payload: Any) -> str:
    return hashlib.sha256(json.dumps(payload, sort_keys=True).encode()).hexdigest()


def _difference(found: Any, wanted: dict[str, Any]) -> str:
    if not isinstance(found, dict):
        return "its description is of another kind"
    names = [name for name in {**found, **wanted} if found.get(name) != wanted.get(name)]
    return ", ".join(f"{name} was {found.get(name)!r} and is now {wanted.get(name)!r}" for name in names)


def _blocks(missing: list[int], size: int) -> list[list[int]]:
    """Runs of consecutive sets that do not cross a multiple of `size`, so that names of files do not collide."""
    groups: dict[int, list[list[int]]] = {}
    for index in missing:
        own = groups.setdefault(index // size, [])
        if own and own[-1][-1] == index - 1:
            own[-1].append(index)
        else:
            own.append([index])
    return [block for blocks in groups.values() for block in blocks]


def run(
    problem: Problem,
    methods: Mapping[str, Method],
    *,
    n_sets: int,
    folder: str | Path | None = None,
    jobs: int = 1,
    block: int = 25,
    progress: bool = True,
) -> dict[str, Results]:
    """Every method on every set.

    Parameters
    ----------
    problem : Problem
    methods : mapping of name to method
    n_sets : int
    folder : path, optional
        Where blocks are kept, and found again; without it nothing is kept.
    jobs : int
        Processes.
    block : int
        Sets in a file: what a kill can cost each process.
    progress : bool
        Show a bar, on a terminal.
    """
    if n_sets < 1 or block < 1 or jobs == 0:
        raise ValueError(f"n_sets and block must be positive and jobs not 0, got {n_sets}, {block}, {jobs}.")
    stores: dict[str, _Store | None] = {}
    found: dict[str, dict[int, Record]] = {}
    for name, method in methods.items():
        identity = {"format": _FORMAT, "problem": problem.description(), "method": repr(method)}
        identity = json.loads(json.dumps(identity))
        stores[name] = None if folder is None else _Store(Path(folder) / name, identity)
        store = stores[name]
        found[name] = {} if store is None else store.read()  # refuses a folder of another run before any work
    work = [
        (name, indices)
        for name in methods
        for indices in _blocks([i for i in range(n_sets) if i not in found[name]], block)
    ]
    missing = sum(len(indices) for _, indices in work)
    with tqdm(total=missing, desc="sets", disable=None if progress else True, leave=False) as bar:
        for name, records in _computed(problem, methods, work, jobs):
            own = stores[name]
            if own is not None:
                own.write(records)
            found[name].update({record.index: record for record in records})
            bar.update(len(records))
    return {name: Results(name, tuple(found[name][i] for i in range(n_sets))) for name in methods}


def _computed(
    problem: Problem, methods: Mapping[str, Method], work: list[tuple[str, list[int]]], jobs: int
) -> Iterator[tuple[str, list[Record]]]:
    if jobs == 1:
        for name, indices in work:
            yield name, _block(problem, methods[name], indices)
        return
    with parallel_config("loky", inner_max_num_threads=1):
        parallel = Parallel(n_jobs=jobs, return_as="generator_unordered")
        yield from parallel(delayed(_named_block)(name, problem, methods[name], i) for name, i in work)


def _named_block(name: str, problem: Problem, method: Method, indices: list[int]) -> tuple[str, list[Record]]:
    return name, _block(problem, method, indices)
