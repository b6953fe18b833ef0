"""Modes and proposals where units and masses are far apart."""

from __future__ import annotations

import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints

from bayes_lssvm.evidence.importance import importance
from bayes_lssvm.evidence.laplace import find_modes
from bayes_lssvm.evidence.numpyro_model import UnconstrainedModel


def flat_regression(X, y):
    beta = numpyro.sample("beta", dist.ImproperUniform(constraints.real_vector, (), (X.shape[1],)))
    sigma = numpyro.sample("sigma", dist.ImproperUniform(constraints.positive, (), ()))
    numpyro.sample("y", dist.Normal(X @ beta, sigma).to_event(1), obs=y)


def test_the_mode_is_found_from_every_start_whatever_the_units():
    # earnings in dollars on heights in inches: the curvatures of log σ and of the intercept differ by 10¹¹
    rng = np.random.default_rng(5)
    height = rng.normal(66.0, 4.0, 1000)
    X = np.column_stack([np.ones(1000), height])
    y = -6e4 + 1200.0 * height + 19000.0 * rng.normal(size=1000)
    density = UnconstrainedModel.of(flat_regression, (X, y), {})
    n, d = X.shape
    beta = np.linalg.lstsq(X, y, rcond=None)[0]
    sigma2 = np.sum((y - X @ beta) ** 2) / (n - 1)  # with the Jacobian of log σ
    peak = -0.5 * n * np.log(2 * np.pi) - 0.5 * (n - 1) * (np.log(sigma2) + 1)
    mass = peak + 0.5 * (d + 1) * np.log(2 * np.pi) - 0.5 * np.log(2 * (n - 1))
    mass += 0.5 * d * np.log(sigma2) - 0.5 * np.linalg.slogdet(X.T @ X)[1]
    for start in density.starts(4, 2):
        (mode,) = find_modes(density, start[None])
        apart = mode.position - [*beta, 0.5 * np.log(sigma2)]
        assert np.max(np.abs(apart) / np.sqrt(np.diag(mode.covariance))) < 1e-3
        assert mode.log_mass == pytest.approx(mass, abs=1e-4)


def test_a_part_without_mass_adds_nothing_and_warns_of_nothing():
    def log_density(x):
        return -0.5 * np.sum(x**2, axis=1)

    part = (np.zeros(2), np.eye(2))
    alone = importance(log_density, [part], seed=1)
    both = importance(log_density, [part, (np.full(2, 9.0), np.eye(2))], weights=(1.0, 0.0), seed=1)
    truth = np.log(2 * np.pi)
    assert abs(alone.log_z - truth) < 4 * alone.standard_error
    assert abs(both.log_z - truth) < 4 * both.standard_error
