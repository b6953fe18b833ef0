"""The numbers behind the pictures of `docs/papers/pictures.md`, by other formulas."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.kernels import Linear
from bayes_lssvm.levels.fisher import fisher_discriminant
from reports.draw.papers import ellipse, line_posterior, projected, two_normal_classes, volume


@pytest.fixture(scope="module")
def classes():
    X, y = two_normal_classes()
    return X, y, projected(X, y)


def test_the_projected_centres_of_figure_1_are_those_of_fishers_discriminant(classes):
    """By the identity after 2.30 they are 2ρ/(1 + ρ) apart, with ρ = (N₊N₋/N) (m̂₊ − m̂₋)ᵀw, so never at ±1."""
    X, y, found = classes
    gamma = BayesianLSSVC(Linear(), prior="flat", standardise=False).fit(X, y).gamma_
    ratio = len(y) / 4.0 * fisher_discriminant(Linear()(X), y, gamma).separation
    assert found.centres[1.0] - found.centres[-1.0] == pytest.approx(2.0 * ratio / (1.0 + ratio), rel=1e-9)
    assert found.centres[1.0] == pytest.approx(-found.centres[-1.0], abs=1e-12)  # as many of each class
    np.testing.assert_allclose(X @ found.w + found.b, found.outputs, atol=1e-12)


def test_the_outputs_of_figure_1_are_normal_about_their_centres_and_not_about_the_targets(classes):
    """1/ζ is 1/ζ_* and the squared distance of centres and targets, but for the degrees of freedom of both."""
    _, y, found = classes
    away = 1.0 - found.centres[1.0]
    spread = np.mean((found.outputs - np.where(y > 0, found.centres[1.0], found.centres[-1.0])) ** 2)
    assert 1.0 / found.zeta_star == pytest.approx(spread, rel=0.01)  # γ_eff = 3 of 400
    assert 1.0 / found.zeta == pytest.approx(spread + away**2, rel=0.01)
    within = np.mean(np.abs(found.outputs[y > 0] - found.centres[1.0]) < found.zeta_star**-0.5)
    assert within == pytest.approx(norm.cdf(1.0) - norm.cdf(-1.0), abs=3.0 * np.sqrt(0.68 * 0.32 / 200))


@pytest.mark.parametrize("n", [20, 320])
def test_the_ellipsoid_is_that_of_the_hessian_and_has_its_volume(n):
    """Paper 4, level 2: {θ : (θ − θ_MP)ᵀH(θ − θ_MP) ≤ 1}, of volume π/√det H; H is made from the data here."""
    x, y, posterior = line_posterior(n)
    G = np.hstack([x, np.ones((n, 1))])
    H = posterior.zeta * G.T @ G + np.diag([posterior.mu, 0.0])
    middle = np.linalg.solve(H, posterior.zeta * G.T @ y)
    edge = ellipse(posterior, 2.0, n=2001)
    squares = np.einsum("ij,jk,ik->i", edge - middle, H, edge - middle)
    np.testing.assert_allclose(squares, 4.0, rtol=1e-9)
    area = 0.5 * abs(np.sum(edge[:-1, 0] * edge[1:, 1] - edge[1:, 0] * edge[:-1, 1]))
    assert area == pytest.approx(4.0 * volume(posterior), rel=1e-5)
    assert volume(posterior) == pytest.approx(np.pi / np.sqrt(np.linalg.det(H)), rel=1e-9)
