"""LS-SVM classifier and regressor with given kernel and γ."""

from __future__ import annotations

from typing import Any

from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..base.errors import require_positive
from ..base.memory import require_matrices
from ..base.typing import AnyArray, Array
from ..kernels import Kernel, check_positive_semidefinite
from ..levels.solvers import kernel_product, solve_cg, solve_cholesky, solve_spectral
from ..linalg.spectrum import CentredSpectrum
from .common import BinaryClassifier, LSSVMBase, check_regression_targets

_SOLVERS = ("cholesky", "spectral", "cg")


class _PlainLSSVM(LSSVMBase):
    kernel_: Kernel
    alpha_: Array
    intercept_: float
    X_fit_: Array

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
        self.kernel_ = kernel
        if self.solver == "cg":
            cg = solve_cg(kernel, self.X_fit_, y, gamma, weights=weights)
            self.alpha_, self.intercept_ = cg.alpha, cg.intercept
            return
        K = kernel(self.X_fit_)
        check_positive_semidefinite(kernel, K)
        if self.solver == "spectral":
            solution = solve_spectral(CentredSpectrum.from_kernel_matrix(K, y, weights), gamma)
        else:
            solution = solve_cholesky(K, y, gamma, weights)
        self.alpha_, self.intercept_ = solution.alpha, solution.intercept

    def _latent(self, X: Any) -> Array:
        check_is_fitted(self, "alpha_")
        return kernel_product(self.kernel_, self._new_inputs(X), self.X_fit_, self.alpha_) + self.intercept_


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

    def decision_function(self, X: Any) -> Array:
        """Σ α_i K(x, x_i) + b for each row of X (2.22)."""
        return self._latent(X)

    def predict(self, X: Any) -> AnyArray:
        """The label whose sign the decision function has."""
        return self._decode_sign(self.decision_function(X))


class LSSVR(RegressorMixin, _PlainLSSVM):  # type: ignore[misc]
    """LS-SVM regressor with given kernel and γ: kernel ridge regression with an unpenalised bias.

    Parameters are those of `LSSVC`; attributes `alpha_`, `intercept_` and `kernel_` too.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LSSVR:
        """Fit to inputs X of shape (N, d) and targets y of shape (N,); weights as in `LSSVC.fit`."""
        X, y, weights = self._check_weighted_inputs(X, y, sample_weight, numeric_target=True)
        self._fit_targets(X, check_regression_targets(y), weights)
        return self

    def predict(self, X: Any) -> Array:
        """Σ α_i K(x, x_i) + b for each row of X."""
        return self._latent(X)
