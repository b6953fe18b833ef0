"""MacKay's iterations for μ and ζ beside the search of level 2."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm.kernels import RBF, Linear
from bayes_lssvm.levels import level2 as l2
from bayes_lssvm.levels.fixed_point import cheap_and_cheerful, mackay_fixed_point
from bayes_lssvm.linalg.spectrum import CentredSpectrum, TridiagonalReduction


def test_fixed_point_may_end_in_the_worse_of_two_modes(ripley_wide):
    mode = l2.optimise(ripley_wide)
    better, worse = mode.modes
    from_one = mackay_fixed_point(ripley_wide)
    from_above = mackay_fixed_point(ripley_wide, mu=1e-3, zeta=1.0)
    assert from_one.converged
    assert from_above.converged
    assert from_one.zeta / from_one.mu == pytest.approx(worse.gamma, rel=1e-7)
    assert from_above.zeta / from_above.mu == pytest.approx(better.gamma, rel=1e-7)
    # at the optimum of μ the evidence is −J4/2 up to a constant, so it loses half of the difference
    loss = mode.log_evidence - l2.log_evidence(ripley_wide, from_one.mu, from_one.zeta)
    assert loss == pytest.approx(0.5 * (worse.j4 - better.j4), rel=1e-7)
    assert loss > 0.5


def test_fixed_point_equals_the_search_where_there_is_one_mode(ripley_best):
    mode, fixed = l2.optimise(ripley_best), mackay_fixed_point(ripley_best)
    assert len(mode.modes) == 1
    assert fixed.converged
    np.testing.assert_allclose([fixed.mu, fixed.zeta], [mode.mu, mode.zeta], rtol=1e-8)
    np.testing.assert_allclose([mode.mu, mode.zeta], [1.667, 2.741], atol=6e-4)  # section 7.1


@pytest.mark.parametrize("steps", [1, 4])
def test_so_many_steps_are_made_and_told(ripley_best, steps):
    """Beside a plain loop of 2μE_W = γ_eff − 1 and 2ζE_D = N − γ_eff, and the shortcut with 10 and N."""
    for iterate, options, count in ((mackay_fixed_point, {}, None), (cheap_and_cheerful, {"n_parameters": 10}, 10.0)):
        found = iterate(ripley_best, mu=0.5, zeta=3.0, max_iter=steps, **options)
        mu, zeta = 0.5, 3.0
        for _ in range(steps):
            gamma = zeta / mu
            determined = l2.gamma_eff(ripley_best, gamma)
            above, below = (determined - 1.0, ripley_best.n - determined) if count is None else (count, ripley_best.n)
            mu, zeta = 0.5 * above / l2.e_w(ripley_best, gamma), 0.5 * below / l2.e_d(ripley_best, gamma)
        np.testing.assert_allclose([found.mu, found.zeta], [mu, zeta], rtol=1e-9)
        assert found.iterations == steps
        assert not found.converged


@pytest.mark.parametrize(("mu", "zeta"), [(1e-2, 2.7), (50.0, 2.7), (1.7, 0.1), (1.7, 300.0)])
def test_iterations_end_where_neither_moves_by_the_tolerance(ripley_best, mu, zeta):
    """From either side of the mode, and at the first such step."""
    for iterate, options in ((mackay_fixed_point, {}), (cheap_and_cheerful, {"n_parameters": 10})):
        end = iterate(ripley_best, mu=mu, zeta=zeta, tolerance=1e-4, **options)
        before = iterate(ripley_best, mu=mu, zeta=zeta, tolerance=1e-4, max_iter=end.iterations - 1, **options)
        earlier = iterate(ripley_best, mu=mu, zeta=zeta, tolerance=1e-4, max_iter=end.iterations - 2, **options)
        assert end.converged
        assert not before.converged
        last, last_but_one = (
            np.abs(np.log([one.mu / other.mu, one.zeta / other.zeta]))
            for one, other in ((end, before), (before, earlier))
        )
        assert last.max() < 1e-4 <= last_but_one.max()


def test_cheap_and_cheerful(ripley_best, ripley_standardised):
    """2μE_W = k and 2ζE_D = N where it converges; with all N − 1 directions of an RBF counted it runs away."""
    X, y = ripley_standardised
    linear = CentredSpectrum.from_kernel_matrix(Linear()(X), y)
    for spectrum, k in ((linear, None), (ripley_best, 10)):
        end = cheap_and_cheerful(spectrum, n_parameters=k)
        gamma = end.zeta / end.mu
        assert end.converged
        assert 2 * end.mu * l2.e_w(spectrum, gamma) == pytest.approx(2 if k is None else k, rel=1e-8)
        assert 2 * end.zeta * l2.e_d(spectrum, gamma) == pytest.approx(spectrum.n, rel=1e-8)
    assert not cheap_and_cheerful(ripley_best).converged


def test_cheap_and_cheerful_without_an_eigendecomposition(ripley_standardised):
    """The tridiagonal form gives the same μ and ζ, and counts the same nonzero eigenvalues."""
    X, y = ripley_standardised
    for kernel, k in ((Linear(), None), (RBF(1.0), 10)):
        spectrum = CentredSpectrum.from_kernel_matrix(kernel(X), y)
        reduction = TridiagonalReduction.from_kernel_matrix(kernel(X), y)
        expected = cheap_and_cheerful(spectrum, n_parameters=k)
        found = cheap_and_cheerful(reduction, n_parameters=k)
        assert found.converged
        np.testing.assert_allclose(found[:2], expected[:2], rtol=1e-7)
    linear = TridiagonalReduction.from_kernel_matrix(Linear()(X), y)
    assert linear.rank == 2


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_iterations_that_run_away_end_where_gamma_has_left_its_range(scale):
    """Labels by chance have no mode (MacKay: γ → 0); without γ_eff γ grows without end. Units do not matter."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.permutation(np.repeat([-1.0, 1.0], 20))
    spectrum = CentredSpectrum.from_kernel_matrix(scale * RBF(1.5)(X), y)
    for iterate, options, ended in (
        (mackay_fixed_point, {}, lambda gamma: gamma * spectrum.lambda_max < 1e-8),
        (cheap_and_cheerful, {"n_parameters": 1}, lambda gamma: gamma > spectrum.gamma_max),
    ):
        end = iterate(spectrum, mu=scale, **options)
        before = iterate(spectrum, mu=scale, max_iter=end.iterations - 1, **options)
        assert not end.converged
        assert 10 < end.iterations < 30
        assert [ended(found.zeta / found.mu) for found in (before, end)] == [False, True]
