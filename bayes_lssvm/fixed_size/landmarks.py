"""Landmarks: m points whose features span nearly those of all.

"rpcholesky"  randomly pivoted Cholesky factorisation: the next pivot is drawn with a probability proportional to what
              the points chosen so far leave of K(x, x) (Chen, Epperly, Tropp & Webber, 2024). It is never far from the
              best and works for any kernel.
"kmeans"      centres of k-means; better with few landmarks, for kernels of distances.
"random"      rows at random.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.cluster import MiniBatchKMeans

from ..base.typing import AnyArray, Array
from ..kernels import Kernel

RULES: tuple[str, ...] = ("rpcholesky", "kmeans", "random")
_BLOCK = 64  # pivots that are proposed together
_NOTHING_LEFT = 1e-15  # of the mean K(x, x)


def check_landmarks(rule: object, n_landmarks: int, n_features: int | None = None) -> None:
    """Refuse a rule that does not exist, or an array that is no set of points."""
    if isinstance(rule, str):
        if rule not in RULES:
            raise ValueError(f"landmarks must be one of {', '.join(RULES)}, or an array of points; got {rule!r}.")
        if isinstance(n_landmarks, bool) or not isinstance(n_landmarks, int | np.integer) or n_landmarks < 1:
            raise ValueError(f"n_landmarks must be a whole number of at least 1, got {n_landmarks!r}.")
        return
    points = np.asarray(rule, dtype=float)
    if points.ndim != 2 or not np.isfinite(points).all() or len(points) == 0:
        raise ValueError("landmarks must be a matrix of finite numbers with a row for each point, in the data's units.")
    if n_features is not None and points.shape[1] != n_features:
        raise ValueError(f"landmarks have {points.shape[1]} columns, but the data have {n_features}.")


def choose_landmarks(rule: str, kernel: Kernel, X: Array, m: int, seed: int) -> Array:
    """At most m landmarks for rows X of shape (n, d); for "rpcholesky" the first m′ of them are those of m′ < m."""
    rng = np.random.default_rng([seed, 1])
    m = min(m, len(X))
    if rule == "rpcholesky":
        return X[pivots(kernel, X, m, rng)]
    distinct = np.unique(X, axis=0)
    if m >= len(distinct):
        return distinct
    if rule == "random":
        return distinct[rng.permutation(len(distinct))[:m]]
    found = MiniBatchKMeans(
        m, random_state=int(rng.integers(2**31)), n_init=1, batch_size=2048, max_iter=30, reassignment_ratio=0.0
    ).fit(distinct)
    return np.asarray(rng.permutation(found.cluster_centers_), dtype=float)


def pivots(kernel: Kernel, X: Array, m: int, rng: np.random.Generator) -> AnyArray:
    """Rows chosen by randomly pivoted Cholesky: proposals in blocks, of which each is accepted by what is left of it.

    Fewer than m where nothing is left to explain.
    """
    left = np.asarray(kernel.diag(X), dtype=float).copy()
    floor = _NOTHING_LEFT * max(float(left.mean()), np.finfo(float).tiny)
    F = np.zeros((len(X), m), order="F")
    chosen: list[int] = []
    while len(chosen) < m and float(left.max()) > floor:
        k = len(chosen)
        # not in proportion to the pivots that are left, or half of the proposals would be refused
        size = min(_BLOCK, max(1, m // 8), m - k)
        proposed = rng.choice(len(X), size=size, p=left / left.sum())
        accepted = _accepted(kernel(X[proposed]) - F[proposed, :k] @ F[proposed, :k].T, left[proposed], rng, floor)
        if not accepted:
            continue
        rows = proposed[accepted]
        C = kernel(X, X[rows]) - F[:, :k] @ F[rows, :k].T
        L = np.linalg.cholesky(C[rows] + floor * np.eye(len(rows)))
        new = solve_triangular(L, C.T, lower=True).T
        F[:, k : k + len(rows)] = new
        left = np.maximum(left - np.einsum("ij,ij->i", new, new), 0.0)
        left[rows] = 0.0
        chosen += rows.tolist()
    return np.array(chosen, dtype=np.intp)


def _accepted(G: Array, given: Array, rng: np.random.Generator, floor: float) -> list[int]:
    """Of proposals with the residual matrix G, those that a chance proportional to what the others leave accepts."""
    left, factor, kept = given.copy(), np.zeros((len(G), 0)), []
    # one for each, needed or not: of a row that is proposed twice only rounding is left, which must not move the others
    chances = rng.random(len(G))
    for j in range(len(G)):
        if left[j] <= floor or chances[j] * given[j] >= left[j]:
            continue
        column = (G[:, j] - factor @ factor[j]) / np.sqrt(left[j])
        factor = np.column_stack([factor, column])
        left = np.maximum(left - column**2, 0.0)
        left[j] = 0.0
        kept.append(j)
    return kept
