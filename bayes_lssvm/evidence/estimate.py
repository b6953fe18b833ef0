"""What every estimator of the evidence returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


class LogBayesFactor(NamedTuple):
    """The difference of two log evidences and its standard error.

    Examples
    --------
    >>> from bayes_lssvm.evidence import LogBayesFactor
    >>> factor = LogBayesFactor(3.2, 0.1)
    >>> factor.value > 3 * factor.standard_error
    True
    """

    value: float
    standard_error: float


@dataclass(frozen=True)
class EvidenceEstimate:
    """log Z = log p(D | H) by one method.

    Attributes
    ----------
    log_z : float
        All constants kept.
    standard_error : float
        Of log_z, by Monte Carlo alone: what draws that never saw a mode would have changed is not in it.
    method : str
    diagnostics : dict
        What the method knows of its own quality; "concerns" is a tuple of sentences, empty where nothing looks wrong.
    provenance : dict
        Settings (the seed among them), versions, and a hash of what went in.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm import log_evidence
    >>> draws = np.random.default_rng(0).normal(size=(4, 500, 2))
    >>> found = log_evidence(lambda points: -0.5 * (points**2).sum(axis=1), draws=draws)
    >>> [estimate.method for estimate in found.estimates]
    ['bridge sampling', 'importance sampling']
    """

    log_z: float
    standard_error: float
    method: str
    diagnostics: dict[str, Any]
    provenance: dict[str, Any]

    @property
    def concerns(self) -> tuple[str, ...]:
        """Reasons not to trust the number, in sentences."""
        return tuple(self.diagnostics.get("concerns", ()))

    def log_bayes_factor(self, other: EvidenceEstimate) -> LogBayesFactor:
        """Log p(D | this model) − log p(D | the other), of two estimates with independent errors."""
        return LogBayesFactor(self.log_z - other.log_z, float(np.hypot(self.standard_error, other.standard_error)))

    def __str__(self) -> str:
        """The number with its error, and what there is against it."""
        said = f"log Z = {self.log_z:.4f} ± {self.standard_error:.4f} ({self.method})"
        return "\n  ".join([said, *self.concerns])
