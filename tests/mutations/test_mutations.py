"""The runner of faults: what it puts into a source, and whether it can tell which faults a test notices."""

from __future__ import annotations

import ast
import importlib
import json
import shutil
import sys

import pytest

from tests.mutations.__main__ import ROOT, run, sample, table
from tests.mutations.areas import AREAS, HERE, Area, equivalents
from tests.mutations.loaded import exchange, loaded_functions
from tests.mutations.mapped import drawn, faults_of, function_tests, map_rows, summary, unfinished
from tests.mutations.operators import mutants_of
from tests.mutations.reach import Reach, of_names, ordered, that_run

SOURCE = '''
"""A triangle: ½ab."""


def area(a, b):
    """½ab, γ-free: 1 + 1."""
    if a < 0:
        raise ValueError(f"{a + b}")
    return 0.5 * a * b


def logs(x):
    return np.log(x) - np.sum(x), -x


def longest(x):
    return max(x) if len(x) > 0 else None
'''


def after(source):
    return {(m.function, " ".join(m.before.split()), m.after) for m in mutants_of(source, "toy.py")}


def test_the_faults_of_a_source():
    found = after(SOURCE)
    assert ("area", "0.5", "1.0") in found
    assert ("area", "0.5 * a * b", "((0.5 * a) / (b))") in found
    assert ("area", "a < 0", "((a) >= (0))") in found
    assert ("logs", "np.log(x) - np.sum(x)", "((np.log(x)) + (np.sum(x)))") in found
    assert ("logs", "np.log(x) - np.sum(x)", "(np.log(x))") in found
    assert ("logs", "np.log(x) - np.sum(x)", "(-(np.sum(x)))") in found
    assert ("logs", "np.log(x)", "np.log(2.0 * (x))") in found
    assert ("logs", "np.sum(x)", "np.mean(x)") in found
    assert ("logs", "np.log(x) - np.sum(x), -x", "(-x, np.log(x) - np.sum(x))") in found
    assert ("longest", "max(x)", "min(x)") in found
    assert not any("a + b" in before for _, before, _ in found)  # what an error says is no formula
    assert after("y = 1e-9 * x > z") == {("", "1e-9 * x > z", "((1e-9 * x) <= (z))")}  # nor is a tolerance


def test_every_fault_is_python_that_differs_from_the_source_in_one_place():
    source = SOURCE.encode()
    for mutant in mutants_of(SOURCE, "toy.py"):
        changed = mutant.apply(source)
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source))
        assert source[mutant.start : mutant.end].decode() == mutant.before


def test_samples_are_of_the_area_and_the_same_again():
    area = AREAS["bridge"]
    first = sample(area, 3, 20)
    assert first == sample(area, 3, 20)
    assert first != sample(area, 4, 20)
    assert len({m.key for m in first} | {(m.start, m.after) for m in first}) >= 20
    assert {m.path for m in first} == set(area.sources)


def test_areas_and_equivalents_are_about_what_is_there():
    faults = [m for path in {key.split("::")[0] for key in equivalents()} for m in all_of(path)]
    every = {m.key for m in faults} | {m.line_key for m in faults}
    assert all((ROOT / path).is_file() for area in AREAS.values() for path in area.sources + area.tests)
    gone = [key for key in equivalents() if key not in every]
    assert not gone, "no such fault any more: " + "; ".join(gone)


def all_of(path):
    return mutants_of((ROOT / path).read_text("utf-8"), path)


def test_what_is_fast_comes_first_and_many_cases_of_one_test_later():
    tests = {
        "t.py::a[0]": {"lines": [["x.py", 3]], "seconds": 0.1},
        "t.py::a[1]": {"lines": [["x.py", 3]], "seconds": 0.2},
        "t.py::a[2]": {"lines": [["x.py", 3]], "seconds": 0.3},
        "t.py::b": {"lines": [["x.py", 2], ["x.py", 3]], "seconds": 0.5},
        "t.py::c": {"lines": [["x.py", 9]], "seconds": 0.0},
        "t.py::d": {"lines": [["x.py", 3]], "seconds": 8.0},
    }
    assert ordered(tests, {("x.py", 3)}, 9.2) == ["t.py::a[0]", "t.py::a[1]", "t.py::b", "t.py::a[2]", "t.py::d"]
    # what does not fit is left out, and nothing else is
    assert ordered(tests, {("x.py", 3)}, 1.0) == ["t.py::a[0]", "t.py::a[1]", "t.py::b"]
    assert ordered({**tests, "t.py::e": tests["t.py::d"]}, {("x.py", 3)}, 9.2)[-1] == "t.py::d"
    assert ordered(tests, {("x.py", 2)}, 0.1) == ["t.py::b"]  # one at least
    assert ordered(tests, {("x.py", 7)}, 9.0) == []


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory):
    root = tmp_path_factory.mktemp("toy")
    shutil.copytree(HERE, root / "tests" / "mutations", ignore=shutil.ignore_patterns("__pycache__"))
    (root / "pyproject.toml").write_text('[tool.pytest.ini_options]\npythonpath = ["."]\n')
    (root / "toy.py").write_text(
        "def area(a, b):\n    return 0.5 * a * b\n\n\ndef far(x):\n    return x + 1\n\n\n"
        "def near(x):\n    return x * 1.0\n\n\nWIDTH = 2.0 * 3.0\n\n\n"
        "def inner(x):\n    def twice(z):\n        return z * 2.0\n\n    return twice(x)\n"
    )
    test = "from toy import WIDTH, area, inner, near\n\n\ndef test_area():\n    assert area(2.0, 3.0) == 3.0\n\n\n"
    test += "def test_width():\n    assert WIDTH == 6.0\n\n\ndef test_inner():\n    assert inner(3.0) == 6.0\n\n\n"
    (root / "tests" / "test_toy.py").write_text(test + "def test_near():\n    assert near(0.0) == 0.0\n")
    before = (root / "toy.py").read_bytes()
    area = Area(("toy.py",), ("tests/test_toy.py",))
    found = run(area, sample(area, 0, 99, root), 30.0, root)
    assert (root / "toy.py").read_bytes() == before
    return {(v["function"], v["before"], v["after"]): v["verdict"] for v in found}


def test_what_a_test_notices_is_killed_and_nothing_else(verdicts):
    assert {v for (function, *_), v in verdicts.items() if function == "area"} == {"killed"}
    assert {v for (function, *_), v in verdicts.items() if function == "far"} == {"not reached"}
    assert {v for (function, *_), v in verdicts.items() if function == "near"} == {"survived"}
    assert {v for (function, *_), v in verdicts.items() if function in ("", "inner.twice")} == {"killed"}


def test_a_fault_is_put_into_what_is_loaded(tmp_path, monkeypatch):
    """Into a function under any name, and one inside another; what an import has computed is not what it would be."""
    source = b"TWO = 1.0 + 1.0\n\n\ndef outer(x):\n    def inner(z):\n        return z * 2.0\n\n    return inner(x)\n"
    (tmp_path / "toy_loaded.py").write_bytes(source)
    monkeypatch.syspath_prepend(tmp_path)
    toy = importlib.import_module("toy_loaded")
    monkeypatch.delitem(sys.modules, "toy_loaded", raising=False)
    path = str(tmp_path / "toy_loaded.py")
    faults = {fault.after: fault for fault in mutants_of(source.decode(), path)}
    assert exchange(faults["((z) / (2.0))"], source, loaded_functions([path]))  # not loaded: it will be read
    monkeypatch.setitem(sys.modules, "toy_loaded", toy)
    functions = loaded_functions([path])
    another = toy.outer
    assert another(3.0) == 6.0
    fault = faults["((z) / (2.0))"]
    assert exchange(fault, fault.apply(source), functions)
    assert another(3.0) == 1.5
    constant = faults["((1.0) - (1.0))"]
    assert not exchange(constant, constant.apply(source), functions)


def test_the_table_counts_them():
    found = [{"verdict": v} for v in ("killed", "timed out", "survived", "not reached", "equivalent")]
    assert table({"toy": found}).splitlines()[2:] == [
        "| toy | 5 | 1 | 2 | 2 | 50 % |",
        "| all | 5 | 1 | 2 | 2 | 50 % |",
    ]


def test_the_results_that_are_kept_are_of_these_areas():
    stored = json.loads((HERE / "results.json").read_text("utf-8"))
    assert set(stored["areas"]) <= set(AREAS)
    page = (ROOT / "docs/reference/mutations.md").read_text("utf-8")
    assert table(stored["areas"]) in page


def test_the_equation_maps_are_read_and_their_functions_found():
    """Every row's names lead to functions, and a row whose function only calls others has the faults of those."""
    rows = {row.key: row for row in map_rows()}
    assert len(rows) > 150
    assert {key.split(":")[0] for key in rows} == {f"Paper {n}" for n in range(5)}
    own, called = faults_of(rows["Paper 2: 11"])
    assert {fault.function for fault in own} == {"target_log_odds"}
    assert not called
    own, called = faults_of(rows["Paper 1: 3"])  # a solver that hands its work on
    assert not own
    assert called
    assert not any(fault.path.startswith("bayes_lssvm/base/") for fault in called)
    job = drawn([rows["Paper 1: 3"], rows["Paper 2: 11"]], seed=1)
    assert len(job["mutants"]) == len(job["named"])
    assert {one["row"] for one in job["named"]} == {"Paper 1: 3", "Paper 2: 11"}
    assert job == drawn([rows["Paper 1: 3"], rows["Paper 2: 11"]], seed=1)


def test_every_function_of_the_maps_has_its_tests_in_one_place():
    """They look at a fault of the function whichever row it was drawn for."""
    rows, held = map_rows(), function_tests()
    assert set(held) == {name for row in rows for name in row.names}
    assert all(held.values())
    assert all(set(held[name]) <= set(row.tests) for row in rows for name in row.names)


def test_a_branch_that_is_not_taken_is_not_reached(tmp_path):
    """In one line, what a test runs of it decides; a constant that Python folds has no instruction of its own."""
    (tmp_path / "toy.py").write_text("def f(x, w=None):\n    return x + 1 if w is None else x * w + (2 - 3)\n")
    source = (tmp_path / "toy.py").read_bytes()
    faults = {mutant.before: mutant for mutant in mutants_of(source.decode(), "toy.py")}
    reach = Reach([str(tmp_path / "toy.py")], instructions=True)
    reach.files = dict.fromkeys(reach.files, "toy.py")
    names: dict[str, object] = {}
    exec(compile(source, str(tmp_path / "toy.py"), "exec"), names)
    before = sys.gettrace()
    sys.settrace(reach.trace)
    names["f"](1.0)
    sys.settrace(before)
    tests = {"t.py::plain": {"lines": [list(place) for place in reach.now], "seconds": 0.0}}
    assert that_run(tests, faults["x + 1"], source) == tests
    assert that_run(tests, faults["x * w"], source) == {}
    assert that_run(tests, faults["2"], source) == tests


def test_a_campaign_goes_on_where_it_ended():
    """Rows that were never run come first, then those that were not red; the others are done."""
    rows = map_rows()[:4]
    verdicts = [{"row": rows[0].key, "verdict": "killed"}, {"row": rows[1].key, "verdict": "survived"}]
    stored = {"verdicts": verdicts, "without faults": [rows[2].key]}
    assert unfinished(rows, stored) == [rows[3], rows[1]]


def test_the_named_tests_alone_look_at_the_fault_of_a_row():
    tests = {"a.py::x[1]": 1, "a.py::x[2]": 2, "a.py::xy": 3, "b.py::x": 4}
    assert of_names(tests, ["a.py::x"]) == {"a.py::x[1]": 1, "a.py::x[2]": 2}
    faults = [{"row": "Paper 1: 3", "verdict": "killed"}, {"row": "Paper 2: 11", "verdict": "survived"}]
    assert summary(faults).splitlines()[-1] == "| all | 2 | 1 | 50 % |"
