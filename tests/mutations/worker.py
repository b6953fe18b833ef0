"""Runs tests against faults, inside a copy of the tree: `python -m tests.mutations.worker JOB RESULTS`.

What costs time is done once. The tests of a job are collected and run without a fault, to note which lines each reaches
and how long it takes; then every fault gets a fork of that process, where `loaded` puts it into the functions that have
it. What runs while modules are imported has to be imported with the fault: it gets a fork of a process without them,
and so does a fault with which a process only waits. A fault is run against the tests that reach it up to the first
failure, the fastest before the others, the many cases of one test later than their times alone would have it. Where a
row of an equation map names the tests, what is noted is finer than a line: the instructions that run. In `a if weights
is None else b` a test without weights does not reach b.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import pytest

from tests.mutations.loaded import Collected, exchange, loaded_functions, run_items
from tests.mutations.operators import Mutant
from tests.mutations.reach import Reach, at_import, lines_of, of_names, ordered, that_run

PRELOADED = ("numpy", "scipy.linalg", "scipy.optimize", "scipy.stats", "scipy.integrate", "sklearn.utils", "hypothesis")
LEAST_SECONDS, PATIENCE, CLOCK = 10.0, 8.0, 12.0
"""A test may take eight times as long with a fault as without it, and ten seconds; then its loop has no end."""
OVER, ANEW = 76, 77  # exit codes of a fork: its time is over; it cannot put a fault into what is loaded

Tests = Callable[[list[str], bytes], int]  # runs these tests, the changed text at hand; 0 where all pass


class Chosen:
    """Keeps the tests that are asked for, in the order in which they are."""

    def __init__(self, order: list[str]) -> None:
        self.order = {name: place for place, name in enumerate(order)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted((i for i in items if i.nodeid in self.order), key=lambda i: self.order[i.nodeid])


def in_a_fork(work: Callable[[], int], seconds: float | None = None) -> int | None:
    """Exit code of `work()` in a process of its own; None where nothing happens for many times so many seconds.

    `OVER` where it took more than that of the processor, or where a test's own limit ended it.
    """
    child = os.fork()
    if child == 0:
        os.setsid()
        code = 70
        try:
            if seconds is not None:
                resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 2))
            code = work()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    end = time.monotonic() + (float("inf") if seconds is None else CLOCK * seconds)
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return OVER if code in (-signal.SIGXCPU, -signal.SIGPROF, -signal.SIGKILL) else code
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


def in_place(job: dict[str, Any], folder: Path, out: TextIO) -> None:
    """The verdicts that a process with the tests loaded can give; what it cannot judge goes into `left.json`."""
    wanted: dict[str, set[int]] = {}
    for fault in job["mutants"]:
        wanted.setdefault(fault["path"], set()).update(range(fault["line"], fault["last_line"] + 1))
    tracer = Reach(job["sources"], "named" in job, wanted)

    def work(session: pytest.Session, items: dict[str, Any]) -> None:
        sys.settrace(None)
        reach = reach_of(tracer, session, items, folder / "reach.json")
        functions, settled, left = loaded_functions(job["sources"]), set[str](), []
        gc.freeze()  # so that the collections of a fork leave the pages alone that it shares

        def run(mutant: Mutant) -> Tests:
            def tests(order: list[str], changed: bytes) -> int:
                if at_import(mutant, reach) or not exchange(mutant, changed, functions):
                    return ANEW
                limits = [LEAST_SECONDS + PATIENCE * reach["tests"][name]["seconds"] for name in order]
                return run_items(session, [items[name] for name in order], limits)

            return tests

        for number in range(len(job["mutants"])):
            named = job["named"][number] if "named" in job else {}  # the tests that alone may look, and for what
            if named and named["row"] in settled:
                continue
            found = tell(job, number, reach, run, out)
            if not (named and found == "not reached"):  # else the next fault of the row may be
                settled.add(named.get("row", ""))
            if found == "unclear":
                left.append(number)
        (folder / "left.json").write_text(json.dumps(left))

    sys.settrace(tracer.trace)
    code = run_tests(job["tests"], Collected(work))
    if code:
        raise SystemExit(f"Pytest cannot run these tests (exit code {code}): {job['tests']}")


def reach_of(tracer: Reach, session: pytest.Session, items: dict[str, Any], stored: Path) -> dict[str, Any]:
    """The tests with the lines that they reach; all of them have to pass."""

    def work() -> int:
        session.config.pluginmanager.register(tracer)
        threading.settrace(tracer.trace)
        sys.settrace(tracer.trace)
        code = run_items(session, list(items.values()))
        sys.settrace(None)
        stored.write_text(json.dumps({"tests": tracer.tests, "import": sorted(tracer.at_import, key=str)}))
        return code

    code = in_a_fork(work)
    if code != 0:
        raise SystemExit(f"The tests fail without any fault (exit code {code}); run them first.")
    return json.loads(stored.read_text())


def tell(
    job: dict[str, Any], number: int, reach: dict[str, Any], run: Callable[[Mutant], Tests], out: TextIO, last=False
) -> str:
    """The verdict on a fault, which is written down but where another process has to look."""
    fields, named = job["mutants"][number], job["named"][number] if "named" in job else {}
    mutant = Mutant(**fields)
    if named:
        tests = that_run(of_names(reach["tests"], named["tests"]), mutant, Path(mutant.path).read_bytes())
        reach = {**reach, "import": [], "tests": tests}
    found, seconds = verdict(mutant, reach, job["seconds"], number, run(mutant))
    if found in ("anew", "waits") and not last:
        return "unclear"
    found = "timed out" if found == "waits" else found
    if not (named and found == "not reached"):
        out.write(json.dumps({**fields, **named, "verdict": found, "seconds": round(seconds, 1)}) + "\n")
        out.flush()
    return found


def verdict(mutant: Mutant, reach: dict[str, Any], seconds: float, number: int, run: Tests) -> tuple[str, float]:
    """Whether tests kill a fault, and how long they took."""
    path = Path(mutant.path)
    original, times = path.read_bytes(), path.stat()
    tests, lines = reach["tests"], lines_of(mutant)
    if at_import(mutant, reach):  # a constant of a module: any test may notice
        tests = {name: {**test, "lines": list(lines)} for name, test in tests.items()}
    order = ordered(tests, lines, seconds)
    if not order:
        return "not reached", 0.0
    start = time.perf_counter()
    limit = LEAST_SECONDS + PATIENCE * sum(tests[name]["seconds"] for name in order)
    changed = mutant.apply(original)
    try:
        path.write_bytes(changed)
        os.utime(path, (times.st_atime, times.st_mtime + 10 + number))  # no compiled file of another fault fits it
        code = in_a_fork(lambda: run(order, changed), limit)
    finally:
        path.write_bytes(original)
        os.utime(path, (times.st_atime, times.st_mtime))
    words: dict[int | None, str] = {None: "waits", OVER: "timed out", 0: "survived", ANEW: "anew"}
    return words.get(code, "killed"), time.perf_counter() - start


def imported_anew(order: list[str], _: bytes) -> int:
    """Tests in a process that imports the text with the fault."""
    return run_tests(sorted({name.split("::")[0] for name in order}), Chosen(order))


def main(job_file: str, results: str) -> None:
    """Every fault of a job, one line of JSON for each."""
    job, folder = json.loads(Path(job_file).read_text()), Path(job_file).parent
    for name in PRELOADED:
        importlib.import_module(name)
    with open(results, "a") as out:
        if in_a_fork(lambda: in_place(job, folder, out) or 0) != 0:
            raise SystemExit("No verdicts; the reason stands above.")
        reach = json.loads((folder / "reach.json").read_text())
        for number in json.loads((folder / "left.json").read_text()):
            tell(job, number, reach, lambda _: imported_anew, out, last=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
