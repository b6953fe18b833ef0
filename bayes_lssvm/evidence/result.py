"""What `log_evidence` returns: a value with its error, by every method that was asked, and sentences about it."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from ..base.grades import aligned
from ..base.text import html_table, plain
from .estimate import EvidenceEstimate, LogBayesFactor

_HEADER = ("method", "log evidence", "standard error", "k_hat", "ESS")


@dataclass(frozen=True)
class LogEvidence:
    """log p(D) of a model, all constants kept.

    Attributes
    ----------
    value : float
        By the first of the methods that were asked for.
    standard_error : float
        Of the value, by Monte Carlo alone: what the draws never saw is not in it.
    k_hat : float
        Pareto k̂ of importance sampling, NaN where it was not made. Above 0.7 it cannot vouch for the bridge.
    ess : float
        Effective number of the draws in the terms of the bridge, NaN without a bridge.
    dim : int
        Number of unconstrained parameters.
    names : tuple of str
        Theirs.
    estimates : tuple of EvidenceEstimate
        One for each method.
    disagreement : float
        Bridge minus importance sampling in standard errors of the difference; NaN where k̂ or a missing method forbids
        the comparison.
    sentences : tuple of str
        What was found.
    concerns : tuple of str
        Reasons not to trust the value; empty where nothing looks wrong.
    provenance : dict

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm import log_evidence
    >>> draws = np.random.default_rng(0).normal(size=(4, 500, 2))
    >>> found = log_evidence(lambda points: -0.5 * (points**2).sum(axis=1), draws=draws)
    >>> found.dim, found.concerns
    (2, ())
    """

    value: float
    standard_error: float
    k_hat: float
    ess: float
    dim: int
    names: tuple[str, ...]
    estimates: tuple[EvidenceEstimate, ...]
    disagreement: float
    sentences: tuple[str, ...]
    concerns: tuple[str, ...]
    provenance: dict[str, Any]

    @property
    def methods(self) -> tuple[tuple[str, float, float, float, float], ...]:
        """Method, log evidence, standard error, k̂ and effective draws of each estimate."""
        return tuple(
            (e.method, e.log_z, e.standard_error, e.diagnostics.get("k_hat", float("nan")), effective_draws(e))
            for e in self.estimates
        )

    def __getitem__(self, method: str) -> EvidenceEstimate:
        """The estimate of one method: "bridge sampling", or just "bridge"."""
        for estimate in self.estimates:
            if estimate.method.startswith(method):
                return estimate
        raise KeyError(f"There is no estimate by {method!r}; there are {', '.join(e.method for e in self.estimates)}.")

    def log_bayes_factor(self, other: LogEvidence) -> LogBayesFactor:
        """Log p(D | this model) − log p(D | the other), whose draws must not be the same."""
        return LogBayesFactor(self.value - other.value, float(np.hypot(self.standard_error, other.standard_error)))

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        names = ("value", "standard_error", "k_hat", "ess", "dim", "names", "disagreement", "sentences", "concerns")
        record = {name: getattr(self, name) for name in names} | {"provenance": self.provenance}
        record["methods"] = [dict(zip(_HEADER, row, strict=True)) for row in self.methods]
        return dict(plain(record))

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (method, f"{value:.4f}", f"{error:.4f}", "" if np.isnan(k) else f"{k:.2f}", f"{ess:.0f}")
            for method, value, error, k, ess in self.methods
        ]

    def __repr__(self) -> str:
        return f"LogEvidence({self.value:.4f} ± {self.standard_error:.4f}, {self.estimates[0].method}, d = {self.dim})"

    def __str__(self) -> str:
        """The value, the table of methods and the sentences."""
        head = f"log p(D) = {self.value:.4f} ± {self.standard_error:.4f}"
        return "\n".join([head, "", *aligned([_HEADER, *self._rows()], words=1), "", *self.sentences])

    def _repr_html_(self) -> str:
        title = f"log p(D) = {self.value:.4f} ± {self.standard_error:.4f}"
        return html_table(title, _HEADER, self._rows()) + "".join(f"<p>{escape(words)}</p>" for words in self.sentences)


def effective_draws(estimate: EvidenceEstimate) -> float:
    """Of the posterior draws in a bridge (both halves), of the weights in importance sampling."""
    halves = estimate.diagnostics.get("effective_draws_of_halves")
    return float(estimate.diagnostics.get("effective_draws", np.nan) if halves is None else sum(halves))
