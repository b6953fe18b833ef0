"""Posteriors of members that share a kernel: from one eigendecomposition, and predicting from one projection.

With the eigensystem λ, V of the centred kernel matrix, member l has the targets t_l = Vᵀy_l and s_l = 1/γ_l, and

    α_l = V [t_l/(λ + s_l)],    b_l = m̂_y − α_lᵀΩ1/N,    θᵀR_lθ' = Σ_i p_i p'_i/(λ_i + s_l),    p = Vᵀθ(x),

so that the projection p of new points, which is what predictions cost, is made once for all members. Moments are those
of `bayes_lssvm.levels.level1` and moderated outputs those of `bayes_lssvm.levels.moderation`: a member designed alone
with the same kernel has the same ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ..base.typing import Array
from ..base.weights import counted, one_of_each, row_count, weighted_mean
from ..kernels import Kernel, check_positive_semidefinite
from ..levels.level1 import BLOCK_DOUBLES, ClassMoments
from ..levels.level3 import HasLevel3, Level3, evaluate
from ..levels.logistic_map import LogisticMap
from ..levels.moderation import class_log_odds, softmax_log_odds, target_log_odds, within_range
from ..linalg.blas import product
from ..linalg.repeats import spectrum_of
from ..linalg.spectrum import CentredSpectrum
from .tasks import Task


@dataclass(frozen=True)
class SharedMember(HasLevel3):
    """One member of a shared design; attributes have the names they have in `BayesianLSSVC`.

    Attributes
    ----------
    bit : int
        Its column of the code book.
    kernel_ : Kernel
    level3_ : Level3
    alpha_ : array of shape (n,)
        For its own training points.
    intercept_ : float
    zeta_star_ : float
    occam : bool
        Whether `log_evidence_` has the Occam factor.

    Examples
    --------
    >>> from bayes_lssvm.datasets import load
    >>> from bayes_lssvm.kernels import RBF
    >>> from bayes_lssvm.multiclass import code_book, design_shared
    >>> iris = load("iris")
    >>> design = design_shared(
    ...     iris.data, iris.target, code_book("ova", 3), RBF(2.0), refine=False, occam=True, prior_sd=(3.0, 3.0)
    ... )
    >>> [member.bit for member in design.posteriors[0].members]
    [0, 1, 2]
    """

    bit: int
    kernel_: Kernel
    level3_: Level3
    alpha_: Array
    intercept_: float
    zeta_star_: float
    occam: bool

    @property
    def log_evidence_(self) -> float:
        """Log p(D | H) of this member's targets."""
        level3 = self.level3_
        return level3.log_evidence if self.occam else level3.log_evidence_without_occam

    @property
    def log_occam_factor_(self) -> float:
        """Log of the Occam factor of 5.2."""
        return self.level3_.log_occam_factor


class _Block(NamedTuple):
    """What a block of new points needs of its kernel rows."""

    part: slice
    theta: Array  # [n, N]
    diagonal: Array  # [n]
    outputs: Array  # [n, B]  z


@dataclass(frozen=True)
class SharedPosterior:
    """Posteriors of the members of one task, at one kernel.

    Attributes
    ----------
    kernel : Kernel
    X : array of shape (N, d)
        The task's training inputs.
    targets : array of shape (N, B)
    spectrum : CentredSpectrum
        Of the first member; λ and V are those of all.
    members : tuple of SharedMember

    Examples
    --------
    >>> from bayes_lssvm.datasets import load
    >>> from bayes_lssvm.kernels import RBF
    >>> from bayes_lssvm.multiclass import code_book, design_shared
    >>> iris = load("iris")
    >>> design = design_shared(
    ...     iris.data, iris.target, code_book("ova", 3), RBF(2.0), refine=False, occam=True, prior_sd=(3.0, 3.0)
    ... )
    >>> design.posteriors[0].targets.shape
    (150, 3)
    """

    kernel: Kernel
    X: Array
    targets: Array
    spectrum: CentredSpectrum
    members: tuple[SharedMember, ...]
    class_rows: Array  # [N, 2B]  kernel rows of the centres of both classes: +1 for all members, then −1
    projected_means: Array  # [2B]
    class_norms: Array  # [2B]

    @classmethod
    def fit(
        cls, kernel: Kernel, X: Array, task: Task, *, occam: bool, prior_sd: tuple[float, float]
    ) -> SharedPosterior:
        """Levels 1 to 3 for all members of a task."""
        K, Y, means = kernel(X), task.targets, weighted_mean(task.targets, task.weights)
        check_positive_semidefinite(kernel, K)
        spectrum = spectrum_of(K, X, Y[:, 0], task.weights)
        T = product(spectrum.vectors.T, np.ascontiguousarray(Y - means))  # [N-1, B]
        each = [replace(spectrum, t=t, y_mean=float(mean)) for t, mean in zip(T.T, means, strict=True)]
        level3 = [evaluate(member, prior_sd=prior_sd) for member in each]
        s = np.array([1.0 / found.level2.gamma for found in level3])
        alpha = product(spectrum.vectors, T / (spectrum.eigenvalues[:, None] + s))  # [N, B]
        intercept = means - spectrum.kernel_means @ alpha
        weights = _class_weights(Y, task.weights)
        class_rows = product(K, weights)
        outputs = product(K, alpha)
        projected = np.einsum("ij,ij->j", weights, np.hstack([outputs, outputs]))
        half = len(s)
        deviations = outputs - np.where(Y > 0, projected[:half], projected[half:])
        scatter = counted(task.weights, len(Y)) @ deviations**2
        left = np.array([row_count(task.weights, len(Y)) - found.level2.gamma_eff for found in level3])
        zeta_star = np.maximum(left, 1e-100) / np.maximum(scatter, 1e-200)  # finite, as in `ClassCentres`
        members = tuple(
            SharedMember(bit, kernel, level3[k], alpha[:, k], float(intercept[k]), float(zeta_star[k]), occam)
            for k, bit in enumerate(task.bits)
        )
        norms = np.einsum("ij,ij->j", weights, class_rows)
        return cls(kernel, X, Y, spectrum, members, class_rows, projected, norms)

    def _of_members(self, name: str) -> Array:
        return np.array([getattr(member, name) for member in self.members])

    @cached_property
    def _alpha(self) -> Array:
        return np.stack([member.alpha_ for member in self.members], axis=1)  # [N, B]

    @cached_property
    def _inverse(self) -> Array:
        """1/(λ + s) of shape (N − 1, B)."""
        return np.asarray(1.0 / (self.spectrum.eigenvalues[:, None] + 1.0 / self._of_members("gamma_")))

    def _blocks(self, X: Array) -> Iterator[_Block]:
        rows = max(1, BLOCK_DOUBLES // max(len(self.X), 1))
        intercepts = self._of_members("intercept_")
        for start in range(0, len(X), rows):
            part = slice(start, start + rows)
            theta = self.kernel(X[part], self.X)
            yield _Block(part, theta, self.kernel.diag(X[part]), product(theta, self._alpha) + intercepts)

    def outputs(self, X: Array) -> Array:
        """Outputs z of each member for each row of X, of shape (n, B)."""
        found = np.empty((len(X), len(self.members)))
        for block in self._blocks(X):
            found[block.part] = block.outputs
        return found

    def log_ratios(self, X: Array, moderation: str) -> Array:
        """Log p(x | y=+1) − log p(x | y=−1) of each member for each row of X, of shape (n, B)."""
        X = within_range(self, X)  # type: ignore[arg-type]  # it looks at the kernel only
        found = np.empty((len(X), len(self.members)))
        for block in self._blocks(X):
            ratios = self._class_ratios(block) if moderation == "class" else self._target_ratios(block, moderation)
            found[block.part] = ratios
        for k, member in enumerate(self.members):
            level2 = member.level3_.level2
            if level2.status == "no signal" and level2.at_boundary:  # the weights are zero: nothing was learnt
                found[:, k] = 0.0
        return found

    def _variance(self, projected: Array, own: Array, squared: Array, centre: Array) -> Array:
        """(φ(x) − m)ᵀQ₁₁(φ(x) − m) of each member, of shape (n, B).

        Parameters
        ----------
        projected, own : arrays of shape (n, N − 1) and (n, B)
            p, and Σ p²/(λ + s).
        squared : array of shape (n, B) or (n, 1)
            ‖φ(x) − m‖².
        centre : array of shape (N, B) or (N, 1)
            Kernel rows of the members' centres m, or of one for all.
        """
        c = product(self.spectrum.vectors.T, np.ascontiguousarray(centre))
        explained = own - 2.0 * product(projected, c * self._inverse) + (c**2 * self._inverse).sum(axis=0)
        return np.asarray(np.maximum(squared - explained, 0.0) / self._of_members("mu_"))

    def _project(self, block: _Block) -> tuple[Array, Array]:
        projected = product(block.theta, self.spectrum.vectors)  # [n, N-1]
        return projected, product(projected * projected, self._inverse)

    def _class_ratios(self, block: _Block) -> Array:
        """Paper 0's form (3.16)."""
        count = len(self.members)
        weights = _class_weights(self.targets, self.spectrum.weights)
        squared = block.diagonal[:, None] - 2.0 * product(block.theta, weights) + self.class_norms  # [n, 2B]
        projected, own = self._project(block)
        variances = np.hstack(
            [
                self._variance(projected, own, squared[:, side], self.class_rows[:, side])
                for side in (slice(0, count), slice(count, 2 * count))
            ]
        )
        outputs = block.outputs - self._of_members("intercept_")
        means = np.hstack([outputs, outputs]) - self.projected_means
        ratios = np.empty_like(outputs)
        for k, member in enumerate(self.members):
            plus, minus = (ClassMoments(means[:, i], variances[:, i]) for i in (k, count + k))
            ratios[:, k] = class_log_odds(plus, minus, member.zeta_star_)
        return ratios

    def _target_ratios(self, block: _Block, moderation: str) -> Array:
        """Paper 2's form (eq 11), the logistic function's, or the map of leave-one-out outputs."""
        variance = self._latent_variance(block)
        ratios = np.empty_like(variance)
        for k, member in enumerate(self.members):
            z, v = block.outputs[:, k], variance[:, k]
            frequency = float(weighted_mean(self.targets[:, k] > 0, self.spectrum.weights))
            prior = float(np.log(frequency) - np.log1p(-frequency))
            if moderation == "target":
                ratios[:, k] = target_log_odds(z, v, member.zeta_)
            elif moderation == "loo":
                ratios[:, k] = self._maps[k].log_odds(z, v) - prior
            else:
                ratios[:, k] = softmax_log_odds(z, v) - prior
        return ratios

    @cached_property
    def _maps(self) -> list[LogisticMap]:
        """The map of each member from its leave-one-out outputs, y_i − α_i/(C⁻¹)_ii (paper 1, eq 12)."""
        diagonal = product(self.spectrum.vectors**2, np.ascontiguousarray(self._inverse))  # (C⁻¹)_ii of shape (N, B)
        weights, found = self.spectrum.weights, []
        for k, member in enumerate(self.members):
            noise = 1.0 / (member.gamma_ * (np.ones(len(self.X)) if weights is None else weights))
            variances = np.maximum(1.0 / diagonal[:, k] - noise, 0.0) / member.mu_
            residuals, variances = one_of_each(self._alpha[:, k] / diagonal[:, k], variances, weights, member.zeta_)
            found.append(LogisticMap.fit(self.targets[:, k] - residuals, variances, self.targets[:, k], weights))
        return found

    def _latent_variance(self, block: _Block) -> Array:
        """σ_z² of each member, of shape (n, B) (eq 12, its sign mended)."""
        means, weights = self.spectrum.kernel_means, self.spectrum.weights
        level = weighted_mean(block.theta.T, weights)
        squared = block.diagonal - 2.0 * level + weighted_mean(means, weights)  # ‖φ(x) − m̂_Υ‖²
        about = self._variance(*self._project(block), squared[:, None], means[:, None])
        return about + 1.0 / (self.spectrum.total * self._of_members("zeta_"))

    def latent_moments(self, X: Array) -> tuple[Array, Array]:
        """Mean z_MP and variance σ_z² of each member's output at each row of X, each of shape (n, B)."""
        blocks = [(block.outputs, self._latent_variance(block)) for block in self._blocks(X)]
        return np.concatenate([z for z, _ in blocks]), np.concatenate([variance for _, variance in blocks])


def _class_weights(targets: Array, weights: Array | None = None) -> Array:
    """Columns that average over the points of class +1 of each member, then over those of class −1; (N, 2B)."""
    sides = np.hstack([targets > 0, targets <= 0]) * (1.0 if weights is None else weights[:, None])
    return np.asarray(sides / sides.sum(axis=0))
