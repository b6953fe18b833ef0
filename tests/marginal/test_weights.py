"""`marginalise` of weighted rows: the evidence by other integrals, what weights equal, and predictions at a node."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.stats import norm

from bayes_lssvm import BayesianLSSVC, BayesianLSSVR, marginalise
from bayes_lssvm.base.errors import BayesLSSVMWarning
from bayes_lssvm.kernels import ARD, RBF
from bayes_lssvm.levels.level1 import ClassCentres, DualPosterior
from bayes_lssvm.marginal.groups import latent_draws
from bayes_lssvm.marginal.left_out import left_out_moments
from bayes_lssvm.marginal.posterior import HyperPosterior
from bayes_lssvm.marginal.predictions import NodePredictor, PredictionNode, Rows
from bayes_lssvm.priors import HyperPrior, Normal

KERNEL = RBF(1.3)
PRIOR = HyperPrior(Normal(0.0, 1.0), Normal(2.0, 0.5), Normal(0.0, 0.7))
MU, ZETA = 0.7, 5.0


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(16, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=16) + 1.0
    return X, y, rng.gamma(2.0, 0.5, 16) + 0.1


@pytest.fixture(scope="module")
def counts():
    return np.random.default_rng(4).integers(1, 4, 16).astype(float)


def integrated(X, y, weights=None, **settings):
    options = {"kernel": KERNEL, "prior": PRIOR, "fixed_kernel": True, "standardise": False, "task": "regression"}
    return marginalise(X, y, sample_weight=weights, **(options | {"progress": False} | settings))


def dense_log_evidence(K, y, w, mu, zeta):
    """log ∫ Normal(y; b1, K/μ + (ζW)⁻¹) db by a dense factor."""
    S = K / mu + np.diag(1.0 / (zeta * w))
    solved = np.linalg.solve(S, np.stack([np.ones(len(y)), y], axis=1))
    total = solved[:, 0].sum()
    b = solved[:, 1].sum() / total
    misfit = (y - b) @ np.linalg.solve(S, y - b)
    return -0.5 * (np.linalg.slogdet(S)[1] + np.log(total) + misfit + (len(y) - 1) * np.log(2.0 * np.pi))


def by_grid(K, y, w):
    """The evidence from dense Gaussians on a grid of (log μ, log ζ), a trapezoidal rule of equal steps."""
    m, z = np.linspace(-8.0, 7.0, 76), np.linspace(-2.0, 6.0, 81)
    logs = np.array([[dense_log_evidence(K, y, w, np.exp(a), np.exp(b)) for b in z] for a in m])
    logs += norm.logpdf(m, 0.0, 1.0)[:, None] + norm.logpdf(z, 2.0, 0.5)
    return logs.max() + np.log(trapezoid(trapezoid(np.exp(logs - logs.max()), z), m))


def test_the_evidence_is_that_of_dense_gaussians_on_a_grid(data):
    X, y, w = data
    assert integrated(X, y, w).log_evidence == pytest.approx(by_grid(KERNEL(X), y, w), abs=1e-8)


def test_equal_inputs_of_any_weights(data):
    """Rows that share inputs are put together; the evidence is that of all rows."""
    X, y, w = data
    X, y, w = X[np.r_[:16, 3, 3, 7]], np.r_[y, 0.4, 0.9, 1.5], np.r_[w, 0.3, 1.7, 0.9]
    assert integrated(X, y, w).log_evidence == pytest.approx(by_grid(KERNEL(X), y, w), abs=1e-8)


@pytest.mark.parametrize("fixed", [True, False])
def test_a_whole_weight_is_the_row_repeated(data, counts, fixed):
    """But for Π (ζ/2π)^{(n−1)/2} n^{−½}; and ζ^{k/2} Normal(log ζ; m, s²) is a multiple of Normal(m + ks²/2, s²)."""
    X, y, _ = data
    times = counts.astype(int)
    k, m, s = int(counts.sum()) - len(y), 2.0, 0.5
    weighted = integrated(X, y, counts, fixed_kernel=fixed, prior=replace(PRIOR, zeta=Normal(m + k * s**2 / 2, s)))
    repeated = integrated(X.repeat(times, axis=0), y.repeat(times), fixed_kernel=fixed)
    factor = 0.5 * k * (m - np.log(2.0 * np.pi)) + k**2 * s**2 / 8.0 - 0.5 * np.log(counts).sum()
    assert repeated.log_evidence == pytest.approx(weighted.log_evidence + factor, abs=1e-8 if fixed else 1e-6)
    for a, b in zip(weighted.predict(X, return_std=True), repeated.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_weight_zero_is_the_row_left_out(data):
    X, y, w = data
    w = w.copy()
    w[[2, 9]] = 0.0
    some, less = integrated(X, y, w, standardise=True), integrated(X[w > 0], y[w > 0], w[w > 0], standardise=True)
    assert some.log_evidence == pytest.approx(less.log_evidence, abs=1e-8)
    np.testing.assert_allclose(some.predict(X), less.predict(X), atol=1e-8)
    assert len(some.sample_weight) == 14


def test_equal_weights_are_another_unit_of_the_noise(data):
    """Weights of four are a noise precision of 4ζ: the prior of log ζ moves by log 4."""
    X, y, _ = data
    four = integrated(X, y, np.full(16, 4.0), prior=replace(PRIOR, zeta=Normal(2.0 - np.log(4.0), 0.5)))
    plain = integrated(X, y)
    assert four.log_evidence == pytest.approx(plain.log_evidence, abs=1e-8)
    assert plain.sample_weight is None


def test_other_rules_find_the_same_evidence(data):
    X, y, w = data
    exact = integrated(X, y, w).log_evidence
    assert integrated(X, y, w, method="importance", seed=1).log_evidence == pytest.approx(exact, abs=0.02)
    assert integrated(X, y, w, method="laplace").log_evidence == pytest.approx(exact, abs=0.3)
    free = {"kernel": ARD((1.3, 1.3)), "fixed_kernel": False}
    drawn = integrated(X, y, w, method="importance", seed=1, draws=200, **free).log_evidence
    rule = integrated(X, y, w, method="ccd", tolerance=0.1, **free).log_evidence
    assert rule == pytest.approx(drawn, abs=0.3)


NUTS = {
    "method": "nuts",
    "seed": 3,
    "chains": 4,
    "warmup": 300,
    "draws": 1000,
}  # as in test_collapsed_nuts: compiled once


@pytest.mark.parametrize("fixed", [True, False])
def test_nuts_draws_from_the_posterior_of_weighted_rows(data, fixed):
    """Its evidence by a bridge, its means by their Monte-Carlo errors, and the exact density at each draw."""
    X, y, w = data
    exact = integrated(X, y, w, fixed_kernel=fixed)
    drawn = integrated(X, y, w, fixed_kernel=fixed, **NUTS)
    assert abs(drawn.log_evidence - exact.log_evidence) < 4.0 * drawn.log_evidence_error
    for name in ("log_mu", "log_zeta"):
        assert drawn.mean()[name] == pytest.approx(exact.mean()[name], abs=0.12 * exact.sd()[name])
        assert drawn.sd()[name] == pytest.approx(exact.sd()[name], rel=0.12)
    np.testing.assert_allclose(density_of(drawn, X, y, w), drawn.chains.statistics["lp"][0, ::100], atol=1e-4)


def density_of(drawn, X, y, w):
    """log p(D | μ, ζ, θ) by a dense factor plus the log priors, at every hundredth draw of the first chain."""
    parts, found = PRIOR.components(drawn.chains.points.shape[2] - 2), []
    for x in drawn.chains.points[0, ::100]:
        K = (
            KERNEL.with_log_params(x[2:])(X)
            if len(x) == 3
            else ARD(tuple(np.exp(x[2:])))(X)
            if len(x) > 3
            else KERNEL(X)
        )
        found.append(
            dense_log_evidence(K, y, w, *np.exp(x[:2]))
            + sum(part.log_density(v) for part, v in zip(parts, x, strict=True))
        )
    return np.array(found)


@pytest.mark.slow  # compiled for these lengths alone
def test_nuts_on_a_kernel_with_several_parameters_has_the_density_of_weighted_rows(data):
    X, y, w = data
    w = np.r_[w[:15], 0.0]
    settings = NUTS | {"warmup": 30, "draws": 101, "chains": 1, "check": False}
    with pytest.warns(BayesLSSVMWarning):
        drawn = integrated(X, y, w, kernel=ARD((1.3, 1.3)), fixed_kernel=False, **settings)
    np.testing.assert_allclose(
        density_of(drawn, X[:15], y[:15], w[:15]), drawn.chains.statistics["lp"][0, ::100], atol=1e-8
    )


def test_laplace_has_the_exact_gradient_and_hessian_of_grouped_rows(data):
    """The closed form at the mode of data with repeats equals that of a scan by the grid's own values."""
    X, y, w = data
    X, y, w = X[np.r_[:16, 3]], np.r_[y, 0.4], np.r_[w, 0.3]
    found = integrated(X, y, w, method="laplace")
    mode = np.array(found.diagnostics["modes"][0])

    def log_density(x):
        own = norm.logpdf(x[0], 0.0, 1.0) + norm.logpdf(x[1], 2.0, 0.5)
        return dense_log_evidence(KERNEL(X), y, w, *np.exp(x)) + own

    step = 1e-3 * np.eye(2)
    bend = np.array(
        [
            [
                log_density(mode + a + b) - log_density(mode + a - b) - log_density(mode - a + b)
                + log_density(mode - a - b)
                for a in step
            ]
            for b in step
        ]
    ) / 4e-6  # fmt: skip
    value = log_density(mode) + np.log(2.0 * np.pi) - 0.5 * np.linalg.slogdet(-bend)[1]
    assert found.log_evidence == pytest.approx(value, abs=1e-5)


def test_predictions_at_one_node_are_those_of_level_1(data):
    X, y, w = data
    labels = np.where(y > 1.0, 1.0, -1.0)
    node = PredictionNode(KERNEL, 1.0, Rows(np.array([MU / ZETA]), np.ones(1), np.array([1.0 / MU])))
    new = np.random.default_rng(0).normal(size=(7, 2))
    for weights in (w, np.round(2.0 * w) + 1.0):
        found = NodePredictor(node, X, labels, weights)
        exact = DualPosterior.from_kernel_matrix(KERNEL, X, KERNEL(X), labels, mu=MU, zeta=ZETA, weights=weights)
        for a, b in zip(found.latent(new), exact.latent_moments(new), strict=True):
            np.testing.assert_allclose(a[:, 0], b, atol=1e-9)
        centres = ClassCentres.from_posterior(exact, labels, float(found.d_eff[0]) + 1.0)
        assert found.noise[0] == pytest.approx(1.0 / centres.zeta_star, rel=1e-9)
        np.testing.assert_allclose(found.own_variances(new, KERNEL(new, X))[1:, :, 0].T / MU, np.stack(
            [moment.variance for moment in centres.moments(exact, new)], axis=1), atol=1e-9)  # fmt: skip
        z, variance = left_out_moments((node,), X, labels, weights)
        outputs, latent = exact.left_out_moments(labels)
        np.testing.assert_allclose(z, outputs, atol=1e-9)
        np.testing.assert_allclose(variance, latent + 1.0 / ZETA, atol=1e-9)


def test_latent_draws_have_the_posterior_of_level_1(data):
    X, y, w = data
    points = np.tile(np.log([MU, ZETA]), (20_000, 1))
    drawn = latent_draws(points, KERNEL, X, y, np.random.default_rng(0), w)
    exact = DualPosterior.from_kernel_matrix(KERNEL, X, KERNEL(X), y, mu=MU, zeta=ZETA, weights=w)
    np.testing.assert_allclose(drawn.z.mean(axis=0), exact.latent_mean(X), atol=0.012)
    np.testing.assert_allclose(np.cov(drawn.z.T), exact.latent_covariance(X), atol=0.01)
    np.testing.assert_allclose(
        drawn.log_likelihood, norm.logpdf(y, drawn.z, 1.0 / np.sqrt(ZETA * w)), atol=1e-10
    )  # fmt: skip
    np.testing.assert_allclose((drawn.replicated - drawn.z).std(axis=0), 1.0 / np.sqrt(ZETA * w), rtol=0.03)


def test_a_fitted_model_integrates_with_its_weights(data):
    X, y, w = data
    model = BayesianLSSVR(KERNEL, refine=False).fit(X, y, w)
    found = model.marginalise(prior=PRIOR, fixed_kernel=True, progress=False)
    same = integrated(X, y, w, standardise=True)
    assert found.log_evidence == pytest.approx(same.log_evidence, abs=1e-8)
    np.testing.assert_allclose(found.predict(X), same.predict(X), atol=1e-8)
    labels = np.where(y > 1.0, "a", "b")
    classes = BayesianLSSVC(KERNEL, refine=False).fit(X, labels, w).marginalise(fixed_kernel=True, progress=False)
    own = integrated(X, labels, w, standardise=True, prior=None, task="auto")
    np.testing.assert_allclose(classes.predict_proba(X), own.predict_proba(X), atol=1e-8)
    model.noise_weights_ = w  # as learned and Student noise have them
    with pytest.raises(ValueError, match="this model has estimated its own"):
        model.marginalise()


def test_files_keep_the_weights(data, tmp_path):
    X, y, w = data
    found = integrated(X, y, w, standardise=True)
    again = HyperPosterior.load(found.save(tmp_path / "p.nc"))
    np.testing.assert_array_equal(again.sample_weight, w)
    np.testing.assert_allclose(again.predict(X), found.predict(X), rtol=1e-12)
    other = HyperPosterior.from_state(found.state())
    np.testing.assert_array_equal(other.sample_weight, w)
    for a, b in zip(other.predict_interval(X), found.predict_interval(X), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.parametrize(
    ("weights", "words"), [(-1.0, "must not be negative"), (np.nan, "must be finite"), (0.0, "zero")]
)
def test_bad_weights_get_a_sentence(data, weights, words):
    X, y, _ = data
    with pytest.raises(ValueError, match=words):
        integrated(X, y, np.full(16, weights))
    one = np.r_[1.0, 1.0, np.zeros(14)]
    with pytest.raises(ValueError, match="3 data points of positive weight"):
        integrated(X, y, one)
