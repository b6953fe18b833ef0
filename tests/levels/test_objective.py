"""The gradient of the evidence against automatic differentiation of an independent program of it."""

from __future__ import annotations

import tracemalloc
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bayes_lssvm.kernels import ARD, RBF, Linear, Matrices, Polynomial
from bayes_lssvm.levels import objective as objective_module
from bayes_lssvm.levels.objective import Objective
from bayes_lssvm.priors import HyperPrior

PRIOR_SD = (3.0, 3.0)
KERNELS = {
    "rbf": RBF(1.4),
    "ard": ARD((1.0, 2.0, 3.5)),
    "poly3": Polynomial(3, 4.0),
    "sum": 0.7 * RBF(1.3) + Linear(),
}
FUNCTIONS = {
    "rbf": lambda t, x, z: jnp.exp(-jnp.sum((x - z) ** 2) / t[0] ** 2),
    "ard": lambda t, x, z: jnp.exp(-jnp.sum(((x - z) / t) ** 2)),
    "linear": lambda t, x, z: x @ z,
    "poly3": lambda t, x, z: (1 + x @ z / t[0]) ** 3,
    "sum": lambda t, x, z: t[0] * jnp.exp(-jnp.sum((x - z) ** 2) / t[1] ** 2) + x @ z,
}


def problem(*, labels, n=40):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) + 0.2
    f = np.sin(1.5 * X[:, 0]) + 0.4 * X[:, 1]
    return X, np.sign(f + 0.3 * rng.normal(size=n)) if labels else f + 0.3 * rng.normal(size=n)


def matrix(name, log_params, X):
    t = jnp.exp(log_params)
    return jax.vmap(lambda a: jax.vmap(lambda b: FUNCTIONS[name](t, a, b))(X))(X)


def log_density(log_mu, log_zeta, log_params, name, X, y):
    """log p(D | μ, ζ, θ) with p(b) = 1: targets less their mean in N − 1 orthonormal contrasts, dense covariance."""
    n = len(y)
    T = contrasts(n)
    C = T.T @ matrix(name, log_params, X) @ T / jnp.exp(log_mu) + jnp.eye(n - 1) / jnp.exp(log_zeta)
    e = T.T @ y
    logdet = jnp.linalg.slogdet(C)[1]
    return -0.5 * ((n - 1) * jnp.log(2 * jnp.pi) + logdet + e @ jnp.linalg.solve(C, e) + jnp.log(n))


@cache
def contrasts(n):
    return np.linalg.svd(np.eye(n) - 1.0 / n)[0][:, : n - 1]


def stationarity(log_s, omega, e):
    """h of ∂ log p/∂ log γ = 0 with μ at its optimum, and that μ; omega and e in contrasts."""
    R = jnp.linalg.inv(omega + jnp.exp(log_s) * jnp.eye(len(e)))
    alpha = R @ e
    return jnp.trace(R) - len(e) * (alpha @ alpha) / (e @ alpha), len(e) / (e @ alpha)


def criterion(log_params, log_s, slope, name, X, y, occam):
    """Eq 5.2 as a function of θ alone: log s = log(μ/ζ) follows θ by one Newton step from its mode at the present θ.

    From a solution of h = 0 one Newton step has the derivative of the solution itself, so that JAX sees the mode move.
    """
    n, T = len(y), contrasts(len(y))
    omega, e = T.T @ matrix(name, log_params, X) @ T, T.T @ y
    log_s = log_s - stationarity(log_s, omega, e)[0] / slope
    mu = stationarity(log_s, omega, e)[1]
    total = log_density(jnp.log(mu), jnp.log(mu) - log_s, log_params, name, X, y)
    if occam:
        d_eff = jnp.trace(jnp.linalg.solve(omega + jnp.exp(log_s) * jnp.eye(n - 1), omega))  # γ_eff − 1
        total += jnp.log(jnp.sqrt(2 / d_eff) / PRIOR_SD[0]) + jnp.log(jnp.sqrt(2 / (n - 1 - d_eff)) / PRIOR_SD[1])
    return total


@pytest.mark.parametrize("occam", [True, False], ids=["occam", "no occam"])
@pytest.mark.parametrize(
    ("name", "labels"),
    [("rbf", False), ("ard", False), ("ard", True), ("poly3", False), ("sum", True)],
    ids=lambda value: value if isinstance(value, str) else "labels" if value else "targets",
)
def test_gradient_with_the_mode_solved_anew_equals_automatic_differentiation(name, labels, occam):
    X, y = problem(labels=labels)
    kernel = KERNELS[name]
    found = Objective(X, y, occam, PRIOR_SD).evaluate(kernel, gradient=True)
    assert found.level2.status == "interior"
    log_s, T, step = -np.log(found.level2.gamma), contrasts(len(y)), 1e-5
    with jax.enable_x64(True):  # scoped: the other tests keep JAX's default
        centred = T.T @ kernel(X) @ T, T.T @ y
        high, low = (float(stationarity(log_s + h, *centred)[0]) for h in (step, -step))
        function = partial(criterion, log_s=log_s, slope=(high - low) / (2 * step), name=name, X=X, y=y, occam=occam)
        value, expected = jax.value_and_grad(function)(jnp.asarray(kernel.log_params))
        value, expected = float(value), np.asarray(expected)
    assert found.value == pytest.approx(value, abs=1e-8)
    np.testing.assert_allclose(found.gradient, expected, rtol=1e-6, atol=1e-6 * max(1.0, np.abs(expected).max()))


@pytest.mark.parametrize("name", [*KERNELS, "linear"])
def test_evidence_at_given_mu_and_zeta_and_its_gradient_equal_automatic_differentiation(name):
    X, y = problem(labels=False)
    kernel = KERNELS.get(name, Linear())
    log_mu, log_zeta = 0.4, 1.9
    found = Objective(X, y).at(kernel, log_mu, log_zeta)
    with jax.enable_x64(True):
        derivative = jax.value_and_grad(partial(log_density, name=name, X=X, y=y), argnums=(0, 1, 2))
        value, slopes = derivative(log_mu, log_zeta, jnp.asarray(kernel.log_params))
        value, expected = float(value), np.concatenate([np.atleast_1d(s) for s in slopes])
    assert found.value == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(found.gradient, expected, rtol=1e-8, atol=1e-8 * max(1.0, np.abs(expected).max()))


def test_many_scales_need_no_memory_for_each():
    n, d = 200, 100
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    objective, kernel = Objective(X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)), ARD((12.0,) * d)
    for evaluate in (lambda: objective.evaluate(kernel, gradient=True), lambda: objective.joint(kernel, 1.0)):
        tracemalloc.start()
        found = evaluate()
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert found.gradient.size in (d, d + 1)
        assert peak < 12 * 8 * n * n  # kernel matrices; one for each scale would be 100 of them


def test_blocks_of_rows_change_nothing(monkeypatch):
    X, y = problem(labels=False, n=23)
    found = {}
    for rows in (128, 5):
        monkeypatch.setattr("bayes_lssvm.levels.objective._BLOCK", rows)
        found[rows] = Objective(X, y, prior=HyperPrior()).evaluate(ARD((1.0, 2.0, 3.5)), gradient=True)
    assert found[5].value == pytest.approx(found[128].value, abs=1e-10)
    assert found[5].gradient == pytest.approx(found[128].gradient, abs=1e-9)


def test_a_search_with_many_inputs_takes_distances_once_and_finds_the_same_evidence(monkeypatch):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(50, 30))
    y = np.where(X[:, 0] > 0.0, 1.0, -1.0)
    counts = []
    once = RBF.on
    monkeypatch.setattr(RBF, "on", lambda self, X: counts.append(1) or once(self, X))
    objective = Objective(X, y)
    kept = [objective.evaluate(RBF(sigma), gradient=True) for sigma in (3.0, 6.0, 12.0)]
    assert len(counts) == 1
    monkeypatch.setattr(RBF, "on", lambda self, X: Matrices(X))
    for one in kept:
        alone = Objective(X, y).evaluate(one.kernel, gradient=True)
        assert one.value == pytest.approx(alone.value, rel=1e-11)
        np.testing.assert_allclose(one.gradient, alone.gradient, rtol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["rbf", "ard", "sum"])
def test_the_average_information_is_that_of_the_covariance_of_the_targets(name, weighted):
    """½ fᵢᵀPfⱼ with fᵢ = ∂C/∂xᵢ Py, and P = C⁻¹ projected on the complement of 1, with dense matrices."""
    X, y = problem(labels=False)
    kernel, n, log_mu, log_zeta = KERNELS[name], len(y), 0.4, 1.9
    w = np.linspace(0.5, 2.0, n) if weighted else np.ones(n)
    objective = Objective(X, y, weights=w if weighted else None)
    found, plain = objective.informed(kernel, log_mu, log_zeta), objective.at(kernel, log_mu, log_zeta)
    assert found.value == pytest.approx(plain.value, rel=1e-12)
    np.testing.assert_allclose(found.gradient, plain.gradient, rtol=1e-9, atol=1e-9)
    mu, noise = np.exp(log_mu), np.diag(np.exp(-log_zeta) / w)
    T = contrasts(n)
    P = T @ np.linalg.inv(T.T @ (kernel(X) / mu + noise) @ T) @ T.T
    changes = [-kernel(X) / mu, -noise, *(dK / mu for dK in kernel.gradient(X))]
    f = np.column_stack([dC @ P @ y for dC in changes])
    np.testing.assert_allclose(found.information, 0.5 * f.T @ P @ f, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", list(KERNELS))
def test_slopes_times_a_vector(name):
    X, y = problem(labels=False)
    kernel = KERNELS[name]
    expected = np.column_stack([dK @ y for dK in kernel.gradient(X)])
    for K in (None, kernel(X)):
        np.testing.assert_allclose(kernel.slopes_times(X, y, K), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("weighted", [False, True])
def test_where_a_kernel_interpolates_the_square_of_the_inverse_is_left_out(monkeypatch, weighted):
    """It has no digit of the gradient, as the whole formula says."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 3))
    weights = rng.uniform(0.5, 2.0, 40) if weighted else None
    objective = Objective(X, np.sin(X[:, 0]) * X[:, 1], weights=weights)
    found = objective.evaluate(RBF(0.7), gradient=True)
    assert found.level2.status == "interpolation"
    squares = []
    whole = objective_module.square if weights is None else objective_module.product
    name = "square" if weights is None else "product"
    monkeypatch.setattr(objective_module, name, lambda *given: squares.append(1) or whole(*given))
    assert objective.evaluate(RBF(0.7), gradient=True).gradient == pytest.approx(found.gradient, rel=1e-12)
    assert not squares
    monkeypatch.setattr(objective_module, "_UNSEEN", 0.0)
    assert objective.evaluate(RBF(0.7), gradient=True).gradient == pytest.approx(found.gradient, rel=1e-9)
    assert squares
