"""Several outputs with one kernel; joint covariances and draws."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.utils import get_tags

from bayes_lssvm import LSSVR, BayesianLSSVR, load
from bayes_lssvm.kernels import ARD, RBF
from bayes_lssvm.levels.default_prior import default_prior
from bayes_lssvm.levels.level1 import PrimalPosterior
from bayes_lssvm.levels.objective import Objective
from bayes_lssvm.levels.outputs import OutputsObjective


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    Y = np.stack([np.sin(X[:, 0]), 30.0 * X[:, 1] ** 2, X[:, 0]], axis=1)
    return X, Y + np.array([0.1, 3.0, 0.2]) * rng.normal(size=(40, 3)), rng.normal(size=(7, 2))


@pytest.fixture(scope="module")
def fitted(data):
    return BayesianLSSVR().fit(data[0], data[1])


@pytest.mark.parametrize("kernel", [RBF(1.5), ARD((1.0, 2.5))])
def test_the_objective_is_the_sum_of_the_outputs_with_the_kernels_prior_once(data, kernel):
    X, Y, _ = data
    priors = tuple(default_prior(kernel, X, y, classes=False) for y in Y.T)
    found = OutputsObjective.of(X, Y, priors).evaluate(kernel, gradient=True)
    alone = [Objective(X, y, prior=prior).evaluate(kernel, gradient=True) for y, prior in zip(Y.T, priors, strict=True)]
    own = priors[0].components(len(kernel.log_params))[2:]
    prior = sum(float(p.log_density(x)) for p, x in zip(own, kernel.log_params, strict=True))
    slopes = np.array([float(p.gradient(x)) for p, x in zip(own, kernel.log_params, strict=True)])
    assert found.value == pytest.approx(sum(e.value for e in alone) - 2 * prior, abs=1e-7)
    np.testing.assert_allclose(found.gradient, sum(e.gradient for e in alone) - 2 * slopes, atol=1e-6)


def test_the_kernel_is_at_the_maximum_of_the_sum(data, fitted):
    X, Y, _ = data
    Z = fitted.standardiser_(X)
    priors = tuple(default_prior(fitted.kernel_, Z, y, classes=False) for y in Y.T)
    objective = OutputsObjective.of(Z, Y, priors)
    best = objective.evaluate(fitted.kernel_, gradient=True)
    assert np.abs(best.gradient).max() < 1e-3
    for step in (-0.1, 0.1):
        other = fitted.kernel_.with_log_params(fitted.kernel_.log_params + step)
        assert objective.evaluate(other).value < best.value


def test_each_output_is_the_model_of_it_alone_with_the_shared_kernel(data, fitted):
    X, Y, new = data
    mean, std = fitted.predict(new, return_std=True)
    assert mean.shape == std.shape == (7, 3)
    assert fitted.mu_.shape == fitted.zeta_.shape == fitted.gamma_eff_.shape == fitted.intercept_.shape == (3,)
    assert fitted.alpha_.shape == (40, 3)
    total = 0.0
    for k in range(3):
        alone = BayesianLSSVR(fitted.kernel_, refine=False).fit(X, Y[:, k])
        one, bar = alone.predict(new, return_std=True)
        np.testing.assert_allclose(mean[:, k], one, rtol=1e-10)
        np.testing.assert_allclose(std[:, k], bar, rtol=1e-10)
        np.testing.assert_allclose(fitted.latent(new, return_std=True)[1][:, k], alone.latent(new, return_std=True)[1])
        assert fitted.zeta_[k] == pytest.approx(alone.zeta_, rel=1e-10)
        total += alone.log_evidence_
    assert fitted.log_evidence_ == pytest.approx(total, abs=1e-9)


def test_one_column_is_the_model_of_one_target(data):
    X, Y, new = data
    column, vector = BayesianLSSVR().fit(X, Y[:, :1]), BayesianLSSVR().fit(X, Y[:, 0])
    assert column.kernel_.sigma == pytest.approx(vector.kernel_.sigma, rel=1e-4)
    np.testing.assert_allclose(column.predict(new)[:, 0], vector.predict(new), atol=1e-4)
    assert column.predict(new).shape == (7, 1)


def test_units_of_an_output_have_no_say_in_the_kernel(data, fitted):
    X, Y, _ = data
    scaled = BayesianLSSVR().fit(X, Y * np.array([1e3, 1.0, 1e-3]) + 5.0)
    assert scaled.kernel_.sigma == pytest.approx(fitted.kernel_.sigma, rel=1e-4)


@pytest.mark.parametrize("solver", ["cholesky", "spectral", "cg"])
def test_the_plain_regressor_takes_several_outputs(data, solver):
    X, Y, new = data
    model = LSSVR("rbf", 5.0, solver=solver).fit(X, Y)
    alone = [LSSVR("rbf", 5.0).fit(X, y) for y in Y.T]
    np.testing.assert_allclose(model.predict(new), np.stack([m.predict(new) for m in alone], axis=1), atol=1e-8)
    assert model.alpha_.shape == (40, 3)
    lower, upper = model.predict_interval(new, 0.8)
    np.testing.assert_allclose(lower[:, 1], alone[1].predict_interval(new, 0.8).lower, atol=1e-9)
    assert upper.shape == (7, 3)


def test_a_file_keeps_several_outputs(data, fitted, tmp_path):
    again = load(fitted.save(tmp_path / "model.npz"))
    np.testing.assert_array_equal(again.predict(data[2], return_std=True), fitted.predict(data[2], return_std=True))
    np.testing.assert_array_equal(
        again.predict_interval(data[2], refit=False), fitted.predict_interval(data[2], refit=False)
    )
    assert len(again.outputs_) == 3
    assert again.log_evidence_ == fitted.log_evidence_


def test_intervals_of_several_outputs_are_those_of_each(data, fitted):
    lower, upper = fitted.predict_interval(data[2], 0.8, refit=False)
    inputs = fitted.standardiser_(data[2])
    for k, output in enumerate(fitted.outputs_):
        np.testing.assert_array_equal(lower[:, k], output.predict_interval(inputs, 0.8, refit=False).lower)
        np.testing.assert_array_equal(upper[:, k], output.predict_interval(inputs, 0.8, refit=False).upper)


def test_what_is_wrong_is_a_sentence(data, fitted):
    X, Y, new = data
    with pytest.raises(ValueError, match="All 40 targets are equal"):
        BayesianLSSVR().fit(X, np.column_stack([Y[:, 0], np.ones(40)]))
    with pytest.raises(ValueError, match="fit a model for each output"):
        BayesianLSSVR(criterion="press").fit(X, Y)
    for method in ("marginalise", "compare", "trust"):
        arguments = {"kernels": ["rbf"]} if method == "compare" else {}
        with pytest.raises(ValueError, match=rf"{method} is for one output, and there are 3: use outputs_\[i\]"):
            getattr(fitted, method)(**arguments)
    with pytest.raises(ValueError, match="not both"):
        fitted.predict(new, return_std=True, return_cov=True)
    for n in (0, 2.5, True):
        with pytest.raises(ValueError, match="n_samples must be a positive whole number"):
            fitted.sample_y(new, n)
    with pytest.raises(ValueError, match='of must be "y" for new targets or "f"'):
        fitted.sample_y(new, of="z")


# --- joint covariances and draws -------------------------------------------------------------------------------------


def test_the_covariance_is_that_of_the_explicit_feature_space(data):
    X, Y, new = data
    model = BayesianLSSVR("poly2").fit(X, Y[:, 0])
    features = model.kernel_.feature_map
    primal = PrimalPosterior.fit(features(model.X_fit_), Y[:, 0], mu=model.mu_, zeta=model.zeta_)
    g = np.hstack([features(model.standardiser_(new)), np.ones((7, 1))])
    mean, covariance = model.predict(new, return_cov=True)
    np.testing.assert_allclose(covariance, g @ primal.covariance @ g.T + np.eye(7) / model.zeta_, atol=1e-8)
    np.testing.assert_allclose(mean, primal.latent_mean(features(model.standardiser_(new))), atol=1e-8)


def test_the_diagonal_of_the_covariance_is_the_squared_error_bar(data, fitted):
    mean, covariance = fitted.predict(data[2], return_cov=True)
    _, std = fitted.predict(data[2], return_std=True)
    assert covariance.shape == (7, 7, 3)
    np.testing.assert_allclose(np.einsum("iil->il", covariance), std**2, rtol=1e-9)
    np.testing.assert_array_equal(mean, fitted.predict(data[2]))


@pytest.mark.parametrize("of", ["y", "f"])
def test_draws_have_the_mean_and_the_covariance_of_the_posterior(data, of):
    X, Y, new = data
    model = BayesianLSSVR().fit(X, Y[:, 0])
    new = np.vstack([new, new[:1]])  # a point twice: one value of f, two of y
    mean, covariance = model.predict(new, return_cov=True)
    if of == "f":
        covariance = covariance - np.eye(8) / model.zeta_
    n = 100_000
    draws = model.sample_y(new, n, 1, of=of)
    assert draws.shape == (8, n)
    variances = np.diag(covariance)
    assert np.all(np.abs(draws.mean(axis=1) - mean) < 4.5 * np.sqrt(variances / n))
    error = np.sqrt((np.outer(variances, variances) + covariance**2) / n)  # of a sample covariance
    assert np.all(np.abs(np.cov(draws) - covariance) < 4.5 * error + 1e-12)
    assert np.allclose(draws[0], draws[-1], atol=1e-6) == (of == "f")


def test_draws_of_several_outputs_and_their_seeds(data, fitted):
    new = data[2]
    assert fitted.sample_y(new).shape == (7, 3, 1)
    one = fitted.sample_y(new, 5, 42)
    assert one.shape == (7, 3, 5)
    np.testing.assert_array_equal(one, fitted.sample_y(new, n_samples=5, random_state=42))
    np.testing.assert_array_equal(one, fitted.sample_y(new, 5, np.random.default_rng(42)))
    state = np.random.RandomState(0)
    assert not np.array_equal(fitted.sample_y(new, 5, state), fitted.sample_y(new, 5, state))


@pytest.mark.parametrize("estimator", [LSSVR(), BayesianLSSVR()])
def test_scikit_learn_is_told_of_several_outputs(estimator):
    tags = get_tags(estimator)
    assert tags.target_tags.multi_output


@pytest.mark.parametrize("solver", ["cholesky", "spectral", "cg"])
def test_weights_serve_all_outputs(data, solver):
    X, Y, new = data
    w = np.random.default_rng(2).uniform(0.2, 4.0, size=40)
    model = LSSVR("rbf", 5.0, solver=solver).fit(X, Y, w)
    alone = LSSVR("rbf", 5.0).fit(X, Y[:, 2], w)
    np.testing.assert_allclose(model.predict(new)[:, 2], alone.predict(new), atol=1e-8)
    several = BayesianLSSVR(RBF(2.0), refine=False).fit(X, Y, w)
    one = BayesianLSSVR(RBF(2.0), refine=False).fit(X, Y[:, 1], w)
    np.testing.assert_allclose(several.predict(new)[:, 1], one.predict(new), rtol=1e-9)
    np.testing.assert_allclose(
        several.predict_interval(new, refit=False).upper[:, 1], one.predict_interval(new, refit=False).upper, rtol=1e-9
    )
