"""The design of section 6.1: kernel parameters by level 3, μ and ζ by level 2, the posterior by level 1."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base.archive import State
from ..base.cost import MATRICES
from ..base.errors import BayesLSSVMWarning, EvidenceDivergenceWarning, InterpolationWarning, NoSignalWarning, warn
from ..base.memory import keep_freed_matrices, require_matrices
from ..base.provenance import provenance
from ..base.standardisation import moments
from ..base.threads import Workers, blas_threads, few_threads
from ..base.typing import AnyArray, Array
from ..kernels import ARD, Kernel
from ..levels.default_prior import default_prior
from ..levels.grown import GrownPosterior
from ..levels.level1 import DualPosterior
from ..levels.level3 import DEFAULT_PRIOR_SD, Level3, level3_at
from ..levels.objective import Objective
from ..marginal.surface import Surface
from ..press.selection import PressSelection
from ..priors import HyperPrior, LogPrior, as_hyper_prior
from ..search.refinement import Refinement
from .choice import Choice, check_criterion, choose, relevance, with_prior
from .common import LSSVMBase
from .state import Saved, design_state, restore_design, surface_state
from .trusted import TrainingRows, Trusted

if TYPE_CHECKING:
    from ..marginal.posterior import HyperPosterior

_IRRELEVANT = 100.0  # of √d, the scale of inputs that matter
_ROUNDING = 0.01  # of the typical leave-one-out error
_DIGITS = 1e-6  # of the targets' spread: predictions that change by less are the same

Prior = HyperPrior | LogPrior | str | None


def check_prior(prior: Prior) -> None:
    """Refuse what is no prior."""
    named = isinstance(prior, str) and prior == "flat"
    if prior is not None and not named and not isinstance(prior, HyperPrior | LogPrior):
        raise ValueError(
            'prior must be None for the default, "flat" for the papers\' rule, or an object of bayes_lssvm.priors; got '
            f"{prior!r}."
        )


class EvidenceLSSVM(Saved, Trusted, LSSVMBase):
    """Fits by evidence, and what is the same for classes and for real targets."""

    _saved_as: ClassVar[str]  # the kind that model files name

    kernel_: Kernel
    level3_: Level3
    posterior_: DualPosterior
    refinement_: Refinement | None
    press_: PressSelection | None
    columns_: AnyArray
    X_fit_: Array
    y_fit_: Array
    weights_: Array | None
    provenance_: dict[str, Any]
    workers_: Workers

    def __init__(
        self,
        kernel: Kernel | str = "rbf",
        *,
        refine: bool = True,
        occam: bool = True,
        criterion: str = "evidence",
        prior: Prior = None,
        prior_sd: float | tuple[float, float] = DEFAULT_PRIOR_SD,
        standardise: bool = True,
        random_state: int = 0,
    ) -> None:
        self.kernel = kernel
        self.refine = refine
        self.occam = occam
        self.criterion = criterion
        self.prior = prior
        self.prior_sd = prior_sd
        self.standardise = standardise
        self.random_state = random_state

    def _forget(self) -> None:
        """Drop what an earlier fit found, as another kernel or number of classes has other attributes."""
        keep = {"n_features_in_", "feature_names_in_"}
        for name in [name for name in vars(self) if name.endswith("_") and name not in keep]:
            delattr(self, name)

    @few_threads
    def _design(self, X: Array, y: Array, weights: Array | None) -> Array:
        """Design the model and return the kernel matrix, for what the classifier adds."""
        kernel = self._kernel_for(X)
        check_criterion(self.criterion, kernel, self.refine)
        check_prior(self.prior)
        require_matrices(
            len(X),
            MATRICES,
            "Use FixedSizeLSSVC or FixedSizeLSSVR, which need memory for their landmarks only.",
        )
        keep_freed_matrices(len(X))
        self.workers_ = Workers(1, blas_threads())
        inputs = self._standardised_training_inputs(X, weights)
        prior = self._hyper_prior(kernel, inputs, y, weights)

        def design(own: Array | None) -> Choice:
            return choose(
                kernel,
                inputs,
                y,
                criterion=self.criterion,
                refine_kernel=self.refine,
                occam=self.occam,
                prior_sd=self.prior_sd,
                prior=prior,
                seed=self.random_state,
                weights=own,
            )

        chosen, weights, log_evidence = self._designed(design, inputs, y, weights, prior)
        self.kernel_, self.columns_ = chosen.kernel, chosen.columns
        self.X_fit_, self.y_fit_, self.weights_ = np.ascontiguousarray(inputs[:, chosen.columns]), y, weights
        self.refinement_, self.press_ = chosen.refinement, chosen.press
        self.level3_ = level3_at(chosen.reduction, chosen.level2, prior_sd=self.prior_sd)
        if chosen.solved is None:
            mu, zeta = chosen.level2.mu, chosen.level2.zeta
            K = self.kernel_(self.X_fit_)
            self.posterior_ = DualPosterior.from_kernel_matrix(
                self.kernel_, self.X_fit_, K, y, mu=mu, zeta=zeta, weights=weights
            )
        else:
            K, self.posterior_ = chosen.solved.K, replace(chosen.solved.posterior, X=self.X_fit_)
        self.provenance_ = provenance(
            settings=self.get_params(deep=False), data=(X, y) if weights is None else (X, y, weights)
        )
        self._publish()
        if log_evidence is not None:
            self.log_evidence_ = log_evidence
        self._warn()
        return K

    def _designed(
        self,
        design: Callable[[Array | None], Choice],
        X: Array,
        y: Array,
        weights: Array | None,
        prior: HyperPrior | None,
    ) -> tuple[Choice, Array | None, float | None]:
        """The design for given weights, the weights that it was made with, and its evidence if not that of 5.2."""
        found = design(weights)
        return found, weights, found.log_evidence

    def _hyper_prior(self, kernel: Kernel, X: Array, y: Array, weights: Array | None) -> HyperPrior | None:
        """The prior of the design; None for the papers' rule."""
        if not self.has_prior:
            return None
        if self.prior is None:
            return default_prior(kernel, X, y, classes=bool(np.all(np.abs(y) == 1.0)), weights=weights)
        return as_hyper_prior(self.prior)  # type: ignore[arg-type]  # checked before

    @property
    def has_prior(self) -> bool:
        """Whether the design is by Laplace's evidence with a prior in it, and not by the papers' rule or PRESS."""
        flat = isinstance(self.prior, str) and self.prior == "flat"
        return self.criterion == "evidence" and not flat and (self.prior is not None or bool(self.occam))

    def _objective(self) -> Callable[[Kernel], Objective]:
        """The evidence of a kernel on the training data, with its prior in it."""

        def of(kernel: Kernel) -> Objective:
            prior = self._hyper_prior(kernel, self.X_fit_, self.y_fit_, self.weights_)
            assert prior is not None
            return with_prior(self.X_fit_, self.y_fit_, prior, self.weights_)

        return of

    def criterion_at(self, kernel: Kernel) -> float:
        """The log of what the fit maximises, at another kernel: Laplace's evidence times the prior of its parameters.

        For models with a prior (`has_prior`) of one target.
        """
        self._require_one_target("criterion_at", "use members_[i].criterion_at")
        return self._objective()(kernel).evaluate(kernel).value

    def _new_rows(self, K: Any) -> Array:
        return self._kept(super()._new_rows(K))

    def _scaled(self, X: Array) -> Array:
        """Standardised inputs, without the columns that were removed."""
        return self._kept(super()._scaled(X))

    def _kept(self, inputs: Array) -> Array:
        return inputs if len(self.columns_) == inputs.shape[1] else np.ascontiguousarray(inputs[:, self.columns_])

    def _publish(self) -> None:
        level3, level2 = self.level3_, self.level3_.level2
        self.mu_, self.zeta_, self.gamma_ = level2.mu, level2.zeta, level2.gamma
        self.gamma_eff_ = level2.gamma_eff
        self.alpha_, self.intercept_ = self.posterior_.alpha, self.posterior_.intercept
        self.log_evidence_ = level3.log_evidence if self.occam else level3.log_evidence_without_occam
        self.log_occam_factor_ = level3.log_occam_factor
        self.hyper_std_ = {
            "log_mu": level3.mackay.log_mu,
            "log_zeta": level3.mackay.log_zeta,
            "log_mu_hessian": level3.hessian.log_mu,
            "log_zeta_hessian": level3.hessian.log_zeta,
            "correlation_hessian": level3.hessian.correlation,
        }
        found = relevance(self.kernel_, self.X_fit_, self.columns_, self.n_features_in_)
        if found is not None:
            self.relevance_, self.selected_ = found

    def _warn(self) -> None:
        if self.press_ is not None:
            self._warn_of_press(self.press_)
            return
        level2 = self.level3_.level2
        if level2.status == "no signal":
            gain = max(level2.log_gain, 0.0)  # a prior may keep γ where there is less than none
            warn(
                f"No signal: with {self.kernel_!s} the model explains the targets only {gain:.2f} nats better than "
                "noise alone, so predictions are close to the mean of the targets. Other inputs or another kernel "
                "may do better.",
                NoSignalWarning,
            )
        elif level2.status == "interpolation":
            warn(
                "Interpolation: the evidence keeps growing up to the largest γ that double precision can tell "
                f"from infinity ({level2.gamma:.3g}), as it does for targets without noise. 1/ζ and the error bars "
                f"are then only limits set by rounding.{self._repeats()}{self._rather_a_prior()}",
                InterpolationWarning,
            )
        elif self.occam and self.level3_.occam_capped and not self.has_prior:  # Laplace's evidence has no 5.3 in it
            warn(
                f"γ_eff = {level2.gamma_eff:.4g} of N = {level2.n} is so close to 1 or N that the evidence (5.3) "
                "diverges; its Occam factor was limited by the width of the prior. Prefer occam=False for these "
                "data.",
                EvidenceDivergenceWarning,
            )
        edges = self._edges()
        if edges and level2.status == "interior":
            warn(
                f"The evidence is still rising at the edge of the search for {', '.join(edges)} (kernel "
                f"{self.kernel_!s}); a simpler kernel may do as well.",
                BayesLSSVMWarning,
            )

    def _warn_of_press(self, found: PressSelection) -> None:
        """What leave-one-out errors cannot vouch for; `select_by_press` has warned where there is no signal."""
        if found.status == "flat limit":
            warn(
                f"Flat limit: {self.criterion!r} has no minimum at a kernel of finite width here. The kernel is "
                "nearly constant over the data and γ is correspondingly large, which usually means a linear "
                'model; kernel="linear" is the simpler way to have it.',
                BayesLSSVMWarning,
            )
        elif found.status == "stalled":
            warn(
                f"Stalled: no search by {self.criterion!r} ended at a minimum. The criterion still falls towards its "
                "flat limit, a nearly constant kernel with a large γ, where rounding or the range of γ ended the "
                'search. Compare criterion="press", kernel="linear" or one width for all inputs.',
                BayesLSSVMWarning,
            )
        # systems with K + 1/γ are solved to ε γ tr K of the targets, and predictions, which take the mean of K out
        # first, to what of it is left
        own = self.kernel_.diag(self.X_fit_)
        lost = np.finfo(float).eps * found.gamma * float(own.sum())
        rounding = lost > _ROUNDING * np.sqrt(found.press / found.baseline)
        left = np.finfo(float).eps * found.gamma * float((own - self.posterior_.kernel_means).sum())
        tiny = "so small that rounding affects them, and the value of the criterion is not reliable."
        if found.status == "interpolation":
            warn(
                "Interpolation: leave-one-out errors keep falling up to the largest γ that was tried "
                f"({found.gamma:.3g}), so only the kernel's width regularises the model."
                f"{f' They are {tiny}' if rounding else ''}",
                InterpolationWarning,
            )
        elif rounding:  # γ stopped short of its end where rounding made a minimum
            warn(f"Interpolation: leave-one-out errors are {tiny}", InterpolationWarning)
        elif "gamma" in found.at_bound and left > _DIGITS:  # beside what else the status says
            warn(
                f"Interpolation: γ stands at the largest that was tried ({found.gamma:.3g}), where rounding may change "
                f"predictions by {left:.0e} of the targets' spread.",
                InterpolationWarning,
            )

    def _repeats(self) -> str:
        """A sentence on repeated rows, each of which adds ½ log ζ to the evidence of a kernel that can interpolate."""
        repeats = len(self.X_fit_) - len(np.unique(np.column_stack([self.X_fit_, self.y_fit_]), axis=0))
        if not repeats:
            return ""
        return (
            f" {repeats} of {len(self.X_fit_)} rows repeat another row and its target, and such repeats let the "
            "evidence grow without limit: remove them and fit again."
        )

    def _rather_a_prior(self) -> str:
        """A sentence for labels that the papers' rule takes for targets without noise."""
        if self.has_prior or not np.all(np.abs(self.y_fit_) == 1.0):
            return ""
        return " With prior=None, the default, labels are not mistaken for targets without noise."

    def _edges(self) -> tuple[str, ...]:
        """Parameters at an edge of the search that tell of a wrong kernel."""
        names = () if self.refinement_ is None else self.refinement_.at_bound
        if not isinstance(self.kernel_, ARD):
            return names
        # the largest scale there is means that an input is irrelevant, which is what such a kernel is for
        irrelevant = np.asarray(self.kernel_.scales) > _IRRELEVANT * np.sqrt(len(self.kernel_.scales))
        if irrelevant.all():
            return names
        return tuple(n for n, idle in zip(self.kernel_.param_names, irrelevant, strict=True) if n in names and not idle)

    def latent(self, X: Any, *, return_std: bool = False) -> Array | tuple[Array, Array]:
        """z_MP = Σ α_i K(x, x_i) + b for each row of X, and on request its posterior standard deviation σ_z."""
        check_is_fitted(self, "posterior_")
        inputs = self._new_inputs(X)
        if not return_std:
            return self.posterior_.latent_mean(inputs)
        mean, variance = self.posterior_.latent_moments(inputs)
        return mean, np.sqrt(variance)

    def marginalise(
        self, *, prior: HyperPrior | LogPrior | None = None, fixed_kernel: bool = False, **options: Any
    ) -> HyperPosterior:
        """Integrate μ, ζ and the kernel's parameters out on the training data.

        For numbers as targets and for two classes; `FullyBayesianLSSVC` is for more.

        Parameters
        ----------
        prior : HyperPrior, LogPrior or None
            Normal(0, 3) for each log parameter by default.
        fixed_kernel : bool
            Hold the kernel at the parameters that the model has.
        **options
            Those of `bayes_lssvm.marginalise`: method, tolerance, draws, chains, warmup, check, seed, progress.
        """
        self._require_one_target("marginalise", "use FullyBayesianLSSVC")
        self._require_given_noise("marginalise")
        kernel = self.kernel_ if fixed_kernel else self._own_kernel()
        names = tuple(map(str, self.feature_names_in_)) if hasattr(self, "feature_names_in_") else None
        surface, y = Surface(self.standardiser_, features=names), self.y_fit_
        if hasattr(self, "classes_"):
            surface = surface._replace(classes=tuple(self.classes_.tolist()))
        else:
            mean, scale = (float(value) for value in moments(y, self.weights_)[:2])
            surface, y = surface._replace(target_mean=mean, target_scale=scale), (y - mean) / scale
        if len(self.columns_) < self.n_features_in_:
            surface = surface._replace(columns=tuple(self.columns_.tolist()))
        options |= {"kernel": kernel, "prior": prior, "fixed_kernel": fixed_kernel}
        found: HyperPosterior = sys.modules[__package__].marginalised(surface, self.X_fit_, y, self.weights_, **options)
        return found

    def _require_given_noise(self, method: str) -> None:
        """Refuse a method that would take noise found from the errors as known beforehand."""
        if getattr(self, "noise_weights_", None) is not None:
            raise ValueError(
                f"{method} needs constant noise, or noise given by sample_weight, but this model has estimated its "
                'own; fit with noise="constant" for it.'
            )

    def _training_rows(self) -> TrainingRows:
        check_is_fitted(self, "X_fit_")
        self._require_given_noise("trust")
        classes, given = getattr(self, "classes_", None), not self.refine
        if classes is None:
            return TrainingRows(self.X_fit_, self.y_fit_, self._own_kernel(), given, "regression", self.weights_)
        labels = classes[(self.y_fit_ > 0).astype(int)]
        return TrainingRows(self.X_fit_, labels, self._own_kernel(), given, "classification", self.weights_)

    def _own_kernel(self) -> Kernel:
        """The kernel that was asked for, or what became of it where inputs were chosen."""
        whole = len(self.columns_) == self.n_features_in_
        return self._given_kernel() if whole else self.kernel_

    def _require_one_target(self, method: str, instead: str) -> None:
        """Refuse a method to a model that is not fitted, or that holds several; `instead` says what to do then."""
        check_is_fitted(self, "X_fit_")

    def _state(self) -> State:
        """All that was found, as JSON and arrays."""
        return surface_state(self) | design_state(self)

    def _restore(self, state: State) -> None:
        """What was found, from a state."""
        restore_design(self, state)
        self._publish()
        if isinstance(self.posterior_, GrownPosterior):
            self.gamma_eff_ = self.posterior_.gamma_eff
        self.log_evidence_ = float(state.header.get("log_evidence", self.log_evidence_))  # absent from older files
