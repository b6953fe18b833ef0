"""PRESS as a criterion: gradients by automatic and finite differences, regularised forms, selection, pruning."""

from __future__ import annotations

import tracemalloc
import warnings
from functools import cache, partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning

from bayes_lssvm import LSSVC, BayesianLSSVC, NotPositiveSemidefiniteError
from bayes_lssvm.base.errors import BayesLSSVMWarning, ConstantFeatureWarning, NoSignalWarning
from bayes_lssvm.base.rounding import ROUNDING
from bayes_lssvm.kernels import ARD, MLP, RBF, Linear, Polynomial
from bayes_lssvm.levels.logistic_map import label_log_odds
from bayes_lssvm.press import pruning
from bayes_lssvm.press.criterion import CRITERIA, PressObjective, sensitivities
from bayes_lssvm.press.derivative import press_derivative
from bayes_lssvm.press.descent import PressStart, descend, fall_to_flat, settled, starts
from bayes_lssvm.press.evidence import determination, optimise_xi_zeta
from bayes_lssvm.press.leave_one_out import LeaveOneOutSpectrum, leave_one_out
from bayes_lssvm.press.pruning import descend_with_pruning, press_sensitivity
from bayes_lssvm.press.selection import select_by_press

GAMMA = 3.0
KERNELS = {
    "rbf": RBF(1.4),
    "ard": ARD((1.0, 2.0, 3.5)),
    "linear": Linear(),
    "poly2": Polynomial(2, 3.0),
    "poly3": Polynomial(3, 4.0),
    "sum": 0.7 * RBF(1.3) + Polynomial(1, 2.0),
    "product": RBF(2.0) * Polynomial(2, 5.0),
}
CASES = [
    (name, criterion)
    for name in KERNELS
    for criterion in CRITERIA
    if criterion not in ("press-curvature", "press-slope") or name in ("rbf", "ard")
]


def problem(n=24, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) + 0.3
    return X, np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.2 * rng.normal(size=n), rng.uniform(0.3, 3.0, size=n)


@cache
def planted(n=200, d=6, seed=1):
    """Targets that depend on the first two inputs only."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + 0.2 * rng.normal(size=n)


def position(kernel, gamma):
    return np.append(np.log2(gamma), kernel.log_params / np.log(2.0))


# --- an independent program of the criteria ------------------------------------------------------------------------


def _rbf(t, x, z):
    return jnp.exp(-jnp.sum((x - z) ** 2) / t[0] ** 2)


FUNCTIONS = {
    "rbf": _rbf,
    "ard": lambda t, x, z: jnp.exp(-jnp.sum(((x - z) / t) ** 2)),
    "linear": lambda t, x, z: x @ z,
    "poly2": lambda t, x, z: (1 + x @ z / t[0]) ** 2,
    "poly3": lambda t, x, z: (1 + x @ z / t[0]) ** 3,
    "sum": lambda t, x, z: t[0] * _rbf(t[1:], x, z) + (1 + x @ z / t[2]),
    "product": lambda t, x, z: _rbf(t, x, z) * (1 + x @ z / t[1]) ** 2,
}
# paper 1's η in terms of the parameters
ETA = {
    "rbf": lambda t: t**-2,
    "ard": lambda t: t**-2,
    "linear": lambda t: t,
    "poly2": lambda t: 1 / t,
    "poly3": lambda t: 1 / t,
    "sum": lambda t: jnp.stack([t[1] ** -2, 1 / t[2]]),
    "product": lambda t: jnp.stack([t[0] ** -2, 1 / t[1]]),
}


def criterion_by_definition(x, name, criterion, X, y, w, bias):
    """Eqs 11, 12, 15 and section 4.2 with a dense inverse; every derivative is left to JAX."""
    n, gamma, t = len(y), 2.0 ** x[0], 2.0 ** x[1:]

    def k(a, b):
        return FUNCTIONS[name](t, a, b)

    K = jax.vmap(lambda a: jax.vmap(lambda b: k(a, b))(X))(X)
    M = K + jnp.diag(1.0 / (gamma * w))
    C = M if not bias else jnp.block([[M, jnp.ones((n, 1))], [jnp.ones((1, n)), jnp.zeros((1, 1))]])
    inverse = jnp.linalg.inv(C)
    solution = inverse[:, :n] @ y
    residuals = solution[:n] / jnp.diag(inverse)[:n]
    Q = 0.5 * jnp.sum(w * residuals**2)
    if criterion == "press":
        return Q
    eta = ETA[name](t)
    d = len(eta)
    if d == 0:
        return 0.5 * n * jnp.log(Q)
    if criterion == "press-br":
        return 0.5 * n * jnp.log(Q) + 0.5 * d * jnp.log(0.5 * jnp.sum(eta**2))
    if criterion == "press-laplace":
        return 0.5 * n * jnp.log(Q) + d * jnp.log(jnp.sum(eta))

    def output(a):
        return jax.vmap(lambda b: k(a, b))(X) @ solution[:n]

    if criterion == "press-slope":
        bends = jax.vmap(jax.grad(output))(X)
    else:
        bends = jax.vmap(lambda a: jnp.diag(jax.hessian(output)(a)))(X)
    return 0.5 * n * jnp.log(Q) + 0.5 * d * jnp.log(jnp.sum(bends**2) / (2 * n))


@pytest.mark.parametrize(("bias", "weighted"), [(True, False), (False, True)], ids=["bias", "weighted"])
@pytest.mark.parametrize(("name", "criterion"), CASES)
def test_value_and_gradient_equal_automatic_differentiation(name, criterion, bias, weighted):
    X, y, w = problem()
    kernel = KERNELS[name]
    found = PressObjective(X, y, criterion, w if weighted else None, bias).evaluate(kernel, GAMMA, gradient=True)
    w = w if weighted else np.ones_like(w)
    with jax.enable_x64(True):  # scoped: the other tests keep JAX's default
        function = partial(criterion_by_definition, name=name, criterion=criterion, X=X, y=y, w=w, bias=bias)
        derivative = jax.value_and_grad(function)
        if criterion in ("press-curvature", "press-slope"):  # many operations: faster where they are compiled together
            derivative = jax.jit(derivative)
        value, gradient = derivative(jnp.asarray(position(kernel, GAMMA)))
        value, gradient = float(value), np.asarray(gradient)
    assert found.value == pytest.approx(value, rel=1e-10)
    np.testing.assert_allclose(found.gradient, gradient, rtol=1e-8, atol=1e-8 * np.abs(gradient).max())


@pytest.mark.parametrize(("name", "criterion"), CASES)
def test_gradient_equals_finite_differences(name, criterion):
    X, y, w = problem(seed=3)
    kernel = KERNELS[name]
    objective = PressObjective(X, y, criterion, w)
    x = position(kernel, GAMMA)
    step = 1e-4 * np.eye(len(x))

    def value(x):  # by the Cholesky factor and the triangular inverse, not by the gradient's route
        return objective.evaluate(kernel.with_log_params(x[1:] * np.log(2.0)), 2.0 ** x[0]).value

    differences = [(value(x + h) - value(x - h)) / 2e-4 for h in step]
    gradient = objective.evaluate(kernel, GAMMA, gradient=True).gradient
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-6 * max(1.0, np.abs(gradient).max()))


def test_the_derivative_in_the_kernel_matrix_is_that_of_any_change():
    X, y, w = problem()
    K = RBF(1.4)(X)
    rng = np.random.default_rng(5)
    change = rng.normal(size=K.shape)
    change = 1e-6 * (change + change.T)
    step = press_derivative(K, y, GAMMA, w)
    plus, minus = (float(leave_one_out(K + s * change, y, GAMMA, weights=w).press) for s in (1, -1))
    assert np.vdot(step.matrix, change) == pytest.approx(0.5 * (plus - minus), rel=1e-6)
    assert step.value == pytest.approx(float(leave_one_out(K, y, GAMMA, weights=w).press), rel=1e-12)


def test_many_inputs_need_no_memory_for_each():
    n, d = 200, 100
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    kernel = ARD((12.0,) * d)
    for criterion in CRITERIA:
        objective = PressObjective(X, y, criterion)
        tracemalloc.start()
        found = objective.evaluate(kernel, 2.0, gradient=True)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert found.gradient.shape == (1 + d,)
        assert peak < 15 * 8 * n * n  # kernel matrices; one for each input would be 100 of them


# --- the regularised criteria --------------------------------------------------------------------------------------


def test_sensitivities_are_paper_1s_kernel_parameters():
    X, *_ = problem()
    kernel = ARD((1.0, 2.0, 3.5))
    eta = sensitivities(kernel).eta
    np.testing.assert_allclose(kernel(X)[0, 1], np.exp(-np.sum(eta * (X[0] - X[1]) ** 2)), rtol=1e-12)
    assert sensitivities(RBF(2.0)).eta == pytest.approx(0.25)
    assert sensitivities(Polynomial(3, 4.0)).eta == pytest.approx(0.25)
    mixed = sensitivities(0.5 * RBF(2.0) + Linear())
    assert mixed.regularised.tolist() == [False, True]
    assert sensitivities(MLP(0.3, 1.0)).eta[0] == pytest.approx(0.3)
    assert sensitivities(Linear()).eta.shape == (0,)


@pytest.mark.parametrize("criterion", ["press-br", "press-laplace", "press-curvature", "press-slope"])
def test_integrating_out_is_eq_14_with_the_effective_xi_and_zeta(criterion):
    """Section 2.2: the gradients of 15 and of 14 with ξ_eff and ζ_eff are the same."""
    X, y, _ = problem()
    objective = PressObjective(X, y, criterion)
    found = objective.evaluate(KERNELS["ard"], GAMMA, gradient=True)
    fixed = objective.regularised(KERNELS["ard"], GAMMA, xi=found.xi, zeta=found.zeta)
    np.testing.assert_allclose(found.gradient, fixed.gradient, rtol=1e-12)
    assert found.zeta == pytest.approx(len(y) / (2 * found.press))
    assert found.xi == pytest.approx({"press-laplace": 3.0}.get(criterion, 1.5) / found.penalty)


@pytest.mark.parametrize("criterion", ["press-br", "press-laplace", "press-curvature"])
def test_eq_14_is_the_weighted_sum_with_its_gradient(criterion):
    """ζQ + ξΩ, with the Q and the Ω that it tells; the gradient by differences in log₂ of the parameters."""
    X, y, _ = problem()
    objective, kernel, xi, zeta = PressObjective(X, y, criterion), KERNELS["ard"], 0.7, 3.0

    def at(point):
        return objective.regularised(kernel.with_log_params(point[1:]), float(np.exp(point[0])), xi=xi, zeta=zeta)

    point = np.append(np.log(GAMMA), kernel.log_params)
    found, plain = at(point), objective.evaluate(kernel, GAMMA)
    assert (found.xi, found.zeta) == (xi, zeta)
    assert [found.press, found.penalty] == pytest.approx([plain.press, plain.penalty], rel=1e-12)
    assert found.value == pytest.approx(zeta * plain.press + xi * plain.penalty, rel=1e-12)
    step = 1e-5
    slopes = [(at(point + step * e).value - at(point - step * e).value) / (2.0 * step) for e in np.eye(len(point))]
    np.testing.assert_allclose(found.gradient, np.log(2.0) * np.array(slopes), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("criterion", "exponent"), [("press-br", 1.5), ("press-laplace", 3.0)])
def test_eq_15_is_the_sum_of_logarithms_that_is_printed(criterion, exponent):
    """ℓ/2 log Q + d/2 log Ω, with d for d/2 under the Laplace prior; PRESS alone where no parameter has a prior."""
    X, y, _ = problem()
    kernel = KERNELS["ard"]
    eta = np.array(kernel.scales) ** -2.0
    residuals = leave_one_out(kernel(X), y, GAMMA).residuals
    Q, penalty = 0.5 * residuals @ residuals, {"press-br": 0.5 * eta @ eta, "press-laplace": eta.sum()}[criterion]
    found = PressObjective(X, y, criterion).evaluate(kernel, GAMMA)
    assert found.value == pytest.approx(0.5 * len(y) * np.log(Q) + exponent * np.log(penalty), rel=1e-12)
    assert [found.press, found.penalty, found.xi] == pytest.approx([Q, penalty, exponent / penalty], rel=1e-12)
    for count in (1, 2, 5):  # of inputs that the prior counts, at most those that there are
        counted = PressObjective(X, y, criterion, count=count).evaluate(kernel, GAMMA)
        assert counted.xi == pytest.approx(exponent * min(count, 3) / 3.0 / penalty, rel=1e-12)
    linear = leave_one_out(Linear()(X), y, GAMMA)
    alone = PressObjective(X, y, criterion).evaluate(Linear(), GAMMA)
    assert alone.value == pytest.approx(0.5 * len(y) * np.log(linear.press), rel=1e-12)
    assert (alone.penalty, alone.xi) == (0.0, 0.0)
    plain = PressObjective(X, y).evaluate(kernel, GAMMA)
    assert [plain.value, plain.press, plain.zeta] == pytest.approx([Q, Q, 0.5 * len(y) / Q], rel=1e-12)


def test_integrals_over_xi_and_zeta():
    """∫ ζ^(ℓ/2) e^(−ζQ) dζ/ζ and its like for ξ, by quadrature, give criterion 15 up to constants."""
    X, y, _ = problem()
    objective = PressObjective(X, y, "press-br")
    log_grid = np.linspace(-30, 30, 20001)

    def minus_log_integral(exponent, value):
        integrand = exponent * log_grid - np.exp(log_grid) * value
        top = integrand.max()
        return -(top + np.log(np.sum(np.exp(integrand - top)) * (log_grid[1] - log_grid[0])))

    found = [objective.evaluate(kernel, GAMMA) for kernel in (ARD((1.0, 2.0, 3.5)), ARD((0.7, 4.0, 9.0)))]
    by_integrals = [minus_log_integral(len(y) / 2, f.press) + minus_log_integral(1.5, f.penalty) for f in found]
    assert found[1].value - found[0].value == pytest.approx(by_integrals[1] - by_integrals[0], abs=1e-8)


def hessian_by_jax(X, y, eta, gamma):
    """∂²Q/∂(log γ, η)² of the elliptical kernel."""

    def press(v):
        n = len(y)
        K = jnp.exp(-jnp.einsum("ijk,k->ij", (X[:, None] - X[None]) ** 2, v[1:]))
        C = jnp.block([[K + jnp.eye(n) * jnp.exp(-v[0]), jnp.ones((n, 1))], [jnp.ones((1, n)), jnp.zeros((1, 1))]])
        inverse = jnp.linalg.inv(C)
        return 0.5 * jnp.sum((inverse[:n, :n] @ y / jnp.diag(inverse)[:n]) ** 2)

    with jax.enable_x64(True):
        return np.asarray(jax.jit(jax.hessian(press))(jnp.append(np.log(gamma), eta)))


def test_evidence_updates_are_a_stationary_point_of_the_evidence():
    X, y = planted(80, 3)
    objective = PressObjective(X, y, "press-br")
    start = select_by_press(ARD((1.0,) * 3), X, y, criterion="press-br", n_restarts=0, progress=False)
    found = optimise_xi_zeta(objective, start.kernel, start.gamma, tolerance=1e-8)
    assert found.converged
    eta = sensitivities(found.kernel).eta
    H = hessian_by_jax(X, y, eta, found.gamma)
    inner = H[1:, 1:] - np.outer(H[1:, 0], H[0, 1:]) / H[0, 0]
    eigenvalues = np.linalg.eigvalsh(inner)
    ours = determination(objective, found.kernel, found.gamma, zeta=found.zeta)
    np.testing.assert_allclose(ours, np.maximum(found.zeta * eigenvalues, 0.0), rtol=1e-3, atol=1e-3 * ours.max())
    assert np.all(eigenvalues > 0)

    def log_evidence(xi, zeta):
        A = zeta * inner + xi * np.eye(3)
        value = -xi * found.penalty - zeta * found.press - 0.5 * np.linalg.slogdet(A)[1]
        return value + 1.5 * np.log(xi) + 0.5 * len(y) * np.log(zeta / (2 * np.pi))

    assert found.log_evidence == pytest.approx(log_evidence(found.xi, found.zeta), abs=1e-3)
    step = 1e-4
    slopes = [
        (log_evidence(found.xi * np.exp(a * step), found.zeta * np.exp(b * step)) - log_evidence(found.xi, found.zeta))
        / step
        for a, b in ((1, 0), (0, 1))
    ]
    np.testing.assert_allclose(slopes, 0.0, atol=1e-2)
    # γ_w ≤ d: the evidence regularises less than integrating out
    assert 0 < found.well_determined < found.n_regularised
    assert found.xi / found.zeta < found.xi_eff / found.zeta_eff * len(y) / (len(y) - found.well_determined)
    assert found.xi == pytest.approx(found.well_determined / (2 * found.penalty), rel=1e-6)
    assert found.zeta == pytest.approx((len(y) - found.well_determined) / (2 * found.press), rel=1e-6)
    assert found.xi_eff == pytest.approx(3 / (2 * found.penalty), rel=1e-12)
    assert found.zeta_eff == pytest.approx(len(y) / (2 * found.press), rel=1e-12)
    assert found.penalty == pytest.approx(0.5 * np.sum(eta**2), rel=1e-12)
    assert found.at_bound == ()
    # section 2.2 prints eigenvalues of the Hessian of Q, without ζ: then the evidence is not stationary
    printed = np.sum(eigenvalues / (eigenvalues + found.xi)) / (2 * found.penalty)
    assert abs(np.log(printed / found.xi)) > 0.01


@pytest.mark.parametrize("tolerance", [0.5, 0.01])
def test_evidence_updates_go_on_until_neither_xi_nor_zeta_moves(tolerance):
    """ζ settles first: in the second update ξ still moves by four per cent and ζ by one in a thousand."""
    objective, start = PressObjective(*planted(80, 3), "press-br"), (ARD((1.0,) * 3), 10.0)
    found = optimise_xi_zeta(objective, *start, tolerance=tolerance)
    with pytest.warns(ConvergenceWarning, match="have not converged"):
        before = optimise_xi_zeta(objective, *start, tolerance=1e-12, max_iter=found.n_iterations - 1)
    moved = np.abs(np.log([found.xi / before.xi, found.zeta / before.zeta]))
    assert 0.0 < moved.max() < tolerance


def test_evidence_updates_say_when_they_do_not_settle():
    X, y = planted(80, 3)
    objective = PressObjective(X, y, "press-br")
    with pytest.warns(ConvergenceWarning, match="have not converged"):
        found = optimise_xi_zeta(objective, ARD((1.0,) * 3), 10.0, max_iter=1, tolerance=1e-12)
    assert not found.converged
    with pytest.raises(ValueError, match="Gaussian prior"):
        optimise_xi_zeta(PressObjective(X, y), RBF(1.0), 1.0)
    with pytest.raises(ValueError, match="no parameter"):
        optimise_xi_zeta(objective, Linear(), 1.0)


# --- selection -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "criterion"),
    [
        *((name, criterion) for name in ("rbf", "ard", "linear", "poly3") for criterion in ("press", "press-br")),
        ("ard", "press-laplace"),
        ("rbf", "press-curvature"),
        ("ard", "press-curvature"),
        ("ard", "press-slope"),
    ],
)
def test_selection_ends_at_a_minimum(name, criterion):
    X, y = planted(80, 3)
    found = select_by_press(KERNELS[name], X, y, criterion=criterion, n_restarts=1, progress=False)
    best = next(o for o in found.outcomes if o.kernel == found.kernel and o.gamma == found.gamma)
    assert found.converged
    assert found.value == best.evaluation.value
    inside = np.array([n not in best.at_bound for n in ("gamma", *best.kernel.param_names)])
    scale = found.zeta if criterion == "press" else 1.0  # in nats
    assert np.abs(scale * best.evaluation.gradient[inside]).max() < 0.05
    objective = PressObjective(found.inputs(X), y, criterion)
    rng = np.random.default_rng(0)
    if found.status == "interior":
        for _ in range(10):
            x = position(found.kernel, found.gamma) + 0.05 * rng.normal(size=len(inside)) * inside
            near = objective.evaluate(found.kernel.with_log_params(x[1:] * np.log(2.0)), 2.0 ** x[0])
            assert near.value > found.value - 1e-9
    assert found.press == pytest.approx(float(found.leave_one_out(X, y).press), rel=1e-9)
    assert found.n_evaluations == sum(o.n_evaluations for o in found.outcomes)


def test_an_end_beside_the_limit_of_rounding_is_settled():
    """Targets without noise: the criterion falls up to where 1/γ is lost, and differences would step beyond."""
    X = problem(14)[0][:, :1]
    objective, kernel = PressObjective(X, X[:, 0] ** 2), Polynomial(2, 1e-3)
    limit = 1.0 / (ROUNDING * float(kernel.diag(X).sum()))
    end = descend(objective, PressStart(kernel, limit * (1.0 - 1e-9)))
    assert end.gamma == pytest.approx(limit, rel=1e-8)
    with pytest.raises(NotPositiveSemidefiniteError, match="lost in the rounding"):
        objective.evaluate(end.kernel, end.gamma * 2.0**1e-4)
    found = settled(objective, end)
    assert found.evaluation.value <= end.evaluation.value


def level_in_the_scale():
    """A wide polynomial of nearly linear targets, whose criterion is as good as level, and a start with a large γ."""
    X, y, _ = problem(14)
    kernel = Polynomial(2, 4e4)
    start = PressStart(kernel, 1e8 / float(kernel.diag(X).mean()))
    return (X, X @ [1.0, 0.5, 0.0] + 1e-3 * y), start


def test_a_level_criterion_is_followed_to_both_edges_of_a_kernel_whose_size_changes():
    """From a scale of 10⁵ to one of 10⁻⁴ a polynomial's values grow by 10¹⁸: γ at one end is lost at the other."""
    data, start = level_in_the_scale()
    objective = PressObjective(*data)
    end = descend(objective, start, max_iter=0)
    assert settled(objective, end).evaluation.value <= end.evaluation.value


def test_an_edge_where_the_kernel_is_no_inner_product_is_left_out():
    class Indefinite(PressObjective):
        def matrix(self, kernel, gamma):
            if kernel.scale < 1e-3:
                raise NotPositiveSemidefiniteError("no inner product here")
            return super().matrix(kernel, gamma)

    data, start = level_in_the_scale()
    whole, part = PressObjective(*data), Indefinite(*data)
    end = descend(part, start, max_iter=0)
    assert settled(part, end).evaluation.value == pytest.approx(settled(whole, end).evaluation.value, rel=1e-9)


def coded(n, d, seed):
    """Labels of inputs that are codes 0 to 3, of which two pairs and one alone matter."""
    rng = np.random.default_rng([seed, n, d])
    rng.normal(size=(n, d))  # the draws of the problems on which the limit of `stalled` was settled
    X = rng.integers(0, 4, size=(n, d)).astype(float)
    f = 3.0 * ((X[:, 0] == 2) & (X[:, 1] != 0)) + 2.0 * (X[:, 2] == X[:, 3]) + X[:, 4]
    y = np.where(f + rng.normal(0.0, 0.7, n) > np.median(f), 1.0, -1.0)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def test_a_stalled_descent_is_no_minimum():
    """One descent runs into the end of γ with the least value of all; two others end at a minimum, which is chosen."""
    X, y = coded(150, 8, 23)
    found = select_by_press(ARD((8**0.5,) * 8), X, y, criterion="press-br", n_restarts=2, seed=23, progress=False)
    objective = PressObjective(X, y, "press-br")
    falls = [fall_to_flat(objective, o.kernel, o.evaluation) for o in found.outcomes]
    stalled = [o for o in found.outcomes if o.stalled]
    inside = [o for o in found.outcomes if not (o.stalled or o.flat_limit)]
    assert stalled
    assert inside
    for outcome, fall in zip(found.outcomes, falls, strict=True):
        assert outcome.stalled == (not outcome.flat_limit and fall > 0.1)
        if outcome in inside:
            assert abs(fall) < 0.01
    least = min(stalled, key=lambda o: o.evaluation.value)
    assert least.evaluation.value < min(o.evaluation.value for o in inside) - 30.0
    assert least.evaluation.press > 1.3 * min(o.evaluation.press for o in inside)
    assert found.status == "interior"
    assert found.value == min(o.evaluation.value for o in inside)


@pytest.mark.parametrize("name", ["rbf", "ard", "poly3", "sum"])
def test_the_fall_to_the_flat_limit_is_that_of_the_criterion(name):
    """By differences of the criterion along η/c², γc⁴; its penalty alone falls by 2d nats for a factor e of c."""
    X, y, _ = problem()
    kernel, step = KERNELS[name], 1e-5
    objective = PressObjective(X, y, "press-br")
    power = sensitivities(kernel).power

    def at(log_c):
        moved = kernel.log_params + log_c * np.array([-2.0 / p if p else 0.0 for p in power])
        return objective.evaluate(kernel.with_log_params(moved), GAMMA * np.exp(4.0 * log_c))

    slope = (at(step).value - at(-step).value) / (2.0 * step)
    penalty = 0.5 * np.count_nonzero(power) * np.log(at(step).penalty / at(-step).penalty) / (2.0 * step)
    assert penalty == pytest.approx(-2.0 * np.count_nonzero(power), rel=1e-6)
    evaluation = objective.evaluate(kernel, GAMMA, gradient=True)
    assert fall_to_flat(objective, kernel, evaluation) == pytest.approx(slope / penalty, rel=1e-5)
    plain = PressObjective(X, y, "press")
    assert fall_to_flat(plain, kernel, plain.evaluate(kernel, GAMMA, gradient=True)) == 0.0


def test_where_every_descent_stalls_the_least_press_is_chosen():
    X, y = coded(160, 8, 40)
    found = select_by_press(ARD((8**0.5,) * 8), X, y, criterion="press-br", n_restarts=2, seed=40, progress=False)
    assert all(o.stalled or o.flat_limit for o in found.outcomes)
    assert found.status == "stalled"
    assert found.press == min(o.evaluation.press for o in found.outcomes)
    model = BayesianLSSVC(ARD((8**0.5,) * 8), criterion="press-br", standardise=False, random_state=40)
    with pytest.warns(BayesLSSVMWarning, match="Stalled: no search by 'press-br' ended at a minimum"):
        model.fit(X, y)


def test_a_fit_that_is_level_at_each_point_has_no_slope_to_penalise():
    """Points far apart in units of the kernel: Ω is zero, and such an end is no minimum."""
    X, y = planted(40, 3)
    narrow = PressObjective(X, y, "press-slope").evaluate(ARD((1e-3,) * 3), 1.0, gradient=True)
    assert narrow.penalty == 1e-300  # for a logarithm that is finite
    assert narrow.value == pytest.approx(20.0 * np.log(narrow.press) + 1.5 * np.log(1e-300))
    assert narrow.press == pytest.approx(PressObjective(X, y).evaluate(ARD((1e-3,) * 3), 1.0).press)
    objective = PressObjective(X, y, "press-slope")
    assert descend(objective, PressStart(ARD((0.05,) * 3), 1.0), max_iter=0).flat_limit
    assert not descend(objective, PressStart(ARD((1.0,) * 3), 1.0), max_iter=0).flat_limit


def test_selection_finds_what_a_grid_finds(ripley_standardised):
    X, y = ripley_standardised
    found = select_by_press(RBF(1.0), X, y, n_restarts=2, seed=4, progress=False)
    gammas = np.logspace(-3, 4, 57)
    grid = [
        LeaveOneOutSpectrum.from_kernel_matrix(RBF(s)(X), y).at(gammas).press.min() for s in np.geomspace(0.2, 9, 20)
    ]
    assert found.press <= min(grid) + 1e-9
    assert found.press > min(grid) - 0.2
    assert found.status == "interior"
    assert len(found.outcomes) >= 3
    assert {round(o.evaluation.press, 4) for o in found.outcomes} == {round(found.press, 4)}


def test_selection_is_reproducible_and_follows_its_seed():
    X, y = planted(80, 3)
    one, again, other = (select_by_press(RBF(1.0), X, y, n_restarts=2, seed=seed, progress=False) for seed in (0, 0, 1))
    assert one.gamma == again.gamma
    assert one.outcomes[-1].start == again.outcomes[-1].start
    assert one.outcomes[-1].start != other.outcomes[-1].start


def test_regularisation_repairs_an_over_fitted_press():
    """12 inputs, of which two matter, and 60 labels: PRESS alone finds relevance where there is none (paper 1)."""
    errors = {"press": [], "press-br": [], "press-laplace": []}
    presses = {criterion: [] for criterion in errors}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, new = rng.normal(size=(60, 12)), rng.normal(size=(1000, 12))
        y, truth = (np.sign(Z[:, 0] + 0.7 * Z[:, 1] + 0.7 * rng.normal(size=len(Z))) for Z in (X, new))
        for criterion in errors:
            found = select_by_press(ARD((3.0,) * 12), X, y, criterion=criterion, n_restarts=0, progress=False)
            fit = found.leave_one_out(X, y)
            output = found.kernel(found.inputs(new), found.inputs(X)) @ fit.alpha + fit.intercept
            errors[criterion].append(np.mean(output * truth <= 0))
            presses[criterion].append(found.press)
    assert np.all(np.array(presses["press"]) < presses["press-br"])  # the better criterion …
    assert np.mean(errors["press"]) > np.mean(errors["press-br"]) + 0.04  # … and the worse classifier
    assert np.mean(errors["press"]) > np.mean(errors["press-laplace"]) + 0.04


@pytest.mark.parametrize(("seed", "removed"), [(1, 4), (2, 4), (3, 2), (4, 2)])
def test_the_laplace_prior_removes_irrelevant_inputs_exactly(seed, removed):
    X, y = planted(200, 6, seed)
    found = select_by_press(ARD((3.0,) * 6), X, y, criterion="press-laplace", n_restarts=0, progress=False)
    assert found.selected[:2].all()
    assert np.sum(found.eta == 0.0) == removed  # exactly zero
    assert (found.eta > 0.0).tolist() == found.selected.tolist()
    assert found.eta[:2].min() > 5 * found.eta[2:].max()
    assert found.kernel.scales == pytest.approx(found.eta[found.selected] ** -0.5)
    assert found.inputs(X).shape == (200, 6 - removed)
    assert found.status == "interior"
    # the condition of section 4.2, away from zero and at zero
    threshold = found.xi / found.zeta
    sensitivity = press_sensitivity(PressObjective(X, y, "press-laplace"), found.eta, found.gamma)
    np.testing.assert_allclose(sensitivity[found.selected], threshold, rtol=1e-2)
    assert np.all(sensitivity[~found.selected] <= threshold)
    assert found.xi == pytest.approx((6 - removed) / found.eta.sum())


def test_a_pruned_descent_that_is_cut_short_has_not_converged():
    X, y = planted(80, 3)
    objective = PressObjective(X, y, "press-laplace")
    start = PressStart(ARD((1.5,) * 3), 1.0)
    short, whole = (descend_with_pruning(objective, start, max_iter=limit) for limit in (1, 200))
    assert not short.converged
    assert whole.converged


def test_a_pruned_descent_goes_on_from_where_the_one_before_it_ended(monkeypatch):
    X, y = planted(120, 5, 2)
    starts, ends = [], []

    def watched(objective, start, **settings):
        starts.append(start)
        ends.append(descend(objective, start, **settings))
        return ends[-1]

    monkeypatch.setattr(pruning, "descend", watched)
    given = PressStart(ARD((0.8, 1.5, 2.0, 3.0, 4.0)), 2.0)
    found = descend_with_pruning(PressObjective(X, y, "press-laplace"), given)
    assert starts[0].kernel.scales == pytest.approx(given.kernel.scales)
    assert starts[0].gamma == given.gamma
    assert len(starts) > 1
    for end, start in pairwise(zip(ends, starts, strict=True)):
        before, after = end[0].kernel.scales, start[1].kernel.scales
        assert start[1].gamma == end[0].gamma
        assert all(min(abs(scale - old) for old in before) < 1e-9 * scale for scale in after)  # those that are left
    assert found.kernel == ends[-1].kernel
    assert found.n_evaluations == sum(end.n_evaluations for end in ends)
    assert found.converged
    sizes = [len(start.kernel.scales) for start in starts]
    assert sizes == [5, 3]  # once nothing changes there is no further descent


def test_where_no_input_is_removed_the_prior_counts_them_all():
    X, y = planted(120, 2)
    objective = PressObjective(X, y, "press-laplace")
    found = descend_with_pruning(objective, PressStart(ARD((1.5, 1.5)), 1.0))
    assert found.selected.all()
    assert found.converged
    eta = np.exp(-2.0 * found.kernel.log_params)
    assert found.evaluation.xi == pytest.approx(2.0 / eta.sum(), rel=1e-12)
    whole = descend(objective, PressStart(found.kernel, found.gamma))
    assert found.evaluation.value == pytest.approx(whole.evaluation.value, abs=1e-6)


def test_a_removal_that_goes_round_in_a_circle_ends_and_has_not_converged(monkeypatch):
    """The third input goes, comes back, and goes again."""
    X, y = planted(60, 3)
    sizes = []

    def revised(objective, eta, gamma, found):
        sizes.append(int(np.sum(eta > 0.0)))
        eta = eta.copy()
        eta[2] = 0.0 if sizes[-1] == 3 else 0.1
        return eta, True

    monkeypatch.setattr(pruning, "_revised", revised)
    start = PressStart(ARD((1.5,) * 3), 1.0)
    found = descend_with_pruning(PressObjective(X, y, "press-laplace"), start, max_iter=2)
    assert sizes == [3, 2, 3, 2]
    assert not found.converged
    assert found.message == "the number of remaining inputs did not settle"


def test_as_many_inputs_but_others_are_no_circle(monkeypatch):
    """One input of three is out, each of them in turn: what has been seen is which, not how many."""
    X, y = planted(60, 3)
    out = iter([0, 1, 2, 0, 1])

    def revised(objective, eta, gamma, found):
        eta = np.full(3, 0.3)
        eta[next(out)] = 0.0
        return eta, True

    monkeypatch.setattr(pruning, "_revised", revised)
    start = PressStart(ARD((1.5,) * 3), 1.0)
    found = descend_with_pruning(PressObjective(X, y, "press-laplace"), start, max_iter=2)
    # 3 → without 0, 2 → without 1, without 2, and without 0 once more, counting two: then without 1 is the circle
    assert list(out) == []
    assert not found.converged


def test_sensitivity_at_zero_is_a_one_sided_difference():
    X, y, _ = problem(60)
    objective = PressObjective(X, y, "press-laplace")
    eta = np.array([0.5, 0.2, 0.0])

    def press(last):
        return objective.evaluate(ARD(tuple(np.array([0.5, 0.2, last]) ** -0.5)), GAMMA).press

    without = float(leave_one_out(ARD(tuple(eta[:2] ** -0.5))(X[:, :2]), y, GAMMA).press)
    steps = [(press(h) - without) / h for h in (1e-7, 2e-7)]
    expected = 2 * steps[0] - steps[1]
    assert press_sensitivity(objective, eta, GAMMA)[2] == pytest.approx(-expected, rel=1e-5)
    with pytest.raises(ValueError, match="not all zero"):
        press_sensitivity(objective, np.zeros(3), GAMMA)


def test_a_linear_problem_ends_at_the_flat_limit():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 4))
    y = X @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=60)
    found = select_by_press(ARD((2.0,) * 4), X, y, criterion="press-br", n_restarts=0, progress=False)
    assert found.status == "flat limit"
    linear = select_by_press(Linear(), X, y, n_restarts=0, progress=False)
    assert found.press == pytest.approx(linear.press, rel=0.05)
    plain = select_by_press(RBF(2.0), X, y, n_restarts=0, progress=False)
    assert not any(o.flat_limit for o in plain.outcomes)  # a notion of the criteria with a penalty


def test_weights_and_no_bias_are_carried_through():
    X, y = planted(80, 3)
    w = np.random.default_rng(0).uniform(0.3, 3.0, 80)
    found = select_by_press(RBF(1.0), X, y, weights=w, bias=False, n_restarts=0, progress=False)
    assert found.press == pytest.approx(float(found.leave_one_out(X, y, weights=w, bias=False).press), rel=1e-9)
    assert found.baseline == pytest.approx(0.5 * np.sum(w * y**2))
    with_bias = PressObjective(X, y, weights=w)
    tiny = leave_one_out(RBF(1.0)(X), y, 1e-12, weights=w)
    assert with_bias.baseline == pytest.approx(float(tiny.press), rel=1e-8)


# --- bad input -----------------------------------------------------------------------------------------------------


def test_bad_input_is_refused():
    X, y, w = problem()
    with pytest.raises(ValueError, match="at least 3 data points"):
        select_by_press(RBF(1.0), X[:2], y[:2])
    with pytest.raises(ValueError, match="no criterion 'gcv'"):
        select_by_press(RBF(1.0), X, y, criterion="gcv")
    with pytest.raises(ValueError, match="do not vary"):
        select_by_press(RBF(1.0), X, np.full(len(y), 3.0))
    with pytest.raises(ValueError, match="finite numbers"):
        select_by_press(RBF(1.0), np.where(X > 2, np.nan, X), y)
    with pytest.raises(ValueError, match="No column of X varies"):
        select_by_press(RBF(1.0), np.ones_like(X), y)
    with pytest.raises(ValueError, match="needs an ARD kernel"):
        select_by_press(RBF(1.0), X, y, criterion="press-laplace")
    with pytest.raises(ValueError, match="RBF and ARD"):
        PressObjective(X, y, "press-curvature").evaluate(Linear(), 1.0)
    with pytest.raises(ValueError, match="slope penalty is defined for RBF and ARD kernels only, not for Linear"):
        PressObjective(X, y, "press-slope").evaluate(Linear(), 1.0)
    with pytest.raises(ValueError, match="2 scales but the inputs have 3"):
        select_by_press(ARD((1.0, 1.0)), X, y)
    with pytest.raises(ValueError, match="positive finite numbers"):
        select_by_press(RBF(1.0), X, y, weights=-w)
    with pytest.raises(NotPositiveSemidefiniteError, match="lost in the rounding"):
        PressObjective(X, y).evaluate(RBF(1.0), 1e20)
    objective = PressObjective(X, y, "press-br")
    with pytest.raises(ValueError, match="ARD kernel, not press-br"):
        descend_with_pruning(objective, PressStart(ARD((1.0,) * 3), 1.0))


@pytest.mark.parametrize("criterion", ["press", "press-br", "press-laplace"])
def test_a_constant_column_has_no_relevance(criterion):
    X, y = planted(80, 2)
    with pytest.warns(ConstantFeatureWarning, match=r"no relevance: 1\."):
        found = select_by_press(
            ARD((1.0,) * 3), np.insert(X, 1, 5.0, axis=1), y, criterion=criterion, n_restarts=0, progress=False
        )
    assert found.selected.tolist() == [True, False, True]
    assert found.eta[1] == 0.0
    without = select_by_press(ARD((1.0,) * 2), X, y, criterion=criterion, n_restarts=0, progress=False)
    assert found.press == pytest.approx(without.press, rel=1e-9)


def test_duplicated_columns_share_their_relevance():
    X, y = planted(80, 2)
    once = select_by_press(ARD((1.0,) * 2), X, y, n_restarts=0, progress=False)
    twice = select_by_press(ARD((1.0,) * 4), np.hstack([X, X]), y, n_restarts=0, progress=False)
    assert twice.press == pytest.approx(once.press, rel=1e-4)
    np.testing.assert_allclose(twice.eta[:2] + twice.eta[2:], once.eta, rtol=2e-2)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_one_input(criterion):
    X, y = planted(80, 2)
    found = select_by_press(ARD((1.0,)), X[:, :1], y, criterion=criterion, n_restarts=0, progress=False)
    assert found.selected.tolist() == [True]
    assert found.press < found.baseline


@pytest.mark.parametrize("criterion", CRITERIA)
def test_more_inputs_than_points(criterion):
    X, y = planted(25, 40, seed=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSignalWarning)  # whether 25 points show a signal is not the question
        found = select_by_press(ARD((8.0,) * 40), X, y, criterion=criterion, n_restarts=0, progress=False)
    assert np.isfinite(found.value)
    assert found.press < found.baseline * 1.001
    assert found.selected.any()


@pytest.mark.parametrize("criterion", ["press", "press-br", "press-laplace"])
def test_no_signal_is_said(criterion):
    rng = np.random.default_rng(11)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    with pytest.warns(NoSignalWarning, match="hardly predict"):
        found = select_by_press(ARD((1.5,) * 2), X, y, criterion=criterion, n_restarts=0, progress=False)
    assert found.status == "no signal"
    assert 0.5 * 60 * np.log(found.baseline / found.press) < 2.0


def test_a_kernel_that_is_no_inner_product_is_refused():
    X, y, _ = problem(60)
    with pytest.raises(NotPositiveSemidefiniteError):
        select_by_press(MLP(50.0, 0.0), X, y, n_restarts=0, progress=False)


def test_a_descent_turns_back_from_a_matrix_without_a_factor():
    X, y, _ = problem(60)
    objective = PressObjective(X, y)
    start = starts(objective, Polynomial(3, 1e-3), n_restarts=0, seed=0)[0]
    found = descend(objective, start)
    assert np.isfinite(found.evaluation.press)


# --- the likelihood of labels that were left out


@pytest.mark.parametrize(("kernel", "gamma"), [(RBF(1.5), 3.0), (ARD((1.0, 2.0, 3.0)), 30.0), (Linear(), 0.2)], ids=str)
def test_the_gradient_of_the_left_out_likelihood(kernel, gamma):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(70, 3))
    y = np.sign(X[:, 0] + 0.3 * X[:, 1] ** 2 - 0.2 + 0.5 * rng.normal(size=70))
    objective = PressObjective(X, y, "loo")

    def value(x):
        return objective.evaluate(kernel.with_log_params(x[1:]), float(np.exp(x[0]))).value

    x, h = np.append(np.log(gamma), kernel.log_params), 1e-5
    slope = [(value(x + h * e) - value(x - h * e)) / (2 * h) for e in np.eye(len(x))]
    found = objective.evaluate(kernel, gamma, gradient=True).gradient / np.log(2.0)
    np.testing.assert_allclose(found, slope, rtol=1e-5, atol=1e-6)


def test_the_left_out_likelihood_is_that_of_models_of_the_others():
    """Refitted without each point, and the map fitted by another optimiser."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(25, 2))
    y = np.sign(X[:, 0] + 0.4 * rng.normal(size=25))
    kernel, gamma = RBF(1.4), 5.0
    z = np.empty(25)
    for i in range(25):
        rest = np.arange(25) != i
        model = LSSVC(kernel, gamma=gamma, standardise=False).fit(X[rest], y[rest])
        z[i] = model.decision_function(X[i : i + 1])[0]
    h, t = label_log_odds(z), y > 0
    centre = np.log(t.sum() / (~t).sum())

    def cost(point):
        odds = point[0] * h + point[1]
        own = 0.5 * ((point[0] - 1) / 4) ** 2 + 0.5 * ((point[1] - centre) / 3) ** 2
        return np.sum(np.logaddexp(0, odds) - t * odds) + own

    found = PressObjective(X, y, "loo").evaluate(kernel, gamma)
    assert found.value - found.penalty == pytest.approx(minimize(cost, [1.0, 0.0], tol=1e-12).fun, abs=1e-6)


def test_real_targets_have_no_left_out_likelihood():
    with pytest.raises(ValueError, match="labels ±1"):
        PressObjective(np.arange(6.0)[:, None], np.arange(6.0), "loo")
