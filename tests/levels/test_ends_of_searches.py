"""Where level 2 starts, stops and names what it found, on spectra and surfaces whose answers are known beforehand."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from bayes_lssvm import NotPositiveSemidefiniteError
from bayes_lssvm.kernels import RBF, Linear, Polynomial
from bayes_lssvm.levels import level2
from bayes_lssvm.levels.level1 import ClassCentres, DualPosterior
from bayes_lssvm.levels.level2 import (
    NO_SIGNAL_GAIN,
    SCAN_STEP,
    _interior_modes,
    at_gamma,
    j4,
    log_evidence,
    log_evidence_hessian,
    optimise,
    optimise_all,
)
from bayes_lssvm.levels.level2_posterior import _best_log_mu, _scanned_peaks, most_probable
from bayes_lssvm.levels.level3 import as_prior_sd, hessian_error_bars, log_eq_5_3
from bayes_lssvm.levels.moderation import within_range
from bayes_lssvm.levels.objective import Objective
from bayes_lssvm.levels.solvers import solve_cg, solve_cholesky, solve_distinct
from bayes_lssvm.linalg.reduction import LocalEvidence, SpectralSums
from bayes_lssvm.linalg.spectrum import CentredSpectrum, TridiagonalReduction
from bayes_lssvm.priors import Box, Flat, Gamma, HyperPrior, Normal


def spectrum_of(eigenvalues, t):
    """A decomposition of any kernel matrix with these eigenvalues, of points without a place."""
    m = len(eigenvalues)
    return CentredSpectrum(
        np.asarray(eigenvalues, float), np.eye(m + 1)[:, :m], np.asarray(t, float), 0.0, np.zeros(m + 1), 1.0
    )


def test_interpolation_has_to_gain_more_than_chance_could():
    """Targets t_i² ∝ λ_i are best without noise, by ½(N−1) log of the arithmetic over the geometric mean of the λ_i."""
    for wanted in (1.0, 1.9, 2.1, 3.5, 4.5, 20.0):
        m = 12
        spread = wanted_spread(m, wanted)
        eigenvalues = np.exp(np.linspace(-spread, spread, m))
        found = optimise(spectrum_of(eigenvalues, np.sqrt(3.0 * eigenvalues)))
        assert not found.modes
        assert found.at_boundary
        if wanted > NO_SIGNAL_GAIN:
            assert found.status == "interpolation"
            assert found.log_gain == pytest.approx(wanted, abs=1e-6)
            assert found.mu == pytest.approx(1.0 / 3.0, rel=1e-6)
        else:
            assert found.status == "no signal"
            assert found.log_gain == 0.0
            assert found.zeta == pytest.approx(m / (3.0 * eigenvalues.sum()), rel=1e-6)


def wanted_spread(m, gain):
    """By bisection on what the means are."""
    low, high = 0.0, 50.0
    for _ in range(80):
        middle = 0.5 * (low + high)
        eigenvalues = np.exp(np.linspace(-middle, middle, m))
        own = 0.5 * m * np.log(eigenvalues.mean())  # their logarithms sum to zero
        low, high = (middle, high) if own < gain else (low, middle)
    return low


def test_a_kernel_at_rounding_leaves_a_range_of_one():
    """λ_max far below the norm of Ω: γ may go no farther than rounding lets it, and the scan starts one below."""
    found = optimise(CentredSpectrum(np.full(6, 1e-30), np.eye(7)[:, :6], np.arange(1.0, 7.0), 0.0, np.zeros(7), 1e10))
    assert found.status == "no signal"
    assert found.at_boundary
    reduction = CentredSpectrum(np.full(6, 1e-30), np.eye(7)[:, :6], np.arange(1.0, 7.0), 0.0, np.zeros(7), 1e10)
    assert np.log(found.gamma) == pytest.approx(np.log(reduction.gamma_max) - 1.0)


def test_the_gain_at_a_gamma_that_was_given_is_over_noise_alone():
    spectrum = spectrum_of([0.1, 0.5, 2.0, 9.0], [0.3, -1.0, 1.2, 4.0])
    squares = float(spectrum.t @ spectrum.t)
    for gamma in (0.2, 3.0, 40.0):
        found = at_gamma(spectrum, gamma)
        variances = spectrum.eigenvalues + 1.0 / gamma
        own = -0.5 * (np.log(variances).sum() + 4.0 * np.log(0.25 * (spectrum.t**2 / variances).sum()))
        noise = -0.5 * 4.0 * np.log(0.25 * squares)
        assert found.log_gain == pytest.approx(own - noise, abs=1e-12)
        assert found.status == ("interior" if own - noise > NO_SIGNAL_GAIN else "no signal")
        assert found.gamma_eff == pytest.approx(1.0 + (spectrum.eigenvalues / variances).sum())
        assert found.mu == pytest.approx(4.0 / (spectrum.t**2 / variances).sum())
        assert found.zeta == pytest.approx(gamma * found.mu)
        assert found.e_w == pytest.approx(0.5 * (spectrum.eigenvalues * (spectrum.t / variances) ** 2).sum())
        assert found.e_d == pytest.approx(0.5 * ((spectrum.t / variances / gamma) ** 2).sum())
        assert found.modes[0].j4 == pytest.approx(float(j4(spectrum, gamma)[0]))
        other = at_gamma(spectrum, gamma, 0.7)
        assert other.log_evidence == pytest.approx(log_evidence(spectrum, 0.7, 0.7 * gamma))
        assert (other.log_gain, other.gamma_eff) == (found.log_gain, found.gamma_eff)


# --- the scan with priors ---------------------------------------------------------------------------------------------


def profile(height, m=10, low=-6.0, high=6.0, best=lambda u: 0.0 * u):
    """A reduction whose log evidence at the best log μ, `best(log γ)`, is `height(log γ)`."""

    def values(gamma):
        u = np.log(gamma)
        return m * best(u) - m - 2.0 * height(u), m * np.exp(-best(u))

    def local_evidence(mu, zeta):
        u = np.log([zeta / mu])
        log_det, q1 = values(np.exp(u))
        return LocalEvidence(float(0.5 * (m * np.log(mu) - mu * q1 - log_det)[0]), np.zeros(2), -np.eye(2))

    return SimpleNamespace(
        n=m + 1, gamma_max=np.exp(high), lambda_max=1e-8 / np.exp(low), values=values, local_evidence=local_evidence
    )


def peaks_of(places, heights):
    def height(u):
        return np.max([h - 3.0 * np.abs(np.asarray(u) - p) for p, h in zip(places, heights, strict=True)], axis=0)

    starts, alone = _scanned_peaks(profile(height), (Flat(), Flat()))
    assert alone == (len(places) == 1)  # of all that are seen, also those that are too low to be climbed
    return [round(float(start.position[1] - start.position[0]), 6) for start in starts]


def test_the_four_best_peaks_within_five_nats_are_climbed():
    assert peaks_of([-4.0, -2.0, 0.0, 2.0, 4.0], [1.0, 4.5, 2.0, 3.0, 4.0]) == [-2.0, 4.0, 2.0, 0.0]
    assert peaks_of([-4.0, 0.0, 4.0], [0.0, 4.9, 5.1]) == [4.0, 0.0]
    assert peaks_of([-4.0, 0.0, 4.0], [0.2, 4.9, 5.1]) == [4.0, 0.0, -4.0]
    assert peaks_of([-6.0, 6.0], [1.0, 2.0]) == [6.0, -6.0]  # the ends are peaks where it falls from them
    assert peaks_of([9.0], [2.0]) == [6.0]
    assert peaks_of([-9.0], [2.0]) == [-6.0]


def test_a_kernel_at_rounding_is_scanned_over_a_range_of_one():
    """Where no direction would be determined lies beyond the largest γ: the scan starts one below that."""
    starts, alone = _scanned_peaks(profile(lambda u: -u, low=9.0, high=4.0), (Flat(), Flat()))
    (start,) = starts
    assert start.position[1] - start.position[0] == pytest.approx(3.0)
    assert alone


@pytest.mark.parametrize(("low", "high"), [(-3.0, 9.2), (-9.2, 3.0), (2.1, 7.0), (-7.0, -2.2)])
def test_the_scan_with_priors_goes_from_end_to_end_in_steps_of_half_a_unit(low, high):
    reduction = profile(lambda u: 0.0 * u, low=low, high=high)
    asked, values = [], reduction.values
    reduction.values = lambda gamma: asked.append(np.log(gamma)) or values(gamma)
    _scanned_peaks(reduction, (Flat(), Flat()))
    np.testing.assert_allclose(asked[0][[0, -1]], [low, high], atol=1e-9)
    steps = np.diff(asked[0])
    assert np.ptp(steps) < 1e-9
    assert 0.9 * SCAN_STEP < steps[0] <= SCAN_STEP + 1e-12


def test_the_slope_whose_roots_are_modes_is_that_of_j4(monkeypatch):
    """∂J4/∂log γ, of each set of targets."""
    rng = np.random.default_rng(4)
    spectrum = spectrum_of(np.geomspace(1e-3, 10.0, 12), rng.normal(size=12) * np.geomspace(0.3, 3.0, 12))
    asked = []
    monkeypatch.setattr(level2, "roots_in_brackets", lambda slope, low, high, at: asked.append(slope) or at)
    grid = np.linspace(-4.0, 6.0, 21)
    costs = np.cos(grid)[:, None]  # with minima inside
    _interior_modes(spectrum, grid, costs)
    (slope,) = asked
    for u in (-2.0, 0.3, 2.5):
        change = (j4(spectrum, np.exp(u + 1e-5)) - j4(spectrum, np.exp(u - 1e-5))) / 2e-5
        assert slope(np.array([u]), np.array([0]))[0] == pytest.approx(float(change[0]), rel=1e-6)


def test_starts_have_the_best_mu_and_stay_below_the_largest_gamma():
    (start,), _ = _scanned_peaks(profile(lambda u: np.asarray(u), m=10), (Flat(), Flat()))
    assert start.position[0] == pytest.approx(0.0, abs=1e-5)  # q_1 = m
    assert 0.0 < 6.0 - (start.position[1] - start.position[0]) < 1e-6
    # a prior that is not there at the peak leaves no start, and one that is beside it moves it
    (held,), _ = _scanned_peaks(profile(lambda u: -np.abs(np.asarray(u)), m=10), (Box(1.0, 2.0), Flat()))
    assert held.position == pytest.approx([1.0, 1.0], abs=1e-6)


@pytest.mark.parametrize("side", [0, 1])
def test_priors_of_both_decide_which_peaks_are_climbed(side):
    """Eight nats of a prior that one peak pays and the other does not, in log μ or in log ζ."""

    def height(u):
        return np.maximum(5.0 - np.abs(u + 3.0), 6.0 - np.abs(u - 3.0))

    def best(u):  # log μ, or log ζ = log μ + u, is 0 where the lower peak is and −4 where the other is
        return np.where(u < 0.0, 0.0, -4.0) - (u if side else 0.0)

    priors = (Normal(0.0, 1.0), Flat()) if side == 0 else (Flat(), Normal(0.0, 1.0))
    reduction = profile(height, m=4000, best=best)
    (start,), _ = _scanned_peaks(reduction, priors)
    assert start.position[1] - start.position[0] == pytest.approx(-3.0)
    assert start.value == pytest.approx(5.0 - 0.5 * np.log(2.0 * np.pi), abs=1e-2)
    both, _ = _scanned_peaks(reduction, (Flat(), Flat()))
    assert [float(found.position[1] - found.position[0]) for found in both] == pytest.approx([3.0, -3.0])


@pytest.mark.parametrize(
    ("gradient", "precision", "has_mode"),
    [
        ([0.0, 0.0], [[2.0, 0.5], [0.5, 1.0]], True),
        ([9e-4, 0.0], [[0.5, 0.0], [0.0, 0.5]], True),
        ([0.0, -1.1e-3], [[0.5, 0.0], [0.0, 0.5]], False),
        ([0.0, -1.9e-3], [[0.5, 0.0], [0.0, 2.0]], True),
        ([2.1e-3, 0.0], [[0.5, 0.0], [0.0, 2.0]], False),
        ([0.0, 0.0], [[2.0, 0.0], [0.0, -1.0]], False),
    ],
)
def test_what_is_called_a_mode_and_the_volume_about_it(gradient, precision, has_mode, monkeypatch):
    """A slope below a thousandth of the larger curvature, or of one, and a surface that bends down both ways."""
    module = "bayes_lssvm.levels.level2_posterior"
    from_here = SimpleNamespace(
        position=np.array([0.3, 0.9]), value=-4.0, gradient=np.array(gradient), precision=np.array(precision)
    )
    monkeypatch.setattr(f"{module}._scanned_peaks", lambda *_: ([from_here, from_here], False))
    lower = SimpleNamespace(**{**vars(from_here), "value": -5.0})
    climbs = iter([lower, from_here])
    monkeypatch.setattr(f"{module}._climbed", lambda *_: next(climbs))
    spectrum = spectrum_of([0.1, 0.5, 2.0, 9.0], [0.3, -1.0, 1.2, 4.0])
    found = most_probable(spectrum, Flat(), Flat())
    assert found.has_mode == has_mode
    assert found.log_density == -4.0
    curvatures = np.maximum(np.linalg.eigvalsh(precision), 1e-3)
    assert found.log_evidence == pytest.approx(-4.0 + np.log(2.0 * np.pi) - 0.5 * np.log(curvatures).sum())
    assert np.log([found.level2.mu, found.level2.zeta]) == pytest.approx([0.3, 0.9])


# --- slopes of Laplace's evidence -------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", [RBF(1.1), Polynomial(2, 1.5)], ids=str)
@pytest.mark.parametrize("priors", [(Gamma(2.0, 1.0), Normal(0.0, 2.0)), (Gamma(1.5, 0.5), Gamma(0.7, 2.0))], ids=str)
def test_the_gradient_with_skew_priors_of_both_precisions(priors, kernel, weighted):
    """A prior with a third derivative moves the volume about the mode; that of log μ does it too."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(25, 2))
    y = np.sin(1.5 * X[:, 0]) + 0.4 * rng.normal(size=25)
    whole = HyperPrior(*priors, (Normal(0.5, 1.0),) * len(kernel.log_params))
    objective = Objective(X, y, prior=whole, weights=rng.uniform(0.4, 2.0, 25) if weighted else None)
    exact = objective.evaluate(kernel, gradient=True).gradient
    ends = [
        [objective.evaluate(kernel.with_log_params(kernel.log_params + s * step)).value for s in (1, -1)]
        for step in 1e-4 * np.eye(len(kernel.log_params))
    ]
    differences = [(above - below) / 2e-4 for above, below in ends]
    assert exact == pytest.approx(np.array(differences), rel=1e-5, abs=1e-5)


def test_without_priors_the_best_mu_is_known_beforehand():
    q1, log_gamma = np.geomspace(1e-9, 1e9, 19), np.linspace(-20.0, 20.0, 19)
    found = _best_log_mu(30, q1, log_gamma, (Flat(), Flat()))
    np.testing.assert_allclose(found, np.log(30.0 / q1), rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("weighted", [False, True])
def test_where_there_is_no_mode_mu_and_zeta_stay_where_they_are(weighted):
    """At the end of a box nothing moves: the gradient is that of the evidence at this μ and ζ, and of the prior."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(25, 2))
    y = np.sign(X[:, 0] + 0.4 * rng.normal(size=25))
    weights = rng.uniform(0.4, 2.0, 25) if weighted else None
    own = Normal(0.5, 1.0)
    objective = Objective(X, y, prior=HyperPrior(Box(3.0, 6.0), Box(-4.0, -1.0), (own,)), weights=weights)
    found = objective.evaluate(RBF(1.3), gradient=True)
    assert not found.posterior.has_mode
    mu, zeta = found.level2.mu, found.level2.zeta
    assert np.log([mu, zeta]) == pytest.approx([3.0, -1.0])
    ends = [objective.at(RBF(1.3 * float(np.exp(h))), 3.0, -1.0).value for h in (1e-5, -1e-5)]
    expected = (ends[0] - ends[1]) / 2e-5 + float(own.gradient(np.log(1.3)))
    assert found.gradient == pytest.approx([expected], rel=1e-6)


# --- level 1 ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
def test_class_centres_are_those_of_explicit_features(weighted):
    """Means, inner products and variances about both centres, and ζ_*, from a polynomial's own features."""
    rng = np.random.default_rng(6)
    X = rng.normal(size=(15, 2)) + 0.5
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=15) > 0.4, 1.0, -1.0)
    w = rng.uniform(0.4, 2.0, 15) if weighted else np.ones(15)
    kernel, mu, zeta, gamma_eff = Polynomial(2, 1.0), 0.6, 3.0, 3.3

    def features(Z):  # (1 + xᵀz)²
        root = np.sqrt(2.0)
        columns = [
            np.ones(len(Z)),
            root * Z[:, 0],
            root * Z[:, 1],
            Z[:, 0] ** 2,
            Z[:, 1] ** 2,
            root * Z[:, 0] * Z[:, 1],
        ]
        return np.stack(columns, axis=1)

    phi = features(X)
    assert phi @ phi.T == pytest.approx(kernel(X))
    posterior = DualPosterior.from_kernel_matrix(
        kernel, X, kernel(X), y, mu=mu, zeta=zeta, weights=w if weighted else None
    )
    centred = phi - w @ phi / w.sum()
    Q = np.linalg.inv(mu * np.eye(6) + zeta * centred.T @ (w[:, None] * centred))
    mean = Q @ (zeta * centred.T @ (w * y))
    assert posterior.latent_mean(X) == pytest.approx(phi @ mean + (w @ (y - phi @ mean)) / w.sum())
    found = ClassCentres.from_posterior(posterior, y, gamma_eff)
    new = features(rng.normal(size=(4, 2)))
    scatter, moments = 0.0, found.moments(posterior, new[:, 1:3] / np.sqrt(2.0))
    for c, members in enumerate((y > 0, y < 0)):
        centre = w[members] @ phi[members] / w[members].sum()
        assert found.projected_mean[c] == pytest.approx(float(mean @ centre))
        assert found.inner[c] == pytest.approx(float(centre @ centre))
        scatter += float(w[members] @ ((phi[members] - centre) @ mean) ** 2)
        about = new - centre
        assert moments[c].mean == pytest.approx(about @ mean)
        assert moments[c].variance == pytest.approx(np.einsum("ij,jk,ik->i", about, Q, about))
    assert found.zeta_star == pytest.approx((15 - gamma_eff) / (15.0 * scatter / w.sum()))


# --- one that is wrong among many -------------------------------------------------------------------------------------


def test_equal_targets_of_one_set_among_several_are_refused():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(9, 2))
    Y = np.column_stack([rng.normal(size=9), np.full(9, 2.0), rng.normal(size=9)])
    with pytest.raises(ValueError, match="All targets are equal"):
        optimise_all(TridiagonalReduction.from_kernel_matrix(RBF(1.0)(X), Y))
    assert len(optimise_all(TridiagonalReduction.from_kernel_matrix(RBF(1.0)(X), Y[:, [0, 2]]))) == 2


@pytest.mark.parametrize("widths", [(3.0, -1.0), (np.nan, 1.0), (1.0, np.inf), (0.0, 2.0)])
def test_one_width_that_is_none_is_enough_to_refuse(widths):
    with pytest.raises(ValueError, match="one positive width or two"):
        as_prior_sd(widths)


def test_equation_5_3_has_no_limit_at_either_end_alone():
    """γ_eff = 1 with N − γ_eff left, and γ_eff = N with N − 1 directions determined."""
    spectrum = spectrum_of([0.5, 1.0, 2.0], [1.0, -1.0, 0.5])
    inside = at_gamma(spectrum, 2.0)
    s = 0.5
    exact = 3.0 * np.log(inside.mu) - np.log(spectrum.eigenvalues + s).sum()
    exact -= np.log(inside.d_eff) + np.log(4.0 - inside.gamma_eff)
    assert log_eq_5_3(spectrum, inside) == pytest.approx(0.5 * exact)
    assert log_eq_5_3(spectrum, replace(inside, d_eff=0.0, gamma_eff=1.0)) == np.inf
    assert log_eq_5_3(spectrum, replace(inside, d_eff=3.0, gamma_eff=4.0)) == np.inf


def test_a_hessian_that_is_not_definite_has_no_error_bars():
    """Far from the mode, where the evidence bends upwards: of two signs, or of the wrong one both ways."""
    spectrum = spectrum_of([0.1, 0.5, 2.0, 9.0], [0.3, -1.0, 1.2, 4.0])
    seen = set()
    for log_mu in np.linspace(-6.0, 6.0, 13):
        for log_gamma in np.linspace(-8.0, 8.0, 17):
            level2 = at_gamma(spectrum, float(np.exp(log_gamma)), float(np.exp(log_mu)))
            precision = -log_evidence_hessian(spectrum, level2.mu, level2.zeta)
            bars, log_volume = hessian_error_bars(spectrum, level2)
            signs = tuple(np.sign(np.linalg.eigvalsh(precision)))
            seen.add(signs)
            if min(signs) > 0.0:
                covariance = np.linalg.inv(precision)
                assert [bars.log_mu, bars.log_zeta] == pytest.approx(np.sqrt(np.diag(covariance)), rel=1e-6)
                assert bars.correlation == pytest.approx(covariance[0, 1] / (bars.log_mu * bars.log_zeta), abs=1e-6)
                assert log_volume == pytest.approx(0.5 * np.linalg.slogdet(covariance)[1], abs=1e-6)
            else:
                assert np.isnan([*bars, log_volume]).all()
    assert len(seen) >= 2


class Made(Linear):
    """A kernel whose matrix is given, whatever it says of itself."""

    def __init__(self, matrix):
        object.__setattr__(self, "matrix", np.asarray(matrix))

    def __call__(self, X, Z=None):
        rows = X[:, 0].astype(int)
        return self.matrix[np.ix_(rows, rows if Z is None else Z[:, 0].astype(int))]

    def diag(self, X):
        return np.diag(self.matrix)[X[:, 0].astype(int)]


def test_a_matrix_that_is_indefinite_along_the_targets_alone_is_refused():
    """Along the constant the matrix is positive, so that one of the two systems could be solved."""
    n, ones = 6, np.full(6, 1.0 / np.sqrt(6.0))
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0]) / np.sqrt(6.0)
    X = np.arange(float(n))[:, None]
    for along_ones, along_y in ((5.0, -3.0), (-3.0, 5.0)):
        K = along_ones * np.outer(ones, ones) + along_y * np.outer(y, y)
        with pytest.raises(NotPositiveSemidefiniteError, match="not positive definite"):
            solve_cg(Made(K), X, y, 1.0, preconditioner_rank=0, progress=False)
    K = 5.0 * np.outer(ones, ones) + 3.0 * np.outer(y, y)
    assert solve_cg(Made(K), X, y, 1.0, preconditioner_rank=0, progress=False).alpha == pytest.approx(0.25 * y)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3, 1.0)], ids=str)
def test_only_points_that_are_too_far_are_drawn_in(kernel):
    """Along their rays, by powers of ten, and no farther than it takes; each as if it were alone."""
    X = np.array([[1.0, -2.0], [3e60, 4e60], [0.1, 0.0], [-5e180, 1e170], [2e49, 0.0]])
    found = within_range(SimpleNamespace(kernel=kernel), X)
    for before, after in zip(X, found, strict=True):
        shrunk = np.log10(np.abs(before[0] / after[0]))
        assert shrunk == pytest.approx(round(shrunk), abs=1e-9)
        assert after == pytest.approx(before * 10.0**-shrunk, rel=1e-12)
        assert kernel.diag(after[None])[0] <= 1e100
        if round(shrunk) > 0:
            with np.errstate(over="ignore"):
                assert kernel.diag(10.0 * after[None])[0] > 1e100
    assert np.array_equal(found[[0, 2]], X[[0, 2]])
    near = X[[0, 2]]
    assert within_range(SimpleNamespace(kernel=kernel), near) is near


def test_targets_of_zero_are_solved_by_zero():
    """Their residual is zero from the start, whatever it is divided by."""
    X = np.random.default_rng(3).normal(size=(9, 2))
    found = solve_cg(RBF(1.0), X, np.zeros(9), 2.0, preconditioner_rank=0, progress=False)
    assert found.converged
    assert np.array_equal(found.alpha, np.zeros(9))
    assert (found.intercept, found.residual <= 1e-10) == (0.0, True)


@pytest.mark.parametrize(("depth", "at_boundary"), [(1e-8, True), (2e-7, True), (2e-5, False)])
def test_a_dip_of_the_size_of_rounding_is_no_mode(depth, at_boundary):
    """J4 is 1000 where all is noise, so that a billionth of that says nothing: 1e-6, twenty times as much does."""
    m = 1000

    def log_det(u):
        return -depth * np.exp(-(u**2))

    def sums(gamma, *_):
        u, ones = np.log(gamma), np.ones(len(gamma))
        tr1 = -gamma * -2.0 * u * log_det(u)  # −γ²∂J4/∂γ
        return SpectralSums(log_det(u), 2.0 * np.e * ones, 0.0 * ones, tr1, ones, ones)

    reduction = SimpleNamespace(
        n=m + 1,
        gamma_max=np.exp(10.0),
        lambda_max=1e-8 * np.exp(10.0),
        totals=np.array([2.0 * np.e]),
        log_constant=0.0,
        values=lambda gamma, *_: (log_det(np.log(gamma)), np.full(len(gamma), 2.0 * np.e)),
        sums=sums,
    )
    found = optimise(reduction)
    assert found.status == "no signal"
    assert found.at_boundary == at_boundary
    assert np.log(found.gamma) == pytest.approx(-10.0 if at_boundary else 0.0, abs=1e-6)


def test_what_is_rounding_of_the_mean_of_equal_targets():
    """Within four units of the last place of the largest target two targets are one, beyond they are two."""
    X, eps = np.array([[0.0], [0.0], [0.0], [1.0], [1.0], [1.7]]), np.finfo(float).eps
    gamma = 1e15
    y = np.array([0.1, 0.1, 0.1, 1.0, 1.0, 0.0])  # the mean of three tenths is not a tenth
    alpha = solve_distinct(RBF(1.0), X, y, gamma)[0]
    own = solve_cholesky(RBF(1.0)(X[[0, 3, 5]]), np.array([0.1, 1.0, 0.0]), gamma, np.array([3.0, 2.0, 1.0]))[0]
    np.testing.assert_allclose([alpha[:3].sum(), alpha[3:5].sum(), alpha[5]], own, rtol=1e-9)
    for apart, one in ((4.0, True), (12.0, False)):
        y[4] = 1.0 + apart * eps
        alpha = solve_distinct(RBF(1.0), X, y, gamma)[0]
        assert alpha[4] - alpha[3] == pytest.approx(0.0 if one else gamma * apart * eps, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("level", [1.0, 0.0])
@pytest.mark.parametrize("dip", [20.0, 0.0])
@pytest.mark.parametrize(("more", "interpolates"), [(-10.0, False), (0.2, False), (10.0, True)])
def test_the_largest_gamma_has_to_win_by_more_than_rounding(level, dip, more, interpolates):
    """Over the best mode, or where there is none over noise and what chance could gain.

    J4 is 1000 of noise alone, and a billionth of that is rounding, or it is zero, and a billionth is.
    """
    m, rounding = 1000, 1e-9 * (1000.0 * level) + 1e-9
    top, q1 = (dip or 2.0 * NO_SIGNAL_GAIN) + more * rounding, 2.0 * np.exp(level)

    def log_det(u):
        return -dip * np.exp(-(u**2)) - top * np.exp(-((u - 10.0) ** 2))

    def sums(gamma, *_):
        u, ones = np.log(gamma), np.ones(len(gamma))
        slope = 2.0 * u * dip * np.exp(-(u**2)) + 2.0 * (u - 10.0) * top * np.exp(-((u - 10.0) ** 2))
        return SpectralSums(log_det(u), q1 * ones, 0.0 * ones, -gamma * slope, 0.0 * ones, ones)

    reduction = SimpleNamespace(
        n=m + 1,
        gamma_max=np.exp(10.0),
        lambda_max=1e-8 * np.exp(10.0),
        totals=np.array([q1]),
        log_constant=0.0,
        values=lambda gamma, *_: (log_det(np.log(gamma)), np.full(len(gamma), q1)),
        sums=sums,
    )
    found = optimise(reduction)
    assert found.status == ("interpolation" if interpolates else "interior" if dip else "no signal")
    gain = top if interpolates else dip
    assert found.log_gain == pytest.approx(0.5 * gain, abs=1e-9)


@pytest.mark.parametrize("n", [5, 9])
def test_conjugate_gradients_take_ten_steps_a_point_and_no_more(n):
    X = np.random.default_rng(n).normal(size=(n, 2))
    with pytest.warns(ConvergenceWarning, match=f"stopped after {10 * n} iterations"):
        found = solve_cg(RBF(1.0), X, X[:, 0], 1e3, tolerance=-1.0, preconditioner_rank=0, progress=False)
    assert (found.iterations, found.converged) == (10 * n, False)


@pytest.mark.parametrize("side", [1, -1])
def test_a_minimum_midway_between_two_points_of_the_grid_is_seen(side):
    """Both have the same cost, and the one before or after it is far above."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(12, 2))
    spectrum = CentredSpectrum.from_kernel_matrix(RBF(1.0)(X), np.sin(1.5 * X[:, 0]) + 0.4 * rng.normal(size=12))
    mode = float(np.log(optimise(spectrum).modes[0].gamma))
    grid = mode + np.array([-1.5, -0.5, 0.5, 1.5, 2.5])
    costs = np.array([3.0, 1.0, 1.0, 3.0, 4.0])
    if side < 0:
        grid, costs = mode + np.array([-2.5, -1.5, -0.5, 0.5, 1.5]), np.array([4.0, 3.0, 1.0, 1.0, 3.0])
    ((found,),) = _interior_modes(spectrum, grid, costs[:, None])
    assert np.log(found.gamma) == pytest.approx(mode, abs=1e-6)
