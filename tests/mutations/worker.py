"""Runs tests against faults, inside a copy of the tree: `python -m tests.mutations.worker JOB RESULTS`.

What costs time is done once. The packages that the tests import are loaded before the first fork, and every fault gets
a process of its own. A first run without a fault notes which lines each test reaches and how long it takes; a fault is
then run against the tests that reach it up to the first failure: one case of every test first, the fastest before the
others, then the other cases. Where a row of an equation map names the tests, what is noted is finer than a line: the
instructions that run. In `a if weights is None else b` a test without weights does not reach b.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.mutations.operators import Mutant

PRELOADED = ("numpy", "scipy.linalg", "scipy.optimize", "scipy.stats", "scipy.integrate", "sklearn.utils", "hypothesis")
LEAST_SECONDS, PATIENCE = 30.0, 6.0
"""A fault may take six times as long as all its tests without it, and half a minute; then its loop has no end."""


class Reach:
    """Which lines of some files each test reaches, its fixtures included, and how long it takes.

    With `instructions` also the places in the text, as (file, line, column, last line, last column), of what runs.
    """

    def __init__(self, files: list[str], instructions: bool = False) -> None:
        self.files = {str(Path(file).resolve()): file for file in files}
        self.instructions = instructions
        self.places: dict[Any, list[tuple[Any, ...]]] = {}
        self.at_import: set[tuple[Any, ...]] = set()
        self.now = self.at_import
        self.fixtures: dict[str, set[tuple[Any, ...]]] = {}
        self.tests: dict[str, Any] = {}

    def trace(self, frame: Any, event: str, argument: Any) -> Any:
        file = self.files.get(frame.f_code.co_filename)
        if file is None:
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

    @pytest.hookimpl(hookwrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Any:
        before, self.now = self.now, self.fixtures.setdefault(fixturedef.argname, set())
        yield
        self.now = before

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Any:
        self.now, start = set(), time.perf_counter()
        yield
        lines = self.now.union(*(self.fixtures.get(name, ()) for name in item.fixturenames))
        self.tests[item.nodeid] = {"lines": sorted(lines, key=str), "seconds": time.perf_counter() - start}
        self.now = self.at_import


class Chosen:
    """Keeps the tests that are asked for, in the order in which they are."""

    def __init__(self, order: list[str]) -> None:
        self.order = {name: place for place, name in enumerate(order)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda i: self.order[i.nodeid])


def in_a_fork(work: Any, seconds: float) -> int | None:
    """Exit code of `work()` in a process of its own; None where its time was over."""
    child = os.fork()
    if child == 0:
        os.setsid()
        code = 70
        try:
            code = work()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def run_tests(files: list[str], plugin: Any) -> int:
    """Pytest on some files, quietly, up to the first failure and without shrinking what Hypothesis finds."""
    import hypothesis

    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("faults", phases=phases, database=None, derandomize=True)
    hypothesis.settings.load_profile("faults")
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    preloaded = "ignore::pytest.PytestAssertRewriteWarning"
    options = ["-x", "-q", "-p", "no:cacheprovider", "--tb=no", "-W", preloaded]
    return int(pytest.main([*options, *files], plugins=[plugin]))


def reach_of(job: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The tests with the lines that they reach; all of them have to pass."""
    stored = folder / "reach.json"

    def work() -> int:
        reach = Reach(job["sources"], instructions="named" in job)
        threading.settrace(reach.trace)
        sys.settrace(reach.trace)
        code = run_tests(job["tests"], reach)
        sys.settrace(None)
        stored.write_text(json.dumps({"tests": reach.tests, "import": sorted(reach.at_import, key=str)}))
        return code

    code = in_a_fork(work, 3600.0)
    if code != 0:
        raise SystemExit(f"The tests fail without any fault (exit code {code}); run them first: {job['tests']}")
    return json.loads(stored.read_text())


def ordered(tests: dict[str, Any], lines: set[tuple[str, int]], seconds: float) -> list[str]:
    """The tests that reach some lines, one case of each function first, as many as fit into the time."""
    near = [name for name, test in tests.items() if any(tuple(line) in lines for line in test["lines"])]
    cases: Counter[str] = Counter()
    rank = {}
    for name in sorted(near, key=lambda name: tests[name]["seconds"]):
        rank[name] = cases[name.split("[")[0]]
        cases[name.split("[")[0]] += 1
    order, spent = [], 0.0
    for name in sorted(near, key=lambda name: (rank[name], tests[name]["seconds"])):
        spent += tests[name]["seconds"]
        if order and spent > seconds:
            break
        order.append(name)
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


def verdict(mutant: Mutant, reach: dict[str, Any], seconds: float, number: int) -> tuple[str, float]:
    """Whether tests kill a fault, and how long they took."""
    path = Path(mutant.path)
    original, times = path.read_bytes(), path.stat()
    lines = {(mutant.path, line) for line in range(mutant.line, mutant.last_line + 1)}
    tests = reach["tests"]
    if any(tuple(line) in lines for line in reach["import"]):  # a constant of a module: any test may notice
        tests = {name: {**test, "lines": list(lines)} for name, test in tests.items()}
    order = ordered(tests, lines, seconds)
    if not order:
        return "not reached", 0.0
    start = time.perf_counter()
    limit = LEAST_SECONDS + PATIENCE * sum(tests[name]["seconds"] for name in order)
    files = sorted({name.split("::")[0] for name in order})
    try:
        path.write_bytes(mutant.apply(original))
        os.utime(path, (times.st_atime, times.st_mtime + 10 + number))  # no compiled file of another fault fits it
        code = in_a_fork(lambda: run_tests(files, Chosen(order)), limit)
    finally:
        path.write_bytes(original)
        os.utime(path, (times.st_atime, times.st_mtime))
    found = "timed out" if code is None else "killed" if code else "survived"
    return found, time.perf_counter() - start


def main(job_file: str, results: str) -> None:
    """Every fault of a job, one line of JSON for each."""
    job = json.loads(Path(job_file).read_text())
    for name in PRELOADED:
        importlib.import_module(name)
    reach = reach_of(job, Path(job_file).parent)
    settled: set[str] = set()
    with open(results, "a") as out:
        for number, fields in enumerate(job["mutants"]):
            named = job["named"][number] if "named" in job else {}  # the tests that alone may look, and for what
            if named and named["row"] in settled:
                continue
            mutant, own = Mutant(**fields), reach
            if named:
                tests = that_run(of_names(reach["tests"], named["tests"]), mutant, Path(mutant.path).read_bytes())
                own = {**reach, "import": [], "tests": tests}
            found, seconds = verdict(mutant, own, job["seconds"], number)
            if named and found == "not reached":
                continue  # the next fault of the row may be
            settled.add(named.get("row", ""))
            out.write(json.dumps({**fields, **named, "verdict": found, "seconds": round(seconds, 1)}) + "\n")
            out.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
