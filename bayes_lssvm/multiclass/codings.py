"""Code books: which classes a binary member sets against which (paper 2, sections 1 and 5).

A code book is a matrix C of shape (M, L) over {−1, 0, +1}. Row m is the codeword c_m of class m, column l the task of
member l: classes with +1 against classes with −1. A zero is the paper's don't care ×: the class takes no part. Signs of
a column carry no meaning; where it is a matter of choice the later class has +1, as in the binary estimators.

"ovo"         one versus one: M(M − 1)/2 columns, two classes each, all others ×
"ova"         one versus all: M columns
"moc"         minimal output coding: the binary digits of the class's number, ⌈log₂ M⌉ columns
"ecoc"        error-correcting output code: at most 10⌈log₂ M⌉ columns, no two equal up to sign; of up to 10 000 random
              books the one whose two closest codewords are farthest apart
"exhaustive"  all 2^(M−1) − 1 columns that differ up to sign

Two classes have one column in any of them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..base.typing import AnyArray, Array

CODINGS: tuple[str, ...] = ("ovo", "ova", "moc", "ecoc", "exhaustive")
NUMBERED: tuple[str, ...] = ("moc", "ecoc")
"""Those whose members depend on which class has which number."""
ECOC_BOOKS = 10_000
MAX_EXHAUSTIVE_CLASSES = 11
_AT_ONCE = 500  # random books compared in one product
_FEW_COLUMNS = 1024  # of which a choice without repeats is made by shuffling


def code_book(coding: Any, n_classes: int, *, seed: int = 0) -> Array:
    """The code book of a named coding, or a given one after checks.

    Parameters
    ----------
    coding : str or array of shape (M, L)
        One of `CODINGS`, or a matrix over {−1, 0, +1} whose rows are in the order of the classes.
    n_classes : int
        M.
    seed : int
        Of the random books of "ecoc".

    Returns
    -------
    array of shape (M, L)

    Examples
    --------
    >>> from bayes_lssvm.multiclass import code_book
    >>> code_book("ovo", 3)
    array([[-1., -1.,  0.],
           [ 1.,  0., -1.],
           [ 0.,  1.,  1.]])
    """
    if n_classes < 2:
        raise ValueError(f"A code book needs two classes or more, got {n_classes}.")
    if not isinstance(coding, str):
        return check_code_book(coding, n_classes)
    if coding not in CODINGS:
        raise ValueError(f"coding must be one of {', '.join(CODINGS)} or a matrix, got {coding!r}.")
    if n_classes == 2:
        return np.array([[-1.0], [1.0]])
    if coding == "ovo":
        return one_versus_one(n_classes)
    if coding == "ova":
        return one_versus_all(n_classes)
    if coding == "moc":
        return minimal_output_coding(n_classes)
    return exhaustive(n_classes) if coding == "exhaustive" else _kept(n_classes, seed).copy()


@lru_cache(maxsize=16)
def _kept(n_classes: int, seed: int) -> Array:
    """The code of a seed, found once: fits with different settings ask for the same one again and again."""
    return error_correcting(n_classes, seed=seed)


def one_versus_one(n_classes: int) -> Array:
    """Every pair of classes, the later one +1; of shape (M, M(M − 1)/2)."""
    first, second = np.triu_indices(n_classes, 1)
    code = np.zeros((n_classes, len(first)))
    columns = np.arange(len(first))
    code[first, columns], code[second, columns] = -1.0, 1.0
    return code


def one_versus_all(n_classes: int) -> Array:
    """Each class +1 against all others; of shape (M, M)."""
    return 2.0 * np.eye(n_classes) - 1.0


def minimal_output_coding(n_classes: int) -> Array:
    """The binary digits of 0 … M − 1, the highest first; of shape (M, ⌈log₂ M⌉)."""
    return _digits(np.arange(n_classes), _bits(n_classes))


def exhaustive(n_classes: int) -> Array:
    """All columns that differ up to sign; of shape (M, 2^(M−1) − 1)."""
    if n_classes > MAX_EXHAUSTIVE_CLASSES:
        raise ValueError(
            f"An exhaustive code of {n_classes} classes has {2 ** (n_classes - 1) - 1} columns; it is offered up to "
            f'{MAX_EXHAUSTIVE_CLASSES} classes. Use coding="ecoc".'
        )
    return _columns(np.arange(1, 2 ** (n_classes - 1)), n_classes)


def error_correcting(n_classes: int, *, seed: int = 0, books: int = ECOC_BOOKS, max_bits: int | None = None) -> Array:
    """The best of `books` random code books by the smallest Hamming distance between codewords.

    Parameters
    ----------
    n_classes : int
    seed : int
    books : int
        How many to try; of equally good ones the first is kept.
    max_bits : int, optional
        Columns, 10⌈log₂ M⌉ by default. Where no more than that exist up to sign, all are taken.

    Returns
    -------
    array of shape (M, L)

    Examples
    --------
    >>> from bayes_lssvm.multiclass import error_correcting, hamming_distances
    >>> code = error_correcting(4)
    >>> code.shape, hamming_distances(code)[0, 1:].min()
    ((4, 7), np.float64(4.0))
    """
    if books < 1:
        raise ValueError(f"The number of random code books must be positive, got {books!r}.")
    bits = 10 * _bits(n_classes) if max_bits is None else int(max_bits)
    if bits < _bits(n_classes):
        raise ValueError(f"{n_classes} classes need at least {_bits(n_classes)} bits, got max_bits={max_bits!r}.")
    if n_classes <= 62 and bits >= 2 ** (n_classes - 1) - 1:
        return _columns(np.arange(1, 2 ** (n_classes - 1)), n_classes)
    rng = np.random.default_rng(seed)
    best, best_distance = None, -1
    for start in range(0, books, _AT_ONCE):
        drawn = _random_books(rng, min(_AT_ONCE, books - start), n_classes, bits)  # [B, M, L]
        inner = drawn @ drawn.transpose(0, 2, 1)
        inner[:, np.arange(n_classes), np.arange(n_classes)] = -np.inf
        distances = np.round(0.5 * (bits - inner.max(axis=(1, 2)))).astype(int)
        i = int(distances.argmax())
        if distances[i] > best_distance:
            best, best_distance = drawn[i].copy(), int(distances[i])
    if best is None or best_distance < 1:
        raise ValueError(
            f"None of {books} random code books of {bits} bits tells all {n_classes} classes apart; allow more bits or "
            "more books."
        )
    return np.asarray(best, dtype=float)


def hamming_distances(code: Array) -> Array:
    """Distances between codewords, of shape (M, M); a × is ½ from everything, itself included.

    Examples
    --------
    >>> from bayes_lssvm.multiclass import code_book, hamming_distances
    >>> hamming_distances(code_book("ova", 3))
    array([[0., 2., 2.],
           [2., 0., 2.],
           [2., 2., 0.]])
    """
    return np.asarray(0.5 * (code.shape[1] - code @ code.T))


def has_dont_cares(code: Array) -> bool:
    """Whether some class takes no part in some member."""
    return bool(np.any(code == 0))


def check_code_book(matrix: Any, n_classes: int) -> Array:
    """A given code book as floats; refuse one from which classes cannot be told.

    Examples
    --------
    >>> from bayes_lssvm.multiclass import check_code_book
    >>> check_code_book([[1, 1], [1, -1], [-1, 1]], 3).shape
    (3, 2)
    """
    try:
        code = np.array(matrix, dtype=float)
    except (TypeError, ValueError):
        code = np.empty(0)
    if code.ndim != 2 or code.shape[1] < 1:
        raise ValueError(
            f"A code book must be a matrix of numbers with a row for each class and a column for each bit, got"
            f" {matrix!r}."
        )
    if len(code) != n_classes:
        raise ValueError(f"The code book has {len(code)} rows, but there are {n_classes} classes in the training data.")
    if not np.isin(code, (-1.0, 0.0, 1.0)).all():
        wrong = code[~np.isin(code, (-1.0, 0.0, 1.0))][0]
        raise ValueError(f"A code book holds −1, 0 (don't care) and +1 only; this one holds {wrong:g}.")
    one_sided = np.flatnonzero(~((code == 1).any(axis=0) & (code == -1).any(axis=0)))
    if one_sided.size:
        raise ValueError(
            f"Bit {one_sided[0]} of the code book has no class on one of its sides; every column needs a +1 and a −1."
        )
    for m in range(n_classes):
        for other in range(m + 1, n_classes):
            if np.array_equal(code[m], code[other]):
                raise ValueError(f"Classes {m} and {other} have the same codeword, so no decoding can tell them apart.")
    _refuse_repeated_columns(code)
    return code


def _refuse_repeated_columns(code: Array) -> None:
    seen: dict[bytes, int] = {}
    for bit, column in enumerate(code.T):
        leading = column[np.flatnonzero(column)[0]]
        key = (column * leading + 0.0).tobytes()  # + 0.0 makes −0 a plain zero
        if key in seen:
            raise ValueError(
                f"Bits {seen[key]} and {bit} of the code book are the same up to sign, so the second member would "
                "count the evidence of the first again; keep one of them."
            )
        seen[key] = bit


def _bits(n_classes: int) -> int:
    """⌈log₂ M⌉, exactly."""
    return (n_classes - 1).bit_length()


def _digits(numbers: AnyArray, count: int) -> Array:
    """Binary digits as ±1, the highest first; of shape (len(numbers), count)."""
    return np.asarray(2.0 * ((numbers[:, None] >> np.arange(count - 1, -1, -1)) & 1) - 1.0)


def _columns(numbers: AnyArray, n_classes: int) -> Array:
    """Columns that stand for numbers from 1 to 2^(M−1) − 1; the first class has −1, so no two are equal up to sign."""
    return np.asarray(_digits(numbers, n_classes).T)


def _random_books(rng: np.random.Generator, count: int, n_classes: int, bits: int) -> Array:
    """Random books of shape (count, M, bits) whose columns differ up to sign and are not constant."""
    existing = 2 ** (n_classes - 1) - 1 if n_classes <= 62 else 2**62
    if existing <= _FEW_COLUMNS:
        chosen = rng.random((count, existing)).argpartition(bits - 1, axis=1)[:, :bits] + 1
    elif n_classes <= 62:
        chosen = rng.integers(1, existing + 1, size=(count, bits))
        while (repeated := _repeats(chosen)).any():
            chosen[repeated] = rng.integers(1, existing + 1, size=int(repeated.sum()))
    else:  # beyond 62 classes a column does not fit into a number, and equal ones do not occur
        books = 2.0 * rng.integers(0, 2, size=(count, n_classes, bits)) - 1.0
        return np.asarray(books * -books[:, :1])
    return np.asarray(_digits(chosen.ravel(), n_classes).reshape(count, bits, n_classes).transpose(0, 2, 1))


def _repeats(chosen: AnyArray) -> AnyArray:
    """Where a row holds a number that an entry before it holds already."""
    order = np.argsort(chosen, axis=1, kind="stable")
    ranked = np.take_along_axis(chosen, order, axis=1)
    again = np.zeros(chosen.shape, dtype=bool)
    np.put_along_axis(again, order[:, 1:], ranked[:, 1:] == ranked[:, :-1], axis=1)
    return again
