"""Properties that hold for all data, kernels and hyperparameters, tried on examples that Hypothesis draws."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bayes_lssvm import BayesianLSSVC, BayesianLSSVR, BayesLSSVMWarning, datasets
from bayes_lssvm.kernels import ARD, RBF, Linear, Polynomial
from bayes_lssvm.levels.level1 import ClassCentres, DualPosterior
from bayes_lssvm.levels.level2 import log_evidence, optimise
from bayes_lssvm.levels.level3 import evaluate
from bayes_lssvm.levels.moderation import class_log_odds, target_log_odds
from bayes_lssvm.linalg.spectrum import CentredSpectrum, TridiagonalReduction

# The same examples at every run, and none remembered on disk.
repeatable = settings(derandomize=True, deadline=None, max_examples=30, database=None)

log_scale = st.floats(-4.0, 4.0)
seeds = st.integers(0, 2**32 - 1)
kernels = st.one_of(
    st.just(Linear()),
    st.builds(lambda d, c: Polynomial(d, float(np.exp(c))), st.integers(1, 4), st.floats(-1.0, 3.0)),
    st.builds(lambda s: RBF(float(np.exp(s))), st.floats(-2.0, 3.0)),
    st.builds(lambda s: RBF(float(np.exp(s))) + 0.5 * Linear(), st.floats(-2.0, 3.0)),
)


@st.composite
def problems(draw, min_points=5, max_points=30):
    """Inputs, real targets with some signal, and labels with both classes; some points repeat."""
    n, width, rng = (
        draw(st.integers(min_points, max_points)),
        draw(st.integers(1, 4)),
        np.random.default_rng(draw(seeds)),
    )
    X = rng.normal(size=(n, width))
    if draw(st.booleans()):
        X[n // 2 :] = X[: n - n // 2]
    y = draw(st.floats(0.0, 3.0)) * np.sin(X[:, 0]) + rng.normal(size=n)
    labels = np.where(y > np.median(y), 1.0, -1.0)
    labels[np.argmax(y)], labels[np.argmin(y)] = 1.0, -1.0
    return X, y, labels


def posterior_of(kernel, X, y, mu, zeta):
    return DualPosterior.from_kernel_matrix(kernel, X, kernel(X), y, mu=mu, zeta=zeta)


def reductions(kernel, X, y):
    K = kernel(X)
    return TridiagonalReduction.from_kernel_matrix(K, y), CentredSpectrum.from_kernel_matrix(K, y)


# --- probabilities -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def classifiers():
    data = datasets.load("ripley")
    forms = [(k, m) for k in ("linear", "poly3", "rbf", "ard") for m in ("class", "target", "softmax")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesLSSVMWarning)
        return {
            (k, m): BayesianLSSVC(k, moderation=m, refine=False).fit(data.data[::5], data.target[::5]) for k, m in forms
        }


def assert_probabilities(P):
    assert np.all(np.isfinite(P))
    assert np.all((P >= 0.0) & (P <= 1.0))
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-15)


@repeatable
@given(
    X=arrays(float, st.tuples(st.integers(1, 8), st.just(2)), elements=st.floats(-1e20, 1e20)),
    prior=st.floats(1e-9, 0.5),
)
def test_probabilities_are_probabilities(classifiers, X, prior):
    for model in classifiers.values():
        assert_probabilities(model.predict_proba(X))
        assert_probabilities(model.predict_proba(X, class_prior=[prior, 1.0 - prior]))


@pytest.mark.parametrize("size", [1e60, 1e160, 1e307, float(np.finfo(float).max)])
@pytest.mark.parametrize("moderation", ["class", "target", "softmax"])
@pytest.mark.parametrize("kernel", ["linear", "poly3", "rbf", "ard"])
def test_probabilities_are_finite_for_any_finite_input(kernel, moderation, size, classifiers):
    """Inputs up to the largest double: no overflow, no nan."""
    X = size * np.array([[1.0, -1.0], [1.0, 1.0], [-1.0, 0.0], [1e-30, 1.0]])
    assert_probabilities(classifiers[kernel, moderation].predict_proba(X))


@repeatable
@given(problem=problems(), kernel=kernels, log_mu=log_scale, log_zeta=log_scale)
def test_swapping_the_labels_swaps_the_probabilities(problem, kernel, log_mu, log_zeta):
    """3.16 and 3.17 are symmetric in the two classes: the log odds change sign."""
    X, _, labels = problem
    odds = []
    for y in (labels, -labels):
        posterior = posterior_of(kernel, X, y, np.exp(log_mu), np.exp(log_zeta))
        centres = ClassCentres.from_posterior(posterior, y, 2.0)
        new = X + 0.3
        z, variance = posterior.latent_moments(new)
        by_class = class_log_odds(*centres.moments(posterior, new), centres.zeta_star)
        odds.append((by_class, target_log_odds(z, variance, posterior.zeta)))
    for one, other in zip(*odds, strict=True):
        np.testing.assert_allclose(other, -one, rtol=1e-5, atol=1e-6)


# --- level 2 -------------------------------------------------------------------------------------------------------


@repeatable
@given(problem=problems(min_points=3), kernel=kernels)
def test_the_effective_number_of_parameters_lies_between_one_and_n(problem, kernel):
    """4.4: γ_eff = 1 + Σ γλ/(1 + γλ), at the mode and by both reductions."""
    X, y, labels = problem
    for targets in (y, labels):
        for reduction in reductions(kernel, X, targets):
            result = optimise(reduction)
            assert 1.0 <= result.gamma_eff <= len(X)
            assert result.d_eff >= 0.0
            assert result.mu > 0
            assert result.zeta > 0


@repeatable
@given(problem=problems(), kernel=kernels, direction=st.floats(0.0, 2 * np.pi), length=st.floats(1e-3, 3.0))
def test_the_evidence_is_largest_at_the_mode(problem, kernel, direction, length):
    """No neighbour in (log μ, log ζ), near or far, has more evidence than μ_MP, ζ_MP (level 2)."""
    X, y, _ = problem
    _, spectrum = reductions(kernel, X, y)
    result = optimise(spectrum)
    here = log_evidence(spectrum, result.mu, result.zeta)
    # an end of the range of γ is a limit, not a maximum: there only steps along μ with γ fixed stay inside
    if result.at_boundary:
        steps = (length, length), (-length, -length)
    else:
        steps = ((length * np.cos(direction), length * np.sin(direction)),)
    for log_mu, log_zeta in steps:
        there = log_evidence(spectrum, result.mu * np.exp(log_mu), result.zeta * np.exp(log_zeta))
        assert there <= here + 1e-9 * max(1.0, abs(here))


@repeatable
@given(problem=problems(), kernel=kernels)
def test_the_two_reductions_agree(problem, kernel):
    """The tridiagonal form and the eigenvalues give one evidence."""
    X, y, _ = problem
    tridiagonal, spectrum = reductions(kernel, X, y)
    for log_gamma in (-5.0, 0.0, 5.0):
        args = (1.3, 1.3 * np.exp(log_gamma))
        assert log_evidence(tridiagonal, *args) == pytest.approx(log_evidence(spectrum, *args), rel=1e-9, abs=1e-9)


# --- invariances of the evidence -----------------------------------------------------------------------------------


@repeatable
@given(problem=problems(), kernel=kernels, log_mu=log_scale, log_zeta=log_scale, seed=seeds)
def test_the_evidence_does_not_know_the_order_of_the_points(problem, kernel, log_mu, log_zeta, seed):
    X, y, _ = problem
    order = np.random.default_rng(seed).permutation(len(y))
    args = (np.exp(log_mu), np.exp(log_zeta))
    before = log_evidence(reductions(kernel, X, y)[1], *args)
    after = log_evidence(reductions(kernel, X[order], y[order])[1], *args)
    assert after == pytest.approx(before, rel=1e-10, abs=1e-8)


@repeatable
@given(problem=problems(), kernel=kernels, log_mu=log_scale, log_zeta=log_scale, seed=seeds)
def test_the_evidence_does_not_know_the_axes_of_the_inputs(problem, kernel, log_mu, log_zeta, seed):
    """Linear, polynomial and RBF kernels are functions of inner products: a rotation or reflection is not seen."""
    X, y, _ = problem
    width = X.shape[1]
    Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(width, width)))
    args = (np.exp(log_mu), np.exp(log_zeta))
    before = log_evidence(reductions(kernel, X, y)[1], *args)
    assert log_evidence(reductions(kernel, X @ Q, y)[1], *args) == pytest.approx(before, rel=1e-9, abs=1e-8)


@repeatable
@given(
    problem=problems(), log_sigma=st.floats(-1.0, 2.0), log_mu=log_scale, log_zeta=log_scale, shift=st.floats(-100, 100)
)
def test_the_evidence_of_centred_kernels_does_not_know_the_origin(problem, log_sigma, log_mu, log_zeta, shift):
    """RBF by its definition, the linear kernel because only MΩM enters (3.15); p(b) = 1 takes up the targets' mean."""
    X, y, _ = problem
    args = (np.exp(log_mu), np.exp(log_zeta))
    for kernel in (RBF(float(np.exp(log_sigma))), Linear()):
        before = log_evidence(reductions(kernel, X, y)[1], *args)
        assert log_evidence(reductions(kernel, X + shift, y + shift)[1], *args) == pytest.approx(
            before, rel=1e-6, abs=1e-6
        )


@repeatable
@given(problem=problems(min_points=8), log_scale_of_kernel=st.floats(-8.0, 8.0), kernel=kernels)
def test_the_scale_of_a_kernel_trades_with_mu(problem, log_scale_of_kernel, kernel):
    """K ↦ cK gives μ ↦ cμ and the same ζ and evidence, with the Occam factor and without (Scaled kernels)."""
    X, y, _ = problem
    c = float(np.exp(log_scale_of_kernel))
    one = evaluate(CentredSpectrum.from_kernel_matrix(kernel(X), y))
    two = evaluate(CentredSpectrum.from_kernel_matrix((c * kernel)(X), y))
    assert two.log_evidence_without_occam == pytest.approx(one.log_evidence_without_occam, rel=1e-7, abs=1e-6)
    assert two.level2.status == one.level2.status
    if not one.level2.at_boundary:
        assert two.level2.gamma_eff == pytest.approx(one.level2.gamma_eff, rel=1e-3)


@settings(repeatable, max_examples=10)
@given(problem=problems(min_points=15), seed=seeds)
def test_the_designed_regressor_does_not_know_axes_and_order(problem, seed):
    """The whole of fit with refinement, without standardisation: evidence and predictions."""
    X, y, _ = problem
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(X.shape[1], X.shape[1])))
    order = rng.permutation(len(y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesLSSVMWarning)
        one = BayesianLSSVR(standardise=False).fit(X, y)
        two = BayesianLSSVR(standardise=False).fit((X @ Q)[order], y[order])
    assert two.log_evidence_ == pytest.approx(one.log_evidence_, rel=1e-6, abs=1e-5)


# --- variances -----------------------------------------------------------------------------------------------------


@repeatable
@given(problem=problems(), kernel=kernels, log_mu=log_scale, log_zeta=log_scale, far=st.floats(0.0, 30.0))
def test_variances_are_never_negative_and_never_above_the_priors(problem, kernel, log_mu, log_zeta, far):
    """0 ≤ (φ − m̂_Υ)ᵀQ₁₁(φ − m̂_Υ) ≤ ‖φ − m̂_Υ‖²/μ, and σ_z² ≥ 1/(Nζ) (paper 2, eq 12, sign mended)."""
    X, y, labels = problem
    mu, zeta = float(np.exp(log_mu)), float(np.exp(log_zeta))
    new = np.vstack([X, X + far])
    posterior = posterior_of(kernel, X, y, mu, zeta)
    variance = posterior.latent_variance(new)
    bias = 1.0 / (len(y) * zeta)
    K = kernel(new, X)
    prior = (kernel.diag(new) - 2 * K.mean(axis=1) + kernel(X).mean()) / mu
    rounding = 1e-10 * (kernel.diag(new) + kernel.diag(X).max()) / mu
    assert np.all(variance >= bias * (1 - 1e-12))
    assert np.all(variance <= prior + bias + rounding)
    with_classes = posterior_of(kernel, X, labels, mu, zeta)
    for moments in ClassCentres.from_posterior(with_classes, labels, 2.0).moments(with_classes, new):
        assert np.all(moments.variance >= 0.0)
    # the whole covariance is positive semi-definite
    covariance = posterior.latent_covariance(new)
    smallest = np.linalg.eigvalsh(covariance).min()
    assert smallest >= -1e-9 * max(float(rounding.max()) * 1e10, float(np.trace(covariance)))


@repeatable
@given(problem=problems(min_points=6), kernel=kernels, log_mu=log_scale, log_zeta=log_scale, seed=seeds)
def test_another_data_point_never_makes_the_function_less_certain(problem, kernel, log_mu, log_zeta, seed):
    """At fixed μ, ζ and kernel σ_z² falls or stays when a point is added, whatever its target."""
    X, y, _ = problem
    mu, zeta = float(np.exp(log_mu)), float(np.exp(log_zeta))
    new = np.vstack([X, np.random.default_rng(seed).normal(size=(10, X.shape[1]))])
    less = posterior_of(kernel, X[:-1], y[:-1], mu, zeta).latent_variance(new)
    more = posterior_of(kernel, X, y, mu, zeta).latent_variance(new)
    rounding = 1e-10 * (kernel.diag(new) + kernel.diag(X).max()) / mu
    assert np.all(more <= less * (1 + 1e-9) + rounding)


@repeatable
@given(problem=problems(), log_sigma=st.floats(-2.0, 2.0), log_mu=log_scale, log_zeta=log_scale)
def test_equal_scales_of_an_ard_kernel_are_one_width(problem, log_sigma, log_mu, log_zeta):
    X, y, _ = problem
    sigma, mu, zeta = (float(np.exp(v)) for v in (log_sigma, log_mu, log_zeta))
    spherical, ard = RBF(sigma), ARD((sigma,) * X.shape[1])
    one = posterior_of(spherical, X, y, mu, zeta).latent_moments(X + 0.1)
    two = posterior_of(ard, X, y, mu, zeta).latent_moments(X + 0.1)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-8, atol=1e-9)
