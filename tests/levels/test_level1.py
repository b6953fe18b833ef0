"""The posterior of level 1 where rounding is hardest on it; its formulas are in contracts/test_explicit_feature_space.

A wide kernel with hardly any noise has support values of size γ that sum to zero, on a matrix that is nearly constant.
"""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels import level1
from bayes_lssvm.levels.level1 import ClassCentres, DualPosterior

WIDE, GAMMA = RBF(40.0), 1e9


def posterior(X, y, weights=None):
    return DualPosterior.from_kernel_matrix(WIDE, X, WIDE(X), y, mu=1.0, zeta=GAMMA, weights=weights)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_outputs_of_a_wide_kernel_do_not_depend_on_the_order_of_rows(seed, weighted):
    rng = np.random.default_rng(seed)
    X, new = rng.normal(size=(18, 2)), rng.normal(size=(8, 2))
    y = np.sin(2.0 * X[:, 0]) + 2.0 * rng.normal(size=18)
    w = rng.uniform(0.2, 1.2, 18) if weighted else np.ones(18)
    first = posterior(X, y, w if weighted else None)
    assert np.abs(first.alpha).max() > 1e8
    rounding = 0.5 * np.finfo(float).eps * np.abs(first.alpha).sum()  # half a last digit of each α K that is summed
    assert rounding < 5e-6
    for _ in range(5):
        rows = rng.permutation(18)
        other = posterior(X[rows], y[rows], w[rows] if weighted else None)
        assert other.latent_mean(new) == pytest.approx(first.latent_mean(new), abs=rounding)
        assert abs(other.alpha.sum()) < np.finfo(float).eps * np.abs(other.alpha).sum()


@pytest.mark.parametrize("weighted", [False, True])
def test_points_in_blocks_are_those_of_one_block(monkeypatch, weighted):
    rng = np.random.default_rng(5)
    X, new = rng.normal(size=(12, 2)), rng.normal(size=(11, 2))
    y, w = np.resize([-1.0, 1.0, 1.0], 12), rng.uniform(0.5, 2.0, 12) if weighted else None
    kernel = RBF(1.1)
    found = DualPosterior.from_kernel_matrix(kernel, X, kernel(X), y, mu=0.7, zeta=2.0, weights=w)
    centres = ClassCentres.from_posterior(found, y, 3.0)

    def everything():
        plus, minus = centres.moments(found, new)
        return [found.latent_mean(new), found.latent_variance(new), *found.latent_moments(new), *plus, *minus]

    whole = everything()
    monkeypatch.setattr(level1, "BLOCK_DOUBLES", 4 * 12)  # 4, 4 and 3 points
    for once, parts in zip(whole, everything(), strict=True):
        np.testing.assert_allclose(parts, once, rtol=1e-12)


def test_outputs_and_class_centres_have_one_origin():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(18, 2))
    y = np.sign(X[:, 0] + rng.normal(size=18))
    found = posterior(X, y)
    centres = ClassCentres.from_posterior(found, y, 10.0)
    outputs = found.latent_mean(X) - found.intercept
    assert centres.projected_mean == pytest.approx([outputs[y > 0].mean(), outputs[y < 0].mean()], abs=1e-8)
