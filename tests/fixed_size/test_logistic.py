"""The logistic part of models of fixed size: scikit-learn's optimum, the evidence's ν, rows left out, and passes."""

from contextlib import nullcontext

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from bayes_lssvm import FixedSizeLSSVC, load
from bayes_lssvm.fixed_size import logistic, sample
from bayes_lssvm.fixed_size.logistic import Curvature, Point
from bayes_lssvm.kernels import RBF
from bayes_lssvm.priors import Normal


def overlapping(n, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.7 * rng.logistic(size=n)
    return X, np.digitize(f, np.linspace(-0.8, 0.8, classes - 1) if classes > 2 else [0.2])


def model_of(X, y, **settings):
    return FixedSizeLSSVC(RBF(1.5), refine=False, n_landmarks=20, moderation="logistic", **settings).fit(X, y)


def features_of(model, X):
    return model.low_rank_.features(model.standardiser_(X))


def is_the_optimum(model, phi, t, weights=None, rel=1e-3):
    part = model.logistic_
    peer = LogisticRegression(C=1.0 / part.nu[0], tol=1e-10, max_iter=5000).fit(phi, t, weights)
    f = peer.decision_function(phi)
    np.testing.assert_allclose(part(phi)[:, 0], f, atol=rel * np.abs(f).max())


def test_the_weights_are_those_of_a_logistic_regression_with_the_same_penalty():
    X, y = overlapping(400)
    model = model_of(X, y)
    is_the_optimum(model, features_of(model, X), y)
    assert model.low_rank_.n_passes == 2  # all rows are in the sample: the look, the sums, and no pass more


def test_the_prior_precision_is_where_the_evidence_of_the_regression_is_stationary():
    X, y = overlapping(400)
    model = model_of(X, y)
    phi, (v,), (c,), (nu,) = features_of(model, X), model.logistic_.v, model.logistic_.c, model.logistic_.nu
    p = expit(phi @ v + c)
    h = p * (1.0 - p)
    centred = phi - h @ phi / h.sum()
    lam = np.linalg.eigvalsh((centred.T * h) @ centred)
    prior = float(model._priors[0].mu.gradient(np.log(4.0 * nu)))
    # MacKay's: the effective number of parameters is ν‖v‖², but for the prior
    assert np.sum(lam / (lam + nu)) - nu * v @ v + 2.0 * prior == pytest.approx(0.0, abs=1e-2)


def test_a_row_left_out_is_left_out_of_the_regression():
    rng = np.random.default_rng(1)
    phi, t, rows = rng.normal(size=(30, 3)), rng.integers(0, 2, 30).astype(float), np.ones(30)
    at = Point(rng.normal(size=3), 0.3, 0.8)
    f = phi @ at.v + at.c
    sums = Curvature.empty(1, 3)
    sums.add(0, phi, t, f, rows)
    to, spread, gain = sums.step(0, at, Normal(0.0, 1e-6))
    nu, design = to.nu, np.column_stack([phi, rows])
    p = expit(f)
    h = p * (1.0 - p)

    def solved(part):
        A = (design[part].T * h[part]) @ design[part] + np.diag([nu, nu, nu, 0.0])
        return np.linalg.solve(A, design[part].T @ (h * f + t - p)[part])

    whole = solved(np.ones(30, dtype=bool))
    np.testing.assert_allclose([*to.v, to.c], whole, atol=1e-10)
    # the regression's own residual, where the model itself has t − p at its optimum
    s = spread.of(phi)
    for i in (0, 7, 29):
        part = np.arange(30) != i
        fitted, target = design[i] @ whole, f[i] + (t[i] - p[i]) / h[i]
        assert design[i] @ solved(part) == pytest.approx(
            fitted - h[i] * (target - fitted) * s[i] / (1.0 - h[i] * s[i]), abs=1e-9
        )
    assert gain > 0.0


def test_left_out_log_odds_are_close_to_those_of_a_refit():
    X, y = overlapping(150)
    model = model_of(X, y)
    phi, nu = features_of(model, X), model.logistic_.nu[0]
    inputs = model.low_rank_.look.X
    for i in range(0, 150, 30):
        row = int(np.flatnonzero((inputs == X[i]).all(axis=1))[0])
        rest = np.arange(150) != i
        refit = LogisticRegression(C=1.0 / nu, tol=1e-10, max_iter=5000).fit(phi[rest], y[rest])
        assert model.logistic_.left_out[row, 0] == pytest.approx(refit.decision_function(phi[[i]])[0], abs=0.1)


@pytest.mark.parametrize("classes", [2, 4])
def test_passes_over_rows_beyond_the_sample_end_at_the_optimum_of_all_rows(monkeypatch, classes):
    X, y = overlapping(1500, classes=classes)
    whole = model_of(X, y, standardise=False)
    monkeypatch.setattr(sample, "KEPT", 300)
    monkeypatch.setattr(logistic, "_NUMBERS", 2 * 20**2)  # two bits at a time
    order = np.random.default_rng(2).permutation(1500)
    parts = [(X[rows], y[rows]) for rows in np.array_split(order, 4)]
    blocks = FixedSizeLSSVC(
        RBF(1.5), refine=False, moderation="logistic", landmarks=whole.landmarks_, standardise=False
    ).fit_blocks(parts)
    assert len(blocks.low_rank_.look.X) < 800
    assert blocks.logistic_.n_passes > 0
    np.testing.assert_allclose(blocks.logistic_.nu, whole.logistic_.nu, rtol=1e-2)
    phi = features_of(whole, X)
    np.testing.assert_allclose(blocks.logistic_(phi), whole.logistic_(phi), atol=0.02)
    if classes == 2:
        is_the_optimum(blocks, phi, y, rel=5e-3)


def test_blocks_and_dask_give_the_log_odds_of_memory(monkeypatch):
    array = pytest.importorskip("dask.array")
    monkeypatch.setattr(sample, "KEPT", 200)
    X, y = overlapping(700, classes=3)
    whole = model_of(X, y)
    order = np.random.default_rng(0).permutation(700)
    dask = FixedSizeLSSVC(RBF(1.5), refine=False, n_landmarks=20, moderation="logistic").fit_dask(
        array.from_array(X[order], chunks=(150, 2)), array.from_array(y[order], chunks=150)
    )
    assert whole.logistic_.n_passes == dask.logistic_.n_passes > 0
    np.testing.assert_allclose(dask.predict_proba(X), whole.predict_proba(X), atol=1e-7)


def test_whole_weights_count_rows():
    X, y = overlapping(200)
    weights = np.random.default_rng(3).integers(1, 4, 200)
    landmarks = X[:15]
    settings = {"refine": False, "moderation": "logistic", "landmarks": landmarks, "standardise": False}
    weighted = FixedSizeLSSVC(RBF(1.5), **settings).fit(X, y, weights)
    repeated = FixedSizeLSSVC(RBF(1.5), **settings).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    phi = features_of(weighted, X)  # outputs z differ: for squared errors weights are precisions
    np.testing.assert_allclose(weighted.logistic_(phi), repeated.logistic_(phi), atol=1e-2)
    is_the_optimum(weighted, phi, y, weights)


def test_it_is_saved_and_takes_more_rows(tmp_path):
    X, y = overlapping(300, classes=3)
    model = model_of(X[:200], y[:200])
    read = load(model.save(tmp_path / "model.npz"))
    np.testing.assert_array_equal(read.predict_proba(X), model.predict_proba(X))
    for more in (model, read):
        more.partial_fit(X[200:], y[200:])
        assert more.score(X, y) > 0.55
    np.testing.assert_allclose(read.predict_proba(X), model.predict_proba(X), atol=1e-9)


@pytest.mark.filterwarnings("ignore:n_landmarks")
@pytest.mark.parametrize("y", [np.repeat([0, 1], 15), np.tile([0, 1], 15)], ids=["separable", "no signal"])
def test_separable_and_hopeless_labels_have_finite_log_odds(y):
    X = np.linspace(-1, 1, 30)[:, None]
    with pytest.warns() if y[1] else nullcontext():
        model = FixedSizeLSSVC(RBF(1.0), refine=False, n_landmarks=40, moderation="logistic").fit(X, y)
    P = model.predict_proba(np.array([[-50.0], [-1.0], [0.0], [1.0], [50.0]]))
    assert np.isfinite(P).all()
    assert ((P > 0.0) & (P < 1.0)).all()


@pytest.mark.filterwarnings("ignore:n_landmarks")
@pytest.mark.parametrize(
    ("classes", "settings", "form"),
    [
        (2, {"n_landmarks": 20}, "logistic"),
        (2, {"landmarks": overlapping(20)[0]}, "logistic"),
        (3, {"n_landmarks": 20}, "logistic"),
        (2, {"n_landmarks": 120}, "loo"),  # the model of all rows
        (2, {"kernel": "linear"}, "loo"),  # which this is, too
    ],
)
def test_the_default_form_is_logistic_unless_the_model_is_the_exact_one(tmp_path, classes, settings, form):
    X, y = overlapping(120, classes=classes)
    settings = {"kernel": RBF(1.5), "refine": False} | settings
    model = FixedSizeLSSVC(**settings).fit(X, y)
    named = FixedSizeLSSVC(**settings, moderation=form).fit(X, y)
    assert (model.logistic_ is None) == (form == "loo")
    np.testing.assert_array_equal(model.predict_proba(X), named.predict_proba(X))
    read = load(model.save(tmp_path / "model.npz"))
    np.testing.assert_array_equal(read.predict_proba(X), model.predict_proba(X))


def test_by_default_many_classes_take_no_more_passes(monkeypatch):
    monkeypatch.setattr(sample, "KEPT", 300)
    X, y = overlapping(1500, classes=4)
    settings = {"kernel": RBF(1.5), "refine": False, "n_landmarks": 20}
    model, asked = (FixedSizeLSSVC(**settings, moderation=form).fit(X, y) for form in ("auto", "logistic"))
    assert (model.logistic_.n_passes, model.low_rank_.n_passes) == (0, 2)
    assert asked.logistic_.n_passes > 0
    assert np.abs(model.predict_proba(X) - asked.predict_proba(X)).max() < 0.1


def test_rows_that_come_later_may_change_the_form():
    X, y = overlapping(200)
    with pytest.warns(match="n_landmarks = 60"):
        model = FixedSizeLSSVC(RBF(1.5), refine=False, n_landmarks=60).fit(X[:50], y[:50])
    assert model.logistic_ is None
    assert model.partial_fit(X[50:], y[50:]).logistic_ is not None


def test_other_moderations_are_refused():
    X, y = overlapping(50)
    with pytest.raises(ValueError, match="moderation must be one of auto, loo, logistic, got 'class'"):
        FixedSizeLSSVC(moderation="class").fit(X, y)
