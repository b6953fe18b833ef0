"""The LS-SVM regressor designed by the evidence framework."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..base.cost import announce
from ..base.typing import Array
from .common import check_regression_targets
from .comparing import ComparesKernels
from .evidence import EvidenceLSSVM


class BayesianLSSVR(ComparesKernels, RegressorMixin, EvidenceLSSVM):  # type: ignore[misc]
    """LS-SVM regressor with everything inferred from the training data, and error bars.

    Parameters
    ----------
    kernel : Kernel or str, default "rbf"
        An object of `bayes_lssvm.kernels`, or a name such as "linear", "poly2", "rbf", "ard", "matern32", "periodic".
    refine : bool, default True
        Optimise the kernel's parameters by the evidence, from several starts; False takes them as given.
    occam : bool, default True
        Whether the evidence that selects them has the Occam factor (5.2, 5.3) or is p(D | μ_MP, ζ_MP) alone.
    criterion : {"evidence", "press", "press-br", "press-laplace", "press-curvature"}, default "evidence"
        What chooses them: the evidence, or leave-one-out errors with γ (paper 1), as in `BayesianLSSVC`.
    prior : HyperPrior, Normal, Box, Gamma, "flat" or None
        Prior of log μ, log ζ and the kernel's log parameters in the evidence that chooses them. By default a weak,
        proper one in the units of the targets; "flat" is the papers' rule (5.2), and so is occam=False.
    prior_sd : float or pair of floats, default 3.0
        Widths of the prior of log μ and log ζ, the denominator of the Occam factor.
    standardise : bool, default True
        Standardise the inputs; targets are taken as they are.
    random_state : int, default 0
        Chooses the subset on which starts are sifted when N > 300.

    Attributes
    ----------
    mu_, zeta_, gamma_, gamma_eff_, kernel_, alpha_, intercept_, log_evidence_, log_occam_factor_, hyper_std_
        As in `BayesianLSSVC`; 1/zeta_ is the variance of the noise.
    relevance_, selected_, columns_, press_
        Relevance of the inputs (RBF and ARD kernels) and those that have a say, as in `BayesianLSSVC`.
    level3_, posterior_, refinement_, provenance_
        The results of the levels in full, and where they come from.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm import BayesianLSSVR
    >>> rng = np.random.default_rng(0)
    >>> X = np.linspace(-3, 3, 80)[:, None]
    >>> y = np.sinc(X[:, 0]) + 0.1 * rng.normal(size=80)
    >>> model = BayesianLSSVR().fit(X, y)
    >>> mean, std = model.predict([[0.0], [9.0]], return_std=True)
    >>> bool(std[1] > 2 * std[0])
    True
    """

    _saved_as = "BayesianLSSVR"

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BayesianLSSVR:
        """Design the regressor on inputs X of shape (N, d) and targets y of shape (N,).

        With `sample_weight` of shape (N,), the noise of row i has the precision ζw_i: a mean of n measurements has the
        weight n. A row of weight zero is left out.
        """
        X, y, weights = self._check_weighted_inputs(X, y, sample_weight, numeric_target=True)
        self._forget()
        announce([len(X)], self._kernel_for(X).log_params.size, "FixedSizeLSSVR(n_landmarks=500)")
        self._design(X, check_regression_targets(y), weights)
        return self

    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Mean of the prediction for each row of X, and on request the error bar √(σ_z² + 1/ζ) of a new target.

        The new target has weight one.
        """
        check_is_fitted(self, "posterior_")
        inputs = self._new_inputs(X)
        if not return_std:
            return self.posterior_.latent_mean(inputs)
        mean, variance = self.posterior_.latent_moments(inputs)
        return mean, np.sqrt(variance + 1.0 / self.zeta_)
