"""`trust`: the ladder on a user's own data, and a verdict that follows from it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from bayes_lssvm import BayesianLSSVC, FullyBayesianLSSVC, datasets, marginalise, trust
from bayes_lssvm.base.errors import ConstantFeatureWarning, NoSignalWarning
from bayes_lssvm.kernels import RBF, Linear
from bayes_lssvm.marginal.draws import importance
from bayes_lssvm.priors import Flat, HyperPrior, ImproperPriorError, Normal
from bayes_lssvm.trust import LIMITS, PROBABILITIES, VERDICTS, level_of


@pytest.fixture(scope="module")
def report():
    data = datasets.load("ripley")
    return trust(data.data, data.target, kernel="rbf", seed=1)


def checks(found):
    return {check.name: check for check in found.checks}


def test_ripley_can_be_trusted(report, ripley_standardised):
    assert report.verdict == "good"
    assert report.sentence == f"{VERDICTS['good']} {PROBABILITIES['good']}"
    assert len(report.reasons) == len(report.checks)
    rungs = {(rung.method, rung.kernel): rung for rung in report.ladder}
    exact = marginalise(*ripley_standardised, kernel=report.kernel, fixed_kernel=True, standardise=False)
    assert rungs["quadrature", "fixed"].log_evidence == pytest.approx(exact.log_evidence, abs=1e-4)
    assert rungs["mackay", "fixed"].difference == pytest.approx(-0.042, abs=2e-3)
    assert rungs["laplace", "fixed"].difference == pytest.approx(-0.003, abs=1e-3)
    assert rungs["mackay", "fixed"].sd_log_mu < rungs["quadrature", "fixed"].sd_log_mu
    assert abs(rungs["importance", "free"].difference) < 0.1
    assert report.n_modes == 1
    assert report.k_hat < 0.7
    assert (report.n_used, report.n_rows, report.rows) == (250, 250, "all 250 rows were used")


def test_the_probabilities_are_those_of_the_default_classifier(report):
    data = datasets.load("ripley")
    model = BayesianLSSVC().fit(data.data, data.target)
    odds = model.left_out_log_odds()
    scores = -np.logaddexp(0.0, np.where(data.target == 1, -odds, odds)) + np.log(2.0)
    score, error = scores.mean(), scores.std(ddof=1) / np.sqrt(250)
    assert report.calibration.gain == pytest.approx(score)
    sentence = f"Left-out rows are predicted {score:.3f} ± {error:.3f} nats better than by the class frequencies."
    assert checks(report)["log score"] == ("log score", pytest.approx(score), "good", sentence)
    assert checks(report)["reliability"].level == "good"
    assert "agree within their errors" in checks(report)["reliability"].sentence


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
    assert all(rung.kernel == "fixed" for rung in found.ladder)
    assert any("2 modes" in reason for reason in found.reasons)


def test_labels_without_signal_are_not_trusted():
    data = datasets.load("ripley")
    labels = np.random.default_rng(0).permutation(data.target)
    with pytest.warns(NoSignalWarning):
        found = trust(data.data, labels, kernel=RBF(1.3), fixed_kernel=True)
    assert found.verdict == "bad"
    assert checks(found)["status"].level == "bad"
    assert "noise alone" in checks(found)["status"].sentence
    assert checks(found)["log score"].level == "doubtful"
    assert "no better than by the class frequencies" in checks(found)["log score"].sentence
    assert found.sentence == f"{VERDICTS['bad']} {PROBABILITIES['doubtful']}"


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
    assert "\nkernel Linear(); 500 of 700 rows, spread evenly over the targets, were used\n" in str(found)


def test_more_than_two_classes_have_their_probabilities_checked():
    data = datasets.load("iris")
    found = trust(data.data, np.array(["setosa", "versicolor", "virginica"])[data.target])
    assert (found.verdict, found.sentence) == ("good", PROBABILITIES["good"])
    assert (found.ladder, found.kernel) == ((), None)
    assert [check.level for check in found.checks] == ["good", "good", "not checked"]
    assert "rows of two classes, or with one class against the rest" in found.checks[2].sentence
    assert str(found).splitlines()[:2] == [f"GOOD: {PROBABILITIES['good']}", "all 150 rows were used"]
    assert len(found.reasons) == 2
    record = json.loads(json.dumps(found.as_dict()))
    assert record["kernel"] is None
    assert record["calibration"]["gain"] == found.calibration.gain


def test_permuted_labels_of_three_classes_are_not_good():
    data = datasets.load("iris")
    labels = np.random.default_rng(0).permutation(data.target)
    with pytest.warns(NoSignalWarning):
        found = trust(data.data, labels, task="classification")
    assert found.verdict != "good"
    assert any("no better than by the class frequencies" in reason for reason in found.reasons)


def test_what_cannot_be_measured_does_not_lower_the_verdict(monkeypatch):
    """Where there are no weights the report is as good as it was, and says what it has not looked at."""
    data = datasets.load("ripley")

    def no_weights(*_, **__):
        raise ValueError("nothing to smooth")

    monkeypatch.setattr(importance, "pareto_smooth", no_weights)
    found = trust(data.data, data.target, kernel=RBF(1.328), fixed_kernel=True)
    assert checks(found)["k_hat"].level == "not checked"
    assert found.verdict == "good"
    assert not any("Pareto" in reason for reason in found.reasons)
    assert "not checked  Pareto k̂ is not known (it needs a mode)" in str(found)
    assert {"k_hat": "not checked"}.items() <= {c["name"]: c["level"] for c in found.as_dict()["checks"]}.items()


def test_numbers_have_no_probabilities():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 1))
    found = trust(x, x[:, 0] + 0.3 * rng.normal(size=40), kernel="linear")
    assert found.calibration is None
    assert not {"log score", "reliability"} & checks(found).keys()
    assert "probabilities" not in found.sentence


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
        assert level_of(name, good) == "good"
        assert level_of(name, doubtful) == "doubtful"
        assert level_of(name, doubtful + 1e-9) == "bad"


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
