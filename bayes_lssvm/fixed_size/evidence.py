"""The low-rank evidence of rows that a runner passes over, as a function of the kernel, landmarks held."""

from __future__ import annotations

import numpy as np

from ..base.standardisation import Standardiser
from ..base.typing import AnyArray, Array
from ..kernels import Kernel
from ..priors import HyperPrior
from .blocks import of_arrays
from .features import NystromMap
from .objective import derivatives, landmark_gradient, posteriors_of, tasks_of
from .passes import Collect, Differentiate, Encoding, Local, Runner
from .priors import priors_of
from .statistics import Statistics


class RowsEvidence:
    """The low-rank evidence of all rows with landmarks Z of shape (m, d), and the passes that it took.

    Parameters
    ----------
    given : HyperPrior or None
        The prior of each bit; the default one otherwise.
    runner, encoding
        The rows, and what the sums are over.
    code : array of shape (C, L), or None for real targets
    Z : array of shape (m, d)
    """

    def __init__(
        self, given: HyperPrior | None, runner: Runner, encoding: Encoding, code: Array | None, Z: Array
    ) -> None:
        self.given, self.runner, self.encoding, self.code, self.Z = given, runner, encoding, code, Z
        self.by_class = code is not None and bool((code == 0).any())
        self.n_passes = 0

    @property
    def bits(self) -> int:
        """L."""
        return 1 if self.code is None else self.code.shape[1]

    def statistics(self, features: NystromMap) -> Statistics:
        """A pass."""
        work = Collect(features, self.encoding, self.by_class)
        self.n_passes += 1
        return self.runner(work, Statistics.merge, "statistics", work.key)

    def of_data(self, kernel: Kernel) -> float:
        """Laplace's evidence of all bits, without the prior of the kernel's parameters; a pass."""
        statistics = self.statistics(NystromMap.of(kernel, self.Z))
        priors = priors_of(self.given, kernel, self.Z.shape[1], statistics, self.code)
        tasks = tasks_of(statistics, self.code)
        return sum(each.log_evidence for task in tasks for each in posteriors_of(task, priors))

    def __call__(self, kernel: Kernel) -> tuple[float, Array]:
        """Value, with the log prior density of the kernel's log parameters, and gradient in these; a pass each."""
        features = NystromMap.of(kernel, self.Z)
        statistics = self.statistics(features)
        priors = priors_of(self.given, kernel, self.Z.shape[1], statistics, self.code)
        value, slope = log_prior(priors[0], kernel)
        rows, outer = [], np.zeros((features.size, features.size))
        for task in tasks_of(statistics, self.code):
            found = posteriors_of(task, priors)
            value += sum(each.log_evidence for each in found)
            row, share = derivatives(task, found, priors, features)
            rows.append(row)
            outer += share
        self.n_passes += 1
        over_rows = self.runner(Differentiate(features, self.encoding, rows), np.add, "gradient")
        return value, slope + over_rows + landmark_gradient(features, outer)

    def on(
        self, inputs: Array, targets: AnyArray, weights: Array | None, code: Array | None, Z: Array | None = None
    ) -> RowsEvidence:
        """The same of encoded rows in memory, for these bits."""
        encoding = Encoding(Standardiser.identity(inputs.shape[1]), self.encoding.classes)
        labels = targets if encoding.classes is None else encoding.classes[targets]
        rows = Local(of_arrays(inputs, labels, weights))
        return RowsEvidence(self.given, rows, encoding, code, self.Z if Z is None else Z)


def log_prior(prior: HyperPrior, kernel: Kernel) -> tuple[float, Array]:
    """Log prior density of the kernel's log parameters, and its gradient."""
    x = kernel.log_params
    parts = prior.components(len(x))[2:]
    value = sum(float(part.log_density(at)) for part, at in zip(parts, x, strict=True))
    return value, np.array([float(part.gradient(at)) for part, at in zip(parts, x, strict=True)])
