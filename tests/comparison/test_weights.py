"""Weighted rows in `compare`, averaged estimators and `trust`: against `marginalise`, evidences and rows left out."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone

from bayes_lssvm import (
    AveragedLSSVC,
    AveragedLSSVR,
    BayesianLSSVC,
    BayesianLSSVR,
    FullyBayesianLSSVC,
    compare,
    load,
    marginalise,
    save,
    trust,
)
from bayes_lssvm.comparison.evidence import kernel_evidence
from bayes_lssvm.comparison.mixture import KernelMixture, left_out_log_densities, stacking_weights
from bayes_lssvm.comparison.problem import as_problem
from bayes_lssvm.estimators.left_out import left_out_probabilities
from bayes_lssvm.kernels import RBF, Linear
from bayes_lssvm.levels.calibration import calibration
from bayes_lssvm.priors import HyperPrior, Normal

PRIOR = HyperPrior(Normal(0.0, 2.0), Normal(1.0, 1.0), Normal(0.5, 1.0))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 2))
    return X, 0.7 * X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.3 * rng.normal(size=24), rng.gamma(2.0, 0.5, 24) + 0.1


def test_evidences_are_those_of_marginalise(data):
    X, y, w = data
    found = compare(X, y, ["linear", RBF(1.0)], sample_weight=w, prior=PRIOR, progress=False)
    for candidate in found:
        own = marginalise(
            X, y, sample_weight=w, kernel=candidate.kernel, prior=PRIOR, standardise=False, progress=False
        )
        assert candidate.log_evidence == pytest.approx(own.log_evidence, abs=1e-4)
    held = compare(X, y, [RBF(1.3)], sample_weight=w, prior=PRIOR, refine=False, progress=False).best.log_evidence
    options = {"kernel": RBF(1.3), "prior": PRIOR, "fixed_kernel": True, "standardise": False, "progress": False}
    assert held == pytest.approx(marginalise(X, y, sample_weight=w, **options).log_evidence, abs=1e-8)


def test_weight_zero_is_the_row_left_out(data):
    X, y, w = data
    w = np.where(np.arange(24) % 5 == 0, 0.0, w)
    kept = w > 0
    for targets, model in (
        (y, AveragedLSSVR(["linear", RBF(1.0)], weights="stacking")),
        (np.digitize(y, [-0.5, 0.5]), AveragedLSSVC(["linear"])),
    ):
        one, other = clone(model).fit(X, targets, sample_weight=w), model.fit(X[kept], targets[kept], w[kept])
        np.testing.assert_allclose(one.kernel_weights_, other.kernel_weights_, rtol=1e-12)
        np.testing.assert_allclose(one.predict(X), other.predict(X), rtol=1e-12)


def test_the_average_over_one_kernel_is_the_fully_bayesian_model(data, tmp_path):
    X, y, w = data
    prior = HyperPrior(Normal(0.0, 1.0), Normal(0.0, 1.0))
    ours = AveragedLSSVC(["linear"], prior=prior).fit(X, y > 0, w)
    other = FullyBayesianLSSVC("linear", prior=prior).fit(X, y > 0, w)
    np.testing.assert_allclose(ours.predict_proba(X), other.predict_proba(X), atol=1e-7)
    np.testing.assert_allclose(ours.training_frequencies_, other.training_frequencies_, rtol=1e-12)
    regressor = AveragedLSSVR(["linear"], standardise=False, prior=PRIOR).fit(X, y, w)
    own = marginalise(X, y, sample_weight=w, kernel="linear", prior=PRIOR, standardise=False, progress=False)
    for a, b in zip(regressor.predict(X, return_std=True), own.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    for number, model in enumerate((ours, regressor)):
        again = load(save(model, tmp_path / f"{number}.npz"))
        np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-9)
        np.testing.assert_array_equal(again.problem_.weights, w)


def test_left_out_densities_are_ratios_of_evidences(data):
    """Of all rows to all but one; for a row that nothing prepares for too, whose 1/p_i lies where no node is."""
    X, y, w = data
    gross = np.where(np.arange(24) == 3, y + 6.0, y)
    for targets, weights in ((y, w), (gross, w), (gross, None)):
        problem = as_problem(X, targets, weights)
        found = kernel_evidence(problem, Linear(), prior=PRIOR, progress=False)
        logs = left_out_log_densities(problem, found, KernelMixture.of(problem, found))
        for i in (0, 3, 11, 23):
            kept = np.arange(24) != i
            rest = as_problem(X[kept], targets[kept], None if weights is None else weights[kept])
            less = kernel_evidence(rest, Linear(), prior=PRIOR, progress=False)
            assert logs[i] == pytest.approx(found.log_evidence - less.log_evidence, abs=1e-7)


def test_stacking_counts_rows():
    logs = np.log(np.random.default_rng(1).uniform(0.1, 1.0, size=(12, 3)))
    times = np.random.default_rng(2).integers(1, 4, 12)
    one = stacking_weights(logs, times.astype(float))
    np.testing.assert_allclose(one, stacking_weights(logs.repeat(times, axis=0)), atol=1e-9)


def test_a_fitted_model_compares_with_its_weights(data):
    X, y, w = data
    model = BayesianLSSVR("linear").fit(X, y, w)
    found = model.compare(["linear", "poly2"], progress=False)
    same = compare(model.X_fit_, y, ["linear", "poly2"], sample_weight=w, task="regression", progress=False)
    assert found.best.log_evidence == pytest.approx(same.best.log_evidence, abs=1e-9)
    flat = BayesianLSSVR("linear", prior="flat").fit(X, y, w)
    assert flat.compare(["linear"], progress=False).best.log_evidence == pytest.approx(flat.log_evidence_, abs=1e-8)
    model.noise_weights_ = w  # as learned and Student noise have them
    for call in (lambda: model.compare(["linear"]), model.trust):
        with pytest.raises(ValueError, match="this model has estimated its own"):
            call()


def test_trust_measures_the_weighted_closed_forms(data):
    X, y, w = data
    model = BayesianLSSVR(RBF(1.3), refine=False).fit(X, y, w)
    report = model.trust(prior=PRIOR, progress=False)
    exact = marginalise(
        model.X_fit_, (y - np.average(y, weights=w)) / _spread(y, w), sample_weight=w, kernel=RBF(1.3), prior=PRIOR,
        fixed_kernel=True, standardise=False, progress=False,
    )  # fmt: skip
    rows = {row.method: row for row in report.ladder}
    assert rows["quadrature"].log_evidence == pytest.approx(exact.log_evidence, abs=1e-7)
    assert abs(rows["laplace"].difference) < 0.5
    direct = trust(X, y, sample_weight=w, kernel=RBF(1.3), prior=PRIOR, fixed_kernel=True, progress=False)
    assert direct.verdict == report.verdict
    zeros = trust(
        np.vstack([X, X[:2] + 9.0]), np.r_[y, 5.0, 6.0], sample_weight=np.r_[w, 0.0, 0.0], kernel=RBF(1.3), prior=PRIOR,
        fixed_kernel=True, progress=False,
    )  # fmt: skip
    assert zeros.worst_change == pytest.approx(direct.worst_change, rel=1e-9)


def _spread(y, w):
    n = len(y)
    return np.sqrt(np.average((y - np.average(y, weights=w)) ** 2, weights=w) * n / (n - 1))


def test_trust_of_weighted_classes(data):
    X, y, w = data
    model = BayesianLSSVC("linear").fit(X, y > 0, w)
    report = model.trust(progress=False)
    assert "closed forms" in report.sentence
    own = left_out_probabilities(model, X, y > 0)
    assert report.calibration == calibration(own, (y > 0).astype(int), weights=w)


@pytest.mark.filterwarnings("ignore::bayes_lssvm.base.errors.BayesLSSVMWarning")
@pytest.mark.parametrize("cuts", [[0.0], [-0.5, 0.5]])
def test_labels_of_whole_weights_are_compared_as_repeated_rows_are(data, cuts):
    X, y, _ = data
    labels, counts = np.digitize(y, cuts), np.random.default_rng(0).integers(0, 3, len(y))
    options = {"kernel": "linear", "task": "classification", "fixed_kernel": True, "progress": False}
    weighted = trust(X, labels, sample_weight=counts, **options)
    repeated = trust(X.repeat(counts, axis=0), labels.repeat(counts), **options)
    for name in ("gain", "gain_error", "chi2", "chance"):
        assert getattr(weighted.calibration, name) == pytest.approx(getattr(repeated.calibration, name), rel=1e-6)
    assert [group.size for group in weighted.calibration.groups] == [g.size for g in repeated.calibration.groups]


@pytest.mark.filterwarnings("ignore::bayes_lssvm.base.errors.BayesLSSVMWarning")
@pytest.mark.parametrize("cls", [BayesianLSSVC, FullyBayesianLSSVC])
def test_a_model_of_several_weighted_classes_is_checked_on_its_rows(data, cls):
    X, y, w = data
    labels = np.digitize(y, [-0.5, 0.5])
    own = cls("linear").fit(X, labels, w).trust(progress=False).calibration
    direct = trust(X, labels, sample_weight=w, kernel="linear", task="classification", progress=False).calibration
    assert own.gain == pytest.approx(direct.gain, abs=1e-9)
    assert own.chi2 == pytest.approx(direct.chi2, rel=1e-6)
    zero = np.where(np.arange(len(w)) % 7 == 0, 0.0, w)
    some = trust(X, labels, sample_weight=zero, kernel="linear", task="classification", progress=False)
    kept = zero > 0
    less = trust(X[kept], labels[kept], sample_weight=w[kept], kernel="linear", task="classification", progress=False)
    assert some.calibration == less.calibration


def test_calibration_by_weights_from_its_definition():
    """Σ c (y − P) over the root of Σ c² P(1 − P) in each group; the unit of the weights has no say."""
    rng = np.random.default_rng(0)
    p, w = rng.uniform(0.05, 0.95, 200), rng.gamma(1.0, 1.0, 200)
    happened = rng.random(200) < p
    both = np.stack([1.0 - p, p], axis=1)
    found = calibration(both, happened.astype(int), weights=w)
    assert found == calibration(both, happened.astype(int), weights=4.0 * w)
    order, at = np.argsort(p), 0
    for group in found.groups:
        own = order[at : at + group.size]
        at += group.size
        z = np.sum(w[own] * (happened[own] - p[own])) / np.sqrt(np.sum(w[own] ** 2 * p[own] * (1.0 - p[own])))
        assert group.deviate == pytest.approx(z, rel=1e-9)
        assert group.predicted == pytest.approx(np.average(p[own], weights=w[own]), rel=1e-12)
    assert at == 200
    shares = np.bincount(happened, w) / w.sum()
    gains = np.log(both[np.arange(200), happened.astype(int)] / shares[happened.astype(int)])
    assert found.gain == pytest.approx(np.average(gains, weights=w), rel=1e-9)
