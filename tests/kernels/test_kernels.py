"""Kernels: values against loops, derivatives against differences and autodiff, algebra, messages and memory."""

from __future__ import annotations

import dataclasses
import json
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.special import gamma, kv

from bayes_lssvm import NotPositiveSemidefiniteError
from bayes_lssvm.kernels import (
    ARD,
    MLP,
    RBF,
    Categorical,
    Constant,
    Linear,
    Matern,
    OnInputs,
    Periodic,
    Polynomial,
    Product,
    RationalQuadratic,
    Scaled,
    Sum,
    White,
    as_kernel,
    check_positive_semidefinite,
    kernel_from_dict,
)

WIDTH = 3
EXPLICIT = {
    "linear": Linear(),
    "poly1": Polynomial(1, 0.7),
    "poly2": Polynomial(2, 1.9),
    "poly3": Polynomial(3, 2.5),
    "poly4": Polynomial(4, 4.0),
    "sum of explicit": Linear() + Polynomial(2, 3.0),
    "product of explicit": Linear() * Polynomial(2, 3.0),
    "scaled": 0.3 * Polynomial(2, 1.5),
    "scaled sum times linear": 2.0 * (Linear() + 0.5 * Polynomial(3, 2.0)) * Linear(),
    "constant": Constant(),
    "constant in a product": (Constant() + Linear()) * Linear(),
    "linear from an origin": Linear((0.5, -1.0, 2.0)),
    "on inputs": OnInputs(Polynomial(2, 1.5), (2, 0)) + OnInputs(Linear(), (1,)),
}
KERNELS = EXPLICIT | {
    "rbf": RBF(1.7),
    "ard": ARD((0.8, 2.0, 5.0)),
    "mlp": MLP(0.2, 0.9),
    "mlp, offset fixed": MLP(0.3, -0.4),
    "sum": RBF(1.2) + Linear() + MLP(0.1, 0.3),
    "product": RBF(1.2) * Polynomial(2, 3.0) * ARD((1.0, 2.0, 3.0)),
    "scaled rbf": 2.5 * RBF(0.9),
    "matern12": Matern(1.3, 0.5),
    "matern32": Matern(1.3, 1.5),
    "matern52": Matern(0.7, 2.5),
    "rational quadratic": RationalQuadratic(1.3, 0.6),
    "periodic": Periodic(1.2, 1.9),
    "categorical": Categorical(1.4),
    "white in a sum": RBF(1.1) + 0.3 * White(),
    "parts of the inputs": OnInputs(Matern(1.0, 2.5), (1,)) + OnInputs(Periodic(0.9, 2.0) * RBF(2.0), (0, 2)),
    "nested": 0.7 * (RBF(1.1) + 3.0 * ARD((1.0, 2.0, 3.0)) * (Linear() + Polynomial(2))) + MLP(0.2, 0.5) * RBF(2.0),
}
PARAMETRIC = {name: kernel for name, kernel in KERNELS.items() if kernel.log_params.size}


def cases(kernels):
    return pytest.mark.parametrize("kernel", kernels.values(), ids=kernels.keys())


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(20)
    return rng.standard_normal((9, WIDTH)), rng.standard_normal((5, WIDTH))


def naive_matern(rho, nu):
    """Matérn's kernel from its general form, 2^(1−ν)/Γ(ν) ρ^ν K_ν(ρ)."""
    return 1.0 if rho == 0.0 else float(2.0 ** (1.0 - nu) / gamma(nu) * rho**nu * kv(nu, rho))


def naive(kernel, x, z):
    """K(x, z) of two points from the definitions, in plain Python."""
    inner = math.fsum(a * b for a, b in zip(x, z, strict=True))
    if isinstance(kernel, Linear) and kernel.origin:
        return math.fsum((a - o) * (b - o) for a, b, o in zip(x, z, kernel.origin, strict=True))
    if isinstance(kernel, Linear):
        return inner
    if isinstance(kernel, Polynomial):
        return (1.0 + inner / kernel.scale) ** kernel.degree
    if isinstance(kernel, MLP):
        return math.tanh(kernel.kappa * inner + kernel.theta)
    if isinstance(kernel, RBF):
        return math.exp(-math.fsum((a - b) ** 2 for a, b in zip(x, z, strict=True)) / kernel.sigma**2)
    if isinstance(kernel, ARD):
        return math.exp(-math.fsum(((a - b) / s) ** 2 for a, b, s in zip(x, z, kernel.scales, strict=True)))
    if isinstance(kernel, Scaled):
        return kernel.factor * naive(kernel.kernel, x, z)
    if isinstance(kernel, OnInputs):
        return naive(kernel.kernel, [x[c] for c in kernel.columns], [z[c] for c in kernel.columns])
    if isinstance(kernel, Constant):
        return 1.0
    if isinstance(kernel, White):
        return float(list(x) == list(z))
    if isinstance(kernel, Categorical):
        return math.exp(-sum(a != b for a, b in zip(x, z, strict=True)) / kernel.sigma**2)
    if isinstance(kernel, Periodic):
        sines = math.fsum(math.sin(math.pi * (a - b) / kernel.period) ** 2 for a, b in zip(x, z, strict=True))
        return math.exp(-2.0 * sines / kernel.length_scale**2)
    if isinstance(kernel, RationalQuadratic):
        return (1.0 + math.dist(x, z) ** 2 / (2.0 * kernel.alpha * kernel.length_scale**2)) ** -kernel.alpha
    if isinstance(kernel, Matern):
        return naive_matern(math.sqrt(2.0 * kernel.nu) * math.dist(x, z) / kernel.length_scale, kernel.nu)
    parts = [naive(part, x, z) for part in kernel.parts]
    return math.fsum(parts) if isinstance(kernel, Sum) else math.prod(parts)


def naive_matrix(kernel, X, Z):
    return np.array([[naive(kernel, x.tolist(), z.tolist()) for z in Z] for x in X])


# ---------------------------------------------------------------------------------------------------- values


@cases(KERNELS)
def test_blocks_and_diagonal_equal_the_definitions(kernel, points):
    X, Z = points
    np.testing.assert_allclose(kernel(X), naive_matrix(kernel, X, X), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(kernel(X, Z), naive_matrix(kernel, X, Z), rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(kernel.diag(X), [naive(kernel, x, x) for x in X.tolist()], rtol=1e-13)
    assert kernel(X, Z).shape == (9, 5)


@cases(KERNELS)
@pytest.mark.parametrize("layout", ["C", "F", "columns of a wider array", "every second row", "one row"])
def test_the_matrix_is_symmetric_to_the_last_bit_for_every_layout(kernel, layout):
    wide = np.random.default_rng(0).standard_normal((140, 2 * WIDTH)) * 3.0
    X = {
        "C": np.ascontiguousarray(wide[:, :WIDTH]),
        "F": np.asfortranarray(wide[:, :WIDTH]),
        "columns of a wider array": wide[:, ::2],
        "every second row": wide[::2, :WIDTH],
        "one row": wide[:1, :WIDTH],
    }[layout]
    K = kernel(X)
    assert np.array_equal(K, K.T)


@pytest.mark.parametrize("n", [255, 256, 257, 520])
@pytest.mark.parametrize("width", [1, 17])
def test_the_matrix_is_symmetric_and_right_across_the_edges_of_its_blocks(n, width):
    """Matrices of kernels of the difference are made in blocks of rows, one triangle only; BLAS has blocks too."""
    X = np.random.default_rng(n).standard_normal((n, width))
    scales = np.linspace(1.0, 3.0, width)
    expected = {
        RBF(1.7): np.exp(-cdist(X, X, "sqeuclidean") / 1.7**2),
        ARD(scales): np.exp(-cdist(X / scales, X / scales, "sqeuclidean")),
        Linear(): np.einsum("ik,jk->ij", X, X),
        Polynomial(2, 4.0): (1.0 + np.einsum("ik,jk->ij", X, X) / 4.0) ** 2,
        MLP(0.1, 0.2): np.tanh(0.1 * np.einsum("ik,jk->ij", X, X) + 0.2),
    }
    for kernel, values in expected.items():
        K = kernel(X)
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_allclose(K, values, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(kernel(X, X[200:]), values[:, 200:], rtol=1e-12, atol=1e-12)
    for kernel in (RBF(1e-3), RBF(1e3), ARD(scales)):
        np.testing.assert_array_equal(np.diag(kernel(X)), 1.0)  # not only to rounding


def test_duplicate_points_have_the_same_rows():
    X = np.random.default_rng(2).standard_normal((40, WIDTH))
    for kernel in (RBF(0.3), ARD((0.2, 1.0, 5.0))):
        K = kernel(np.vstack([X, X]))
        np.testing.assert_allclose(K[:40, 40:], K[:40, :40], rtol=0, atol=1e-13 / 0.2**2)
        assert K.max() == 1.0  # a squared distance that rounds below zero would give more


@cases(KERNELS)
def test_a_block_is_a_part_of_the_whole_matrix(kernel, points):
    X, _ = points
    K = kernel(X)
    np.testing.assert_allclose(kernel(X[2:5], X), K[2:5], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(kernel(X, X[:1]).T, kernel(X[:1], X), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(np.diag(K), kernel.diag(X), rtol=1e-13)


@cases(KERNELS)
def test_evaluation_leaves_the_inputs_alone(kernel, points):
    X, Z = points
    before = X.copy(), Z.copy()
    kernel(X, Z)
    kernel.contract(X, kernel(X))
    list(kernel.gradient(X, Z))
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(Z, before[1])


def test_widths_follow_paper_0():
    """K = exp(−d²/σ²): scikit-learn's length scale is σ/√2, and an ARD kernel of equal scales is the RBF."""
    from sklearn.gaussian_process.kernels import RBF as SklearnRBF

    X = np.random.default_rng(1).standard_normal((20, WIDTH))
    np.testing.assert_allclose(RBF(1.3)(X), SklearnRBF(1.3 / np.sqrt(2))(X), rtol=1e-13)
    np.testing.assert_allclose(ARD((1.3,) * WIDTH)(X), RBF(1.3)(X), rtol=1e-13)
    np.testing.assert_allclose(
        ARD((1.3, 0.4, 7.0))(X), SklearnRBF(np.array([1.3, 0.4, 7.0]) / np.sqrt(2))(X), rtol=1e-13
    )


# ----------------------------------------------------------------------------------------------- derivatives


def fourth_order_difference(f, theta, p, h=1e-3):
    def at(k):
        shifted = theta.copy()
        shifted[p] += k * h
        return f(shifted)

    return (8.0 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12.0 * h)


@cases(PARAMETRIC)
def test_gradient_equals_central_differences_in_log_parameters(kernel, points):
    X, Z = points
    theta = kernel.log_params
    for first, second in ((X, None), (X, Z)):
        matrices = list(kernel.gradient(first, second))
        assert len(matrices) == theta.size == len(kernel.param_names)
        for p, dK in enumerate(matrices):
            numeric = fourth_order_difference(lambda t: kernel.with_log_params(t)(first, second), theta, p)  # noqa: B023
            scale = max(1.0, np.abs(numeric).max())
            np.testing.assert_allclose(dK, numeric, rtol=0, atol=1e-8 * scale)


def jax_matrix(kernel, theta, X, Z):
    """K(X, Z) for log parameters `theta`, from the definitions, in JAX; with what is left of `theta`."""
    import jax.numpy as jnp

    inner = X @ Z.T
    squares = (X[:, None, :] - Z[None, :, :]) ** 2
    if isinstance(kernel, Linear):
        return inner, theta
    if isinstance(kernel, Polynomial):
        return (1.0 + inner / jnp.exp(theta[0])) ** kernel.degree, theta[1:]
    if isinstance(kernel, MLP):
        if kernel.theta > 0:
            return jnp.tanh(jnp.exp(theta[0]) * inner + jnp.exp(theta[1])), theta[2:]
        return jnp.tanh(jnp.exp(theta[0]) * inner + kernel.theta), theta[1:]
    if isinstance(kernel, RBF):
        return jnp.exp(-squares.sum(axis=2) / jnp.exp(2 * theta[0])), theta[1:]
    if isinstance(kernel, ARD):
        count = len(kernel.scales)
        return jnp.exp(-(squares / jnp.exp(2 * theta[:count])).sum(axis=2)), theta[count:]
    if isinstance(kernel, Categorical):
        return jnp.exp(-(squares > 0.0).sum(axis=2) / jnp.exp(2 * theta[0])), theta[1:]
    if isinstance(kernel, White):
        return (squares.sum(axis=2) == 0.0).astype(float), theta
    if isinstance(kernel, Periodic):
        sines = jnp.sin(jnp.pi * (X[:, None, :] - Z[None, :, :]) / jnp.exp(theta[1])) ** 2
        return jnp.exp(-2.0 * sines.sum(axis=2) / jnp.exp(2 * theta[0])), theta[2:]
    if isinstance(kernel, RationalQuadratic):
        alpha = jnp.exp(theta[1])
        return (1.0 + squares.sum(axis=2) / (2.0 * alpha * jnp.exp(2 * theta[0]))) ** -alpha, theta[2:]
    if isinstance(kernel, Matern):
        rho = jnp.sqrt(2.0 * kernel.nu * squares.sum(axis=2)) / jnp.exp(theta[0])
        factor = {0.5: 1.0, 1.5: 1.0 + rho, 2.5: 1.0 + rho + rho**2 / 3.0}[kernel.nu]
        return factor * jnp.exp(-rho), theta[1:]
    if isinstance(kernel, OnInputs):
        columns = list(kernel.columns)
        return jax_matrix(kernel.kernel, theta, X[:, columns], Z[:, columns])
    if isinstance(kernel, Scaled):
        K, rest = jax_matrix(kernel.kernel, theta[1:], X, Z)
        return jnp.exp(theta[0]) * K, rest
    total, rest = jax_matrix(kernel.parts[0], theta, X, Z)
    for part in kernel.parts[1:]:
        K, rest = jax_matrix(part, rest, X, Z)
        total = total + K if isinstance(kernel, Sum) else total * K
    return total, rest


@cases(PARAMETRIC)
def test_gradient_equals_automatic_differentiation(kernel, points):
    jax = pytest.importorskip("jax")
    X, Z = points
    with jax.enable_x64(True):  # scoped: the other tests keep JAX's default
        jacobian = jax.jit(jax.jacfwd(lambda theta: jax_matrix(kernel, theta, X, Z)[0]))(kernel.log_params)
        assert jacobian.dtype == np.float64
        expected = np.moveaxis(np.asarray(jacobian), -1, 0)
    for dK, reference in zip(kernel.gradient(X, Z), expected, strict=True):
        np.testing.assert_allclose(dK, reference, rtol=1e-8, atol=1e-12)


@cases(KERNELS)
def test_contract_equals_the_sum_over_the_gradient(kernel, points):
    X, _ = points
    A = np.random.default_rng(3).standard_normal((len(X), len(X)))
    W = A + A.T
    expected = np.array([(W * dK).sum() for dK in kernel.gradient(X)])
    scale = np.array([np.abs(W * dK).sum() for dK in kernel.gradient(X)])
    for known in (None, kernel(X)):
        contracted = kernel.contract(X, W, known)
        assert contracted.shape == kernel.log_params.shape
        assert np.all(np.abs(contracted - expected) <= 1e-10 * scale)


@cases(KERNELS)
def test_rows_in_given_memory_are_those_of_the_matrix(kernel, points):
    X, Z = points
    room = np.full(len(X) * len(Z) + 5, np.nan)
    for _ in range(2):
        np.testing.assert_array_equal(kernel.rows(X, Z, room), kernel(X, Z))


@cases(KERNELS)
def test_contract_rows_equals_the_sum_over_the_gradient(kernel, points):
    X, Z = points
    W = np.random.default_rng(4).standard_normal((len(X), len(Z)))
    expected = np.array([(W * dK).sum() for dK in kernel.gradient(X, Z)])
    scale = np.array([np.abs(W * dK).sum() for dK in kernel.gradient(X, Z)])
    K = kernel(X, Z)
    kept = K.copy()
    contracted = kernel.contract_rows(X, Z, W, K)
    assert contracted.shape == kernel.log_params.shape
    assert np.all(np.abs(contracted - expected) <= 1e-10 * scale)
    np.testing.assert_array_equal(K, kept)


@cases({name: kernel for name, kernel in KERNELS.items() if kernel.log_params.size == 1})
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("n", [9, 300])
def test_the_lower_triangles_with_the_slope_are_those_of_the_matrices(kernel, dtype, rtol, n):
    X = np.random.default_rng(5).standard_normal((n, WIDTH))
    (slope,) = kernel.gradient(X)
    for found, expected in zip(kernel.lower_with_slope(X, dtype), (kernel(X), slope), strict=True):
        assert found.dtype == dtype
        assert found.flags.f_contiguous
        np.testing.assert_allclose(np.tril(found), np.tril(expected), rtol=0, atol=rtol * np.abs(expected).max())
    assert np.isfinite(kernel.lower_with_slope(X, dtype)[1]).all()


def test_a_matrix_given_to_contract_is_not_overwritten():
    X = np.random.default_rng(3).standard_normal((9, WIDTH))
    for kernel in (RBF(1.3), ARD((1.0, 2.0, 3.0)), 2.0 * RBF(1.3), RBF(1.0) * Polynomial(2)):
        K, W = kernel(X), np.eye(9) + 0.1
        kept = K.copy(), W.copy()
        kernel.contract(X, W, K)
        np.testing.assert_array_equal(K, kept[0])
        np.testing.assert_array_equal(W, kept[1])


# ---------------------------------------------------------------------------------------------- feature maps


@cases(EXPLICIT)
def test_feature_map_reproduces_the_kernel(kernel, points):
    """K(x, z) = φ(x)ᵀφ(z) (eq 2.5)."""
    X, Z = points
    phi_X, phi_Z = kernel.feature_map(X), kernel.feature_map(Z)
    np.testing.assert_allclose(phi_X @ phi_Z.T, kernel(X, Z), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(phi_X @ phi_X.T, kernel(X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("degree", "width"), [(1, 3), (2, 3), (3, 2), (4, 5)])
def test_polynomial_feature_map_has_one_column_for_each_monomial(degree, width):
    phi = Polynomial(degree).feature_map(np.ones((2, width)))
    assert phi.shape == (2, math.comb(width + degree, degree))


def test_feature_map_of_linear_is_a_copy():
    X = np.ones((2, 2))
    Linear().feature_map(X)[:] = 0.0
    assert X.sum() == 4.0


@pytest.mark.parametrize(
    "kernel", [RBF(), ARD((1.0,)), MLP(), RBF() + Linear(), 2.0 * RBF(), Linear() * MLP()], ids=str
)
def test_kernels_without_finite_features_say_so(kernel):
    with pytest.raises(ValueError, match=r"no finite explicit feature map.*dual forms"):
        kernel.feature_map(np.ones((2, 1)))


def test_a_feature_map_too_wide_to_be_of_use_is_refused():
    with pytest.raises(ValueError, match=f"has {math.comb(64, 4)} columns; use the dual forms"):
        Polynomial(4).feature_map(np.ones((2, 60)))


# ---------------------------------------------------------------------------------- parameters and dictionaries


@cases(KERNELS)
def test_log_parameters_round_trip(kernel, points):
    X, _ = points
    theta = kernel.log_params
    assert theta.shape == (len(kernel.param_names),)
    assert len(set(kernel.param_names)) == len(kernel.param_names)
    again = kernel.with_log_params(theta)
    np.testing.assert_allclose(again(X), kernel(X), rtol=1e-12, atol=1e-13)
    moved = theta + np.linspace(0.1, 0.5, theta.size)
    np.testing.assert_allclose(kernel.with_log_params(moved).log_params, moved, rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(kernel.log_params, theta)  # kernels are immutable values


@cases(KERNELS)
def test_dictionary_round_trip_is_exact_through_json(kernel):
    again = kernel_from_dict(json.loads(json.dumps(kernel.to_dict())))
    assert again == kernel
    assert hash(again) == hash(kernel)
    assert type(again) is type(kernel)


@pytest.mark.parametrize(
    "kernel",
    [
        RBF(np.int64(2)),
        Polynomial(np.int64(2), np.float32(0.5)),
        MLP(np.int64(1), np.float32(0.5)),
        ARD(np.array([1, 2])),
    ],
    ids=["rbf", "poly", "mlp", "ard"],
)
def test_parameters_that_are_numpy_scalars_go_through_json_too(kernel):
    assert kernel_from_dict(json.loads(json.dumps(kernel.to_dict()))) == kernel


def test_dictionary_of_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="no kernel of kind 'Wavelet'"):
        kernel_from_dict({"kind": "Wavelet"})


@cases(KERNELS)
def test_search_starts_from_the_present_parameters_within_bounds(kernel, points):
    X, _ = points
    starts, bounds = kernel.starting_points(X), kernel.log_bounds(X)
    np.testing.assert_allclose(starts[0], kernel.log_params, rtol=1e-14)
    assert starts.shape[1] == len(bounds) == kernel.log_params.size
    assert np.all((starts >= bounds[:, 0]) & (starts <= bounds[:, 1]))


def test_scales_start_at_widths_that_suit_standardised_inputs():
    """Distances of standardised points grow as √d, and so do the spherical kernels that a search starts at."""
    rng = np.random.default_rng(0)
    by_d = {d: np.exp(ARD((1.0,) * d).starting_points(rng.normal(size=(20, d)))[1:]) for d in (2, 8, 50)}
    for d, widths in by_d.items():
        np.testing.assert_allclose(widths, widths[:, :1] * np.ones(d), rtol=1e-12)
        np.testing.assert_allclose(widths[:, 0] / np.sqrt(d), by_d[2][:, 0] / np.sqrt(2.0), rtol=1e-12)


@pytest.mark.parametrize("d", [1, 4, 9])
def test_searches_reach_decades_below_and_above_what_is_typical(d):
    """A width is typically √d, the scale of a polynomial d; of what has no typical value it is the present one."""
    X, root = np.zeros((3, d)), np.sqrt(d)
    widths = 2.0 ** np.arange(-5, 6) * root
    for kernel, low, high, starts in (
        (RBF(0.3), [1e-2 * root], [1e3 * root], widths[:, None]),
        (ARD((0.3,) * d), [1e-2 * root] * d, [1e3 * root] * d, np.outer(widths, np.ones(d))),
        (Matern(0.3), [1e-2 * root / np.sqrt(2.0)], [1e3 * root / np.sqrt(2.0)], widths[:, None] / np.sqrt(2.0)),
        (Polynomial(2, 0.3), [1e-4 * d], [1e5 * d], d * np.array([[0.1], [1.0], [10.0], [100.0]])),
        (MLP(0.2, 0.5), [0.2e-4, 0.5e-4], [0.2e4, 0.5e4], np.empty((0, 2))),
        (3.0 * Linear(), [3e-6], [3e6], np.empty((0, 1))),
    ):
        np.testing.assert_allclose(np.exp(kernel.log_bounds(X)).T, [low, high], rtol=1e-12)
        np.testing.assert_allclose(np.exp(kernel.starting_points(X)[1:]), starts, rtol=1e-12)


# ---------------------------------------------------------------------------------------------------- algebra


def test_sums_and_products_are_flat_and_numbers_scale():
    a, b, c = RBF(1.0), Linear(), Polynomial(2)
    assert (a + b) + c == a + (b + c) == Sum((a, b, c))
    assert (a * b) * c == a * (b * c) == Product((a, b, c))
    assert 2 * a == a * 2 == np.float64(2.0) * a == a * np.int64(2) == Scaled(2.0, a)
    assert a + b != a * b


def test_kernels_are_immutable_values():
    assert RBF(1.0) == RBF(1.0) != RBF(2.0)
    assert len({RBF(1.0), RBF(1.0), ARD([1.0]), ARD((1.0,))}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        RBF(1.0).sigma = 2.0


@pytest.mark.parametrize("combine", [lambda k: k + 1.0, lambda k: 1.0 + k, lambda k: k * "2", lambda k: k * [2.0]])
def test_kernels_combine_with_kernels_and_numbers_only(combine):
    with pytest.raises(TypeError):
        combine(RBF())


def test_names_of_parameters_tell_the_parts_apart():
    kernel = 2.0 * RBF(1.0) + Polynomial(2) * ARD((1.0, 2.0))
    assert kernel.param_names == ("0.factor", "0.sigma", "1.0.scale", "1.1.scale_0", "1.1.scale_1")


def test_repr_shows_the_structure_and_str_shortens_the_numbers():
    kernel = 0.5 * (RBF(1.23456789) + Linear()) * Polynomial(2, 3.0)
    assert repr(kernel) == "0.5 * (RBF(sigma=1.23456789) + Linear()) * Polynomial(degree=2, scale=3.0)"
    assert str(RBF(1.23456789)) == "RBF(sigma=1.235)"


# ------------------------------------------------------------------------------------------------------ names


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("linear", Linear()),
        ("poly", Polynomial(3, 1.0)),
        ("poly2", Polynomial(2, 1.0)),
        ("poly3", Polynomial(3, 1.0)),
        ("rbf", RBF(2.0)),
        ("RBF", RBF(2.0)),
        ("ard", ARD((2.0,) * 4)),
        ("mlp", MLP(0.25, 1.0)),
        ("matern12", Matern(np.sqrt(2.0), 0.5)),
        ("Matern32", Matern(np.sqrt(2.0), 1.5)),
        ("matern52", Matern(np.sqrt(2.0), 2.5)),
        ("rq", RationalQuadratic(np.sqrt(2.0), 1.0)),
        ("periodic", Periodic(2.0, 1.0)),
        ("categorical", Categorical(2.0)),
        ("constant", Constant()),
        ("white", White()),
        (RBF(0.3), RBF(0.3)),
    ],
)
def test_kernels_by_name(name, expected):
    assert as_kernel(name, 4) == expected


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("gauss", r"There is no kernel named 'gauss'; the names are linear, .*rbf"),
        (None, "kernel must be a name .* or an object of bayes_lssvm.kernels, got None"),
        (3.0, "kernel must be a name"),
        (RBF, "kernel must be a name"),
        (ARD((1.0, 2.0)), "2 scales but the inputs have 3 columns"),
        (2.0 * (RBF() + ARD((1.0, 2.0))), "2 scales but the inputs have 3 columns"),
        (RBF() + Linear((1.0,)), r"origin of Linear\(origin=\(1.0,\)\) has 1 numbers but the inputs have 3 columns"),
        (Linear() * OnInputs(RBF(), (1, 3)), "a kernel of input 3, but the inputs have 3 columns, counted from 0"),
    ],
)
def test_what_is_no_kernel_for_these_inputs_gets_a_sentence(kernel, message):
    with pytest.raises(ValueError, match=message):
        as_kernel(kernel, WIDTH)


# --------------------------------------------------------------------------------------------- bad parameters

NOT_POSITIVE = [0.0, -1.0, np.nan, np.inf]


@pytest.mark.parametrize("value", NOT_POSITIVE)
@pytest.mark.parametrize(
    ("make", "what"),
    [
        (RBF, "The width sigma of an RBF kernel"),
        (lambda v: ARD((1.0, v)), "Each scale of an ARD kernel"),
        (lambda v: Polynomial(2, v), "The scale of a polynomial kernel"),
        (MLP, "The gain kappa of an MLP kernel"),
        (Matern, "The length_scale of a Matern kernel"),
        (lambda v: RationalQuadratic(1.0, v), "The alpha of a RationalQuadratic kernel"),
        (lambda v: Periodic(1.0, v), "The period of a Periodic kernel"),
        (Categorical, "The sigma of a Categorical kernel"),
    ],
    ids=["rbf", "ard", "poly", "mlp", "matern", "rq", "periodic", "categorical"],
)
def test_a_parameter_that_is_not_positive_is_named(make, what, value):
    with pytest.raises(ValueError, match=f"{what} must be a positive finite number, got .*{value}"):
        make(value)


@pytest.mark.parametrize("value", NOT_POSITIVE)
def test_a_factor_that_is_not_positive_is_refused(value):
    with pytest.raises(ValueError, match="only be multiplied by a positive finite number"):
        value * RBF()


@pytest.mark.parametrize("degree", [0, -2, 1.5, np.nan, np.inf])
def test_a_degree_that_is_no_whole_number_is_refused(degree):
    with pytest.raises(ValueError, match="whole number ≥ 1"):
        Polynomial(degree)


@pytest.mark.parametrize("theta", [np.nan, -np.inf])
def test_an_offset_that_is_not_finite_is_refused(theta):
    with pytest.raises(ValueError, match="offset theta of an MLP kernel must be finite"):
        MLP(1.0, theta)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ARD(()), "needs one scale for each input"),
        (lambda: Sum((RBF(),)), "A Sum of kernels needs two parts"),
        (lambda: Product(()), "A Product of kernels needs two parts"),
    ],
)
def test_a_kernel_without_enough_parts_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_ard_refuses_inputs_of_another_width():
    with pytest.raises(ValueError, match="2 scales but the inputs have 3 columns; give one scale for each column"):
        ARD((1.0, 2.0))(np.ones((4, 3)))


# ---------------------------------------------------------------------------------------- positive semi-definite


@pytest.mark.parametrize(
    "wrap", [lambda k: k, lambda k: 2.0 * k, lambda k: k * RBF(50.0), lambda k: k + 1e-3 * Linear()]
)
def test_an_mlp_matrix_that_is_no_inner_product_is_refused(wrap):
    kernel = wrap(MLP(1.0, -1.0))  # tanh(κ‖x‖² + θ) < 0 at the origin
    X = np.random.default_rng(4).standard_normal((12, WIDTH)) * 0.3
    assert not kernel.is_psd
    K = kernel(X)
    assert np.linalg.eigvalsh(K)[0] < -1e-3
    with pytest.raises(
        NotPositiveSemidefiniteError, match=r"not positive semi-definite .smallest eigenvalue -.*Use other"
    ):
        check_positive_semidefinite(kernel, K)


def test_an_mlp_matrix_that_is_an_inner_product_is_accepted():
    # few points, far apart on the axes: tanh(κ‖x‖²) on the diagonal and nothing beside it
    X = 2.0 * np.eye(4)
    kernel = MLP(1.0, 0.0)
    assert np.linalg.eigvalsh(kernel(X))[0] > 0.9
    check_positive_semidefinite(kernel, kernel(X))


def test_a_singular_mlp_matrix_passes_in_spite_of_rounding():
    X = np.repeat(2.0 * np.eye(4), 25, axis=0)  # rank 4 of 100
    kernel = MLP(1.0, 0.0)
    check_positive_semidefinite(kernel, kernel(X))


@cases(KERNELS)
def test_positive_semidefinite_by_construction_unless_an_mlp_takes_part(kernel):
    assert kernel.is_psd == ("MLP" not in repr(kernel))


# ----------------------------------------------------------------------------------------------------- memory

MEMORY_KERNELS = {
    "linear": Linear(),
    "poly": Polynomial(3, 200.0),
    "rbf": RBF(14.0),
    "ard": ARD((14.0,) * 200),
    "mlp": MLP(0.01, 1.0),
    "composite": 2.0 * RBF(14.0) + Linear() * ARD((14.0,) * 200),
}


def peak_doubles(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / 8
    finally:
        tracemalloc.stop()


@cases(MEMORY_KERNELS)
@pytest.mark.parametrize("what", ["matrix", "block", "contract", "gradient"])
def test_no_evaluation_needs_an_array_of_n_times_n_times_d(kernel, what):
    """N²·d would be 200 N² doubles here."""
    N, d = 400, 200
    rng = np.random.default_rng(5)
    X, W = rng.standard_normal((N, d)), np.eye(N)
    Z = X[::-1].copy()

    def exhaust_gradient():
        for dK in kernel.gradient(X):
            del dK

    calls = {
        "matrix": lambda: kernel(X),
        "block": lambda: kernel(X, Z),
        "contract": lambda: kernel.contract(X, W),
        "gradient": exhaust_gradient,
    }
    # a composite keeps the sum or product so far while it evaluates the next part, one matrix for each level
    levels = 2 if isinstance(kernel, Sum) else 0
    assert peak_doubles(calls[what]) < (6 + levels) * N**2


# ------------------------------------------------------------------------------------------------- properties

examples = settings(max_examples=40, deadline=None, derandomize=True, database=None)
sizes = st.floats(0.05, 50.0)
simple_kernels = st.one_of(
    st.just(Linear()),
    st.builds(RBF, sizes),
    st.builds(Polynomial, st.integers(1, 4), sizes),
    st.builds(lambda s: ARD(tuple(s)), st.lists(sizes, min_size=WIDTH, max_size=WIDTH)),
    st.builds(Matern, sizes, st.sampled_from([0.5, 1.5, 2.5])),
    st.builds(RationalQuadratic, sizes, sizes),
    st.builds(Periodic, sizes, sizes),
    st.builds(Categorical, sizes),
    st.builds(lambda s: OnInputs(RBF(s), (2,)), sizes),
)
widths = st.floats(0.3, 20.0)
stationary_kernels = st.one_of(
    st.builds(RBF, widths),
    st.builds(lambda *s: ARD(s), *[widths] * WIDTH),
    st.builds(Matern, widths, st.sampled_from([0.5, 1.5, 2.5])),
    st.builds(RationalQuadratic, widths, widths),
)
random_kernels = st.recursive(
    simple_kernels,
    lambda inner: st.one_of(
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda c, k: c * k, sizes, inner),
    ),
    max_leaves=4,
)


def draw_points(seed, n=15):
    return np.random.default_rng(seed).standard_normal((n, WIDTH))


@examples
@given(random_kernels, st.integers(0, 2**32 - 1))
def test_every_sum_product_and_scaling_is_symmetric_and_positive_semidefinite(kernel, seed):
    X = draw_points(seed)
    K = kernel(X)
    assert np.array_equal(K, K.T)
    eigenvalues = np.linalg.eigvalsh(K)
    # entries carry a few eps of relative rounding each, which moves an eigenvalue by at most that times ‖K‖
    assert eigenvalues[0] >= -10 * len(X) * np.finfo(float).eps * np.abs(K).max()
    np.testing.assert_allclose(np.diag(K), kernel.diag(X), rtol=1e-12)


@examples
@given(random_kernels, st.integers(0, 2**32 - 1))
def test_every_random_kernel_survives_its_dictionary_and_its_log_parameters(kernel, seed):
    X = draw_points(seed, n=4)
    assert kernel_from_dict(json.loads(json.dumps(kernel.to_dict()))) == kernel
    np.testing.assert_allclose(kernel.with_log_params(kernel.log_params)(X), kernel(X), rtol=1e-11)


@examples
@given(stationary_kernels, st.integers(0, 2**32 - 1), st.sampled_from([1.0, -1e3, 1e6, -(2.0**20)]))
def test_kernels_of_the_difference_do_not_change_with_the_origin(kernel, seed, offset):
    # on a grid of 2⁻¹⁰ the shift itself is exact, so that only the evaluation is tested; a² + b² − 2ab
    # without a centre would have an error of about 1e12·eps = 2e-4 here
    X = np.round(draw_points(seed) * 1024) / 1024
    Z = X[:4] + 0.25
    shifted = X + offset
    assert np.array_equal(shifted - offset, X)
    np.testing.assert_allclose(kernel(shifted), kernel(X), rtol=0, atol=2e-12)
    np.testing.assert_allclose(kernel(shifted, Z + offset), kernel(X, Z), rtol=0, atol=2e-12)
    W = kernel(X)
    np.testing.assert_allclose(kernel.contract(shifted, W), kernel.contract(X, W), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", [RBF(1e-3), ARD((1e-3, 1e-3)), Matern(1e-3, 1.5), Matern(1e-3, 2.5)], ids=str)
def test_one_far_point_costs_the_others_no_digits(kernel):
    """a² + b² − 2ab round the mean would have errors of 1e-11 here, and the matrix an eigenvalue of −2e-11."""
    X = np.random.default_rng(0).normal(size=(12, 2))
    X[0] = 1e6
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    if isinstance(kernel, Matern):
        exact = naive_matrix(kernel, X, X)
    else:
        exact = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 1e-6)
    np.testing.assert_allclose(kernel(X), exact, rtol=0, atol=1e-14)
    np.testing.assert_allclose(kernel(X, X[:5]), exact[:, :5], rtol=0, atol=1e-14)
    np.testing.assert_allclose(kernel.blocks(X)(kernel), exact, rtol=0, atol=1e-14)
    assert np.linalg.eigvalsh(kernel(X))[0] > -1e-14


@pytest.mark.parametrize("kernel", [RBF(1.0), ARD((1.0, 1.0)), Matern(1.0, 1.5)], ids=str)
@pytest.mark.parametrize("far", [1e6, 1e12])
def test_one_far_point_costs_the_others_no_digits_without_standardisation(kernel, far):
    """The far point moves the mean, and what is centred there has lost the digits of 1e11."""
    X = np.random.default_rng(1).normal(size=(12, 2))
    X[0] = far
    new = X[1:4] + 0.25
    np.testing.assert_allclose(kernel(X), naive_matrix(kernel, X, X), rtol=0, atol=1e-14)
    np.testing.assert_allclose(kernel(X, new), naive_matrix(kernel, X, new), rtol=0, atol=1e-14)
    np.testing.assert_allclose(kernel.blocks(X)(kernel), naive_matrix(kernel, X, X), rtol=0, atol=1e-14)


def test_whole_numbers_of_any_size_have_the_distances_of_numbers():
    X = np.array([[0], [3], [250]], dtype=np.uint8)
    np.testing.assert_array_equal(RBF(2.0)(X), RBF(2.0)(X.astype(float)))
    np.testing.assert_array_equal(RBF(2.0)(X[:2], X), RBF(2.0)(X[:2].astype(float), X.astype(float)))


def test_categories_stay_equal_when_codes_are_standardised():
    codes = np.array([[0.0, 3.0], [1.0, 3.0], [1.0, 7.0], [0.0, 3.0]])
    standardised = (codes - codes.mean(axis=0)) / codes.std(axis=0, ddof=1)
    indicators = np.column_stack([codes == 0.0, codes == 1.0, codes == 3.0, codes == 7.0]).astype(float)
    kernel = Categorical(1.3)
    np.testing.assert_array_equal(kernel(standardised), kernel(codes))
    np.testing.assert_allclose(kernel(codes), RBF(1.3 * np.sqrt(2.0))(indicators), rtol=1e-14)


def test_white_is_one_for_equal_inputs_also_across_blocks():
    X = np.array([[1.0, 0.0], [1.0, -0.0], [2.0, 0.0]])
    np.testing.assert_array_equal(White()(X), [[1, 1, 0], [1, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(White()(X, X[2:]), [[0], [0], [1]])


@pytest.mark.parametrize("columns", [(), (0, 0), (-1,), (0.5,)])
def test_inputs_of_a_kernel_are_different_columns(columns):
    with pytest.raises(ValueError, match="different whole numbers, counted from 0"):
        OnInputs(RBF(), columns)


def test_nu_of_a_matern_kernel_has_three_values():
    with pytest.raises(ValueError, match=r"0\.5, 1\.5 or 2\.5"):
        Matern(1.0, 2.0)


@cases(KERNELS)
def test_every_parameter_has_a_proper_default_prior(kernel, points):
    prior = kernel.log_prior(points[0])
    assert prior.shape == (kernel.log_params.size, 2)
    assert np.isfinite(prior).all()
    assert (prior[:, 1] > 0.0).all()


@pytest.mark.parametrize("d", [1, 4, 9])
def test_medians_of_default_priors_suit_standardised_inputs(d):
    """Rows are √(2d) apart: twice σ² in squares, two widths of Matérn's kernel; xᵀx is d. One width is known better."""
    for kernel, median, sd in (
        (RBF(0.3), d**0.5, 1.0),
        (ARD((0.3,) * d), d**0.5, 3.0),
        (Matern(0.3), (0.5 * d) ** 0.5, 1.0),
        (Polynomial(2, 0.3), d, 3.0),
    ):
        prior = kernel.log_prior(np.zeros((3, d)))
        np.testing.assert_allclose(np.exp(prior[:, 0]), median, rtol=1e-12)
        np.testing.assert_array_equal(prior[:, 1], sd)


def test_a_search_of_the_period_starts_near_every_one_that_the_inputs_can_show():
    X = np.linspace(-1.7, 1.7, 60)[:, None]
    periods = np.exp(Periodic().starting_points(X)[1:, 1])
    cycles = 3.4 / periods
    for true in np.linspace(1.0, 29.0, 57):
        assert np.abs(cycles - true).min() <= 0.26


def test_one_width_after_another_costs_no_new_distances_and_changes_nothing(points):
    X, Z = points
    for kernel in (RBF(1.0), Matern(1.0, 0.5), RationalQuadratic(1.0, 2.0), OnInputs(Matern(1.0, 2.5), (1,))):
        block, square = kernel.blocks(X, Z), kernel.blocks(X)
        for shift in (-0.5, 0.0, 0.5):
            other = kernel.with_log_params(kernel.log_params + shift)
            np.testing.assert_allclose(block(other), other(X, Z), rtol=1e-12, atol=1e-14)
            np.testing.assert_allclose(square(other), other(X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kernel", [RBF(2.0), Matern(1.5), Scaled(2.0, RBF(1.3))], ids=repr)
def test_matrices_on_the_same_points_are_those_of_each_kernel_with_their_gradients(kernel):
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(40, 5)), rng.normal(size=(40, 40))
    W += W.T
    matrices = kernel.on(X)
    for shift in (-1.0, 0.0, 3.0):
        moved = kernel.with_log_params(kernel.log_params + shift)
        K = moved(X)
        np.testing.assert_allclose(matrices(moved), K, rtol=1e-13, atol=1e-300)
        np.testing.assert_allclose(matrices.contract(moved, W, K), moved.contract(X, W, K), rtol=1e-10)


def test_distances_are_kept_where_there_are_many_inputs_and_never_for_a_kernel_of_ones_own():
    class Own(RBF):
        def __call__(self, X, Z=None):
            return 2.0 * super().__call__(X, Z)

    wide, long = np.random.default_rng(1).normal(size=(32, 2)), np.random.default_rng(2).normal(size=(33, 2))
    assert hasattr(RBF().on(wide), "D")
    assert not hasattr(RBF().on(long), "D")
    np.testing.assert_array_equal(Own(1.0).on(wide)(Own(1.0)), 2.0 * RBF(1.0)(wide))
