"""The harness of reproduced tables: scores, statistics, files, the command, and runs that are killed."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from reports.__main__ import main as reports_main
from reports.pages import available_tables, page_of
from reports.pages import reproduction as overview
from reports.pages.papers import (
    comparison_table,
    counts,
    differences_picture,
    differences_table,
    plain_page,
    verdict_sentences,
)
from validation.harness import Cell, FinishedCell, run
from validation.harness.splits import random_split, seed_of
from validation.papers import TABLES, Entry, Published, ReproducedTable, get_study, get_table
from validation.papers.__main__ import available, main
from validation.papers.files import as_csv, as_record, score_rows
from validation.papers.paper0.table1 import ALGORITHMS, algorithms_of
from validation.papers.selection import largest, randomisation_of, set_of, stored
from validation.papers.statistics import average_ranks, mark_of, paired_t, sign_test, statistics, wilcoxon
from validation.papers.text import as_text

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
        Entry("one", "B", (90.0, 92.0), Published(80.0, 1.0), "The data are larger."),
        Entry("two", "A", (70.0, 71.0), Published(80.0, 1.0), "The <b>coding</b> is another."),
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
    assert found.rows[1].cells[2:] == ("−9.5 sd", "▼ worse", "The <b>coding</b> is another.")
    text = " ".join(verdict_sentences(small))
    assert "of 3 entries that can be compared, 1 lie" in text
    assert "Worse: two, A (−9.5 sd)." in text
    assert "1 entry is not computed (two)." in text
    assert text.endswith("Rest.")
    assert counts([small]) == {"reproduced": 1, "better": 1, "worse": 1, "ours alone": 1, "not computed": 1}
    printed = as_text(small)
    assert "70.5 (0.7) v" in printed
    assert "1 reproduced, 1 better, 1 worse, 1 ours alone, 1 not computed." in printed


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


@pytest.mark.parametrize("name", available())
def test_algorithms_of_a_table_share_randomisations_and_seeds(name):
    """Cells of one set and randomisation have one seed, whatever the algorithm."""
    seeds: dict[tuple[str, int], set[int]] = {}
    cells = [cell for cell in get_study(name).cells(None, "toy") if "randomisation" in cell.settings]
    if not cells:
        pytest.skip("this table has no randomisations")
    for cell in cells:
        seeds.setdefault((set_of(cell), randomisation_of(cell)), set()).add(cell.seed)
    assert all(len(found) == 1 for found in seeds.values())


# --- the command -----------------------------------------------------------------------------------------------------


def go(folder, *arguments, jobs=1):
    return main([*arguments, "--jobs", str(jobs), "--output", str(folder)])


@pytest.fixture(scope="module")
def by_two(tmp_path_factory):
    """The toy table by two processes of joblib; other tests have one process, and Dask's workers."""
    return run(get_study(TABLE), None, size="toy", folder=tmp_path_factory.mktemp("two"), jobs=2, progress=False)


def test_available_tables_are_in_the_registry():
    assert TABLE in available()
    assert set(available()) <= set(TABLES)
    assert available_tables() == available()


def test_the_command_writes_the_table(by_two, tmp_path, capsys):
    assert go(tmp_path, TABLE, "--size", "toy") == 0
    captured = capsys.readouterr()
    assert "LS-SVM (BayM)" in captured.out
    record = json.loads((tmp_path / "reproduction" / f"{TABLE}.json").read_text(encoding="utf-8"))
    assert record["source"] == "Paper 0, Table 1"
    entry = next(e for e in record["entries"] if (e["row"], e["column"]) == ("cra", "LS-SVM (Bay)"))
    assert entry["verdict"] in ("reproduced", "better", "worse")
    own = [values_of(by_two)[f"cra.lssvm-bay.{r:02d}"]["columns"]["LS-SVM (Bay)"]["accuracy"] for r in (0, 1)]
    assert entry["scores"] == own
    assert entry["mean"] == pytest.approx(np.mean(own))
    assert record["statistics"]["columns"] == ["LS-SVM (BayM)", "LS-SVM (Bay)", "GP (Bay)"]
    assert record["provenance"]["cells"] == 4
    with (tmp_path / "reproduction" / f"{TABLE}.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert {(row["data"], row["part"]) for row in rows} >= {("cra", "LS-SVM (BayM)"), ("cra", "GP (Bay)")}
    # a second run finds everything, and says so
    stamps = {path: path.stat().st_mtime_ns for path in (tmp_path / "cells").rglob("*.json")}
    assert go(tmp_path, TABLE, "--size", "toy", "--resume") == 0
    assert "4 finished cells are kept" in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
    assert go(tmp_path, TABLE, "--size", "toy", "--fresh") == 0
    assert all(path.stat().st_mtime_ns > stamp for path, stamp in stamps.items())


def test_parts_of_one_process_add_up_to_the_table_of_two(by_two, tmp_path, capsys):
    assert go(tmp_path, TABLE, "--size", "toy", "--sets", "cra", "--randomisations", "1") == 0
    assert len(stored(get_study(TABLE), size="toy", folder=tmp_path / "cells").cells) == 2
    assert go(tmp_path, TABLE, "--size", "toy", "--algorithms", "gp-bay") == 0
    kept = stored(get_study(TABLE), size="toy", folder=tmp_path / "cells").cells
    assert [f.cell.key for f in kept] == ["cra.lssvm-bay.00", "cra.gp-bay.00", "cra.gp-bay.01"]
    assert go(tmp_path, TABLE, "--size", "toy") == 0
    capsys.readouterr()
    whole = stored(get_study(TABLE), size="toy", folder=tmp_path / "cells")
    assert values_of(whole) == values_of(by_two)
    assert largest(get_study(TABLE), tmp_path / "cells").size == "toy"
    assert largest(get_study(TABLE), tmp_path / "elsewhere") is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["paper9-table1"], "The table 'paper9-table1' does not exist."),
        ([TABLE, "--sets", "iris"], "has no data set 'iris' at size 'full' here; it has bld, cra"),
        (
            [TABLE, "--algorithms", "lssvm"],
            "has no algorithm 'lssvm' at size 'full' here; it has lssvm-bay, cv10, svm-cv10",
        ),
        ([TABLE, "--sets", "hea", "--algorithms", "c45"], "has no algorithm 'c45'"),
        ([TABLE, "--randomisations", "0"], "--randomisations is a number of randomisations: got 0"),
    ],
    ids=["table", "set", "algorithm", "algorithm of a set", "randomisations"],
)
def test_bad_arguments_get_a_sentence_before_any_work(arguments, sentence, tmp_path, capsys):
    assert go(tmp_path, *arguments) == 1
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "cells").exists()


def test_no_processes_get_a_sentence(tmp_path, capsys):
    assert go(tmp_path, TABLE, jobs=0) == 1
    assert "at least 1, but got 0" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        main([TABLE, "--jobs", "2", "--scheduler", "tcp://127.0.0.1:9"])
    assert stopped.value.code == 1


def test_cells_that_fail_are_said_and_the_rest_is_kept(by_two, tmp_path, monkeypatch, capsys):
    def broken(X, y, seed):
        raise ValueError("the matrix is singular")

    with monkeypatch.context() as patch:
        patch.setitem(ALGORITHMS, "gp-bay", broken)
        assert go(tmp_path, TABLE, "--size", "toy") == 2
    assert "cra.gp-bay.00: Could not be computed (ValueError): the matrix is singular" in capsys.readouterr().err
    record = json.loads((tmp_path / "reproduction" / f"{TABLE}.json").read_text(encoding="utf-8"))
    assert [failure["cell"] for failure in record["failed"]] == ["cra.gp-bay.00", "cra.gp-bay.01"]
    assert go(tmp_path, TABLE, "--size", "toy") == 0  # tried again
    assert values_of(stored(get_study(TABLE), size="toy", folder=tmp_path / "cells")) == values_of(by_two)


# --- killed; elsewhere -----------------------------------------------------------------------------------------------


def test_a_killed_command_goes_on_and_repeats_nothing(tmp_path, capsys):
    """SIGKILL after the first cells of fourteen: what was finished stays as it was, and the rest follows."""
    words = [TABLE, "--quick", "--sets", "cra", "--output", str(tmp_path)]
    with (tmp_path / "stderr").open("w") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "validation.papers", *words, "--jobs", "1"],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
    folder = tmp_path / "cells" / TABLE / "simulated" / "quick"
    try:
        end = time.monotonic() + 2400  # a limit for slow machines: it ends with the first cell
        while not list(folder.glob("*.json")) and process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*.json")}
    assert 0 < len(before) < 14, (tmp_path / "stderr").read_text()
    assert main([*words, "--jobs", "1", "--randomisations", "1"]) == 0
    capsys.readouterr()
    assert {path: path.stat().st_mtime_ns for path in before} == before
    result = stored(get_study(TABLE), size="quick", folder=tmp_path / "cells")
    assert {f.cell.settings["algorithm"] for f in result.cells} == set(algorithms_of("cra"))
    # the pages of what is there; nothing is computed for them
    count = len(list(folder.glob("*.json")))
    assert reports_main(["--reproduction", TABLE, "--output", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "Reproduction: the papers' tables" in out
    assert len(list(folder.glob("*.json"))) == count
    page = (tmp_path / f"{TABLE}.html").read_text(encoding="utf-8")
    for part in ("marginalised", "Paired t-tests within each set", "Log score", "The size &#39;quick&#39; leaves out"):
        assert part in page
    index = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert "The papers&#39; tables" in index
    assert "reproduction.html" in index


def test_two_dask_workers_give_the_numbers_of_joblib(by_two, tmp_path):
    """Workers are processes of their own, as those on other machines are."""
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    ) as local:
        words = [TABLE, "--size", "toy", "--scheduler", local.scheduler_address, "--output", str(tmp_path)]
        assert main(words) == 0
    result = stored(get_study(TABLE), size="toy", folder=tmp_path / "cells")
    assert values_of(result) == values_of(by_two)


# --- pages -----------------------------------------------------------------------------------------------------------


def test_pages_of_nothing_are_refused(tmp_path, capsys):
    assert reports_main(["--reproduction", "--output", str(tmp_path)]) == 1
    assert "Compute them first: python -m validation.papers" in capsys.readouterr().err
    assert reports_main(["--reproduction", "paper9", "--output", str(tmp_path)]) == 1
    assert "The table 'paper9' does not exist" in capsys.readouterr().err


def test_the_overview_counts_all_tables_and_names_the_missing(by_two):
    table = get_table(by_two)
    with_provenance = replace(by_two, provenance={**by_two.provenance, "data": "x"})
    page = overview.page([(table, with_provenance)], ("paper1-table2",))
    assert page.verdict[0].startswith("1 of 2 tables have been computed. Of 3 entries that the papers print, ")
    assert page.verdict[1] == "Not computed yet: paper1-table2."
    assert page.key_table.rows[0].label == "Paper 0, Table 1"
    assert page.key_table.rows[1].cells[-1] == "all"
    empty = overview.page([], tuple(TABLES))
    assert empty.verdict[0].startswith(f"0 of {len(TABLES)} tables")


def test_a_table_without_a_page_of_its_own_gets_a_plain_one(by_two, monkeypatch):
    own = page_of(by_two)
    monkeypatch.setitem(sys.modules["reports.pages"].TABLE_PAGES, TABLE, "reports.pages.no_such_module")
    plain = page_of(by_two)
    assert plain.key_table.rows == own.key_table.rows
    assert plain.title == plain_page(by_two).title == own.title
    assert len(own.sections) > len(plain.sections)


def test_records_hold_no_numbers_that_json_cannot(by_two):
    table = get_table(by_two)
    text = json.dumps(as_record(table, by_two), allow_nan=False)
    assert '"not computed"' in text
    assert as_csv(by_two).splitlines()[0].startswith("cell,data,algorithm,part,randomisation,seed,seconds,accuracy")
