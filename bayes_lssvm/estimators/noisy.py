"""Real targets whose noise need not be the same everywhere: what the regressor adds to a design by evidence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..base.archive import State
from ..base.errors import require_positive
from ..base.typing import Array
from ..base.weights import check_weights
from ..kernels import kernel_from_dict, kernel_to_dict
from ..levels.level1 import DualPosterior
from ..levels.log_variance import INFORMATION, LogVariance
from ..levels.student import one_sigma
from ..press.leave_one_out import leave_one_out
from ..priors import HyperPrior
from .choice import Choice
from .evidence import EvidenceLSSVM
from .noise import Design, NoisyDesign, check_noise, learned_noise, student_noise
from .outliers import Outliers, outliers_of

_CONSTANT: dict[str, Any] = {"noise_": "constant", "noise_weights_": None, "noise_gain_": 0.0}


def _unsolved(design: Design) -> Design:
    """The design without the matrices of level 1: several are compared, and would all be kept."""
    return lambda weights: replace(design(weights), solved=None)


class NoisyLSSVM(EvidenceLSSVM):
    """A design by evidence with noise that is constant, learned or Student's."""

    noise: str
    noise_: str
    noise_weights_: Array | None
    noise_gain_: float
    log_variance_: LogVariance
    nu_: float

    def _designed(
        self, design: Design, X: Array, y: Array, weights: Array | None, prior: HyperPrior | None
    ) -> tuple[Choice, Array | None, float | None]:
        if self.noise == "constant":
            self.__dict__.update(_CONSTANT)
            return super()._designed(design, X, y, weights, prior)
        if self.noise == "learned":
            found = learned_noise(_unsolved(design), X, y, weights, prior_sd=self.prior_sd, seed=self.random_state)
        else:
            found = student_noise(_unsolved(design), X, y, weights, prior=prior, prior_sd=self.prior_sd)
        self._take_noise(found)
        own = found.precisions
        total = weights if own is None else own if weights is None else weights * own
        return found.choice, total, found.log_evidence

    def _check_noise(self) -> None:
        check_noise(self.noise, self.criterion)

    def _take_noise(self, found: NoisyDesign) -> None:
        self.__dict__.update(_CONSTANT)
        if found.precisions is None:
            return
        self.noise_, self.noise_weights_ = self.noise, found.precisions
        self.noise_gain_ = found.log_evidence - found.log_evidence_constant
        if found.log_variance is not None:
            self.log_variance_ = found.log_variance
        if found.mixture is not None:
            self.nu_ = found.mixture.nu

    def _noise_variance(self, inputs: Array) -> Array:
        """Variance of the noise of a new target of weight one at standardised inputs, of shape (n,).

        For Student's noise its square root is the error that 68.3 % of them stay below, as for a Gaussian.
        """
        level = 1.0 / self.zeta_
        if self.noise_ == "learned":
            return level * self.log_variance_.variances(inputs)
        return np.full(len(inputs), level * (one_sigma(self.nu_) ** 2 if self.noise_ == "student" else 1.0))

    def _drawn_noise(self, inputs: Array, n_samples: int, rng: np.random.Generator) -> Array:
        """Draws of the noise of targets of weight one at standardised inputs, of shape (n, n_samples)."""
        shape = (len(inputs), n_samples)
        if self.noise_ == "student":
            return np.asarray(rng.standard_t(self.nu_, size=shape) / np.sqrt(self.zeta_))
        return np.sqrt(self._noise_variance(inputs))[:, None] * rng.standard_normal(shape)

    def outliers(self, *, chance: float = 0.05) -> Outliers:
        """Training rows that the model of the others does not expect, by their leave-one-out errors.

        Parameters
        ----------
        chance : float
            Of naming any row at all where the noise is Gaussian: a row is named if N times the probability of so large
            an error is below it.
        """
        self._require_one_target("outliers", "use outputs_[i].outliers()")
        own = np.ones(len(self.y_fit_)) if self.noise_weights_ is None else self.noise_weights_
        left = leave_one_out(self.kernel_(self.X_fit_), self.y_fit_, self.gamma_, mu=self.mu_, weights=self.weights_)
        return outliers_of(left, self.noise_variances(), own, chance)

    def noise_variances(self) -> Array:
        """Variance of the noise that a target of each training row is expected to have, of shape (N,).

        With the row's given weight; what its own error says of it, as with Student's noise, has no part in it.
        """
        self._require_one_target("noise_variances", "use outputs_[i].noise_variances()")
        expected, given = self._noise_variance(self.X_fit_), self.given_weights()
        return expected if given is None else expected / given

    def given_weights(self) -> Array | None:
        """The weights that `fit` was given, of shape (N,), without what was found about the noise."""
        if self.weights_ is None or self.noise_weights_ is None:
            return self.weights_
        found = self.weights_ / self.noise_weights_
        whole = np.round(found)  # the two were multiplied: rounding must not make a count something else
        return check_weights(whole if np.allclose(found, whole, rtol=1e-12, atol=0.0) else found, len(found))

    def _state(self) -> State:
        if self.noise_weights_ is None:
            return super()._state()
        header: dict[str, Any] = {"kind": self.noise_, "gain": self.noise_gain_}
        arrays = {"noise_weights": self.noise_weights_}
        if self.noise_ == "learned":
            found = self.log_variance_
            header |= {"kernel": kernel_to_dict(found.posterior.kernel), "mu": found.posterior.mu}
            header |= {"log_gain": found.log_gain, "cost": found.cost, "level": found.level}
            arrays["noise_targets"] = found.targets
        if self.noise_ == "student":
            header["nu"] = self.nu_
        return super()._state() | State({"noise": header}, arrays)

    def _restore(self, state: State) -> None:
        super()._restore(state)
        self.__dict__.update(_CONSTANT)
        header, n = state.header.get("noise", {"kind": "constant"}), len(self.y_fit_)
        if header["kind"] == "constant":
            return
        state.require_shapes({"noise_weights": (n,)})
        self.noise_, self.noise_gain_ = header["kind"], float(header["gain"])
        self.noise_weights_ = state.arrays["noise_weights"]
        if self.noise_ == "student":
            self.nu_ = require_positive("its nu", header["nu"])
            return
        if self.noise_ != "learned":
            raise ValueError(f"its noise is {self.noise_!r}, which this version does not know")
        state.require_shapes({"noise_targets": (n,)})
        kernel, targets = kernel_from_dict(header["kernel"]), state.arrays["noise_targets"]
        kernel.check_width(self.X_fit_.shape[1])
        K, mu = kernel(self.X_fit_), require_positive("its noise's mu", header["mu"])
        posterior = DualPosterior.from_kernel_matrix(kernel, self.X_fit_, K, targets, mu=mu, zeta=INFORMATION)
        figures = (float(header[name]) for name in ("log_gain", "cost", "level"))
        self.log_variance_ = LogVariance(posterior, targets, *figures)
