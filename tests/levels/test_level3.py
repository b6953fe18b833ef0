"""Level 3: the evidence with and without the Occam factor against quadrature, scikit-learn and its printed forms."""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize, minimize_scalar
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gpk

from bayes_lssvm import compare
from bayes_lssvm.comparison.words import kass_raftery
from bayes_lssvm.kernels import RBF, Linear, Polynomial
from bayes_lssvm.levels.level2 import log_evidence, log_evidence_gradient, log_evidence_hessian, optimise
from bayes_lssvm.levels.level3 import as_prior_sd, evaluate, evidence_of, log_eq_5_3
from bayes_lssvm.linalg.spectrum import CentredSpectrum

PRIOR_SD = 3.0
LOG_2PI = np.log(2 * np.pi)

# Ripley's data: quadrature log Z, (5.2 − log Z), sd(log μ) by MacKay, by the Hessian of the posterior, and exact
TABLE = {
    "rbf 0.2": (RBF(0.2), -304.305, -0.205, 0.129, 0.155, 0.157),
    "rbf 1": (RBF(1.0), -257.977, +0.031, 0.303, 0.320, 0.322),
    "rbf 1.311": (RBF(1.311), -256.475, -0.037, 0.345, 0.380, 0.383),
    "rbf 4": (RBF(4.0), -264.128, -0.260, 0.496, 0.873, 0.847),
    "rbf 8": (RBF(8.0), -271.239, +0.363, 0.509, 1.465, 1.634),
    "linear": (Linear(), -275.127, +0.067, 1.004, 1.022, 1.173),
    "poly 3": (Polynomial(3, 1.0), -270.077, +0.472, 0.479, 0.519, 0.546),
}


def spectrum_of(kernel, data) -> CentredSpectrum:
    X, y = data
    return CentredSpectrum.from_kernel_matrix(kernel(X), y)


def log_posterior_grid(spectrum: CentredSpectrum, log_mu: np.ndarray, log_zeta: np.ndarray) -> np.ndarray:
    """Log p(D | μ, ζ) p(log μ) p(log ζ), written out from the normal densities of t, of shape (len μ, len ζ)."""
    out = np.empty((len(log_mu), len(log_zeta)))
    for i, u in enumerate(log_mu):
        v = spectrum.eigenvalues * np.exp(-u) + np.exp(-log_zeta)[:, None]
        out[i] = -0.5 * np.log(spectrum.n) - 0.5 * (np.log(2 * np.pi * v) + spectrum.t**2 / v).sum(axis=1)
    prior = -0.5 * (log_mu[:, None] ** 2 + log_zeta**2) / PRIOR_SD**2 - np.log(2 * np.pi * PRIOR_SD**2)
    return out + prior


def quadrature(spectrum: CentredSpectrum, n_mu: int = 301, n_zeta: int = 61) -> tuple[float, float]:
    """Log Z and sd(log μ) by the trapezoidal rule on a box that holds all the mass."""
    log_mu = np.linspace(-12.0, 15.0, n_mu)
    log_zeta = np.log(optimise(spectrum).zeta) + np.linspace(-1.2, 1.2, n_zeta)  # 12 standard deviations either way
    values = log_posterior_grid(spectrum, log_mu, log_zeta)
    weights = np.exp(values - values.max())
    cell = (log_mu[1] - log_mu[0]) * (log_zeta[1] - log_zeta[0])
    marginal = weights.sum(axis=1) / weights.sum()
    mean = marginal @ log_mu
    return float(values.max() + np.log(weights.sum() * cell)), float(np.sqrt(marginal @ (log_mu - mean) ** 2))


@pytest.mark.parametrize("name", TABLE)
def test_evidence_by_5_2_has_the_known_error_against_quadrature(name, ripley_standardised):
    """Eq 5.2 with MacKay's error bars is off by up to half a nat on Ripley's data, and by exactly these amounts."""
    kernel, log_z, error, mackay, _, exact_sd = TABLE[name]
    spectrum = spectrum_of(kernel, ripley_standardised)
    integral, sd = quadrature(spectrum)
    result = evaluate(spectrum, prior_sd=PRIOR_SD)
    assert integral == pytest.approx(log_z, abs=2e-3)
    assert result.log_evidence - integral == pytest.approx(error, abs=2e-3)
    assert result.mackay.log_mu == pytest.approx(mackay, abs=2e-3)
    assert sd == pytest.approx(exact_sd, abs=2e-3)


def test_quadrature_agrees_with_itself_when_refined(ripley_standardised):
    for kernel in (RBF(0.2), RBF(8.0)):  # the narrowest posterior and the one with the longest tails
        spectrum = spectrum_of(kernel, ripley_standardised)
        assert quadrature(spectrum)[0] == pytest.approx(quadrature(spectrum, 601, 121)[0], abs=1e-6)


@pytest.mark.parametrize("name", TABLE)
def test_hessian_error_bars_with_the_prior_are_the_known_ones(name, ripley_standardised):
    """The known sd's belong to the mode of the posterior, so the prior's precision adds to the evidence's Hessian."""
    spectrum = spectrum_of(TABLE[name][0], ripley_standardised)
    start = np.log([optimise(spectrum).mu, optimise(spectrum).zeta])

    def cost(u):
        mu, zeta = np.exp(u)
        value = log_evidence(spectrum, mu, zeta) - 0.5 * u @ u / PRIOR_SD**2
        return -value, -log_evidence_gradient(spectrum, mu, zeta) + u / PRIOR_SD**2

    mode = minimize(cost, start, jac=True, method="BFGS", options={"gtol": 1e-7}).x
    covariance = np.linalg.inv(-log_evidence_hessian(spectrum, *np.exp(mode)) + np.eye(2) / PRIOR_SD**2)
    assert np.sqrt(covariance[0, 0]) == pytest.approx(TABLE[name][4], abs=2e-3)


@pytest.mark.parametrize("name", TABLE)
def test_hessian_error_bars_are_those_of_a_numerical_hessian(name, ripley_standardised):
    """Sd's and correlation against a Hessian of log p(D | log μ, log ζ) by central differences of its value."""
    spectrum = spectrum_of(TABLE[name][0], ripley_standardised)
    result = evaluate(spectrum, prior_sd=PRIOR_SD)
    at, h = np.log([result.level2.mu, result.level2.zeta]), 1e-3

    def value(i, j):
        return log_evidence(spectrum, *np.exp(at + h * np.array([i, j])))

    second = [value(1, 0) - 2 * value(0, 0) + value(-1, 0), value(0, 1) - 2 * value(0, 0) + value(0, -1)]
    mixed = (value(1, 1) - value(1, -1) - value(-1, 1) + value(-1, -1)) / 4
    covariance = np.linalg.inv(-np.array([[second[0], mixed], [mixed, second[1]]]) / h**2)
    widths = np.sqrt(np.diag(covariance))
    assert result.hessian.log_mu == pytest.approx(widths[0], rel=1e-4)
    assert result.hessian.log_zeta == pytest.approx(widths[1], rel=1e-4)
    assert result.hessian.correlation == pytest.approx(covariance[0, 1] / widths.prod(), abs=1e-4)
    volume = 0.5 * np.linalg.slogdet(covariance)[1] - 2 * np.log(PRIOR_SD)
    assert result.log_occam_factor_hessian == pytest.approx(volume, abs=1e-4)


@pytest.mark.parametrize("name", TABLE)
def test_mackay_error_bars_count_directions(name, ripley_standardised):
    """2/σ² is tr H for log μ and tr(I − H) for log ζ, H the hat matrix on centred targets, here by a dense solve."""
    X, y = ripley_standardised
    result = evaluate(spectrum_of(TABLE[name][0], ripley_standardised), prior_sd=PRIOR_SD)
    K = TABLE[name][0](X)
    M = np.eye(len(y)) - 1.0 / len(y)
    hat = np.linalg.solve(M @ K @ M + np.eye(len(y)) / result.level2.gamma, M @ K @ M)
    assert 2.0 / result.mackay.log_mu**2 == pytest.approx(np.trace(hat), rel=1e-8)
    assert 2.0 / result.mackay.log_zeta**2 == pytest.approx(len(y) - 1 - np.trace(hat), rel=1e-8)


@pytest.mark.parametrize("name", TABLE)
def test_5_2_is_5_3_times_a_constant_of_the_data(name, ripley_standardised):
    """With 4.7, 2μ(E_W + γE_D) = N − 1, what 5.3 drops from 5.2 depends on N and the prior's widths only."""
    spectrum = spectrum_of(TABLE[name][0], ripley_standardised)
    widths = (2.0, 5.0)
    result = evaluate(spectrum, prior_sd=widths)
    n = spectrum.n
    dropped = -0.5 * (n - 1) * (1 + LOG_2PI) - 0.5 * np.log(n) + np.log(2.0) - np.log(widths).sum()
    assert result.log_evidence - result.log_eq_5_3 == pytest.approx(dropped, abs=1e-8)


def test_two_widths_are_those_of_log_mu_and_log_zeta():
    assert as_prior_sd((2.0, 5.0)) == (2.0, 5.0)
    assert as_prior_sd(3.0) == (3.0, 3.0)


@pytest.mark.parametrize(("name", "ranks"), [("linear", (2, 3, 100, 249)), ("poly 3", (9, 40, 249))])
def test_5_3_does_not_depend_on_the_rank(name, ranks, ripley_standardised):
    """Printed with any N_eff that holds the nonzero eigenvalues, 5.3 is the rank-free form."""
    spectrum = spectrum_of(TABLE[name][0], ripley_standardised)
    result = evaluate(spectrum)
    mu, zeta, n = result.level2.mu, result.level2.zeta, spectrum.n
    assert spectrum.rank == ranks[0]
    for n_eff in ranks:
        largest = spectrum.eigenvalues[::-1][:n_eff]
        numerator = n_eff * np.log(mu) + (n - 1) * np.log(zeta)
        gamma_eff = 1 + np.sum(zeta * largest / (mu + zeta * largest))  # 4.4
        denominator = np.log(gamma_eff - 1) + np.log(n - gamma_eff) + np.log(mu + zeta * largest).sum()
        assert result.log_eq_5_3 == pytest.approx(0.5 * (numerator - denominator), abs=1e-8)


def test_5_3_where_less_than_one_direction_is_determined():
    """One input that tells little: 0 < γ_eff − 1 < 1, and the count's logarithm is negative."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 1))
    spectrum = CentredSpectrum.from_kernel_matrix(x @ x.T, 0.3 * x[:, 0] + rng.normal(size=40))
    result = evaluate(spectrum)
    mu, zeta, counted = result.level2.mu, result.level2.zeta, result.level2.gamma_eff - 1.0
    assert 0.0 < counted < 1.0
    top = spectrum.eigenvalues[-1]
    numerator = np.log(mu) + 39 * np.log(zeta)
    denominator = np.log(counted) + np.log(39.0 - counted) + np.log(mu + zeta * top)
    assert result.log_eq_5_3 == pytest.approx(0.5 * (numerator - denominator), abs=1e-8)


def test_5_3_has_no_bound_where_a_count_is_zero(ripley_standardised):
    """No direction is determined, or all N are."""
    spectrum = spectrum_of(RBF(1.5), ripley_standardised)
    mode = optimise(spectrum)
    for counts in ({"d_eff": 0.0, "gamma_eff": 1.0}, {"d_eff": mode.n - 1.0, "gamma_eff": float(mode.n)}):
        assert log_eq_5_3(spectrum, dataclasses.replace(mode, **counts)) == np.inf
    assert np.isfinite(log_eq_5_3(spectrum, mode))


def maximum_over_sigma(data, criterion: str) -> tuple[float, object]:
    """σ by a scalar search on values alone: no gradient and nothing of the refinement takes part."""
    found = minimize_scalar(
        lambda u: -getattr(evaluate(spectrum_of(RBF(float(np.exp(u))), data)), criterion),
        bounds=(np.log(0.8), np.log(2.5)),
        method="bounded",
        options={"xatol": 1e-6},
    )
    sigma = float(np.exp(found.x))
    return sigma, evaluate(spectrum_of(RBF(sigma), data)).level2


@pytest.mark.parametrize(
    ("criterion", "sigma", "mu", "zeta"),
    [
        ("log_evidence_without_occam", 1.3111, 1.6675, 2.741),
        ("log_eq_5_3", 1.3283, 1.639, 2.738),
        ("log_evidence", 1.3283, 1.639, 2.738),  # 5.2 and 5.3 have the same maximum
    ],
)
def test_ripley_case_study(criterion, sigma, mu, zeta, ripley_standardised):
    """Section 7.1: σ = 1.3110 is the maximum without the Occam factor, eq 5.3 peaks elsewhere."""
    found, level2 = maximum_over_sigma(ripley_standardised, criterion)
    assert found == pytest.approx(sigma, abs=6e-5)
    assert level2.mu == pytest.approx(mu, abs=6e-4)
    assert level2.zeta == pytest.approx(zeta, abs=6e-4)


def test_scikit_learn_gp_with_a_wide_constant_finds_the_same_optimum(ripley_standardised):
    """A GP with bias variance 10⁴ (2.25 and a constant) has the optimum of the evidence with p(b) = 1."""
    X, y = ripley_standardised
    kernel = gpk.ConstantKernel(1e4, "fixed") + gpk.ConstantKernel(0.6) * gpk.RBF(1.0) + gpk.WhiteKernel(0.4)
    gp = GaussianProcessRegressor(kernel).fit(X, y)
    fitted = gp.kernel_.get_params()
    sigma = np.sqrt(2) * fitted["k1__k2__k2__length_scale"]
    assert sigma == pytest.approx(1.3111, abs=1e-3)
    assert sigma / np.sqrt(2) == pytest.approx(0.927, abs=1e-3)
    assert 1 / fitted["k1__k2__k1__constant_value"] == pytest.approx(1.6675, rel=2e-3)
    assert 1 / fitted["k2__noise_level"] == pytest.approx(2.741, rel=1e-3)
    ours = evidence_of(RBF(float(sigma))(X), y).log_evidence_without_occam
    theirs = gp.log_marginal_likelihood_value_ + 0.5 * np.log(2 * np.pi * 1e4)
    assert theirs == pytest.approx(ours, abs=1e-3)


def permuted(seed: int, data):
    X, y = data
    return X, np.random.default_rng(seed).permutation(y)


@pytest.mark.parametrize("seed", range(6))
def test_divergence_of_5_3_is_capped_and_flagged_on_permuted_labels(seed, ripley_standardised):
    """As γ_eff → 1 MacKay's error bar exceeds any prior: 5.3 grows, 5.2 is bounded and says so."""
    result = evaluate(spectrum_of(RBF(1.311), permuted(seed, ripley_standardised)))
    assert result.level2.status == "no signal"
    assert result.occam_capped == (result.mackay.log_mu > PRIOR_SD)
    assert result.log_occam_factor <= 0.0
    assert result.log_evidence <= result.log_evidence_without_occam
    if result.occam_capped:  # only the noise's error bar is left in the factor
        assert result.log_occam_factor == pytest.approx(np.log(result.mackay.log_zeta / PRIOR_SD), abs=1e-12)
        # all is noise there: log Z of N − 1 equal normals
        y = permuted(seed, ripley_standardised)[1]
        n, variance = len(y), np.sum((y - y.mean()) ** 2) / (len(y) - 1)
        noise = -0.5 * np.log(n) - 0.5 * (n - 1) * (np.log(2 * np.pi * variance) + 1)
        assert result.log_evidence_without_occam == pytest.approx(noise, abs=1e-5)


def test_permuted_labels_include_capped_and_ordinary_cases(ripley_standardised):
    capped = [evaluate(spectrum_of(RBF(1.311), permuted(seed, ripley_standardised))).occam_capped for seed in range(6)]
    assert any(capped)
    assert not all(capped)


def test_5_3_grows_without_limit_where_5_2_stays_below_its_cap(ripley_standardised):
    """Along γ → 0 eq 5.3 gains ½ log 10 for every tenth of γ_eff − 1; at γ_eff = 1 exactly it is +inf."""
    spectrum = spectrum_of(RBF(1.311), permuted(0, ripley_standardised))
    mode = optimise(spectrum)
    steps = [
        evaluate(spectrum, level2=dataclasses.replace(mode, d_eff=d, gamma_eff=1 + d)) for d in (1e-3, 1e-4, 1e-5, 0.0)
    ]
    growth = np.diff([s.log_eq_5_3 for s in steps[:3]])
    np.testing.assert_allclose(growth, 0.5 * np.log(10), atol=1e-5)
    assert steps[-1].log_eq_5_3 == np.inf
    assert steps[-1].mackay.log_mu == np.inf
    assert all(s.occam_capped for s in steps)
    np.testing.assert_allclose([s.log_evidence for s in steps], steps[-1].log_evidence, atol=1e-5)


def test_interpolation_end_is_capped_and_flagged_too():
    """γ_eff → N: noise-free targets of a smooth function, where σ_logζ|D exceeds the prior."""
    X = np.linspace(-1, 1, 12)[:, None]
    result = evidence_of(RBF(0.15)(X), np.sin(3 * X[:, 0]), prior_sd=0.5)
    assert result.mackay.log_zeta > 0.5
    assert result.occam_capped
    assert result.log_occam_factor <= 0.0


@pytest.mark.parametrize("name", TABLE)
@pytest.mark.parametrize("prior_sd", [0.05, 0.4, 3.0, (10.0, 0.01)])
def test_occam_factor_never_exceeds_one(name, prior_sd, ripley_standardised):
    result = evaluate(spectrum_of(TABLE[name][0], ripley_standardised), prior_sd=prior_sd)
    widths = as_prior_sd(prior_sd)
    bars = (result.mackay.log_mu, result.mackay.log_zeta)
    expected = sum(min(np.log(b / w), 0.0) for b, w in zip(bars, widths, strict=True))
    assert result.log_occam_factor == pytest.approx(expected, abs=1e-12)
    assert result.log_occam_factor <= 0.0
    assert result.log_evidence == pytest.approx(result.log_evidence_without_occam + expected, abs=1e-9)
    assert result.occam_capped == any(b > w for b, w in zip(bars, widths, strict=True))


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf, (1.0, 0.0), (1.0, -2.0)])
def test_prior_widths_must_be_positive_and_finite(bad, ripley_standardised):
    with pytest.raises(ValueError, match="prior_sd"):
        evaluate(spectrum_of(Linear(), ripley_standardised), prior_sd=bad)


# Comparison of kernels (5.1)

maximised = partial(compare, kernel_parameters="maximised", progress=False)
KERNELS = [Linear(), RBF(1.311), Polynomial(3, 1.0), RBF(4.0)]


@pytest.fixture(scope="module")
def comparison(ripley_standardised):
    return maximised(*ripley_standardised, KERNELS, refine=False)


def test_numbers_are_targets_as_they_are_where_kernels_are_maximised(comparison, ripley_standardised):
    """As in the papers, unless they are called labels; text is labels in any case, and an integral looks at y."""
    X, y = ripley_standardised
    twice = {c.kernel: c.log_evidence - (len(y) - 1) * np.log(2.0) for c in comparison}  # the density of 2y
    for labels, task, expected in (
        (2.0 * y, "auto", twice),
        (2 * y.astype(int), "auto", twice),
        (2.0 * y, "regression", twice),
        (2.0 * y, "classification", {c.kernel: c.log_evidence for c in comparison}),
        (np.where(y > 0.0, "yes", "no"), "auto", {c.kernel: c.log_evidence for c in comparison}),
    ):
        found = maximised(X, labels, KERNELS, refine=False, task=task)
        assert {c.kernel: c.log_evidence for c in found} == pytest.approx(expected, abs=1e-6)
    integrated = [
        compare(X[::6], scale * y[::6], [RBF(1.3)], refine=False, task=task, tolerance=1e-3, progress=False)
        for scale, task in ((2.0, "auto"), (1.0, "classification"))
    ]
    assert integrated[0].best.log_evidence == pytest.approx(integrated[1].best.log_evidence, abs=1e-9)


def test_several_classes_are_refused_where_kernels_are_maximised(ripley_standardised):
    """Three classes are two problems by minimal output coding, and three one against one."""
    X, _ = ripley_standardised
    labels = np.array(["a", "b", "c"])[np.arange(len(X)) % 3]
    for coding in ("moc", "ovo"):
        with pytest.raises(ValueError, match="for two classes, and there are 3"):
            maximised(X, labels, KERNELS, refine=False, coding=coding)


def test_bayes_factors_are_antisymmetric_and_transitive(comparison):
    B = comparison.log_bayes_factors
    np.testing.assert_array_equal(B, -B.T)
    np.testing.assert_allclose(B[:, :, None] + B[None, :, :], B[:, None, :].repeat(len(B), axis=1), atol=1e-9)


def test_log_bayes_factors_are_near_the_exact_ones(comparison):
    """Against quadrature: σ = 4 −7.65 and linear −18.65 with prior sd 3; 5.2 is within 0.3 nats of both."""
    order = [str(c.kernel) for c in comparison]
    B = dict(zip(order, comparison.log_bayes_factors[:, 0], strict=True))
    assert order[0] == str(RBF(1.311))
    assert B[str(RBF(4.0))] == pytest.approx(-7.65 - 0.260 + 0.037, abs=5e-3)
    assert B[str(Linear())] == pytest.approx(-18.65 + 0.067 + 0.037, abs=5e-3)


def test_candidates_are_sorted_and_probabilities_are_softmax_of_evidence(comparison):
    values = np.array([c.log_evidence for c in comparison])
    assert np.all(np.diff(values) <= 0)
    assert comparison.best.log_evidence == values[0]
    assert len(comparison) == len(KERNELS)
    odds = np.exp(values - values[0])
    np.testing.assert_allclose(comparison.probabilities, odds / odds.sum(), rtol=1e-10)
    assert comparison.probabilities.sum() == pytest.approx(1.0, abs=1e-12)


def test_bayes_factors_do_not_change_with_constants_common_to_all_models(comparison, ripley_standardised):
    """Neither the prior's widths (none capped) nor the units of the targets tell one kernel from another."""
    X, y = ripley_standardised
    for other in (
        maximised(X, y, KERNELS, refine=False, prior_sd=(20.0, 7.0)),
        maximised(X, 1000.0 * y + 7.0, KERNELS, refine=False),
    ):
        assert abs(other.best.log_evidence - comparison.best.log_evidence) > 1.0
        np.testing.assert_allclose(other.log_bayes_factors, comparison.log_bayes_factors, atol=1e-6)
        np.testing.assert_allclose(other.probabilities, comparison.probabilities, rtol=1e-6)


def test_comparison_without_occam_uses_the_level_2_evidence(ripley_standardised):
    result = maximised(*ripley_standardised, KERNELS, refine=False, occam=False)
    assert all(c.log_evidence == c.level3.log_evidence_without_occam for c in result)
    assert "without the Occam factor" in str(result)


def test_prior_probabilities_move_the_posterior_by_bayes_rule(comparison, ripley_standardised):
    prior = [0.97, 1e-10, 0.02, 0.01 - 1e-10]  # in the order of KERNELS, not of the ranking
    result = maximised(*ripley_standardised, KERNELS, refine=False, prior_probabilities=prior)
    by_kernel = {str(k): p for k, p in zip(KERNELS, prior, strict=True)}
    weights = np.array([by_kernel[str(c.kernel)] for c in comparison]) * comparison.probabilities
    np.testing.assert_allclose(result.probabilities, weights / weights.sum(), rtol=1e-6)
    np.testing.assert_allclose(result.log_bayes_factors, comparison.log_bayes_factors, atol=1e-12)


@pytest.mark.parametrize(
    "bad", [[0.5, 0.5], [0.25, 0.25, 0.25, 0.3], [0.5, 0.5, 0.0, 0.0], [1.5, -0.5, 0.5, -0.5], [[0.25] * 4]]
)
def test_bad_prior_probabilities_are_refused(bad, ripley_standardised):
    with pytest.raises(ValueError, match="prior_probabilities must be 4 positive numbers that sum to one"):
        maximised(*ripley_standardised, KERNELS, refine=False, prior_probabilities=bad)


@pytest.mark.parametrize("own", [{"occam": False}, {"objective": lambda kernel: 0.0}])
def test_what_belongs_to_maximised_parameters_is_refused_for_integrals(own, ripley_standardised):
    """Either of the two alone; an integral has its Occam factor in it."""
    with pytest.raises(ValueError, match='occam=False and objective are for kernel_parameters="maximised"'):
        compare(*ripley_standardised, KERNELS, **own)


def test_an_empty_list_of_kernels_is_refused(ripley_standardised):
    with pytest.raises(ValueError, match="no kernels"):
        maximised(*ripley_standardised, [])


@pytest.mark.parametrize(
    ("twice_log_b", "words"),
    [
        (0.0, "not worth more than a bare mention"),
        (1.999, "not worth more than a bare mention"),
        (2.0, "positive"),
        (5.999, "positive"),
        (6.0, "strong"),
        (10.0, "strong"),
        (10.001, "very strong"),
        (np.inf, "very strong"),
    ],
)
def test_kass_raftery_words_change_at_2_6_and_10(twice_log_b, words):
    assert kass_raftery(twice_log_b / 2) == words
    assert kass_raftery(-twice_log_b / 2) == words


def test_the_table_prints_every_candidate_with_its_numbers(comparison):
    lines = str(comparison).splitlines()
    assert lines[0].split()[:3] == ["kernel", "log", "evidence"]
    assert set(lines[1]) <= {"-", " "}
    body = lines[2:-1]
    assert len(body) == len(KERNELS)
    for line, row in zip(body, comparison.rows(), strict=True):
        assert line.startswith(row["kernel"])
        assert f"{row['log_evidence']:.3f}" in line
        assert f"{row['log_bayes_factor']:.2f}" in line
        assert row["evidence_for_best"] in line
        assert line == line.rstrip()
    assert body[0].rstrip().endswith("best")
    assert body[1].rstrip().endswith("very strong")
    assert "with the Occam factor" in lines[-1]


def test_a_model_without_signal_is_named_in_the_table(ripley_standardised):
    X, y = permuted(0, ripley_standardised)
    result = maximised(X, y, [RBF(1.311), Linear()], refine=False)
    assert "(no signal)" in str(result)
    assert all(row["status"] == "no signal" for row in result.rows())


def test_refined_kernels_win_over_their_starts(ripley_standardised):
    X, y = ripley_standardised
    fixed = maximised(X, y, [RBF(0.5), "linear"], refine=False)
    refined = maximised(X, y, [RBF(0.5), "linear"], refine=True)
    assert refined.best.log_evidence > fixed.best.log_evidence + 1.0
    assert refined.best.kernel.sigma == pytest.approx(1.3283, abs=1e-3)
