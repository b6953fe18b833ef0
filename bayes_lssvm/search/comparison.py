"""Comparison of kernels by their evidence: Bayes factors and posterior probabilities (paper 0, section 5; 5.1).

The log Bayes factor of H_i against H_j is log p(D | H_i) − log p(D | H_j). Kass and Raftery (1995) put words to
2 log B: 0–2 not worth more than a bare mention, 2–6 positive, 6–10 strong, above 10 very strong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp
from tqdm.auto import tqdm

from ..base.memory import require_matrices
from ..base.scikit import check_X_y
from ..base.text import html_table
from ..base.typing import Array
from ..kernels import Kernel, as_kernel
from ..levels.level3 import DEFAULT_PRIOR_SD, Level3, as_prior_sd, evaluate
from ..levels.objective import Objective
from .refinement import refine_objective


def kass_raftery(log_bayes_factor: float) -> str:
    """Kass and Raftery's words for the strength of evidence of |log B|."""
    twice = 2.0 * abs(log_bayes_factor)
    if twice < 2.0:
        return "not worth more than a bare mention"
    if twice < 6.0:
        return "positive"
    return "strong" if twice <= 10.0 else "very strong"


@dataclass(frozen=True)
class Candidate:
    """One kernel in a comparison.

    Attributes
    ----------
    kernel : Kernel
        With its parameters refined, where that was asked for.
    level3 : Level3
        Its evidence and what belongs to it.
    log_evidence : float
        The evidence that was compared: with the Occam factor, without, or Laplace's with a prior.
    """

    kernel: Kernel
    level3: Level3
    log_evidence: float


@dataclass(frozen=True)
class Comparison:
    """Kernels ranked by evidence, the best first.

    Attributes
    ----------
    candidates : tuple of Candidate
    log_bayes_factors : array of shape (K, K)
        Entry (i, j) is log p(D | H_i) − log p(D | H_j).
    probabilities : array of shape (K,)
        p(H_i | D) under the prior probabilities given (equal ones by default).
    occam : bool
        Whether the evidence includes the Occam factor.
    prior : bool
        Whether it is Laplace's, with a proper prior of μ and ζ in it.
    """

    candidates: tuple[Candidate, ...]
    log_bayes_factors: Array
    probabilities: Array
    occam: bool
    prior: bool = False

    @property
    def best(self) -> Candidate:
        """The candidate with the largest evidence."""
        return self.candidates[0]

    def __len__(self) -> int:
        return len(self.candidates)

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.candidates)

    def rows(self) -> list[dict[str, Any]]:
        """The table as a list of dictionaries of plain values."""
        return [
            {
                "kernel": str(c.kernel),
                "log_evidence": c.log_evidence,
                "log_bayes_factor": float(self.log_bayes_factors[i, 0]),
                "evidence_for_best": "best" if i == 0 else kass_raftery(float(self.log_bayes_factors[0, i])),
                "probability": float(self.probabilities[i]),
                "mu": c.level3.level2.mu,
                "zeta": c.level3.level2.zeta,
                "gamma_eff": c.level3.level2.gamma_eff,
                "status": c.level3.level2.status,
            }
            for i, c in enumerate(self.candidates)
        ]

    def __repr__(self) -> str:
        """One line: how many kernels, and the best."""
        share = float(self.probabilities[0])
        return f"Comparison({len(self)} kernels, best {self.best.kernel!s} with probability {share:.3g})"

    def _repr_html_(self) -> str:
        """The table of `rows`, for notebooks."""
        rows = self.rows()
        return html_table(repr(self), tuple(rows[0]), [tuple(row.values()) for row in rows])

    def __str__(self) -> str:
        header = (
            "kernel",
            "log evidence",
            "log B",
            "P(H|D)",
            "mu",
            "zeta",
            "gamma_eff",
            "evidence for the best",
        )
        lines = [header]
        for row in self.rows():
            note = row["evidence_for_best"] + ("" if row["status"] == "interior" else f" ({row['status']})")
            lines.append(
                (
                    _short(row["kernel"]),
                    f"{row['log_evidence']:.3f}",
                    f"{row['log_bayes_factor']:.2f}",
                    f"{row['probability']:.3g}",
                    f"{row['mu']:.4g}",
                    f"{row['zeta']:.4g}",
                    f"{row['gamma_eff']:.1f}",
                    note,
                )
            )
        widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
        left = {0, len(header) - 1}
        out = [
            "  ".join(
                cell.ljust(w) if i in left else cell.rjust(w)
                for i, (cell, w) in enumerate(zip(line, widths, strict=True))
            )
            for line in lines
        ]
        out.insert(1, "  ".join("-" * w for w in widths))
        kind = "by Laplace's method with a proper prior of mu and zeta" if self.prior else "without the Occam factor"
        if self.occam and not self.prior:
            kind = "with the Occam factor"
        out.append(f"log evidence {kind}; log B against the best.")
        return "\n".join(line.rstrip() for line in out)


def _short(text: str, width: int = 44) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def compare(
    X: Array,
    y: Array,
    kernels: Sequence[Kernel | str],
    *,
    refine: bool = True,
    occam: bool = True,
    prior_sd: float | tuple[float, float] = DEFAULT_PRIOR_SD,
    prior_probabilities: Sequence[float] | None = None,
    objective: Callable[[Kernel], Objective] | None = None,
    seed: int = 0,
    progress: bool = True,
) -> Comparison:
    """Rank kernels by their evidence.

    Parameters
    ----------
    X : array of shape (N, d)
        Inputs as the kernels shall see them (standardised, as a rule).
    y : array of shape (N,)
        Targets: ±1 for classes, real numbers for regression.
    kernels : sequence of kernels or their names
    refine : bool
        Whether kernel parameters are optimised first. Their number is then not paid for in the evidence.
    occam : bool
        Compare the evidence with the Occam factor (5.2) or without.
    prior_probabilities : sequence of floats, optional
        p(H_i); equal by default.
    objective : function of a kernel, optional
        The evidence of each kernel, such as one with a prior in it; by default that of the papers (5.2).
    """
    if not kernels:
        raise ValueError("There are no kernels to compare; give a list with at least one.")
    prior = (
        np.full(len(kernels), 1.0 / len(kernels)) if prior_probabilities is None else np.asarray(prior_probabilities)
    )
    if prior.shape != (len(kernels),) or not np.all(prior > 0) or not np.isclose(prior.sum(), 1.0):
        raise ValueError(f"prior_probabilities must be {len(kernels)} positive numbers that sum to one.")
    X, y = check_X_y(X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=3)
    require_matrices(len(X), 6, "Compare on a random subset.")
    papers = Objective(X, y, occam, as_prior_sd(prior_sd))
    candidates, laplace = [], False
    for spec in tqdm(list(kernels), desc="comparing kernels", disable=None if progress else True, leave=False):
        kernel = as_kernel(spec, X.shape[1])
        own = papers if objective is None else objective(kernel)
        chosen = refine_objective(own, kernel, seed).optima[0] if refine else own.evaluate(kernel)
        level3 = evaluate(chosen.reduction, prior_sd=prior_sd, level2=chosen.level2)
        value = level3.log_evidence if occam else level3.log_evidence_without_occam
        if chosen.posterior is not None:
            value, laplace = chosen.posterior.log_evidence, True
        candidates.append(Candidate(chosen.kernel, level3, value))
    order = sorted(range(len(candidates)), key=lambda i: -candidates[i].log_evidence)
    values = np.array([candidates[i].log_evidence for i in order])
    joint = values + np.log(prior[order])
    return Comparison(
        candidates=tuple(candidates[i] for i in order),
        log_bayes_factors=values[:, None] - values[None, :],
        probabilities=np.exp(joint - logsumexp(joint)),
        occam=occam,
        prior=laplace,
    )
