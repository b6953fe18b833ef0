"""`model.trust()`: the checks of `bayes_lssvm.trust` on the data and with the kernel of a fitted model."""

from __future__ import annotations

import sys
from abc import abstractmethod
from typing import Any, NamedTuple

from ..base.typing import AnyArray, Array
from ..kernels import Kernel
from ..priors import HyperPrior, LogPrior
from .grades import TrustReport


class TrainingRows(NamedTuple):
    """What a fitted model was designed on: inputs as its kernel saw them, labels or real targets, and the kernel.

    Weights are those of the rows, where they have any.
    """

    inputs: Array
    targets: AnyArray
    kernel: Kernel
    fixed_kernel: bool
    task: str
    weights: Array | None = None


def rows_of_several(several: Any, kernel: Kernel, *, fixed_kernel: bool) -> TrainingRows:
    """The rows of a model of more than two classes; in their order where they have weights."""
    X, labels, weights = several.labelled_rows() if several.has_weights else (*several.training_rows(), None)
    return TrainingRows(X, labels, kernel, fixed_kernel, "classification", weights)


class Trusted:
    """A fitted model that can be checked on its own training data."""

    @abstractmethod
    def _training_rows(self) -> TrainingRows:
        """The rows that the model was fitted to."""

    def trust(self, *, prior: HyperPrior | LogPrior | None = None, seed: int = 0, progress: bool = True) -> TrustReport:
        """Tell whether probabilities and closed forms hold on the training data with this model's kernel.

        As `bayes_lssvm.trust` with the same rows and kernel.
        """
        rows = self._training_rows()
        found: TrustReport = sys.modules[__package__].trust(  # loaded when it is asked for
            rows.inputs,
            rows.targets,
            sample_weight=rows.weights,
            kernel=rows.kernel,
            prior=prior,
            fixed_kernel=rows.fixed_kernel,
            standardise=False,
            task=rows.task,
            seed=seed,
            progress=progress,
        )
        return found
