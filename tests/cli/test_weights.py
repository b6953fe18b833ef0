"""`--weights COLUMN` of the commands that learn from a table, and `--noise` of fit."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bayes_lssvm
from bayes_lssvm import BayesianLSSVR, FixedSizeLSSVR, FullyBayesianLSSVC, compare, marginalise, search_kernels, trust
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
        ("much", (), "'much' is not a number, but weights must be numbers"),
        ("-1", ("--landmarks", "20"), "must not be negative"),
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
    assert "is for a numeric target" in err


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


def test_search_takes_weights(run, small):
    path, x, y, w = small
    options = ("--ignore", "side", "--weights", "w", "--kernels", "linear", "--json")
    code, out, err = run("search", path, "--target", "y", *options)
    assert code == 0, err
    own = search_kernels(x, y, sample_weight=w, kernels=["linear"], progress=False)
    found = json.loads(out)
    assert found["log_evidence"] == pytest.approx(own.log_evidence, abs=1e-8)
    assert found["data"]["inputs"] == ["a", "b"]
    assert found["data"]["rows"] == int((w > 0).sum())


@pytest.mark.filterwarnings("ignore::bayes_lssvm.base.errors.BayesLSSVMWarning")
def test_models_of_fixed_size_take_weights_of_a_table_and_of_files(run, small, tmp_path):
    pytest.importorskip("pandas")
    path, x, y, w = small
    own = FixedSizeLSSVR(n_landmarks=8).fit(x, y, sample_weight=w)
    lines = path.read_text("utf-8").splitlines(keepends=True)
    for k in range(2):
        (tmp_path / f"part{k}.csv").write_text("".join([lines[0], *lines[1 + 12 * k : 13 + 12 * k]]), "utf-8")
    for data in ([path], [tmp_path / "part0.csv", tmp_path / "part1.csv"]):
        options = ("--ignore", "side", "--weights", "w", "--landmarks", "8", "--task", "regression", "--json")
        code, out, err = run("fit", *data, "--target", "y", *options)
        assert code == 0, err
        assert json.loads(out)["log_evidence"] == pytest.approx(own.log_evidence_, abs=1e-6)
    code, _, err = run("fit", *data, "--target", "y", "--weights", "side", "--landmarks", "8", "--task", "regression")
    assert code == 2
    assert "column 'side' is not numeric" in err


@pytest.mark.parametrize("command", ["compare", "select", "search", "trust", "marginalise"])
@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (lambda i: "-1" if i == 3 else "1", "--weights w must not be negative; row 3"),
        (lambda i: "0", "--weights w is zero for every row"),
        (lambda i: "nan" if i == 3 else "1", "row"),
        (lambda i: "" if i == 3 else "1", "row"),
    ],
)
def test_bad_weights_get_a_sentence_in_every_command(run, small, command, cells, words):
    path, *_ = small
    lines = path.read_text("utf-8").splitlines()
    rows = [line.rsplit(",", 1)[0] + "," + cells(i) for i, line in enumerate(lines[1:])]
    path.write_text("\n".join([lines[0], *rows]) + "\n", "utf-8")
    more = ("--kernels", "linear") if command in ("compare", "search") else ("--kernel", "linear")
    code, out, err = run(command, path, "--target", "y", "--ignore", "side", "--weights", "w", *more)
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err


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
    assert "log score" in card.read_text("utf-8")
