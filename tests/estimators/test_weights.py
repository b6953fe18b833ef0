"""`sample_weight` in the estimators: what weights mean, what they equal, and what bad ones get."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayes_lssvm
from bayes_lssvm import (
    LSSVC,
    LSSVR,
    AveragedLSSVC,
    AveragedLSSVR,
    BayesianLSSVC,
    BayesianLSSVR,
    FixedSizeLSSVC,
    FixedSizeLSSVR,
    FullyBayesianLSSVC,
    FullyBayesianLSSVR,
    compare,
    marginalise,
    search_kernels,
    trust,
)
from bayes_lssvm.estimators.selector import EvidenceSelector
from bayes_lssvm.estimators.sparse import SparseLSSVC
from bayes_lssvm.kernels import RBF
from bayes_lssvm.linalg.spectrum import TridiagonalReduction
from bayes_lssvm.multiclass import MulticlassLSSVC
from bayes_lssvm.priors import HyperPrior, Normal
from bayes_lssvm.selection.inputs import backward_elimination
from bayes_lssvm.selection.points import prune

NEW = np.random.default_rng(9).normal(size=(15, 2))


@pytest.fixture(scope="module")
def waves():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=40)
    return X, y, rng.integers(0, 4, 40).astype(float)


def targets_of(estimator, y):
    regressor = estimator is not None and sklearn.base.is_regressor(estimator)
    return y if regressor else np.digitize(y, [-0.4, 0.4][: _classes(estimator) - 1])


def _classes(estimator):
    return 3 if isinstance(estimator, MulticlassLSSVC) else 2


def outputs(model):
    if hasattr(model, "predict_proba"):
        return model.predict_proba(NEW)
    return model.decision_function(NEW) if hasattr(model, "decision_function") else model.predict(NEW)


ALL = [
    LSSVC(gamma=2.0),
    LSSVR("poly2", gamma=2.0, solver="spectral"),
    LSSVR(gamma=2.0, solver="cg"),
    BayesianLSSVC(),
    BayesianLSSVC(moderation="class"),
    BayesianLSSVC(prior="flat", moderation="target"),
    BayesianLSSVC(criterion="press"),
    BayesianLSSVR(),
    BayesianLSSVR(occam=False),
    MulticlassLSSVC("linear", shared_kernel=True),
    MulticlassLSSVC(),
    SparseLSSVC(fraction=0.2),
    SparseLSSVC("linear", rule="negative", retune="nothing"),
    FullyBayesianLSSVC("linear"),
    FullyBayesianLSSVR(RBF(1.0), fixed_kernel=True),
]


@pytest.mark.filterwarnings("ignore::bayes_lssvm.base.errors.BayesLSSVMWarning")
@pytest.mark.parametrize("estimator", ALL, ids=str)
def test_weight_zero_is_the_row_left_out(estimator, waves):
    X, y, counts = waves
    y, weights = targets_of(estimator, y), 0.5 * counts
    one = outputs(sklearn.clone(estimator).fit(X, y, sample_weight=weights))
    kept = weights > 0
    other = outputs(sklearn.clone(estimator).fit(X[kept], y[kept], sample_weight=weights[kept]))
    np.testing.assert_allclose(one, other, rtol=1e-12)


# The papers' rule and PRESS count repeated rows as measurements, which a weight is not.
@pytest.mark.filterwarnings("ignore::bayes_lssvm.base.errors.BayesLSSVMWarning")
@pytest.mark.parametrize("estimator", [ALL[i] for i in (0, 1, 2, 3, 4, 7, 10)], ids=str)
def test_a_whole_weight_is_the_row_repeated(estimator, waves):
    X, y, counts = waves
    y, times = targets_of(estimator, y), counts.astype(int)
    one = sklearn.clone(estimator).fit(X, y, sample_weight=counts)
    other = sklearn.clone(estimator).fit(X.repeat(times, axis=0), y.repeat(times))
    np.testing.assert_allclose(outputs(one), outputs(other), rtol=1e-7, atol=1e-8)
    if isinstance(one, BayesianLSSVR):
        assert [one.mu_, one.zeta_, one.log_evidence_] == pytest.approx([other.mu_, other.zeta_, other.log_evidence_])
        for a, b in zip(one.predict(NEW, return_std=True), other.predict(NEW, return_std=True), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-7)


def test_only_ratios_of_precisions_matter(waves):
    """In other units of the noise ζ is another, and its prior, Normal(·, 3) in log ζ, moves it by a little."""
    X, y, counts = waves
    weights = counts + 0.3
    one = BayesianLSSVR(prior="flat").fit(X, y, sample_weight=weights)
    other = BayesianLSSVR(prior="flat").fit(X, y, sample_weight=0.1 * weights)
    np.testing.assert_allclose(one.predict(NEW), other.predict(NEW), rtol=1e-6)
    assert other.zeta_ == pytest.approx(10.0 * one.zeta_, rel=1e-6)
    assert other.log_evidence_ == pytest.approx(one.log_evidence_, abs=1e-6)


def test_known_noise_is_weighed(waves):
    """Rows of a hundredfold noise variance hardly disturb a fit that knows of it."""
    rng = np.random.default_rng(3)
    X = np.linspace(-3.0, 3.0, 120)[:, None]
    noise = np.where(rng.random(120) < 0.5, 0.1, 1.0)
    y = np.sin(2.0 * X[:, 0]) + noise * rng.normal(size=120)
    truth = np.sin(2.0 * X[:, 0])
    plain = BayesianLSSVR().fit(X, y)
    weighted = BayesianLSSVR().fit(X, y, sample_weight=noise**-2.0)
    assert (
        np.sqrt(np.mean((weighted.predict(X) - truth) ** 2)) < 0.05 < np.sqrt(np.mean((plain.predict(X) - truth) ** 2))
    )
    assert weighted.zeta_ == pytest.approx(1.0, rel=0.3)
    assert weighted.log_evidence_ > plain.log_evidence_ + 20.0


def test_a_bootstrap_is_no_interpolation(waves):
    """Copies of rows speak of the function, not of a noise of zero."""
    X, y, _ = waves
    rows = np.random.default_rng(0).integers(0, 40, 40)
    model = BayesianLSSVR().fit(X[rows], y[rows])
    assert model.level3_.level2.status == "interior"
    assert 1.0 / np.sqrt(model.zeta_) == pytest.approx(0.3, abs=0.15)
    bagged = BaggingRegressor(BayesianLSSVR(), n_estimators=3, random_state=0).fit(X, y)
    assert bagged.score(X, y) > 0.6


@pytest.mark.filterwarnings("ignore::bayes_lssvm.base.errors.BayesLSSVMWarning")
@pytest.mark.parametrize(
    "estimator",
    [
        BayesianLSSVC(),
        BayesianLSSVR(),
        BayesianLSSVC(shared_kernel=True),
        FullyBayesianLSSVC("linear"),
        FullyBayesianLSSVR("linear"),
    ],
    ids=str,
)
def test_weighted_models_are_saved(estimator, waves, tmp_path):
    X, y, counts = waves
    y = np.digitize(y, [-0.4, 0.4]) if estimator.get_params().get("shared_kernel") else targets_of(estimator, y)
    model = estimator.fit(X, y, sample_weight=counts + 0.5)
    again = bayes_lssvm.load(model.save(tmp_path / "model.npz"))
    np.testing.assert_allclose(outputs(again), outputs(model), rtol=1e-10)


@pytest.mark.filterwarnings("ignore::bayes_lssvm.base.errors.BayesLSSVMWarning")  # a line fits waves badly
def test_metadata_routing(waves):
    X, y, counts = waves
    weights = counts + 0.5
    model = make_pipeline(StandardScaler(), LSSVR()).fit(X, y, lssvr__sample_weight=weights)
    assert not np.allclose(model.predict(NEW), make_pipeline(StandardScaler(), LSSVR()).fit(X, y).predict(NEW))
    with sklearn.config_context(enable_metadata_routing=True):
        own = LSSVR().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        search = GridSearchCV(own, {"gamma": [1.0, 10.0]}, cv=3).fit(X, y, sample_weight=weights)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipe = make_pipeline(scaler, BayesianLSSVR("linear").set_fit_request(sample_weight=True))
        pipe[-1].set_score_request(sample_weight=True)
        kernels = {"bayesianlssvr__kernel": ["linear", "poly2"]}
        routed = GridSearchCV(pipe, kernels, cv=2).fit(X, y, sample_weight=weights).best_estimator_[-1]
        np.testing.assert_array_equal(routed.weights_, weights)
        selector = EvidenceSelector("forward", kernel="linear").set_fit_request(sample_weight=True)
        chain = make_pipeline(selector, LSSVR().set_fit_request(sample_weight=True)).fit(X, y, sample_weight=weights)
        with pytest.raises(sklearn.exceptions.UnsetMetadataPassedError):
            make_pipeline(scaler, LSSVR()).fit(X, y, sample_weight=weights)
    direct = EvidenceSelector("forward", kernel="linear").fit(X, y, sample_weight=weights)
    assert chain[0].path_.chosen.log_evidence == pytest.approx(direct.path_.chosen.log_evidence, abs=1e-9)
    np.testing.assert_array_equal(chain[-1].weights_, weights)
    best = search.best_estimator_
    again = LSSVR(gamma=best.gamma).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(best.predict(NEW), again.predict(NEW), rtol=1e-12)


@pytest.mark.parametrize(
    "estimator",
    [
        *(LSSVC(), LSSVR(), BayesianLSSVC(), BayesianLSSVR(), MulticlassLSSVC(), SparseLSSVC()),
        *(FullyBayesianLSSVC(), FullyBayesianLSSVR(), AveragedLSSVC(("linear",)), AveragedLSSVR(("linear",))),
        *(
            FixedSizeLSSVC(n_landmarks=9),
            FixedSizeLSSVR(n_landmarks=9),
            EvidenceSelector(),
            BayesianLSSVR(noise="learned"),
        ),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (-1.0, "must not be negative; row 39 has -1"),
        (np.nan, "must be finite; row 39 has nan"),
        (np.inf, "must be finite; row 39 has inf"),
        ("short", r"one number for each of the 40 rows; its shape is \(39,\)"),
        ("text", "must be numbers"),
        (0.0, "leaves no"),
    ],
)
def test_bad_weights_get_a_sentence(estimator, bad, words, waves):
    X, y, _ = waves
    y = targets_of(estimator, y)
    weights = np.zeros(40) if bad == 0.0 else np.r_[np.ones(39), 1.0 if isinstance(bad, str) else bad]
    weights = {"short": weights[:39], "text": ["much"] * 40}.get(bad, weights) if isinstance(bad, str) else weights
    with pytest.raises(ValueError, match=words):
        estimator.fit(X, y, sample_weight=weights)


@pytest.mark.parametrize(
    "function", [marginalise, trust, search_kernels, lambda X, y, **w: compare(X, y, ["rbf"], **w)]
)
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (np.r_[np.ones(39), -1.0], "must not be negative"),
        (np.full(40, np.nan), "must be finite"),
        (np.zeros(40), "leaves no"),
        (np.ones(39), "one number for each"),
    ],
)
def test_bad_weights_of_functions_get_a_sentence(function, bad, words, waves):
    X, y, _ = waves
    with pytest.raises(ValueError, match=words):
        function(X, y, sample_weight=bad)


@pytest.mark.filterwarnings("ignore::bayes_lssvm.base.errors.BayesLSSVMWarning")
@pytest.mark.parametrize(
    "estimator",
    [LSSVC(), LSSVR(), BayesianLSSVC("linear"), BayesianLSSVR("linear"), FixedSizeLSSVR(n_landmarks=9)],
    ids=str,
)
def test_bad_weights_of_rows_that_come_later_leave_the_model_as_it_was(estimator, waves):
    X, y, _ = waves
    y = targets_of(estimator, y)
    model = clone(estimator).fit(X, y)
    before = outputs(model)
    for bad, words in (
        (np.full(40, -1.0), "negative"),
        (np.ones(3), "one number for each"),
        (np.full(40, np.nan), "finite"),
    ):
        with pytest.raises(ValueError, match=words):
            model.partial_fit(X, y, sample_weight=bad)
    np.testing.assert_array_equal(outputs(model), before)


def test_too_few_rows_of_positive_weight(waves):
    X, y, _ = waves
    with pytest.raises(ValueError, match="At least 3 data points of positive weight"):
        BayesianLSSVR().fit(X, y, sample_weight=np.r_[1.0, 2.0, np.zeros(38)])


def test_precomputed_matrices_take_weights_but_no_zeros(waves):
    X, y, counts = waves
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    one = LSSVR("precomputed").fit(K, y, sample_weight=counts + 0.5)
    other = LSSVR(bayes_lssvm.kernels.RBF(1.0), standardise=False).fit(X, y, sample_weight=counts + 0.5)
    np.testing.assert_allclose(one.predict(K), other.predict(X), rtol=1e-9)
    with pytest.raises(ValueError, match="remove them from the rows and the columns"):
        LSSVR("precomputed").fit(K, y, sample_weight=counts)


def test_kernels_at_their_best_parameters_are_compared_with_weights(waves):
    X, y, counts = waves
    model = BayesianLSSVR().fit(X, y, sample_weight=counts + 0.5)
    ranking = model.compare(["linear", "rbf"], kernel_parameters="maximised", progress=False)
    best = next(c for c in ranking.candidates if c.kernel.param_names)
    assert best.log_evidence == pytest.approx(model.log_evidence_, abs=3.0)


def test_a_fully_bayesian_model_is_that_of_marginalise(waves):
    X, y, counts = waves
    weights = counts + 0.5
    model = FullyBayesianLSSVR("linear").fit(X, y, weights)
    found = marginalise(X, y, sample_weight=weights, kernel="linear", progress=False)
    assert model.log_evidence_ == pytest.approx(found.log_evidence, abs=1e-9)
    for a, b in zip(model.predict(NEW, return_std=True), found.predict(NEW, return_std=True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize("moderation", ["loo", "class"])
def test_a_whole_weight_is_the_row_repeated_for_the_fully_bayesian_classifier(moderation, waves):
    """But for what k copies say of ζ: ζ^{k/2} Normal(log ζ; m, s²) is a multiple of Normal(m + ks²/2, s²)."""
    X, y, counts = (column[:28] for column in waves)  # 60 rows at most, so that both have the same rule
    labels, times, k = targets_of(None, y), counts.astype(int), counts.sum() - (counts > 0).sum()
    probabilities = []
    for rows, shift in (((X, labels, counts), k * 0.3**2 / 2), ((X.repeat(times, axis=0), labels.repeat(times)), 0.0)):
        prior = HyperPrior(Normal(0.0, 1.0), Normal(1.0 + shift, 0.3))
        model = FullyBayesianLSSVC(RBF(1.5), prior=prior, fixed_kernel=True, moderation=moderation).fit(*rows)
        probabilities.append(model.predict_proba(NEW))
    np.testing.assert_allclose(*probabilities, atol=1e-5)


def test_inputs_are_selected_with_weights():
    """Rows of great noise hide an input, and weights that know it find it; weight zero is the row left out."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 3))
    noise = np.where(np.arange(80) < 40, 0.1, 5.0)
    y = X[:, 0] + 0.3 * X[:, 1] + noise * rng.normal(size=80)
    weighted = EvidenceSelector("forward", kernel="linear").fit(X, y, sample_weight=noise**-2.0)
    assert weighted.selected_.tolist() == [0, 1]
    kept = np.where(noise < 1.0, 0.7, 0.0)
    one = EvidenceSelector("forward", kernel="linear").fit(X, y, sample_weight=kept)
    other = EvidenceSelector("forward", kernel="linear").fit(X[:40], y[:40], sample_weight=np.full(40, 0.7))
    assert one.path_.chosen.log_evidence == pytest.approx(other.path_.chosen.log_evidence, abs=1e-9)
    plain = EvidenceSelector("forward", kernel="linear").fit(X[:40], y[:40])
    # equal weights are another unit of ζ: the evidence is the same
    assert one.path_.chosen.log_evidence == pytest.approx(plain.path_.chosen.log_evidence, abs=1e-9)
    with pytest.raises(ValueError, match="rows of weight zero out"):
        backward_elimination(X, y, kernel="linear", weights=kept, progress=False)


@pytest.mark.filterwarnings("ignore::bayes_lssvm.base.errors.BayesLSSVMWarning")
def test_points_are_pruned_with_weights(waves):
    """Every step is the weighted LS-SVM of its points; the kept ones are named as they were given."""
    X, y, counts = waves
    labels, weights = np.where(y > 0, 1.0, -1.0), 0.5 * counts
    model = SparseLSSVC(fraction=0.2).fit(X, labels, sample_weight=weights)
    rows = np.flatnonzero(weights)
    inputs, w, signs = model.standardiser_(X[rows]), weights[rows], labels[rows]
    assert len(model.path_.steps) > 2
    for before, step in zip((None, *model.path_.steps), model.path_.steps, strict=False):
        own = LSSVC(step.kernel, step.zeta / step.mu, standardise=False)
        own.fit(inputs[step.kept], signs[step.kept], sample_weight=w[step.kept])
        np.testing.assert_allclose(step.alpha, own.alpha_, rtol=1e-8, atol=1e-10)
        right = own.decision_function(inputs) * signs > 0.0
        assert step.accuracy == pytest.approx(w[right].sum() / w.sum())
        if before is not None:
            gone = np.setdiff1d(before.kept, step.kept, assume_unique=True)
            assert (
                np.abs(before.alpha[np.isin(before.kept, gone)]).max() <= np.sort(np.abs(before.alpha))[len(gone) - 1]
            )
    np.testing.assert_array_equal(model.support_, rows[model.path_.chosen.kept])
    whole = TridiagonalReduction.from_kernel_matrix(model.path_.steps[0].kernel(inputs), signs, w)
    first = model.path_.steps[0]
    assert first.log_evidence_all == pytest.approx(whole.local_evidence(first.mu, first.zeta).value, abs=1e-8)
    with pytest.raises(ValueError, match="weights must be positive; leave the points of weight zero out"):
        prune(X, labels, weights=weights)
