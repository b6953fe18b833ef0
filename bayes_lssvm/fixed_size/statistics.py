"""What one pass over the rows keeps: sums over features, for each class or for real targets, which can be merged.

Addition has no order, so that shards of any size, in any order, on any machine, give the same statistics to rounding.
Sums by class serve every code: the targets ±1 of a bit are Σ over classes of a code times a sum of the class.

With the noise precision ζw_i of row i, features and targets count as √w_i times what they are: all sums are weighted,
and so is what features lack; N stays the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import blas

from ..base.archive import State
from ..base.typing import AnyArray, Array
from ..linalg.low_rank import LowRankReduction

# bins of log₁₀ d, what features lack of K(x, x): four in a decade
_LOWEST, _HIGHEST, _PER_DECADE = -30, 30, 4
_BINS = (_HIGHEST - _LOWEST) * _PER_DECADE + 1


class Centred(NamedTuple):
    """Sums about the means: C of shape (m, m), g of shape (L, m), ‖My‖² of shape (L,), φ̄, ȳ of shape (L,).

    And N, Σw and Σ log w.
    """

    scatter: Array
    crosses: Array
    totals: Array
    feature_mean: Array
    target_means: Array
    n: int
    mass: float
    log_weights: float


def some_rows(features: Array, rows: AnyArray) -> Array:
    """The rows of these numbers, in the order that the features have in memory."""
    return features[rows] if features.flags.c_contiguous else features.T.take(rows, axis=1).T


def add_squares(S: Array, features: Array) -> None:
    """Add ΦᵀΦ to the lower triangle of S of shape (m, m), in C order, whose transpose BLAS sees; for any order of Φ."""
    if features.flags.f_contiguous:
        blas.dsyrk(1.0, features, beta=1.0, c=S.T, trans=1, lower=0, overwrite_c=1)
    else:
        blas.dsyrk(1.0, features.T, beta=1.0, c=S.T, lower=0, overwrite_c=1)


@dataclass
class Statistics:
    """Sums over the rows seen so far.

    Attributes
    ----------
    counts : array of shape (C,)
        Rows of each class; C = 1 for real targets.
    sums : array of shape (C, m)
        Σwφ by class.
    squares : array of shape (S, m, m)
        Σwφφᵀ, the lower triangle; S = 1 for all classes together, or C for each of them.
    cross, target_sum, target_square : array of shape (m,), float, float
        Σwφy, Σwy and Σwy² of real targets, zero for classes.
    lacking : array of shape (2, B)
        Rows, and the sum of d = w(K(x, x) − ‖φ‖²), in bins of log d.
    masses, log_weights : arrays of shape (C,)
        Σw and Σ log w of each class.
    """

    counts: Array
    sums: Array
    squares: Array
    cross: Array
    target_sum: float
    target_square: float
    lacking: Array
    masses: Array
    log_weights: Array

    @classmethod
    def empty(cls, m: int, classes: int = 1, *, by_class: bool = False) -> Statistics:
        """No rows of m features yet; `by_class` keeps Σφφᵀ for each class, which codes with don't cares need."""
        squares = np.zeros((classes if by_class else 1, m, m))
        none = np.zeros(classes)
        lacking = np.zeros((2, _BINS))
        return cls(none, np.zeros((classes, m)), squares, np.zeros(m), 0.0, 0.0, lacking, none.copy(), none.copy())

    @property
    def n(self) -> int:
        """Number of rows."""
        return round(float(self.counts.sum()))

    @property
    def size(self) -> int:
        """Number of features."""
        return self.sums.shape[1]

    def add(self, features: Array, targets: AnyArray, diagonal: Array, weights: Array | None = None) -> None:
        """Add rows with features of shape (n, m), K(x, x) of shape (n,), targets, and weights if any.

        Targets are numbers of classes (int) or real numbers (float), of shape (n,).
        """
        lack = np.maximum(diagonal - np.einsum("ij,ij->i", features, features), 0.0)
        root = np.ones(len(features))
        if weights is not None:
            root = np.sqrt(weights)
            lack, features = weights * lack, root[:, None] * features
        with np.errstate(divide="ignore"):
            where = np.clip((np.log10(lack) - _LOWEST) * _PER_DECADE, 0, _BINS - 1).astype(np.intp)
        self.lacking[0] += np.bincount(where, minlength=_BINS)
        self.lacking[1] += np.bincount(where, weights=lack, minlength=_BINS)
        if targets.dtype.kind == "f":
            scaled = root * targets
            self._add_rows(0, features, root)
            self.cross += scaled @ features
            self.target_sum += float(root @ scaled)
            self.target_square += float(scaled @ scaled)
            self._add_squares(0, features)
            return
        present = np.unique(targets).tolist()
        for label in present:
            rows = np.flatnonzero(targets == label)
            own = features if len(present) == 1 else some_rows(features, rows)
            self._add_rows(label, own, root[rows])
            if len(self.squares) > 1:
                self._add_squares(label, own)
        if len(self.squares) == 1:
            self._add_squares(0, features)

    def _add_rows(self, label: int, features: Array, root: Array) -> None:
        """Rows of a class, with √w and features times √w."""
        self.counts[label] += len(root)
        self.sums[label] += root @ features
        self.masses[label] += float(root @ root)
        self.log_weights[label] += 2.0 * float(np.log(root).sum())

    def _add_squares(self, which: int, features: Array) -> None:
        add_squares(self.squares[which], features)

    def merge(self, other: Statistics) -> Statistics:
        """The statistics of both sets of rows."""
        if self.squares.shape != other.squares.shape or self.counts.shape != other.counts.shape:
            raise ValueError(
                f"These statistics do not belong together: {self.size} features and {len(self.counts)} classes here, "
                f"{other.size} and {len(other.counts)} there."
            )
        return Statistics(
            self.counts + other.counts,
            self.sums + other.sums,
            self.squares + other.squares,
            self.cross + other.cross,
            self.target_sum + other.target_sum,
            self.target_square + other.target_square,
            self.lacking + other.lacking,
            self.masses + other.masses,
            self.log_weights + other.log_weights,
        )

    def first(self, m: int) -> Statistics:
        """The statistics of the first m features, but for what they lack, which only a pass over the rows can tell.

        The mean that is lacking is known, and bounds the sum of logs by Jensen's inequality.
        """
        squares = self.squares[:, :m, :m].copy()
        missing = np.einsum("sii->", self.squares) - np.einsum("sii->", squares)
        lacking = np.stack([np.array([float(self.n)]), np.array([self.lacking[1].sum() + missing])])
        return replace(self, sums=self.sums[:, :m].copy(), squares=squares, cross=self.cross[:m], lacking=lacking)

    # --- what levels 2 and 3 need ------------------------------------------------------------------------------------

    def centred(self, code: Array | None = None) -> Centred:
        """Sums about the means for real targets, or for the bits of a code of shape (C, L) without don't cares.

        A class whose codes are all zero takes no part.
        """
        if code is None:
            part, cross = np.ones(1), self.cross[None, :]
            target_sums, target_squares = np.array([self.target_sum]), np.array([self.target_square])
        else:
            part = (code != 0).any(axis=1).astype(float)
            cross, target_sums = code.T @ self.sums, code.T @ self.masses
            target_squares = np.full(code.shape[1], float(part @ self.masses))
        n, mass = float(part @ self.counts), float(part @ self.masses)
        mean, target_means = part @ self.sums / mass, target_sums / mass
        lower = self.squares[0] if len(self.squares) == 1 else np.tensordot(part, self.squares, 1)
        scatter = np.tril(lower, -1)
        scatter = scatter + scatter.T + np.diag(np.diag(lower)) - mass * np.outer(mean, mean)
        crosses = cross - np.outer(target_means, mass * mean)
        totals = np.maximum(target_squares - mass * target_means**2, 0.0)
        logs = float(part @ self.log_weights)
        return Centred(scatter, crosses, totals, mean, target_means, round(n), mass, logs)

    def reduction(self, centred: Centred) -> LowRankReduction:
        """The reduction of levels 2 and 3."""
        scatter, mean = centred.scatter, centred.feature_mean
        norm = float(np.linalg.norm(scatter)) + centred.mass * float(mean @ mean)
        constant = 0.5 * (centred.log_weights - float(np.log(centred.mass)))
        return LowRankReduction.of(centred.n, scatter, centred.crosses, centred.totals, norm, constant)

    def lack(self) -> tuple[Array, Array]:
        """Rows and mean d in the bins."""
        counts, sums = self.lacking
        return counts, sums / np.maximum(counts, 1.0)

    # --- files -------------------------------------------------------------------------------------------------------

    def state(self) -> State:
        """The sums as JSON and arrays."""
        names = ("counts", "sums", "squares", "cross", "lacking", "masses", "log_weights")
        arrays = {name: getattr(self, name) for name in names}
        return State({"target_sum": self.target_sum, "target_square": self.target_square}, arrays)

    @classmethod
    def from_state(cls, state: State) -> Statistics:
        """The statistics that have this state."""
        squares, (classes, m) = state.shape("squares"), state.shape("sums")
        bins = state.shape("lacking")[1]
        state.require_shapes(
            {"counts": (classes,), "sums": (classes, m), "cross": (m,), "lacking": (2, bins)}
            | {"squares": (squares[0], m, m)}
        )
        if squares[0] not in (1, classes):
            raise ValueError(f"it has {squares[0]} matrices for {classes} classes")
        counts, sums, all_squares, cross, lacking = (
            np.array(state.arrays[name], dtype=float) for name in ("counts", "sums", "squares", "cross", "lacking")
        )
        total, square = float(state.header["target_sum"]), float(state.header["target_square"])
        masses, logs = counts.copy(), np.zeros(classes)
        if "masses" in state.arrays:  # absent from older files, whose rows have no weights
            state.require_shapes({"masses": (classes,), "log_weights": (classes,)})
            masses, logs = (np.array(state.arrays[name], dtype=float) for name in ("masses", "log_weights"))
        return cls(counts, sums, all_squares, cross, total, square, lacking, masses, logs)
