"""Statistics of chains and Pareto smoothing, held against ArviZ's."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm.sampling.chains import ChainStatistics, bfmi, rhat_and_ess
from bayes_lssvm.sampling.pareto import pareto_smooth

stats = pytest.importorskip("arviz_stats.base.array", reason="ArviZ is not installed").array_stats
AXES = {"chain_axis": 0, "draw_axis": 1}


def chains(rng, n_chains, n_draws, rho):
    x = rng.normal(size=(n_chains, n_draws, 2))
    for i in range(1, n_draws):
        x[:, i] = rho * x[:, i - 1] + np.sqrt(1.0 - rho**2) * x[:, i]
    return x


def by_arviz(x):
    with np.errstate(all="ignore"):
        return ChainStatistics(
            stats.rhat(x, **AXES),
            stats.ess(x, method="bulk", **AXES),
            stats.ess(x, method="tail", prob=0.05, **AXES),
            stats.mcse(x, method="mean", **AXES),
            stats.mcse((x - x.mean(axis=(0, 1))) ** 2, method="mean", **AXES) / (2.0 * x.std(axis=(0, 1))),
        )


def assert_as_arviz(x):
    found, theirs = rhat_and_ess({"x": x}), by_arviz(x)
    for name in ChainStatistics._fields:
        np.testing.assert_allclose(getattr(found, name)["x"], getattr(theirs, name), rtol=1e-11, err_msg=name)


@pytest.mark.parametrize("rho", [-0.95, -0.5, 0.0, 0.3, 0.9, 0.99])
@pytest.mark.parametrize(("n_chains", "n_draws"), [(1, 100), (2, 4), (2, 5), (3, 9), (4, 10), (4, 11), (5, 301)])
def test_chains_of_any_length_and_correlation(rho, n_chains, n_draws):
    x = chains(np.random.default_rng(n_draws), n_chains, n_draws, rho)
    assert_as_arviz(x)
    assert_as_arviz(np.round(x, 1))  # with ties


def test_chains_that_disagree():
    x = chains(np.random.default_rng(0), 4, 200, 0.5)
    x[0] += 3.0
    x[1] *= 5.0
    assert_as_arviz(x)


def test_scalars_keep_their_shape():
    x = np.random.default_rng(0).normal(size=(2, 50, 3, 2))
    found = rhat_and_ess({"x": x, "y": x[..., 1, 0]})
    assert found.rhat["x"].shape == (3, 2)
    assert found.mcse_sd["y"].shape == ()
    for name in ChainStatistics._fields:
        assert getattr(found, name)["x"][1, 0] == getattr(found, name)["y"]


def test_what_has_no_statistics():
    x = np.random.default_rng(0).normal(size=(2, 50, 2))
    x[0, 3, 1] = np.nan
    found = rhat_and_ess({"x": x, "short": x[:, :3], "constant": np.ones((2, 50))})
    for name in ChainStatistics._fields:
        assert np.isnan(getattr(found, name)["x"][1])
        assert np.isfinite(getattr(found, name)["x"][0])
        assert np.isnan(getattr(found, name)["short"]).all()
    assert np.isnan(found.rhat["constant"])
    assert found.ess_bulk["constant"] == 100


def test_constants_that_differ_between_chains_do_not_pass():
    assert not rhat_and_ess({"x": np.repeat([[0.0], [3.0]], 50, axis=1)}).rhat["x"] < 1e6


def test_energies():
    energy = np.cumsum(np.random.default_rng(0).normal(size=(3, 80)), axis=1)
    np.testing.assert_allclose(bfmi(energy), stats.bfmi(energy, **AXES), rtol=1e-12)


@pytest.mark.parametrize("spread", [1e-3, 0.3, 1.0, 3.0, 10.0, 100.0])
@pytest.mark.parametrize("n", [25, 26, 224, 225, 226, 1000, 3000])
def test_smoothed_weights(spread, n):
    log_weights = spread * np.random.default_rng(n).normal(size=n) + 50.0
    with np.errstate(all="ignore"):
        normalised, theirs = stats.psislw(-log_weights)  # ArviZ takes the reciprocal, as of leave-one-out weights
    smoothed, k_hat = pareto_smooth(log_weights)
    lowest = int(np.argmin(log_weights))  # never in the tail
    if np.isnan(theirs):  # from 1.3 on ArviZ fits nothing where the first quartile of a tail is its smallest point
        assert n // 5 == 5
        assert np.isfinite(k_hat)
        return
    assert k_hat == pytest.approx(float(theirs), abs=1e-11)
    assert smoothed[lowest] == log_weights[lowest]
    np.testing.assert_allclose(smoothed - smoothed[lowest], normalised - normalised[lowest], atol=1e-10)


def test_ties_at_the_cutoff_leave_no_fit():
    log_weights = np.repeat(np.log([1.0, 2.0, 3.0]), [100, 880, 20])
    smoothed, k_hat = pareto_smooth(log_weights)
    assert k_hat == np.inf
    np.testing.assert_array_equal(smoothed, log_weights)
