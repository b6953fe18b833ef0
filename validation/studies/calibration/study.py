"""Calibration as a study: simulation-based calibration (SBC) of the posteriors of μ, ζ and σ, in blocks of sets.

Hyperparameters are drawn from the prior and data from the model, and each method says where the truth lies in its
posterior (its PIT, the continuous form of a rank). Over many sets the PIT is uniform if the posterior is right, and
central intervals cover as often as they claim. Simulation, methods and tests are those of
`validation.studies.calibration`, whose scenarios this study runs: a cell is a block of numbered sets of one scenario
with one method. Sets are functions of the scenario's seed and their number, so that blocks of any size, and any number
of sets, agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from validation.harness import Cell, CellResult, Check, FinishedCell, Size, Study

from .catalogue import methods_of
from .records import Record, Results, evaluate_set
from .scenarios import SCENARIOS

FAILED_LIMIT = {"quadrature": 0.0, "laplace": 0.0, "nuts": 0.1}
"""Largest share of a method's sets without a posterior; the closed forms have no limit, as that is what they show."""


class Part(NamedTuple):
    """Sets of one scenario with one method, and how many make a block of some seconds."""

    scenario: str
    method: str
    sets: int
    block: int


def _parts(scenario: str, sets: int, blocks: Mapping[str, int]) -> tuple[Part, ...]:
    return tuple(Part(scenario, method, sets, block) for method, block in blocks.items())


_KNOWN = {"quadrature": 100, "laplace": 250, "hessian": 500, "mackay": 500}
_FREE = {"quadrature": 20, "laplace": 125, "hessian": 125, "mackay": 125}
_BLOCKS = {"free_20": _FREE, "nuts_known_20": {"nuts": 50, "program": 10}, "nuts_free_20": {"nuts": 10}}
PLANS: dict[Size, tuple[Part, ...]] = {
    "toy": (*_parts("known_20", 100, _KNOWN), *_parts("known_100", 30, _KNOWN)),
    "quick": (
        *_parts("known_20", 400, _KNOWN),
        *_parts("known_100", 200, _KNOWN),
        Part("nuts_known_20", "nuts", 100, 50),
    ),
    "full": tuple(
        part for name, own in SCENARIOS.items() for part in _parts(name, own.n_sets, _BLOCKS.get(name, _KNOWN))
    ),
}
"""What each size computes; the full one is what docs/findings/calibration.md shows."""


def cells(data: None, size: Size) -> list[Cell]:
    """Blocks of the scenarios of the calibration study; long ones first, so that none is alone at the end."""
    found = []
    for part in sorted(PLANS[size], key=lambda part: part.block):
        setting = SCENARIOS[part.scenario].setting
        for start in range(0, part.sets, part.block):
            stop = min(start + part.block, part.sets)
            settings = {
                "scenario": part.scenario,
                "method": part.method,
                "start": start,
                "stop": stop,
                "setting": setting.description(),
            }
            found.append(Cell(f"{part.scenario}_{part.method}_{start:05d}_{stop:05d}", settings, setting.seed))
    return found


def compute(cell: Cell, data: None) -> CellResult:
    """The records of a block."""
    setting = SCENARIOS[cell.settings["scenario"]].setting
    name = cell.settings["method"]
    method = methods_of(setting, [name])[name]
    records = [evaluate_set(setting, method, i) for i in range(cell.settings["start"], cell.settings["stop"])]
    return CellResult({"records": [asdict(record) for record in records]}, _checks(name, records))


def _checks(method: str, records: Sequence[Record]) -> tuple[Check, ...]:
    """Methods that should have a posterior for every set: how many have none, and why the first of them."""
    if method not in FAILED_LIMIT:
        return ()
    limit = FAILED_LIMIT[method]
    lost = [record for record in records if record.status != "ok"]
    share = len(lost) / len(records)
    sentence = f"{method} has a posterior for {len(records) - len(lost)} of {len(records)} simulated sets"
    sentence += "." if not lost else f"; set {lost[0].index}: {lost[0].status}"
    return (Check("sets without a posterior", share, limit, share <= limit, sentence),)


def collect(cells: Sequence[FinishedCell]) -> dict[str, dict[str, Results]]:
    """Results by scenario and method, over the sets that every method of a scenario has."""
    records: dict[str, dict[str, dict[int, Record]]] = {}
    for finished in cells:
        if finished.error is None:
            own = records.setdefault(finished.cell.settings["scenario"], {})
            block = own.setdefault(finished.cell.settings["method"], {})
            block.update({kept["index"]: _record(kept) for kept in finished.values["records"]})
    found: dict[str, dict[str, Results]] = {}
    for scenario in (name for name in SCENARIOS if name in records):
        methods = {name: records[scenario][name] for name in SCENARIOS[scenario].methods if name in records[scenario]}
        common = sorted(set.intersection(*(set(own) for own in methods.values())))
        if common:
            found[scenario] = {name: Results(name, tuple(own[i] for i in common)) for name, own in methods.items()}
    return found


def _record(kept: Mapping[str, Any]) -> Record:
    def numbers(name: str) -> dict[str, float]:
        # JSON has no infinity: a number that was not finite is left out, as `column` reads it
        return {key: value for key, value in kept[name].items() if value is not None}

    return Record(
        index=kept["index"],
        truth=numbers("truth"),
        pit=numbers("pit"),
        status=kept["status"],
        facts=numbers("facts"),
        fallback=numbers("fallback"),
        warned=tuple(kept["warned"]),
    )


STUDY = Study(
    name="calibration",
    title="Calibration: do error bars cover as often as they claim?",
    cells=cells,
    compute=compute,
    needs_data=False,
)
"""A cell is a block of simulated sets of one scenario and one method."""
