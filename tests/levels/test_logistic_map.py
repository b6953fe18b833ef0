"""The map from left-out outputs to probabilities, against a general optimiser and the formulas of its page."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize
from scipy.special import expit

from bayes_lssvm.levels import logistic_map
from bayes_lssvm.levels.logistic_map import JointMap, LogisticMap, label_log_odds, left_out_cost


def outputs(seed, n=40, sign=1.0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < n // 3, 1.0, -1.0)
    return sign * 0.6 * y + 0.7 * rng.standard_normal(n), y


def h(z):
    """Log softplus(4(1 + z)) − log softplus(4(1 − z)), with thirty digits."""
    with mpmath.workdps(30):
        parts = [mpmath.log(mpmath.log1p(mpmath.exp(4 * (1 + side * mpmath.mpf(z))))) for side in (1, -1)]
        return float(parts[0] - parts[1])


def cost(point, z, y):
    """−log likelihood and −log prior (without its constants) of a and b."""
    odds = point[0] * np.array([h(v) for v in z]) + point[1]
    classes = np.log(np.sum(y > 0) / np.sum(y < 0))
    prior = 0.5 * ((point[0] - 1.0) / 4.0) ** 2 + 0.5 * ((point[1] - classes) / 3.0) ** 2
    return -np.sum(np.log(expit(y * odds))) + prior


@pytest.mark.parametrize("z", [-20.0, -3.0, -1.0, -0.3, 0.0, 0.9, 1.0, 4.0, 15.0])
def test_log_odds_of_labels(z):
    assert label_log_odds(np.array([z]))[0] == pytest.approx(h(z), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cost_and_slopes_of_left_out_outputs(seed):
    z, y = outputs(seed)
    best = minimize(cost, [1.0, 0.0], args=(z, y), method="BFGS", options={"gtol": 1e-8})
    value, slopes = left_out_cost(z, y)
    assert best.x[0] > 0.0
    assert value == pytest.approx(best.fun, abs=1e-8)
    assert slopes == pytest.approx(approx_fprime(z, lambda z: left_out_cost(z, y)[0], 1e-6), abs=1e-4)


def test_outputs_that_point_the_wrong_way_are_not_turned_round():
    z, y = outputs(3, sign=-1.0)
    share = np.mean(y > 0)
    value, slopes = left_out_cost(z, y)
    expected = -len(y) * (share * np.log(share) + (1 - share) * np.log(1 - share)) + 0.5 * (1.0 / 4.0) ** 2
    assert value == pytest.approx(expected, abs=1e-9)
    assert np.all(slopes == 0.0)
    found = LogisticMap.fit(z, np.ones_like(z), y)
    assert (found.slope, found.offset) == (0.0, pytest.approx(np.log(share / (1 - share))))


def test_the_fitted_map_and_where_it_shrinks():
    z, y = outputs(4)
    variances = np.linspace(0.1, 0.5, len(z))
    best = minimize(cost, [1.0, 0.0], args=(z, y), method="BFGS", options={"gtol": 1e-8})
    found = LogisticMap.fit(z, variances, y)
    assert (found.slope, found.offset) == pytest.approx(tuple(best.x), abs=1e-5)
    assert found.largest_variance == 0.5
    assert found.bound == pytest.approx(2.0 * np.log(41.0))
    classes = np.log(np.sum(y > 0) / np.sum(y < 0))
    assert found.class_log_odds == pytest.approx(classes)
    inside = found.slope * h(0.4) + found.offset
    odds = found.log_odds(np.array([0.4, 0.4, 0.4, 400.0, -400.0]), np.array([0.0, 0.5, 2.5, 0.1, 0.1]))
    assert odds[:2] == pytest.approx([inside, inside])
    factor = np.sqrt(1.0 + np.pi / 8.0 * (2.0 * found.slope) ** 2 * 2.0)
    assert odds[2] == pytest.approx(classes + (inside - classes) / factor)
    assert odds[3:] == pytest.approx([found.bound, -found.bound])


def test_a_slope_is_found_where_symmetry_leaves_the_offset_at_rest():
    """Both classes mirror each other, so that every step of the offset is zero from the first on."""
    z = np.array([-2.5, -1.2, -0.6, 0.4, -0.4, 0.6, 1.2, 2.5])
    y = np.array([-1.0, -1.0, -1.0, -1.0, 1.0, 1.0, 1.0, 1.0])
    best = minimize(cost, [1.0, 0.0], args=(z, y), method="BFGS", options={"gtol": 1e-9})
    found = LogisticMap.fit(z, np.ones(8), y)
    assert found.slope == pytest.approx(best.x[0], abs=1e-6)
    assert found.offset == pytest.approx(0.0, abs=1e-9)


def test_the_joint_map_is_the_optimum_of_its_page():
    (z, y), f = outputs(3), 1.5 * np.random.default_rng(4).normal(size=40)
    t, centre = (y > 0).astype(float), np.log(13 / 27)

    def cost(point):
        odds = point[0] * label_log_odds(z) + point[1] * f + point[2]
        prior = ((point[0] - 1.0) / 4.0) ** 2 + point[1] ** 2 + ((point[2] - centre) / 3.0) ** 2
        return np.sum(np.logaddexp(0.0, odds) - t * odds) + 0.5 * prior

    wanted = minimize(cost, [1.0, 0.0, centre], tol=1e-12).x
    found = JointMap.fit_both(z, np.linspace(1.0, 2.0, 40), f, y)
    np.testing.assert_allclose([found.slope, found.second, found.offset], wanted, atol=1e-5)
    assert (found.largest_variance, found.bound) == (2.0, 2.0 * np.log(41.0))
    np.testing.assert_allclose(
        found.joint_log_odds(z, np.full(40, 2.0), f),
        np.clip(wanted[0] * label_log_odds(z) + wanted[1] * f + wanted[2], -found.bound, found.bound),
        atol=1e-4,
    )
    # far from the data what is beyond the classes shrinks by MacKay's factor, h and f being about 2z each
    near, far = (found.joint_log_odds(z, np.full(40, v), f) - centre for v in (2.0, 7.0))
    shrink = 1.0 / np.sqrt(1.0 + np.pi / 8.0 * (2.0 * (found.slope + found.second)) ** 2 * 5.0)
    np.testing.assert_allclose(far, shrink * near, rtol=1e-10)


def test_a_joint_map_that_falls_leaves_the_second_out():
    z, y = outputs(5, sign=-1.0)
    found = JointMap.fit_both(z, np.ones(40), 2.0 * z, y)
    assert (found.slope, found.second, found.offset) == (0.0, 0.0, found.class_log_odds)
    alone = LogisticMap.fit(-z, np.ones(40), y)
    kept = JointMap.fit_both(-z, np.ones(40), np.zeros(40), y)
    assert (kept.slope, kept.second) == (pytest.approx(alone.slope, abs=1e-9), 0.0)


def gradient(found, z, y, weights, second=None):
    """Of −log likelihood and −log prior in a, e and b, row by row, at a map."""
    classes = np.log(sum(weights[y > 0]) / sum(weights[y < 0]))
    f = np.zeros_like(z) if second is None else second
    e = getattr(found, "second", 0.0)
    slopes = np.array([(found.slope - 1.0) / 16.0, e, (found.offset - classes) / 9.0])
    for z_i, f_i, y_i, w_i in zip(z, f, y, weights, strict=True):
        error = w_i * y_i * expit(-y_i * (found.slope * h(z_i) + e * f_i + found.offset))
        slopes -= error * np.array([h(z_i), f_i, 1.0])
    return slopes


@pytest.mark.parametrize("outlier", [0.1, 3.0, 3.5])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("both", [False, True])
def test_the_map_is_where_the_gradient_is_zero_after_few_steps(outlier, weighted, both, monkeypatch):
    """Labels far on the wrong side send an undamped step to where all probabilities are 0 or 1, and keep it there."""
    rng = np.random.default_rng(8)
    z, y = outputs(6)
    z, y = np.append(z, [outlier, -outlier]), np.append(y, [-1.0, 1.0])
    f = 2.0 * z + 3.0 * rng.normal(size=42)
    weights = rng.integers(1, 4, 42).astype(float) if weighted else np.ones(42)
    asked = []

    def counted_expit(x):
        asked.append(len(x))
        return expit(x)

    monkeypatch.setattr(logistic_map, "expit", counted_expit)
    own = weights if weighted else None
    if both:
        found = JointMap.fit_both(z, np.ones(42), f, y, own)
        assert len(asked) <= 2 * 9  # of the map of z alone, and of both: Newton's method squares the error
        assert found.slope + found.second > 0.0
    else:
        found = LogisticMap.fit(z, np.ones(42), y, own)
        assert 4 <= len(asked) <= 9
        assert found.slope > 0.0
        wanted = cost((found.slope, found.offset), np.repeat(z, weights.astype(int)), np.repeat(y, weights.astype(int)))
        assert left_out_cost(z, y, own)[0] == pytest.approx(wanted, abs=1e-9)
    assert gradient(found, z, y, weights, f if both else None)[[True, both, True]] == pytest.approx(0.0, abs=1e-9)
    assert found.class_log_odds == pytest.approx(np.log(weights[y > 0].sum() / weights[y < 0].sum()))
    assert found.bound == pytest.approx(2.0 * np.log(weights.sum() + 1.0))


def test_slopes_of_a_weighted_cost():
    z, y = outputs(1)
    weights = np.random.default_rng(2).integers(1, 4, len(y)).astype(float)
    whole = left_out_cost(np.repeat(z, weights.astype(int)), np.repeat(y, weights.astype(int)))
    value, slopes = left_out_cost(z, y, weights)
    assert value == pytest.approx(whole[0], rel=1e-12)
    assert slopes == pytest.approx(np.bincount(np.repeat(np.arange(40), weights.astype(int)), whole[1]), abs=1e-10)
    flipped = left_out_cost(-z, y, weights)
    share = weights[y > 0].sum() / weights.sum()
    entropy = -(share * np.log(share) + (1.0 - share) * np.log(1.0 - share))
    assert flipped[0] == pytest.approx(weights.sum() * entropy + 0.5 / 16.0, abs=1e-9)
    assert np.all(flipped[1] == 0.0)


@pytest.mark.parametrize("z", [-15.0, -9.0, -8.4, -1.0, 0.0, 2.0, 9.0, 40.0])
def test_slopes_of_the_log_odds_of_labels(z):
    """Central differences with thirty digits, also far beyond the labels, where the slope is 4."""
    with mpmath.workdps(40):
        parts = [mpmath.diff(lambda x, s=s: mpmath.log(mpmath.log1p(mpmath.exp(4 * (1 + s * x)))), z) for s in (1, -1)]
        wanted = float(parts[0] - parts[1])
    assert logistic_map._bend(np.array([z]))[0] == pytest.approx(wanted, rel=1e-9)


def test_log_odds_at_the_seam_of_the_straight_line():
    """x stands for log log(1 + eˣ) below −30, where the two part by 5e-14."""
    x = np.array([-31.0, -30.0, -29.9, -25.0, -3.0, 0.0, 700.0])
    with mpmath.workdps(40):
        wanted = [float(mpmath.log(mpmath.log1p(mpmath.exp(mpmath.mpf(v))))) for v in x]
    assert logistic_map._log_softplus(x) == pytest.approx(np.array(wanted), abs=1e-12)


def test_a_second_input_that_says_more_than_the_outputs_is_kept():
    """e > a > 0: it is their sum that must not be negative, as both are about 2z where the classes meet."""
    rng = np.random.default_rng(11)
    y = np.where(np.arange(60) < 25, 1.0, -1.0)
    z, f = 0.1 * y + 0.9 * rng.normal(size=60), 2.0 * y + 1.5 * rng.normal(size=60)
    found = JointMap.fit_both(z, np.ones(60), f, y)
    assert found.second > abs(found.slope)
    assert gradient(found, z, y, np.ones(60), f) == pytest.approx(0.0, abs=1e-9)
    backwards = JointMap.fit_both(z, np.ones(60), -f, y)
    assert backwards.second == 0.0
