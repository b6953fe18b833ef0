"""The low-rank route: equal to the exact one where all rows are landmarks, a bound where they are not."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bayes_lssvm.fixed_size import landmarks
from bayes_lssvm.fixed_size.blocks import of_arrays
from bayes_lssvm.fixed_size.features import ExplicitMap, NystromMap
from bayes_lssvm.fixed_size.landmarks import RULES, choose_landmarks
from bayes_lssvm.fixed_size.objective import block_gradient, derivatives, landmark_gradient, posteriors_of, tasks_of
from bayes_lssvm.fixed_size.posterior import FixedSizePosterior
from bayes_lssvm.fixed_size.sample import KEPT, Look
from bayes_lssvm.fixed_size.statistics import Statistics
from bayes_lssvm.kernels import ARD, RBF, Linear, Polynomial
from bayes_lssvm.levels import level2
from bayes_lssvm.levels.default_prior import default_prior
from bayes_lssvm.levels.level1 import PrimalPosterior
from bayes_lssvm.linalg.spectrum import CentredSpectrum
from bayes_lssvm.multiclass.codings import code_book


def data(n=60, d=2, seed=0, classes=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    f = np.sin(2.0 * X[:, 0]) + X[:, -1]
    if classes:
        return X, np.argsort(np.argsort(f)) * classes // n
    return X, f + 0.2 * rng.normal(size=n)


def statistics_of(features, X, targets, classes=1, rows=17, *, by_class=False):
    found = Statistics.empty(features.size, classes, by_class=by_class)
    for start in range(0, len(X), rows):
        part = slice(start, start + rows)
        found.add(features(X[part]), targets[part], features.kernel.diag(X[part]))
    return found


@pytest.mark.parametrize("kernel", [RBF(0.7), RBF(2.0), ARD((0.5, 3.0)), Polynomial(2, 1.0), Linear()], ids=str)
def test_with_all_rows_as_landmarks_sums_and_evidence_are_the_exact_ones(kernel):
    X, y = data()
    exact = CentredSpectrum.from_kernel_matrix(kernel(X), y)
    features = NystromMap.of(kernel, choose_landmarks("rpcholesky", kernel, X, len(X), 0))
    (task,) = tasks_of(statistics_of(features, X, y), None)
    gamma = np.array([1e-3, 0.1, 1.0, 30.0])  # beyond, zeros that rounding fills count in the exact sums
    for found, wanted in zip(task.reduction.sums(gamma), exact.sums(gamma), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-8)
    here, there = task.reduction.local_evidence(0.7, 11.0), exact.local_evidence(0.7, 11.0)
    assert here.value == pytest.approx(there.value, abs=1e-8)
    np.testing.assert_allclose(here.gradient, there.gradient, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(here.hessian, there.hessian, rtol=1e-7, atol=1e-8)


def test_explicit_features_are_exact_and_give_the_primal_posterior():
    X, y = data()
    kernel = Polynomial(2, 1.0)
    features = ExplicitMap.of(kernel, 2)
    statistics = statistics_of(features, X, y)
    assert statistics.lacking[1].sum() == pytest.approx(0.0, abs=1e-9)
    (task,) = tasks_of(statistics, None)
    posterior = FixedSizePosterior.of(task, np.array([0.7]), np.array([11.0]))
    primal = PrimalPosterior.fit(kernel.feature_map(X), y, mu=0.7, zeta=11.0)
    new = np.random.default_rng(1).normal(size=(9, 2))
    z, variance = posterior.moments(features(new), kernel.diag(new))
    np.testing.assert_allclose(z[:, 0], primal.latent_mean(kernel.feature_map(new)), atol=1e-10)
    np.testing.assert_allclose(variance[:, 0], primal.latent_variance(kernel.feature_map(new)), atol=1e-10)
    assert ExplicitMap.of(RBF(1.0), 2) is None


@example(n=15, d=1, m=15, log_sigma=0.0, log_gamma=7.0, seed=15)  # nearly dependent landmarks
@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(6, 40),
    d=st.integers(1, 4),
    m=st.integers(1, 20),
    log_sigma=st.floats(-1.5, 2.0),
    log_gamma=st.floats(-6.0, 9.0),
    seed=st.integers(0, 10_000),
)
def test_the_bounded_evidence_never_exceeds_the_exact_one(n, d, m, log_sigma, log_gamma, seed):
    X, y = data(n, d, seed)
    kernel = RBF(float(np.exp(log_sigma)))
    exact = CentredSpectrum.from_kernel_matrix(kernel(X), y)
    features = NystromMap.of(kernel, choose_landmarks("random", kernel, X, m, seed))
    statistics = statistics_of(features, X, y)
    (task,) = tasks_of(statistics, None)
    bound = task.reduction.bounded(*statistics.lack())
    mu, zeta = 0.8, 0.8 * float(np.exp(log_gamma))
    assert level2.log_evidence(bound, mu, zeta) <= level2.log_evidence(exact, mu, zeta) + 1e-7
    best = level2.optimise(bound)
    assert best.log_evidence <= level2.log_evidence(exact, best.mu, best.zeta) + 1e-7


def test_the_bound_has_the_derivatives_that_it_says():
    X, y = data()
    kernel = RBF(0.5)
    features = NystromMap.of(kernel, X[:12])
    statistics = statistics_of(features, X, y)
    bound = tasks_of(statistics, None)[0].reduction.bounded(*statistics.lack())
    x, step = np.log([0.7, 5.0]), 1e-5

    def at(point):
        return bound.local_evidence(*np.exp(point))

    shifts = step * np.eye(2)
    slope = [(at(x + e).value - at(x - e).value) / (2 * step) for e in shifts]
    bend = [(at(x + e).gradient - at(x - e).gradient) / (2 * step) for e in shifts]
    np.testing.assert_allclose(at(x).gradient, slope, rtol=1e-6)
    np.testing.assert_allclose(at(x).hessian, bend, rtol=1e-6)
    assert at(x).value == pytest.approx(level2.log_evidence(bound, 0.7, 5.0), abs=1e-9)
    s, h = 0.2, 1e-6
    sums = bound.sums(np.array([1 / s, 1 / (s + h), 1 / (s - h)]))
    assert sums.tr1[0] == pytest.approx((sums.log_det[1] - sums.log_det[2]) / (2 * h), rel=1e-5)
    assert sums.d_eff[0] == pytest.approx(bound.n - 1 - s * sums.tr1[0], rel=1e-9)


@pytest.mark.parametrize("kernel", [RBF(1.3), ARD((0.8, 2.0))], ids=str)
@pytest.mark.parametrize("coding", ["ova", "ovo", None])
def test_the_gradient_is_that_of_the_evidence(kernel, coding):
    classes = 0 if coding is None else 3
    X, targets = data(80, 2, 3, classes)
    code = None if coding is None else code_book(coding, classes)
    Z = choose_landmarks("rpcholesky", kernel, X, 15, 0)

    def evidence(k, *, gradient=False):
        features = NystromMap.of(k, Z)
        statistics = statistics_of(features, X, targets, max(classes, 1), by_class=coding == "ovo")
        bits = 1 if code is None else code.shape[1]
        y = [targets if code is None else code[targets, b] for b in range(bits)]
        priors = [default_prior(k, X, each[each != 0], classes=code is not None) for each in y]
        total, rows, outer = 0.0, [], 0.0
        for task in tasks_of(statistics, code):
            found = posteriors_of(task, priors)
            total += sum(each.log_evidence for each in found)
            row, share = derivatives(task, found, priors, features)
            rows.append(row)
            outer = outer + share
        if not gradient:
            return total
        over_rows = sum(block_gradient(features, rows, X[i : i + 30], targets[i : i + 30]) for i in range(0, 80, 30))
        return over_rows + landmark_gradient(features, outer)

    x, step = kernel.log_params, 1e-5
    slope = [
        (evidence(kernel.with_log_params(x + step * e)) - evidence(kernel.with_log_params(x - step * e))) / (2 * step)
        for e in np.eye(len(x))
    ]
    np.testing.assert_allclose(evidence(kernel, gradient=True), slope, rtol=2e-5, atol=2e-5)


def test_variance_far_from_the_data_is_that_of_the_prior():
    X, y = data()
    features = NystromMap.of(RBF(1.0), X[:20])
    (task,) = tasks_of(statistics_of(features, X, y), None)
    posterior = FixedSizePosterior.of(task, np.array([0.7]), np.array([11.0]))
    far = np.full((1, 2), 1e3)
    _, variance = posterior.moments(features(far), np.ones(1))
    assert variance[0, 0] == pytest.approx(1.0 / 0.7, rel=0.03)  # K(x, x)/μ, and what the means add
    assert variance[0, 0] > 1.0 / 0.7


def test_left_out_outputs_are_those_of_a_refit_without_the_row():
    X, y = data(30)
    features = NystromMap.of(RBF(1.0), X[:12])
    mu, zeta = np.array([0.7]), np.array([11.0])
    (task,) = tasks_of(statistics_of(features, X, y), None)
    posterior = FixedSizePosterior.of(task, mu, zeta)
    z, variance = posterior.left_out_moments(features(X), np.ones(30), y[:, None])
    for i in (0, 7, 29):
        others = np.arange(30) != i
        (rest,) = tasks_of(statistics_of(features, X[others], y[others]), None)
        mean, own = FixedSizePosterior.of(rest, mu, zeta).moments(features(X[i : i + 1]), np.ones(1))
        assert z[i, 0] == pytest.approx(mean[0, 0], abs=1e-9)
        assert variance[i, 0] == pytest.approx(own[0, 0], abs=1e-9)


def test_shards_in_any_order_and_split_have_the_same_statistics():
    X, labels = data(400, 3, 1, classes=3)
    features = NystromMap.of(RBF(1.5), X[:25])
    whole = statistics_of(features, X, labels, 3, 400, by_class=True)
    rng = np.random.default_rng(0)
    for _ in range(5):
        order = rng.permutation(400)
        cuts = np.sort(rng.choice(399, 6, replace=False)) + 1
        parts = [statistics_of(features, X[rows], labels[rows], 3, 31, by_class=True) for rows in np.split(order, cuts)]
        merged = parts[0]
        for part in parts[1:]:
            merged = merged.merge(part)
        for name in ("counts", "sums", "squares"):
            np.testing.assert_allclose(getattr(merged, name), getattr(whole, name), rtol=1e-10, atol=1e-10)
        # a row on the border of a bin may change sides by rounding
        np.testing.assert_allclose(merged.lacking.sum(axis=1), whole.lacking.sum(axis=1), rtol=1e-10)


def test_features_in_given_room_are_the_same_numbers():
    X, _ = data(40)
    features = NystromMap.of(RBF(0.6), X[:12])
    room = features.room(40)
    room.fill(np.nan)
    found = features(X, room)
    assert np.shares_memory(found, room)
    assert found.flags.f_contiguous
    np.testing.assert_array_equal(found, features(X))
    np.testing.assert_array_equal(features(X[:7], room), features(X[:7]))


def test_fewer_landmarks_are_the_first_ones():
    X, y = data(100)
    features = NystromMap.of(RBF(0.6), choose_landmarks("rpcholesky", RBF(0.6), X, 32, 0))
    part = statistics_of(features, X, y).first(8)
    alone = statistics_of(features.first(8), X, y)
    for name in ("counts", "sums", "squares", "cross"):
        np.testing.assert_allclose(getattr(part, name), getattr(alone, name), atol=1e-10)
    assert part.lacking[1].sum() == pytest.approx(alone.lacking[1].sum(), rel=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_landmarks_explain_the_rows_better_the_more_there_are(rule):
    X, _ = data(200)
    kernel = RBF(0.8)
    left = []
    for m in (5, 20, 80):
        features = NystromMap.of(kernel, choose_landmarks(rule, kernel, X, m, 0))
        left.append(200 - float(np.square(features(X)).sum()))
    assert left[0] > 2 * left[1] > 4 * left[2] >= 0.0


def test_repeated_landmarks_are_left_out():
    X, _ = data(30)
    features = NystromMap.of(RBF(1.0), np.vstack([X[:6], X[:6], X[6:8]]))
    np.testing.assert_array_equal(np.unique(features.Z, axis=0), np.unique(X[:8], axis=0))


def test_the_sample_does_not_depend_on_order_or_division():
    rng = np.random.default_rng(0)
    n = KEPT + 3000
    X, y = rng.normal(size=(n, 2)), (rng.random(n) < 0.001).astype(int)
    whole = Look.at(X, y, 5, classes=True)
    order = rng.permutation(n)
    merged = None
    for rows in np.array_split(order, 7):
        part = Look.at(X[rows], y[rows], 5, classes=True)
        merged = part if merged is None else merged.merge(part)
    np.testing.assert_array_equal(merged.X, whole.X)
    np.testing.assert_array_equal(merged.y, whole.y)
    np.testing.assert_allclose(merged.mean, X.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(merged.scale, X.std(axis=0, ddof=1), rtol=1e-10)
    assert merged.counts == {0: int((y == 0).sum()), 1: int(y.sum())}
    assert (whole.y == 1).sum() == y.sum()  # a rare class keeps its rows
    assert not np.array_equal(Look.at(X, y, 6, classes=True).X, whole.X)
    # and it is a fair one: a mean of 20 000 rows, with its standard error
    assert abs(whole.X.mean()) < 5.0 / np.sqrt(2 * KEPT)


def test_arrays_come_in_shards_that_name_their_rows():
    X, y = data(10)
    shards = of_arrays(X, y, rows=4)
    assert [shard.name for shard in shards] == ["rows 0 to 3", "rows 4 to 7", "rows 8 to 9"]
    np.testing.assert_array_equal(np.vstack([x for shard in shards for x, *_ in shard.blocks()]), X)


def test_a_row_proposed_twice_leaves_the_chances_of_the_others_alone():
    """What is left of it is rounding, and differs between orders of merging, above the floor or below it."""
    X = np.random.default_rng(3).normal(size=(30, 2))[[0, 1, 1, *range(2, 20)]]
    K = RBF(1.0)(X)
    below, above = K.copy(), K.copy()
    below[2, 1] = below[1, 2] = 1.0
    above[2, 1] = above[1, 2] = 1.0 - 3e-15
    kept = [landmarks._accepted(G, np.ones(len(G)), np.random.default_rng(8), 1e-15) for G in (below, above)]
    assert kept[0] == kept[1]
    assert 2 < len(kept[0]) < len(X)


@pytest.mark.parametrize("stretch", [0.3, 0.5])
def test_a_nearly_dependent_landmark_that_rounding_stretches_leaves_the_error_bars(stretch):
    """Two landmarks 10⁻⁵ apart: what is left of the second is known to few digits, and so is a feature of other points.

    ‖φ(x)‖² may then exceed K(x, x), in a direction of which the data know nothing.
    """
    X, y = data(20)
    Z = np.vstack([X, X[:1] + 1e-5])
    kernel = RBF(0.8)
    features = NystromMap.of(kernel, Z)
    assert features.size == 21
    L = features.L.copy(order="F")
    L[-1, -1] *= stretch
    new = np.random.default_rng(1).normal(size=(200, 2)) * 1.5
    found = []
    for each in (features, NystromMap(kernel, features.Z, L)):
        (task,) = tasks_of(statistics_of(each, X, y), None)
        posterior = FixedSizePosterior.of(task, np.array([0.5]), np.array([20.0]))
        found.append(posterior.moments(each(new), kernel.diag(new)))
    assert (np.square(each(new)).sum(axis=1) > kernel.diag(new) + 1e-3).any()
    np.testing.assert_allclose(found[1], found[0], atol=1e-7)
