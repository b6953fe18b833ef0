"""`--weights COLUMN` of the commands that learn from a table, and `--noise` of fit."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bayes_lssvm
from bayes_lssvm import BayesianLSSVR, FullyBayesianLSSVC, compare, marginalise, trust
from bayes_lssvm.base.standardisation import Standardiser
from bayes_lssvm.estimators.selector import EvidenceSelector


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


# --- commands that integrate, compare and select ----------------------------------------------------------------------


@pytest.fixture
def small(tmp_path):
    """Rows of three weights, zero among them, of numbers and of two classes."""
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(24, 2)), rng.choice([0.0, 0.5, 2.0], 24)
    y = x[:, 0] + 0.3 * rng.normal(size=24)
    path = tmp_path / "small.csv"
    each = zip(x.tolist(), y.tolist(), w.tolist(), strict=True)
    rows = [f"{a!r},{b!r},{c!r},{'up' if c > 0 else 'down'},{k!r}" for (a, b), c, k in each]
    path.write_text("a,b,y,side,w\n" + "\n".join(rows) + "\n", "utf-8")
    return path, x, y, w


def test_marginalise_takes_weights(run, small):
    path, x, y, w = small
    options = ("--kernel", "linear", "--weights", "w", "--predict", path, "--json")
    code, out, err = run("marginalise", path, "--target", "y", "--ignore", "side", *options)
    assert code == 0, err
    found, own = json.loads(out), marginalise(x, y, sample_weight=w, kernel="linear", progress=False)
    assert found["data"]["rows"] == int((w > 0).sum())
    assert found["data"]["inputs"] == ["a", "b"]
    assert found["log_evidence"] == pytest.approx(own.log_evidence, abs=1e-8)
    np.testing.assert_allclose(found["predictions"]["mean"], own.predict(x), rtol=1e-8)
    code, out, err = run("marginalise", path, "--target", "side", "--ignore", "y", *options)
    assert code == 0, err
    classes = FullyBayesianLSSVC("linear").fit(x, np.where(y > 0, "up", "down"), w)
    np.testing.assert_allclose(json.loads(out)["predictions"]["P(up)"], classes.predict_proba(x)[:, 1], rtol=1e-7)
    code, _, err = run("marginalise", path, "--target", "y", "--ignore", "side", "--weights", "w", "--method", "nuts")
    assert code == 2
    assert "takes rows of equal weight" in err


def test_compare_and_trust_take_weights(run, small):
    path, x, y, w = small
    table = (path, "--target", "y", "--ignore", "side", "--weights", "w", "--json")
    code, out, err = run("compare", *table, "--kernels", "linear")
    assert code == 0, err
    kept = w > 0
    inputs = Standardiser.fit(x[kept], None, w[kept])(x[kept])
    own = compare(inputs, y[kept], ["linear"], sample_weight=w[kept], progress=False)
    assert json.loads(out)["kernels"][0]["log_evidence"] == pytest.approx(own.best.log_evidence, abs=1e-9)
    code, out, err = run("trust", *table, "--kernel", "linear")
    assert code == 0, err
    report = trust(x, y, sample_weight=w, kernel="linear", progress=False)
    assert json.loads(out)["worst_change"] == pytest.approx(report.worst_change, rel=1e-6)


def test_select_takes_weights(run, small, tmp_path):
    path, x, y, w = small
    chosen = tmp_path / "chosen.csv"
    options = ("--direction", "forward", "--kernel", "linear", "--weights", "w", "--out", chosen)
    code, out, err = run("select", path, "--target", "y", "--ignore", "side", *options)
    assert code == 0, err
    assert "and the target and the weights written to" in out
    own = EvidenceSelector("forward", kernel="linear").fit(x, y, w)
    assert f"{own.path_.chosen.log_evidence:.2f}" in out
    assert chosen.read_text("utf-8").splitlines()[0] == ",".join([*np.array(["a", "b"])[own.selected_], "y", "w"])


def test_a_card_knows_the_weights(run, small, tmp_path):
    path, *_ = small
    card = tmp_path / "card.html"
    options = ("--ignore", "y", "--weights", "w", "--kernel", "linear", "--report", card)
    code, _, err = run("fit", path, "--target", "side", *options)
    assert code == 0, err
    assert "are not compared with the labels" in card.read_text("utf-8")
