"""The command line: what it prints and writes, and the sentence that each mistake gets."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shlex
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayes_lssvm import BayesianLSSVC, BayesianLSSVR, __version__, compare, datasets, load, save
from bayes_lssvm.base.encoding import Encoding
from bayes_lssvm.base.tables import read_table
from bayes_lssvm.base.text import InputError
from bayes_lssvm.cli import main
from bayes_lssvm.cli.grammar import parse_by_class, parse_kernel
from bayes_lssvm.cli.output import csv_text
from bayes_lssvm.kernels import ARD, MLP, RBF, Linear, Matern, OnInputs, Periodic, Polynomial, White

SCRIPT = Path(sys.executable).with_name("bayes-lssvm")
# unbuffered output would hide what happens to a buffer that cannot be written
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": ""}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Ripley's data as tables, and models designed on them: classifier, text labels, regression."""
    folder = tmp_path_factory.mktemp("cli")
    assert main(["datasets", "ripley", "--csv", str(folder / "ripley.csv")]) == 0
    assert main(["datasets", "ripley", "--test", "--csv", str(folder / "test.csv")]) == 0
    fit = ["--no-refine", "--target"]
    assert main(["fit", str(folder / "ripley.csv"), *fit, "yc", "--out", str(folder / "model.npz")]) == 0
    text = (folder / "ripley.csv").read_text()
    rows = [line.rsplit(",", 1) for line in text.splitlines()]
    named = "\n".join(f"{x},{ {'0': 'no', '1': 'yes'}.get(y, y) }" for x, y in rows)
    (folder / "named.csv").write_text(named)
    assert main(["fit", str(folder / "named.csv"), *fit, "yc", "--out", str(folder / "named.npz")]) == 0
    regression = [str(folder / "ripley.csv"), *fit, "ys", "--out", str(folder / "regression.npz")]
    assert main(["fit", *regression]) == 0
    return folder


@pytest.fixture(scope="module")
def ripley_set():
    return datasets.load("ripley")


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def numbers_of(table, names):
    return Encoding.of_numbers(names).encode(table).X


def table_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


# Help and start


def test_the_version_is_printed(run):
    assert run("--version") == (0, f"bayes-lssvm {__version__}\n", "")


@pytest.mark.parametrize(
    "command", ["", "fit", "predict", "compare", "select", "trust", "marginalise", "plot", "datasets"]
)
def test_help_has_examples(command, run):
    code, out, err = run(*command.split(), "--help")
    assert (code, err) == (0, "")
    assert f"  bayes-lssvm {command or 'fit'}" in out.split("examples:")[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "required: command"),
        (["fitt"], "invalid choice: 'fitt'"),
        (["fit"], "required: data, --target"),
        (["fit", "data.csv", "--target", "y", "--bogus"], "--bogus"),
        (["fit", "data.csv", "--target", "y", "--seed", "-1"], "whole number"),
        (["fit", "data.csv", "--target", "y", "--moderation", "x"], "'class', 'target', 'softmax'"),
    ],
)
def test_wrong_arguments_get_one_sentence(arguments, words, run):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert words in err
    assert "--help" in err


def test_the_command_line_needs_neither_pandas_nor_anything_that_draws_or_samples(folder):
    """scikit-learn imports pandas by itself where it is there; so it is taken away first."""
    program = (
        "import sys; sys.modules['pandas'] = None\n"
        "from bayes_lssvm.cli import main\n"
        f"code = main(['fit', {str(folder / 'named.csv')!r}, '--target', 'yc', '--no-refine'])\n"
        "heavy = {'jax', 'numpyro', 'matplotlib', 'arviz', 'arviz_base', 'arviz_stats'} & set(sys.modules)\n"
        "sys.exit(code or ' '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=ENVIRONMENT)
    assert (done.returncode, done.stderr) == (0, "")


# datasets


def test_the_list_shows_every_set_with_its_shape(run):
    code, out, _ = run("datasets")
    assert code == 0
    for entry in datasets.available():
        line = next(line for line in out.splitlines() if line.startswith(f"{entry.name} "))
        assert f"{entry.rows} × {entry.inputs}" in line
        assert line.endswith(entry.title)
    listed = json.loads(run("datasets", "--json")[1])["datasets"]
    assert [entry["name"] for entry in listed] == list(datasets.available().names)
    assert listed[0]["aliases"] == ["ripley", "synth"]


def test_a_set_is_described_even_if_it_is_not_here(run, monkeypatch):
    monkeypatch.delenv("BAYES_LSSVM_DATA", raising=False)
    assert "Citation: Ripley" in run("datasets", "ripley")[1]
    code, out, _ = run("datasets", "banana", "--json")
    assert (code, json.loads(out)["rows"]) == (0, 5300)
    code, _, err = run("datasets", "banana", "--csv", "banana.csv")
    assert code == 2
    assert "Set BAYES_LSSVM_DATA" in err
    assert "--openml" in err
    assert not Path("banana.csv").exists()


@pytest.mark.parametrize("name", [e.name for e in datasets.available() if e.origin != "external"])
def test_a_written_set_reads_back_bit_for_bit(name, run, tmp_path):
    path = tmp_path / "set.csv"
    assert run("datasets", name, "--csv", path)[0] == 0
    data = datasets.load(name)
    table = read_table(str(path))
    inputs = table.names if data.target is None else table.names[:-1]
    assert inputs == data.feature_names
    assert np.array_equal(numbers_of(table, inputs), data.data)
    if data.target is not None:
        assert table.column(data.target_name) == [str(label) for label in data.target.tolist()]


def test_the_test_part_and_standard_output(run, folder, ripley_set):
    assert np.array_equal(numbers_of(read_table(str(folder / "test.csv")), ["xs", "ys"]), ripley_set.test_data)
    assert run("datasets", "ripley", "--csv", "-")[1] == (folder / "ripley.csv").read_text()
    record = json.loads(run("datasets", "ripley", "--csv", folder / "again.csv", "--json")[1])
    assert (record["rows_written"], record["inputs"], record["target"]) == (250, ["xs", "ys"], "yc")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["riply"], "Did you mean 'ripley'?"),
        (["--csv", "x.csv"], "need the name"),
        (["ripley", "--test"], "--csv FILE"),
        (["iris", "--test", "--csv", "x.csv"], "no fixed test part"),
        (["ripley", "--openml", "--csv", "x.csv"], "needs no download"),
        (["ripley", "--json", "--csv", "-"], "file name"),
        (["ripley", "--csv", "no/such/folder/x.csv"], "there is no folder"),
    ],
)
def test_mistakes_about_data_sets(arguments, words, run):
    code, out, err = run("datasets", *arguments)
    assert (code, out) == (2, "")
    assert words in err


# fit


@pytest.mark.parametrize(
    ("options", "expected"),
    # σ 1.3111, μ 1.667, ζ 2.741 without the Occam factor; σ 1.3283 by eq 5.3
    [(["--no-occam"], (1.3111, 1.667, 2.741)), (["--prior", "flat"], (1.3283, None, None))],
)
def test_fit_finds_the_published_design_of_ripley(options, expected, run, folder):
    code, out, err = run("fit", folder / "ripley.csv", "--target", "yc", "--json", *options)
    assert (code, err) == (0, "")
    found = json.loads(out)
    values = (found["kernel"]["sigma"], found["mu"], found["zeta"])
    for value, wanted in zip(values, expected, strict=True):
        assert wanted is None or value == pytest.approx(wanted, rel=5e-4)


def test_fit_says_what_the_estimator_says(run, folder, ripley_set):
    X, y = ripley_set.Xy
    model = BayesianLSSVC(refine=False).fit(X, y)
    level3 = model.level3_
    found = json.loads(run("fit", folder / "ripley.csv", "--target", "yc", "--no-refine", "--json")[1])
    assert (found["mu"], found["zeta"], found["gamma_eff"]) == (model.mu_, model.zeta_, model.gamma_eff_)
    assert found["error_bars"]["mackay"] == level3.mackay._asdict()
    assert found["error_bars"]["hessian"] == level3.hessian._asdict()
    assert found["log_evidence"] == level3.log_evidence
    assert found["log_evidence_laplace"] == model.log_evidence_
    assert (found["prior"], found["moderation"]) == ("default", "loo")
    assert found["log_evidence_without_occam"] == level3.log_evidence_without_occam
    assert found["training"]["accuracy"] == model.score(X, y)
    assert found["data"]["classes"] == [{"label": 0, "rows": 125}, {"label": 1, "rows": 125}]
    assert (found["status"], found["warnings"]) == ("interior", [])

    code, out, err = run("fit", folder / "ripley.csv", "--target", "yc", "--no-refine")
    assert (code, err) == (0, "")
    lines = {line.split("  ")[0]: line for line in out.splitlines()}
    assert "250 rows, 2 inputs (xs, ys)" in lines["data"]
    assert "0 (125 rows), 1 (125 rows)" in lines["target"]
    assert f"{model.mu_:.5g}" in lines["μ"]
    assert f"± {level3.mackay.log_mu:.3g} (MacKay), ± {level3.hessian.log_mu:.3g} (Hessian)" in lines["μ"]
    assert f"{model.gamma_eff_:.5g} of N = 250" in lines["γ_eff"]
    assert f"{level3.log_evidence:.3f} with" in lines["log evidence"]
    assert f"{model.log_evidence_:.3f} by Laplace's method with the prior; " in lines["log evidence"]
    code, out, err = run("fit", folder / "ripley.csv", "--target", "yc", "--no-refine", "--prior", "flat")
    assert (code, err, "Laplace" in out) == (0, "", False)
    assert f"{100 * model.score(X, y):.1f} %" in lines["training accuracy"]


def test_fit_of_numbers_is_regression(run, folder, ripley_set):
    X = np.column_stack([ripley_set.data[:, 0], ripley_set.target])
    y = ripley_set.data[:, 1]
    model = BayesianLSSVR(refine=False).fit(X, y)
    code, out, _ = run("fit", folder / "ripley.csv", "--target", "ys", "--no-refine", "--json")
    found = json.loads(out)
    assert (code, found["task"], found["data"]["classes"]) == (0, "regression", [])
    assert found["training"]["rmse"] == pytest.approx(np.sqrt(np.mean((model.predict(X) - y) ** 2)), rel=1e-14)
    assert "training RMSE" in run("fit", folder / "ripley.csv", "--target", "ys", "--no-refine")[1]


@pytest.mark.parametrize(
    ("target", "task", "expected"),
    [
        ("0 1 1 0 1 0", "auto", [0, 1]),
        ("-1 1 1 -1 1 1", "auto", [-1, 1]),
        ("0.5 1 1 0.5 1 1.0", "auto", ["0.5", "1.0"]),
        ("1.0 2 2.0 1 1e0 2", "auto", [1, 2]),
        ("b a a b a b", "auto", ["a", "b"]),
        ("1 a a 1 a 1", "auto", ["1", "a"]),
        ("True False True False True True", "auto", ["False", "True"]),
        ("0 1 1 0 1 0", "regression", []),
        ("0.1 1 2 3.5 1 0", "auto", []),
    ],
)
def test_the_task_and_the_labels_follow_the_target(target, task, expected, run, tmp_path):
    rows = "\n".join(f"{i},{(i * i) % 5},{value}" for i, value in enumerate(target.split()))
    path = write(tmp_path / "data.csv", f"a,b,y\n{rows}\n")
    code, out, _ = run("fit", path, "--target", "y", "--task", task, "--no-refine", "--json")
    assert code == 0
    labels = [group["label"] for group in json.loads(out)["data"]["classes"]]
    assert labels == expected
    assert [type(label) for label in labels] == [type(label) for label in expected]


def test_a_few_whole_numbers_as_target_are_noted(run, tmp_path):
    path = write(tmp_path / "data.csv", "a,y\n" + "\n".join(f"{i},{i % 3}" for i in range(12)))
    code, _, err = run("fit", path, "--target", "y", "--no-refine")
    assert code == 0
    assert "note: the target 'y' has 3 whole numbers" in err


def test_columns_can_be_left_out(run, tmp_path, folder):
    text = (folder / "ripley.csv").read_text().splitlines()
    rows = [f"{'id,remark' if i == 0 else f'r{i},'},{line}" for i, line in enumerate(text)]
    path = write(tmp_path / "data.csv", "\n".join(rows))
    options = ("--target", "yc", "--no-refine", "--json")
    code, out, _ = run("fit", path, *options, "--ignore", "id", "remark")
    found = json.loads(out)
    assert (code, found["data"]["inputs"]) == (0, ["xs", "ys"])
    assert found["mu"] == json.loads(run("fit", folder / "ripley.csv", *options)[1])["mu"]
    assert "cannot be ignored" in run("fit", path, *options, "--ignore", "yc")[2]
    assert "no column 'idd'. Did you mean 'id'?" in run("fit", path, *options, "--ignore", "idd")[2]


def test_warnings_are_sentences_with_column_names(run, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{x:.3f},7,{label}" for x, label in zip(rng.normal(size=40), rng.permutation(40) % 2, strict=True)]
    path = write(tmp_path / "noise.csv", "\n".join(["a,<i>flat</i>,y", *rows]))
    code, out, err = run("fit", path, "--target", "y", "--no-refine", "--json")
    record = json.loads(out)
    assert (code, record["status"]) == (0, "no signal")
    flat, no_signal = err.splitlines()
    assert flat.startswith("warning: Column <i>flat</i>")
    assert no_signal.startswith("warning: No signal")
    assert [f"warning: {sentence}" for sentence in record["warnings"]] == [flat, no_signal]


def test_numbers_that_json_has_not_are_null(run, folder):
    """A kernel that is one everywhere has γ_eff = 1, where MacKay's error bar √(2/(γ_eff − 1)) of log μ is infinite."""
    options = ("--target", "yc", "--kernel", "rbf:sigma=1e300", "--no-refine", "--json")
    code, out, _ = run("fit", folder / "ripley.csv", *options)
    record = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert (code, record["status"], record["error_bars"]["mackay"]["log_mu"]) == (0, "no signal", None)


def test_given_kernel_parameters_are_noted_as_a_start(run, folder):
    options = ("fit", folder / "ripley.csv", "--target", "yc", "--kernel", "rbf:sigma=1.2", "--json")
    code, out, err = run(*options)
    assert (code, err.startswith("note: the kernel parameters given are where the search starts")) == (0, True)
    assert json.loads(out)["kernel"]["sigma"] == pytest.approx(1.3676, rel=1e-3)
    code, out, err = run(*options, "--no-refine")
    assert (code, err, json.loads(out)["kernel"]["sigma"]) == (0, "", 1.2)


def test_a_class_prior_and_a_moderation_go_into_the_model(run, folder, ripley_set, tmp_path):
    out = tmp_path / "model.npz"
    options = ("--class-prior", "yes=0.9,no=0.1", "--moderation", "softmax", "--out", out)
    assert run("fit", folder / "named.csv", "--target", "yc", "--no-refine", *options)[0] == 0
    model = load(out)
    assert (model.class_prior, model.moderation) == ({"no": 0.1, "yes": 0.9}, "softmax")
    named = np.where(ripley_set.target == 1, "yes", "no")
    direct = BayesianLSSVC(refine=False, class_prior=[0.1, 0.9], moderation="softmax").fit(ripley_set.data, named)
    del model.feature_names_in_
    assert np.array_equal(model.predict_proba(ripley_set.test_data), direct.predict_proba(ripley_set.test_data))


# predict


@pytest.fixture(scope="module")
def direct(ripley_set):
    return BayesianLSSVC(refine=False).fit(*ripley_set.Xy)


def test_predictions_equal_the_estimators_to_the_last_bit(run, folder, ripley_set, direct):
    code, out, err = run("predict", folder / "model.npz", folder / "test.csv")
    assert code == 0
    assert err == "note: the model does not use the column 'yc'.\n"
    rows = table_of(out)
    assert list(rows[0]) == ["label", "P(0)", "P(1)"]
    found = np.array([[float(row["P(0)"]), float(row["P(1)"])] for row in rows])
    assert np.array_equal(found, direct.predict_proba(ripley_set.test_data))
    assert [int(row["label"]) for row in rows] == direct.predict(ripley_set.test_data).tolist()

    record = json.loads(run("predict", folder / "model.npz", folder / "test.csv", "--json")[1])
    assert (record["classes"], record["rows"]) == ([0, 1], 1000)
    assert np.array_equal(record["probabilities"], found)
    assert record["labels"] == direct.predict(ripley_set.test_data).tolist()


def test_predictions_of_numbers_have_a_mean_and_a_standard_deviation(run, folder, ripley_set):
    X = np.column_stack([ripley_set.data[:, 0], ripley_set.target])
    mean, std = BayesianLSSVR(refine=False).fit(X, ripley_set.data[:, 1]).predict(X, return_std=True)
    rows = table_of(run("predict", folder / "regression.npz", folder / "ripley.csv")[1])
    assert list(rows[0]) == ["mean", "std"]
    assert [float(row["mean"]) for row in rows] == mean.tolist()
    assert [float(row["std"]) for row in rows] == std.tolist()
    record = json.loads(run("predict", folder / "regression.npz", folder / "ripley.csv", "--json")[1])
    assert (record["task"], record["mean"], record["std"]) == ("regression", mean.tolist(), std.tolist())


def test_intervals_and_label_sets_are_those_of_the_estimators(run, folder, ripley_set, direct):
    model = load(folder / "regression.npz")
    del model.feature_names_in_
    X = np.column_stack([ripley_set.data[:, 0], ripley_set.target])
    rows = table_of(run("predict", folder / "regression.npz", folder / "ripley.csv", "--interval", "0.8")[1])
    lower, upper = model.predict_interval(X, 0.8)
    assert [float(row["lower"]) for row in rows] == lower.tolist()
    assert [float(row["upper"]) for row in rows] == upper.tolist()
    rows = table_of(run("predict", folder / "model.npz", folder / "test.csv", "--interval", "0.99")[1])
    held = direct.predict_set(ripley_set.test_data, 0.99)
    assert [row["set"] for row in rows] == [" ".join(str(c) for c in (0, 1) if row[c]) for row in held.tolist()]
    code, _, err = run("predict", folder / "model.npz", folder / "test.csv", "--interval", "90")
    assert code == 2
    assert "a share between 0 and 1 is needed, such as 0.9, not '90'" in err
    code, _, err = run("predict", folder / "regression.npz", folder / "ripley.csv", "--interval", "0.999")
    assert code == 2
    assert "needs at least 999 of them, and there are 250" in err


def test_columns_are_matched_by_name(run, folder, tmp_path):
    rows = [line.split(",") for line in (folder / "test.csv").read_text().splitlines()]
    turned = write(
        tmp_path / "turned.csv", "\n".join(f"{'more' if i == 0 else 'x'};{y};{x}" for i, (x, y, _) in enumerate(rows))
    )
    code, out, err = run("predict", folder / "model.npz", turned)
    assert (code, "'more'" in err) == (0, True)
    assert out == run("predict", folder / "model.npz", folder / "test.csv")[1]
    lacking = write(tmp_path / "lacking.csv", "ys,zs\n1,2\n")
    code, out, err = run("predict", folder / "model.npz", lacking)
    assert (code, out) == (2, "")
    assert "lacks 1 of the model's 2 inputs: 'xs'" in err


def test_a_model_without_names_takes_columns_in_their_order(run, folder, direct, tmp_path):
    model = save(direct, tmp_path / "model.npz")
    two = write(tmp_path / "two.csv", "a,b\n0.1,0.2\n")
    code, out, err = run("predict", model, two)
    assert (code, "no column names" in err) == (0, True)
    assert float(table_of(out)[0]["P(1)"]) == direct.predict_proba([[0.1, 0.2]])[0, 1]
    code, _, err = run("predict", model, folder / "test.csv")
    assert (code, "exactly its 2 inputs" in err) == (2, True)


def test_priors_and_costs_at_prediction(run, folder, ripley_set, tmp_path):
    X = ripley_set.test_data
    model = load(folder / "named.npz")
    del model.feature_names_in_
    arguments = ("predict", folder / "named.npz", folder / "test.csv", "--json")
    by_name = json.loads(run(*arguments, "--class-prior", "yes=0.1,no=0.9", "--costs", "yes=5,no=1")[1])
    in_order = json.loads(run(*arguments, "--class-prior", "0.9,0.1", "--costs", "1,5")[1])
    assert by_name == in_order
    assert np.array_equal(by_name["probabilities"], model.predict_proba(X, class_prior=[0.9, 0.1]))
    wanted = model.predict(X, class_prior=[0.9, 0.1], costs=[[0, 1], [5, 0]])
    assert by_name["labels"] == wanted.tolist()
    # both matter: a dear mistake about "yes" makes that decision more frequent
    assert wanted.tolist().count("yes") > model.predict(X, class_prior=[0.9, 0.1]).tolist().count("yes")


@pytest.mark.parametrize("option", ["--class-prior", "--costs"])
def test_class_options_are_refused_for_regression(option, run, folder):
    code, out, err = run("predict", folder / "regression.npz", folder / "ripley.csv", option, "0.5,0.5")
    assert (code, out, "is for classification" in err) == (2, "", True)
    if option == "--class-prior":
        assert run("fit", folder / "ripley.csv", "--target", "ys", option, "0.5,0.5")[0] == 2


def test_labels_with_any_characters_survive(run, tmp_path):
    labels = ['<b>"A", b</b>', "=Σ é\n2"]
    rows = [[i, i % 5, labels[i % 5 > 2]] for i in range(40)]
    path = write(tmp_path / "data.csv", csv_text(["x <i>1</i>", 'x "2", é', "y;\tz"], rows))
    assert run("fit", path, "--target", "y;\tz", "--no-refine", "--out", tmp_path / "m.npz")[0] == 0
    out = tmp_path / "predictions.csv"
    assert run("predict", tmp_path / "m.npz", path, "--out", out)[0] == 0
    with out.open(encoding="utf-8", newline="") as stream:
        found = list(csv.DictReader(stream))
    assert set(found[0]) == {"label"} | {f"P({label})" for label in labels}
    assert {row["label"] for row in found} == set(labels)


def test_the_terminal_gets_no_control_characters(run, tmp_path):
    path = write(tmp_path / "data.csv", "a\x1b[31m,\u202eb,y\n" + "\n".join(f"{i},{i % 3},{i % 2}" for i in range(9)))
    for arguments in (["--target", "y"], ["--target", "\x1b]0;z"], ["--target", "y", "--kernel", "\x1b[2J"]):
        _, out, err = run("fit", path, "--no-refine", *arguments)
        assert "\x1b" not in out + err
        assert "\u202e" not in out + err


# compare


def test_compare_ranks_as_the_library_does(run, folder, ripley_standardised):
    X, y = ripley_standardised
    names = ["linear", "rbf", "linear+rbf:sigma=2"]
    for how in ("integrated", "maximised"):
        kernels = ["linear", "rbf", Linear() + RBF(2.0)]
        expected = compare(X, y, kernels, refine=False, kernel_parameters=how, progress=False)
        arguments = ("compare", folder / "ripley.csv", "--target", "yc", "--no-refine", "--kernels", *names)
        arguments = (*arguments, "--kernel-parameters", how)
        found = json.loads(run(*arguments, "--json")[1])
        assert [row["kernel"] for row in found["kernels"]] == [row["kernel"] for row in expected.rows()]
        for row, wanted in zip(found["kernels"], expected.rows(), strict=True):
            assert row["log_evidence"] == pytest.approx(wanted["log_evidence"], rel=1e-12)
            assert row["evidence_for_best"] == wanted["evidence_for_best"]
        assert str(expected) in run(*arguments)[1]
    without = json.loads(run(*arguments, "--no-occam", "--json")[1])["kernels"]
    assert without[0]["log_evidence"] > found["kernels"][0]["log_evidence"]


def test_compare_refines_the_default_kernels(run, folder):
    arguments = ("compare", folder / "ripley.csv", "--target", "yc", "--json", "--kernel-parameters", "maximised")
    code, out, err = run(*arguments)
    rows = json.loads(out)["kernels"]
    assert (code, err) == (0, "")
    assert [row["kernel"].split("(")[0] for row in rows] == ["ARD", "RBF", "Polynomial", "Polynomial", "Linear"]
    assert sum(row["probability"] for row in rows) == pytest.approx(1.0)


def test_compare_tells_what_priors_do_to_the_ranking(run, folder):
    arguments = ("compare", folder / "ripley.csv", "--target", "yc", "--kernels", "linear", "poly2")
    code, out, err = run(*arguments, "--prior-sensitivity", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert {row["factor"] for row in found["prior_sensitivity"]} == {0.5, 1.0, 2.0}
    assert found["kernels"] == [
        {k: v for k, v in row.items() if k not in ("factor", "place")}
        for row in found["prior_sensitivity"]
        if row["factor"] == 1.0
    ]
    assert {row["kernel"].split("(")[0]: row["prior"] for row in found["kernels"]} == {
        "Linear": "none",
        "Polynomial": "N(0.693, 3)",
    }


def test_a_kernel_that_is_no_inner_product_is_refused(run, folder):
    for command in (["fit", "--kernel", "mlp"], ["compare", "--kernels", "rbf", "mlp"]):
        code, out, err = run(command[0], folder / "ripley.csv", "--target", "yc", "--no-refine", *command[1:])
        assert (code, out) == (2, "")
        assert err.startswith("error: The matrix of MLP(")
        assert "not positive semi-definite" in err


def test_search_prints_the_path_and_the_structure(run, tmp_path):
    x = np.linspace(0.0, 10.0, 40)
    y = 0.4 * x + np.sin(3.0 * x) + 0.1 * np.random.default_rng(0).normal(size=40)
    table = tmp_path / "season.csv"
    table.write_text("x,y\n" + "\n".join(f"{a},{b}" for a, b in zip(x, y, strict=True)))
    code, out, _ = run("search", table, "--target", "y", "--kernels", "linear", "periodic", "--json")
    record = json.loads(out)
    assert code == 0
    assert record["structure"] == "linear + periodic"
    assert record["path"][0]["move"] == "start"
    assert record["evaluations"] <= record["budget"]
    code, out, err = run("search", table, "--target", "y", "--kernels", "linear", "--budget", "50")
    assert code == 0
    assert "log B" in out
    code, out, err = run("search", table, "--target", "y", "--kernels", "wavelet")
    assert code == 2
    assert "invalid choice: 'wavelet'" in err


# The small languages of the options


@pytest.mark.parametrize(
    ("text", "kernel", "given"),
    [
        ("rbf", RBF(np.sqrt(2)), False),
        ("RBF:sigma=1.3", RBF(1.3), True),
        ("poly:degree=2,scale=4", Polynomial(2, 4.0), True),
        ("poly3: scale = 1e+1", Polynomial(3, 10.0), True),
        ("ard:scales=1/0.5", ARD((1.0, 0.5)), True),
        ("mlp:kappa=0.1,theta=-1", MLP(0.1, -1.0), True),
        ("linear+rbf", Linear() + RBF(np.sqrt(2)), False),
        ("linear + rbf:sigma=1e+1 + poly2", Linear() + RBF(10.0) + Polynomial(2, 1.0), True),
        ("matern32", Matern(1.0, 1.5), False),
        ("matern52:length_scale=2", Matern(2.0, 2.5), True),
        ("linear*rbf", Linear() * RBF(np.sqrt(2)), False),
        ("linear+rbf*periodic:period=2", Linear() + RBF(np.sqrt(2)) * Periodic(np.sqrt(2), 2.0), True),
        ("0.5 * (linear + 1e-1*white)", 0.5 * (Linear() + 0.1 * White()), True),
        ("rbf[1]:sigma=3+linear[0/1]", OnInputs(RBF(3.0), (1,)) + OnInputs(Linear(), (0, 1)), True),
        ("ard[1]", OnInputs(ARD((1.0,)), (1,)), False),
    ],
)
def test_kernels_are_read(text, kernel, given):
    assert parse_kernel(text, 2) == (kernel, given)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("rbff", "Did you mean rbf?"),
        ("", "no kernel named ''"),
        ("linear+", "no kernel named 'linear+'"),
        ("__import__('os').getcwd()", "no kernel named"),
        ("rbf:", "its parameters are sigma"),
        ("rbf:1.3", "its parameters are sigma"),
        ("rbf:width=1", "its parameters are sigma"),
        ("rbf:kind=Linear", "its parameters are sigma"),
        ("rbf:sigma=1,sigma=2", "given once"),
        ("rbf:sigma=wide", "'wide' of sigma is not a finite number"),
        ("rbf:sigma=inf", "not a finite number"),
        ("rbf:sigma=0", "positive finite number"),
        ("poly:degree=2.5", "whole number"),
        ("poly2:degree=3", "its parameters are scale"),
        ("linear:scale=1", "no parameters"),
        ("ard:scales=1/2/3", "3 scales but the inputs have 2"),
        ("rbf:sigma=1*", "a term is missing"),
        ("(rbf", "a bracket is not closed"),
        ("rbf)", "')' was found where + or *"),
        ("linear rbf", "no kernel named"),
        ("2", "a number alone is not a kernel"),
        ("rbf+2", "a number can multiply a kernel"),
        ("0*rbf", "positive finite number"),
        ("matern12:nu=2.5", "its parameters are length_scale"),
        ("rbf[2]", "numbers from 0 to 1 between brackets"),
        ("rbf[a]", "numbers from 0 to 1 between brackets"),
        ("rbf[0", "numbers from 0 to 1 between brackets"),
    ],
)
def test_wrong_kernels_get_a_sentence(text, words, run, folder):
    code, out, err = run("fit", folder / "ripley.csv", "--target", "yc", "--kernel", text)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert words in err


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0.3,0.7", [0.3, 0.7]), ("1=0.7, -1=0.3", [0.3, 0.7]), ("-1=3e-1,1=.7", [0.3, 0.7]), (None, None)],
)
def test_numbers_by_class_are_read(text, expected):
    assert parse_by_class(text, "--costs", [-1, 1]) == expected
    assert parse_by_class("a=b=1,c=2", "--costs", ["a=b", "c"]) == [1.0, 2.0]


@pytest.mark.parametrize("text", ["", "0.3", "0.3,0.3,0.4", "1=0.3,0.7", "x,y", "1=0.3,2=0.7", "1=0.3,1=0.7", "nan,1"])
def test_wrong_numbers_by_class_name_the_classes(text):
    with pytest.raises(InputError, match=r"-1.*1"):
        parse_by_class(text, "--costs", [-1, 1])


@pytest.mark.parametrize("text", ["0.3,0.8", "0,1", "-0.1,1.1", "inf,1"])
def test_a_class_prior_is_two_probabilities(text, run, folder):
    code, _, err = run("predict", folder / "model.npz", folder / "test.csv", f"--class-prior={text}")
    assert (code, "sum to one" in err) == (2, True)


@pytest.mark.parametrize("text", ["0,1", "-1,1", "inf,1"])
def test_costs_are_two_positive_numbers(text, run, folder):
    code, _, err = run("predict", folder / "model.npz", folder / "test.csv", f"--costs={text}")
    assert (code, "positive finite" in err) == (2, True)


# Tables


GOOD_ROWS = [(0.5, 1.25, "u"), (-1.5, 2.0, "v"), (3e-7, -4.0, "u"), (2.0, 0.0, "v")]
GOOD = "a,b,y\n" + "".join(f"{a},{b},{y}\n" for a, b, y in GOOD_ROWS)
GOOD_TABLES = {
    "commas": GOOD,
    "semicolons": GOOD.replace(",", ";"),
    "tabs": GOOD.replace(",", "\t"),
    "byte order mark": "\ufeff" + GOOD,
    "quotes": '"a","b","y"\n' + "".join(f'"{a}","{b}","{y}"\n' for a, b, y in GOOD_ROWS),
    "spaces": GOOD.replace(",", " , "),
    "blank lines": GOOD.replace("\n", "\n\n"),
    "no last line end": GOOD.rstrip(),
    "Windows line ends": GOOD.replace("\n", "\r\n"),
    "old Mac line ends": GOOD.replace("\n", "\r"),
}


@pytest.mark.parametrize("text", GOOD_TABLES.values(), ids=GOOD_TABLES)
def test_tables_of_many_makes_are_read(text, tmp_path):
    table = read_table(str(write(tmp_path / "data.csv", text)))
    assert table.names == ("a", "b", "y")
    assert numbers_of(table, ["a", "b"]).tolist() == [[a, b] for a, b, _ in GOOD_ROWS]
    assert table.column("y") == [y for _, _, y in GOOD_ROWS]


ROWS = "1,2,u\n2,3,v\n4,5,u\n"
BAD_TABLES = {
    "empty": (b"", ["is empty"]),
    "blank": (b"\n  \n", ["is empty"]),
    "header only": ("a,b,y\n", ["header but no rows"]),
    "no header": ("1,2,0\n3,4,1\n5,6,1\n", ["no header", "(1, 2, 0)"]),
    "ragged": (f"a,b,y\n{ROWS}1,2\n", ["line 5 has 2 cells where the header has 3"]),
    "ragged after a long cell": (f'a,b,y\n1,2,"u\n\nu"\n{ROWS}1\n', ["line 8 has 1 cell "]),
    "text": (
        "a,b,y\n1,red,u\n2,3,v\n3,1,u\n",
        ["line 2", "column 'b'", "'red' is text", "--categories b", "--ignore b"],
    ),
    "underscore": ("a,b,y\n1,2,u\n2,1_000,v\n3,1,u\n", ["line 3", "'1_000' is text"]),
    "points and commas": ("a;b;y\n1,5;2;u\n2.5;3;v\n3;1;u\n", ["'a'", "more than one way ('1,5', '2.5', '3')"]),
    "commas that may be either": ("a;b;y\n1,500;2;u\n2,250;3;v\n3;1;u\n", ["'1,500' may be 1500 or 1.5", "--decimal"]),
    "dates": ("a,d,y\n1,2024-01-31,u\n2,2024-02-01,v\n3,2024-02-02,u\n", ["'d' holds dates", "--ignore d"]),
    "missing": ("a,b,y\n1,,u\n?,NA,v\n3,nan,u\n4,5,v\n", ["4 missing values, in columns 'a' (1), 'b' (3)"]),
    "missing target": ("a,b,y\n1,2,u\n2,3,\n3,1,v\n", ["1 missing value, in column 'y' (1)"]),
    "infinite": ("a,b,y\n1,2,u\n2,-inf,v\n3,1,u\n", ["line 3", "'-inf' is not a finite number"]),
    "overflow": ("a,b,y\n1,2,u\n2,1e999,v\n3,1,u\n", ["'1e999' is not a finite number"]),
    "too large": ("a,b,y\n1,2,1e300\n2,3,2\n3,1,3\n", ["'1e300'", "another unit"]),
    "one class": ("a,b,y\n1,2,u\n2,3,u\n3,1,u\n", ["target 'y' is 'u' in all 3 rows"]),
    "three classes": (
        "a,b,y\n1,2,u\n2,3,v\n3,1,w\n",
        ["'y' has 3 different values in 3 rows", "too many to be classes"],
    ),
    "too few rows": ("a,b,y\n1,2,u\n2,3,v\n", ["has 2 rows; at least 3"]),
    "constant inputs": ("a,b,y\n1,2,u\n1,2,v\n1,2,u\n", ["no input column varies"]),
    "no inputs": ("y\nu\nv\nu\n", ["no input column"]),
    "duplicate names": (f"a,a,y\n{ROWS}", ["more than one column named 'a'"]),
    "index without name": (f",b,y\n{ROWS}", ["column 1 has no name"]),
    "other separator": (f"a|b|y\n{ROWS.replace(',', '|')}", ["no column 'y'", "'a|b|y'"]),
    "open quote": (f'a,b,y\n1,"2,u\n{ROWS}', ["line 2", "check its quotes"]),
    "endless cell": (f"a,b,y\n1,2,{'u' * 200_000}\n", ["line 2", "field larger"]),
    "NUL bytes": (b"a,b,y\n1,2,\0\n", ["not a text table"]),
    "an archive": (b"PK\x03\x04abc", ["not a text table", "export it as CSV"]),
    "binary": (bytes(range(1, 256)), ["not UTF-8 text"]),
    "no encoding": (b"a,b,y\n1,2,\x81\xe9\n", ["byte 0x81 on line 2", "save it as UTF-8"]),
    "UTF-16 cut": (f"a,b,y\n{ROWS}".encode("utf-16")[:-1], ["UTF-16", "save it as UTF-8"]),
}


@pytest.mark.parametrize("command", ["fit", "compare"])
@pytest.mark.parametrize(("content", "words"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_a_bad_table_gets_one_sentence(command, content, words, run, tmp_path):
    path = write(tmp_path / "data.csv", content)
    code, out, err = run(command, path, "--target", "y", "--no-refine")
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("error: ")
    assert str(path) in err
    for word in words:
        assert word in err


def test_targets_that_contradict_the_task(run, tmp_path):
    text = write(tmp_path / "text.csv", f"a,b,y\n{ROWS}")
    flat = write(tmp_path / "flat.csv", "a,y\n1,5\n2,5\n3,5\n")
    many = write(tmp_path / "many.csv", "a,y\n1,5\n2,6\n3,7\n")
    assert "use --task classification" in run("fit", text, "--target", "y", "--task", "regression")[2]
    assert "nothing to learn" in run("fit", flat, "--target", "y", "--task", "regression")[2]
    assert "too many to be classes" in run("fit", many, "--target", "y", "--task", "classification")[2]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Weigth", "Did you mean 'weight'"),
        ("WEIGHT", "Did you mean 'weight'"),
        ("zzz", "Its columns are 'height', 'weight'."),
    ],
)
def test_a_wrong_column_name_is_answered_with_the_right_ones(name, words, run, tmp_path):
    path = write(tmp_path / "data.csv", "height,weight\n1,2\n3,4\n5,7\n")
    code, _, err = run("fit", path, "--target", name)
    assert (code, f"no column {name!r}" in err, words in err) == (2, True, True)


@pytest.mark.parametrize(
    "command", [["fit", "{}", "--target", "y"], ["compare", "{}", "--target", "y"], ["predict", "m", "{}"]]
)
def test_a_file_that_is_not_there(command, run, tmp_path, folder):
    path = tmp_path / "nothing.csv"
    arguments = [part.format(path) if part != "m" else folder / "model.npz" for part in command]
    assert run(*arguments) == (2, "", f"error: there is no file '{path}'.\n")
    said = "There is no CSV or Parquet file at" if command[0] == "fit" else "Is a directory"  # fit takes folders
    assert said in run(*[tmp_path if part == str(path) else part for part in arguments])[2]


def test_standard_input_is_a_table(run, folder, monkeypatch):
    raw = (folder / "ripley.csv").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    code, out, _ = run("fit", "-", "--target", "yc", "--no-refine")
    assert (code, out.splitlines()[0].split(":")[0].split()) == (0, ["data", "standard", "input"])


names = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).map(str.strip).filter(bool)


@settings(max_examples=60, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    header=st.lists(names, min_size=2, max_size=5, unique=True).filter(lambda h: not all(map(_reads_as_number, h))),
    values=st.lists(st.floats(-1e60, 1e60), min_size=3, max_size=6),
)
def test_any_table_that_we_write_reads_back(header, values, tmp_path):
    rows = [[value] * len(header) for value in values]
    table = read_table(str(write(tmp_path / "data.csv", csv_text(header, rows))))
    assert table.names == tuple(header)
    assert numbers_of(table, header).tolist() == rows


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


@settings(
    max_examples=150, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    raw=st.one_of(
        st.binary(max_size=60), st.text('a,y;\n\t" 1.e-', max_size=60).map(lambda text: f"a,y\n{text}".encode())
    )
)
def test_no_bytes_at_all_bring_a_traceback(raw, run, tmp_path):
    code, out, err = run("fit", write(tmp_path / "data.csv", raw), "--target", "y", "--no-refine", "--kernel", "linear")
    assert (code == 0) == bool(out)
    assert code in (0, 2)
    assert code == 0 or err.splitlines()[-1].startswith("error: ")


# Models


def test_files_that_are_no_models(run, folder, tmp_path):
    empty = write(tmp_path / "empty.npz", b"")
    half = write(tmp_path / "half.npz", (folder / "model.npz").read_bytes()[:5000])
    np.savez(tmp_path / "other.npz", X=np.eye(2))
    for path in (folder / "ripley.csv", empty, half, tmp_path / "other.npz", tmp_path):
        code, out, err = run("predict", path, folder / "test.csv")
        assert (code, out) == (2, "")
        assert f"{path} is not a model file of bayes-lssvm" in err
        assert "unsafely" not in err  # NumPy's advice to unpickle
    assert "there is no file" in run("predict", tmp_path / "nothing.npz", folder / "test.csv")[2]


def test_a_model_of_another_version(run, folder, tmp_path):
    with np.load(folder / "model.npz", allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(str(arrays["header"])) | {"version": 99}
    np.savez(tmp_path / "model.npz", **(arrays | {"header": np.array(json.dumps(header))}))
    code, out, err = run("predict", tmp_path / "model.npz", folder / "test.csv")
    assert (code, out, "has format version 99" in err) == (2, "", True)


# Output


def outputs(command: str, folder: Path, path: object) -> list[object]:
    if command == "fit":
        return ["fit", folder / "ripley.csv", "--target", "yc", "--no-refine", "--out", path]
    if command == "predict":
        return ["predict", folder / "model.npz", folder / "ripley.csv", "--out", path]
    return ["datasets", "ripley", "--csv", path]


@pytest.mark.parametrize("command", ["fit", "predict", "datasets"])
def test_output_that_cannot_be_written_is_refused(command, run, folder, tmp_path):
    file = write(tmp_path / "file", "x")
    for path, words in [
        (tmp_path / "no" / "out", "there is no folder"),
        (tmp_path, "it is a folder"),
        (file / "out", "there is no folder"),
        (os.devnull, "not a regular file"),
    ]:
        code, out, err = run(*outputs(command, folder, path))
        assert (code, out) == (2, "")
        assert f"error: cannot write '{path}': " in err
        assert words in err
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("command", ["fit", "predict"])
def test_an_input_is_never_overwritten(command, run, folder, tmp_path):
    link = tmp_path / "link.csv"
    link.symlink_to(folder / "ripley.csv")
    before = (folder / "ripley.csv").read_bytes()
    for path in (folder / "ripley.csv", folder / ".." / folder.name / "ripley.csv", link):
        code, _, err = run(*outputs(command, folder, path))
        assert (code, "is also an input" in err) == (2, True)
    if command == "predict":
        assert "is also an input" in run(*outputs(command, folder, folder / "model.npz"))[2]
    assert (folder / "ripley.csv").read_bytes() == before


@pytest.mark.parametrize("command", ["fit", "predict", "datasets"])
def test_files_are_written_whole_or_not_at_all(command, run, folder, tmp_path, monkeypatch):
    path = write(tmp_path / "out", "former")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    code, _, err = run(*outputs(command, folder, path))
    assert (code, "No space left on device" in err) == (2, True)
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert path.read_text() == "former"


@pytest.mark.parametrize("command", ["predict", "datasets"])
def test_a_file_replaces_the_former_and_links_stay(command, run, folder, tmp_path):
    path = write(tmp_path / "out", "former")
    link = tmp_path / "link"
    link.symlink_to(path)
    code, out, _ = run(*outputs(command, folder, link))
    assert (code, f"written to {link}" in out) == (0, True)
    assert link.is_symlink()
    assert len(path.read_text().splitlines()) == 251
    assert len(list(tmp_path.iterdir())) == 2


def test_json_and_a_table_together(run, folder, tmp_path):
    out = tmp_path / "out.csv"
    record = json.loads(run("predict", folder / "model.npz", folder / "test.csv", "--out", out, "--json")[1])
    assert [row["label"] for row in table_of(out.read_text())] == [str(label) for label in record["labels"]]
    assert run("predict", folder / "model.npz", folder / "test.csv", "--out", "-", "--json")[0] == 2
    assert run("fit", folder / "ripley.csv", "--target", "yc", "--out", "-")[0] == 2


def test_an_interrupt_ends_quietly(run, monkeypatch):
    class Interrupted(io.BytesIO):
        def read(self, *_):
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Interrupted()))
    assert run("fit", "-", "--target", "y") == (130, "", "")


def test_a_terminal_without_greek_letters_gets_escapes(folder, monkeypatch):
    screen, errors = (io.TextIOWrapper(io.BytesIO(), encoding="ascii") for _ in range(2))
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stderr", errors)
    assert main(["fit", str(folder / "ripley.csv"), "--target", "yc", "--no-refine"]) == 0
    assert rb"\u03bc" in screen.buffer.getvalue()


def test_labels_that_the_terminal_cannot_carry_are_not_changed(folder, monkeypatch, tmp_path):
    path = write(tmp_path / "data.csv", "a,y\n" + "\n".join(f"{i},{'é' if i > 4 else 'e'}" for i in range(10)))
    model = str(tmp_path / "m.npz")
    assert main(["fit", str(path), "--target", "y", "--no-refine", "--out", model]) == 0
    screen, errors = (io.TextIOWrapper(io.BytesIO(), encoding="ascii") for _ in range(2))
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stderr", errors)
    assert main(["predict", model, str(path)]) == 2
    errors.flush()
    assert screen.buffer.getvalue() == b""
    assert b"write to a file" in errors.buffer.getvalue()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_is_lost_is_an_error(capsys, monkeypatch):
    with open("/dev/full", "w") as full:
        monkeypatch.setattr(sys, "stdout", full)
        assert main(["datasets", "ripley"]) == 2
        monkeypatch.undo()  # and closing the stream does not fail again
    assert capsys.readouterr().err == "error: No space left on device.\n"


# The installed script


def test_the_script_designs_what_then_predicts(run, folder, tmp_path):
    """Section 7.1: 90.7 % of the test set, with σ by eq 5.3."""
    papers = ["--prior", "flat", "--moderation", "class"]
    fit = ["fit", folder / "named.csv", "--target", "yc", *papers, "--out", tmp_path / "model.npz", "--json"]
    done = subprocess.run([SCRIPT, *fit], capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["kernel"]["sigma"] == pytest.approx(1.3283, rel=5e-4)
    labels = [row["label"] for row in table_of(run("predict", tmp_path / "model.npz", folder / "test.csv")[1])]
    assert np.mean((np.array(labels) == "yes") == datasets.load("ripley").test_target) == 0.907


def test_the_script_ends_quietly_when_nobody_reads_on():
    """A short text stays in the buffer until the end, where the interpreter would complain of a closed pipe."""
    process = subprocess.Popen(
        [SCRIPT, "datasets", "ripley"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()  # what `| head` does
    with process.stderr as stream:
        assert stream.read() == b""
    assert process.wait() == 141  # as any program that SIGPIPE ends


# The page about it


NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def console_blocks() -> list[tuple[str, str]]:
    """Each command of the page with the output shown below it."""
    page = (Path(__file__).parents[2] / "docs" / "reference" / "command_line.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    pieces = [piece for block in blocks for piece in re.split(r"^\$ ", block, flags=re.MULTILINE) if piece]
    return [(command, output) for command, _, output in (piece.partition("\n") for piece in pieces)]


def test_the_page_shows_what_the_program_prints(run, tmp_path, monkeypatch):
    """Texts to the letter, numbers within one unit of the last digit shown (1e-9 where all digits are shown)."""
    monkeypatch.chdir(tmp_path)
    blocks = console_blocks()
    assert {shlex.split(command)[1] for command, _ in blocks} == {
        "datasets",
        "fit",
        "plot",
        "predict",
        "compare",
        "select",
        "trust",
        "marginalise",
    }
    for command, shown in blocks:
        line, _, head = command.partition(" | head -")
        _, out, err = run(*shlex.split(line)[1:])
        found = err + "".join(out.splitlines(keepends=True)[: int(head) if head else None])
        assert NUMBER.sub("#", found) == NUMBER.sub("#", shown), command
        for a, b in zip(NUMBER.findall(found), NUMBER.findall(shown), strict=True):
            unit = Decimal(10) ** int(Decimal(b).as_tuple().exponent)
            assert abs(Decimal(a) - Decimal(b)) <= max(unit, abs(Decimal(b)) / 10**9), command
