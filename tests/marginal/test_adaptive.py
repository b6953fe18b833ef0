"""Importance sampling with proposals that learn, on integrals that are known: neither biased nor too sure."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_expit, logsumexp

from bayes_lssvm.evidence.laplace import Mode
from bayes_lssvm.marginal.draws.adaptive import integrate_by_draws

LINE = np.linspace(-9.0, 9.0, 20001)


class Separable:
    """Likelihoods of each coordinate that are skewed, walls or two bumps, with a standard normal prior."""

    def __init__(self, rng):
        self.dimension = int(rng.integers(2, 5))
        self.kinds = rng.integers(3, size=self.dimension)
        self.sizes, self.places = rng.uniform(0.5, 6.0, size=self.dimension), rng.normal(size=self.dimension)

    def part(self, z, i):
        kind, a, c = self.kinds[i], self.sizes[i], self.places[i]
        likelihoods = (
            a * (z - c) - a * np.exp(z - c),
            log_expit(a * (z - c)),
            np.logaddexp(-8.0 * (z - c) ** 2, -2.0 * (z + c - 1.0) ** 2 - 1.0),
        )
        return likelihoods[kind] - 0.5 * z**2 - 0.5 * np.log(2.0 * np.pi)

    def log_density(self, z):
        return float(sum(self.part(z[i], i) for i in range(self.dimension)))

    def log_prior(self, z):
        return (-0.5 * z**2 - 0.5 * np.log(2.0 * np.pi)).sum(axis=-1)

    def prior_draws(self, n, rng):
        return rng.normal(size=(n, self.dimension))

    def exact(self):
        return sum(float(logsumexp(self.part(LINE, i)) + np.log(LINE[1] - LINE[0])) for i in range(self.dimension))

    def mode(self):
        """The Gaussian at the best mode, nowhere flatter than one and a half of the prior."""
        values = [self.part(LINE, i) for i in range(self.dimension)]
        top = [int(np.argmax(v)) for v in values]
        width = 10 * (LINE[1] - LINE[0])
        curvature = [(2.0 * v[k] - v[k - 10] - v[k + 10]) / width**2 for v, k in zip(values, top, strict=True)]
        variance = 1.0 / np.maximum(curvature, 1.5**-2)
        height = float(sum(v[k] for v, k in zip(values, top, strict=True)))
        mass = height + 0.5 * float(np.log(2.0 * np.pi * variance).sum())
        return Mode(LINE[top], height, np.diag(variance), mass)


def test_errors_of_known_integrals_cover_and_lean_to_neither_side():
    off, errors = [], []
    for number in range(80):
        integrand = Separable(np.random.default_rng([11, number]))
        found = integrate_by_draws(
            integrand,
            (integrand.mode(),),
            np.ones(integrand.dimension),
            tolerance=0.1,
            most=512,
            batch=128,
            rng=np.random.default_rng(number),
        )
        assert len(found.points) == len(found.log_weights) <= 384  # the first batch only teaches
        off.append(found.log_integral - integrand.exact())
        errors.append(found.error)
    z = np.array(off) / np.array(errors)
    assert np.mean(np.abs(z) <= 1.0) >= 0.9
    assert 0.35 < np.mean(z < 0.0) < 0.65  # within 2.7 standard errors of one half


def test_a_batch_alone_is_all_there_is_where_no_more_may_be_spent():
    integrand = Separable(np.random.default_rng(3))
    settings = {"tolerance": 0.0, "most": 128, "rng": np.random.default_rng(0)}
    found = integrate_by_draws(integrand, (integrand.mode(),), np.ones(integrand.dimension), **settings)
    assert len(found.points) == 128
    assert abs(found.log_integral - integrand.exact()) < found.error
    assert np.exp(found.log_weights).sum() == pytest.approx(1.0)
