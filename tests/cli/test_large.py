"""`fit` and `predict` for tables of any length: files in pieces, landmarks, what is kept, and what is wrong."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest

from bayes_lssvm import FixedSizeLSSVC, FixedSizeLSSVR, load
from bayes_lssvm.cli import beforehand, large

pandas = pytest.importorskip("pandas", reason="the extra large is not installed")


def table(n=900, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    frame = pandas.DataFrame(X, columns=["a", "b"])
    frame["y"] = np.where(np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=n) > 0, "yes", "no")
    frame["z"] = np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=n)
    return frame


@pytest.fixture
def folder(tmp_path):
    """Nine CSV files of a hundred rows."""
    found = tmp_path / "data"
    found.mkdir()
    for k, rows in enumerate(np.array_split(np.arange(900), 9)):
        table().iloc[rows].to_csv(found / f"part{k}.csv", index=False)
    return found


FIT = ("--target", "y", "--ignore", "z", "--landmarks", "25")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_files_in_pieces_give_the_model_of_the_whole_table(run, tmp_path, folder, kind):
    if kind == "parquet":
        pytest.importorskip("pyarrow", reason="the extra large is not installed")
        for path in folder.iterdir():
            pandas.read_csv(path).to_parquet(path.with_suffix(".parquet"))
    out, predictions = tmp_path / "model.npz", tmp_path / "predictions.csv"
    code, text, err = run("fit", f"{folder}/*.{kind}", *FIT, "--out", out)
    assert (code, "900 rows, 2 inputs (a, b)" in text) == (0, True)
    assert "900 rows are fitted with 25 landmarks, which takes about" in err
    frame = table()
    whole = FixedSizeLSSVC(n_landmarks=25).fit(frame[["a", "b"]].to_numpy(), frame["y"].to_numpy(str))
    found = load(out)
    assert found.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-6)
    assert list(found.feature_names_in_) == ["a", "b"]
    if kind == "parquet":  # a CSV file of this size is read as a table
        frame.to_parquet(tmp_path / "new.parquet")
        assert run("predict", out, tmp_path / "new.parquet", "--out", predictions)[0] == 0
        written = pandas.read_csv(predictions)
        np.testing.assert_allclose(
            written["P(yes)"], whole.predict_proba(frame[["a", "b"]].to_numpy())[:, 1], atol=1e-6
        )
        assert (written["label"] == np.where(written["P(yes)"] > 0.5, "yes", "no")).all()


def test_probabilities_by_a_logistic_regression_too(run, tmp_path, folder):
    out, frame = tmp_path / "model.npz", table()
    assert run("fit", folder, *FIT, "--moderation", "logistic", "--out", out)[0] == 0
    X, y = frame[["a", "b"]].to_numpy(), frame["y"].to_numpy(str)
    whole = FixedSizeLSSVC(n_landmarks=25, moderation="logistic").fit(X, y)
    found = load(out).predict_proba(frame[["a", "b"]])
    np.testing.assert_allclose(found, whole.predict_proba(X), atol=1e-6)
    code, _, err = run("fit", folder / "part0.csv", "--target", "y", "--ignore", "z", "--moderation", "logistic")
    assert (code, "--moderation logistic is for models with landmarks" in err) == (2, True)
    code, _, err = run("fit", folder, "--target", "z", "--ignore", "y", "--landmarks", "9", "--moderation", "logistic")
    assert (code, "--moderation is for classification" in err) == (2, True)


def test_pieces_of_a_large_table_are_predicted_as_the_whole(run, tmp_path, folder, monkeypatch):
    out = tmp_path / "model.npz"
    assert run("fit", folder, "--target", "z", "--ignore", "y", "--landmarks", "25", "--out", out)[0] == 0
    assert isinstance(load(out), FixedSizeLSSVR)
    frame = table(5000, seed=3)
    frame.to_csv(tmp_path / "new.csv", index=False)
    whole = run("predict", out, tmp_path / "new.csv")[1]
    monkeypatch.setattr(beforehand, "_ONE_TABLE", 1000)
    pieces = run("predict", out, tmp_path / "new.csv")[1]
    found = [np.loadtxt(text.splitlines(), delimiter=",", skiprows=1) for text in (whole, pieces)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
    assert run("predict", out, tmp_path / "new.csv", "--json")[0] == 2


def test_many_rows_get_landmarks_and_the_user_is_told(run, tmp_path, monkeypatch):
    monkeypatch.setattr(beforehand, "EXACT_ROWS", 300)
    table().to_csv(tmp_path / "t.csv", index=False)
    code, out, err = run("fit", tmp_path / "t.csv", "--target", "z", "--ignore", "y", "--json")
    assert (code, json.loads(out)["data"]["rows"]) == (0, 900)
    assert "An exact fit would take about" in err
    assert "--exact asks for it" in err
    assert err.count("rows are fitted with 500 landmarks") == 1
    code, out, err = run("fit", tmp_path / "t.csv", "--target", "z", "--ignore", "y", "--exact")
    assert (code, "\nlandmarks" in out) == (0, False)


def test_what_many_rows_take_is_said_before_they_are_read(run, tmp_path, monkeypatch):
    monkeypatch.setattr(beforehand, "EXACT_ROWS", 300)
    table().to_csv(tmp_path / "t.csv", index=False)
    code, _, err = run("fit", tmp_path / "t.csv", "--target", "absent")  # which is found out by reading
    assert code == 2
    assert err.index("note: About 900 rows are fitted with 500 landmarks") < err.index("absent")
    table(200).to_csv(tmp_path / "t.csv", index=False)
    assert "landmarks" not in run("fit", tmp_path / "t.csv", "--target", "absent")[2]


def test_finished_files_are_kept(run, tmp_path, folder, monkeypatch):
    kept, reads = tmp_path / "kept", []
    arguments = ("fit", folder, *FIT, "--no-refine", "--kernel", "rbf:sigma=1", "--kept", kept, "--json")
    first = json.loads(run(*arguments)[1])
    assert len(list(kept.rglob("*.npz"))) == 9
    original = large.FixedSizeLSSVC.fit_blocks

    def counting(self, shards, **options):
        reads.extend(shard.name for shard in shards)
        return original(self, shards, **options)

    monkeypatch.setattr(large.FixedSizeLSSVC, "fit_blocks", counting)
    damaged = next(kept.rglob("*.npz"))
    damaged.write_bytes(damaged.read_bytes()[:-40])
    code, out, err = run(*arguments)
    assert (code, len(reads)) == (0, 9)
    assert "is read again" in err
    assert json.loads(out)["log_evidence"] == pytest.approx(first["log_evidence"], abs=1e-9)


def change(path, edit):
    frame = pandas.read_csv(path)
    edit(frame).to_csv(path, index=False)


def test_what_is_wrong_with_a_file_is_said_with_its_name(run, folder):
    seventh = folder / "part7.csv"
    kept = seventh.read_text()

    def holed(frame):
        frame.loc[41, "b"] = np.nan
        return frame

    cases = [
        (holed, "row 41 holds a value that is missing"),
        (lambda f: f.drop(columns="b"), "it has no column 'b'"),
        (lambda f: f.drop(columns="y"), "it has no column 'y'"),
        (lambda f: f.assign(a="text"), "column 'a' is not numeric"),
    ]
    for edit, sentence in cases:
        change(seventh, edit)
        code, _, err = run("fit", folder, *FIT)
        assert code == 2
        assert str(seventh) in err
        assert sentence in err
        seventh.write_text(kept)


def test_an_empty_file_and_one_of_a_single_class_are_no_trouble(run, folder):
    before = json.loads(run("fit", folder, *FIT, "--json")[1])
    (folder / "part_none.csv").write_text("a,b,y,z\n")
    sorted_rows = pandas.concat(pandas.read_csv(path) for path in sorted(folder.iterdir())).sort_values("y")
    for k, rows in enumerate(np.array_split(np.arange(900), 9)):  # most files now have one class
        sorted_rows.iloc[rows].to_csv(folder / f"part{k}.csv", index=False)
    code, out, _ = run("fit", folder, *FIT, "--json")
    assert code == 0
    assert json.loads(out)["log_evidence"] == pytest.approx(before["log_evidence"], abs=1e-6)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--landmarks", "9", "--exact"), "--exact and --landmarks contradict each other"),
        (("--exact",), "--exact is for one table"),
        (("--criterion", "press"), "--criterion is for exact models"),
        (("--no-occam",), "--no-occam is for exact models"),
        (("--moderation", "class"), "--moderation is for exact models"),
        (("--scheduler", "tcp://127.0.0.1:1"), "no Dask scheduler answers at 'tcp://127.0.0.1:1'"),
    ],
)
def test_options_that_do_not_go_together(run, folder, options, sentence, monkeypatch):
    if "--scheduler" in options:
        pytest.importorskip("distributed", reason="the extra dask is not installed")
    monkeypatch.setattr(large, "_ANSWER", 0.5)
    code, _, err = run("fit", folder, "--target", "y", "--ignore", "z", *options)
    assert (code, sentence in err) == (2, True)


def test_nothing_to_read(run, tmp_path):
    code, _, err = run("fit", f"{tmp_path}/*.parquet", "--target", "y")
    assert (code, "There is no CSV or Parquet file at" in err) == (2, True)
    shutil.copytree(tmp_path, tmp_path / "empty")
    assert run("fit", tmp_path / "empty", "--target", "y")[0] == 2


def test_what_many_rows_take_is_said_before_anything_heavy_is_imported(tmp_path):
    """scikit-learn and pandas take seconds to import; the note needs neither, of a table and of files in pieces."""
    table(6000).to_csv(tmp_path / "t.csv", index=False)
    table(6000, seed=1).to_csv(tmp_path / "u.csv", index=False)
    code = """
import sys
from bayes_lssvm.cli.parser import build_parser
from bayes_lssvm.cli.beforehand import prepare_fit
for paths in sys.argv[1:2], sys.argv[1:]:
    assert prepare_fit(build_parser().parse_args(["fit", *paths, "--target", "y"]))
print(*{"sklearn", "pandas"} & set(sys.modules))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "t.csv", tmp_path / "u.csv"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
    assert "About 6000 rows are fitted with 500 landmarks" in done.stderr
    assert "About 12000 rows are fitted with 500 landmarks" in done.stderr
