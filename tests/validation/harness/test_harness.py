"""Declared experiments: cells that are stored one by one, found again, and the same wherever they are computed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bayes_lssvm.base.arviz import read_netcdf
from bayes_lssvm.base.errors import BayesLSSVMWarning
from bayes_lssvm.base.table_inputs import Options
from bayes_lssvm.sampling.diagnostics import ChainsDidNotMixError
from validation.harness import (
    Cell,
    CellResult,
    DamagedCellWarning,
    DataError,
    StudyData,
    StudyResult,
    load_data,
    run,
)
from validation.registry import STUDIES, get_study

from .logged import wait_until
from .small import Dying, Failing, Numbers, Raising, Small, computed

ROOT = Path(__file__).parents[3]


def contents(result: StudyResult) -> list[tuple]:
    """All that must not depend on where and when a cell was computed."""
    return [(f.cell, f.values, [repr(c) for c in f.checks], f.warnings, f.error, drawn(f.draws)) for f in result.cells]


def drawn(path: Path | None) -> list | None:
    return None if path is None else read_netcdf(path)["posterior"]["log_mu"].values.tolist()


@pytest.fixture(scope="module")
def ripley_data() -> StudyData:
    return load_data("ripley")


@pytest.fixture
def study(tmp_path) -> Small:
    return Small(str(tmp_path / "log"))


def go(study, data, tmp_path, **options) -> StudyResult:
    return run(study, data, **{"size": "toy", "folder": tmp_path / "store", "progress": False, **options})


# --- results and their store ---------------------------------------------------------------------------------------


def test_a_study_comes_back_whole_and_a_second_run_computes_nothing(study, ripley_data, tmp_path):
    first = go(study, ripley_data, tmp_path)
    assert [f.cell for f in first.cells] == study.cells(ripley_data, "toy")
    assert first["a"].values["odd"] == [None, None, 0.5, True, None]
    expected = np.random.default_rng(0).normal(size=(3, 4))
    np.testing.assert_array_equal(first["a"].values["x"], expected)  # to the last bit through JSON
    (check,) = first["a"].checks
    assert np.isnan(check.value)
    assert check.limit == np.inf
    assert read_netcdf(first["draws"].draws)["posterior"]["log_mu"].shape == (2, 50)
    assert first["a"].draws is None
    assert not first.failed
    again = go(study, ripley_data, tmp_path)
    assert contents(again) == contents(first)
    assert again.provenance == first.provenance
    assert again.data == first.data
    assert computed(study) == dict.fromkeys(study.keys, 1)
    with pytest.raises(KeyError, match="no cell 'z'"):
        again["z"]


def test_a_stored_cell_says_where_it_comes_from(study, ripley_data, tmp_path):
    result = go(study, ripley_data, tmp_path)
    content = json.loads((result.folder / "draws.json").read_text("utf-8"))["payload"]
    assert content["identity"] == {
        "format": 1,
        "study": "small",
        "version": 1,
        "data": ripley_data.sha256,
        "key": "draws",
        "settings": {"scale": 1.0, "rows": [3, 4]},
        "seed": 2,
    }
    assert {"python", "bayes-lssvm", "numpy", "jax"} <= set(content["record"]["provenance"]["versions"])
    assert content["record"]["provenance"]["date"].endswith("+00:00")
    assert len(content["draws_sha256"]) == 64
    assert result.provenance["seeds"] == [0, 1, 2, 3]
    assert result.provenance["data_sha256"] == ripley_data.sha256
    assert result.provenance["seconds"] == sum(f.seconds for f in result.cells)
    assert sorted(path.name for path in result.folder.iterdir()) == [
        "a.json",
        "b.json",
        "c.json",
        "draws.json",
        "draws.nc",
    ]


DAMAGES = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-40]),
    "empty": lambda path: path.write_bytes(b""),
    "other JSON": lambda path: path.write_text("[1, 2]"),
    "a digit": lambda path: path.write_text(path.read_text().replace('"n": 250', '"n": 251')),
    "not text": lambda path: path.write_bytes(b"\xff\xfe\x00"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cell_is_computed_again_with_a_warning_that_names_it(damage, study, ripley_data, tmp_path):
    first = go(study, ripley_data, tmp_path)
    before = (first.folder / "b.json").read_bytes()
    DAMAGES[damage](first.folder / "b.json")
    assert (first.folder / "b.json").read_bytes() != before
    with pytest.warns(DamagedCellWarning, match=r"b\.json is damaged .*'b' is computed again"):
        again = go(study, ripley_data, tmp_path)
    assert contents(again) == contents(first)
    assert computed(study) == {"a": 1, "b": 2, "draws": 1, "c": 1}
    go(study, ripley_data, tmp_path)  # no warning, as warnings are errors here
    assert computed(study)["b"] == 2


@pytest.mark.parametrize("damage", ["changed", "missing"])
def test_damaged_draws_are_computed_again_with_a_warning(damage, study, ripley_data, tmp_path):
    first = go(study, ripley_data, tmp_path)
    expected = contents(first)
    path = first["draws"].draws
    whole = bytearray(path.read_bytes())
    whole[len(whole) // 2] ^= 1
    path.write_bytes(bytes(whole)) if damage == "changed" else path.unlink()
    with pytest.warns(DamagedCellWarning, match=rf"draws\.nc are {'damaged' if damage == 'changed' else 'missing'}"):
        again = go(study, ripley_data, tmp_path)
    assert contents(again) == expected
    assert computed(study) == {"a": 1, "b": 1, "draws": 2, "c": 1}


def test_draws_without_their_json_are_no_finished_cell(study, ripley_data, tmp_path):
    """What a kill between the two files leaves behind."""
    first = go(study, ripley_data, tmp_path)
    (first.folder / "draws.json").unlink()
    assert contents(go(study, ripley_data, tmp_path)) == contents(first)
    assert computed(study)["draws"] == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [({"seed": 7}, "seed was 0 and is now 7"), ({"scale": 2.0}, "settings was"), ({"version": 2}, "version was 1")],
    ids=["seed", "settings", "version"],
)
def test_a_cell_of_another_run_is_computed_again_and_one_line_says_so(
    change, said, study, ripley_data, tmp_path, capfd
):
    go(study, ripley_data, tmp_path)
    other = replace(study, **change)
    result = go(other, ripley_data, tmp_path, progress=True)
    err = [line for line in capfd.readouterr().err.splitlines() if "of another run" in line]
    assert len(err) == 1
    assert said in err[0]
    assert "4 stored cells" in err[0]
    assert computed(study) == dict.fromkeys(study.keys, 2)
    fresh = go(other, ripley_data, tmp_path, folder=tmp_path / "fresh")
    assert contents(result)[:2] == contents(fresh)[:2]


def test_other_data_have_a_folder_of_their_own(study, ripley_data, tmp_path):
    one = go(study, ripley_data, tmp_path)
    flipped = load_data("ripley", positive="class 0")
    two = go(study, flipped, tmp_path)
    assert one.folder != two.folder
    go(study, ripley_data, tmp_path)
    assert computed(study) == dict.fromkeys(study.keys, 2)
    # and data that have changed under the same folder's name are noticed by their hash
    forged = replace(ripley_data, sha256=ripley_data.sha256[:8] + "0" * 56)
    assert go(study, forged, tmp_path).folder == one.folder
    assert computed(study) == dict.fromkeys(study.keys, 3)


def test_draws_of_an_earlier_version_do_not_stay_behind(study, ripley_data, tmp_path):
    first = go(study, ripley_data, tmp_path)
    renamed = Failing(study.log, keys=("fine",), version=3)
    stale = first.folder / "fine.nc"
    stale.write_bytes(b"old")
    go(renamed, ripley_data, tmp_path)
    assert not stale.exists()


# --- what fails ----------------------------------------------------------------------------------------------------


def test_a_failing_cell_is_listed_not_stored_and_tried_again(ripley_data, tmp_path):
    study = Failing(str(tmp_path / "log"))
    with pytest.raises(ChainsDidNotMixError):
        study.compute(Cell("chains", {"scale": 1.0, "rows": [2, 2]}), ripley_data)
    Path(study.log).unlink()
    result = go(study, ripley_data, tmp_path)
    failed = dict(result.failed)
    assert list(failed) == ["chains", "check"]
    assert failed["chains"].startswith("Could not be computed (ChainsDidNotMixError): ")
    assert failed["check"] == "The Pareto shape is 0.9, above 0.7."
    assert result["chains"].error == failed["chains"]
    assert result["chains"].values == {}
    assert result["warned"].warnings == ("NoSignalWarning: The data are noise.",)
    assert not (result.folder / "chains.json").exists()
    assert go(study, ripley_data, tmp_path).failed == result.failed
    assert computed(study) == {"fine": 1, "chains": 2, "check": 1, "warned": 1}


@pytest.mark.parametrize("error", [KeyboardInterrupt, TypeError, KeyError])
def test_an_interruption_leaves_what_is_finished(error, study, ripley_data, tmp_path):
    with pytest.raises(error):
        go(Raising(study.log, error=error), ripley_data, tmp_path)
    result = go(study, ripley_data, tmp_path)
    assert len(result.cells) == 4
    assert computed(study) == dict.fromkeys(study.keys, 1)


def test_warnings_of_others_are_shown(study, ripley_data, tmp_path):
    class Other(Small):
        def compute(self, cell, data):
            warnings.warn("from elsewhere", DeprecationWarning, stacklevel=1)
            warnings.warn("ours", BayesLSSVMWarning, stacklevel=1)
            return CellResult({})

    with pytest.warns(DeprecationWarning, match="elsewhere"):
        result = go(Other(study.log, keys=("a",)), ripley_data, tmp_path)
    assert result["a"].warnings == ("BayesLSSVMWarning: ours",)


def test_mistakes_of_a_study_are_sentences(study, ripley_data, tmp_path):
    for key in ("a/b", "", ".a", "ä", "a" * 200):
        with pytest.raises(ValueError, match="names a file"):
            Cell(key)
    for keys, sentence in ((("a", "A"), "two cells with the key 'A'"), ((), "no cells")):
        with pytest.raises(ValueError, match=sentence):
            go(replace(study, keys=keys), ripley_data, tmp_path)
    with pytest.raises(ValueError, match="toy, quick, full"):
        go(study, ripley_data, tmp_path, size="huge")
    with pytest.raises(ValueError, match="jobs"):
        go(study, ripley_data, tmp_path, jobs=0)
    with pytest.raises(ValueError, match="needs data"):
        go(study, None, tmp_path)
    with pytest.raises(TypeError, match="settings of cell 'a' cannot be kept as JSON"):
        go(replace(study, scale={1, 2}), ripley_data, tmp_path)
    assert computed(study) == {}


@dataclass(frozen=True)
class Simulated(Small):
    """Needs no data, and returns something that JSON cannot hold if asked to."""

    needs_data: bool = False
    odd: bool = False

    def compute(self, cell, data):
        assert data is None
        return CellResult({"f": print if self.odd else 1.0})


def test_a_study_that_simulates_gets_no_data(study, ripley_data, tmp_path):
    result = go(Simulated(study.log), ripley_data, tmp_path)
    assert result.data is None
    assert result.folder.parts[-3:] == ("small", "simulated", "toy")
    with pytest.raises(TypeError, match="result of cell 'a' of the study 'small' cannot be kept"):
        go(Simulated(study.log, odd=True, version=2), None, tmp_path)


# --- killed, and started again -------------------------------------------------------------------------------------


@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_killed_run_continues(jobs, ripley_data, tmp_path):
    """SIGKILL while the third of five cells is computed: nothing finished is repeated or lost."""
    gate = tmp_path / "gate"
    study = Small(str(tmp_path / "log"), keys=("a", "draws", "slow", "b", "c"), wait_for=str(gate))
    code = (
        "from tests.validation.harness.small import Small\nfrom validation.harness import load_data, run\n"
        f"run({study!r}, load_data('ripley'), size='toy', folder={str(tmp_path / 'store')!r}, jobs={jobs})"
    )
    # a file and no pipe: workers that outlive their parent would hold a pipe open
    with (tmp_path / "stderr").open("w") as stderr:
        process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stderr=stderr)
    try:
        folder = tmp_path / "store" / "small" / f"ripley-{ripley_data.sha256[:8]}" / "toy"
        finished = ["a", "draws"] if jobs == 1 else ["a", "b", "c", "draws"]
        wait_until(lambda: process.poll() is not None or len(list(folder.glob("*.json"))) == len(finished))
        wait_until(lambda: process.poll() is not None or "slow" in computed(study))
        assert process.poll() is None, (tmp_path / "stderr").read_text()
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        gate.touch()  # a worker that outlives its parent ends, too
    assert sorted(path.stem for path in folder.glob("*.json")) == finished
    result = go(study, ripley_data, tmp_path)
    again = set(study.keys) - set(finished)
    assert {key: n for key, n in computed(study).items() if n > 1} == {"slow": 2}
    assert set(computed(study)) == set(study.keys)
    assert again >= {"slow"}
    assert contents(result) == contents(go(study, ripley_data, tmp_path, folder=tmp_path / "undisturbed"))


# --- the same numbers everywhere -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def alone(ripley_data, tmp_path_factory):
    """The numbers of one process."""
    result = go(Numbers("", seed=3), ripley_data, tmp_path_factory.mktemp("alone"))
    assert not result.failed
    assert result["jax"].values["dtype"] == "float64"
    return contents(result)


def test_two_processes_give_the_numbers_of_one(alone, ripley_data, tmp_path):
    assert contents(go(Numbers("", seed=3), ripley_data, tmp_path, jobs=2)) == alone


def test_running_a_study_does_not_set_flags_of_the_process(alone):
    import jax

    assert alone
    assert not jax.config.jax_enable_x64


def test_failures_come_back_from_worker_processes(ripley_data, tmp_path):
    result = go(Failing(str(tmp_path / "log")), ripley_data, tmp_path, jobs=2)
    assert [key for key, _ in result.failed] == ["chains", "check"]
    assert result["warned"].warnings == ("NoSignalWarning: The data are noise.",)


def test_a_worker_that_dies_costs_no_finished_cell(study, ripley_data, tmp_path):
    with pytest.raises(RuntimeError, match=r"worker process ended by force .* kept: start again, with fewer jobs"):
        go(Dying(study.log, wait_for=str(tmp_path / "store")), ripley_data, tmp_path, jobs=2)
    go(study, ripley_data, tmp_path)
    assert computed(study) == dict.fromkeys(study.keys, 1)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    # any free port for the dashboard: without an address its server warns where 8787 is taken, by another test perhaps
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    ) as local:
        yield local.scheduler_address


def test_a_dask_cluster_gives_the_numbers_of_one_process(cluster, alone, ripley_data, tmp_path):
    result = go(Numbers("", seed=3), ripley_data, tmp_path, scheduler=cluster)
    assert contents(result) == alone
    # stored by the caller: found again without a cluster
    assert contents(go(Numbers("", seed=3), ripley_data, tmp_path)) == alone


def test_failures_come_back_from_a_cluster(cluster, ripley_data, tmp_path):
    study = Failing(str(tmp_path / "log"))
    result = go(study, ripley_data, tmp_path, scheduler=cluster)
    assert [key for key, _ in result.failed] == ["chains", "check"]
    assert result["warned"].warnings == ("NoSignalWarning: The data are noise.",)
    with pytest.raises(TypeError, match="stop"):
        go(Raising(study.log, error=TypeError), ripley_data, tmp_path, scheduler=cluster)


def test_a_scheduler_that_is_not_there_is_a_sentence(study, ripley_data, tmp_path, monkeypatch):
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    monkeypatch.setattr("validation.harness.schedule._WAIT", 0.5)
    with pytest.raises(ConnectionError, match=r"No Dask scheduler answers at 'tcp://127\.0\.0\.1:9'"):
        go(study, ripley_data, tmp_path, scheduler="tcp://127.0.0.1:9")


def test_a_scheduler_without_workers_is_a_sentence(study, ripley_data, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    monkeypatch.setattr("validation.harness.schedule._WAIT", 2.0)
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, protocol="tcp://", dashboard_address=":0", silence_logs=50
        ) as empty,
        pytest.raises(ConnectionError, match=r"has no workers after 2\.0 s.*dask worker tcp://"),
    ):
        go(study, ripley_data, tmp_path, scheduler=empty.scheduler_address)
    assert computed(study) == {}


def test_a_missing_extra_is_a_sentence(study, ripley_data, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"bayes-lssvm\[dask\]"):
        go(study, ripley_data, tmp_path, scheduler="tcp://127.0.0.1:9")


# --- data ----------------------------------------------------------------------------------------------------------


def test_a_set_of_the_catalogue(ripley_standardised, ripley):
    data = load_data("ripley")
    X, y = ripley_standardised
    np.testing.assert_array_equal(data.y, y)
    np.testing.assert_allclose(data.X, X, rtol=1e-12)  # sums that no order of the rows changes
    raw, _, raw_test, y_test = ripley
    np.testing.assert_allclose(data.X_test, (raw_test - raw.mean(0)) / raw.std(0, ddof=1), rtol=1e-12)
    np.testing.assert_array_equal(data.y_test, y_test)
    assert (data.task, data.name, data.class_names) == ("classification", "ripley", ("class 0", "class 1"))
    assert load_data("ripley").sha256 == data.sha256 != load_data("ripley", positive="class 0").sha256
    with pytest.raises(ValueError, match="read-only"):
        data.X[0, 0] = 1.0


def test_one_class_of_three_against_the_rest():
    data = load_data("iris", positive="virginica")
    assert data.class_names == ("not virginica", "virginica")
    assert (data.y == 1).sum() == 50
    with pytest.raises(DataError, match=r"3 classes \('setosa' with 50 rows.*`positive`"):
        load_data("iris")


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("riply", {}, "Did you mean 'ripley'.*my.csv"),
        ("eustockmarkets", {}, "has no target"),
        ("ripley", {"target": "label"}, "target of the data set 'ripley' is 'yc', not 'label'"),
        ("ripley", {"positive": "yes"}, "no class 'yes' to be positive; its classes are 'class 0' with 125 rows"),
        ("no/such.csv", {"target": "y"}, "There is no file 'no/such.csv'"),
        ("/dev/zero", {"target": "y"}, "'/dev/zero' is a folder, a pipe or a device"),
    ],
)
def test_a_source_that_does_not_fit_is_a_sentence(name, options, sentence):
    with pytest.raises(DataError, match=sentence):
        load_data(name, **options)


@pytest.fixture
def table(tmp_path):
    """Write columns as a CSV file."""

    def write(columns: dict[str, list], name: str = "my.csv") -> Path:
        import csv

        path = tmp_path / name
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        return path

    return write


def columns(n: int = 20, **more) -> dict[str, list]:
    rng = np.random.default_rng(1)
    return {"u": rng.normal(size=n).tolist(), "v": rng.normal(2.0, 3.0, size=n).tolist(), **more}


def test_text_labels_missing_values_and_constants(table):
    odd = '<b onmouseover="alert(1)">$x^2$</b>'
    content = columns(label=["yes", "no"] * 10, one=[1.0] * 20, **{odd: list(range(20))})
    content["u"][3] = ""
    content["v"][4] = "NA"
    content["label"][5] = "?"
    data = load_data(table(content), target="label")
    assert data.class_names == ("no", "yes")
    assert data.feature_names == ("u", "v", odd)
    assert data.X.shape == (17, 3)
    kept = [i for i in range(20) if i not in (3, 4, 5)]
    np.testing.assert_array_equal(data.y, [1.0 if i % 2 == 0 else -1.0 for i in kept])
    raw = np.array(kept, dtype=float)
    np.testing.assert_allclose(data.X[:, 2], (raw - raw.mean()) / raw.std(ddof=1), rtol=1e-13)
    assert data.notes == (
        "3 rows with missing values were left out; 17 remain.",
        "Inputs that do not vary were left out: 'one'.",
    )
    assert load_data(str(table(content)), target="label", positive="no").class_names == ("yes", "no")
    assert data.describe()["feature_names"][2] == odd


@pytest.mark.parametrize(
    ("labels", "names"),
    [([0, 1], ("0", "1")), ([2.0, 1.0], ("1", "2")), ([-1, 1], ("-1", "1")), ([0.5, 1.5], ("0.5", "1.5"))],
)
def test_two_distinct_numbers_are_classes(labels, names, table):
    data = load_data(table(columns(y=labels * 10)), target="y")
    assert (data.task, data.class_names) == ("classification", names)
    np.testing.assert_array_equal(data.y, np.where(np.array(labels * 10) == max(labels), 1.0, -1.0))


def test_real_targets_are_standardised_and_noted(table):
    y = np.random.default_rng(2).normal(5.0, 2.0, size=20)
    data = load_data(table(columns(y=y.tolist())), target="y")
    assert (data.task, data.class_names) == ("regression", None)
    np.testing.assert_allclose(data.y, (y - y.mean()) / y.std(ddof=1), rtol=1e-12)
    assert data.notes[-1].startswith("The target was standardised: its mean is ")


def test_a_few_whole_numbers_are_a_quantity_unless_one_is_chosen(table):
    path = table(columns(y=[0, 1, 2, 3] * 5))
    quantity = load_data(path, target="y")
    assert quantity.task == "regression"
    assert "if they are classes" in quantity.notes[0]
    chosen = load_data(path, target="y", positive="2")
    assert chosen.class_names == ("not 2", "2")
    assert (chosen.y == 1).sum() == 5


ABC = ["a", "b", "c", "a"] * 5
BAD: dict[str, tuple[dict[str, list] | str, dict[str, str], str]] = {
    "empty file": ("", {"target": "y"}, "is empty"),
    "header only": ("u,y\n", {"target": "y"}, "header but no rows"),
    "no header": ("1,2\n3,4\n", {"target": "y"}, "has no header"),
    "ragged": ("u,y\n1,2\n1,2,3\n", {"target": "y"}, "line 3 has 3 cells where the header has 2"),
    "no target given": (columns(y=ABC), {}, "Which column of .* is the target.*'u', 'v', 'y'"),
    "target missing": (columns(label=ABC), {"target": "labels"}, "no column 'labels'. Did you mean 'label'"),
    "three classes": (columns(y=ABC), {"target": "y"}, r"3 classes \('a' with 10 rows, 'b' with 5 rows.*`positive`"),
    "no such class": (columns(y=ABC), {"target": "y", "positive": "d"}, "no class 'd' to be positive"),
    "no such number": (columns(y=[0, 1] * 10), {"target": "y", "positive": "2"}, "no class '2' to be positive"),
    "one class": (columns(y=["a"] * 20), {"target": "y"}, "is 'a' with 20 rows, and nothing else"),
    "one number": (columns(y=[4] * 20), {"target": "y"}, "is '4' with 20 rows, and nothing else"),
    "one row of a class": (columns(y=["a"] * 19 + ["b"]), {"target": "y"}, "one row only of the class 'b'"),
    "dates and a stray text": (
        columns(day=["2024-01-31"] * 20, y=["a", "b"] * 10, **{"{size}": ["big", *range(19)]}),
        {"target": "y"},
        r"'day' holds dates.*'\{size\}': 'big' is text.*--ignore day '\{size\}'",
    ),
    "comma or point": ({"w": ["1,500", "2"] * 10, "y": ["a", "b"] * 10}, {"target": "y"}, "'1,500' may be 1500 or"),
    "infinite": (columns(w=[1.0, "inf"] * 10, y=["a", "b"] * 10), {"target": "y"}, "column 'w'.*not a finite number"),
    "text in the target": (
        columns(y=[*map(float, range(19)), "12 kg"]),
        {"target": "y"},
        "line 21, column 'y': '12 kg'",
    ),
    "too few rows": (columns(9, y=["a", "b", "a"] * 3), {"target": "y"}, "has 9 usable rows; .* at least 10"),
    "too many rows": (columns(5001, y=[*"abb"] * 1667), {"target": "y"}, "has 5001 usable rows.*at most 5000.*sample"),
    "all rows incomplete": (
        columns(w=[1.0, ""] * 10, z=["", 1.0] * 10, y=["a", "b"] * 10),
        {"target": "y"},
        r"'w' \(10\), 'z' \(10\). Only 0 of 20 rows are complete; add --impute median",
    ),
    "no inputs": ({"y": ["a", "b"] * 10}, {"target": "y"}, "no input column besides the target"),
    "constant inputs": ({"u": [1] * 20, "y": ["a", "b"] * 10}, {"target": "y"}, "no input column varies"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_table_that_cannot_be_used_is_a_sentence(case, table, tmp_path):
    content, options, sentence = BAD[case]
    if isinstance(content, str):
        path = tmp_path / "my.csv"
        path.write_text(content)
    else:
        path = table(content)
    with pytest.raises(DataError, match=sentence) as raised:
        load_data(path, **options)
    assert "\n" not in str(raised.value)


def test_a_column_without_values_is_left_out(table):
    data = load_data(table(columns(w=[""] * 20, y=["a", "b"] * 10)), target="y")
    assert data.feature_names == ("u", "v")
    assert data.notes == ("Column 'w' has no value at all, and is left out.",)


def test_rows_that_are_copies_of_others_are_left_out(table):
    once = columns(y=["a", "b"] * 10)
    plain = load_data(table(once), target="y")
    copied = {name: [*values, values[0], values[3], values[3]] for name, values in once.items()}
    data = load_data(table(copied, name="copied.csv"), target="y")
    np.testing.assert_array_equal(data.X, plain.X)  # standardised without them too
    np.testing.assert_array_equal(data.y, plain.y)
    assert data.sha256 == plain.sha256
    assert data.notes == (
        "3 of 23 rows are copies of others, target included, and were left out: as measurements they would say that "
        "there is no noise.",
    )
    # one pair that differs tells what the noise is, and all rows are measurements again
    other = {name: [*values, values[1]] for name, values in copied.items()}
    other["y"][-1] = "a"
    whole = load_data(table(other, name="other.csv"), target="y")
    assert (len(whole.X), whole.notes) == (24, ())


def test_text_and_decimal_commas_are_read_as_the_command_line_reads_them(table):
    rows = columns(size=["big", "small"] * 10, w=["1,5", "2,25", "3"] * 6 + ["4,0"] * 2, y=["a", "b"] * 10)
    data = load_data(table(rows), target="y")
    assert data.feature_names == ("u", "v", "size=small", "w")
    gaps = columns(w=[1.0, 2.0, 3.0, ""] * 5, y=["a", "b"] * 10)
    assert len(load_data(table(gaps, name="gaps.csv"), target="y").X) == 15
    assert len(load_data(table(gaps, name="gaps.csv"), target="y", table=Options(impute="median")).X) == 20


def test_names_of_files_make_names_of_folders(study, table, tmp_path):
    path = table(columns(y=["a", "b"] * 10), name="my data <ä>.v2.csv")
    result = go(study, load_data(path, target="y"), tmp_path)
    assert result.data["name"] == "my data <ä>.v2"
    assert result.folder.parent.name == f"my_data_v2-{result.data['sha256'][:8]}"
    assert result.folder.is_relative_to(tmp_path / "store" / "small")


# --- the registry --------------------------------------------------------------------------------------------------


def test_studies_are_found_by_name():
    with pytest.raises(ValueError, match="no study 'evidense'; there are section-7-1, error-bars, evidence"):
        get_study("evidense")
    for name, module in STUDIES.items():
        assert module.startswith(("validation.studies.", "validation.papers."))
        assert get_study(name).name == name


def test_a_study_that_is_missing_breaks_only_itself(monkeypatch):
    monkeypatch.setitem(sys.modules, "validation.studies.evidence", SimpleNamespace(STUDY="found"))
    monkeypatch.setitem(STUDIES, "gone", "validation.studies.no_such_module")
    assert get_study("evidence") == "found"
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        get_study("gone")
