"""Chains that fail are run again within a budget, and say what stands against them in the end."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm.kernels import RBF, Linear
from bayes_lssvm.sampling.diagnostics import Diagnostics
from models import WeightSpace, features
from validation import sampled
from validation.ladder import PRIOR


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(24, 2))
    X[12:] = X[:12]  # every row twice
    return X, np.where(X[:, 0] + 0.3 * rng.normal(size=24) > 0.8, 1.0, -1.0)


def test_chains_that_fail_are_run_again_for_longer(rows):
    X, y = rows
    short = {"draws": 60, "warmup": 100, "chains": 4}
    found = sampled.sample_collapsed(X, y, short, 1, kernel=Linear(), prior=PRIOR, fixed_kernel=True)
    assert found.attempts > 1  # 240 draws cannot be worth 400
    assert found.draws["log_mu"].shape[1] == 60 * sampled.ATTEMPTS[found.attempts - 1].length
    assert found.checks[-1].name == "attempts"
    assert f"run {found.attempts} times (at most {len(sampled.ATTEMPTS)})" in found.checks[-1].sentence
    long = sampled.sample_collapsed(X, y, {"draws": 500, "warmup": 300}, 1, kernel=Linear(), prior=PRIOR)
    assert long.attempts == 1
    assert "attempts" not in {check.name for check in long.checks}


@pytest.mark.slow
def test_what_cannot_be_sampled_says_what_the_data_have_to_do_with_it(rows, monkeypatch):
    X, y = rows
    monkeypatch.setattr(sampled, "ATTEMPTS", (sampled.Attempt(0.8, 1, 0.0),))
    program = WeightSpace(PRIOR, whitened=True)
    arguments = program.data(features(Linear(), X), y)
    found = sampled.sample_program(program, arguments, {"draws": 20, "warmup": 50}, 1)
    assert not found.diagnostics.ok
    failed = [c for c in sampled.why(found, X, y, RBF(1.0)).checks if not c.passed]
    distinct = len(np.unique(np.column_stack([X, y]), axis=0))
    assert failed
    for check in failed:
        assert f"{24 - distinct} of 24 rows repeat another" in check.sentence
        assert "RBF" in check.sentence
    assert "times the draws and warm-up" in sampled.BUDGET


def test_a_divergence_in_thousands_at_short_steps_is_no_failure():
    """One of 6000 is run again; one of 12000 then is let pass, thirteen are not."""

    def diagnosed(divergences, draws):
        good = {name: {"x": 1.0} for name in ("rhat", "mcse_mean", "mcse_sd")}
        good |= {name: {"x": 5000.0} for name in ("ess_bulk", "ess_tail")}
        return Diagnostics(**good, n_chains=4, n_draws=draws, divergences=divergences)

    runs = {1: diagnosed(1, 1500), 2: diagnosed(1, 3000), 4: diagnosed(13, 3000)}
    _, said, attempts = sampled._tried(lambda target, length, seed: runs[length], lambda found: found, 0)
    assert (attempts, said.ok, said.n_draws) == (2, True, 3000)
    runs[2] = runs[4]
    _, said, attempts = sampled._tried(lambda target, length, seed: runs[length], lambda found: found, 0)
    assert (attempts, said.ok) == (len(sampled.ATTEMPTS), False)


def test_chains_from_which_the_bridge_asks_for_more_draws_are_run_again(rows, monkeypatch):
    """Draws that are enough for means may move between modes too seldom for an integral."""
    X, y = rows
    settings = {"draws": 500, "warmup": 300}
    asked = iter([("only 81 effective draws in a half: draw more",)])
    true = sampled._concerns_of
    monkeypatch.setattr(sampled, "_concerns_of", lambda rung: next(asked, None) or true(rung))
    found = sampled.sample_collapsed(X, y, settings, 1, kernel=Linear(), prior=PRIOR)
    assert found.attempts == 2
    assert found.draws["log_mu"].shape[1] == 500 * sampled.ATTEMPTS[1].length
    assert found.concerns == ()


def test_draws_with_weights_are_repeated_by_them():
    x = np.arange(8.0).reshape(2, 4)
    weights = np.array([1.0, 1.0, 0.0, 2.0, 4.0, 0.0, 0.0, 0.0])
    assert sampled._resampled({"x": x}, weights)["x"].tolist() == [[0.0, 1.0, 3.0, 3.0], [4.0] * 4]
