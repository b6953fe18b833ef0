"""The LS-SVM regressor designed by the evidence framework."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Tags, column_or_1d
from sklearn.utils.validation import check_is_fitted

from ..base.archive import State
from ..base.cost import announce
from ..base.intervals import Interval, require_coverage
from ..base.typing import Array
from ..kernels import Kernel
from ..levels.grown import GrownPosterior
from ..levels.level3 import DEFAULT_PRIOR_SD
from ..press.conformal import rank_among
from .common import check_regression_targets
from .comparing import ComparesKernels
from .draws import DrawsTargets
from .evidence import Prior
from .intervals import (
    BLOCKS,
    LEFT_OUT,
    LeftOut,
    Noise,
    check_method,
    gaussian_interval,
    left_out_interval,
    student_interval,
)
from .noisy import NoisyLSSVM
from .outputs import design_outputs, outputs_state, restore_outputs
from .refits import FEW, TrainingSet, cannot_refit, refits_of, refitted_interval, require_refit
from .state import surface_state
from .trusted import TrainingRows
from .updates import add_rows_to_outputs, check_new_rows, check_outputs

METHODS = (*LEFT_OUT, "marginal", "plug-in")
INSTEAD = 'Use method="marginal", or ask for a smaller coverage.'


class BayesianLSSVR(DrawsTargets, ComparesKernels, RegressorMixin, NoisyLSSVM):  # type: ignore[misc]
    """LS-SVM regressor with everything inferred from the training data, and error bars.

    Parameters
    ----------
    kernel : Kernel or str, default "rbf"
        An object of `bayes_lssvm.kernels`, or a name such as "linear", "poly2", "rbf", "ard", "matern32", "periodic".
    refine : bool, default True
        Optimise the kernel's parameters by the evidence, from several starts; False takes them as given.
    occam : bool, default True
        Whether the evidence that selects them has the Occam factor (5.2, 5.3) or is p(D | μ_MP, ζ_MP) alone.
    criterion : {"evidence", "press", "press-br", "press-laplace", "press-curvature", "press-slope"}, default "evidence"
        What chooses them: the evidence, or leave-one-out errors with γ (paper 1), as in `BayesianLSSVC`.
    prior : HyperPrior, Normal, Box, Gamma, "flat" or None
        Prior of log μ, log ζ and the kernel's log parameters in the evidence that chooses them. By default a weak,
        proper one in the units of the targets; "flat" is the papers' rule (5.2), and so is occam=False.
    prior_sd : float or pair of floats, default 3.0
        Widths of the prior of log μ and log ζ, the denominator of the Occam factor.
    noise : {"constant", "learned", "student"}, default "constant"
        The same noise everywhere; a variance that a second LS-SVM learns as a function of the inputs; or Student-t
        noise, for targets with gross errors. The last two are kept only where the evidence prefers them by 2 nats.
    standardise : bool, default True
        Standardise the inputs; targets are taken as they are.
    random_state : int, default 0
        Chooses the subset on which starts are sifted when N > 300.

    Attributes
    ----------
    mu_, zeta_, gamma_, gamma_eff_, kernel_, alpha_, intercept_, log_evidence_, log_occam_factor_, hyper_std_
        As in `BayesianLSSVC`; 1/zeta_ is the variance of the noise.
    noise_, noise_gain_ : str, float
        The noise that was kept, and by how many nats the evidence prefers it to constant noise.
    noise_weights_ : array of shape (N,) or None
        Relative noise precisions that were found; None for constant noise.
    log_variance_ : LogVariance
        With learned noise, the second LS-SVM.
    nu_ : float
        With Student's noise, its degrees of freedom.
    relevance_, selected_, columns_, press_
        Relevance of the inputs (RBF and ARD kernels) and those that have a say, as in `BayesianLSSVC`.
    workers_ : Workers
        How many processes did the work, and how many BLAS threads each of them could use.
    level3_, posterior_, refinement_, provenance_
        The results of the levels in full, and where they come from.
    outputs_ : list of BayesianLSSVR, or None
        For targets of shape (N, L): the model of each output, on standardised inputs, with the kernel that all share.
        mu_, zeta_, gamma_, gamma_eff_ and intercept_ then have the shape (L,), alpha_ (N, L); level3_ and posterior_
        are the outputs' own.
    hyper_posterior_ : HyperPosterior
        After the first `predict_interval(method="marginal")`.

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

    _takes_several_outputs: ClassVar[bool] = True

    outputs_: list[BayesianLSSVR] | None

    def __init__(
        self,
        kernel: Kernel | str = "rbf",
        *,
        refine: bool = True,
        occam: bool = True,
        criterion: str = "evidence",
        prior: Prior = None,
        prior_sd: float | tuple[float, float] = DEFAULT_PRIOR_SD,
        noise: str = "constant",
        standardise: bool = True,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            kernel,
            refine=refine,
            occam=occam,
            criterion=criterion,
            prior=prior,
            prior_sd=prior_sd,
            standardise=standardise,
            random_state=random_state,
        )
        self.noise = noise

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BayesianLSSVR:
        """Design the regressor on inputs X of shape (N, d) and targets y of shape (N,), or (N, L) for L outputs.

        With `sample_weight` of shape (N,), the noise of row i has the precision ζw_i: a mean of n measurements has the
        weight n. A row of weight zero is left out.
        """
        X, y, weights = self._check_weighted_inputs(X, y, sample_weight, numeric_target=True)
        if y.ndim == 2 and not self._can_have_outputs and y.shape[1] == 1:
            y = column_or_1d(y, warn=True)
        y = check_regression_targets(y)
        self._check_noise()
        self._forget()
        announce([len(X)], self._kernel_for(X).log_params.size, "FixedSizeLSSVR(n_landmarks=500)")
        if y.ndim == 2:
            design_outputs(self, X, y, weights)
        else:
            self._design(X, y, weights)
            self.outputs_ = None
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> BayesianLSSVR:
        """Add rows with kernel, μ, ζ and scales held, in O(N²) for each; a model that is not fitted yet is fitted.

        The same as a fit to all rows with these hyperparameters. `level3_` and `log_evidence_` stay those of the rows
        on which they were chosen; `fit` chooses them anew.
        """
        if not hasattr(self, "outputs_"):
            return self.fit(X, y, sample_weight)
        self._require_constant_noise("partial_fit keeps the noise fixed: fit all rows again")
        inputs, y, weights = check_new_rows(self, X, y, sample_weight)
        add_rows_to_outputs(self, inputs, check_outputs(y, self.y_fit_), weights)
        return self

    def _require_constant_noise(self, instead: str) -> None:
        noise = getattr(self, "noise", "constant")
        if noise != "constant":
            raise ValueError(f"With noise={noise!r} each row has noise of its own, and {instead}.")

    # --- predictions -----------------------------------------------------------------------------------------------

    def predict(self, X: Any, return_std: bool = False, return_cov: bool = False) -> Array | tuple[Array, Array]:
        """Mean of the prediction for each row of X, of shape (n,), or (n, L) for L outputs.

        Parameters
        ----------
        X : array of shape (n, d)
        return_std : bool
            Give the error bar √(σ_z² + 1/ζ) of a new target too, of the shape of the mean. It is that of the most
            probable hyperparameters, and with few rows too short: `predict_interval` mends that. The new target has
            weight one. Learned noise has its own variance at each x in the place of 1/ζ; Student's has the square of
            the error that 68.3 % of the noise stay below, as of a Gaussian.
        return_cov : bool
            Give the joint covariance of new targets at all rows instead, of shape (n, n), or (n, n, L).
        """
        check_is_fitted(self, "outputs_")
        if return_std and return_cov:
            raise ValueError("Give return_std or return_cov, not both: the diagonal of the covariance is std².")
        if return_cov:
            mean, covariance = self._joint(X, noise=True)
            return (mean[:, 0], covariance[:, :, 0]) if self._one_output else (mean, covariance)
        if not return_std:
            return self.latent(X)
        mean, std = self.latent(X, return_std=True)
        return mean, np.sqrt(std**2 + self.noise_at(X))

    def latent(self, X: Any, *, return_std: bool = False) -> Array | tuple[Array, Array]:
        """z_MP = Σ α_i K(x, x_i) + b for each row of X, and on request its posterior standard deviation σ_z."""
        check_is_fitted(self, "outputs_")
        if self.outputs_ is None:
            return super().latent(X, return_std=return_std)
        inputs = self._new_inputs(X)
        if not return_std:
            return np.stack([output.latent(inputs) for output in self.outputs_], axis=1)
        pairs = [output.latent(inputs, return_std=True) for output in self.outputs_]
        return np.stack([mean for mean, _ in pairs], axis=1), np.stack([std for _, std in pairs], axis=1)

    def predict_interval(
        self,
        X: Any,
        coverage: float = 0.9,
        method: str = "jackknife+",
        *,
        n_blocks: int = BLOCKS,
        refit: bool | None = None,
    ) -> Interval:
        """Lower and upper ends of an interval that holds a new target at each row of X, of the shape of predictions.

        Parameters
        ----------
        X : array of shape (n, d)
        coverage : float, default 0.9
            Share of new targets that shall lie within.
        method : {"jackknife+", "cv+", "marginal", "plug-in"}, default "jackknife+"
            From exact leave-one-out errors and models, in closed form; the same with blocks of rows left out together;
            quantiles of the predictive distribution with μ, ζ and the kernel's parameters integrated out; or the
            Gaussian of `predict(return_std=True)`, with Student's noise that of the function and the t distribution
            together, which covers too little with few rows.
        n_blocks : int, default 10
            For "cv+".
        refit : bool or None
            For "jackknife+" and "cv+": choose kernel, μ and ζ anew for each row, or block, that is left out, instead of
            holding them. As many fits as rows or blocks, kept for later calls; by default up to 60 rows of equal
            weight, for constant noise and kernels with at most one free parameter.

        Notes
        -----
        Jackknife+ assumes no distribution of the noise. Its bound, at least 2·coverage − 1, is for models that know
        nothing of the row left out: it holds with refit=True. Hyperparameters that are held have seen all rows, which
        costs a little coverage where rows are few (docs/guide/intervals.md).

        The new target has weight one. Where rows differ in their noise, by weights or by learned noise, each error of a
        left-out row is brought to the noise of the new target by the model first (`bayes_lssvm.estimators.intervals`).
        Student's noise is one for all rows of the same weight. "marginal" knows constant noise only.
        """
        check_is_fitted(self, "outputs_")
        coverage, method = require_coverage(coverage), check_method(method, METHODS)
        inputs = self._new_inputs(X)
        if self._refits_for(method, refit):
            blocks = n_blocks if method == "cv+" else None
            rank_among(len(self.X_fit_), coverage, INSTEAD)  # before the work
            found = refitted_interval(
                refits_of(self, self._training_set(), blocks, self.random_state), inputs, coverage, INSTEAD
            )
            return Interval(*(end.reshape(len(end), *self.y_fit_.shape[1:]) for end in found))
        if self.outputs_ is not None:
            each = [
                output.predict_interval(inputs, coverage, method, n_blocks=n_blocks, refit=False)
                for output in self.outputs_
            ]
            return Interval(*(np.stack(ends, axis=1) for ends in zip(*each, strict=True)))
        if method == "plug-in":
            return self._plug_in_interval(X, coverage)
        if method == "marginal":
            return self._marginal_interval(X, coverage)
        y, gamma, noise = self.y_fit_[:, None], np.array([self.gamma_]), None
        if self.weights_ is not None:
            rows, new = self.zeta_ * self.noise_variances(), self.zeta_ * self._noise_variance(inputs)
            noise = Noise(self.weights_, rows, new)
        how = LeftOut(method, n_blocks, self.random_state, INSTEAD)
        found = left_out_interval(self.kernel_, self.X_fit_, y, gamma, inputs, coverage, how, noise)
        return Interval(found.lower[:, 0], found.upper[:, 0])

    def _refits_for(self, method: str, refit: Any) -> bool:
        """Whether left-out models are fitted again; where they cannot be, asking for it is refused."""
        require_refit(refit)
        if method not in LEFT_OUT:
            if refit:
                raise ValueError(f'refit=True is for method="jackknife+" and "cv+"; {method!r} leaves no rows out.')
            return False
        why_not = cannot_refit(self)
        if refit and why_not:
            raise ValueError(f"refit=True cannot be done: {why_not}. Use refit=False.")
        if refit is not None:
            return bool(refit)
        free = self._given_kernel().log_params.size if self.refine else 0
        held = any(isinstance(model.posterior_, GrownPosterior) for model in self.outputs_ or [self])
        few = len(self.X_fit_) <= FEW and free <= 1
        return few and not why_not and not held and self.weights_ is None and self.noise == "constant"

    def _training_set(self) -> TrainingSet:
        """The rows with the weights that were given to `fit`."""
        weights = (self.outputs_ or [self])[0].given_weights()
        return TrainingSet(self.X_fit_, self.y_fit_, weights)

    def _plug_in_interval(self, X: Any, coverage: float) -> Interval:
        if self.noise_ == "student":
            mean, std = self.latent(X, return_std=True)
            return student_interval(mean, std, float(self.zeta_) ** -0.5, self.nu_, coverage)
        mean, std = self.predict(X, return_std=True)
        return gaussian_interval(mean, std, coverage)

    def _marginal_interval(self, X: Any, coverage: float) -> Interval:
        """By the posterior of the hyperparameters, which the first call makes and later ones have."""
        if self.noise_ != "constant":
            raise ValueError(
                f"marginal intervals are for constant noise, and this model has found {self.noise_} noise: use "
                'method="jackknife+", "cv+" or "plug-in".'
            )
        if not hasattr(self, "hyper_posterior_"):
            held = not self.refine or self.kernel_.log_params.size == 0
            how = "quadrature" if held or self.kernel_.log_params.size == 1 else "ccd"
            self.hyper_posterior_ = self.marginalise(fixed_kernel=held, method=how, progress=False)
        return self.hyper_posterior_.predict_interval(np.asarray(X, dtype=float), coverage)

    def _joint(self, X: Any, *, noise: bool) -> tuple[Array, Array]:
        check_is_fitted(self, "outputs_")
        inputs = self._new_inputs(X)
        posteriors = [self.posterior_] if self.outputs_ is None else [output.posterior_ for output in self.outputs_]
        mean = np.stack([posterior.latent_mean(inputs) for posterior in posteriors], axis=1)
        variances = self._noise_at(inputs).reshape(len(inputs), -1).T if noise else np.zeros((len(posteriors), 1))
        covariance = [
            p.latent_covariance(inputs) + np.eye(len(inputs)) * v for p, v in zip(posteriors, variances, strict=True)
        ]
        return mean, np.stack(covariance, axis=2)

    def noise_at(self, X: Any) -> Array:
        """Variance of the noise that a new target of weight one has at each row of X, of the shape of predictions.

        Constant, but for learned noise. For Student's noise its square root is the error that 68.3 % stay below.
        """
        check_is_fitted(self, "outputs_")
        return self._noise_at(self._new_inputs(X))

    def _noise_at(self, inputs: Array) -> Array:
        """Variance of the noise of new targets at standardised inputs, of the shape of predictions."""
        if self.outputs_ is None:
            return self._noise_variance(inputs)
        return np.stack([output._noise_variance(inputs) for output in self.outputs_], axis=1)

    @property
    def _gaussian_noise(self) -> bool:
        return all(model.noise_ != "student" for model in self.outputs_ or [self])

    def _noise_draws(self, X: Any, n_samples: int, rng: np.random.Generator) -> list[Array]:
        inputs = self._new_inputs(X)
        return [model._drawn_noise(inputs, n_samples, rng) for model in self.outputs_ or [self]]

    @property
    def _one_output(self) -> bool:
        return self.outputs_ is None

    # --- several outputs -------------------------------------------------------------------------------------------

    def _require_one_target(self, method: str, instead: str) -> None:
        check_is_fitted(self, "outputs_")
        if self.outputs_ is not None:
            raise ValueError(
                f"{method} is for one output, and there are {len(self.outputs_)}: use outputs_[i].{method}, whose "
                "inputs are standardised, or fit a model for each."
            )

    def _training_rows(self) -> TrainingRows:
        self._require_one_target("trust", "")
        return super()._training_rows()

    def _state(self) -> State:
        return super()._state() if self.outputs_ is None else surface_state(self) | outputs_state(self)

    def _restore(self, state: State) -> None:
        if "outputs" in state.header:
            restore_outputs(self, state)
        else:
            super()._restore(state)
            self.outputs_ = None

    @property
    def _can_have_outputs(self) -> bool:
        """Whether a kernel for several outputs can be chosen by these settings, or is given."""
        return not self.refine or self.has_prior

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._can_have_outputs
        return tags
