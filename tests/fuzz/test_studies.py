"""Any table through the studies that take one: each closed form has its numbers, or a sentence about the data.

Cells that draw are left to the tests of the studies: what chains do on a table is a matter of luck, and of minutes.
"""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import numpy as np
import pytest

from validation.harness import load_data
from validation.harness.compute import compute_cell
from validation.harness.labels import DataError
from validation.registry import STUDIES, get_study

from .conftest import FACTOR

TAKE_A_TABLE = [name for name in STUDIES if get_study(name).needs_data and name != "section-7-1"]  # of Ripley's alone
SENTENCES = ("ValueError", "NotPositiveSemidefiniteError")  # what may be said of data; a ZeroDivisionError is not
FROM_THE_FIELD = sorted((Path(os.environ.get("BAYES_LSSVM_DATA", "nowhere")) / "keel").glob("*.csv.gz"))


def table(seed: int, path: Path) -> str:
    """Write a table with something unusual about it; returns what."""
    rng = np.random.default_rng([seed, 12])
    kind = ("rare class", "repeated rows", "no signal", "no noise", "wide scales", "alike columns")[seed % 6]
    n, d = int(rng.integers(25, 60)), int(rng.integers(1, 8))
    X = rng.normal(size=(n, d))
    z = np.sin(X[:, 0]) + X[:, -1] + rng.normal(size=n) * (0.0 if kind == "no noise" else 0.5)
    if kind == "repeated rows":
        X = X[rng.integers(0, n // 3, size=n)].round(1)
    elif kind == "no signal":
        z = rng.normal(size=n)
    elif kind == "wide scales":
        X = X * 10.0 ** rng.integers(-9, 10, size=d)
        X[0] *= 1e6
    elif kind == "alike columns":
        X = np.column_stack([X, X, np.ones(n)])
    share = 0.1 if kind == "rare class" else 0.5
    y = z if rng.random() < 0.3 and kind != "rare class" else np.where(z > np.quantile(z, 1.0 - share), "ja", "nein")
    header = [*(f"x{i}" for i in range(X.shape[1])), "y"]
    rows = [[*map(repr, row), str(target)] for row, target in zip(X.tolist(), y.tolist(), strict=True)]
    path.write_text("\n".join(map(",".join, [header, *rows])))
    return kind


def check(study: str, path: Path, what: str, every: int = 1) -> int:
    """Compute the closed forms of a study, or some of them; returns how many there were."""
    data, own = load_data(str(path), target="y"), get_study(study)
    try:
        cells = own.cells(data, "toy")
    except ValueError:  # a study may refuse data, with a sentence
        return 1
    chosen = [cell for cell in cells if "draws" not in cell.settings and "nuts" not in cell.key][::every]
    for cell in chosen:
        error = compute_cell(own, cell, data).error
        assert error is None or error.partition("(")[2].startswith(SENTENCES), (study, what, cell.key, error)
    return len(chosen)


def test_any_table_has_its_numbers_or_a_sentence(cases, tmp_path):
    for seed in cases(2, full=150):
        what = table(seed, tmp_path / "table.csv")
        every = 6 if FACTOR == 1 else 1
        assert check(TAKE_A_TABLE[seed % len(TAKE_A_TABLE)], tmp_path / "table.csv", f"seed {seed}, {what}", every)


@pytest.mark.skipif(FACTOR == 1, reason="minutes; make fuzz has it")
@pytest.mark.skipif(not FROM_THE_FIELD, reason="the sets of KEEL are not here")
@pytest.mark.parametrize("source", FROM_THE_FIELD, ids=lambda source: source.name.partition(".")[0])
@pytest.mark.parametrize("study", TAKE_A_TABLE)
def test_sets_from_the_field_have_their_numbers_or_a_sentence(study, source, tmp_path):
    path = tmp_path / source.name.removesuffix(".gz")
    path.write_bytes(gzip.decompress(source.read_bytes()))
    try:
        assert check(study, path, source.name)
    except DataError as error:
        pytest.skip(f"text among the inputs, or several classes: {error}")
