"""Jumps of the collapsed sampler: between the modes of its table, and of kernel parameters with fresh μ and ζ."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm.kernels import RBF
from bayes_lssvm.marginal import marginalise
from bayes_lssvm.marginal.density import Density
from bayes_lssvm.marginal.draws import jumps
from bayes_lssvm.marginal.draws.kernel_jumps import GivenKernel, KernelJumps
from bayes_lssvm.marginal.draws.nuts import sample_table
from bayes_lssvm.marginal.draws.surfaces import fixed_kernel_surface
from bayes_lssvm.marginal.draws.table import Table, polynomials, tabulate, to_box
from bayes_lssvm.marginal.draws.unbounded import Unbounded
from bayes_lssvm.marginal.rules.level2 import integrate
from bayes_lssvm.priors import Box, HyperPrior, Normal
from bayes_lssvm.sampling.chains import rhat_and_ess

PRIOR = HyperPrior(Normal(0.0, 3.0), Normal(0.0, 3.0), Normal(0.0, 1.0))


def test_modes_of_a_grid():
    x = np.linspace(-4.0, 4.0, 81)
    two = np.logaddexp(-2.0 * (x + 2.0) ** 2, -2.0 * (x - 2.0) ** 2 - 1.0)
    assert [x[i] for (i,) in jumps.peaks(two - two.max())] == pytest.approx([-2.0, 2.0])
    shoulder = np.logaddexp(-0.5 * x**2, -2.0 * (x - 2.0) ** 2 - 3.0)
    assert len(jumps.peaks(shoulder - shoulder.max())) == 1
    far = np.logaddexp(-2.0 * (x + 2.0) ** 2, -2.0 * (x - 2.0) ** 2 - 20.0)
    assert len(jumps.peaks(far - far.max())) == 1  # too little to be drawn ever
    u, v = np.meshgrid(x, x, indexing="ij")
    hills = [-((u - a) ** 2) - (v - b) ** 2 for a, b in ((-2, -2), (2, 2), (-2, 2))]
    three = np.logaddexp.reduce(hills)
    assert len(jumps.peaks(three - three.max())) == 3
    ridge = -5.0 * (u - v) ** 2 - 0.05 * (u + v) ** 2  # a slanted ridge on a grid has no modes of its own
    assert len(jumps.peaks(ridge - ridge.max())) == 1


@pytest.fixture(scope="module")
def wide(ripley_standardised):
    """The table of a kernel far too wide for Ripley's data, whose two hills NUTS joins by itself."""
    X, y = ripley_standardised
    parts = PRIOR.components(0)
    return tabulate(fixed_kernel_surface(Density(X, y, RBF(10.0), parts)), parts)


def test_cells_are_proposed_by_their_mass(wide):
    assert jumps.n_modes(wide) == 1
    log_probabilities = jumps.cell_log_probabilities(wide)
    assert np.exp(log_probabilities).sum() == pytest.approx(1.0)
    assert log_probabilities.shape == tuple(n - 1 for n in wide.grid.shape)
    middle = 0.5 * (np.exp(wide.grid[1:]) + np.exp(wide.grid[:-1]))
    np.testing.assert_allclose(np.exp(log_probabilities), 0.999 * middle / middle.sum() + 0.001 / middle.size)


def deep(table: Table) -> Table:
    """The same axes with two narrow hills that NUTS does not join, of a quarter and three quarters of the mass."""
    share = np.linspace(0.0, 1.0, len(table.grid))
    hills = np.logaddexp(
        np.log(0.25) - 0.5 * ((share - 0.2) / 0.02) ** 2, np.log(0.75) - 0.5 * ((share - 0.8) / 0.02) ** 2
    )

    hills = np.maximum(hills, hills.max() - 300.0)
    stretched = np.zeros(1, dtype=bool)
    peak = float(hills.max())
    return Table(table.low, table.high, stretched, polynomials([share], hills - peak), hills, peak)


def test_chains_find_both_hills_in_proportion(wide):
    table = deep(wide)
    assert jumps.n_modes(table) == 2
    starts = np.column_stack([np.zeros(4), np.full(4, np.log(0.25))])  # share 0.2, all in the smaller one
    found = sample_table(table, starts, warmup=200, draws=1000, target_accept=0.8, seed=1)
    share = (to_box(found.z[..., 1:], table.low, table.high)[..., 0] - table.low[0]) / (table.high[0] - table.low[0])
    right = (share > 0.5).astype(float)
    assert abs(right.mean() - 0.75) < 4.0 * rhat_and_ess({"right": right}).mcse_mean["right"]
    assert np.std(share[share < 0.5]) == pytest.approx(0.02, rel=0.1)
    assert np.std(found.z[..., 0]) == pytest.approx(1.0, abs=0.05)


# --- jumps of kernel parameters, beside NUTS on the exact density ----------------------------------------------------


def small(n=12):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 2))
    return X, np.sin(1.5 * X[:, 0]) + 0.3 * rng.normal(size=n)


@pytest.mark.parametrize(("prior", "share"), [(Normal(0.0, 3.0), 0.8), (Box(-2.0, 2.0), 0.3)], ids=str)
def test_level_2_given_the_kernel_is_drawn_nearly_as_it_is(prior, share):
    """Importance weights of the draws: their mean is the integral, and they are alike but where a bound cuts them."""
    X, y = small()
    parts = (prior, prior, Normal(0.0, 1.0))
    reduction = Density(X, y, RBF(1.0), parts).reduction(RBF(1.0))
    given, rng = GivenKernel.of(reduction, parts), np.random.default_rng(0)
    drawn = [given.draw(rng) for _ in range(1500)]
    log_z = integrate(reduction, prior, prior).log_z
    weights = np.exp([given.log_ratio(*point) - log_z for point in drawn])
    assert abs(weights.mean() - 1.0) < 4.0 * weights.std() / np.sqrt(1500)
    assert weights.mean() ** 2 / np.mean(weights**2) > share


@pytest.mark.slow
def test_jumps_alone_draw_the_posterior():
    """One free parameter, where quadrature knows the answer; a better proposal is learnt on the way."""
    X, y = small()
    prior = HyperPrior(Normal(0.0, 3.0), Normal(0.0, 3.0), Box(-1.5, 1.5))
    unbounded = Unbounded(Density(X, y, RBF(1.0), prior.components(1)))
    jump = KernelJumps(unbounded, [(np.zeros(3), 1.5 * np.eye(3))], np.random.default_rng(1))
    z, drawn = np.zeros(3), []
    for i in range(1700):
        new = jump(z, i < 200)
        z = z if new is None else new
        drawn.append(unbounded.point(z))
    points = np.array(drawn[200:])[None]
    exact = marginalise(X, y, kernel=RBF(1.0), prior=prior, standardise=False)
    statistics = rhat_and_ess({"x": points})
    assert statistics.ess_bulk["x"].min() > 200
    for i, name in enumerate(("log_mu", "log_zeta", "log_sigma")):
        assert abs(points[..., i].mean() - exact.mean()[name]) < 4.0 * statistics.mcse_mean["x"][i], name
        assert abs(points[..., i].std() - exact.sd()[name]) < 4.0 * statistics.mcse_sd["x"][i], name
