"""Columns as people have them: what they become, what is refused, and what a model file remembers."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from bayes_lssvm.base import table_inputs
from bayes_lssvm.base.encoding import Column, Encoding
from bayes_lssvm.base.table_inputs import Options, prepare
from bayes_lssvm.base.tables import read_table
from bayes_lssvm.base.text import InputError


@pytest.fixture
def table(tmp_path):
    """A table of columns; the target alternates."""

    def make(**columns):
        n = len(next(iter(columns.values())))
        columns = {**columns, "y": [str(i % 2) for i in range(n)]}
        lines = [";".join(columns), *(";".join(map(str, cells)) for cells in zip(*columns.values(), strict=True))]
        path = tmp_path / "table.csv"
        path.write_text("\n".join(lines), encoding="utf-8")
        return read_table(str(path))

    return make


def test_each_kind_of_column_becomes_numbers(table):
    found = prepare(
        table(
            size=["1,5", "2", "3,25", "4"],
            on=["TRUE", "False", "true", "true"],
            sex=["m", "f", "f", "m"],
            code=["7", "8", "7", "9"],
            town=["b", "a", "b", "a"],
        ),
        "y",
        Options(categories=["code"]),
    )
    assert found.encoding.inputs == ("size", "on", "sex=m", "code=7", "code=8", "code=9", "town=b")
    assert found.encoding.sources == ("size", "on", "sex", "code", "code", "code", "town")
    expected = [[1.5, 1, 1, 1, 0, 0, 1], [2, 0, 0, 0, 1, 0, 0], [3.25, 1, 0, 1, 0, 0, 1], [4, 1, 1, 0, 0, 1, 0]]
    assert found.X.tolist() == expected
    assert found.steps["size"] == "a number (1,5 is read as 1.5)"
    assert found.steps["on"] == "true is 1 and false is 0"


def test_every_column_that_cannot_be_read_is_named_at_once(table):
    wrong = table(
        day=["31.01.2024", "1.2.2024", "2.2.2024 10:30", ""],
        either=["1,234", "2,345", "3", "4"],
        mixed=["1", "2", "x", "4"],
        far=["1", "2", "1e99", "4"],
        fine=["1", "2", "3", "4"],
    )
    with pytest.raises(InputError) as raised:
        prepare(wrong, "y", Options())
    said = raised.value.sentences
    for sentence, name in zip(said, ("day", "either", "mixed", "far"), strict=False):
        assert f"'{name}'" in sentence
    assert said[-1] == "To go on without these 4 columns, add --ignore day either mixed far."
    found = prepare(wrong, "y", Options(ignore=["day", "far"], categories=["mixed"], decimal="comma"))
    assert found.X[:2, 0].tolist() == [1.234, 2.345]


def test_missing_values_are_refused_filled_in_or_dropped(table):
    rows = table(a=["1", "", "3", "10"], b=["u", "u", "?", "v"], c=["1", "2", "3", "4"])
    with pytest.raises(InputError, match=r"2 missing values, in columns 'a' \(1\), 'b' \(1\)") as raised:
        prepare(rows, "y", Options())
    for words in ("--impute median", "--impute drop to leave out the 2 rows", "--ignore a b"):
        assert words in str(raised.value)
    filled = prepare(rows, "y", Options(impute="median"))
    assert filled.X[:, 0].tolist() == [1.0, 3.0, 3.0, 10.0]  # the median of 1, 3, 10
    assert filled.X[:, 1].tolist() == [0.0, 0.0, 0.0, 1.0]  # u is the most frequent
    assert filled.steps["a"] == "a number; 1 missing value filled in"
    dropped = prepare(rows, "y", Options(ignore=["b"], impute="drop"))
    assert dropped.X.tolist() == [[1.0, 1.0], [3.0, 3.0], [10.0, 4.0]]
    assert dropped.notes == ("1 row with missing values was left out; 3 remain.",)
    with pytest.raises(InputError, match="Only 2 of 4 rows are complete"):
        prepare(rows, "y", Options(impute="drop"))


def test_a_row_without_a_target_is_dropped_and_never_filled_in(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,y\n1,0\n2,\n3,1\n4,1\n")
    with pytest.raises(InputError, match=r"'y' \(1\)\. Add --impute drop"):
        prepare(read_table(str(path)), "y", Options())
    assert prepare(read_table(str(path)), "y", Options(impute="median")).X.tolist() == [[1.0], [3.0], [4.0]]


def test_identifiers_and_idle_columns_are_left_out_with_a_warning(table):
    n = 60
    found = prepare(
        table(
            a=range(n),
            row_id=[7 * i for i in range(n)],
            name=[f"person {i}" for i in range(n)],
            land=["DE"] * n,
            empty=[""] * n,
            town=["rare" if i == 3 else "ab"[i % 2] for i in range(n)],
        ),
        "y",
        Options(),
    )
    assert found.encoding.inputs == ("a", "row_id", "town=a", "town=b")
    assert found.X[3].tolist() == [3.0, 21.0, 0.0, 0.0]  # a category of one row is zero in all columns
    for name, words in {
        "row_id": "looks like an identifier",
        "name": "60 different text values",
        "land": "'DE' in every row",
    }.items():
        (said,) = [sentence for sentence in found.warnings if f"'{name}'" in sentence]
        assert words in said
    assert len(found.warnings) == 4


def test_row_numbers_an_empty_last_column_and_a_line_on_the_separator(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("sep=;\n;a;b;\n0;1;2;\n1;3;4;\n2;5;x;\n", encoding="utf-8")
    found = read_table(str(path))
    assert (found.names, found.rows[0], found.lines) == (("a", "b"), ("1", "2"), (3, 4, 5))
    assert "numbers the rows" in found.dropped[0]


ENCODING = Encoding(
    (
        Column("x", decimal=",", fill=2.5),
        Column("ok", "yes/no", ("no", "yes"), fill="yes"),
        Column("sex", "categories", ("f", "m"), fill="f"),
        Column("town", "categories", ("a", "b"), ("rare",), fill="b"),
    ),
    fills=True,
)


def test_new_rows_are_read_as_the_training_rows_were(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("town;ok;x;sex;more\na;YES;1,5;m;1\nrare;no;2;x;1\nnew;;;f;1\n")
    found = ENCODING.encode(read_table(str(path)))
    assert found.X.tolist() == [[1.5, 1, 1, 1, 0], [2.0, 0, 0.5, 0, 0], [2.5, 1, 0, 0, 0]]
    assert found.filled == {"x": 1, "ok": 1}
    assert found.unknown == {"sex": {"x": 1}, "town": {"new": 1}}
    assert len(found.sentences()) == 4
    assert ENCODING.read(str(path)).tolist() == found.X.tolist()
    path.write_text("town;ok\na;yes\n")
    with pytest.raises(InputError, match="lacks 2 of the model's 4 inputs: 'x', 'sex'"):
        ENCODING.read(str(path))
    path.write_text("x;ok;sex;town\nbig;yes;m;a\n")
    with pytest.raises(InputError, match="'big' is text, but the model was fitted to numbers"):
        ENCODING.read(str(path))


def test_an_encoding_survives_json_and_refuses_what_is_none():
    record = json.loads(json.dumps(ENCODING.to_dict()))
    assert Encoding.from_dict(record) == ENCODING
    for change in ({"kind": "code"}, {"name": 7}, {"fill": "a"}, {"decimal": ";"}):
        spoilt = json.loads(json.dumps(record))
        spoilt["columns"][0] |= change
        with pytest.raises(ValueError, match="invalid description"):
            Encoding.from_dict(spoilt)
    record["columns"].append(record["columns"][0])
    with pytest.raises(ValueError, match="the same name"):
        Encoding.from_dict(record)


def test_columns_of_numbers_need_no_look(table):
    plain = Encoding.of_numbers(["a"])
    assert plain.encode(table(a=["1", "2.5", "3"])).X.tolist() == [[1.0], [2.5], [3.0]]
    assert math.isnan(plain.columns[0].fill)
    with pytest.raises(InputError, match="--impute median"):
        plain.encode(table(a=["1", "", "3"]))
    with pytest.raises(InputError, match="has stored no medians"):
        plain.encode(table(a=["1", "", "3"]), fill=True)
    assert np.isfinite(prepare(table(a=["1", "2", "4"]), "y", Options()).X).all()


def test_cells_are_looked_at_once_however_many_rows_there_are(table, monkeypatch):
    looked = []
    plain = table_inputs._plain
    monkeypatch.setattr(table_inputs, "_plain", lambda values: looked.append(len(values)) or plain(values))
    prepare(table(x=list(range(50))), "y", Options())
    assert looked == [50]
