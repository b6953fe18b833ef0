"""Equal inputs put together, exactly: LS-SVM, Gaussian process and SVM on distinct rows with counts.

Rows with one input share one feature vector. For D distinct inputs with counts n_d and mean targets ȳ_d, the LS-SVM of
all N rows is that of the smaller system

    (A + s I) β + b a = r,    aᵀβ = 0,        A = n^½ K n^½,   r = n^½ ȳ,   a = n^½ 1,   s = 1/γ

and f(x) = Σ_d K(x, x_d) n_d^½ β_d + b; without b it is the Gaussian process (2.23). One eigendecomposition of A serves
every γ. For an SVM, equal rows of one class are one row whose C is n_d times as large. Titanic has 14 distinct inputs
among 1467 rows; where all rows differ nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import cdist

from bayes_lssvm.base.typing import Array, IntArray
from bayes_lssvm.linalg.blas import product


class Distinct(NamedTuple):
    """Distinct rows, and where each of the N rows is among them.

    Attributes
    ----------
    X : array of shape (D, d)
    group : array of int of shape (N,)
    """

    X: Array
    group: IntArray


@dataclass(frozen=True)
class Counted:
    """Targets of some of the rows, by distinct input.

    Attributes
    ----------
    members : array of int of shape (D',)
        Which distinct inputs occur.
    counts, means : arrays of shape (D',)
    within : float
        Σ (y_i − ȳ_d)², what no function of the input explains.
    """

    members: IntArray
    counts: Array
    means: Array
    within: float

    @property
    def root(self) -> Array:
        """n^½ of shape (D',)."""
        return np.sqrt(self.counts)


def distinct(X: Array) -> Distinct:
    """The distinct rows of X of shape (N, d)."""
    rows, inverse = np.unique(X, axis=0, return_inverse=True)
    return Distinct(rows, np.asarray(inverse, dtype=np.intp).ravel())


def counted(group: IntArray, y: Array, n_distinct: int) -> Counted:
    """Counts and mean targets of rows whose distinct inputs are `group`, both of shape (n,)."""
    counts = np.bincount(group, minlength=n_distinct).astype(np.float64)
    sums = np.bincount(group, y, minlength=n_distinct)
    members = np.flatnonzero(counts)
    means = sums[members] / counts[members]
    within = float(y @ y - (counts[members] * means) @ means)
    return Counted(members, counts[members], means, max(within, 0.0))


@dataclass(frozen=True)
class Spectrum:
    """A = n^½ K n^½ decomposed, for every γ at once.

    Attributes
    ----------
    eigenvalues : array of shape (D',)
    vectors : array of shape (D', D')
    data : Counted
    """

    eigenvalues: Array
    vectors: Array
    data: Counted

    @classmethod
    def of(cls, K: Array, data: Counted) -> Spectrum:
        """Decompose for the kernel matrix K of shape (D', D') of the distinct inputs that occur."""
        root = data.root
        values, vectors = eigh(root[:, None] * K * root[None, :], check_finite=False, driver="evd")
        return cls(np.maximum(values, 0.0), vectors, data)

    def project(self, K_new: Array) -> Array:
        """What `outputs` needs of the kernel rows K_new of shape (n, D') of new points."""
        return product(K_new * self.data.root, self.vectors)

    def outputs(self, projected: Array, gammas: Array, *, bias: bool) -> Array:
        """Outputs at the projected points for each γ, of shape (n, G): the LS-SVM, or the GP without bias."""
        h = 1.0 / (self.eigenvalues[:, None] + 1.0 / gammas[None, :])  # [D', G]
        u = self.vectors.T @ (self.data.root * self.data.means)
        if not bias:
            return product(projected, h * u[:, None])
        c = self.vectors.T @ self.data.root
        b = ((c * u) @ h) / ((c * c) @ h)  # [G], from aᵀβ = 0
        return np.asarray(product(projected, h * (u[:, None] - c[:, None] * b[None, :])) + b)


def rbf(squared_distances: Array, sigma: float) -> Array:
    """exp(−d²/σ²), as `bayes_lssvm.kernels.RBF`."""
    return np.exp(squared_distances * (-1.0 / sigma**2))


def squared_distances(X: Array, Z: Array) -> Array:
    """‖x_i − z_j‖² of shape (n, m), by differences, so that equal rows have 0."""
    return np.asarray(cdist(X, Z, "sqeuclidean"))
