"""Level 2: the search for the mode, its boundary cases, and the constants of J4 and the evidence."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln

from bayes_lssvm import datasets
from bayes_lssvm.kernels import RBF, Linear
from bayes_lssvm.levels import level2 as l2
from bayes_lssvm.linalg.spectrum import CentredSpectrum, TridiagonalReduction


@pytest.fixture(scope="module")
def pima():
    data = datasets.load("pid")
    X = np.asarray(data.data)
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    return TridiagonalReduction.from_kernel_matrix(RBF(1.0)(X), np.where(np.asarray(data.target) == "pos", 1.0, -1.0))


def _dense_scan(reduction):
    """The least J4 on a grid ten times finer than the search's own, and the number of interior minima on it."""
    grid = np.linspace(np.log(1e-8 / reduction.lambda_max), np.log(min(reduction.gamma_max, 1e8)), 1000)
    costs = l2.j4(reduction, np.exp(grid))
    interior = (costs[1:-1] < costs[:-2]) & (costs[1:-1] < costs[2:])
    return float(costs.min()), int(interior.sum())


@pytest.mark.parametrize("data", ["ripley_wide", "pima"])
def test_mode_is_the_global_minimum(data, request):
    """Ripley σ = 10 has two minima, Pima σ = 1 one: on a dense scan nothing lies below the mode that is returned."""
    reduction = request.getfixturevalue(data)
    mode = l2.optimise(reduction)
    best, count = _dense_scan(reduction)
    assert mode.status == "interior"
    assert len(mode.modes) == count
    assert mode.modes[0].j4 <= best
    assert mode.gamma == mode.modes[0].gamma


@pytest.mark.parametrize("seed", range(6))
def test_permuted_labels_have_no_signal(ripley_best, ripley_standardised, seed):
    y = np.random.default_rng(seed).permutation(ripley_standardised[1])
    mode = l2.optimise(ripley_best.with_targets(y))
    assert mode.status == "no signal"
    assert 0.0 <= mode.log_gain < l2.NO_SIGNAL_GAIN
    assert np.isfinite([mode.mu, mode.zeta, mode.log_evidence]).all()


def test_noiseless_linear_targets_are_interpolated():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    mode = l2.optimise(CentredSpectrum.from_kernel_matrix(Linear()(X), X @ [1.0, -2.0, 0.5] + 3.0))
    assert mode.status == "interpolation"
    assert mode.at_boundary
    assert mode.e_d < 1e-15 * mode.e_w * 30  # 1/γ at the limit of double precision
    assert np.isfinite([mode.mu, mode.zeta, mode.log_evidence]).all()


@pytest.mark.parametrize("scale", [1.0, 1e-3])
@pytest.mark.parametrize("K", [np.eye(20), np.ones((20, 20))], ids=["all λ equal", "constant kernel"])
def test_kernels_that_cannot_tell_points_apart_have_no_signal(K, scale):
    """With λ all equal (or all zero), J4 does not depend on γ: signal and noise are the same, in any unit."""
    y = scale * np.random.default_rng(1).normal(size=20)
    for cls in (CentredSpectrum, TridiagonalReduction):
        mode = l2.optimise(cls.from_kernel_matrix(K, y))
        assert mode.status == "no signal"
        assert abs(mode.log_gain) < 1e-6
        # all is noise: its variance is that of the targets
        assert 1 / mode.zeta + (1 / mode.mu if K[0, 1] == 0 else 0.0) == pytest.approx(np.var(y, ddof=1), rel=1e-6)


def test_the_scan_reaches_both_ends_and_is_as_fine_as_is_said(ripley_wide, pima, monkeypatch):
    """From where no direction is determined to what double precision can tell, in steps of half a unit of log γ."""
    grids, j4 = [], l2.j4
    monkeypatch.setattr(
        l2, "j4", lambda reduction, gamma, *which: grids.append(np.log(gamma)) or j4(reduction, gamma, *which)
    )
    for reduction in (ripley_wide, pima):
        grids.clear()
        l2.optimise(reduction)
        steps = np.diff(grids[0])
        assert grids[0][0] == pytest.approx(np.log(l2.MIN_GAMMA_LAMBDA / reduction.lambda_max))
        assert grids[0][-1] == pytest.approx(np.log(reduction.gamma_max))
        assert np.ptp(steps) < 1e-9
        assert 0.9 * l2.SCAN_STEP < steps[0] <= l2.SCAN_STEP * (1 + 1e-9)


def test_equal_targets_are_refused():
    with pytest.raises(ValueError, match="All targets are equal"):
        l2.optimise(CentredSpectrum.from_kernel_matrix(np.eye(5), np.ones(5)))


@pytest.mark.parametrize("factor", [1e-3, 7.0, 1e4])
def test_scale_of_the_targets(ripley_wide, ripley_standardised, factor):
    """Targets cy take μ and ζ to c⁻² of themselves and leave γ; y + c changes nothing."""
    mode = l2.optimise(ripley_wide)
    scaled = l2.optimise(ripley_wide.with_targets(factor * ripley_standardised[1] + factor))
    assert scaled.status == mode.status
    np.testing.assert_allclose([scaled.mu, scaled.zeta], np.array([mode.mu, mode.zeta]) / factor**2, rtol=1e-8)
    assert scaled.gamma == pytest.approx(mode.gamma, rel=1e-8)
    assert scaled.log_evidence == pytest.approx(mode.log_evidence - (mode.n - 1) * np.log(factor), rel=1e-10)


@pytest.mark.parametrize("sigma", [0.5, 1.3111, 10.0])
def test_tridiagonal_and_spectral_reductions_agree(ripley_standardised, sigma):
    X, y = ripley_standardised
    K = RBF(sigma)(X)
    spectral, tridiagonal = (
        l2.optimise(cls.from_kernel_matrix(K, y)) for cls in (CentredSpectrum, TridiagonalReduction)
    )
    for a, b in zip(astuple(spectral), astuple(tridiagonal), strict=True):
        if isinstance(a, str | bool):
            assert a == b
        else:
            np.testing.assert_allclose(a, b, rtol=1e-7)


def test_j4_is_the_exact_marginal_over_a_flat_log_mu():
    """∫ p(D | μ, γμ) dlog μ = N^(−½) (2π)^(−m/2) Γ(m/2) exp(−J4(γ)/2) with m = N − 1.

    p = N^(−½) (μ/2π)^(m/2) exp(−½ Σ log(λ_i + 1/γ) − μ(E_W + γE_D)) is a Gamma density in μ but for its constant.
    """
    rng = np.random.default_rng(4)
    X = rng.normal(size=(15, 2))
    spectrum = CentredSpectrum.from_kernel_matrix(RBF(1.0)(X), X[:, 0] + 0.3 * rng.normal(size=15))
    m = spectrum.n - 1
    analytic = gammaln(0.5 * m) - 0.5 * np.log(spectrum.n) - 0.5 * m * np.log(2 * np.pi)
    for gamma in (0.3, 40.0):
        peak = np.log(m / spectrum.sums(np.array([gamma])).q1[0])  # 4.7
        top = l2.log_evidence(spectrum, np.exp(peak), gamma * np.exp(peak))
        integrand = lambda u, g=gamma, t=top: np.exp(l2.log_evidence(spectrum, np.exp(u), g * np.exp(u)) - t)  # noqa: E731
        integral, _ = quad(integrand, peak - 12, peak + 5, epsabs=0, epsrel=1e-11, limit=200, points=[peak])
        constant = np.log(integral) + top + 0.5 * l2.j4(spectrum, gamma)[0]
        assert constant == pytest.approx(analytic, rel=1e-9)


def test_evidence_tends_to_a_constant_at_both_ends(ripley_standardised):
    """So a prior flat in log γ is improper: at γ → 0 always, at γ → ∞ where the centred kernel has full rank."""
    X, y = ripley_standardised
    spectrum = CentredSpectrum.from_kernel_matrix(RBF(0.2)(X) + 0.1 * np.eye(len(y)), y)
    n, noise = spectrum.n, (spectrum.n - 1) * np.log(0.5 * spectrum.totals[0])
    np.testing.assert_allclose(l2.j4(spectrum, [1e-10, 1e-12]), noise, rtol=1e-9)
    whole = np.log(spectrum.eigenvalues).sum() + (n - 1) * np.log(0.5 * np.sum(spectrum.t**2 / spectrum.eigenvalues))
    np.testing.assert_allclose(l2.j4(spectrum, [1e11, 1e13]), whole, rtol=1e-9)


# LS-SVMlab 1.8 with its eigenvalue bug repaired, on Ripley's standardised data, to the digits printed; its kernel is
# exp(−d²/(2 sig2)), so σ² = 2 sig2.
@pytest.mark.parametrize(
    ("gamma", "sig2", "e_w", "e_d", "gamma_eff", "cost", "gamma_mp"),
    [
        (0.1, 2.0, 1.2314, 54.2409, 4.9857, 6.6555, 3.0128),
        (1.0, 0.85936, 4.0493, 43.1234, 15.6741, 47.1727, 1.6438),
        (100.0, 0.2, 147.8357, 27.9286, 87.6298, 2940.6951, 1.2281),
    ],
)
def test_values_of_ls_svmlab(ripley_standardised, gamma, sig2, e_w, e_d, gamma_eff, cost, gamma_mp):
    X, y = ripley_standardised
    reduction = TridiagonalReduction.from_kernel_matrix(RBF(np.sqrt(2 * sig2))(X), y)
    values = [l2.e_w(reduction, gamma), l2.e_d(reduction, gamma), l2.gamma_eff(reduction, gamma)]
    values += [values[0] + gamma * values[1], l2.optimise(reduction).gamma]
    np.testing.assert_allclose(values, [e_w, e_d, gamma_eff, cost, gamma_mp], rtol=0, atol=5.1e-5)
