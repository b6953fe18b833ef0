"""`fit --weights COLUMN` and `--noise`."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bayes_lssvm
from bayes_lssvm import BayesianLSSVR


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    x, n = rng.normal(size=(60, 2)), rng.integers(0, 4, 60)
    y = np.sin(2.0 * x[:, 0]) + 0.2 * rng.normal(size=60)
    y[:4] += 9.0
    path = tmp_path / "data.csv"
    rows = [f"{a!r},{b!r},{c!r},{k}" for (a, b), c, k in zip(x.tolist(), y.tolist(), n.tolist(), strict=True)]
    path.write_text("a,b,y,n\n" + "\n".join(rows) + "\n", "utf-8")
    return path, x, y, n


def test_weights_are_a_column_that_is_no_input(run, table, tmp_path):
    path, x, y, n = table
    model = tmp_path / "model.npz"
    code, out, err = run("fit", path, "--target", "y", "--weights", "n", "--json", "--out", model)
    assert code == 0, err
    assert json.loads(out)["data"]["inputs"] == ["a", "b"]
    loaded, own = bayes_lssvm.load(model), BayesianLSSVR().fit(x, y, sample_weight=n)
    np.testing.assert_allclose(loaded.posterior_.latent_mean(loaded.standardiser_(x)), own.predict(x), rtol=1e-9)


def test_noise_for_gross_errors(run, table, tmp_path):
    path, *_ = table
    model = tmp_path / "model.npz"
    code, _, err = run("fit", path, "--target", "y", "--ignore", "n", "--noise", "student", "--out", model)
    assert code == 0, err
    assert sorted(bayes_lssvm.load(model).outliers().rows.tolist())[:4] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("change", "arguments", "words"),
    [
        ("-1", (), "--weights n must not be negative; row 59"),
        ("much", (), "'much' is no number, and a weight has to be one"),
        ("1", ("--landmarks", "20"), "take no --weights"),
        ("1", ("--ignore", "n"), "cannot be the weights and the target, or ignored"),
        ("1", ("--noise", "learned", "--criterion", "press"), "use it with --criterion evidence"),
    ],
)
def test_mistakes_get_a_sentence(run, table, change, arguments, words):
    path, *_ = table
    lines = path.read_text("utf-8").splitlines()
    lines[-1] = lines[-1].rsplit(",", 1)[0] + f",{change}"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    code, _, err = run("fit", path, "--target", "y", "--weights", "n", *arguments)
    assert code == 2
    assert words in err


def test_noise_is_for_numbers(run, tmp_path):
    path = tmp_path / "classes.csv"
    path.write_text("a,y\n" + "".join(f"{i},{'no' if i % 3 else 'yes'}\n" for i in range(12)), "utf-8")
    code, _, err = run("fit", path, "--target", "y", "--noise", "learned")
    assert code == 2
    assert "is for a target of numbers" in err
