"""The harness of reproduced tables: scores, statistics, files, the command, and runs that are killed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from reports.frame.answer import Answer
from reports.frame.html import as_html
from reports.frame.page import Page
from reports.pages.papers import (
    comparison_table,
    counts,
    differences_picture,
    differences_table,
    explained_sentence,
    mosaic,
    verdict_sentences,
)
from validation.harness import Cell, FinishedCell, StudyResult
from validation.harness.ranks import average_ranks, sign_test, wilcoxon
from validation.harness.splits import random_split, seed_of
from validation.papers import Entry, Published, Reason, ReproducedTable
from validation.papers.files import score_rows
from validation.papers.selection import randomisation_of, set_of
from validation.papers.statistics import mark_of, paired_t, statistics
from validation.papers.text import as_text
from validation.registry import TABLES, get_study

ROOT = Path(__file__).parents[3]
TABLE = "paper0-table1"


def values_of(result):
    return {finished.cell.key: finished.values for finished in result.cells}


# --- statistics ------------------------------------------------------------------------------------------------------


def test_paired_t_by_its_formula():
    rng = np.random.default_rng(1)
    a, b = rng.normal(80.0, 3.0, 10), rng.normal(79.0, 3.0, 10)
    d = a - b
    t = d.mean() / (d.std(ddof=1) / np.sqrt(10))
    assert paired_t(a, b) == pytest.approx(2 * stats.t.sf(abs(t), 9), rel=1e-12)
    assert paired_t(a, a) == 1.0
    assert paired_t(a, a - 2.0**-3) < 1e-9


def test_marks_at_the_papers_levels():
    assert [mark_of(p) for p in (0.06, 0.04, 0.009)] == ["not different", "different", "clearly different"]


def test_tests_over_rows_leave_out_equal_rows():
    a, b = np.array([5.0, 6.0, 7.0, 8.0]), np.array([4.0, 6.0, 5.0, 5.0])
    assert sign_test(a, b) == pytest.approx(0.25)  # three wins of three: 2/8
    assert wilcoxon(a, b) == pytest.approx(0.25)
    assert sign_test(a, a) == wilcoxon(a, a) == 1.0


def test_average_ranks_share_ties():
    means = np.array([[3.0, 2.0, 2.0], [1.0, 2.0, 3.0]])
    np.testing.assert_allclose(average_ranks(means), [2.0, 2.25, 1.75])
    np.testing.assert_allclose(average_ranks(means, higher_is_better=False), [2.0, 1.75, 2.25])


def test_statistics_pair_randomisations_and_leave_out_incomplete_rows():
    rng = np.random.default_rng(2)
    base = {r: float(rng.normal(80.0, 5.0)) for r in range(10)}
    scores = {
        "x": {"A": base, "B": {r: v - 1.0 + 0.1 * (r % 3) for r, v in base.items()}},
        "y": {"A": base, "B": {r: base[r] for r in range(5)}},
        "z": {"A": base},
    }
    found = statistics(scores, ("x", "y", "z"), ("A", "B"))
    assert found is not None
    assert found.rows == ("x", "y")
    assert found.marks["x", "A"] == "best"
    assert found.marks["x", "B"] == "clearly different"  # small next to the spread, but always there
    assert found.p_values["y", "A"] == 1.0 or found.p_values["y", "B"] == 1.0
    assert found.best == "A" or found.averages["B"] >= found.averages["A"]
    assert statistics(scores, ("z",), ("A", "B")) is None


# --- a table, in words, files and pages ------------------------------------------------------------------------------


@pytest.fixture
def small():
    entries = (
        Entry("one", "A", (80.0, 82.0), Published(80.0, 1.0)),
        Entry("one", "B", (90.0, 92.0), Published(80.0, 1.0), Reason("The data are larger.")),
        Entry("two", "A", (70.0, 71.0), Published(80.0, 1.0), Reason("The <b>coding</b> is another.", "a test")),
        Entry("two", "B", (), Published(75.0, 1.0)),
        Entry("one", "ours", (85.0, 86.0)),
    )
    return ReproducedTable(
        TABLE,
        "A table",
        "Paper 9, Table 1",
        "accuracy, %",
        True,
        ("one", "two"),
        ("A", "B", "ours"),
        entries,
        ("Rest.",),
    )


def test_verdicts_in_a_table_and_in_words(small):
    rows = {row.label: row.cells for row in comparison_table(small).rows if row.label != "  paper"}
    assert rows["one"] == ("81.0 (1.4) =", "91.0 (1.4) ▲", "85.5 (0.7)")
    assert rows["two"] == ("70.5 (0.7) ▼", "–", "–")
    found = differences_table(small)
    assert [row.label for row in found.rows] == ["one, B", "two, A"]
    assert found.rows[0].cells[3:] == ("▲ better", "Not known. The data are larger.")
    assert found.rows[1].cells[2:] == ("−9.5 sd", "▼ worse", "The <b>coding</b> is another. Test: a test.")
    assert explained_sentence([small]) == "The worse entry has an explanation that a test supports."
    bare = replace(small, entries=tuple(replace(e, why=Reason()) for e in small.entries))
    assert explained_sentence([bare]).endswith("; for 1 (33.3 % of all compared) it is not known: two, A.")
    text = " ".join(verdict_sentences(small))
    assert "of 3 entries that can be compared, 1 lie" in text
    assert "Worse: two, A (−9.5 sd)." in text
    assert "1 entry is not computed (two)." in text
    assert text.endswith("Rest.")
    assert counts([small]) == {"reproduced": 1, "better": 1, "worse": 1, "ours alone": 1, "not computed": 1}
    printed = as_text(small)
    assert "70.5 (0.7) v" in printed
    assert "1 reproduced, 1 better, 1 worse, 1 ours alone, 1 not computed." in printed


def test_a_mosaic_has_every_printed_entry_and_leads_to_the_reasons(small):
    found = mosaic(small, "section-1")
    assert found.columns == ("A", "B")  # the third is ours alone
    kinds = {label: [square.kind for square in squares] for label, squares in found.rows}
    assert kinds == {"one": ["reproduced", "better"], "two": ["worse", "absent"]}
    links = [square.anchor for _, squares in found.rows for square in squares if square.anchor]
    assert (
        links == [row.anchor for row in differences_table(small).rows] == [f"why-{TABLE}-one-B", f"why-{TABLE}-two-A"]
    )
    assert found.rows[1][1][0].words == "two, A: 70.5, the paper 80.0 (1.0), worse"
    assert mosaic(replace(small, entries=small.entries[-1:]), "section-1") is None
    shown = Page(
        Answer("holds", "x"),
        differences_table(small),
        StudyResult(TABLE, "A table", "toy", None, (), {}, Path()),
        mosaics=(found,),
    )
    html = as_html(shown, {}, command="x", record="x.json")
    for anchor in links:
        assert html.count(f'id="{anchor}"') == html.count(f'href="#{anchor}"') == 1
    assert html.count('class="absent" title="two, B: not computed; the paper has 75.0 (1.0)"') == 1
    assert "Reproduced: our mean lies within two of the paper's standard deviations" in html
    named = shown.mosaics[0]._replace(title="Paper 1, Table 2")
    assert "Paper 1: Cawley and Talbot (2007)" in as_html(
        replace(shown, mosaics=(named,)), {}, command="x", record="x.json"
    )


def test_a_table_of_errors_is_better_below(small):
    lower = replace(small, higher_is_better=False)
    assert [lower.verdict(e) for e in lower.entries[1:3]] == ["worse", "better"]


def test_standard_errors_are_shown_as_such(small):
    entry = Entry("one", "A", (10.0, 12.0), Published(11.5, 0.3, "se"))
    table = replace(small, entries=(entry,), higher_is_better=False)
    assert comparison_table(table).rows[0].cells[0] == "11.0 ± 1.0 ="
    assert comparison_table(table).rows[1].cells[0] == "11.5 ± 0.3"


def test_a_single_score_is_held_against_the_spread_of_single_ones():
    """0.3 is the error of a mean of 100: one score varies by 3, and 2 from the mean is no difference."""
    published = Published(10.0, 0.3, "se", randomisations=100)
    assert Entry("one", "A", (12.0,), published).distance == pytest.approx(2.0 / np.hypot(3.0, 0.3))
    two = Entry("one", "A", (11.0, 13.0), published)
    assert two.distance == pytest.approx(2.0 / np.hypot(1.0, 0.3))
    assert Entry("one", "A", (12.0,), published._replace(randomisations=None)).distance == pytest.approx(2.0 / 0.3)


def test_the_figure_needs_something_to_compare(small):
    assert differences_picture(replace(small, entries=small.entries[3:])) is None
    picture = differences_picture(small)
    assert len([axes for axes in picture.figure.axes if axes.get_visible()]) == 2  # A and B; ours has no panel
    assert "1 reproduced, 1 better, 1 worse" in picture.alt


def test_numbers_of_a_cell_become_rows():
    values = {"columns": {"A": {"error": 1.0}, "B": {"error": 2.0}}, "n": 3, "ok": True, "words": "x", "list": [1]}
    finished = FinishedCell(Cell("hea.svm.07", {"set": "hea", "randomisation": 7}, 5), values, seconds=1.5)
    rows = list(score_rows(finished))
    assert [(row["part"], row.get("error"), row.get("n")) for row in rows] == [
        ("", None, 3),
        ("A", 1.0, None),
        ("B", 2.0, None),
    ]
    assert {row["data"] for row in rows} == {"hea"}
    assert {row["randomisation"] for row in rows} == {7}


# --- randomisations --------------------------------------------------------------------------------------------------


def test_randomisations_are_partitions_that_belong_to_the_set_and_the_number():
    split = random_split("hea", 270, 180, 3)
    assert len(split.train) == 180
    np.testing.assert_array_equal(np.sort(np.concatenate(split)), np.arange(270))
    np.testing.assert_array_equal(random_split("hea", 270, 180, 3).train, split.train)
    assert not np.array_equal(random_split("hea", 270, 180, 4).train, split.train)
    assert not np.array_equal(random_split("ion", 270, 180, 3).train, split.train)
    assert len({seed_of(name, r) for name in ("hea", "ion") for r in range(10)}) == 20


@pytest.mark.parametrize("name", TABLES)
def test_algorithms_of_a_table_share_randomisations_and_seeds(name):
    """Cells of one set and randomisation have one seed, whatever the algorithm."""
    seeds: dict[tuple[str, int], set[int]] = {}
    cells = [cell for cell in get_study(name).cells(None, "toy") if "randomisation" in cell.settings]
    if not cells:
        pytest.skip("this table has no randomisations")
    for cell in cells:
        seeds.setdefault((set_of(cell), randomisation_of(cell)), set()).add(cell.seed)
    assert all(len(found) == 1 for found in seeds.values())
