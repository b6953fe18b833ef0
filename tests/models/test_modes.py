"""Modes of a program's hyperparameters: those that a scan finds, and those that walks from them lead to."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from scipy.special import gammaln

from bayes_lssvm import datasets
from bayes_lssvm.kernels import RBF
from bayes_lssvm.priors import HyperPrior, Normal
from models import GaussianProcess, modes
from models.log_density import as_arguments, double_precision, latent_shapes

BROAD = HyperPrior(Normal(0, 3), Normal(0, 3), Normal(0, 1))
SITES = ("log_mu", "log_zeta", "log_sigma")
HIGH, LOW = np.array([0.9, 1.1, 0.05]), np.array([0.3, 3.6, -0.8])
BESIDE = 0.03  # of the mass, in the low mode: little noise, a narrow kernel
DEGREES = 8.0  # of freedom of the high one, so that climbs from afar end there


def spread(sd, correlation):
    matrix = np.eye(3)
    matrix[0, 2] = matrix[2, 0] = correlation
    return matrix * np.outer(sd, sd)


NARROW, LONG = spread([0.2, 0.15, 0.12], 0.6), spread([0.12, 1.0, 0.09], 0.0)
_OF_HIGH = [gammaln(0.5 * (DEGREES + 3.0)), -gammaln(0.5 * DEGREES), -1.5 * np.log(DEGREES * np.pi)]
HEIGHTS = (
    np.log1p(-BESIDE) + sum(_OF_HIGH) - 0.5 * np.linalg.slogdet(NARROW)[1],
    np.log(BESIDE) - 1.5 * np.log(2.0 * np.pi) - 0.5 * np.linalg.slogdet(LONG)[1],
)


def improper(*names):
    real = dist.ImproperUniform(dist.constraints.real, (), ())
    return jnp.stack([numpyro.sample(name, real) for name in names])


def two_widths():
    """A Student density, and more than four nats below its mode a long Gaussian with 3 % of the mass."""
    x = improper(*SITES)
    high = ((x - HIGH) @ np.linalg.inv(NARROW)) @ (x - HIGH)
    low = ((x - LOW) @ np.linalg.inv(LONG)) @ (x - LOW)
    student = HEIGHTS[0] - 0.5 * (DEGREES + 3.0) * jnp.log1p(high / DEGREES)
    numpyro.factor("modes", jnp.logaddexp(student, HEIGHTS[1] - 0.5 * low))


def found(program, block=SITES, data=()):
    with double_precision():
        arguments = as_arguments(data)
        return modes.find_modes(program, arguments, latent_shapes(program, arguments), block)


def test_a_low_and_narrow_mode_beside_a_high_one_is_found():
    mixture = found(two_widths)
    assert mixture.means == pytest.approx(np.stack([HIGH, LOW]), abs=0.02)
    curved = NARROW * DEGREES / (DEGREES + 3.0)  # of a Student density at its mode
    for factor, right in zip(mixture.factors, (curved, LONG), strict=True):
        assert factor @ factor.T == pytest.approx(right, rel=0.05, abs=1e-3)
    assert np.exp(mixture.log_weights).sum() == pytest.approx(1.0)


def glass(label):
    """One kind of glass against the others: 213 rows that differ, of nine inputs."""
    X, labels = datasets.load("gla").Xy
    X, first = np.unique(X, axis=0, return_index=True)
    X, y = X[np.argsort(first)], np.where(labels[np.sort(first)] == label, 1.0, -1.0)
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), y


@pytest.mark.parametrize(("label", "log_sigma"), [(1, [0.18, -0.79]), (2, [0.23, -0.77])])
def test_glass_has_a_second_width(label, log_sigma):
    """Nearly five nats down: a narrow kernel with little noise, out to where the prior ends it."""
    program = GaussianProcess(RBF(1.0), BROAD, whitened_bias=True)
    mixture = found(program, program.hyperparameters, program.data(*glass(label)))
    assert mixture.means[:, 2] == pytest.approx(log_sigma, abs=0.01)
    assert mixture.means[1, 1] > mixture.means[0, 1] + 2.0


def test_one_mode_is_found_once_and_the_walks_end(monkeypatch):
    def one():
        x = improper(*SITES) - HIGH
        numpyro.factor("mode", -0.5 * (x @ np.linalg.inv(NARROW)) @ x - 0.1 * jnp.sum(x**4))

    counted, true = [], modes._compiled

    def counting(*args):
        function = true(*args)
        return lambda *given: counted.append(1) or function(*given)

    monkeypatch.setattr(modes, "_compiled", counting)
    mixture = found(one)
    assert mixture.means == pytest.approx(HIGH[None], abs=1e-3)
    assert len(counted) < 500


def test_walks_cross_a_valley_along_one_site():
    def valley():
        (x,) = improper("x")
        numpyro.factor("modes", jnp.logaddexp(-0.5 * (x / 0.1) ** 2, -4.0 - 0.5 * ((x - 0.9) / 0.05) ** 2))

    mixture = found(valley, ("x",))
    assert mixture.means[:, 0] == pytest.approx([0.0, 0.9], abs=1e-3)


def test_a_walk_steps_over_what_is_too_low_to_matter():
    """Thirty nats down another mode would start; nothing of the posterior is there."""

    def far():
        (x,) = improper("x")
        numpyro.factor("modes", jnp.logaddexp(-0.5 * x**2, -40.0 - 0.5 * (x - 9.0) ** 2))

    mixture = found(far, ("x",))
    assert mixture.means[:, 0] == pytest.approx([0.0], abs=1e-3)
