"""The commands trust and marginalise: what they print and write, and the sentence that each mistake gets."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bayes_lssvm import FullyBayesianLSSVC, FullyBayesianLSSVR, HyperPosterior, datasets, marginalise, trust
from bayes_lssvm.base.text import InputError
from bayes_lssvm.cli import marginal as _marginal
from bayes_lssvm.cli.grammar import hyper_prior_from, parse_prior
from bayes_lssvm.kernels import ARD, RBF
from bayes_lssvm.priors import Box, Flat, HyperPrior, Normal

HELD = ("--kernel", "rbf:sigma=1.3", "--fixed-kernel")  # milliseconds
NAMES = ("no", "yes")
NARROW = HyperPrior(kernel=Normal(0, 1))


@pytest.fixture
def record(run):
    """Run with --json: the object that is printed, by JSON's own rules."""

    def call(*arguments):
        code, out, _ = run(*arguments, "--json")
        assert code == 0
        return json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))

    return call


@pytest.fixture(scope="module")
def data():
    """Sixty of Ripley's points with labels 0 and 1, and forty of the test part."""
    ripley = datasets.load("ripley")
    chosen = np.r_[0:30, 125:155]
    return ripley.data[chosen], ripley.target[chosen], ripley.test_data[::25]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, data):
    """Tables: classes, the same with a column that does not vary, and new rows in another order of columns."""
    folder = tmp_path_factory.mktemp("marginal")
    X, y, new = data
    rows = [(*x, label) for x, label in zip(X.tolist(), y.tolist(), strict=True)]
    write(folder / "classes.csv", ["a", "b", "y"], rows)
    write(folder / "flat.csv", ["a", "b", "c", "y"], [(*row[:2], 7, row[2]) for row in rows])
    write(folder / "new.csv", ["extra", "b", "a"], [("x", b, a) for a, b in new.tolist()])
    return folder


def write(path: Path, header: list[str], rows: list) -> Path:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def only_error(result: tuple[int, str, str]) -> str:
    code, out, err = result
    assert (code, out) == (2, "")
    last = err.splitlines()[-1]
    assert last.startswith("error: ")
    return last


# Priors


@pytest.mark.parametrize(
    ("text", "prior"),
    [
        ("normal", Normal(0, 3)),
        ("normal:0,3", Normal(0, 3)),
        ("Normal: sd = 2", Normal(0, 2)),
        ("normal:mean=-1,sd=1e+1", Normal(-1, 10)),
        ("normal:sd=2,mean=1", Normal(1, 2)),
        ("box:-10,10", Box(-10, 10)),
        ("box:high=4,low=-3", Box(-3, 4)),
        ("flat", Flat()),
    ],
)
def test_priors_are_read(text, prior):
    assert parse_prior(text) == prior


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no prior named ''. The names are normal, box, flat."),
        ("gauss:0,3", "no prior named 'gauss'"),
        ("normal:", "write normal, normal:0,3 or normal:mean=0,sd=3"),
        ("normal:3", "write normal, normal:0,3"),
        ("normal:0,sd=3", "write normal, normal:0,3"),
        ("normal:sd=3,sd=4", "write normal, normal:0,3"),
        ("normal:width=3", "write normal, normal:0,3"),
        ("normal:sd=wide", "write normal, normal:0,3"),
        ("normal:0,3,1", "write normal, normal:0,3"),
        ("normal:0,-3", "positive sd"),
        ("normal:nan,1", "write normal, normal:0,3"),
        ("box", "write box:-10,10 or box:low=-10,high=10"),
        ("box:low=1", "write box:-10,10"),
        ("box:10,-10", "low < high"),
        ("box:-inf,1", "finite bounds"),
        ("flat:1", "write flat."),
    ],
)
def test_wrong_priors_get_a_sentence(text, words, run, folder):
    with pytest.raises(InputError) as caught:
        parse_prior(text)
    assert words in str(caught.value)
    for option in ("--prior", "--prior-mu", "--prior-zeta", "--prior-kernel"):
        error = only_error(run("marginalise", folder / "classes.csv", "--target", "y", option, text))
        assert words in error


def test_one_prior_is_for_all_and_others_replace_it():
    assert hyper_prior_from("box:-5,5", None, None, None) == HyperPrior(*3 * (Box(-5, 5),))
    mixed = hyper_prior_from("normal", "normal:0,1", "box:-1,2", ["normal:0,4", "flat"])
    assert mixed == HyperPrior(Normal(0, 1), Box(-1, 2), (Normal(0, 4), Flat()))


# What both commands share


@pytest.mark.parametrize("command", ["trust", "marginalise"])
def test_help_has_the_grammar_and_examples(command, run):
    code, out, err = run(command, "--help")
    assert (code, err) == (0, "")
    assert "normal:0,3" in out
    assert "--no-refine" not in out
    assert f"  bayes-lssvm {command} data.csv --target y" in out.split("examples:")[1]
    assert f"bayes-lssvm {command} ripley.csv" in run("--help")[1]


@pytest.mark.parametrize("command", ["trust", "marginalise"])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--prior", "flat"], "a flat prior makes the integral infinite"),
        (["--kernel", "rfb"], "Did you mean rbf?"),
        (
            ["--kernel", "linear", "--prior-kernel", "normal"],
            "--prior-kernel is for the kernel's parameters, but Linear",
        ),
        ([*HELD, "--prior-kernel", "normal"], "--fixed-kernel keeps them fixed"),
        (["--prior-kernel", "normal", "box:0,1"], "2 kernel components, but the kernel has 1"),
        (["--seed", "x"], "whole number"),
        (["--no-refine"], "--no-refine"),
        (["--ignore", "a", "b"], "no input column"),
    ],
)
def test_mistakes_in_the_arguments(command, arguments, words, run, folder):
    assert words in only_error(run(command, folder / "classes.csv", "--target", "y", *arguments))


def test_marginalise_takes_no_more_than_two_classes(run, tmp_path):
    path = write(tmp_path / "three.csv", ["a", "y"], [(i, "uvw"[i % 3]) for i in range(9)])
    assert "3 classes ('u', 'v', 'w')" in only_error(run("marginalise", path, "--target", "y"))


@pytest.mark.parametrize("command", ["trust", "marginalise"])
def test_standard_input_is_a_table(command, run, record, folder, monkeypatch):
    raw = (folder / "classes.csv").read_bytes()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    code, out, err = run(command, "-", "--target", "y", *HELD)
    assert (code, err) == (0, "")
    assert "standard input: 60 rows, 2 inputs (a, b)" in out
    assert out.splitlines()[2].split() == ["task", "classification"]


@pytest.mark.parametrize("command", ["trust", "marginalise"])
def test_a_column_without_variance_is_named(command, run, record, folder):
    arguments = (command, folder / "flat.csv", "--target", "y", *HELD)
    code, _, err = run(*arguments)
    assert code == 0
    assert err.count("warning: ") == 1
    assert "Column c of X does not vary" in err
    assert record(*arguments)["warnings"] == [err.strip().removeprefix("warning: ")]


@pytest.mark.parametrize("command", ["trust", "marginalise"])
def test_given_parameters_that_are_not_held_are_noted(command, run, folder):
    """Before anything is refused, or takes long."""
    arguments = (command, folder / "classes.csv", "--target", "y", "--kernel", "rbf:sigma=1", "--prior", "flat")
    _, _, err = run(*arguments)
    assert err.startswith("note: the kernel's parameters are integrated out; --fixed-kernel keeps the given values.")
    assert "note" not in run(*arguments, "--fixed-kernel")[2]


# trust


def test_trust_prints_the_librarys_report(run, record, folder, data):
    X, y, _ = data
    options = ("--prior", "normal:sd=2", "--prior-zeta", "box:-8,8", "--seed", "3")
    prior = HyperPrior(Normal(0, 2), Box(-8, 8), Normal(0, 2))
    expected = trust(X, y, kernel=RBF(1.3), prior=prior, fixed_kernel=True, seed=3)  # standardises by itself
    code, out, err = run("trust", folder / "classes.csv", "--target", "y", *HELD, *options)
    assert (code, err) == (0, "")
    head, _, report = out.partition("\n\n")
    assert head.splitlines()[0].endswith("classes.csv: 60 rows, 2 inputs (a, b)")
    assert report == f"{expected}\n"

    found = record("trust", folder / "classes.csv", "--target", "y", *HELD, *options)
    wanted = expected.as_dict()
    for name in ("verdict", "sentence", "n_modes", "n_used", "kernel"):
        assert found[name] == wanted[name]
    for name in ("k_hat", "tail_mass", "worst_change"):
        assert found[name] == pytest.approx(wanted[name], abs=1e-9)
    assert [check["sentence"] for check in found["checks"]] == [check["sentence"] for check in wanted["checks"]]
    evidences = [[rung["log_evidence"] for rung in source["ladder"]] for source in (found, wanted)]
    assert evidences[0] == pytest.approx(evidences[1], abs=1e-9)
    assert found["data"]["classes"] == [{"label": 0, "rows": 30}, {"label": 1, "rows": 30}]
    assert (found["seed"], found["fixed_kernel"], found["prior"]) == (3, True, prior.to_dict())


def test_a_bad_verdict_is_a_result_and_not_an_error(run, record, tmp_path):
    """Labels at random: level 2 has no mode."""
    rng = np.random.default_rng(0)
    rows = [
        (x, label) for x, label in zip(rng.normal(size=40).tolist(), (rng.permutation(40) % 2).tolist(), strict=True)
    ]
    path = write(tmp_path / "noise.csv", ["a", "y"], rows)
    code, out, err = run("trust", path, "--target", "y", *HELD)
    assert (code, "BAD: Do not trust" in out) == (0, True)
    assert err.startswith("warning: No signal")
    assert record("trust", path, "--target", "y", *HELD)["verdict"] == "bad"


def test_trust_of_numbers_and_of_text_labels(record, run, folder, data, tmp_path):
    found = record("trust", folder / "classes.csv", "--target", "b", "--ignore", "y", "--kernel", "linear")
    assert (found["task"], found["data"]["inputs"]) == ("regression", ["a"])
    X, y, _ = data
    named = write(tmp_path / "named.csv", ["a", "b", "y"], [(*x, NAMES[k]) for x, k in zip(X, y, strict=True)])
    by_name, by_number = (record("trust", p, "--target", "y", *HELD) for p in (named, folder / "classes.csv"))
    assert by_name["ladder"] == by_number["ladder"]
    assert by_name["calibration"]["gain"] == by_number["calibration"]["gain"]
    numbers = record("trust", folder / "classes.csv", "--target", "y", "--task", "regression", *HELD)
    assert (numbers["task"], by_number["task"]) == ("regression", "classification")


def test_trust_of_more_than_two_classes(run, record, tmp_path):
    rng = np.random.default_rng(0)
    rows = [(*(3.0 * np.eye(3)[i % 3, :2] + rng.normal(size=2)).tolist(), "uvw"[i % 3]) for i in range(60)]
    path = write(tmp_path / "three.csv", ["a", "b", "y"], rows)
    code, out, _ = run("trust", path, "--target", "y")
    assert code == 0
    assert "\nall 60 rows were used\n" in out
    assert "better than by the class frequencies" in out
    assert "not checked  The closed forms can be checked for one binary model or a regression" in out
    found = record("trust", path, "--target", "y")
    assert (found["kernel"], found["ladder"], len(found["checks"])) == (None, [], 3)


# marginalise


def test_the_evidence_and_the_posterior_are_the_estimators(run, record, folder, data):
    classifier = FullyBayesianLSSVC(prior=NARROW, tolerance=1e-6).fit(*data[:2])
    arguments = ("marginalise", folder / "classes.csv", "--target", "y", "--prior-kernel", "normal:0,1")
    found = record(*arguments)
    posterior = classifier.posterior_
    assert found["log_evidence"] == pytest.approx(classifier.log_evidence_, abs=1e-12)
    assert (found["method"], found["task"], found["prior"]) == ("quadrature", "classification", NARROW.to_dict())
    mean, sd, interval = posterior.mean(), posterior.sd(), posterior.interval(0.9)
    assert set(found["parameters"]) == set(mean)
    for name, values in found["parameters"].items():
        wanted = (mean[name], sd[name], *interval[name])
        assert tuple(values[key] for key in ("mean", "sd", "low", "high")) == pytest.approx(wanted, rel=1e-9)
    assert found["correlation"]["names"] == list(posterior.names)
    assert np.array(found["correlation"]["values"]) == pytest.approx(posterior.correlation(), abs=1e-9)
    assert found["diagnostics"] == posterior.diagnostics

    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[3] == "kernel  rbf (sigma integrated out)"
    assert lines[4] == "prior   log_mu Normal(0, 3), log_zeta Normal(0, 3), log_sigma Normal(0, 1)"
    assert posterior.summary() in out  # evidence, means, standard deviations and intervals
    assert lines[-1] == f"{posterior.diagnostics['n_kernels']} kernels were evaluated."


def test_a_regression_has_the_evidence_of_its_targets_as_given(run, record, folder, data):
    X, _, _ = data
    a, b = X[:, :1], X[:, 1]
    model = FullyBayesianLSSVR(RBF(1.3), fixed_kernel=True, tolerance=1e-7).fit(a, b)
    assert model.target_scale_ < 0.5  # so that the scale matters
    arguments = ("marginalise", folder / "classes.csv", "--target", "b", "--ignore", "y", *HELD)
    assert record(*arguments)["log_evidence"] == pytest.approx(model.log_evidence_, abs=1e-9)
    out = run(*arguments)[1]
    assert f"log evidence {model.log_evidence_:.6f} (quadrature" in out
    assert f"mean {model.target_mean_:.5g}, sd {model.target_scale_:.5g}; mu and zeta" in out
    draws = model.posterior_.sample(20000)["zeta"]
    noise = next(line for line in out.splitlines() if line.startswith("noise level")).split()[2].rstrip(",")
    assert float(noise) == pytest.approx(model.target_scale_ * np.mean(draws**-0.5), rel=0.01)


@pytest.mark.parametrize(
    ("method", "options", "keywords", "sentence"),
    [
        ("mackay", ["--tolerance", "1e-3"], {"tolerance": 1e-3}, "log evidence"),
        ("laplace", ["--prior", "flat"], {"prior": Flat()}, "The posterior has one mode."),
        ("importance", ["--draws", "200", "--seed", "5"], {"draws": 200, "seed": 5}, "the weights can be trusted"),
        ("quadrature", ["--prior-mu", "box:-6,6"], {"prior": HyperPrior(mu=Box(-6, 6))}, "log evidence"),
    ],
)
def test_each_method_is_the_librarys(method, options, keywords, sentence, run, record, folder, data):
    X, y, _ = data
    expected = marginalise(
        standardised(X),
        np.where(y == 1, 1.0, -1.0),
        kernel=RBF(1.3),
        fixed_kernel=True,
        method=method,
        **keywords,
        standardise=False,
    )
    arguments = ("marginalise", folder / "classes.csv", "--target", "y", "--method", method, *HELD, *options)
    found = record(*arguments)
    assert (found["method"], found["log_evidence"]) == (method, pytest.approx(expected.log_evidence, abs=1e-9))
    assert found["parameters"]["log_mu"]["sd"] == pytest.approx(expected.sd()["log_mu"], rel=1e-9)
    code, out, _ = run(*arguments)
    assert (code, sentence in out) == (0, True)
    assert "kernel  RBF(sigma=1.3) (as given)" in out


@pytest.mark.slow
def test_several_kernel_parameters_by_a_design(record, run, folder, data):
    X, y, _ = data
    expected = marginalise(
        standardised(X),
        np.where(y == 1, 1.0, -1.0),
        kernel=ARD((1.0, 1.0)),
        prior=Normal(0, 1),
        method="ccd",
        standardise=False,
    )
    arguments = (
        "marginalise",
        folder / "classes.csv",
        "--target",
        "y",
        "--kernel",
        "ard:scales=1/1",
        "--prior",
        "normal:0,1",
    )
    assert record(*arguments, "--method", "ccd")["log_evidence"] == pytest.approx(expected.log_evidence, abs=1e-9)
    out = run(*arguments, "--method", "ccd")[1]
    assert "(scale_0, scale_1 integrated out)" in out
    assert "Laplace's method gives a log evidence of " in out
    error = only_error(run(*arguments))
    assert "one kernel parameter at most" in error
    assert "(--fixed-kernel)" in error
    assert 'method="ccd" is a design for kernels with two or more' in only_error(
        run("marginalise", folder / "classes.csv", "--target", "y", "--method", "ccd")
    )


def test_evidences_among_the_diagnostics_are_of_the_targets_as_given(record, folder, data):
    X, y, _ = data
    inputs, b = standardised(np.column_stack([X[:, 0], y])), X[:, 1]
    expected = marginalise(
        inputs, standardised(b), kernel=ARD((1.0, 1.0)), prior=Normal(0, 1), method="ccd", standardise=False
    )
    arguments = ("--kernel", "ard:scales=1/1", "--prior", "normal:0,1", "--method", "ccd")
    found = record("marginalise", folder / "classes.csv", "--target", "b", *arguments)
    shift = 59 * np.log(b.std(ddof=1))
    assert found["log_evidence"] == pytest.approx(expected.log_evidence - shift, abs=1e-9)
    laplace = expected.diagnostics["log_evidence_laplace"] - shift
    assert found["diagnostics"]["log_evidence_laplace"] == pytest.approx(laplace, abs=1e-9)


def test_what_weights_are_worth_and_a_cut_range_are_said(run, tmp_path):
    """Labels at random and a wide prior: the posterior runs along γ → 0, to where the prior ends."""
    rng = np.random.default_rng(1)
    rows = [(x, k) for x, k in zip(rng.normal(size=12).tolist(), (rng.permutation(12) % 2).tolist(), strict=True)]
    path = write(tmp_path / "noise.csv", ["a", "y"], rows)
    arguments = ("marginalise", path, "--target", "y")
    wide = ("--prior", "normal:0,30", *HELD)
    code, out, err = run(*arguments, *wide, "--method", "importance", "--draws", "400", "--seed", "2")
    assert (code, "the weights can be trusted" in out, err) == (0, True, "")
    code, out, err = run(*arguments, *wide, "--method", "importance", "--draws", "40", "--seed", "2")
    assert (code, "40 draws are worth" in out) == (0, True)
    assert err.startswith("warning: 40 draws are worth only")
    # the range of γ has no end, and that of an RBF kernel's width has none; a free Matérn kernel's has
    code, out, err = run(*arguments, "--prior", "normal:0,10", "--kernel", "matern32")
    assert code == 0
    missing = re.search(r"Up to (\S+) nats may be missing where a range was cut\.", out)[1]
    assert float(missing) > 1e-3
    assert err.startswith("warning: The log evidence may miss a tail")


def test_a_second_mode_is_said(run, tmp_path, record):
    """NUMBERS: at σ = 8 the posterior of Ripley's data has two modes."""
    path = tmp_path / "ripley.csv"
    assert run("datasets", "ripley", "--csv", path)[0] == 0
    arguments = (
        "marginalise",
        path,
        "--target",
        "yc",
        "--kernel",
        "rbf:sigma=8",
        "--fixed-kernel",
        "--method",
        "laplace",
    )
    found = record(*arguments)
    missed = found["diagnostics"]["missed_mass"]
    assert found["diagnostics"]["n_modes"] == 2
    assert (
        f"The posterior has 2 modes; together, the others carry {missed:.0%} as much mass as the best one."
        in run(*arguments)[1]
    )


def test_chains(run, record, folder, data):
    X, y, _ = data
    arguments = ("marginalise", folder / "classes.csv", "--target", "y", *HELD, "--method", "nuts", "--warmup", "300")
    found = record(*arguments, "--draws", "500", "--chains", "2", "--seed", "1")
    exact = marginalise(
        standardised(X), np.where(y == 1, 1.0, -1.0), kernel=RBF(1.3), fixed_kernel=True, standardise=False
    )
    assert abs(found["log_evidence"] - exact.log_evidence) < 5 * found["log_evidence_error"] < 0.1
    chains = found["diagnostics"]["chains"]
    assert (chains["n_chains"], chains["n_draws"], chains["ok"]) == (2, 500, True)

    few = (*arguments, "--draws", "20", "--chains", "2")
    error = only_error(run(*few))
    assert error.startswith("error: The chains did not mix: R-hat of ")
    assert error.endswith("--no-check returns the draws with a warning instead.")
    code, out, err = run(*few, "--no-check")
    assert (code, err.startswith("warning: The chains did not mix: R-hat of ")) == (0, True)
    assert "FAILED: the bulk effective sample size of " in out
    assert "passed: 0 of 40 trajectories diverged" in out
    assert "The evidence by bridge sampling: only " in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--method", "simpson"], "invalid choice: 'simpson'"),
        (["--draws", "100"], "--draws is for --method importance or nuts, but the method is quadrature"),
        (["--chains", "2"], "--chains is for --method nuts, but"),
        (["--warmup", "9"], "--warmup is for --method nuts, but"),
        (["--no-check"], "--no-check is for --method nuts, but"),
        (["--method", "laplace", "--tolerance", "1e-3"], "--tolerance is for --method quadrature or mackay, but"),
        (["--draws", "0"], "'0' is not a whole number ≥ 1"),
        (["--tolerance", "0"], "'0' is not a positive number"),
        (["--tolerance", "small"], "'small' is not a positive number"),
        (["--method", "importance", "--draws", "9"], "at least 25 finite log weights"),
        (["--predictions", "out.csv"], "give --predict too"),
        (["--out", "-"], "--out needs a file name"),
        (["--predict", "nothing.csv"], "there is no file 'nothing.csv'"),
    ],
)
def test_mistakes_about_methods_and_files(arguments, words, run, folder):
    assert words in only_error(run("marginalise", folder / "classes.csv", "--target", "y", *HELD, *arguments))


# Files


def test_a_saved_posterior_loads_and_knows_the_standardisation(run, record, folder, data, tmp_path):
    out = tmp_path / "posterior.nc"
    arguments = ("marginalise", folder / "flat.csv", "--target", "a", "--ignore", "y", *HELD)
    code, text, _ = run(*arguments, "--out", out)
    assert (code, text.splitlines()[-1]) == (0, f"posterior written to {out}")
    assert [path.name for path in tmp_path.iterdir()] == ["posterior.nc"]
    posterior = HyperPosterior.load(out)
    table = posterior.provenance["table"]
    assert (table["inputs"], table["target"], table["task"], table["rows"]) == (["b", "c"], "a", "regression", 60)
    X, _, new = data
    a, b = X[:, 0], X[:, 1]
    assert table["input_mean"] == pytest.approx([b.mean(), 7.0])
    assert table["input_scale"] == [pytest.approx(b.std(ddof=1)), None]  # a column without variance has no finite one
    mean, scale = table["target_mean"], table["target_scale"]
    assert (mean, scale) == pytest.approx((a.mean(), a.std(ddof=1)))
    found = record(*arguments)
    assert posterior.log_evidence - 59 * np.log(scale) == pytest.approx(found["log_evidence"], abs=1e-9)
    assert found["provenance"]["table"] == table
    # what the file holds predicts as the command does
    rows = write(tmp_path / "new.csv", ["b", "c"], [(value, 7) for value in new[:, 1].tolist()])
    inputs = np.column_stack([(new[:, 1] - table["input_mean"][0]) / table["input_scale"][0], np.zeros(len(new))])
    predicted = record(*arguments, "--predict", rows)["predictions"]
    loaded, std = posterior.predict(inputs, return_std=True)
    assert predicted["mean"] == pytest.approx(mean + scale * loaded, abs=1e-9)
    assert predicted["std"] == pytest.approx(scale * std, abs=1e-9)


@pytest.mark.parametrize("option", ["--out", "--predictions"])
def test_output_that_cannot_be_written_is_refused_before_the_work(option, run, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(_marginal, "marginalise", lambda *_, **__: pytest.fail("the work started"))
    file = tmp_path / "file"
    file.write_text("x")
    arguments = ("marginalise", folder / "classes.csv", "--target", "y", "--predict", folder / "new.csv", option)
    for path, words in [
        (tmp_path / "no" / "out", "there is no folder"),
        (tmp_path, "it is a folder"),
        (file / "out", "there is no folder"),
        (os.devnull, "not a regular file"),
        (folder / "classes.csv", "is also an input"),
        (folder / "new.csv", "is also an input"),
    ]:
        assert words in only_error(run(*arguments, path))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_two_outputs_or_two_inputs_cannot_be_one(run, folder, tmp_path):
    arguments = ("marginalise", folder / "classes.csv", "--target", "y", "--predict", folder / "new.csv")
    twice = (tmp_path / "same", tmp_path / ".." / tmp_path.name / "same")
    assert "same file" in only_error(run(*arguments, "--out", twice[0], "--predictions", twice[1]))
    assert "file name" in only_error(run(*arguments, "--json", "--predictions", "-"))
    assert "holds one table" in only_error(run("marginalise", "-", "--target", "y", "--predict", "-"))


@pytest.mark.parametrize("option", ["--out", "--predictions"])
def test_files_are_written_whole_or_not_at_all(option, run, folder, tmp_path, monkeypatch):
    path = tmp_path / "out"
    path.write_text("former")
    arguments = ("marginalise", folder / "classes.csv", "--target", "y", *HELD, "--predict", folder / "new.csv")

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        assert "No space left on device" in run(*arguments, option, path)[2]
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    assert path.read_text() == "former"


def test_an_interrupt_ends_quietly_and_writes_nothing(run, folder, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    arguments = ("marginalise", folder / "classes.csv", "--target", "y", *HELD, "--predict", folder / "new.csv")
    files = ("--out", tmp_path / "p.nc", "--predictions", tmp_path / "p.csv")
    for owner, name in ((_marginal, "marginalise"), (os, "replace")):
        with monkeypatch.context() as patch:
            patch.setattr(owner, name, interrupted)
            code, out, err = run(*arguments, *files)
        assert (code, out) == (130, "")
        assert "error" not in err
        assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_an_interrupt_while_jax_compiles_is_no_crash(folder, tmp_path):
    """The interpreter would end under threads that still work, which was a segmentation fault."""
    program = f"""
import os, signal, sys, threading
from jax._src import compiler
from bayes_lssvm.cli import main

compile = compiler.backend_compile_and_load
def interrupted(backend, module, *args, **kwargs):
    if "advance" in str(module.operation.attributes["sym_name"]):  # the loop of draws, which takes seconds to compile
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    return compile(backend, module, *args, **kwargs)

compiler.backend_compile_and_load = interrupted
arguments = ["marginalise", {str(folder / "classes.csv")!r}, "--target", "y", "--method", "nuts", *{HELD!r}]
sys.exit(main([*arguments, "--out", {str(tmp_path / "posterior.nc")!r}]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("package", "arguments", "words"),
    [
        ("numpyro", ["--method", "nuts"], "--method nuts needs packages that are not installed (numpyro)"),
        ("h5py", ["--out", "p.nc"], "--out needs packages that are not installed (h5py)"),
        ("arviz_base", ["--out", "p.nc"], "(arviz_base)"),
    ],
)
def test_a_missing_extra_is_said_before_the_work(package, arguments, words, run, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)  # what an import of a package that is not there finds
    monkeypatch.setattr(_marginal, "read_training", lambda *_: pytest.fail("the work started"))
    error = only_error(run("marginalise", folder / "classes.csv", "--target", "y", *arguments))
    assert words in error
    assert 'pip install "bayes-lssvm[sampling]"' in error


@pytest.mark.parametrize("command", [("trust",), ("marginalise", "--method", "importance")])
def test_weights_do_without_the_extra(command, run, folder, monkeypatch):
    packages = ("arviz_stats", "arviz_base", "xarray", "jax", "numpyro")
    for name in [n for n in sys.modules if n.split(".")[0] in packages] + list(packages):
        monkeypatch.setitem(sys.modules, name, None)
    code, out, _ = run(command[0], folder / "classes.csv", "--target", "y", *command[1:], *HELD)
    assert (code, "Pareto k̂" in out) == (0, True)


def test_a_package_that_is_there_but_cannot_be_imported(run, folder, monkeypatch):
    monkeypatch.setattr(_marginal, "find_spec", lambda name: name)
    monkeypatch.setitem(sys.modules, "numpyro", None)
    arguments = ("marginalise", folder / "classes.csv", "--target", "y", *HELD, "--method", "nuts")
    assert 'pip install "bayes-lssvm[sampling]"' in only_error(run(*arguments))


# Predictions


def test_predictions_of_classes_are_the_estimators(run, record, folder, data, tmp_path):
    X, y, new = data
    classifier = FullyBayesianLSSVC(RBF(1.3), fixed_kernel=True).fit(X, y)
    arguments = ("marginalise", folder / "classes.csv", "--target", "y", *HELD, "--predict", folder / "new.csv")
    code, out, err = run(*arguments)
    assert (code, err) == (0, "note: the model does not use the column 'extra'.\n")
    rows = list(csv.DictReader(io.StringIO(out)))  # the table and nothing else
    assert list(rows[0]) == ["label", "P(0)", "P(1)"]
    P = np.array([[float(row["P(0)"]), float(row["P(1)"])] for row in rows])
    assert pytest.approx(classifier.predict_proba(new), abs=1e-10) == P
    assert [int(row["label"]) for row in rows] == classifier.predict(new).tolist()

    path = tmp_path / "predictions.csv"
    code, text, _ = run(*arguments, "--predictions", path)
    assert (code, text.splitlines()[-1]) == (0, f"40 predictions written to {path}")
    assert "log evidence" in text
    assert path.read_text() == out
    found = record(*arguments, "--predictions", path)
    assert found["predictions"]["label"] == classifier.predict(new).tolist()
    assert found["predictions"]["P(1)"] == [float(row["P(1)"]) for row in rows]


def test_predictions_of_numbers_are_in_their_units(run, folder, data):
    X, _, new = data
    model = FullyBayesianLSSVR(RBF(1.3), fixed_kernel=True, tolerance=1e-7).fit(X[:, :1], X[:, 1])
    mean, std = model.predict(new[:, :1], return_std=True)
    _, out, err = run(
        "marginalise", folder / "classes.csv", "--target", "b", "--ignore", "y", *HELD, "--predict", folder / "new.csv"
    )
    assert "'extra', 'b'" in err
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [float(row["mean"]) for row in rows] == pytest.approx(mean, abs=1e-10)
    assert [float(row["std"]) for row in rows] == pytest.approx(std, abs=1e-10)


def test_new_rows_are_checked_before_the_work(run, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(_marginal, "marginalise", lambda *_, **__: pytest.fail("the work started"))
    arguments = ("marginalise", folder / "classes.csv", "--target", "y", "--predict")
    lacking = write(tmp_path / "lacking.csv", ["b", "c"], [(1, 2)])
    assert "lacks 1 of the model's 2 inputs: 'a'" in only_error(run(*arguments, lacking))
    text = write(tmp_path / "text.csv", ["a", "b"], [(1, "red")])
    assert "'red' is text" in only_error(run(*arguments, text))


def test_text_labels_come_back(run, data, tmp_path, folder):
    X, y, _ = data
    rows = [(*x, NAMES[k]) for x, k in zip(X.tolist(), y.tolist(), strict=True)]
    path = write(tmp_path / "named.csv", ["a", "b", "y"], rows)
    out = run("marginalise", path, "--target", "y", *HELD, "--predict", folder / "new.csv")[1]
    found = list(csv.DictReader(io.StringIO(out)))
    assert list(found[0]) == ["label", "P(no)", "P(yes)"]
    assert {row["label"] for row in found} == {"no", "yes"}
    assert all((row["label"] == "yes") == (float(row["P(yes)"]) > 0.5) for row in found)
