"""The frame of the reports: pages as HTML, the index, the command, and what goes wrong, on a small study of its own."""

from __future__ import annotations

import argparse
import html
import json
import re
import shutil
import subprocess
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from bayes_lssvm import datasets
from reports.__main__ import main
from reports.command import gallery
from reports.command.plan import make_plan
from reports.draw.style import as_png, as_svg, new_figure
from reports.frame.answer import Answer
from reports.frame.diagnostics import diagnostics, warnings_of
from reports.frame.glossary import WORDS
from reports.frame.html import as_html, draw, symbols
from reports.frame.index import groups, write_index
from reports.frame.page import Page, Picture, Row, Section, Table, plain_label
from reports.frame.words import SET_NAMES, joined, minus, number, spelled
from reports.frame.write import read_result, stem, write_page
from reports.pages import PAGES
from validation.harness import Cell, Check, FinishedCell, StudyResult
from validation.registry import STUDIES

# A study through the real runner: Metropolis chains on a line, one of which is stuck at size quick; at size full one
# cell cannot be computed. It refuses regression.
STUDY = """
from dataclasses import dataclass

import numpy as np

from bayes_lssvm.sampling.chains import rhat_and_ess
from bayes_lssvm.base.errors import NoSignalWarning, warn
from validation.harness import Cell, CellResult, Check


@dataclass(frozen=True)
class ChainStudy:
    name: str = "chains"
    title: str = "Chains on a line"
    version: int = 1
    needs_data: bool = True
    own_data: str = ""

    def cells(self, data, size):
        if data.task != "classification":
            raise ValueError("This study is for two classes, and the target is a quantity.")
        fault = {"toy": None, "quick": "stuck", "full": "raises"}[size]
        return [Cell("good", {"fault": None}, 1), Cell("second", {"fault": fault}, 2)]

    def compute(self, cell, data):
        if cell.settings["fault"] == "raises":
            raise ValueError("the matrix <b>K</b> is singular")
        rng = np.random.default_rng(cell.seed)
        draws = rng.normal(data.y.mean(), 1.0, size=(4, 400))
        if cell.settings["fault"] == "stuck":
            draws[0] = 9.0 + 1e-3 * draws[0]
        rhat = float(rhat_and_ess({"x": draws}).rhat["x"])
        passed = rhat < 1.01
        warn("The data hold no signal & little else.", NoSignalWarning)
        words = "have mixed" if passed else "have not mixed"
        check = Check("R-hat", rhat, 1.01, passed, f"R-hat of x is {rhat:.2f}: the chains {words}.")
        return CellResult({"mean": draws.mean(), "map": np.zeros((3, 3))}, (check,))


STUDY = ChainStudy()
"""
PAGE = """
from matplotlib.figure import Figure

from reports.frame.answer import Answer
from reports.frame.page import Page, Picture, Row, Section, Table, plain_label


def page(result):
    first = result.data["feature_names"][0]
    rows = tuple(Row(f.cell.key, (f"{f.values['mean']:.3f}",)) for f in result.cells)
    figure = Figure(figsize=(7.2, 3), layout="constrained")
    axes = figure.subplots()
    axes.plot([0, 1], label=plain_label(first))
    axes.set(xlabel=plain_label(first), title=plain_label(result.data["name"]))
    axes.legend()
    picture = Picture("line", figure, f"A line over {first}.", f"The line rises with {first}; μ_MP is 1.")
    return Page(
        name="chains",
        title=f"Chains of {result.data['target_name']}",
        introduction=f"On {result.data['name']}.",
        answer=Answer("holds", f"The mean of {first} is {rows[0].cells[0]}.", (f"It is of {first}.",), "Always holds."),
        findings=(f"The mean of {first} again.",),
        thumbnail=figure,
        key_table=Table(f"Means of {first}", ("cell", f"mean of {first}"), rows, f"Of {first}."),
        key_picture=picture,
        sections=(Section(f"About {first}", (f"About {first}.",)),),
        methods=(f"Metropolis on {first}.",),
        result=result,
    )
"""


@pytest.fixture
def chains(tmp_path, monkeypatch):
    """The study and its page as modules that are found by name, as the project's own are."""
    folder = tmp_path / "modules"
    folder.mkdir()
    (folder / "chain_study.py").write_text(STUDY, encoding="utf-8")
    (folder / "chain_page.py").write_text(PAGE, encoding="utf-8")
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setitem(STUDIES, "chains", "chain_study")
    monkeypatch.setitem(PAGES, "chains", "chain_page")
    return tmp_path / "out"


def pages_of(index):
    """The pages that an index links to, each once."""
    return list(dict.fromkeys(index.links))


def made(folder, *arguments):
    return main(["--study", "chains", "--output", str(folder), "--jobs", "1", *map(str, arguments)])


class Document(HTMLParser):
    """The structure of a page; `problems` says what a validator or a screen reader would not like."""

    VOID = frozenset({"meta", "link", "img", "br", "hr", "input"})

    def __init__(self, text):
        super().__init__()
        self.open, self.problems, self.headings, self.ids = [], [], [], []
        self.links, self.loads, self.images, self.roles, self.text = [], [], [], [], ""
        self.tables, self.attributes = 0, {}
        self.feed(text)
        self.close()
        if self.open:
            self.problems.append(f"not closed: {self.open}")
        self.problems += [f"no anchor {a}" for a in self.links if a.startswith("#") and a[1:] not in self.ids]
        self.problems += [f"id twice: {i}" for i in set(self.ids) if self.ids.count(i) > 1]
        self.problems += [
            f"labelled by nothing: {i}" for i in self.attributes.get("aria-labelledby", ()) if i not in self.ids
        ]
        steps = zip(self.headings, self.headings[1:], strict=False)
        self.problems += [f"h{a} is followed by h{b}" for a, b in steps if b > a + 1]
        if self.headings.count(1) != 1 or self.headings[0] != 1:
            self.problems.append(f"headings {self.headings}")

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        for name, value in attrs:
            self.attributes.setdefault(name, []).append(value)
            if name.startswith("on"):
                self.problems.append(f"script in {name}")
        if tag in {"script", "iframe", "object", "embed", "base", "form"}:
            self.problems.append(f"<{tag}>")
        if "id" in values:
            self.ids.append(values["id"])
        if "role" in values:
            self.roles.append(values["role"])
        if tag == "a":
            self.links.append(values["href"])
        self.loads += [values[n] for n in ("src", "srcset", "data", "poster") if n in values]
        self.loads += [values["href"]] if tag == "link" else []
        if tag == "html" and values.get("lang") != "en":
            self.problems.append("no language")
        if tag == "img":
            self.images.append(values)
            if "alt" not in values:
                self.problems.append("an image without alt")
        if tag == "table":
            self.tables += 1
            self.header_cells = 0
            if not any(box == ("div", "scroll") for box in self.open):
                self.problems.append("a table outside a scrolling box")
        if tag == "th":
            self.header_cells += 1
            if "scope" not in values:
                self.problems.append("a header cell without scope")
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in self.VOID:
            self.open.append((tag, values.get("class")))

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            self.problems.append(f"</{tag}> closes {self.open[-1:]}")
        else:
            self.open.pop()
        if tag == "table" and not self.header_cells:
            self.problems.append("a table without header cells")

    def handle_data(self, data):
        if self.open and self.open[-1][0] not in {"style", "title"}:
            self.text += data


def checked(path):
    """A page of a folder, after the checks that hold for every page."""
    text = path.read_text(encoding="utf-8")
    document = Document(text)
    assert document.problems == []
    assert all(address.startswith("data:") for address in document.loads)
    for link in document.links:
        assert link.startswith(("#", "data:text/csv;")) or (path.parent / link).is_file(), link
    without_images = re.sub(r"data:[a-z/]+;(charset=utf-8;)?base64,[A-Za-z0-9+/=]+", "", text)
    assert not re.search(r"https?://|url\(|@import", without_images)
    return document


def sample(**changes):
    """A page made by hand, with a result that has one cell and one check."""
    check = Check("R-hat", 1.002, 1.01, True, "R-hat of log_mu is 1.002.")
    cell = FinishedCell(Cell("only", {"kernel": "rbf"}, 7), {"x": 1.0}, (check,), (), 0.5)
    data = {"name": "mine", "n": 30, "d": 2, "sha256": "ab" * 32, "notes": []}
    result = StudyResult("evidence", "Evidence", "toy", data, (cell,), {"versions": {"numpy": "2"}}, Path())
    result = replace(result, **{k: changes.pop(k) for k in ("cells", "data", "provenance") if k in changes})
    table = Table("Key numbers", ("", "value"), (Row("log evidence", ("−256.5",)),))
    return Page(**{
        "name": "evidence", "title": "Evidence", "introduction": "What it is.", "answer": Answer("holds", "It holds."),
        "key_table": table, "sections": (), "methods": ("By quadrature.",), "result": result, **changes,
    })  # fmt: skip


def written(page, folder):
    folder.mkdir(exist_ok=True)
    write_index(folder, title="Report", introduction="All.")
    return checked(write_page(page, folder, command="python -m reports"))


# --- a run that goes well


def test_a_study_becomes_a_page_with_an_index(chains, capsys):
    assert made(chains, "--size", "toy") == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert Path(captured.out.splitlines()[-1]) == (chains / "index.html").resolve()
    page = checked(chains / "chains-ripley.html")
    assert "The mean of" in page.text
    assert "The mean of" in captured.out
    assert page.roles.count("alert") == 0
    index = checked(chains / "index.html")
    assert pages_of(index) == ["chains-ripley.html"]
    assert "The mean of" in index.text
    assert len(index.images) == 1


def test_parts_of_a_page_come_in_their_order(chains):
    made(chains)
    text = checked(chains / "chains-ripley.html").text
    parts = (
        "Chains of", "Checks failed", "Verdict", "With care", "The mean of", "It is of", "Contents", "The line rises",
        "Of xs", "On ripley.", "again.", "About xs.", "Metropolis", "Always holds.", "1 of 2 checks failed",
        "Warnings of the library", "SHA-256", "make report", "@misc{", "Words on this page",
    )  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_a_page_says_where_it_comes_from(chains):
    made(chains, "--size", "toy", "--data", "ripley")
    text = checked(chains / "chains-ripley.html").text
    record = json.loads((chains / "chains-ripley.json").read_text(encoding="utf-8"))
    day = record["provenance"]["date"][:16].replace("T", " ")
    data = datasets.load("ripley")
    assert (record["data"]["n"], record["data"]["d"]) == data.data.shape
    for part in (record["data"]["sha256"], "N = 250 points, d = 2 inputs, and 1000 test points", "numpy",
                 f"{day} UTC", "NoSignalWarning: The data hold no signal & little else.", "Seeds1, 2",
                 "python -m reports --study chains --data ripley --size toy"):  # fmt: skip
        assert part in text
    assert [cell["values"]["mean"] for cell in record["cells"]] != [0.0, 0.0]
    assert record["command"].split()[:3] == ["python", "-m", "reports"]


def test_the_same_command_again_computes_nothing_and_writes_the_same_page(chains):
    made(chains, "--size", "toy")
    first = {path: path.read_bytes() for path in sorted(chains.rglob("*")) if path.is_file()}
    stamps = {path: path.stat().st_mtime_ns for path in (chains / "cells").rglob("*.json")}
    made(chains, "--size", "toy")
    assert stamps
    assert stamps == {path: path.stat().st_mtime_ns for path in (chains / "cells").rglob("*.json")}
    assert first == {path: path.read_bytes() for path in sorted(chains.rglob("*")) if path.is_file()}


# --- checks that fail


def test_a_broken_chain_gives_a_red_banner_and_status_2(chains, capsys):
    assert made(chains) == 2
    captured = capsys.readouterr()
    assert "1 check failed" in captured.err
    assert "the chains have not mixed" in captured.err
    assert Path(captured.out.splitlines()[-1]) == (chains / "index.html").resolve()
    text = (chains / "chains-ripley.html").read_text(encoding="utf-8")
    assert checked(chains / "chains-ripley.html").roles.count("alert") == 1
    banner = re.search(r'<div class="alarm" role="alert">.*?</div>', text, re.DOTALL)[0]
    assert "<code>second</code>" in banner
    assert "the chains have not mixed" in banner
    assert "good" not in banner
    assert "1 check failed" in checked(chains / "index.html").text
    record = json.loads((chains / "chains-ripley.json").read_text(encoding="utf-8"))
    ((key, sentence),) = record["failed"]
    assert (key, "have not mixed" in sentence) == ("second", True)


def test_a_cell_that_cannot_be_computed_gives_a_page_without_numbers(chains, capsys):
    assert made(chains, "--full") == 2
    assert "the matrix <b>K</b> is singular" in capsys.readouterr().err
    page = checked(chains / "chains-ripley.html")
    assert "No verdict: 1 of 2 cells could not be computed." in page.text
    assert "the matrix <b>K</b> is singular" in page.text
    assert "1 of 2 cells could not be computed at all" in page.text
    assert page.roles.count("alert") == 1


def test_a_mistake_in_a_page_is_not_taken_for_a_failed_cell(chains, monkeypatch):
    made(chains, "--size", "toy")
    import chain_page

    monkeypatch.setattr(chain_page, "page", lambda result: result.data["no such name"])
    with pytest.raises(KeyError):
        made(chains, "--size", "toy")


def test_failed_checks_stand_first_and_long_tables_are_folded(tmp_path):
    checks = [Check("R-hat", 1.0 + i / 1e4, 1.01, True, "fine") for i in range(20)]
    checks += [Check("bulk ESS", 812.0, 400.0, True, "fine"), Check("bulk ESS", 37.0, 400.0, False, "37 is too few.")]
    cell = FinishedCell(Cell("only", {}, 0), {}, tuple(checks), (), 0.1)
    page = sample(cells=(cell,))
    found = diagnostics(page.result)
    assert found.sentence.startswith("1 of 22 checks failed.")
    assert [row.cells[0] for row in found.failed.rows] == ["bulk ESS"]
    assert len(found.passed.rows) == 21
    assert found.summary.rows == (
        Row("R-hat", ("20", "0", "1.002", "1.01")),
        Row("bulk ESS", ("2", "1", "37", "400")),
    )
    written(page, tmp_path / "out")
    text = (tmp_path / "out" / "evidence-mine.html").read_text(encoding="utf-8")
    (folded,) = re.findall('<details class="record"><summary>All 21 checks that passed.*?</details>', text, re.DOTALL)
    assert "✗ no" in text[: text.index(folded)]
    assert "✗ no" not in folded


def test_the_worst_value_is_nearest_to_its_limit_or_not_a_number():
    below = [Check("E-FMI", v, 0.3, True, "") for v in (0.9, 0.5, 0.7)]
    nan = [Check("Pareto k", 0.4, 0.7, True, ""), Check("Pareto k", float("nan"), 0.7, False, "No k.")]
    for checks, worst in ((below, "0.5"), (nan, "–")):
        cell = FinishedCell(Cell("only", {}, 0), {}, tuple(checks), (), 0.1)
        assert diagnostics(sample(cells=(cell,)).result).summary.rows[0].cells[2] == worst


def test_many_failures_are_folded_but_counted(tmp_path):
    checks = tuple(Check("R-hat", 2.0, 1.01, False, f"Sentence {i}.") for i in range(30))
    page = written(sample(cells=(FinishedCell(Cell("only", {}, 0), {}, checks, (), 0.1),)), tmp_path / "out")
    assert "18 more" in page.text
    assert page.text.count("Sentence 29.") == 1


def test_a_page_without_checks_says_so(tmp_path):
    cell = FinishedCell(Cell("only", {}, 0), {}, (), (), 0.1)
    assert "No number on this page comes from a sampler" in written(sample(cells=(cell,)), tmp_path / "out").text


def test_a_warning_of_many_cells_is_shown_once():
    cells = tuple(FinishedCell(Cell(key, {}, 0), {}, (), ("No signal.",), 0.1) for key in ("a", "b"))
    assert warnings_of(sample(cells=cells).result) == [("No signal.", ("a", "b"))]


def test_warnings_that_differ_in_numbers_alone_are_shown_once():
    said = {"a": ("γ = 1.2e+10 of 60.",), "b": ("γ = 3 of 61.", "Flat."), "c": ("Flat.",)}
    cells = tuple(FinishedCell(Cell(key), {}, warnings=texts) for key, texts in said.items())
    assert warnings_of(sample(cells=cells).result) == [
        ("γ = 1.2e+10 of 60. (The numbers differ from cell to cell.)", ("a", "b")),
        ("Flat.", ("b", "c")),
    ]


# --- texts of users


NASTY = "<img src=x onerror=alert(1)> $\\frac{$ & \"q\" 'a' </title>"


@pytest.fixture
def nasty_csv(tmp_path):
    path = tmp_path / "my <b>data<b> & $x$.csv"
    name = NASTY.replace('"', '""')
    lines = [f'"{name}",plain,"<i>label</i>"']
    lines += [f"{i % 7},{(i * 5) % 11},{'<u>yes</u>' if i % 7 > 3 else 'no $1 & 2$'}" for i in range(40)]
    lines[5] = f"NA,3,{'no $1 & 2$'}"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_names_of_users_are_escaped_everywhere(chains, nasty_csv, capsys):
    assert made(chains, "--size", "toy", "--data", nasty_csv, "--target", "<i>label</i>") == 0
    (path,) = chains.glob("chains-*.html")
    assert re.fullmatch(r"[A-Za-z0-9._-]+", path.name)
    page, index = checked(path), checked(chains / "index.html")
    for text in (path.read_text(encoding="utf-8"), (chains / "index.html").read_text(encoding="utf-8")):
        assert "<img src=x" not in text
        assert not re.search(r"</?(b|i|u)>", text)
    assert page.text.count(NASTY) >= 6
    assert NASTY in index.text
    assert NASTY in page.images[0]["alt"]
    for part in ("<u>yes</u> (−1), no $1 & 2$ (+1)", "1 row with missing values was left out", "<i>label</i>"):
        assert part in page.text
    assert f"--data '{nasty_csv}' --target '<i>label</i>'" in page.text
    assert NASTY in capsys.readouterr().out


@pytest.mark.parametrize("text", [NASTY, "$", "$$", "a$b$c", r"\$5", "μ_MP $x", "x_1^2"])
def test_plain_labels_are_drawn_as_they_are(text):
    figure = Figure(figsize=(4, 1))
    label = figure.text(0.01, 0.5, plain_label(text))
    as_png(figure, dpi=20)
    drawn, is_formula = label._preprocess_math(label.get_text())
    assert (drawn, is_formula) == (text, False)


def test_a_name_in_a_script_that_the_font_lacks_does_not_stop_a_page(tmp_path):
    figure = Figure(figsize=(2, 1))
    figure.text(0.1, 0.5, "收縮壓")
    section = Section("收縮壓", pictures=(Picture("a", figure, "收縮壓 over age", "收縮壓"),))
    assert "收縮壓" in written(sample(sections=(section,)), tmp_path / "out").text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("μ_MP < ζ_*", "μ<sub>MP</sub> &lt; ζ<sub>*</sub>"),
        ("γ_eff = 17 %", "γ<sub>eff</sub> = 17&nbsp;%"),
        ("σ_logμ|D of E_W, N_eff", "σ<sub>logμ|D</sub> of E<sub>W</sub>, N<sub>eff</sub>"),
        ("`bayes_lssvm.trust` and `<b>`", "<code>bayes_lssvm.trust</code> and `&lt;b&gt;`"),
        ("column my_E_W, some_name, bμ_x", "column my_E_W, some_name, bμ_x"),
    ],
)
def test_indices_are_set_low_after_escaping(text, expected):
    assert symbols(text) == expected


def test_numbers_have_a_true_minus_sign():
    assert [number(v) for v in (-0.12346, 1e-7, None, float("nan"), float("inf"))] == [
        "−0.1235",
        "1e−07",
        "–",
        "–",
        "inf",
    ]


def test_names_are_joined_as_in_a_sentence():
    assert [joined(["a", "b", "c"][:n]) for n in (1, 2, 3)] == ["a", "a and b", "a, b and c"]


def test_a_record_gives_back_the_result_behind_the_page(tmp_path):
    checks = (Check("R-hat", 1.002, 1.01, True, "Fine."), Check("k", float("nan"), 0.7, False, "Not a number."))
    cell = FinishedCell(Cell("only", {"kernel": "rbf"}, 7), {"x": 1.0, "none": None}, checks, ("A warning.",), 0.5)
    stopped = FinishedCell(Cell("other", {}, 8), {}, error="It stopped.")
    result = sample(cells=(cell, stopped)).result
    path = write_page(sample(cells=(cell, stopped)), tmp_path, command="python -m reports").with_suffix(".json")
    found = read_result(path)
    assert repr(found.cells) == repr(result.cells)  # by their texts, as nan is not nan
    assert found.failed == result.failed
    assert (found.study, found.title, found.size, found.data) == (result.study, result.title, result.size, result.data)


# --- pages made by hand


def test_a_row_with_another_number_of_cells_than_the_header_is_refused():
    with pytest.raises(ValueError, match="Row 'a' of the table 'T' has 2 cells, but the header has 1"):
        Table("T", ("", "x"), (Row("a", ("1", "2")),))


def test_figures_are_embedded_at_their_size_and_written_beside_the_page(tmp_path):
    figure = Figure(figsize=(3, 2))
    figure.subplots().plot([0, 1])
    section = Section("Figures", pictures=(Picture("line", figure, "A rising line.", "It rises."),))
    page = written(sample(sections=(section,)), tmp_path / "out")
    (image,) = page.images
    with Image.open(tmp_path / "out" / "figures" / "evidence-mine" / "line.png") as drawn:
        assert (int(image["width"]), int(image["height"])) == drawn.size == (360, 240)


def test_what_rounds_to_zero_has_no_sign():
    assert [number(v, "+.1f") for v in (-0.04, 0.04, -0.06, 0.06)] == ["0.0", "0.0", "−0.1", "+0.1"]
    assert minus("-0.00 ± 0.01, -0.3, -0.05, +0, 1e-05, 2-0") == "0.00 ± 0.01, −0.3, −0.05, 0, 1e−05, 2−0"


def test_figures_spell_out_what_the_papers_abbreviate():
    assert spelled("bld") == "liver (bld)"
    assert spelled("zoo") == "zoo"
    assert set(SET_NAMES) - {"usps"} <= set(WORDS)


def test_a_page_says_which_paper_it_is_about():
    text = as_html(sample(title="Paper 1 and paper 2: both"), {}, command="make", record="r.json")
    assert f"Paper 1: {WORDS['paper 1']}. " in text
    assert f"Paper 2: {WORDS['paper 2']}. " in text
    assert "Paper 0" not in as_html(sample(), {}, command="make", record="r.json")


def test_two_figures_of_one_name_are_refused():
    pictures = tuple(Picture("same", Figure(), "alt", "caption") for _ in range(2))
    with pytest.raises(ValueError, match="need different names"):
        draw(sample(sections=(Section("S", pictures=pictures),)))


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("evidence", "ripley", "evidence-ripley"),
        ("ripley", "ripley", "ripley"),
        ("evidence-pid", "pid", "evidence-pid"),
        ("evidence", "../../etc/x y", "evidence-etc-x-y"),
        ("evidence", "収縮", "evidence-data"),
        ("map-of-trust", None, "map-of-trust"),
    ],
)
def test_names_of_files(name, data, expected):
    about = None if data is None else {"name": data, "n": 1, "d": 1, "sha256": "", "notes": []}
    assert stem(sample(name=name, data=about)) == expected


def test_index_has_every_page_of_the_folder_and_nothing_else(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    ripley = {"name": "ripley", "n": 250, "d": 2, "sha256": "", "notes": []}
    for page in (sample(name="map", data=None), sample(), sample(data=ripley), sample(name="gone")):
        write_page(page, folder, command="make")
    (folder / "gone-mine.html").unlink()
    (folder / "mine.json").write_text('{"a": 1}')
    (folder / "broken.json").write_text("{")
    (folder / "list.json").write_text("[1]")
    found = groups(folder)
    assert [group.heading for group in found] == [
        "Ripley's data (250 points, 2 inputs)",
        "Mine (30 points, 2 inputs)",
        "Simulated data and reference problems",
    ]
    assert [entry.file for group in found for entry in group.entries] == [
        "evidence-ripley.html",
        "evidence-mine.html",
        "map.html",
    ]
    checked(write_index(folder, title="Report", introduction="All."))


def test_an_index_without_pages_says_so(tmp_path):
    assert "No pages have been written yet." in checked(write_index(tmp_path, title="T", introduction="I")).text


# --- the command


def refused(capsys, folder, *arguments):
    """The sentence on stderr of a command that must end with status 1 before it writes anything."""
    try:
        status = main(["--output", str(folder), *map(str, arguments)])
    except SystemExit as stop:
        status = stop.code
    captured = capsys.readouterr()
    assert status == 1
    assert captured.out == ""
    assert not folder.exists()
    return captured.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--study", "evidense"], "The study 'evidense' does not exist"),
        (["--jobs", "0"], "--jobs is the number of processes: at least 1, but got 0"),
        (["--jobs", "two"], "invalid int value: 'two'"),
        (["--full", "--size", "toy"], "not allowed with argument"),
        (["--target", "y"], "give its path with --data"),
        (["--study", "chains", "--data", "no_such.csv", "--target", "y"], "There is no file 'no_such.csv'"),
        (["--study", "chains", "--data", "ripli"], "no data set is called 'ripli'"),
        (["--study", "section-7-1", "--data", "pid"], "Section 7.1 is about Ripley's data"),
        (["--gallery", "--data", "pid"], "--gallery has its own data sets"),
        (["--gallery", "--study", "chains"], "The gallery does not show chains"),
    ],
)
def test_bad_arguments_get_a_sentence_before_any_work(chains, capsys, arguments, said):
    assert said in refused(capsys, chains, *arguments)


def csv(path, target):
    rows = [f"{i % 7},{(i * 5) % 11},{target(i)}" for i in range(40)]
    path.write_text("\n".join(["a,b,y", *rows]) + "\n")
    return path


def test_three_classes_get_a_sentence_or_one_against_the_rest(chains, tmp_path, capsys):
    path = csv(tmp_path / "three.csv", lambda i: ("cat", "dog", "eel")[i % 3])
    assert "has 3 classes" in refused(capsys, chains, "--study", "chains", "--data", path, "--target", "y")
    assert made(chains, "--size", "toy", "--data", path, "--target", "y", "--positive", "eel") == 0
    assert "not eel (−1), eel (+1)" in checked(chains / "chains-three.html").text


def test_data_that_a_study_refuses(chains, tmp_path, capsys, monkeypatch):
    path = csv(tmp_path / "real.csv", lambda i: i * 0.37)
    arguments = ("--data", path, "--target", "y")
    assert "The study 'chains' cannot use these data: This study is for two classes" in refused(
        capsys, chains, "--study", "chains", *arguments
    )
    # of studies that were not named, those run that can
    monkeypatch.setattr("reports.command.plan.DEFAULT_STUDIES", ("chains",))
    assert "The study 'chains' is left out: This study is for two classes" in refused(capsys, chains, *arguments)


def planned(**changes):
    options = {"study": None, "data": None, "target": None, "positive": None, "size": None, "output": Path("output"),
               "ignore": [], "categories": [], "impute": None, "decimal": None,
               "jobs": 1, "scheduler": None, "gallery": False}  # fmt: skip
    return make_plan(argparse.Namespace(**{**options, **changes}))


def test_without_arguments_it_is_the_report_on_ripleys_data():
    plan = planned()
    own = ["error-bars", "evidence", "bayes-factors", "moderated-output"]
    assert [task.study for task in plan.tasks] == ["section-7-1", *own]
    assert (plan.size, plan.pages, plan.cells) == ("quick", Path("output"), Path("output/cells"))
    assert all(task.data.name == "ripley" for task in plan.tasks)


def test_rows_that_are_left_out_are_said_at_the_start(tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{u:.6f},{v:.6f},{'ab'[int(u + v > 0)]}" for u, v in rng.normal(size=(24, 2))]
    path = tmp_path / "mine.csv"
    path.write_text("\n".join(["u,v,y", *rows, rows[0]]) + "\n", encoding="utf-8")
    plan = planned(data=str(path), target="y", study=["evidence"])
    assert [remark[:41] for remark in plan.remarks] == ["1 of 25 rows is a copy of another, target"]


def test_section_7_1_is_left_out_for_other_data(chains, monkeypatch):
    monkeypatch.setattr("reports.command.plan.DEFAULT_STUDIES", ("section-7-1", "chains"))
    plan = planned(data="hea")
    assert [task.study for task in plan.tasks] == ["chains"]
    assert "Section 7.1 is about Ripley's data" in plan.remarks[0]
    assert [task.study for task in planned(data="Ripley").tasks] == ["section-7-1", "chains"]


def test_all_studies_are_those_of_the_registry(chains):
    assert "chains" in STUDIES
    assert [task.study for task in planned(study=["all"], size="toy").tasks] == list(STUDIES)


def test_a_scheduler_that_is_not_there_gets_a_sentence(chains, capsys, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("reports.command.plan._SCHEDULER_WAIT", 1)
    said = refused(capsys, chains, "--study", "chains", "--scheduler", "tcp://127.0.0.1:9")
    assert "No Dask scheduler answers at 'tcp://127.0.0.1:9'" in said


def test_output_that_is_a_file_gets_a_sentence(chains, tmp_path, capsys):
    taken = tmp_path / "taken"
    taken.write_text("mine")
    assert made(taken, "--size", "toy") == 1
    assert f"could not be written to {taken}" in capsys.readouterr().err
    assert taken.read_text() == "mine"


def test_a_study_of_the_project_on_a_users_own_file(tmp_path, nasty_csv, capsys):
    arguments = ["--data", str(nasty_csv), "--target", "<i>label</i>", "--positive", "<u>yes</u>", "--size", "toy"]
    folder = tmp_path / "out"
    status = main(["--study", "prior-sensitivity", *arguments, "--output", str(folder), "--jobs", "1"])
    captured = capsys.readouterr()
    assert status == (2 if "failed" in captured.err else 0)
    (path,) = folder.glob("prior-sensitivity-*.html")
    page = checked(path)
    assert page.roles.count("alert") == (1 if status else 0)
    assert "<img src=x" not in path.read_text(encoding="utf-8")
    for part in ("1 row with missing values was left out", "no $1 & 2$ (−1), <u>yes</u> (+1)", NASTY):
        assert part in page.text
    assert pages_of(checked(folder / "index.html")) == [path.name]


# --- the gallery


def test_gallery_shows_studies_on_data_that_the_library_ships(monkeypatch):
    shipped = {entry.name for entry in datasets.available() if entry.origin == "shipped"} | {"ripley"}
    known = set(STUDIES)
    assert {exhibit.data for exhibit in gallery.EXHIBITS} - {None} <= shipped
    assert {name for exhibit in gallery.EXHIBITS for name in exhibit.studies} == known


def test_gallery_has_pages_and_records_but_no_draws(chains, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "gallery"
    monkeypatch.setattr(gallery, "FOLDER", folder)
    monkeypatch.setattr(
        gallery, "EXHIBITS", (gallery.Exhibit("ripley", ("chains",)), gallery.Exhibit("hea", ("chains",)))
    )
    assert main(["--gallery", "--size", "toy", "--jobs", "1", "--output", str(chains)]) == 0
    assert Path(capsys.readouterr().out.splitlines()[-1]) == (folder / "index.html").resolve()
    names = ["chains-hea.html", "chains-hea.json", "chains-ripley.html", "chains-ripley.json", "index.html"]
    assert sorted(path.name for path in folder.glob("*.*")) == names
    assert {path.suffix for path in (folder / "figures").rglob("*.*")} == {".svg"}
    assert pages_of(checked(folder / "index.html")) == ["chains-ripley.html", "chains-hea.html"]
    assert "python -m reports --study chains --data hea --size toy" in checked(folder / "chains-hea.html").text
    assert (chains / "cells").is_dir()
    record = json.loads((folder / "chains-hea.json").read_text(encoding="utf-8"))
    mean = record["cells"][0]["values"]["mean"]
    assert mean == float(f"{mean:.6g}") != 0.0
    monkeypatch.setattr(gallery, "MOST_BYTES", 1000)
    assert main(["--gallery", "--size", "toy", "--jobs", "1", "--output", str(chains)]) == 0
    assert "The gallery takes 0." in capsys.readouterr().err


# --- in a browser


PROBE = """<!doctype html><title>-</title><body style="margin:0">
<iframe id="page" width="{width}" height="4000" style="border:0" srcdoc="{page}"></iframe>
<script>page.onload = () => {{
  const root = page.contentDocument.documentElement;
  const outside = [...page.contentDocument.querySelectorAll("body *")].filter(
    e => !e.closest(".scroll") && e.getBoundingClientRect().right > root.clientWidth + 1);
  const broken = [...page.contentDocument.images].filter(i => !i.naturalWidth);
  document.title = [root.scrollWidth, outside.length, broken.length].join(",");
}}</script>"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
@pytest.mark.parametrize("width", [390, 1280])
def test_no_page_is_wider_than_the_screen(chains, nasty_csv, tmp_path, width):
    rows = tuple(Row("a long label " * 4 + "x" * 60, tuple(f"{i * 1e6:.4f}" for i in range(12))) for _ in range(3))
    wide = Table("W" * 80, ("label", *(f"a column called {i}" for i in range(12))), rows, "n" * 200)
    made_folder = tmp_path / "hand"
    made_folder.mkdir()
    write_page(sample(key_table=wide, answer=Answer("fails", "v" * 300)), made_folder, command="c" * 200)
    made(chains, "--data", nasty_csv, "--target", "<i>label</i>")
    for path in (*made_folder.glob("*.html"), *chains.glob("*.html")):
        probe = tmp_path / "probe.html"
        page = html.escape(path.read_text(encoding="utf-8"))
        probe.write_text(PROBE.format(width=width, page=page), encoding="utf-8")
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--dump-dom",
                   f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr", "--window-size=1400,900",
                   f"file://{probe}"]  # fmt: skip
        seen = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        assert re.search("<title>([^<]*)", seen.stdout)[1] == f"{width},0,0", path.name
        assert "CONSOLE" not in seen.stderr


def test_an_svg_file_stays_small_and_its_letters_stay_letters():
    """Filled contours of very many points become a bitmap, lines keep a hundredth of a point."""
    with new_figure(4, 3) as figure:
        axes = figure.subplots()
        x = np.linspace(-3.0, 3.0, 120)
        height = np.sin(3 * x[:, None]) * np.cos(4 * x)
        axes.contourf(x, x, height, levels=40)
        axes.contour(x, x, height, levels=[0.0], colors="black")
        axes.set_title("letters")
        svg = as_svg(figure)
    assert svg == as_svg(figure)
    assert svg.count(b"data:image/png;base64,") == 1
    assert b">letters</text>" in svg
    assert b'<path d="M' in svg  # the line
    assert not re.search(rb' d="[^"]*\.\d{3}', svg)
    assert len(svg) < 200_000
