"""Synthetic problems with published definitions; the same seed gives the same data.

- LED display, two spirals, twonorm, ringnorm and waveform, each as ``(X, y)`` with X of shape (n, d).
- Classes are drawn independently with equal probability, except in the two spirals, which alternate.

References: Breiman, Friedman, Olshen and Stone (1984), Classification and Regression Trees (LED, waveform);
Breiman (1996), Bias, variance, and arcing classifiers, Berkeley TR 460 (twonorm, ringnorm); Lang and Witbrock
(1988), Learning to tell two spirals apart, Proc. Connectionist Models Summer School (two spirals).
"""

from __future__ import annotations

import math
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ._types import FloatArray, words

Seed: TypeAlias = int | np.random.SeedSequence | np.random.Generator
IntArray: TypeAlias = NDArray[np.int64]

DIMENSION: Final = 20  # of twonorm and ringnorm
RING_SHIFT: Final = 2 / math.sqrt(DIMENSION)

# Lit segments of the digits 0-9: top, upper left, upper right, middle, lower left, lower right, bottom.
SEGMENTS: Final = words("1110111 0010010 1011101 1011011 0111010 1101011 1101111 1010010 1111111 1111011")


def make_led(n: int = 600, seed: Seed = 0, *, noise: float = 0.1) -> tuple[FloatArray, IntArray]:
    """LED display: a digit from its seven segments, each flipped with probability `noise`.

    Parameters
    ----------
    n : int
        Rows.
    seed : int, SeedSequence or Generator
        Source of randomness.
    noise : float
        Probability that a segment shows the wrong state, in [0, 1].

    Returns
    -------
    X : ndarray of shape (n, 7)
        Segments, 0 or 1.
    y : ndarray of shape (n,)
        Digits 0 to 9.

    Examples
    --------
    >>> from bayes_lssvm.datasets import make_led
    >>> X, y = make_led(100)
    >>> X.shape, sorted(set(y.tolist()))
    ((100, 7), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    if not 0 <= noise <= 1:
        raise ValueError(f"noise is a probability: it must lie in [0, 1], not be {noise!r}")
    rng = _rng(n, seed)
    y = rng.integers(10, size=n)
    flipped = rng.random((n, 7)) < noise  # [n, 7]
    return (led_segments()[y] != flipped).astype(np.float64), y


def led_segments() -> NDArray[np.bool_]:
    """The noise-free display, of shape (10, 7)."""
    return np.array([[s == "1" for s in digit] for digit in SEGMENTS])


def make_two_spirals(
    n: int = 194, seed: Seed = 0, *, turns: float = 3.0, noise: float = 0.0
) -> tuple[FloatArray, IntArray]:
    """Two interlocking spirals, by default the classical benchmark: 97 points a class, without randomness.

    Point i = 0…96 of the first spiral is r (sin φ, cos φ) with φ = iπ/16 and r = 6.5 (104 − i)/104; the
    second spiral is its mirror image through the origin. Other `n` and `turns` keep the
    radii, from 6.5 in to 0.5.

    Parameters
    ----------
    n : int
        Rows in total, an even number.
    seed : int, SeedSequence or Generator
        Source of the noise; without effect at ``noise=0``.
    turns : float
        How often each spiral winds round the origin.
    noise : float
        Standard deviation of normal noise on each coordinate.

    Returns
    -------
    X : ndarray of shape (n, 2)
    y : ndarray of shape (n,)
        +1 for the first spiral, −1 for the second, alternating.

    Examples
    --------
    >>> from bayes_lssvm.datasets import make_two_spirals
    >>> X, y = make_two_spirals()
    >>> X.shape, sorted(set(y.tolist()))
    ((194, 2), [-1, 1])
    """
    if n % 2 or n < 4:
        raise ValueError(f"n counts both spirals: it must be even and at least 4, not {n!r}")
    if noise < 0 or turns <= 0:
        raise ValueError(f"noise must not be negative and turns positive, not {noise!r} and {turns!r}")
    rng = _rng(n, seed)
    t = np.linspace(0, 1, n // 2)  # i / 96 in the benchmark
    angle = 2 * np.pi * turns * t
    radius = 6.5 * (104 - 96 * t) / 104
    spiral = radius[:, None] * np.column_stack([np.sin(angle), np.cos(angle)])  # [n/2, 2]
    X = np.stack([spiral, -spiral], axis=1).reshape(n, 2)
    if noise:
        X += noise * rng.standard_normal((n, 2))
    return X, np.tile(np.array([1, -1], dtype=np.int64), n // 2)


def make_twonorm(n: int = 400, seed: Seed = 0) -> tuple[FloatArray, IntArray]:
    """Two normals in 20 dimensions with unit covariance and means ±(a, …, a), a = 2/√20.

    The Bayes rule is the sign of the sum of the inputs, and its error Φ(−2) = 2.28 %.

    Parameters
    ----------
    n, seed
        As in `make_led`.

    Returns
    -------
    X : ndarray of shape (n, 20)
    y : ndarray of shape (n,)
        +1 for the mean +a, −1 for −a.

    Examples
    --------
    >>> from bayes_lssvm.datasets import make_twonorm
    >>> X, y = make_twonorm(100)
    >>> X.shape, sorted(set(y.tolist()))
    ((100, 20), [-1, 1])
    """
    rng = _rng(n, seed)
    y = _signs(n, rng)
    return rng.standard_normal((n, DIMENSION)) + 2 / math.sqrt(DIMENSION) * y[:, None], y


def make_ringnorm(n: int = 400, seed: Seed = 0, *, a: float = RING_SHIFT) -> tuple[FloatArray, IntArray]:
    """Two normals in 20 dimensions, one round the other: N(0, 4I) against N((a, …, a), I), a = 2/√20.

    The default is what the Delve archive's file has, and so the IDA benchmark made from it (Bayes error about
    1.2 %). Some packages draw with ``a = 1/√20`` instead (Bayes error about 1.5 %).

    Parameters
    ----------
    n, seed
        As in `make_led`.
    a : float
        Every coordinate of the mean of the inner class.

    Returns
    -------
    X : ndarray of shape (n, 20)
    y : ndarray of shape (n,)
        +1 for the wide class at the origin, −1 for the unit class at (a, …, a).

    Examples
    --------
    >>> from bayes_lssvm.datasets import make_ringnorm
    >>> X, y = make_ringnorm(100)
    >>> X.shape, sorted(set(y.tolist()))
    ((100, 20), [-1, 1])
    """
    rng = _rng(n, seed)
    y = _signs(n, rng)
    noise = rng.standard_normal((n, DIMENSION))
    return np.where(y[:, None] > 0, 2 * noise, noise + a), y


def make_waveform(
    n: int = 400, seed: Seed = 0, *, binary: bool = True, noise_inputs: bool = False
) -> tuple[FloatArray, IntArray]:
    """Breiman's waveforms: x = u h_a + (1 − u) h_b + ε, u uniform on [0, 1], ε standard normal.

    The base waves are triangles of height 6 at i = 1…21: h₁ peaks at 11, h₂ at 15, h₃ at 7. Class 0 mixes
    h₁ and h₂, class 1 h₁ and h₃, class 2 h₂ and h₃.

    Parameters
    ----------
    n, seed
        As in `make_led`.
    binary : bool
        Whether to set class 1 (+1) against the other two (−1), as the IDA benchmark does.
    noise_inputs : bool
        Whether to append 19 inputs of pure standard normal noise.

    Returns
    -------
    X : ndarray of shape (n, 21), or (n, 40) with the noise inputs
    y : ndarray of shape (n,)
        ±1, or 0, 1, 2 with ``binary=False``.

    Examples
    --------
    >>> from bayes_lssvm.datasets import make_waveform
    >>> X, y = make_waveform(100)
    >>> X.shape, sorted(set(y.tolist()))
    ((100, 21), [-1, 1])
    """
    rng = _rng(n, seed)
    y = rng.integers(3, size=n)
    u = rng.random((n, 1))
    h = base_waves()  # [3, 21]
    first, second = np.array([0, 0, 1])[y], np.array([1, 2, 2])[y]
    X = u * h[first] + (1 - u) * h[second] + rng.standard_normal((n, 21))
    if noise_inputs:
        X = np.hstack([X, rng.standard_normal((n, 19))])
    return X, np.where(y == 1, 1, -1).astype(np.int64) if binary else y


def base_waves() -> FloatArray:
    """The three triangles of the waveform problem, of shape (3, 21)."""
    i = np.arange(1, 22)
    return np.stack([np.maximum(6.0 - np.abs(i - peak), 0) for peak in (11, 15, 7)])


def _rng(n: int, seed: Seed | None) -> np.random.Generator:
    if n < 1:
        raise ValueError(f"n is the number of rows: it must be at least 1, not {n!r}")
    if seed is None:
        raise ValueError("give a seed (an integer, a SeedSequence or a Generator): results must be repeatable")
    return np.random.default_rng(seed)


def _signs(n: int, rng: np.random.Generator) -> IntArray:
    return 2 * rng.integers(2, size=n) - 1
