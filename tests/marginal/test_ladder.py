"""The ladder: every rung on one prior, against the measured numbers and against what each rung is made of."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm import marginalise
from bayes_lssvm.base.errors import quiet
from bayes_lssvm.kernels import RBF, Linear
from bayes_lssvm.levels.level3 import evidence_of
from bayes_lssvm.marginal.ladder import RUNGS, bridge_check, quadrature_check
from bayes_lssvm.priors import Flat, HyperPrior, ImproperPriorError, Normal
from bayes_lssvm.trust import ladder

BROAD = HyperPrior(Normal(0.0, 10.0), Normal(0.0, 10.0))


def test_rungs_on_a_broad_prior_are_as_measured(ripley_standardised):
    """MacKay and the Hessian minus the integral, in nats."""
    for kernel, mackay, hessian in ((RBF(1.311), -0.114, -0.003), (Linear(), -0.084, -0.080)):
        found = ladder(*ripley_standardised, kernel=kernel, prior=BROAD, fixed_kernel=True, progress=False)
        exact = found["quadrature"].log_evidence
        assert [rung.method for rung in found] == ["mackay", "hessian", "laplace", "importance", "quadrature"]
        # 5.2 knows the prior's widths and takes it to be centred at the mode
        mode = np.array(list(found["mackay"].mean.values()))
        exact += float(BROAD.log_density(np.zeros(2)) - BROAD.log_density(mode))
        assert found["mackay"].log_evidence - exact == pytest.approx(mackay, abs=1e-3)
        assert found["hessian"].log_evidence - exact == pytest.approx(hessian, abs=1e-3)
        error = found["importance"].log_evidence - found["quadrature"].log_evidence
        assert abs(error) < 4.0 * found["importance"].error
        assert all(check.passed for rung in found for check in rung.checks)


def test_closed_forms_are_level_3s(ripley_standardised):
    X, y = ripley_standardised
    found = ladder(X, y, kernel=RBF(4.0), rungs=("hessian", "mackay"), fixed_kernel=True)
    closed = evidence_of(RBF(4.0)(X), y)
    assert [rung.method for rung in found] == ["mackay", "hessian"]
    assert found["mackay"].log_evidence == pytest.approx(closed.log_evidence, rel=1e-10)
    assert found["mackay"].sd["log_mu"] == pytest.approx(closed.mackay.log_mu, rel=1e-8)
    assert found["hessian"].sd == pytest.approx({"log_mu": 0.873, "log_zeta": closed.hessian.log_zeta}, abs=1e-3)
    assert found["hessian"].correlation[0, 1] == pytest.approx(closed.hessian.correlation, rel=1e-8)
    assert found.level3.log_evidence_without_occam == pytest.approx(closed.log_evidence_without_occam, rel=1e-10)
    with pytest.raises(ValueError, match="has no posterior to predict with"):
        found["mackay"].integral.predict(X)


def test_a_free_parameter_is_part_of_every_rung(ripley_standardised):
    X, y = ripley_standardised
    prior = HyperPrior(kernel=Normal(0.0, 1.0))
    found = ladder(X[::3], y[::3], prior=prior, draws=300, tolerance=1e-3, progress=False)
    assert [rung.method for rung in found] == ["mackay", "laplace", "importance", "quadrature"]
    assert all(list(rung.sd) == ["log_mu", "log_zeta", "log_sigma"] for rung in found)
    exact = marginalise(X[::3], y[::3], prior=prior, tolerance=1e-3, progress=False, standardise=False)
    assert found["quadrature"].log_evidence == exact.log_evidence
    assert found["quadrature"].mean["log_sigma"] == exact.mean()["log_sigma"]
    assert found["quadrature"].checks == (quadrature_check(exact.log_evidence_error),)


def test_a_gaussian_has_its_own_tails():
    rng = np.random.default_rng(0)
    rung = ladder(rng.normal(size=(30, 2)), rng.normal(size=30), kernel=RBF(2.0), rungs=("laplace",), fixed_kernel=True)
    gaussian = rung["laplace"]
    assert gaussian.mass_beyond(gaussian.integral.nodes[:, :2]) == pytest.approx(0.0027, abs=0.002)
    far = np.array(list(gaussian.mean.values())) + np.array([[0.0, 0.0], [100.0, 0.0]])
    assert gaussian.mass_beyond(far, np.array([0.7, 0.3])) == pytest.approx(0.3)


def test_a_rung_without_a_mode_says_why(ripley_standardised, monkeypatch):
    X, y = ripley_standardised
    labels = np.random.default_rng(0).permutation(y)

    def no_mode(*_, **__):
        raise ValueError("The posterior has no mode with curvature.")

    with quiet():
        lost = ladder(X, labels, kernel=RBF(1.3), rungs=("mackay",), fixed_kernel=True)["mackay"]
    monkeypatch.setattr("bayes_lssvm.marginal.ladder.integrated", no_mode)
    found = ladder(X, y, kernel=RBF(1.3), rungs=("laplace",), fixed_kernel=True)
    assert list(found) == []
    assert "no mode" in found.missing["laplace"]
    with pytest.raises(ValueError, match="no mode"):
        found["laplace"]
    with pytest.raises(KeyError, match="has no approximation 'nuts'"):
        found["nuts"]
    assert [check.passed for check in lost.checks] == [False]
    assert lost.sd["log_mu"] == 3.0  # no wider than the prior


def test_bad_calls_get_a_sentence(ripley_standardised):
    X, y = ripley_standardised
    assert RUNGS[0] == "mackay"
    with pytest.raises(
        ValueError, match="approximations are mackay, laplace, importance, quadrature, nuts; got hessian, ccd"
    ):
        ladder(X, y, kernel="rbf", rungs=("hessian", "ccd"))
    with pytest.raises(ImproperPriorError, match="tends to a constant"):
        ladder(X, y, kernel="rbf", prior=Flat())
    with pytest.raises(ValueError, match="NaN"):
        ladder(np.full((9, 2), np.nan), np.ones(9), rungs=("laplace",))
    with pytest.raises(ValueError, match="whole number as its seed"):
        ladder(X, y, kernel="linear", rungs=("nuts",), seed=np.random.default_rng(0))


def test_checks_have_limits():
    assert quadrature_check(1e-4).passed
    assert not quadrature_check(2e-4).passed
    assert not quadrature_check(float("nan")).passed
    assert bridge_check(()).passed
    assert "too few draws" in bridge_check(("too few draws",)).sentence
