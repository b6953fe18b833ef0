"""Appendix A: the variance from the leading eigenvalues, what is left out, and the rank that is worth its work."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayes_lssvm.kernels import RBF, Polynomial
from bayes_lssvm.levels.level1 import DualPosterior, PrimalPosterior
from bayes_lssvm.levels.truncated import LeadingSpectrum, optimal_rank, truncation_errors

MU, ZETA = 0.7, 3.0


def features(n=12, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * [2.0, 1.0, 0.5, 0.1][:d]


def centred_gram(F):
    C = F - F.mean(axis=0)
    return C.T @ C


def inverse(G):
    return np.linalg.solve(MU * np.eye(len(G)) + ZETA * G, np.eye(len(G)))


def with_some(G, kept):
    values, P = np.linalg.eigh(G)
    return (P[:, kept] * values[list(kept)]) @ P[:, kept].T


def test_the_error_of_a_truncation_in_feature_space():
    G = centred_gram(features())
    values = np.linalg.eigvalsh(G)
    found = truncation_errors(values, MU, ZETA)
    for r in range(5):
        largest = list(range(4 - r, 4))
        assert found[r] == pytest.approx(np.linalg.norm(inverse(G) - inverse(with_some(G, largest))), abs=1e-12)


def test_no_other_choice_of_eigenvalues_comes_closer():
    G = centred_gram(features())
    found = truncation_errors(np.linalg.eigvalsh(G), MU, ZETA)
    for r in range(1, 4):
        others = [np.linalg.norm(inverse(G) - inverse(with_some(G, list(kept)))) for kept in combinations(range(4), r)]
        assert min(others) == pytest.approx(found[r], abs=1e-12)


def test_the_rank_that_is_worth_its_work():
    values = np.array([1e-6, 3.0, 0.5, 1e-4])
    errors = truncation_errors(values, MU, ZETA)
    for tolerance in (1e-1, 1e-3, 1e-9):
        r = optimal_rank(values, MU, ZETA, tolerance=tolerance)
        assert errors[r] <= tolerance / MU
        assert r == 0 or errors[r - 1] > tolerance / MU
    assert optimal_rank(values, MU, ZETA, tolerance=1e-3) == 2
    for r in range(4):  # the error in units of 1/μ is what the tolerance is held against
        assert optimal_rank(values, MU, ZETA, tolerance=1.001 * MU * errors[r]) == r
        assert optimal_rank(values, MU, ZETA, tolerance=0.999 * MU * errors[r]) == r + 1
    with pytest.raises(ValueError, match="tolerance"):
        optimal_rank(values, MU, ZETA, tolerance=0.0)


@settings(deadline=None)
@given(seed=st.integers(0, 2**16), rank=st.integers(1, 12))
def test_the_variance_only_grows(seed, rank):
    rng = np.random.default_rng(seed)
    X, new = rng.normal(size=(14, 2)), rng.normal(scale=2.0, size=(6, 2))
    kernel = RBF(float(np.exp(rng.normal())))
    mu, zeta = np.exp(rng.normal(size=2))
    exact = DualPosterior.from_kernel_matrix(kernel, X, kernel(X), rng.normal(size=14), mu=mu, zeta=zeta)
    variances = [LeadingSpectrum.of(kernel, X, r).latent_variance(new, mu, zeta) for r in (rank, rank + 1, 13)]
    slack = 1e-9 * variances[0]
    assert np.all(variances[0] >= variances[1] - slack)
    assert np.all(variances[1] >= exact.latent_variance(new) - slack)
    np.testing.assert_allclose(variances[2], exact.latent_variance(new), rtol=1e-6)


def test_leading_eigenvalues_by_iteration_are_those_of_the_decomposition():
    X = np.random.default_rng(1).normal(size=(60, 3))
    kernel = RBF(1.5)
    K = kernel(X)
    M = np.eye(60) - 1.0 / 60
    expected = np.linalg.eigvalsh(M @ K @ M)[::-1][:8]
    found = LeadingSpectrum.of(kernel, X, 8)
    np.testing.assert_allclose(found.eigenvalues, expected, rtol=1e-10)
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(8), atol=1e-10)
    np.testing.assert_allclose(found.vectors.sum(axis=0), 0.0, atol=1e-10)
    whole = LeadingSpectrum.of(kernel, X, 40)
    new = X[:5] + 0.3
    np.testing.assert_allclose(
        found.latent_variance(new, MU, ZETA),
        LeadingSpectrum(kernel, X, whole.eigenvalues[:8], whole.vectors[:, :8], whole.kernel_means).latent_variance(
            new, MU, ZETA
        ),
        rtol=1e-8,
    )


def test_a_kernel_of_low_rank_needs_no_more_than_its_rank():
    """A polynomial of degree 2 in one input has two directions beside the bias: two eigenvalues give the variance."""
    X = np.random.default_rng(2).normal(size=(20, 1))
    kernel = Polynomial(2, 1.0)
    exact = PrimalPosterior.fit(kernel.feature_map(X), np.sin(X[:, 0]), mu=MU, zeta=ZETA)
    new = np.linspace(-3, 3, 7)[:, None]
    found = LeadingSpectrum.of(kernel, X, 2).latent_variance(new, MU, ZETA)
    np.testing.assert_allclose(found, exact.latent_variance(kernel.feature_map(new)), rtol=1e-8)


@pytest.mark.parametrize("rank", [0, 14])
def test_a_rank_that_there_is_not(rank):
    with pytest.raises(ValueError, match="rank must be from 1 to N − 1 = 13"):
        LeadingSpectrum.of(RBF(1.0), np.random.default_rng(0).normal(size=(14, 2)), rank)
