"""Files as people have them, from the file to a model and its predictions in one command each."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from bayes_lssvm import ModelFileError, load
from bayes_lssvm.base.archive import State, open_state, write_state


def written(path, header, rows, **dialect):
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, **dialect)
        writer.writerow(header)
        writer.writerows(rows)
    return path


def churn(path, n=150, seed=1):
    """Customers with text, booleans, missing values and 14 % of them gone."""
    rng = np.random.default_rng(seed)
    age, plan, active = rng.integers(18, 80, n), rng.choice(["basic", "plus", "premium"], n), rng.random(n) < 0.6
    score = -0.08 * (age - 45) - 1.5 * active + 1.0 * (plan == "basic") + 0.5 * rng.normal(size=n)
    gone = score >= np.sort(score)[-round(0.14 * n)]
    rows = [
        [
            f"C{i:04}",
            "" if i % 17 == 3 else age[i],
            "" if i % 29 == 5 else plan[i],
            str(active[i]),
            ("no", "yes")[int(gone[i])],
        ]
        for i in range(n)
    ]
    return written(path, ["customer", "age", "plan", "active", "gone"], rows)


@pytest.fixture(scope="module")
def customers(tmp_path_factory):
    return churn(tmp_path_factory.mktemp("churn") / "churn.csv")


@pytest.fixture
def fitted(customers, run, tmp_path):
    """A model of the customers, and what was said."""
    path = tmp_path / "model.npz"
    code, out, err = run("fit", customers, "--target", "gone", "--impute", "median", "--out", path, "--no-refine")
    assert code == 0
    return path, out, err


def test_missing_values_are_answered_with_what_to_type(customers, run):
    code, out, err = run("fit", customers, "--target", "gone")
    assert (code, out) == (2, "")
    assert "in columns 'age' (9), 'plan' (5)" in err
    assert "--impute median" in err
    assert "--impute drop" in err


def test_text_booleans_and_gaps_become_a_model(fitted, customers, run):
    path, out, err = fitted
    assert "150 rows, 5 inputs (age, plan=basic, plan=plus, plan=premium, active)" in out
    assert "no (129 rows), yes (21 rows)" in out
    assert "'age' (9), 'plan' (5)" in err
    assert "'customer' has 150 different text values" in err
    model = load(path)
    assert model.encoding_.names == ("age", "plan", "active")
    X = model.encoding_.read(str(customers))
    assert X.shape == (150, 5)
    del model.feature_names_in_
    code, printed, err = run("predict", path, customers)
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert [float(row["P(yes)"]) for row in rows] == model.predict_proba(X)[:, 1].tolist()
    assert "the model does not use the columns 'customer', 'gone'" in err
    assert "9 missing values in column 'age' were filled in" in err


def test_new_rows_with_a_new_category_are_predicted_with_a_warning(fitted, run, tmp_path):
    path, _, _ = fitted
    new = written(tmp_path / "new.csv", ["active", "plan", "age"], [["true", "gold", 30], ["FALSE", "basic", ""]])
    code, out, err = run("predict", path, new, "--json")
    assert (code, json.loads(out)["rows"]) == (0, 2)
    assert "column 'plan' has values that did not occur in the training rows" in err
    assert "'gold' (1)" in err
    wrong = written(tmp_path / "wrong.csv", ["active", "plan", "age"], [["true", "plus", "old"], ["no", "plus", "x"]])
    code, out, err = run("predict", path, wrong)
    assert (code, out) == (2, "")
    assert "column 'age': 'old' is text, but the model was fitted to numbers" in err


def test_a_model_of_complete_rows_asks_before_it_fills_in(run, tmp_path):
    rows = [[i, "ab"[i % 2], i % 2] for i in range(12)]
    table = written(tmp_path / "t.csv", ["x", "kind", "y"], rows)
    assert run("fit", table, "--target", "y", "--no-refine", "--out", tmp_path / "m.npz")[0] == 0
    gap = written(tmp_path / "gap.csv", ["x", "kind"], [["", "a"]])
    code, _, err = run("predict", tmp_path / "m.npz", gap)
    assert (code, "Add --impute median to fill them in." in err) == (2, True)
    assert run("predict", tmp_path / "m.npz", gap, "--impute", "median")[0] == 0


def test_the_other_commands_read_the_same_files(customers, run, tmp_path):
    options = ("--target", "gone", "--impute", "median")
    code, out, _ = run("compare", customers, *options, "--kernels", "linear", "rbf:sigma=3", "--no-refine")
    assert (code, "plan=basic" in out) == (0, True)
    code, out, _ = run("select", customers, *options, "--kernel", "linear", "--out", tmp_path / "chosen.csv")
    assert code == 0
    header = (tmp_path / "chosen.csv").read_text().splitlines()[0].split(",")
    assert set(header) <= {"age", "plan", "active", "gone"}
    assert header[-1] == "gone"
    marginalised = ("--kernel", "linear", "--predict", customers, "--predictions", tmp_path / "p.csv")
    assert run("marginalise", customers, *options, *marginalised)[0] == 0
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 151


def test_a_european_export(run, tmp_path):
    rng = np.random.default_rng(2)
    lines = ["sep=;", '"Größe";"Preis";"Rabatt";"Kauf";']
    for _ in range(40):
        size = rng.normal(170, 10)
        price = f"{np.exp(rng.normal(7, 1)):,.2f}".translate(str.maketrans(",.", ".,"))
        sold = "ja" if size + 5 * rng.normal() > 170 else "nein"
        lines.append(f"{size:.1f};{price} €;{rng.integers(0, 40)} %;{sold};".replace(".", ",", 1))
    path = tmp_path / "export.csv"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join(lines).encode())
    code, out, err = run("fit", path, "--target", "Kauf", "--no-refine", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["data"]["inputs"] == ["Größe", "Preis", "Rabatt"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "cp1252"])
def test_what_spreadsheets_leave_behind(encoding, run, tmp_path):
    """Columns without name and value, rows without a value at the end, and the encodings that they save."""
    rng = np.random.default_rng(4)
    rows = [[f"{x:.2f}", "", "süß" if x + rng.normal(0.0, 0.5) > 0 else "herb", "", ""] for x in rng.normal(size=30)]
    lines = [";".join(["Länge", "", "Urteil", "", ""]), *(";".join(row) for row in rows), ";;;;", ";;;;"]
    path = tmp_path / "t.csv"
    path.write_bytes("\r\n".join(lines).encode(encoding))
    code, out, err = run("fit", path, "--target", "Urteil", "--no-refine")
    assert code == 0, err
    assert "30 rows, 1 input (Länge)" in out
    assert "süß" in out
    assert ("read as Windows-1252. If 'Länge' on line 1 is not what you wrote" in err) == (encoding == "cp1252")


def test_an_empty_column_with_a_name_is_named(run, tmp_path):
    path = written(tmp_path / "t.csv", ["a", "note", "y"], [[i, "", "uv"[i % 2]] for i in range(10)])
    code, _, err = run("fit", path, "--target", "y", "--no-refine")
    assert code == 0
    assert "column 'note' has no value at all" in err


def test_gaps_are_named_together_with_columns_that_cannot_be_read(run, tmp_path):
    rows = [[f"2024-01-{i + 1:02d}", "" if i == 3 else i / 7, "" if i == 4 else "uv"[i % 2]] for i in range(20)]
    path = written(tmp_path / "t.csv", ["day", "x", "y"], rows)
    code, _, err = run("fit", path, "--target", "y")
    assert code == 2
    for words in (
        "'day' holds dates",
        "in columns 'x' (1), 'y' (1)",
        "--ignore x to leave that column out",
        "without a",
    ):
        assert words in err
    code, _, err = run("fit", path, "--target", "y", "--ignore", "day", "--impute", "median", "--no-refine")
    assert (code, "1 row without a target was left out; 19 remain." in err) == (0, True)


def test_a_spoilt_encoding_is_a_damaged_file(fitted, tmp_path):
    path, _, _ = fitted
    with open_state(path) as state:
        header, arrays = json.loads(json.dumps(state.header)), {name: state.arrays[name] for name in state.arrays}
    header["encoding"]["columns"][0]["name"] = "years"
    with pytest.raises(ModelFileError, match="encoding does not match its inputs"):
        load(write_state(State(header, arrays), tmp_path / "other.npz"))
    del header["encoding"]  # as files of earlier versions
    assert not hasattr(load(write_state(State(header, arrays), tmp_path / "old.npz")), "encoding_")
