"""Models of all rows but some at new points, against refits; jackknife+ against its definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bayes_lssvm import NotPositiveSemidefiniteError
from bayes_lssvm.kernels import RBF, Linear
from bayes_lssvm.levels.solvers import solve_cholesky
from bayes_lssvm.press import left_out_models
from bayes_lssvm.press.conformal import folds, jackknife_plus, rank_among, thresholds
from bayes_lssvm.press.leave_one_out import leave_one_out
from bayes_lssvm.press.left_out_models import LeftOutModels

N, GAMMA = 23, 7.0


def data(seed=0):
    rng = np.random.default_rng(seed)
    X, new = rng.normal(size=(N, 2)), rng.normal(size=(6, 2))
    y = np.stack([np.sin(X[:, 0]) + 100.0, X[:, 1] ** 2], axis=1) + 0.1 * rng.normal(size=(N, 2))
    return X, y, new


def refit(kernel, X, y, rows, new, weights=None):
    """Outputs at new points of the model of some rows, by its own linear system, bordered and solved whole."""
    K = kernel(X[rows])
    w = np.ones(len(rows)) if weights is None else weights[rows]
    C = np.block(
        [[K + np.diag(1.0 / (GAMMA * w)), np.ones((len(rows), 1))], [np.ones((1, len(rows))), np.zeros((1, 1))]]
    )
    found = np.linalg.solve(C, np.vstack([y[rows], np.zeros((1, y.shape[1]))]))
    return kernel(new, X[rows]) @ found[:-1] + found[-1]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", [RBF(1.3), Linear(), RBF(30.0)])
@pytest.mark.parametrize("blocks", [None, [np.arange(0, 9), np.arange(9, 20), np.arange(20, 23)]])
def test_left_out_models_equal_refits(kernel, weighted, blocks):
    X, y, new = data()
    weights = np.random.default_rng(1).uniform(0.3, 3.0, size=N) if weighted else None
    models = LeftOutModels.of(kernel, X, y, GAMMA, weights)
    errors = models.errors(blocks)
    found = np.concatenate(list(models.predictions(new, errors, blocks)))
    assert found.shape == (6, N, 2)
    for rows in [np.array([i]) for i in range(N)] if blocks is None else blocks:
        rest = np.setdiff1d(np.arange(N), rows)
        expected = refit(kernel, X, y, rest, np.vstack([new, X[rows]]), weights)
        for i in rows:
            np.testing.assert_allclose(found[:, i], expected[:6], atol=1e-9)
        np.testing.assert_allclose(errors[rows], y[rows] - expected[6:], atol=1e-9)


def test_the_errors_of_single_rows_are_those_of_leave_one_out():
    X, y, _ = data()
    models = LeftOutModels.of(RBF(1.3), X, y, GAMMA)
    for k in range(2):
        expected = leave_one_out(RBF(1.3)(X), y[:, k], GAMMA)
        np.testing.assert_allclose(models.errors()[:, k], expected.residuals, rtol=1e-10)
        np.testing.assert_allclose(models.alpha[:, k], solve_cholesky(RBF(1.3)(X), y[:, k], GAMMA).alpha, atol=1e-10)


def test_a_block_of_all_single_rows_is_leave_one_out():
    X, y, new = data()
    models = LeftOutModels.of(RBF(1.3), X, y, GAMMA)
    singles = [np.array([i]) for i in range(N)]
    np.testing.assert_allclose(models.errors(singles), models.errors(), rtol=1e-10)
    one, other = (np.concatenate(list(models.predictions(new, models.errors(), b))) for b in (singles, None))
    np.testing.assert_allclose(one, other, rtol=1e-12)


def test_new_points_in_pieces_are_those_of_one_piece(monkeypatch):
    X, y, _ = data()
    new = np.random.default_rng(7).normal(size=(8, 2))
    models = LeftOutModels.of(RBF(1.3), X, y, GAMMA)
    blocks = [np.arange(0, 9), np.arange(9, 23)]
    errors = models.errors(blocks)
    (whole,) = models.predictions(new, errors, blocks)
    monkeypatch.setattr(left_out_models, "BLOCK_DOUBLES", 3 * N * 2)
    pieces = list(models.predictions(new, errors, blocks))
    assert [len(piece) for piece in pieces] == [3, 3, 2]
    np.testing.assert_allclose(np.concatenate(pieces), whole, rtol=1e-12)


@pytest.mark.parametrize("blocks", [None, [np.arange(0, 9), np.arange(9, 23)]])
def test_variances_of_left_out_errors_are_those_of_a_dense_gaussian(blocks):
    """Of y_B given the other rows, with K and the noise 1/(γw) in units of 1/μ and a level of no known size."""
    X, y, _ = data()
    weights = np.random.default_rng(1).uniform(0.3, 3.0, size=N)
    found = LeftOutModels.of(RBF(1.3), X, y, GAMMA, weights).variances(blocks)
    S = RBF(1.3)(X) + np.diag(1.0 / (GAMMA * weights)) + 1e6  # the level's variance
    for rows in [np.array([i]) for i in range(N)] if blocks is None else blocks:
        rest = np.setdiff1d(np.arange(N), rows)
        given = S[np.ix_(rows, rest)] @ np.linalg.solve(S[np.ix_(rest, rest)], S[np.ix_(rest, rows)])
        np.testing.assert_allclose(found[rows], np.diag(S[np.ix_(rows, rows)] - given), rtol=1e-4)


@pytest.mark.parametrize(
    ("n", "coverage"), [(19, 0.9), (20, 0.9), (9, 0.9), (39, 0.95), (100, 0.5), (5000, 0.9), (7, 0.75)]
)
def test_jackknife_plus_is_what_its_authors_define(n, coverage):
    """Eq 1.5 with q⁺ the ⌈(1−α)(n+1)⌉-th smallest value, and q⁻ of the values as minus q⁺ of minus the values."""
    rng = np.random.default_rng(n)
    predictions, errors = rng.normal(size=(4, n, 1)), rng.normal(size=(n, 1))
    found = jackknife_plus(predictions, errors, rank_among(n, coverage, ""))
    place = int(np.ceil(round(coverage * (n + 1), 9)))
    for row in range(4):
        upper = np.sort(predictions[row, :, 0] + np.abs(errors[:, 0]))[place - 1]
        lower = -np.sort(-(predictions[row, :, 0] - np.abs(errors[:, 0])))[place - 1]
        assert found.upper[row, 0] == upper
        assert found.lower[row, 0] == lower


def test_too_few_rows_are_a_sentence_with_the_number_that_is_needed():
    assert rank_among(19, 0.95, "") == 1
    with pytest.raises(ValueError, match=r"coverage of 0\.95 .* needs at least 19 of them, and there are 18\. Do this"):
        rank_among(18, 0.95, "Do this.")


def test_blocks_are_a_partition_of_about_equal_size():
    parts = folds(23, 5, 0)
    assert sorted(np.concatenate(parts)) == list(range(23))
    assert {len(part) for part in parts} == {4, 5}
    with pytest.raises(ValueError, match="between 2 and the number of rows, 23; got 24"):
        folds(23, 24, 0)


def test_thresholds_leave_out_as_many_labels_as_they_may():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), size=99)
    labels = np.arange(99) % 3
    own = p[np.arange(99), labels]
    whole = thresholds(p, labels, 0.9, by_class=False)
    assert np.ptp(whole) == 0.0
    assert np.sum(own < whole[0]) == 9  # the tenth smallest of 99
    each = thresholds(p, labels, 0.9, by_class=True)
    assert [int(np.sum(own[labels == c] < each[c])) for c in range(3)] == [2, 2, 2]  # the third smallest of 33
    with pytest.raises(ValueError, match="class number 0; use by_class=False"):
        thresholds(p, labels, 0.99, by_class=True)


def test_one_row_without_a_variance_is_enough_to_refuse():
    X, y, _ = data()
    model = LeftOutModels.of(RBF(1.3), X, y, GAMMA)
    assert np.all(model.variances() > 0.0)
    factor = model.inverse_factor.copy()
    factor[:, 4] = 0.0  # R_44 = −ρ_4²/1ᵀρ
    for broken in (replace(model, inverse_factor=factor), replace(model, inverse_factor=0.0 * factor)):
        for asked in (broken.variances, broken.errors):
            with pytest.raises(NotPositiveSemidefiniteError):
                asked()
