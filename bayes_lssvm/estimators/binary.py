"""The LS-SVM classifier of two classes designed by the evidence framework (paper 0, section 6)."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base.archive import State
from ..base.scikit import check_classification_targets
from ..base.typing import AnyArray, Array
from ..kernels import Kernel
from ..levels.level1 import ClassCentres
from ..levels.level3 import DEFAULT_PRIOR_SD
from ..levels.logistic_map import LogisticMap
from ..levels.moderation import Discriminant, cost_log_odds, discriminant, probabilities
from ..press.leave_one_out import leave_one_out
from .common import ClassPrior, ModeratedClassifier, check_moderation, resolve_costs
from .evidence import EvidenceLSSVM, Prior
from .outliers import Outliers, outliers_of
from .updates import add_rows

_FREE = 1e5  # γ up to which the posterior gives leave-one-out outputs to eight digits, for a kernel of size one


class BinaryLSSVC(ModeratedClassifier, EvidenceLSSVM):
    """LS-SVM classifier of two classes with everything inferred from the training data.

    It is what `BayesianLSSVC` is for two classes, and what the members are made of for more. Parameters and attributes
    are those of `BayesianLSSVC`, where they are described, but for the ones of a code book.
    """

    _saved_as = "BayesianLSSVC"  # whose settings include those of this one

    def __init__(
        self,
        kernel: Kernel | str = "rbf",
        *,
        refine: bool = True,
        occam: bool = True,
        criterion: str = "evidence",
        class_prior: ClassPrior = None,
        costs: Any = None,
        moderation: str = "loo",
        prior: Prior = None,
        prior_sd: float | tuple[float, float] = DEFAULT_PRIOR_SD,
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
        self.class_prior = class_prior
        self.costs = costs
        self.moderation = moderation

    # --- design ----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> BinaryLSSVC:
        """Design the classifier on inputs X of shape (N, d) and two labels y of shape (N,), with weights or without."""
        self._design_two(*self._begin(X, y, sample_weight))
        return self

    def _begin(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, AnyArray, Array | None]:
        """Inputs, labels and weights after the checks before any work; what an earlier fit found is dropped."""
        X, y, weights = self._check_weighted_inputs(X, y, sample_weight, numeric_target=False)
        check_classification_targets(y)
        check_moderation(self.moderation)
        self._forget()
        return X, y, weights

    def _design_two(self, X: Array, y: AnyArray, weights: Array | None) -> None:
        signs = self._encode_labels(y, weights)
        self._cost_shift(None)
        K = self._design(X, signs, weights)
        self._set_centres(ClassCentres.from_posterior(self.posterior_, signs, self.gamma_eff_, K))
        self.loo_map_ = self._fitted_map(signs)
        if self.level3_.level2.status != "no signal":  # which has been said
            self._warn_of_map()

    def add_labelled(self, inputs: Array, signs: Array, weights: Array | None) -> None:
        """Rows with labels ±1 and inputs as the kernel sees them, hyperparameters held; the map is fitted to all."""
        add_rows(self, inputs, signs, weights)
        self._set_labels(self.classes_, self.y_fit_, self.weights_)
        self._set_centres(ClassCentres.from_posterior(self.posterior_, self.y_fit_, self.gamma_eff_))
        self.loo_map_ = self._fitted_map(self.y_fit_)

    def _set_centres(self, centres: ClassCentres) -> None:
        self.centres_, self.zeta_star_ = centres, centres.zeta_star

    def _state(self) -> State:
        centres = self.centres_
        arrays = {
            "members": centres.members,
            "projected_mean": centres.projected_mean,
            "inner": centres.inner,
            "centre": centres.centre,
        }
        header = {"zeta_star": centres.zeta_star, "loo_map": asdict(self.loo_map_)}
        return super()._state() | State(header, arrays)

    def _restore(self, state: State) -> None:
        arrays, n = state.arrays, state.shape("X")[0]
        state.require_shapes(
            {"members": (n, 2), "projected_mean": (2,), "inner": (2,), "centre": (2, n), "classes": (2,)}
        )
        super()._restore(state)
        self._set_labels(arrays["classes"], self.y_fit_, self.weights_)
        self._set_centres(
            ClassCentres(
                arrays["members"],
                arrays["projected_mean"],
                arrays["inner"],
                arrays["centre"],
                float(state.header["zeta_star"]),
            )
        )

        self.loo_map_ = self._restored_map(state.header)

    def _restored_map(self, header: dict[str, Any]) -> LogisticMap:
        """The map of the file, or of the data again where an older file has none."""
        if "loo_map" in header:
            return LogisticMap(**{name: float(value) for name, value in header["loo_map"].items()})
        return self._fitted_map(self.y_fit_)

    def _fitted_map(self, signs: Array) -> LogisticMap:
        return LogisticMap.fit(*self._left_out_moments(signs), signs, self.weights_)

    def _left_out_moments(self, signs: Array) -> tuple[Array, Array]:
        """Outputs of the training points, each by the model of the others, and their variances."""
        own = self.kernel_.diag(self.X_fit_)
        size = float(own.mean() - self.posterior_.kernel_means.mean())  # mean eigenvalue of the centred matrix
        if self.gamma_ * max(1.0, size) <= _FREE:
            return self.posterior_.left_out_moments(signs)
        K = self.kernel_(self.X_fit_)
        return leave_one_out(K, signs, self.gamma_, mu=self.mu_, weights=self.weights_).one_of_each()

    # --- predictions -----------------------------------------------------------------------------------------------

    def _cost_shift(self, costs: Any) -> float:
        return cost_log_odds(resolve_costs(self.costs if costs is None else costs, self.classes_))

    def _log_odds(self, X: Any, class_prior: ClassPrior) -> Array:
        check_is_fitted(self, "centres_")
        inputs, prior = self._new_inputs(X), self._prior(class_prior)
        share = float(self.training_frequencies_[1])
        return self._moderated(inputs, prior, training_plus=share, weightless=self._weightless)

    @property
    def _weightless(self) -> bool:
        """Whether nothing was learnt, so that class frequencies are all there is."""
        level2 = self.level3_.level2
        return level2.status == "no signal" and level2.at_boundary

    def left_out_log_odds(self) -> Array:
        """Log odds of the second class at each training row, by the model of the other rows, of shape (N,).

        In closed form, with the hyperparameters, the map and the class frequencies held; for two classes and
        moderation="loo".
        """
        self._require_one_target("left_out_log_odds", "use members_[i].left_out_log_odds()")
        if self.moderation != "loo":
            raise ValueError(
                f'left_out_log_odds is for moderation="loo", whose map takes outputs of left-out rows; this model has '
                f"moderation={self.moderation!r}."
            )
        if self._weightless:
            return np.full(len(self.y_fit_), np.log(self.training_frequencies_[1] / self.training_frequencies_[0]))
        return self.loo_map_.log_odds(*self._left_out_moments(self.y_fit_))

    def outliers(self, *, chance: float = 0.05) -> Outliers:
        """Training rows whose label the model of the others does not expect: labels that may be wrong; two classes.

        By leave-one-out errors about the targets −1 and +1 (2.12), of which those on the side of the other class count.

        Parameters
        ----------
        chance : float
            Of naming any row at all where errors are Gaussian: a row is named if N times the probability of so large an
            error is below it.
        """
        self._require_one_target("outliers", "use members_[i].outliers()")
        left = leave_one_out(self.kernel_(self.X_fit_), self.y_fit_, self.gamma_, mu=self.mu_, weights=self.weights_)
        own = np.ones(len(self.y_fit_)) if self.weights_ is None else self.weights_
        return outliers_of(left, 1.0 / (self.zeta_ * own), own, chance, labels=True)

    def predict_proba(self, X: Any, *, class_prior: ClassPrior = None) -> Array:
        """P(y | x) for each row of X, in the order of `classes_`, of shape (n, 2) (3.17)."""
        return probabilities(self._log_odds(X, class_prior))

    def decision_function(self, X: Any, *, class_prior: ClassPrior = None, costs: Any = None) -> Array:
        """Log odds of the second class, moved by the costs: its sign is the decision of least expected cost."""
        return self._log_odds(X, class_prior) + self._cost_shift(costs)

    def predict(self, X: Any, *, class_prior: ClassPrior = None, costs: Any = None) -> AnyArray:
        """The label of least expected cost for each row of X (section 6.2)."""
        return self._decode_sign(self.decision_function(X, class_prior=class_prior, costs=costs))

    def discriminant(self, X: Any, *, class_prior: ClassPrior = None) -> Discriminant:
        """The linear discriminant 3.18 and its bias correction Δb(x) for each row of X; for two classes."""
        self._require_one_target("discriminant", "use latent(X), or members_[i].discriminant")
        prior = float(self._prior(class_prior)[1])
        return discriminant(self.posterior_, self.centres_, self._new_inputs(X), prior_plus=prior)
