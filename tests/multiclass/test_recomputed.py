"""Codings and decodings once more by loops: what is drawn, what is chosen, and what least squares find."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from bayes_lssvm.multiclass import (
    bayes_log_posterior,
    code_book,
    couple_pairwise,
    error_correcting,
    hamming_distances,
    loss_scores,
    votes,
)
from bayes_lssvm.multiclass.codings import _bits, _random_books
from bayes_lssvm.multiclass.decodings import hamming_scores, require_pairs


def numbers_of(books):
    """The number of each column of books of shape (B, M, L), its first digit the first class."""
    digits = (books + 1.0) / 2.0
    return np.einsum("m,bml->bl", 2.0 ** np.arange(books.shape[1] - 1, -1, -1), digits).astype(int)


@pytest.mark.parametrize(("n_classes", "bits", "count"), [(6, 9, 400), (8, 30, 100), (12, 40, 900)])
def test_every_column_is_drawn_as_often_as_any_other(n_classes, bits, count):
    """31 and 127 columns are shuffled, of 2047 numbers are drawn; none is constant, and no book has one twice."""
    books = _random_books(np.random.default_rng(n_classes), count, n_classes, bits)
    assert books.shape == (count, n_classes, bits)
    assert set(np.unique(books)) == {-1.0, 1.0}
    assert np.all(books[:, 0] == -1.0)
    drawn = numbers_of(books)
    existing = 2 ** (n_classes - 1) - 1
    assert (drawn.min(), drawn.max()) == (1, existing)
    assert all(len(set(row)) == bits for row in drawn.tolist())
    counts = np.bincount(drawn.ravel(), minlength=existing + 1)[1:]
    expected = drawn.size / existing
    assert np.all(np.abs(counts - expected) < 5.0 * np.sqrt(expected))


def test_books_of_more_classes_than_a_number_has_bits():
    books = _random_books(np.random.default_rng(1), 30, 70, 40)
    assert books.shape == (30, 70, 40)
    assert np.all(books[:, 0] == -1.0)
    assert set(np.unique(books)) == {-1.0, 1.0}
    assert abs(books[:, 1:].mean()) < 5.0 / np.sqrt(books[:, 1:].size)


def test_of_all_books_the_first_of_the_best_is_kept():
    """Drawn five hundred at a time, the last time fewer; compared by counting digits that differ."""
    for books, n_classes, bits in ((1203, 7, 8), (500, 9, 6), (7, 7, 8)):
        rng = np.random.default_rng(5)
        best, largest = None, -1
        for start in range(0, books, 500):
            for book in _random_books(rng, min(500, books - start), n_classes, bits):
                distance = min(
                    int(np.sum(book[a] != book[b])) for a in range(n_classes) for b in range(a + 1, n_classes)
                )
                if distance > largest:
                    best, largest = book, distance
        found = error_correcting(n_classes, seed=5, books=books, max_bits=bits)
        np.testing.assert_array_equal(found, best)
        assert hamming_distances(found)[np.triu_indices(n_classes, 1)].min() == largest


def test_as_many_bits_as_numbers_need():
    assert [_bits(m) for m in range(2, 20)] == [int(np.ceil(np.log2(m) - 1e-12)) for m in range(2, 20)]
    assert error_correcting(9).shape == (9, 40)
    assert error_correcting(8).shape == (8, 30)
    with pytest.raises(ValueError, match="tells all 9 classes apart"):
        error_correcting(9, books=1, max_bits=4, seed=1)


def test_pairs_are_there_only_where_every_member_has_two_classes():
    require_pairs(code_book("ovo", 3))
    require_pairs(code_book("ovo", 5))
    for wrong in (
        [[-1.0, -1.0, 1.0], [1.0, 0.0, -1.0], [0.0, 1.0, 1.0]],  # one of three takes all classes
        code_book("ova", 3),
        code_book("ovo", 4)[:, :5],
    ):
        with pytest.raises(ValueError, match="one member for each pair"):
            require_pairs(np.asarray(wrong))


@pytest.mark.parametrize("n_classes", [3, 4])
def test_coupling_is_the_least_squares_of_its_page(n_classes):
    """Σ_i Σ_{j≠i} (r_ji p_i − r_ij p_j)² with Σ p = 1, for pairs that contradict each other, by a general minimiser."""
    rng = np.random.default_rng(n_classes)
    code = code_book("ovo", n_classes)
    ratios = rng.normal(0.0, 1.5, (6, code.shape[1]))
    frequencies = rng.dirichlet(np.full(n_classes, 4.0))
    for weights in (None, frequencies):
        found = couple_pairwise(code, ratios, weights)
        for row, p in zip(ratios, found, strict=True):
            r = np.zeros((n_classes, n_classes))
            for bit, column in enumerate(code.T):
                i, j = int(column.argmax()), int(column.argmin())
                odds = np.exp(row[bit]) * (1.0 if weights is None else weights[i] / weights[j])
                r[i, j], r[j, i] = odds / (1.0 + odds), 1.0 / (1.0 + odds)

            def cost(q, r=r):
                q = np.append(q, 1.0 - q.sum())
                return float(
                    sum((r[j, i] * q[i] - r[i, j] * q[j]) ** 2 for i in range(n_classes) for j in range(n_classes))
                )

            best = minimize(cost, np.full(n_classes - 1, 1.0 / n_classes), method="BFGS", options={"gtol": 1e-10})
            assert p == pytest.approx(np.append(best.x, 1.0 - best.x.sum()), abs=1e-6)
            assert p.sum() == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("coding", ["ovo", "ova", "moc"])
def test_votes_scores_and_losses_by_loops(coding):
    rng = np.random.default_rng(8)
    code = code_book(coding, 5)
    z = rng.normal(0.0, 1.3, (9, code.shape[1]))
    for row, shares, hamming, square, hinge in zip(
        z,
        votes(code, z),
        hamming_scores(code, z),
        loss_scores(code, z),
        loss_scores(code, z, loss="hinge"),
        strict=True,
    ):
        counts = [sum(1.0 for c, v in zip(word, row, strict=True) if c * v > 0.0) for word in code]
        assert shares == pytest.approx(np.array(counts) / sum(counts))
        for m, word in enumerate(code):
            distance = sum(0.5 * (1.0 - c * np.sign(v)) for c, v in zip(word, row, strict=True))
            margin = float(word @ row)
            assert hamming[m] == pytest.approx(-distance + 0.2 * margin / (1.0 + abs(margin)))
            assert square[m] == pytest.approx(-sum((1.0 - c * v) ** 2 for c, v in zip(word, row, strict=True)))
            assert hinge[m] == pytest.approx(-sum(max(0.0, 1.0 - c * v) for c, v in zip(word, row, strict=True)))


def test_priors_need_not_sum_to_one():
    rng = np.random.default_rng(9)
    code = code_book("ovo", 4)
    ratios, prior = rng.normal(size=(5, 6)), rng.dirichlet(np.ones(4))
    for rule in ("mixture", "sequential", "printed"):
        np.testing.assert_allclose(
            bayes_log_posterior(code, ratios, 7.0 * prior, rule=rule),
            bayes_log_posterior(code, ratios, prior, rule=rule),
            atol=1e-12,
        )
