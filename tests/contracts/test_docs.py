"""The documentation is true: its code runs and prints what it shows, and what it names exists."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import importlib
import io
import itertools
import re
import sys
import warnings
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
RUNNABLE = [
    "guide/quick_start.md",
    "guide/csv.md",
    "guide/imbalance.md",
    "guide/regression.md",
    "guide/probabilities.md",
    "guide/intervals.md",
    "reference/estimators.md",
    "reference/displays.md",
    "reference/kernels_and_solvers.md",
    "theory/levels.md",
    pytest.param("guide/marginalisation.md", marks=pytest.mark.slow),  # every method, chains among them
    "guide/trust.md",
    "guide/threads.md",
    pytest.param("guide/evidence.md", marks=pytest.mark.slow),  # chains of four models
    "guide/multiclass.md",
    "guide/leave_one_out.md",
    pytest.param("guide/input_selection.md", marks=pytest.mark.slow),  # selections and their cross-validation
    "guide/kernels.md",
]

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"[-−]?\d+(?:\.\d+)?(?:e[+-]?\d+)?")
DOTTED = re.compile(r"`(bayes_lssvm(?:\.\w+)+)`")
TEST = re.compile(r"(tests/[\w/]+\.py)::(\w+)")
LINK = re.compile(r"\]\(([^)\s]+)\)")

# every numbered equation of paper 0
LAST = {"2": 30, "3": 18, "4": 13, "5": 3, "A": 4, "B": 3}
EQUATIONS = [f"{section}.{i}" for section, last in LAST.items() for i in range(1, last + 1)]


def text_of(page: str) -> str:
    return (DOCS / page).read_text(encoding="utf-8")


def table_rows(page: str) -> list[list[str]]:
    """The cells of every table row of a page, without headers and rules."""
    lines = [line for line in text_of(page).splitlines() if line.startswith("|")]
    rules = {i for i, line in enumerate(lines) if set(line) <= set("|-: ")}
    body = [line for i, line in enumerate(lines) if i not in rules and i + 1 not in rules]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in body]


# --- code blocks


def blocks(page: str) -> list[tuple[int, str, str]]:
    """(line, code, output shown) for each python block; the output is the text block that follows, if one does."""
    text = text_of(page)
    found = [(text[: m.start()].count("\n") + 2, m[1], m[2]) for m in FENCE.finditer(text)]
    pairs = itertools.pairwise([*found, (0, "", "")])
    return [
        (line, code, then if kind == "text" else "")
        for (line, language, code), (_, kind, then) in pairs
        if language == "python"
    ]


def run(code: str, line: int, page: str, namespace: dict[str, object]) -> str:
    """What a block prints, with the warnings it gives after it as `Category: message`."""
    padded = "\n" * (line - 1) + code  # so that a traceback names the line of the page
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()) as out:
        warnings.simplefilter("always")
        exec(compile(padded, f"docs/{page}", "exec"), namespace)
    return out.getvalue() + "".join(f"{w.category.__name__}: {w.message}\n" for w in caught)


def unit(number: str) -> float:
    """One unit in the last digit that a number shows."""
    mantissa, _, exponent = number.lower().partition("e")
    decimals = len(mantissa.partition(".")[2])
    return 10.0 ** (int(exponent or 0) - decimals)


def value(number: str) -> float:
    return float(number.replace("−", "-"))


def same(printed: str, shown: str) -> bool:
    """Equal text, whatever the line breaks, and numbers equal to one unit of the last digit shown."""
    a, b = " ".join(printed.split()), " ".join(shown.split())
    if NUMBER.sub("#", a) != NUMBER.sub("#", b):
        return False
    pairs = zip(NUMBER.findall(a), NUMBER.findall(b), strict=True)
    return all(abs(value(x) - value(y)) <= 1.001 * max(unit(x), unit(y)) for x, y in pairs)


@pytest.mark.parametrize("page", RUNNABLE)
def test_code_runs_and_prints_what_the_page_shows(page, tmp_path, monkeypatch):
    """All blocks of a page in order, in one namespace and an empty directory; a warning counts as output."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    found = blocks(page)
    assert len(found) >= 1
    try:
        for line, code, shown in found:
            printed = run(code, line, page, namespace)
            assert same(printed, shown), f"docs/{page}:{line} prints\n{printed}\nbut the page shows\n{shown}"
    finally:
        if "jax" in sys.modules:  # a page may switch double precision on for its reader's whole process
            sys.modules["jax"].config.update("jax_enable_x64", False)


@pytest.mark.parametrize(
    ("printed", "shown", "equal"),
    [
        ("a 1.23\n", "a 1.23", True),
        ("a 1.23 b", "a  1.22\nb", True),
        ("a 1.23", "a 1.20", False),
        ("[ 0.5  0.25]", "[0.5 0.25]", False),
        ("9.1e-08", "9.2e-08", True),
        ("9.1e-08", "9.1e-07", False),
        ("-1.5", "1.5", False),
        ("", "something", False),
    ],
)
def test_the_comparison_of_outputs_can_fail(printed, shown, equal):
    assert same(printed, shown) == equal


def test_pages_to_read_only_hold_no_code_that_nobody_runs():
    for page in ("index.md", "theory/notation.md", "theory/equations.md", "theory/errata.md"):
        assert not blocks(page), page


# --- names


def resolve(path: str) -> object:
    """The object of a dotted path; fields of dataclasses and annotated attributes count as attributes."""
    parts = path.split(".")
    for split in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        for name in parts[split:]:
            if isinstance(found, type) and not hasattr(found, name):
                fields = {f.name for f in dataclasses.fields(found)} if dataclasses.is_dataclass(found) else set()
                annotated = {n for cls in found.__mro__ for n in getattr(cls, "__annotations__", {})}
                if name in fields | annotated:
                    return name
            found = getattr(found, name)
        return found
    raise ModuleNotFoundError(path)


@cache
def functions_in(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("page", PAGES)
def test_every_dotted_path_resolves(page):
    for path in set(DOTTED.findall(text_of(page))):
        resolve(path)


@pytest.mark.parametrize("path", ["bayes_lssvm.levels.level2.j5", "bayes_lssvm.level4", "bayes_lssvm.LSSVC.transform"])
def test_a_path_that_does_not_exist_is_found_out(path):
    with pytest.raises(AttributeError):
        resolve(path)


@pytest.mark.parametrize("page", PAGES)
def test_every_test_named_exists(page):
    for file, name in set(TEST.findall(text_of(page))):
        assert (ROOT / file).is_file(), f"{page}: {file}"
        assert name in functions_in(file), f"{page}: {file}::{name}"


def anchors(path: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_every_link_within_the_repository_leads_somewhere(page):
    for target in LINK.findall(text_of(page)):
        if re.match(r"https?://|mailto:", target):
            continue
        name, _, anchor = target.partition("#")
        path = (DOCS / page).parent / name if name else DOCS / page
        assert path.exists(), f"{page}: {target}"
        assert not anchor or anchor in anchors(path), f"{page}: {target}"


def toctree(page: str) -> set[str]:
    """The pages that the tables of contents of a page list, with * standing for the rest of its folder."""
    folder = (DOCS / page).parent
    listed: set[str] = set()
    for body in re.findall(r"^```\{toctree\}\n(.*?)^```$", text_of(page), re.MULTILINE | re.DOTALL):
        for entry in (line for line in body.splitlines() if line and not line.startswith(":")):
            found = folder.glob(f"{entry}.md")
            listed |= {path.resolve().relative_to(DOCS).as_posix() for path in found}
    return listed


@cache
def in_the_site() -> frozenset[str]:
    """Every page that the first one leads to by tables of contents."""
    reached: set[str] = set()
    new = {"index.md"}
    while new:
        reached |= new
        new = set().union(*(toctree(page) for page in new)) - reached
    return frozenset(reached)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_in_a_table_of_contents(page):
    assert page in in_the_site(), f"list docs/{page} in the toctree of a section's index.md"


# --- the equation map and the errata


def equation_rows() -> dict[str, list[str]]:
    """Rows of the map by equation number."""
    return {row[0]: row for row in table_rows("theory/equations.md") if re.fullmatch(r"[2-5AB]\.\d+", row[0])}


def test_every_equation_of_paper_0_has_a_row_and_no_other_has():
    assert len(EQUATIONS) == 71
    assert list(equation_rows()) == EQUATIONS


@pytest.mark.parametrize("number", EQUATIONS)
def test_an_equation_has_code_and_a_test_or_is_marked_as_context(number):
    _, says, code, tests = equation_rows()[number]
    assert says
    if code.startswith(("definition", "context")):
        return
    assert DOTTED.search(code), number
    assert TEST.search(tests), number


@pytest.mark.parametrize(("paper", "last"), [("Paper 1", 15), ("Paper 2", 20)])
def test_every_numbered_equation_of_papers_1_and_2_has_code_and_a_test(paper, last):
    text = text_of("theory/equations_papers_1_to_4.md").split(f"## {paper}\n")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:2] == "| "]
    numbered = {row[0]: row for row in rows if row[0].isdigit()}
    assert list(numbered) == [str(number) for number in range(1, last + 1)]
    for number, (_, says, code, tests) in numbered.items():
        assert says, number
        assert DOTTED.search(code), number
        assert TEST.search(tests), number


def test_only_what_cannot_be_computed_is_marked_as_context():
    context = {n for n, row in equation_rows().items() if row[2].startswith(("definition", "context"))}
    assert context == {"2.7", "2.8", "2.9", "2.20"}


def test_every_erratum_has_a_test():
    rows = [row for row in table_rows("theory/errata.md") if len(row) == 4]
    assert len(rows) >= 15
    for row in rows:
        assert TEST.search(row[3]), row[0]


def test_every_test_of_an_erratum_is_in_the_errata():
    named = {
        name for file, name in TEST.findall(text_of("theory/errata.md")) if file == "tests/contracts/test_errata.py"
    }
    assert named == {name for name in functions_in("tests/contracts/test_errata.py") if name.startswith("test_erratum")}


def test_names_of_the_notation_table_resolve():
    """Code names that are attributes of estimators (trailing underscore) exist on a fitted one."""
    from bayes_lssvm import BayesianLSSVC, datasets

    data = datasets.load("ripley")
    model = BayesianLSSVC("linear", refine=False).fit(data.data, data.target)
    own = text_of("theory/notation.md").partition("## Constants")[0]
    names = set(re.findall(r"`([a-z]\w*_)`", own))
    assert len(names) > 8
    assert not [name for name in names if not hasattr(model, name)]


def test_the_code_of_the_readme_runs(capsys):
    source = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert source is not None
    space: dict[str, object] = {}
    exec(source[1], space)
    assert space["model"].score(*space["ripley"].test_Xy) == pytest.approx(0.903)
    printed = capsys.readouterr().out
    assert "RBF(sigma=1.368) 17.0" in printed
    for figure in ("# 0.903", "# RBF(sigma=1.368…), 17.0 effective"):
        assert figure in source[1]
