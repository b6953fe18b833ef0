"""Bad input: what is wrong, what was found, what to do, said before any work starts; doubtful results are warned of."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from bayes_lssvm import (
    LSSVC,
    LSSVR,
    BayesianLSSVC,
    BayesianLSSVR,
    BayesLSSVMWarning,
    ConstantFeatureWarning,
    EvidenceDivergenceWarning,
    InterpolationWarning,
    MatrixTooLargeError,
    NoSignalWarning,
    NotPositiveSemidefiniteError,
    compare,
)
from bayes_lssvm.base import memory as _memory
from bayes_lssvm.kernels import ARD, MLP, RBF

ESTIMATORS = (LSSVC, LSSVR, BayesianLSSVC, BayesianLSSVR)
CLASSIFIERS = (LSSVC, BayesianLSSVC)
REGRESSORS = (LSSVR, BayesianLSSVR)
PLAIN = (LSSVC, LSSVR)
BAYESIAN = (BayesianLSSVC, BayesianLSSVR)

every = pytest.mark.parametrize("cls", ESTIMATORS)
every_classifier = pytest.mark.parametrize("cls", CLASSIFIERS)
every_regressor = pytest.mark.parametrize("cls", REGRESSORS)
every_plain = pytest.mark.parametrize("cls", PLAIN)
every_bayesian = pytest.mark.parametrize("cls", BAYESIAN)


def problem(cls, n=60, width=3, seed=0):
    """A problem with signal and noise, of the kind that the estimator solves."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    y = np.sin(2 * X[:, 0]) + 0.4 * rng.normal(size=n)
    return X, (y > 0).astype(int) if cls in CLASSIFIERS else y


def fitted(cls):
    return cls().fit(*problem(cls))


def output(model, X):
    return model.decision_function(X) if isinstance(model, CLASSIFIERS) else model.predict(X)


# --- values --------------------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize(("value", "named"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_nan_and_infinity_are_refused(cls, value, named):
    X, y = problem(cls)
    bad = X.copy()
    bad[3, 1] = value
    with pytest.raises(ValueError, match=f"Input X contains {named}"):
        cls().fit(bad, y)
    with pytest.raises(ValueError, match=f"Input X contains {named}"):
        fitted(cls).predict(bad)
    targets = y.astype(float)
    targets[3] = value
    with pytest.raises(ValueError, match=f"Input y contains {named}"):
        cls().fit(X, targets)


@every_classifier
@pytest.mark.parametrize("label", ["a", 1, True])
def test_one_class_is_refused_with_its_name(cls, label):
    X, y = problem(cls)
    with pytest.raises(ValueError, match=f"needs two classes, but all 60 labels are of one class, .*{label}"):
        cls().fit(X, np.full(len(y), label))


def test_more_than_two_classes_point_to_the_classifier_that_takes_them():
    X, _ = problem(LSSVC)
    with pytest.raises(ValueError, match=r"Only binary classification.*y has 4 classes.*use BayesianLSSVC"):
        LSSVC().fit(X, np.arange(60) % 4)


@every_classifier
def test_real_targets_are_no_labels(cls):
    X, y = problem(LSSVR)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        cls().fit(X, y)


@every_regressor
@pytest.mark.parametrize("value", [0.0, 0.1, -1e9])
def test_constant_targets_are_refused_with_their_value(cls, value):
    X, y = problem(cls)
    with pytest.raises(ValueError, match=r"All 60 targets are equal \(.*\), so there is nothing to learn") as caught:
        cls().fit(X, np.full(len(y), value))
    assert f"{value:g}" in str(caught.value)


@every
@pytest.mark.parametrize("n", [1, 2])
def test_fewer_than_three_points_are_refused(cls, n):
    X, _ = problem(cls)
    with pytest.raises(ValueError, match=rf"At least 3 data points are needed.*got n_samples={n}"):
        cls().fit(X[:n], [0, 1][:n])


@every
def test_no_points_and_no_columns_are_refused(cls):
    X, y = problem(cls)
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        cls().fit(X[:0], y[:0])
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        cls().fit(X[:, :0], y)


@every
def test_text_targets_are_labels_for_classifiers_and_refused_by_regressors(cls):
    X, _ = problem(cls)
    text = np.where(X[:, 0] > 0, "yes", "no")
    if cls in CLASSIFIERS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesLSSVMWarning)  # the labels have no noise
            assert set(cls().fit(X, text).predict(X)) == {"no", "yes"}
    else:
        with pytest.raises(ValueError, match="could not convert string to float"):
            cls().fit(X, text)


@every
@pytest.mark.parametrize("container", ["array", "frame"])
def test_text_in_the_inputs_is_named_with_what_to_do(cls, container):
    X, y = problem(cls)
    frame = pd.DataFrame({"size": X[:, 0], "colour": ["red", "blue"] * 30})
    with pytest.raises(ValueError, match=r"(red|blue)") as caught:
        cls().fit(frame if container == "frame" else frame.to_numpy(), y)
    message = str(caught.value).lower()
    assert "colour" in message or "column" in message  # where
    assert "encode" in message or "numeric" in message or "number" in message  # what to do


# --- shapes --------------------------------------------------------------------------------------------------------


@every
def test_inputs_of_one_dimension_are_refused_with_how_to_reshape(cls):
    X, y = problem(cls)
    model = fitted(cls)
    for call in (lambda: cls().fit(X[:, 0], y), lambda: model.predict(X[0])):
        with pytest.raises(ValueError, match=r"(?s)Expected 2D array, got 1D array instead.*Reshape your data"):
            call()
    with pytest.raises(ValueError, match="Found array with dim 3"):
        cls().fit(X[:, :, None], y)


@every
def test_another_width_at_predict_is_refused_with_both_widths(cls):
    X, _ = problem(cls)
    with pytest.raises(ValueError, match=rf"X has 2 features, but {cls.__name__} is expecting 3 features"):
        fitted(cls).predict(X[:, :2])


@every
def test_inputs_and_targets_of_different_lengths_are_refused_with_both(cls):
    X, y = problem(cls)
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[60, 40\]"):
        cls().fit(X, y[:40])


@every
def test_sparse_and_complex_inputs_are_refused(cls):
    X, y = problem(cls)
    with pytest.raises(TypeError, match=r"dense data is required.*toarray"):
        cls().fit(sparse.csr_array(X), y)
    with pytest.raises(ValueError, match="Complex data not supported"):
        cls().fit(X + 1j, y)


@every
def test_an_unfitted_estimator_says_to_call_fit(cls):
    X, _ = problem(cls)
    model = cls()
    names = [
        name
        for name in ("predict", "predict_proba", "decision_function", "latent", "discriminant")
        if hasattr(model, name)
    ]
    assert names
    for name in names:
        with pytest.raises(NotFittedError, match=f"This {cls.__name__} instance is not fitted yet. Call 'fit'"):
            getattr(model, name)(X)
    if cls in BAYESIAN:
        with pytest.raises(NotFittedError, match="not fitted yet"):
            model.compare(["rbf"])


# --- points and columns that repeat --------------------------------------------------------------------------------


@every
def test_duplicate_points_are_welcome(cls):
    """Each point twice, the targets of the copies differing: the model is fitted, and its outputs are finite."""
    X, y = problem(cls)
    rng = np.random.default_rng(1)
    again = np.where(rng.random(60) < 0.1, 1 - y, y) if cls in CLASSIFIERS else y + 0.3 * rng.normal(size=60)
    model = cls().fit(np.vstack([X, X]), np.concatenate([y, again]))
    assert np.all(np.isfinite(output(model, X)))
    assert model.score(X, y) > 0.5


@every
@pytest.mark.parametrize("named", [False, True])
def test_a_constant_column_is_warned_of_and_kept_at_zero(cls, named):
    X, y = problem(cls)
    constant = np.insert(X, 1, 7.3, axis=1)
    fit_on = pd.DataFrame(constant, columns=["a", "speed", "c", "d"]) if named else constant
    # "rbf" has a width that follows the number of columns, so the kernel is given to compare fits of two widths
    params = {"kernel": RBF(1.7)} | ({"refine": False} if cls in BAYESIAN else {})
    with pytest.warns(
        ConstantFeatureWarning, match=f"Column {'speed' if named else '1'} of X .*kept at zero"
    ) as record:
        model = cls(**params).fit(fit_on, y)
    assert len(record) == 1
    without = cls(**params).fit(X, y)
    changed = fit_on.copy()
    if named:
        changed["speed"] = np.linspace(-1e6, 1e6, len(y))
    else:
        changed[:, 1] = np.linspace(-1e6, 1e6, len(y))
    np.testing.assert_allclose(output(model, changed), output(without, X), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(output(model, changed), output(model, fit_on))


@every
@pytest.mark.parametrize("n", [60, 100])
def test_nothing_but_constant_columns_predicts_the_mean_of_the_targets(cls, n):
    _, y = problem(cls, n)
    X = np.full((n, 2), 3.0)
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        model = cls().fit(X, y)
    categories = [w.category for w in record]
    assert categories == [ConstantFeatureWarning, NoSignalWarning][: 2 if cls in BAYESIAN else 1]
    assert "Columns 0, 1 of X" in str(record[0].message)
    new = np.random.default_rng(0).normal(size=(5, 2))
    if cls is BayesianLSSVC:
        np.testing.assert_allclose(model.predict_proba(new)[:, 1], y.mean(), rtol=0, atol=1e-6)
    else:
        signs = 2 * y.mean() - 1 if cls is LSSVC else y.mean()
        np.testing.assert_allclose(output(model, new), signs, rtol=0, atol=1e-6)


# --- parameters ----------------------------------------------------------------------------------------------------


@every_plain
@pytest.mark.parametrize("solver", ["cholesky", "spectral", "cg"])
@pytest.mark.parametrize("gamma", [0, 0.0, -1.0, np.nan, np.inf, -np.inf, "1", None, [1.0]])
def test_gamma_must_be_a_positive_number(cls, gamma, solver):
    with pytest.raises(ValueError, match="gamma must be a positive") as caught:
        cls(gamma=gamma, solver=solver).fit(*problem(cls))
    assert repr(gamma) in str(caught.value)


@every_plain
@pytest.mark.parametrize("solver", ["qr", None, 3])
def test_an_unknown_solver_is_refused_with_the_names(cls, solver):
    with pytest.raises(ValueError, match=r"solver must be one of cholesky, spectral, cg, got") as caught:
        cls(solver=solver).fit(*problem(cls))
    assert repr(solver) in str(caught.value)


@every
def test_an_unknown_kernel_is_refused_with_the_names(cls):
    with pytest.raises(ValueError, match=r"no kernel named 'gauss'; the names are linear, .*rbf"):
        cls(kernel="gauss").fit(*problem(cls))
    with pytest.raises(ValueError, match=r"kernel must be a name \(linear, .*\) or an object of .*, got 3"):
        cls(kernel=3).fit(*problem(cls))


@every
def test_a_kernel_of_another_width_is_refused_with_both(cls):
    with pytest.raises(ValueError, match=r"2 scales but the inputs have 3 columns; give one scale for each column"):
        cls(kernel=ARD((1.0, 2.0))).fit(*problem(cls))


@pytest.mark.parametrize(
    ("cls", "params"),
    [
        (LSSVC, {}),
        (LSSVC, {"solver": "spectral"}),
        (LSSVC, {"solver": "cg"}),
        (LSSVR, {}),
        (LSSVR, {"solver": "spectral"}),
        (LSSVR, {"solver": "cg"}),
        (BayesianLSSVC, {}),
        (BayesianLSSVC, {"refine": False}),
        (BayesianLSSVR, {}),
        (BayesianLSSVR, {"refine": False}),
    ],
    ids=str,
)
@pytest.mark.parametrize("kernel", [MLP(1.0, -1.0), MLP(0.5, 1.0), RBF(1.0) + MLP(1.0, -2.0)], ids=["a", "b", "sum"])
def test_a_kernel_that_is_not_positive_semidefinite_is_refused(cls, params, kernel):
    """tanh(κxᵀz + θ) is an inner product for some κ, θ and data only (paper 0, section 2)."""
    with pytest.raises(NotPositiveSemidefiniteError, match="not positive semi-definite") as caught:
        cls(kernel=kernel, **params).fit(*problem(cls))
    message = str(caught.value)
    assert "MLP(" in message
    assert "RBF kernel" in message  # what to use instead
    assert isinstance(caught.value, ValueError)


@every_bayesian
@pytest.mark.parametrize("prior_sd", [0, -1.0, np.nan, np.inf, (1.0, 0.0), (1.0, 2.0, 3.0), "wide", None])
def test_prior_widths_must_be_one_or_two_positive_numbers(cls, prior_sd):
    with pytest.raises(ValueError, match="prior_sd must be one positive width or two") as caught:
        cls(prior_sd=prior_sd).fit(*problem(cls))
    assert repr(prior_sd) in str(caught.value)


@pytest.mark.parametrize("moderation", ["probit", None, 1])
def test_an_unknown_moderation_is_refused_with_the_names(moderation):
    with pytest.raises(ValueError, match="moderation must be one of loo, class, target, softmax, got") as caught:
        BayesianLSSVC(moderation=moderation).fit(*problem(BayesianLSSVC))
    assert repr(moderation) in str(caught.value)


@pytest.mark.parametrize(
    "prior", [[0.5, 0.6], [1.0, 0.0], [-0.5, 1.5], [0.5], [0.2, 0.3, 0.5], [np.nan, 0.5], {0: 0.5, 1: 0.6}, "half"]
)
def test_a_class_prior_must_be_two_probabilities(prior):
    X, y = problem(BayesianLSSVC)
    model = BayesianLSSVC().fit(X, y)
    calls = (
        lambda: BayesianLSSVC(class_prior=prior).fit(X, y),
        lambda: model.predict(X, class_prior=prior),
        lambda: model.predict_proba(X, class_prior=prior),
    )
    for call in calls:
        with pytest.raises(ValueError, match=r"must be 2 positive probabilities .*\[0, 1\], or .equal., got") as caught:
            call()
        assert repr(prior) in str(caught.value)


@pytest.mark.parametrize("prior", [{0: 0.5, 2: 0.5}, {0: 0.5}, {"0": 0.5, "1": 0.5}, {0: 0.2, 1: 0.3, 2: 0.5}])
def test_a_class_prior_by_label_must_name_the_classes(prior):
    with pytest.raises(ValueError, match=r"class_prior must name the classes \[0, 1\], but it names"):
        BayesianLSSVC(class_prior=prior).fit(*problem(BayesianLSSVC))


@pytest.mark.parametrize(
    "costs", [[1, 2], [[0, 1, 2], [1, 0, 2]], [[0, np.nan], [1, 0]], [[0, np.inf], [1, 0]], "dear"]
)
def test_costs_must_be_a_matrix_of_two_rows_and_columns(costs):
    X, y = problem(BayesianLSSVC)
    with pytest.raises(ValueError, match=r"costs must be a 2 × 2 matrix of finite numbers.*\[0, 1\]"):
        BayesianLSSVC(costs=costs).fit(X, y)
    with pytest.raises(ValueError, match="costs must be a 2 × 2 matrix of finite numbers"):
        fitted(BayesianLSSVC).predict(X, costs=costs)


@pytest.mark.parametrize("costs", [[[1, 0], [0, 1]], [[0, 0], [1, 0]], [[0, 1], [-1, 0]]])
def test_costs_must_make_errors_dearer(costs):
    with pytest.raises(ValueError, match="costs must make every wrong decision more costly than the right one"):
        BayesianLSSVC(costs=costs).fit(*problem(BayesianLSSVC))


@every_bayesian
def test_a_comparison_needs_kernels_and_proper_probabilities(cls):
    model = fitted(cls)
    with pytest.raises(ValueError, match="no kernels to compare; give a list with at least one"):
        model.compare([])
    with pytest.raises(ValueError, match="no kernel named 'gauss'"):
        model.compare(["gauss"], progress=False)
    with pytest.raises(ValueError, match="prior_probabilities must be 2 positive numbers that sum to one"):
        model.compare(["rbf", "linear"], prior_probabilities=[0.5, 0.6])


@pytest.mark.parametrize("where", ["X", "y"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_comparison_of_kernels_refuses_nan_and_infinity(where, value):
    X, y = problem(LSSVR)
    (X if where == "X" else y)[3] = value
    with pytest.raises(ValueError, match=r"(?i)nan|infinit|finite") as caught:
        compare(X, y, ["linear"], progress=False)
    assert "convert" not in str(caught.value)  # not an accident further down


# --- memory --------------------------------------------------------------------------------------------------------

TOO_LARGE = [
    (LSSVC, {}, 'solver="cg"'),
    (LSSVR, {}, 'solver="cg"'),
    (LSSVC, {"solver": "spectral"}, 'solver="cg"'),
    (BayesianLSSVC, {}, "FixedSizeLSSVC"),
    (BayesianLSSVR, {"refine": False}, "FixedSizeLSSVR"),
]


@pytest.mark.parametrize(("cls", "params", "instead"), TOO_LARGE, ids=str)
def test_a_matrix_that_does_not_fit_is_refused_before_it_is_allocated(cls, params, instead):
    """400 000 points need 1.2 TiB for one matrix; the peak stays at a few copies of the 3 MB of input."""
    X = np.zeros((400_000, 1))
    y = np.arange(400_000) % 2
    tracemalloc.start()
    try:
        with pytest.raises(MatrixTooLargeError, match=r"400000 data points need about .* GiB") as caught:
            cls(**params).fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert instead in str(caught.value)
    assert "but this machine has" in str(caught.value)
    assert isinstance(caught.value, MemoryError)
    assert isinstance(caught.value, ValueError)
    assert peak < 100e6


@pytest.mark.parametrize(("cls", "params", "instead"), TOO_LARGE, ids=str)
def test_the_memory_of_the_machine_decides(cls, params, instead, monkeypatch):
    X, y = problem(cls, n=300)
    monkeypatch.setattr(_memory, "available_bytes", lambda: 10 * 8 * 300**2)
    assert cls(**params).fit(X, y).alpha_.shape == (300,)
    monkeypatch.setattr(_memory, "available_bytes", lambda: 2 * 8 * 300**2)
    with pytest.raises(MatrixTooLargeError, match="300 data points") as caught:
        cls(**params).fit(X, y)
    assert instead in str(caught.value)


def test_an_unknown_amount_of_memory_does_not_stop_anyone(monkeypatch):
    monkeypatch.setattr(_memory, "available_bytes", lambda: None)
    assert fitted(LSSVC).alpha_.shape == (60,)


@every_plain
def test_conjugate_gradients_do_not_need_the_matrix(cls, monkeypatch):
    X, y = problem(cls, n=300)
    reference = cls().fit(X, y)
    monkeypatch.setattr(_memory, "available_bytes", lambda: 8 * 300)
    model = cls(solver="cg").fit(X, y)
    np.testing.assert_allclose(output(model, X), output(reference, X), rtol=0, atol=1e-8)


def test_the_comparison_of_kernels_refuses_a_matrix_that_does_not_fit(monkeypatch):
    X, y = problem(LSSVR, n=300)
    monkeypatch.setattr(_memory, "available_bytes", lambda: 1000)
    with pytest.raises(MatrixTooLargeError, match="300 data points"):
        compare(X, y, ["linear"], progress=False)


def test_the_memory_of_this_machine_is_known_or_said_to_be_unknown():
    have = _memory.available_bytes()
    assert have is None or 2**26 < have < 2**50


# --- results to be read with care ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "tolerance"),
    [({}, 0.03), ({"prior": "flat"}, 0.01), ({"occam": False}, 0.01)],
    ids=["default", "flat", "without Occam factor"],
)
def test_permuted_labels_have_no_signal_and_predict_the_class_prior(settings, tolerance, ripley):
    X, y, X_test, _ = ripley
    with pytest.warns(NoSignalWarning, match=r"No signal: with RBF.* 0.00 nats better than noise alone") as record:
        model = BayesianLSSVC(**settings).fit(X, np.random.default_rng(1).permutation(y))
    assert len(record) == 1
    assert "Other inputs or another kernel may do better" in str(record[0].message)
    assert model.level3_.level2.status == "no signal"
    np.testing.assert_allclose(model.predict_proba(X_test), 0.5, rtol=0, atol=tolerance)


@pytest.mark.parametrize("moderation", ["loo", "class", "target", "softmax"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_without_signal_the_class_prior_is_predicted_everywhere(moderation, kernel):
    """Also at the class means, where paper 0's form (3.16) with γ → 0 has the odds of two vanishing variances."""
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(100, 1)), rng.permutation(np.arange(100) % 4 == 0)
    with pytest.warns(NoSignalWarning):
        model = BayesianLSSVC(kernel, moderation=moderation, prior="flat").fit(x, labels)
    assert model.level3_.level2.at_boundary
    grid = np.append(np.linspace(-3, 3, 601), [x[labels].mean(), x[~labels].mean()])[:, None]
    np.testing.assert_allclose(model.predict_proba(grid)[:, 1], 0.25, rtol=0, atol=0.01)
    np.testing.assert_allclose(model.predict_proba(grid, class_prior=[0.5, 0.5])[:, 1], 0.5, rtol=0, atol=0.01)


def test_targets_of_noise_have_no_signal_and_predict_their_mean():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(80, 2)), 5 + rng.normal(size=80)
    with pytest.warns(NoSignalWarning, match="No signal"):
        model = BayesianLSSVR(prior="flat").fit(X, y)
    mean, std = model.predict(3 * X, return_std=True)
    np.testing.assert_allclose(mean, y.mean(), rtol=0, atol=0.1 * y.std())
    np.testing.assert_allclose(std, y.std(), rtol=0.1)


def test_with_a_proper_prior_targets_of_noise_predict_their_mean_within_the_error_bars():
    """γ stays away from zero, so that a little of the noise is followed: less than the error bars say."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(80, 2)), 5 + rng.normal(size=80)
    with pytest.warns(NoSignalWarning, match=r"No signal: .* only \d\.\d\d nats better than noise alone"):
        model = BayesianLSSVR().fit(X, y)
    mean, std = model.predict(X, return_std=True)
    _, spread = model.latent(X, return_std=True)
    assert np.all(np.abs(mean - y.mean()) < 2.0 * spread)
    np.testing.assert_allclose(std, y.std(), rtol=0.1)


@pytest.mark.parametrize("refine", [True, False])
def test_targets_without_noise_are_interpolated_with_a_warning(refine):
    x = np.linspace(0, 6, 40)[:, None]
    with pytest.warns(InterpolationWarning, match=r"Interpolation: .* largest γ .* without noise") as record:
        model = BayesianLSSVR(refine=refine, prior="flat").fit(x, np.sin(x[:, 0]))
    assert "limits set by rounding" in str(record[0].message)
    assert model.level3_.level2.status == "interpolation"
    mean, std = model.predict(x + 0.05, return_std=True)
    np.testing.assert_allclose(mean[:-1], np.sin(x[:-1, 0] + 0.05), rtol=0, atol=1e-4)
    assert np.all(np.isfinite(std))
    assert np.all(std > 0)


def test_an_evidence_that_diverges_is_warned_of_and_bounded():
    """Classes that a narrow kernel separates almost point by point: γ_eff → N, where eq 5.3 grows without limit."""
    X = np.array([[3, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 1], [0, 3], [1, 0], [2, 0], [4, 4], [2, 3], [3, 2]])
    y = np.array([1, 1, 1, 2, 2, 2] * 2)
    with pytest.warns(
        EvidenceDivergenceWarning, match=r"of N = 12 is so close to 1 or N that the evidence \(5.3\) diverges"
    ) as record:
        model = BayesianLSSVC(refine=False, prior="flat").fit(X, y)
    assert "Prefer occam=False" in str(record[0].message)
    assert model.level3_.occam_capped
    assert model.hyper_std_["log_zeta"] > 3.0  # wider than the prior
    assert model.log_occam_factor_ <= 0.0
    quiet = BayesianLSSVC(refine=False, occam=False).fit(X, y)
    assert quiet.log_evidence_ == model.level3_.log_evidence_without_occam
    # by default eq 5.3 has no part in the evidence, and twelve points say little
    with pytest.warns(NoSignalWarning) as record:
        proper = BayesianLSSVC(refine=False).fit(X, y)
    assert len(record) == 1
    assert np.isfinite(proper.log_evidence_)


def test_an_evidence_that_rises_to_the_edge_of_the_search_is_warned_of():
    """Linear data: the RBF kernel tends to the linear one as σ → ∞."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    y = X @ [1.0, -2.0] + 0.1 * rng.normal(size=50)
    with pytest.warns(BayesLSSVMWarning, match=r"still rising at the edge of the search for sigma .* simpler kernel"):
        model = BayesianLSSVR(prior="flat").fit(X, y)
    assert model.refinement_.at_bound == ("sigma",)
    assert model.score(X, y) > 0.99
    proper = BayesianLSSVR().fit(X, y)  # without a warning: the prior of log σ bounds it
    assert proper.refinement_.at_bound == ()
    assert proper.score(X, y) > 0.99


@pytest.mark.parametrize("cls", ESTIMATORS)
def test_warnings_point_to_the_line_of_the_user(cls):
    X, y = problem(cls)
    with pytest.warns(ConstantFeatureWarning) as record:
        cls().fit(np.insert(X, 1, 7.3, axis=1), y)
    assert record[0].filename == __file__
    if cls in BAYESIAN:
        with pytest.warns(NoSignalWarning) as record:
            cls("linear").fit(X, np.random.default_rng(3).permutation(y))
        assert record[0].filename == __file__
