"""Diagnostics of chains: against draws whose properties are known, and the sentences of failed checks."""

from __future__ import annotations

import dataclasses
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logsumexp

from bayes_lssvm.base.arviz import datatree, read_netcdf, write_netcdf
from bayes_lssvm.sampling.chains import bfmi, rhat_and_ess
from bayes_lssvm.sampling.diagnostics import (
    ChainsDidNotMixError,
    ChainsDidNotMixWarning,
    Diagnostics,
    Thresholds,
    diagnose,
)
from bayes_lssvm.sampling.pareto import pareto_smooth

CHAINS, DRAWS = 4, 1000


def autoregressive(rng, rho, shape=()):
    """Chains with correlation ρ between neighbours and unit variance."""
    x = rng.normal(size=(CHAINS, DRAWS, *shape))
    for i in range(1, DRAWS):
        x[:, i] = rho * x[:, i - 1] + np.sqrt(1 - rho**2) * x[:, i]
    return x


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def good(rng):
    return {
        "draws": {"log_mu": rng.normal(size=(CHAINS, DRAWS)), "w": rng.normal(size=(CHAINS, DRAWS, 3))},
        "diverging": np.zeros((CHAINS, DRAWS), dtype=bool),
        "energy": rng.normal(size=(CHAINS, DRAWS)),
        "tree_depth_hits": np.zeros((CHAINS, DRAWS), dtype=bool),
        "acceptance": np.full((CHAINS, DRAWS), 0.9),
    }


def diagnosed(parts, **changes):
    parts = {**parts, **changes}
    return diagnose(parts.pop("draws"), **parts)


# --- statistics ----------------------------------------------------------------------------------------------------


def test_effective_sample_size_and_errors_of_an_autoregressive_chain(rng):
    """An AR(1) has ESS = n (1 − ρ)/(1 + ρ); its squares are AR-like with ρ²."""
    rho = 0.7
    statistics = rhat_and_ess({"x": 3.0 * autoregressive(rng, rho, (40,))})
    n = CHAINS * DRAWS
    ess, ess_squares = n * (1 - rho) / (1 + rho), n * (1 - rho**2) / (1 + rho**2)
    assert statistics.ess_bulk["x"].shape == (40,)
    assert statistics.ess_bulk["x"].mean() == pytest.approx(ess, rel=0.05)
    assert statistics.mcse_mean["x"].mean() == pytest.approx(3.0 / np.sqrt(ess), rel=0.05)
    assert statistics.mcse_sd["x"].mean() == pytest.approx(3.0 / np.sqrt(2.0 * ess_squares), rel=0.05)
    assert np.all(statistics.ess_tail["x"] > 0.2 * ess)
    assert np.all(statistics.rhat["x"] < 1.02)


def test_rhat_sees_a_chain_apart_and_a_chain_of_another_width(rng):
    x = rng.normal(size=(CHAINS, DRAWS))
    apart, wide = x.copy(), x.copy()
    apart[0] += 1.0
    wide[0] *= 3.0
    values = rhat_and_ess({"x": x, "apart": apart, "wide": wide}).rhat
    assert values["x"] < 1.01
    assert values["apart"] > 1.05
    assert values["wide"] > 1.05


def test_e_fmi_of_independent_energies_and_of_a_random_walk(rng):
    independent = rng.normal(size=(CHAINS, DRAWS))
    np.testing.assert_allclose(bfmi(independent), 2.0, atol=0.2)
    walk = np.cumsum(independent, axis=1)
    expected = np.mean(np.diff(walk, axis=1) ** 2, axis=1) / walk.var(axis=1, ddof=1)
    np.testing.assert_allclose(bfmi(walk), expected, rtol=1e-12)
    assert np.all(bfmi(walk) < 0.1)


# --- Pareto smoothing ----------------------------------------------------------------------------------------------


def test_a_weight_that_is_nothing_costs_the_others_no_digit():
    log_weights = np.random.default_rng(0).normal(size=400)
    with_nothing, k_hat = pareto_smooth(np.append(log_weights, -4e21))
    without, k_without = pareto_smooth(np.append(log_weights, -900.0))
    np.testing.assert_allclose(with_nothing[:-1], without[:-1], atol=1e-10)
    assert k_hat == pytest.approx(k_without, abs=1e-10)


@pytest.mark.parametrize("k", [0.2, 0.5, 0.9])
def test_the_shape_of_a_pareto_tail_is_found(k):
    """Weights u^(−k) of uniform u have a tail of shape k."""
    rng = np.random.default_rng(1)
    found = [pareto_smooth(-k * np.log(rng.uniform(size=4000)) - 1000.0)[1] for _ in range(20)]
    assert np.mean(found) == pytest.approx(k, abs=0.08)


def test_smoothing_keeps_the_scale_and_all_but_the_tail(rng):
    log_weights = 1.5 * rng.normal(size=2000) - 700.0
    log_weights[::10] = -np.inf
    smoothed, _ = pareto_smooth(log_weights)
    zero = np.isneginf(log_weights)
    assert np.array_equal(np.isneginf(smoothed), zero)
    ordered = np.argsort(log_weights)
    n_tail = int(3 * np.sqrt((~zero).sum()))
    body, tail = ordered[zero.sum() : -n_tail], ordered[-n_tail:]
    np.testing.assert_allclose(smoothed[body], log_weights[body], atol=1e-9)
    assert np.abs(smoothed[tail] - log_weights[tail]).max() > 0.01
    assert np.all(np.diff(smoothed[ordered[zero.sum() :]]) >= 0.0)
    # the mean weight is exp(−700 + 1.5²/2), nine tenths of it; smoothing does not move it by more than its error
    exact = -700.0 + 1.125 + np.log(0.9)
    assert logsumexp(smoothed) - np.log(2000) == pytest.approx(exact, abs=0.2)


def test_equal_weights_need_no_smoothing():
    smoothed, k_hat = pareto_smooth(np.full(100, -3.0))
    assert np.all(smoothed == -3.0)
    assert k_hat == -np.inf


def test_equal_largest_weights_among_many():
    log_weights = np.concatenate([np.linspace(-5, -1, 900), np.zeros(100)])
    smoothed, k_hat = pareto_smooth(log_weights)
    np.testing.assert_array_equal(smoothed, log_weights)
    assert k_hat == -np.inf


@pytest.mark.parametrize(
    "weights",
    [np.zeros(24), np.zeros((30, 2)), np.full(100, np.nan), np.r_[np.zeros(30), np.inf], -np.inf * np.ones(99)],
)
def test_weights_that_cannot_be_smoothed(weights):
    with pytest.raises(ValueError, match="at least 25 finite log weights"):
        pareto_smooth(weights)


# --- checks --------------------------------------------------------------------------------------------------------


def test_independent_draws_pass_every_check(good):
    result = diagnosed(good)
    assert result.ok
    assert result.failures == ()
    assert [check.name for check in result.checks] == [
        "R-hat", "bulk ESS", "tail ESS", "divergences", "E-FMI", "tree depth",
    ]  # fmt: skip
    assert set(result.rhat) == {"log_mu", "w[0]", "w[1]", "w[2]"}
    assert (result.n_chains, result.n_draws) == (CHAINS, DRAWS)
    assert result.acceptance == pytest.approx([0.9] * CHAINS)
    assert result.min_ess == min(*result.ess_bulk.values(), *result.ess_tail.values())
    assert "pass all 6 checks" in result.message()
    result.require()
    result.warn()


def faulty(good, kind):
    rng = np.random.default_rng(3)
    flags = np.zeros((CHAINS, DRAWS), dtype=bool)
    flags[0, :50] = True
    if kind == "R-hat":
        draws = {"log_mu": good["draws"]["log_mu"] + np.arange(CHAINS)[:, None]}
        return {"draws": {**good["draws"], **draws}}
    return {
        "bulk ESS": {"draws": {"log_mu": autoregressive(rng, 0.95)}},
        "tail ESS": {"draws": {"log_mu": autoregressive(rng, 0.95)}},
        "divergences": {"diverging": flags},
        "E-FMI": {"energy": np.cumsum(good["energy"], axis=1)},
        "tree depth": {"tree_depth_hits": flags},
    }[kind]


@pytest.mark.parametrize("kind", ["R-hat", "bulk ESS", "tail ESS", "divergences", "E-FMI", "tree depth"])
def test_each_fault_fails_its_check(good, kind):
    result = diagnosed(good, **faulty(good, kind))
    (check,) = [c for c in result.failures if c.name == kind]
    assert not result.ok
    with pytest.raises(ChainsDidNotMixError, match=re.escape(check.sentence)) as caught:
        result.require()
    assert caught.value.diagnostics is result
    assert "check=False" in str(caught.value)
    if kind in ("divergences", "E-FMI", "tree depth"):
        assert result.failures == (check,)
    with pytest.warns(ChainsDidNotMixWarning, match="did not mix"):
        result.warn()


def test_thresholds_are_the_callers(good):
    bad = diagnosed(good, **faulty(good, "divergences"))
    assert bad.divergences == 50
    assert diagnosed(good, **faulty(good, "divergences"), thresholds=Thresholds(divergences=50)).ok
    assert not diagnosed(good, thresholds=Thresholds(ess_per_chain=DRAWS * 2)).ok


def test_a_site_that_never_moves_fails(good):
    result = diagnosed(good, draws={**good["draws"], "stuck": np.ones((CHAINS, DRAWS))})
    assert np.isnan(result.rhat["stuck"])
    assert [c.name for c in result.failures] == ["R-hat"]
    assert "stuck" in result.message()


def test_one_chain_cannot_show_that_it_mixed(rng):
    result = diagnose({"x": rng.normal(size=(1, 1000))})
    assert [c.name for c in result.failures] == ["R-hat"]
    assert "run two or more" in result.message()
    assert len(result.checks) == 3  # nothing is known of divergences, energies and trees


def test_the_record_is_plain(good):
    record = json.loads(json.dumps(diagnosed(good).as_dict()))
    assert record["ok"]
    assert record["thresholds"] == dataclasses.asdict(Thresholds())
    assert {c["name"] for c in record["checks"]} >= {"R-hat", "divergences"}
    assert record["rhat"].keys() == record["mcse_sd"].keys()
    assert Diagnostics.from_dict(record).checks == diagnosed(good).checks


@pytest.mark.parametrize(
    "draws", [{}, {"x": np.zeros(9)}, {"x": np.zeros((2, 3))}, {"x": np.zeros((2, 9)), "y": np.zeros((2, 8))}]
)
def test_draws_of_the_wrong_shape(draws):
    with pytest.raises(ValueError, match=r"no draws|must have shape \(chains, draws"):
        diagnose(draws)


@pytest.mark.parametrize("bad", [{"rhat": 0.0}, {"ess_per_chain": np.inf}, {"divergences": -1}])
def test_thresholds_that_make_no_sense(bad):
    with pytest.raises(ValueError, match="threshold"):
        Thresholds(**bad)


def test_results_are_frozen(good):
    result = diagnosed(good)
    assert isinstance(result, Diagnostics)
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.divergences = 0


# --- data trees and files --------------------------------------------------------------------------------------------


@pytest.fixture
def tree(good):
    return datatree(
        {
            "posterior": good["draws"],
            "sample_stats": {"diverging": good["diverging"]},
            "observed_data": {"y": np.arange(5.0)},
        },
        dims={"w": ["feature"], "y": ["point"]},
        coords={"feature": ["a", "b", "c"]},
        attrs={"settings": {"seed": 1}, "n": 3, "flag": True},
    )


def test_a_tree_survives_a_file(tree, tmp_path):
    path = write_netcdf(tree, tmp_path / "posterior.nc")
    again = read_netcdf(path)
    assert again["posterior"]["w"].dims == ("chain", "draw", "feature")
    for group in ("posterior", "sample_stats", "observed_data"):
        assert again[group].to_dataset().identical(tree[group].to_dataset())
    assert json.loads(again.attrs["settings"]) == {"seed": 1}
    assert json.loads(again.attrs["flag"]) is True
    assert again.attrs["n"] == 3
    assert [p.name for p in tmp_path.iterdir()] == ["posterior.nc"]
    path.unlink()  # the data are in memory
    assert again["posterior"]["w"].values.shape == (CHAINS, DRAWS, 3)


def test_an_interrupted_write_leaves_the_old_file(tree, tmp_path, monkeypatch):
    path = write_netcdf(tree, tmp_path / "posterior.nc")
    before = path.read_bytes()

    def interrupted(self, target, **settings):
        Path(target).write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(type(tree), "to_netcdf", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_netcdf(tree, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["posterior.nc"]


def test_files_that_are_not_what_they_should_be(tree, tmp_path):
    whole = write_netcdf(tree, tmp_path / "whole.nc").read_bytes()
    (tmp_path / "cut.nc").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.nc").write_text("no netCDF")
    for name in ("cut.nc", "text.nc"):
        with pytest.raises(ValueError, match="cannot be read as a netCDF-4 file"):
            read_netcdf(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_netcdf(tmp_path / "none.nc")


def test_without_arviz_the_message_names_the_extra():
    code = """
import sys
for name in ("arviz_stats", "arviz_base", "h5netcdf"):
    sys.modules[name] = None
from bayes_lssvm.base import arviz as _arviz
calls = [
    lambda: _arviz.datatree({}),
    lambda: _arviz.read_netcdf("x.nc"),
]
for call in calls:
    try:
        call()
    except ImportError as error:
        assert 'pip install "bayes-lssvm[sampling]"' in str(error)
        print("named")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["named"] * 2, done.stderr


def test_one_module_imports_arviz():
    root = Path(__file__).parents[2]
    files = [p for folder in ("bayes_lssvm", "models", "validation") for p in (root / folder).rglob("*.py")]
    pattern = re.compile(r"^\s*(from|import) arviz", re.MULTILINE)
    found = [p.relative_to(root).as_posix() for p in files if pattern.search(p.read_text("utf-8"))]
    assert found == ["bayes_lssvm/base/arviz.py"]
