"""LS-SVM classifier and regressor with given kernel and γ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from ..base.errors import require_positive
from ..base.intervals import Interval, require_coverage
from ..base.memory import require_matrices
from ..base.typing import AnyArray, Array
from ..kernels import Kernel, check_positive_semidefinite
from ..levels.grown import GrownPosterior
from ..levels.level1 import DualPosterior
from ..levels.solvers import CGSolution, KKTSolution, kernel_product, solve_cg, solve_cholesky, solve_spectral
from ..linalg.spectrum import CentredSpectrum
from .common import BinaryClassifier, LSSVMBase, check_regression_targets
from .intervals import BLOCKS, LEFT_OUT, LeftOut, Noise, check_method, left_out_interval
from .updates import check_first_labels, check_labels, check_new_rows, check_outputs

_SOLVERS = ("cholesky", "spectral", "cg")


class _PlainLSSVM(LSSVMBase):
    kernel_: Kernel
    alpha_: Array
    intercept_: Any
    X_fit_: Array
    y_fit_: Array
    weights_: Array | None
    _grown: GrownPosterior | None

    def __init__(
        self,
        kernel: Kernel | str = "rbf",
        gamma: float = 1.0,
        *,
        solver: str = "cholesky",
        standardise: bool = True,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.solver = solver
        self.standardise = standardise

    def _fit_targets(self, X: Array, y: Array, weights: Array | None) -> None:
        gamma = require_positive("gamma", self.gamma)
        if self.solver not in _SOLVERS:
            raise ValueError(f"solver must be one of {', '.join(_SOLVERS)}, got {self.solver!r}.")
        kernel = self._kernel_for(X)
        if self.solver != "cg":
            require_matrices(
                len(X),
                3 if self.solver == "cholesky" else 6,
                'Use solver="cg", which never holds the kernel matrix.',
            )
        self.X_fit_ = self._standardised_training_inputs(X, weights)
        self.kernel_, self.y_fit_, self.weights_, self._grown = kernel, y, weights, None
        if self.solver == "cg":
            solutions = [solve_cg(kernel, self.X_fit_, target, gamma, weights=weights) for target in _columns(y)]
            self._take(solutions, several=y.ndim == 2)
            return
        K = kernel(self.X_fit_)
        check_positive_semidefinite(kernel, K)
        if self.solver == "cholesky":
            self.alpha_, self.intercept_ = solve_cholesky(K, y, gamma, weights)
            return
        spectrum = CentredSpectrum.from_kernel_matrix(K, _columns(y)[0], weights)
        found = [solve_spectral(spectrum.with_targets(target), gamma) for target in _columns(y)]
        self._take(found, several=y.ndim == 2)

    def _add(self, inputs: Array, y: Array, weights: Array | None) -> None:
        """Rows with kernel, γ and scales held; the first time the factor is made, which fits do not keep."""
        targets = np.concatenate([self.y_fit_, y])
        first = targets.reshape(len(targets), -1)[:, 0].copy()
        if self._grown is None:
            n = len(self.y_fit_)
            require_matrices(n + len(y), 3, 'Fit all rows by solver="cg", which never holds the kernel matrix.')
            self._grown = GrownPosterior.of(
                DualPosterior.from_kernel_matrix(
                    self.kernel_,
                    self.X_fit_,
                    self.kernel_(self.X_fit_),
                    first[:n],
                    mu=1.0,
                    zeta=float(self.gamma),
                    weights=self.weights_,
                )
            )
        self._grown = self._grown.with_rows(inputs, first, weights)
        self.X_fit_, self.y_fit_, self.weights_ = self._grown.X, targets, self._grown.weights
        self.alpha_, intercept = self._grown.support(targets)
        self.intercept_ = float(intercept) if targets.ndim == 1 else intercept

    def _take(self, solutions: Sequence[KKTSolution | CGSolution], *, several: bool) -> None:
        """Support values and biases of the outputs, of shape (N, L) and (L,), or of the only one."""
        if not several:
            self.alpha_, self.intercept_ = solutions[0].alpha, solutions[0].intercept
            return
        self.alpha_ = np.stack([solution.alpha for solution in solutions], axis=1)
        self.intercept_ = np.array([solution.intercept for solution in solutions])

    def _latent(self, X: Any) -> Array:
        check_is_fitted(self, "alpha_")
        return kernel_product(self.kernel_, self._new_inputs(X), self.X_fit_, self.alpha_) + self.intercept_


def _columns(y: Array) -> list[Array]:
    """The targets of each output."""
    return list(np.ascontiguousarray(y.reshape(len(y), -1).T))


class LSSVC(BinaryClassifier, _PlainLSSVM):
    """LS-SVM classifier with given kernel and γ (paper 0, section 2.2).

    Parameters
    ----------
    kernel : Kernel or str, default "rbf"
        An object of `bayes_lssvm.kernels` or a name; "rbf" has the width √d.
    gamma : float, default 1.0
        γ = ζ/μ: large values fit closely, small ones smooth.
    solver : {"cholesky", "spectral", "cg"}, default "cholesky"
        How the linear system 2.19 is solved; "cg" never holds the kernel matrix.
    standardise : bool, default True
        Bring inputs to zero mean and unit variance (N − 1) first.

    Attributes
    ----------
    alpha_ : array of shape (N,)
        Support values, α = γe; they sum to zero.
    intercept_ : float
        The bias b.
    kernel_ : Kernel
    classes_ : array of shape (2,)
        The second label is y = +1.

    Examples
    --------
    >>> from bayes_lssvm import LSSVC
    >>> from bayes_lssvm.datasets import load
    >>> ripley = load("ripley")
    >>> model = LSSVC("rbf", gamma=1.0).fit(ripley.data, ripley.target)
    >>> round(model.score(ripley.test_data, ripley.test_target), 2)
    0.91
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LSSVC:
        """Fit to inputs X of shape (N, d) and two labels y of shape (N,).

        With `sample_weight` of shape (N,), squared errors are weighted: γw_i stands for γ at row i. A row of weight
        zero is left out.
        """
        X, y, weights = self._check_weighted_inputs(X, y, sample_weight, numeric_target=False)
        self._fit_targets(X, self._encode_labels(y), weights)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> LSSVC:
        """Add rows with kernel, γ and scales held, in O(N²) for each; a model that is not fitted yet is fitted.

        The first call after `fit` makes the factor, in O(N³). With `classes`, the first rows must show each of them.
        """
        if not hasattr(self, "alpha_"):
            check_first_labels(y, classes)
            return self.fit(X, y, sample_weight)
        inputs, y, weights = check_new_rows(self, X, y, sample_weight)
        self._add(inputs, 2.0 * check_labels(self.classes_, y) - 1.0, weights)
        return self

    def decision_function(self, X: Any) -> Array:
        """Σ α_i K(x, x_i) + b for each row of X (2.22)."""
        return self._latent(X)

    def predict(self, X: Any) -> AnyArray:
        """The label whose sign the decision function has."""
        return self._decode_sign(self.decision_function(X))


class LSSVR(RegressorMixin, _PlainLSSVM):  # type: ignore[misc]
    """LS-SVM regressor with given kernel and γ: kernel ridge regression with an unpenalised bias.

    Parameters are those of `LSSVC`; attributes `alpha_`, `intercept_` and `kernel_` too. Targets of shape (N, L) are L
    outputs with the same kernel and γ: `alpha_` then has the shape (N, L), and predictions (n, L).

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm import LSSVR
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-3, 3, size=(40, 1))
    >>> y = np.sinc(x[:, 0]) + 0.1 * rng.normal(size=40)
    >>> LSSVR("rbf", gamma=100.0).fit(x, y).predict([[0.0]]).round(1)
    array([1.])
    """

    _takes_several_outputs: ClassVar[bool] = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LSSVR:
        """Fit to inputs X of shape (N, d) and targets y of shape (N,), or (N, L); weights as in `LSSVC.fit`."""
        X, y, weights = self._check_weighted_inputs(X, y, sample_weight, numeric_target=True)
        self._fit_targets(X, check_regression_targets(y), weights)
        return self

    def predict(self, X: Any) -> Array:
        """Σ α_i K(x, x_i) + b for each row of X."""
        return self._latent(X)

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> LSSVR:
        """Add rows with kernel, γ and scales held, as in `LSSVC.partial_fit`."""
        if not hasattr(self, "alpha_"):
            return self.fit(X, y, sample_weight)
        inputs, y, weights = check_new_rows(self, X, y, sample_weight)
        self._add(inputs, check_outputs(y, self.y_fit_), weights)
        return self

    def predict_interval(
        self,
        X: Any,
        coverage: float = 0.9,
        method: str = "jackknife+",
        *,
        n_blocks: int = BLOCKS,
        random_state: int = 0,
    ) -> Interval:
        """Lower and upper ends of an interval for a new target at each row of X, from exact leave-one-out errors.

        Parameters
        ----------
        X : array of shape (n, d)
        coverage : float, default 0.9
            Share of new targets that shall lie within.
        method : {"jackknife+", "cv+"}, default "jackknife+"
            With rows left out one by one, or in blocks; both in closed form, without a refit.
        n_blocks, random_state : int
            For "cv+": how many blocks, and the seed of the order that is cut into them.

        Notes
        -----
        Kernel and γ are given, so that the guarantee of jackknife+ holds: at least 2·coverage − 1 in the worst case, as
        a rule about `coverage`. Standardisation of the inputs knows no targets and does not touch it. With weights the
        new target has weight one; errors of left-out rows are brought to its noise by the model, and the coverage is
        no longer free of assumptions.
        """
        check_is_fitted(self, "alpha_")
        coverage, method = require_coverage(coverage), check_method(method, LEFT_OUT)
        y = self.y_fit_.reshape(len(self.y_fit_), -1)
        how = LeftOut(method, n_blocks, random_state)
        gamma, inputs = np.full(y.shape[1], float(self.gamma)), self._new_inputs(X)
        noise = Noise.given(self.weights_, len(inputs))
        found = left_out_interval(self.kernel_, self.X_fit_, y, gamma, inputs, coverage, how, noise)
        return Interval(*(end.reshape(len(end), *self.y_fit_.shape[1:]) for end in found))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
