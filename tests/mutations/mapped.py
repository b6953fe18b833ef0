"""Does the test that an equation's row names go red when its function is broken? `python -m tests.mutations.mapped`.

The equation maps (`docs/theory/equations*.md`) name for each equation the functions that compute it and the tests that
show it, and `equations_functions.md` the tests that hold a function whatever the equation. A row is drawn, and a fault
from what its tests run of its functions, or where these have none of what they call. The row's tests and those of its
functions alone look at it. Faults that `equivalent.json` shows to change nothing are not drawn.
"""

from __future__ import annotations

import argparse
import ast
import functools
import inspect
import json
import random
import re
import textwrap
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from tests.mutations.__main__ import KILLED, ROOT, execute
from tests.mutations.areas import equivalents
from tests.mutations.operators import Mutant, mutants_of

MAPS = ("docs/theory/equations.md", "docs/theory/equations_papers_1_to_4.md")
FUNCTIONS = "docs/theory/equations_functions.md"
DEPTH = 2  # of calls: a function that only calls others has no formula of its own
PACKAGES = ("bayes_lssvm", "validation")
CHECKS = "bayes_lssvm.base"  # input, memory, files: no formula
AT_ONCE = 200  # rows between two writes; for each part the tests are traced once
TRIED = 12  # faults of a row, of which the first that its tests reach counts
_NAME, _TEST = re.compile(r"`((?:bayes_lssvm|validation)\.[\w.]+)"), re.compile(r"tests/[\w/]+\.py::\w+")


class MapRow(NamedTuple):
    """An equation with the dotted names that compute it and the tests that show it or hold these."""

    paper: str
    equation: str  # with a number where rows before it have the same
    names: tuple[str, ...]
    tests: tuple[str, ...]

    @property
    def key(self) -> str:
        """What names it."""
        return f"{self.paper}: {self.equation}"


def map_rows(root: Path = ROOT) -> list[MapRow]:
    """The rows of both maps that have a function and a test."""
    held = function_tests(root)
    found, paper, seen = [], "Paper 0", Counter[tuple[str, str]]()
    for file in MAPS:
        for line in (root / file).read_text("utf-8").splitlines():
            if line.startswith("## Paper"):
                paper = line.removeprefix("## ")
            cells = _cells(line)
            if len(cells) >= 4 and (names := _NAME.findall(cells[-2])) and (tests := _TEST.findall(cells[-1])):
                seen[paper, cells[0]] += 1
                number = f" ({seen[paper, cells[0]]})" if seen[paper, cells[0]] > 1 else ""
                together = dict.fromkeys([*tests, *(test for name in names for test in held.get(name, ()))])
                found.append(MapRow(paper, cells[0] + number, tuple(names), tuple(together)))
    return found


def function_tests(root: Path = ROOT) -> dict[str, list[str]]:
    """The tests that hold a function whatever the equation, by its dotted name."""
    rows = [_cells(line) for line in (root / FUNCTIONS).read_text("utf-8").splitlines()]
    return {name: _TEST.findall(row[1]) for row in rows if len(row) == 2 for name in _NAME.findall(row[0])}


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []


def object_of(name: str) -> Any:
    """The function, method or class of a dotted name; of a field the class that has it."""
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: Any = import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            inner = inspect.getattr_static(found, part, None) if inspect.isclass(found) else getattr(found, part)
            found = found if inner is None else inner
        return function_of(found)
    raise ImportError(f"{name} is in no module.")


def function_of(found: Any) -> Any:
    """What stands behind a property, a class method or a wrapper."""
    for attribute in ("__func__", "fget", "func", "fn"):
        found = getattr(found, attribute, None) or found
    return inspect.unwrap(found) if callable(found) else found


def with_called(found: Any, depth: int = DEPTH) -> Iterator[Any]:
    """A function or class, and the package's functions that its body calls by name or on itself, so many steps deep."""
    module = str(getattr(found, "__module__", ""))
    if not hasattr(found, "__qualname__") or not module.startswith(PACKAGES) or module.startswith(CHECKS):
        return
    yield found
    if depth == 0 or not inspect.isfunction(found):
        return
    owner = _owner(found)
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(found)))):
        if not isinstance(node, ast.Call):
            continue
        called = None
        if isinstance(node.func, ast.Name):
            called = found.__globals__.get(node.func.id)
        elif isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name):
            if node.func.value.id in ("self", "cls") and owner is not None:
                called = inspect.getattr_static(owner, node.func.attr, None)
            elif inspect.isclass(base := found.__globals__.get(node.func.value.id)):
                called = inspect.getattr_static(base, node.func.attr, None)
        if called is not None and not inspect.isclass(called):
            yield from with_called(function_of(called), depth - 1)


def _owner(found: Any) -> Any:
    """The class of a method."""
    name = found.__qualname__.rpartition(".")[0]
    return found.__globals__.get(name) if name else None


def faults_of(row: MapRow) -> tuple[list[Mutant], list[Mutant]]:
    """The faults in the functions of a row, and those in what these call, but those that change nothing."""
    own = [object_of(name) for name in row.names]
    called = dict.fromkeys(one for start in own for one in with_called(start))
    found = {one: _faults_in(one) for one in called}
    first = [fault for one in own for fault in found.get(one, ())]
    return first, [fault for one, faults in found.items() if one not in own for fault in faults]


@functools.cache
def _faults_of_file(path: str) -> list[Mutant]:
    return mutants_of((ROOT / path).read_text("utf-8"), path)


def _faults_in(one: Any) -> list[Mutant]:
    known, path = equivalents(), str(Path(inspect.getsourcefile(one) or "").relative_to(ROOT))
    return [
        mutant
        for mutant in _faults_of_file(path)
        if mutant.function == one.__qualname__ or mutant.function.startswith(f"{one.__qualname__}.")
        if mutant.key not in known and mutant.line_key not in known
    ]


def drawn(rows: list[MapRow], seed: int) -> dict[str, Any]:
    """A job for the worker: faults of each row in random order, its own functions' first, with the row's tests."""
    mutants, named = [], []
    for row in rows:
        chance = random.Random(f"{seed}, {row.key}")  # the same whatever other rows are drawn with it
        for faults in faults_of(row):
            for mutant in chance.sample(faults, min(TRIED, len(faults))):
                mutants.append(mutant._asdict())
                named.append({"row": row.key, "tests": row.tests})
    sources = sorted({mutant["path"] for mutant in mutants})
    return {"sources": sources, "tests": sorted({t for row in rows for t in row.tests}), "mutants": mutants,
            "named": named}  # fmt: skip


def summary(verdicts: list[dict[str, Any]]) -> str:
    """Markdown: for each paper how many rows had a fault and in how many a named test went red."""
    lines = ["| paper | equations with a fault | a named test is red | share |", "| --- | --- | --- | --- |"]
    every, red = Counter[str](), Counter[str]()
    for fault in verdicts:
        for paper in (fault["row"].split(":")[0], "all"):
            every[paper] += 1
            red[paper] += fault["verdict"] in KILLED
    papers = [*sorted(paper for paper in every if paper != "all"), "all"]
    return "\n".join([*lines, *(f"| {p} | {every[p]} | {red[p]} | {100 * red[p] / every[p]:.0f} % |" for p in papers)])


def unfinished(rows: list[MapRow], stored: dict[str, Any]) -> list[MapRow]:
    """The rows that no verdict is kept of, then those whose verdict is not red."""
    seen = {fault["row"]: fault["verdict"] for fault in stored["verdicts"]}
    left = [row for row in rows if seen.get(row.key) not in KILLED and row.key not in stored["without faults"]]
    return sorted(left, key=lambda row: row.key in seen)


def main() -> None:
    """Draw rows, run, tell; with `--output` every verdict is kept, and a second run goes on where the first ended."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.mutations.mapped", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--seed", type=int, default=0, help="of rows and faults (0)")
    parser.add_argument("--sample", type=int, default=40, help="equations (40)")
    parser.add_argument("--papers", nargs="*", default=[], metavar="N", help="of these papers alone: 0 1 2 3 4")
    parser.add_argument("--without", default="", metavar="WORD", help="leave out tests whose name has this word")
    parser.add_argument(
        "--output", type=Path, help="a JSON file for the verdicts; rows that it has as red are not run again"
    )
    parser.add_argument("--rows", type=int, help="of these at most so many in this run; go on with the same command")
    options = parser.parse_args()
    rows = [r for r in map_rows() if not options.papers or r.paper.removeprefix("Paper ") in options.papers]
    if options.without:
        rows = [r for r in rows if not any(options.without in test for test in r.tests)]
    rows = random.Random(options.seed).sample(rows, min(options.sample, len(rows)))
    stored: dict[str, Any] = {"seed": options.seed, "sample": options.sample, "verdicts": [], "without faults": []}
    if options.output and options.output.exists():
        stored = json.loads(options.output.read_text("utf-8"))
        if (stored["seed"], stored["sample"]) != (options.seed, options.sample):
            parser.error(f"{options.output} is of seed {stored['seed']}, sample {stored['sample']}; name another file.")
    todo = unfinished(rows, stored)[: options.rows]
    for start in range(0, len(todo), AT_ONCE):
        part = todo[start : start + AT_ONCE]
        verdicts = execute({**drawn(part, options.seed), "seconds": 60.0})
        keys, seen = {row.key for row in part}, {fault["row"] for fault in verdicts}
        stored["verdicts"] = [fault for fault in stored["verdicts"] if fault["row"] not in keys] + verdicts
        stored["without faults"] = sorted({*stored["without faults"], *(keys - seen)})
        if options.output:
            options.output.write_text(json.dumps(stored, ensure_ascii=False, indent=1) + "\n", "utf-8")
    for fault in stored["verdicts"]:
        if fault["verdict"] not in KILLED:
            print(f"{fault['verdict']}: {fault['row']}, line {fault['line']} of {fault['path']}: {fault['text']}")
            print(f"    {fault['before']} → {fault['after']}")
    if stored["without faults"]:
        print(f"No fault that a named test reaches: {'; '.join(stored['without faults'])}.")
    print(summary(stored["verdicts"]))


if __name__ == "__main__":
    main()
