"""`trust`: the ladder on a user's own data, and a verdict that follows from it."""

from __future__ import annotations

import json

import numpy as np
import pytest

import bayes_lssvm.trust
from bayes_lssvm import BayesianLSSVC, FullyBayesianLSSVC, datasets, marginalise, trust
from bayes_lssvm.base.errors import ConstantFeatureWarning, NoSignalWarning
from bayes_lssvm.kernels import RBF, Linear
from bayes_lssvm.priors import Flat, HyperPrior, ImproperPriorError, Normal
from bayes_lssvm.trust import LIMITS, VERDICTS


@pytest.fixture(scope="module")
def report():
    data = datasets.load("ripley")
    return trust(data.data, data.target, kernel="rbf", seed=1)


def checks(found):
    return {check.name: check for check in found.checks}


def test_ripley_can_be_trusted(report, ripley_standardised):
    assert report.verdict == "good"
    assert report.sentence == VERDICTS["good"]
    assert len(report.reasons) == len(report.checks)
    rungs = {(rung.method, rung.kernel): rung for rung in report.ladder}
    exact = marginalise(*ripley_standardised, kernel=report.kernel, fixed_kernel=True)
    assert rungs["quadrature", "held"].log_evidence == pytest.approx(exact.log_evidence, abs=1e-4)
    assert rungs["mackay", "held"].difference == pytest.approx(-0.042, abs=2e-3)
    assert rungs["laplace", "held"].difference == pytest.approx(-0.003, abs=1e-3)
    assert rungs["mackay", "held"].sd_log_mu < rungs["quadrature", "held"].sd_log_mu
    assert abs(rungs["importance", "free"].difference) < 0.1
    assert report.n_modes == 1
    assert report.k_hat < 0.7
    assert report.n_used == 250


def test_the_worst_change_is_that_of_the_estimators(report):
    data = datasets.load("ripley")
    # the papers' rule and form, whose closed forms are held against the integrals
    fixed = BayesianLSSVC(prior="flat", moderation="class").fit(data.data, data.target).predict_proba(data.data)
    integrated = FullyBayesianLSSVC(RBF(1.0), moderation="class").fit(data.data, data.target).predict_proba(data.data)
    difference = np.abs(fixed - integrated).max()
    assert 0.5 * difference < report.worst_change  # the report looks between the data too
    assert difference <= report.worst_change + 1e-4
    assert checks(report)["predictions"].value == report.worst_change


def test_two_modes_and_wrong_error_bars_are_found():
    data = datasets.load("ripley")
    found = trust(data.data, data.target, kernel=RBF(8.0), fixed_kernel=True)
    assert found.verdict == "bad"
    assert found.n_modes == 2
    assert checks(found)["error bar of log_mu"].value == pytest.approx(0.31, abs=0.01)  # 0.509 of 1.634
    assert checks(found)["modes"].level == "bad"
    assert all(rung.kernel == "held" for rung in found.ladder)
    assert any("2 modes" in reason for reason in found.reasons)


def test_labels_without_signal_are_not_trusted():
    data = datasets.load("ripley")
    labels = np.random.default_rng(0).permutation(data.target)
    with pytest.warns(NoSignalWarning):
        found = trust(data.data, labels, kernel=RBF(1.3), fixed_kernel=True)
    assert found.verdict == "bad"
    assert checks(found)["status"].level == "bad"
    assert "noise alone" in checks(found)["status"].sentence


def test_regression_and_several_kernel_parameters():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 2))
    y = 100.0 + 30.0 * (np.sin(X[:, 0]) + 0.5 * np.cos(2.0 * X[:, 1]) + 0.2 * rng.normal(size=70))
    found = trust(X, y, kernel="ard", prior=HyperPrior(kernel=Normal(0.5, 1.0)))
    assert {rung.method for rung in found.ladder if rung.kernel == "free"} >= {"laplace"}
    assert "standard deviations" in checks(found)["predictions"].sentence
    shifted = trust(X, 3.0 * y - 50.0, kernel="ard", prior=HyperPrior(kernel=Normal(0.5, 1.0)))
    assert shifted.ladder[0].log_evidence == pytest.approx(found.ladder[0].log_evidence, abs=1e-6)


def test_a_column_without_variance_and_two_valued_numbers():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=40), np.ones(40)])
    y = np.where(X[:, 0] + 0.3 * rng.normal(size=40) > 0, 1.0, 0.0)
    with pytest.warns(ConstantFeatureWarning):
        classes = trust(X, y, kernel="linear")
    assert "probability" in checks(classes)["predictions"].sentence
    numbers = trust(X[:, :1], y, kernel="linear", task="regression")
    assert "standard deviations" in checks(numbers)["predictions"].sentence
    with pytest.raises(ValueError, match="task must be"):
        trust(X, y, task="ranking")


def test_many_points_are_represented_by_some():
    X, labels = datasets.make_waveform(700, seed=3)
    found = trust(X, labels == labels.max(), kernel=Linear())
    assert found.n_used == 500


def test_the_report_reads_and_serialises(report):
    text = str(report)
    assert text.startswith("GOOD: The closed forms can be trusted")
    assert all(check.sentence in text for check in report.checks)
    record = json.loads(json.dumps(report.as_dict()))
    assert record["verdict"] == "good"
    assert record["kernel"]["kind"] == "RBF"
    assert len(record["ladder"]) == len(report.ladder)
    assert record["provenance"]["settings"]["seed"] == 1


def test_the_verdict_is_the_worst_check(report):
    levels = ("good", "doubtful", "bad")
    assert report.verdict == max((c.level for c in report.checks), key=levels.index)
    for name, (good, doubtful) in LIMITS.items():
        assert bayes_lssvm.trust.__globals__["_level"](name, good) == "good"
        assert bayes_lssvm.trust.__globals__["_level"](name, doubtful) == "doubtful"
        assert bayes_lssvm.trust.__globals__["_level"](name, doubtful + 1e-9) == "bad"


def test_bad_calls_get_a_sentence():
    data = datasets.load("ripley")
    X, y = data.data[:40], data.target[:40]
    with pytest.raises(ImproperPriorError, match="tends to a constant"):
        trust(X, y, prior=Flat())
    with pytest.raises(ValueError, match="no kernel named"):
        trust(X, y, kernel="cubic")
    with pytest.raises(ValueError, match="one class"):
        trust(X, np.zeros(40, dtype=int))
    with pytest.raises(ValueError, match="NaN"):
        trust(np.full((40, 2), np.nan), y)
    with pytest.raises(ValueError, match="y has 4 classes; look at each pair"):
        trust(data.data[:40], np.array(["a", "b", "c", "d"] * 10))
