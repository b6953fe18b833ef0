"""`marginalise(method="nuts")`: agreement with quadrature in Monte-Carlo errors, files, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm import HyperPosterior, marginalise
from bayes_lssvm.kernels import RBF
from bayes_lssvm.priors import Flat, HyperPrior, ImproperPriorError, Normal
from bayes_lssvm.sampling.diagnostics import ChainsDidNotMixError, ChainsDidNotMixWarning

PRIOR = HyperPrior(kernel=Normal(0, 1))


@pytest.fixture(scope="module")
def ripley_by(ripley_standardised):
    """NUTS and quadrature over μ, ζ and σ."""
    return tuple(
        marginalise(*ripley_standardised, kernel=RBF(1.0), prior=PRIOR, method=method, seed=4, standardise=False)
        for method in ("nuts", "quadrature")
    )


def test_moments_and_evidence_agree_with_quadrature(ripley_by):
    nuts, exact = ripley_by
    chains = nuts.diagnostics["chains"]
    assert chains["ok"]
    for name in ("log_mu", "log_zeta", "log_sigma"):
        assert abs(nuts.mean()[name] - exact.mean()[name]) < 4 * chains["mcse_mean"][name]
        assert abs(nuts.sd()[name] - exact.sd()[name]) < 4 * chains["mcse_sd"][name]
    assert nuts.log_evidence_error < 0.005
    assert abs(nuts.log_evidence - exact.log_evidence) < 3 * nuts.log_evidence_error
    assert nuts.diagnostics["correction"]["max_error"] < 1e-6
    assert not nuts.diagnostics["correction"]["corrected"]


def test_predictions_agree_with_quadrature(ripley_by, ripley, ripley_standardised):
    nuts, exact = ripley_by
    new = ripley_standardised[0][::5]
    assert nuts.predict_proba(new) == pytest.approx(exact.predict_proba(new), abs=5e-3)
    mean, std = nuts.predict(new, return_std=True)
    other = exact.predict(new, return_std=True)
    assert mean == pytest.approx(other[0], abs=0.01)
    assert std == pytest.approx(other[1], rel=0.01)


def test_chains_go_to_arviz_and_come_back_from_a_file(ripley_by, tmp_path):
    nuts, _ = ripley_by
    tree = nuts.to_arviz(draws=400)
    assert tree["posterior"].sizes == {"chain": 4, "draw": 100}
    assert {"lp", "diverging", "energy", "n_steps", "tree_depth", "acceptance_rate"} == set(tree["sample_stats"])
    again = HyperPosterior.load(nuts.save(tmp_path / "nuts.nc"))
    assert np.array_equal(again.chains.points, nuts.chains.points)
    assert again.log_evidence == nuts.log_evidence
    assert again.diagnostics["chains"]["ok"]
    assert np.array_equal(again.to_arviz(draws=400)["posterior"]["mu"], tree["posterior"]["mu"])


def test_draws_belong_to_their_seed(ripley_standardised):
    X, y = ripley_standardised
    options = {"kernel": RBF(1.311), "fixed_kernel": True, "method": "nuts", "draws": 500}
    first, again, other = (marginalise(X, y, seed=seed, **options, standardise=False) for seed in (1, 1, 2))
    assert np.array_equal(first.nodes, again.nodes)
    assert first.log_evidence == again.log_evidence
    assert not np.array_equal(first.nodes, other.nodes)


def test_a_flat_prior_is_refused_with_the_reason(ripley_standardised):
    with pytest.raises(ImproperPriorError, match="tends to a constant as γ → 0"):
        marginalise(*ripley_standardised, prior=Flat(), method="nuts", standardise=False)


def test_chains_that_do_not_mix_are_an_error_unless_asked_for(ripley_standardised):
    X, y = ripley_standardised
    options = {"kernel": RBF(1.311), "fixed_kernel": True, "method": "nuts", "warmup": 1, "draws": 20}
    with pytest.raises(ChainsDidNotMixError, match="effective sample size"):
        marginalise(X, y, **options, standardise=False)
    with pytest.warns(ChainsDidNotMixWarning, match="effective sample size"):
        posterior = marginalise(X, y, check=False, **options, standardise=False)
    assert not posterior.diagnostics["chains"]["ok"]


@pytest.mark.parametrize(("name", "value"), [("draws", 0), ("chains", -1), ("warmup", 2.5)])
def test_counts_must_be_counts(name, value, ripley_standardised):
    with pytest.raises(ValueError, match=f"{name} must be a positive whole number"):
        marginalise(*ripley_standardised, method="nuts", **{name: value}, standardise=False)
