"""Sets of inputs and their evidence: what a selection of inputs compares.

The set without inputs has an evidence too: all is noise,

    log p(D | no inputs) = −½ log N + Σ_{i=1}^{N−1} log Normal(t_i; 0, 1/ζ),     1/ζ = Σ t_i²/(N−1),

and with weights Σ t_i² = Σ w_i(y_i − ȳ)², with ½ Σ log w_i − ½ log Σw_i in the place of −½ log N.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base.canonical import canonical_order
from ..base.columns import check_inputs
from ..base.typing import Array
from ..base.weights import check_weights, weighted_mean
from ..kernels import Kernel, Linear
from ..levels.level2 import NO_SIGNAL_GAIN
from ..levels.level3 import as_prior_sd
from ..levels.objective import Evaluation, Objective
from ..linalg.reduction import log_constant
from ..search.refinement import best_ard, best_spherical, climb_nearby

__all__ = ["KERNELS", "InputSet", "InputSets"]

KERNELS = ("linear", "rbf", "ard")


class InputSet(NamedTuple):
    """A set of inputs with its kernel at the largest evidence.

    Attributes
    ----------
    inputs : tuple of int
    kernel : Kernel or None
        None for the set without inputs.
    log_evidence : float
    score : float
        What sets are compared by: `Evaluation.rank` less the price of the inputs.
    status : str
        Of level 2, or "no inputs".
    """

    inputs: tuple[int, ...]
    kernel: Kernel | None
    log_evidence: float
    score: float
    status: str


class InputSets:
    """The evidence of sets of inputs, on given data; the parameters are those of `backward_elimination`."""

    def __init__(
        self,
        X: Any,
        y: Any,
        kernel: str,
        occam: bool,
        prior_sd: float | tuple[float, float],
        price: float | None,
        seed: int,
        weights: Array | None = None,
    ) -> None:
        if kernel not in KERNELS:
            raise ValueError(f"kernel must be one of {', '.join(KERNELS)} for a selection of inputs, got {kernel!r}.")
        if price is not None and not (isinstance(price, int | float | np.number) and 0.0 <= price < np.inf):
            raise ValueError(f"price must be a number of nats, zero or more, got {price!r}.")
        self.widths = as_prior_sd(prior_sd)
        self.X, self.y, self.columns = check_inputs(X, y)
        self.family, self.occam, self.seed = kernel, occam, seed
        self.weights = check_weights(weights, len(self.y), "weights")
        if self.weights is not None and not np.all(self.weights > 0.0):
            raise ValueError("Leave rows of weight zero out before inputs are selected.")
        self.order = canonical_order(self.X, self.y, self.weights)
        # by which ties are broken, so that the order of the columns has no say
        self.place = np.argsort(self.order.columns).tolist()
        self.price = float((NO_SIGNAL_GAIN if kernel == "ard" else 0.0) if price is None else price)

    def empty(self) -> InputSet:
        """The model without inputs: noise alone, which must be beaten by more than chance gives."""
        n, centred = len(self.y), self.y - weighted_mean(self.y, self.weights)
        square = float(centred**2 @ (np.ones(n) if self.weights is None else self.weights))
        value = log_constant(n, self.weights) - 0.5 * (n - 1) * (np.log(2.0 * np.pi * square / (n - 1)) + 1.0)
        if self.occam:  # there is no μ
            value += min(0.5 * np.log(2.0 / (n - 1)) - np.log(self.widths[1]), 0.0)
        return InputSet((), None, float(value), float(value), "no inputs")

    def whole(self, inputs: Sequence[int]) -> InputSet:
        """The kernel optimised from several widths."""
        if self.family == "linear":
            return self.held(inputs, Linear())
        objective = self._objective(inputs)
        spherical = best_spherical(objective, self.seed)
        return self._scored(inputs, spherical if self.family == "rbf" else best_ard(objective, spherical, self.seed))

    def nearby(self, inputs: Sequence[int], kernel: Kernel) -> InputSet:
        """The kernel optimised from one start."""
        return self._scored(inputs, climb_nearby(self._objective(inputs), kernel))

    def held(self, inputs: Sequence[int], kernel: Kernel) -> InputSet:
        """The kernel as it is."""
        return self._scored(inputs, self._objective(inputs).evaluate(kernel))

    def _objective(self, inputs: Sequence[int]) -> Objective:
        return Objective(self.X[:, list(inputs)], self.y, self.occam, self.widths, weights=self.weights)

    def _scored(self, inputs: Sequence[int], found: Evaluation) -> InputSet:
        score = found.rank - self.price * len(inputs)
        return InputSet(tuple(inputs), found.kernel, found.value, score, found.level2.status)
