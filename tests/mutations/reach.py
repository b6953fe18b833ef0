"""Which tests may notice a fault: those that reach its lines, and where rows name tests its instructions."""

from __future__ import annotations

import functools
import time
from collections import Counter
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from tests.mutations.loaded import last_line
from tests.mutations.operators import Mutant


class Reach:
    """Which lines of some files each test reaches, its fixtures included, and how long it keeps the processor.

    With `instructions` also the places in the text, as (file, line, column, last line, last column), of what runs. Only
    functions that have one of the `wanted` lines of their file are followed, all where nothing is said.
    """

    def __init__(self, files: list[str], instructions: bool = False, wanted: dict[str, set[int]] | None = None) -> None:
        self.files = {str(Path(file).resolve()): file for file in files}
        self.wanted = wanted
        self.followed: dict[Any, bool] = {}
        self.instructions = instructions
        self.places: dict[Any, list[tuple[Any, ...]]] = {}
        self.at_import: set[tuple[Any, ...]] = set()
        self.now = self.at_import
        self.fixtures: dict[str, set[tuple[Any, ...]]] = {}
        self.tests: dict[str, Any] = {}

    def trace(self, frame: Any, event: str, argument: Any) -> Any:
        file = self.files.get(frame.f_code.co_filename)
        if file is None or (event == "call" and not self.follows(frame.f_code, file)):
            return None
        if event == "line" or event == "call":
            self.now.add((file, frame.f_lineno))
            frame.f_trace_opcodes = self.instructions
        elif event == "opcode":
            code = frame.f_code
            if code not in self.places:
                self.places[code] = [(file, line, start, last, end) for line, last, start, end in code.co_positions()]
            self.now.add(self.places[code][frame.f_lasti // 2])
        return self.trace

    def follows(self, code: CodeType, file: str) -> bool:
        """Whether a function has a line that is wanted."""
        if code not in self.followed:
            own = range(code.co_firstlineno, last_line(code) + 1)
            self.followed[code] = self.wanted is None or any(line in own for line in self.wanted.get(file, ()))
        return self.followed[code]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        before, self.now = self.now, self.fixtures.setdefault(fixturedef.argname, set())
        yield
        self.now = before

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        self.now, start = set(), time.process_time()
        yield
        lines = self.now.union(*(self.fixtures.get(name, ()) for name in item.fixturenames))
        self.tests[item.nodeid] = {"lines": sorted(lines, key=str), "seconds": time.process_time() - start}
        self.now = self.at_import


def ordered(tests: dict[str, Any], lines: set[tuple[str, int]], seconds: float) -> list[str]:
    """The tests that reach some lines, as many as fit into the time.

    The fastest come first, but one more case of a test tells less than the one before: it counts as if it took longer.
    """
    near = [name for name, test in tests.items() if any(tuple(line) in lines for line in test["lines"])]
    cases: Counter[str] = Counter()
    price = {}
    for name in sorted(near, key=lambda name: tests[name]["seconds"]):
        cases[name.split("[")[0]] += 1
        price[name] = cases[name.split("[")[0]] * tests[name]["seconds"]
    order, spent = [], 0.0
    for name in sorted(near, key=lambda name: price[name]):
        if not order or spent + tests[name]["seconds"] <= seconds:
            order.append(name)
            spent += tests[name]["seconds"]
    return order


def of_names(tests: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The cases of some test functions."""
    return {case: test for case, test in tests.items() if case.split("[")[0] in names}


def that_run(tests: dict[str, Any], mutant: Mutant, source: bytes) -> dict[str, Any]:
    """The tests that run an instruction of the text that a fault changes; all where it has none (a folded constant)."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def within(line: int, start: int, last: int, end: int) -> bool:
        return mutant.start <= starts[line - 1] + start and starts[last - 1] + end <= mutant.end

    def known(place: Any) -> bool:
        return len(place) == 5 and place[0] == mutant.path and None not in place

    if not any(within(*place) for place in instructions_of(source)):
        return tests
    return {case: test for case, test in tests.items() if any(known(p) and within(*p[1:]) for p in test["lines"])}


@functools.cache
def instructions_of(source: bytes) -> list[tuple[int, int, int, int]]:
    """Where the instructions of a source text stand: (line, column, last line, last column)."""
    found, codes = set(), [compile(source, "source", "exec")]
    while codes:
        code = codes.pop()
        found |= {(a, c, b, d) for a, b, c, d in code.co_positions() if None not in (a, b, c, d) and a > 0}
        codes.extend(constant for constant in code.co_consts if hasattr(constant, "co_positions"))
    return sorted(found)


def lines_of(mutant: Mutant) -> set[tuple[str, int]]:
    """Where a fault stands."""
    return {(mutant.path, line) for line in range(mutant.line, mutant.last_line + 1)}


def at_import(mutant: Mutant, reach: dict[str, Any]) -> bool:
    """Whether what a fault changes runs while modules are imported."""
    lines = lines_of(mutant)
    return any(tuple(line[:2]) in lines for line in reach["import"])
