"""`python -m reports reproduce`: tables by one process, by several, killed, in parts, afresh; and their pages."""

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

from reports.__main__ import main as reports_main
from reports.pages import reproduction as overview
from validation.harness import run, stored
from validation.papers.files import as_csv, as_record
from validation.papers.paper0.table1 import ALGORITHMS, algorithms_of
from validation.papers.selection import largest
from validation.registry import TABLES, get_study, get_table

ROOT = Path(__file__).parents[2]
TABLE = "paper0-table1"


def values_of(result):
    return {finished.cell.key: finished.values for finished in result.cells}


def main(words):
    return reports_main(["reproduce", *words])


def go(folder, *arguments, jobs=1):
    return main([*arguments, "--jobs", str(jobs), "--output", str(folder)])


@pytest.fixture(scope="module")
def by_two(tmp_path_factory):
    """The toy table by two processes of joblib; other tests have one process, and Dask's workers."""
    return run(get_study(TABLE), None, size="toy", folder=tmp_path_factory.mktemp("two"), jobs=2, progress=False)


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


def test_fresh_sets_aside_what_is_named_and_says_so(by_two, tmp_path, capsys):
    folder = tmp_path / "cells" / TABLE / "simulated" / "toy"
    folder.mkdir(parents=True)
    for path in by_two.folder.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    words = ("--size", "toy", "--fresh", "--algorithms", "gp-bay", "--randomisations", "1")
    assert go(tmp_path, TABLE, *words) == 0
    aside = folder.with_name("toy-aside-1")
    assert f"{TABLE}: 1 finished cells are set aside in {aside} and computed again." in capsys.readouterr().err
    assert [path.name for path in aside.iterdir()] == ["cra.gp-bay.00.json"]
    changed = {path.name for path in folder.iterdir() if path.stat().st_mtime_ns != before[path.name]}
    assert changed == {"cra.gp-bay.00.json"}
    assert values_of(stored(get_study(TABLE), size="toy", folder=tmp_path / "cells")) == values_of(by_two)
    assert go(tmp_path, TABLE, *words) == 0
    assert folder.with_name("toy-aside-2").is_dir()


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


def test_a_column_of_ours_alone_has_no_statistics_of_the_papers(tmp_path, capsys):
    assert go(tmp_path, TABLE, "--size", "quick", "--sets", "cra", "--algorithms", "no-occam") == 0
    assert "no Occam" in capsys.readouterr().out
    record = json.loads((tmp_path / "reproduction" / f"{TABLE}.json").read_text(encoding="utf-8"))
    assert record["statistics"] is None


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


def test_a_folder_that_takes_no_files_gets_a_sentence_before_any_work(tmp_path, capsys, monkeypatch):
    words = ["reproduce", "paper0-table1", "--quick", "--sets", "rsy"]
    (tmp_path / "file").touch()
    assert reports_main([*words, "--output", str(tmp_path / "file" / "below")]) == 1
    said = capsys.readouterr().err
    assert said == f"The folder '{tmp_path / 'file' / 'below'}' cannot be made: Not a directory.\n"
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # the superuser may write anywhere
    assert reports_main([*words, "--output", str(tmp_path / "sealed")]) == 1
    said = capsys.readouterr().err
    assert said == f"Nothing can be written in the folder '{tmp_path / 'sealed'}': it is read-only.\n"
    assert not list((tmp_path / "sealed").iterdir())


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
            [sys.executable, "-m", "reports", "reproduce", *words, "--jobs", "1"],
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


@pytest.mark.slow
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
    assert "Compute them first: python -m reports reproduce" in capsys.readouterr().err
    assert reports_main(["--reproduction", "paper9", "--output", str(tmp_path)]) == 1
    assert "The table 'paper9' does not exist" in capsys.readouterr().err


def test_the_overview_counts_all_tables_and_names_the_missing(by_two):
    table = get_table(by_two)
    with_provenance = replace(by_two, provenance={**by_two.provenance, "data": "x"})
    page = overview.page([(table, with_provenance)], ("paper1-table2",))
    assert page.findings[0].startswith("1 of 2 tables have been computed. Of 3 entries that the papers print, ")
    assert page.findings[1] == "Not computed yet: paper1-table2."
    assert page.key_table.rows[0].label == "Paper 0, Table 1"
    assert page.key_table.rows[1].cells[-1] == "all"
    empty = overview.page([], tuple(TABLES))
    assert empty.findings[0].startswith(f"0 of {len(TABLES)} tables")
    assert empty.badge == "with care"  # nothing can be compared


def test_records_hold_no_numbers_that_json_cannot(by_two):
    table = get_table(by_two)
    text = json.dumps(as_record(table, by_two), allow_nan=False)
    assert '"not computed"' in text
    assert as_csv(by_two).splitlines()[0].startswith("cell,data,algorithm,part,randomisation,seed,seconds,accuracy")
