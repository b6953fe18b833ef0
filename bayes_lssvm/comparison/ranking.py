"""Kernels ranked by evidence: Bayes factors with errors, and posterior probabilities (paper 0, section 5; 5.1).

The log Bayes factor of H_i against H_j is log p(D | H_i) − log p(D | H_j), and its error the sum of the two errors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby
from typing import Any

import numpy as np
from scipy.special import logsumexp

from ..base.progress import tqdm
from ..base.text import html_table
from ..base.typing import Array
from ..kernels import Kernel
from ..levels.level3 import Level3
from ..priors import Box, Flat, Gamma, HyperPrior, LogPrior, Normal
from .evidence import KernelEvidence, kernel_evidence
from .problem import Problem
from .words import worded

_NOTES = {
    "integrated": (
        "log evidence with the kernel's parameters, mu and zeta integrated out; log B against the best. A log B "
        "smaller than its error gets no verbal grade."
    ),
    "maximised": "log evidence {occam}; log B against the best. Kernel parameters are maximised, without an Occam "
    "factor of their own.",
}


@dataclass(frozen=True)
class Candidate:
    """One kernel in a comparison.

    Attributes
    ----------
    kernel : Kernel
        At its most probable parameters, or at those of the largest evidence.
    log_evidence : float
        The evidence that was compared.
    error : float
        Of the log evidence, in nats; nan where it is not known.
    evidence : KernelEvidence or None
        The integral over the kernel's parameters, where they were integrated out.
    level3 : Level3 or None
        5.2 and what belongs to it, where they were maximised.
    """

    kernel: Kernel
    log_evidence: float
    error: float = np.nan
    evidence: KernelEvidence | None = None
    level3: Level3 | None = None


@dataclass(frozen=True, repr=False)
class Ranking:
    """Kernels ranked by evidence, the best first.

    Attributes
    ----------
    candidates : tuple of Candidate
    log_bayes_factors, log_bayes_factor_errors : arrays of shape (K, K)
        Entry (i, j) is log p(D | H_i) − log p(D | H_j), and its error in nats.
    probabilities : array of shape (K,)
        p(H_i | D) under the prior probabilities given (equal ones by default).
    prior_probabilities : array of shape (K,)
        p(H_i), in the order of the candidates.
    kernel_parameters : {"integrated", "maximised"}
    occam : bool
        Whether a maximised evidence includes the Occam factor.
    prior : bool
        Whether a maximised evidence is Laplace's, with a proper prior of μ and ζ in it.
    """

    candidates: tuple[Candidate, ...]
    log_bayes_factors: Array
    log_bayes_factor_errors: Array
    probabilities: Array
    prior_probabilities: Array
    kernel_parameters: str = "integrated"
    occam: bool = True
    prior: bool = False

    @property
    def best(self) -> Candidate:
        """The candidate with the largest evidence."""
        return self.candidates[0]

    def __len__(self) -> int:
        return len(self.candidates)

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.candidates)

    def words(self, i: int, j: int = 0) -> str:
        """Kass and Raftery's words for candidate i against j, or that they are not decided."""
        return worded(float(self.log_bayes_factors[i, j]), float(self.log_bayes_factor_errors[i, j]))

    def rows(self) -> list[dict[str, Any]]:
        """The table as a list of dictionaries of plain values."""
        return [
            {
                "kernel": str(c.kernel),
                "log_evidence": c.log_evidence,
                "error": c.error,
                "log_bayes_factor": float(self.log_bayes_factors[i, 0]),
                "log_bayes_factor_error": float(self.log_bayes_factor_errors[i, 0]),
                "evidence_for_best": "best" if i == 0 else self.words(i),
                "probability": float(self.probabilities[i]),
                **(_integrated(c.evidence) if c.evidence is not None else _maximised(c.level3)),
            }
            for i, c in enumerate(self.candidates)
        ]

    def __repr__(self) -> str:
        """One line: how many kernels, and the best."""
        share = float(self.probabilities[0])
        return f"Comparison({len(self)} kernels, best {self.best.kernel!s} with probability {share:.3g})"

    def _repr_html_(self) -> str:
        """The table that is printed, for notebooks."""
        header, *lines = self._lines()
        return html_table(repr(self), header, lines) + f"<p>{escape(self._note())}</p>"

    def __str__(self) -> str:
        lines = self._lines()
        left = {0, len(lines[0]) - 1} | ({len(lines[0]) - 2} if self.kernel_parameters == "integrated" else set())
        return "\n".join([*_aligned(lines, left), self._note()])

    def _lines(self) -> list[tuple[str, ...]]:
        """The table in words, its header first."""
        rows = self.rows()
        if self.kernel_parameters == "integrated":
            header: tuple[str, ...] = ("kernel", "log evidence", "log B", "P(H|D)", "free", "prior of log parameters")
            lines: list[tuple[str, ...]] = [
                (
                    _short(row["kernel"]),
                    _with_error(row["log_evidence"], row["error"], 3),
                    "0" if i == 0 else _with_error(row["log_bayes_factor"], row["log_bayes_factor_error"], 2),
                    f"{row['probability']:.3g}",
                    str(row["n_parameters"]),
                    row["prior"],
                )
                for i, row in enumerate(rows)
            ]
        else:
            header = ("kernel", "log evidence", "log B", "P(H|D)", "mu", "zeta", "gamma_eff")
            lines = [
                (
                    _short(row["kernel"]),
                    f"{row['log_evidence']:.3f}",
                    f"{row['log_bayes_factor']:.2f}",
                    f"{row['probability']:.3g}",
                    f"{row['mu']:.4g}",
                    f"{row['zeta']:.4g}",
                    f"{row['gamma_eff']:.1f}",
                )
                for row in rows
            ]
        said = [row["evidence_for_best"] + _status(row) for row in rows]
        return [(*header, "evidence for the best"), *((*line, words) for line, words in zip(lines, said, strict=True))]

    def _note(self) -> str:
        if self.kernel_parameters == "integrated":
            return _NOTES["integrated"]
        return _NOTES["maximised"].format(occam=self._occam_words())

    def _occam_words(self) -> str:
        if self.prior:
            return "by Laplace's method with a proper prior of mu and zeta"
        return "with the Occam factor" if self.occam else "without the Occam factor"


def ranked(
    candidates: Sequence[Candidate], prior_probabilities: Sequence[float] | Array | None = None, **settings: Any
) -> Ranking:
    """Candidates in the order of their evidence, with what follows from it."""
    prior = check_probabilities(prior_probabilities, len(candidates))
    order = sorted(range(len(candidates)), key=lambda i: -candidates[i].log_evidence)
    values, errors = (np.array([getattr(candidates[i], name) for i in order]) for name in ("log_evidence", "error"))
    joint = values + np.log(prior[order])
    both = errors[:, None] + errors[None, :]
    np.fill_diagonal(both, 0.0)
    return Ranking(
        candidates=tuple(candidates[i] for i in order),
        log_bayes_factors=values[:, None] - values[None, :],
        log_bayes_factor_errors=both,
        probabilities=np.exp(joint - logsumexp(joint)),
        prior_probabilities=prior[order],
        **settings,
    )


def rank_kernels(
    problem: Problem,
    kernels: Sequence[Kernel],
    *,
    prior: Any = None,
    prior_probabilities: Sequence[float] | Array | None = None,
    settings: dict[str, Any],
) -> Ranking:
    """Kernels ranked by integrated evidences; `settings` are those of `kernel_evidence`, `prior` is one or many."""
    priors = list(prior) if isinstance(prior, list | tuple) else [prior] * len(kernels)
    if len(priors) != len(kernels):
        raise ValueError(
            f"There are {len(priors)} priors for {len(kernels)} kernels; give one for each, or one for all."
        )
    hidden = None if settings.get("progress", True) else True
    bar = tqdm(list(zip(kernels, priors, strict=True)), desc="comparing kernels", disable=hidden, leave=False)
    found = [kernel_evidence(problem, kernel, prior=own, **settings) for kernel, own in bar]
    candidates = [Candidate(own.kernel, own.log_evidence, own.error, evidence=own) for own in found]
    return ranked(candidates, prior_probabilities)


def check_probabilities(prior_probabilities: Sequence[float] | Array | None, count: int) -> Array:
    """p(H) of each kernel; equal ones if None."""
    if prior_probabilities is None:
        return np.full(count, 1.0 / count)
    prior = np.asarray(prior_probabilities, dtype=float)
    if prior.shape != (count,) or not np.all(prior > 0) or not np.isclose(prior.sum(), 1.0):
        raise ValueError(f"prior_probabilities must be {count} positive numbers that sum to one.")
    return prior


def _integrated(found: KernelEvidence) -> dict[str, Any]:
    mean, sd = found.mean_and_sd()
    return {
        "n_parameters": found.n_parameters,
        "method": found.method,
        "prior": described(found.prior, found.n_parameters),
        "parameters": {
            name: {"log_mean": float(m), "log_sd": float(s)}
            for name, m, s in zip(found.kernel.param_names, mean, sd, strict=False)
        },
        "laplace": found.laplace,
        "n_evaluations": found.n_evaluations,
    }


def _maximised(level3: Level3 | None) -> dict[str, Any]:
    assert level3 is not None
    level2 = level3.level2
    return {"mu": level2.mu, "zeta": level2.zeta, "gamma_eff": level2.gamma_eff, "status": level2.status}


def described(prior: HyperPrior, count: int) -> str:
    """The priors of a kernel's log parameters in a few words, equal ones counted."""
    own = prior.components(count)[2:]
    if not own:
        return "none"
    groups = [(text, len(list(group))) for text, group in groupby(map(_words_of, own))]
    return ", ".join(text if times == 1 else f"{times} × {text}" for text, times in groups)


def _words_of(part: LogPrior) -> str:
    match part:
        case Normal():
            return f"N({part.mean:.3g}, {part.sd:.3g})"
        case Box():
            return f"Box({part.low:.3g}, {part.high:.3g})"
        case Gamma():
            return f"Gamma({part.shape:.3g}, {part.rate:.3g})"
        case Flat():
            return "flat"
    return type(part).__name__


def widened(prior: HyperPrior, factor: float, count: int) -> HyperPrior:
    """The same prior with those of the kernel's log parameters wider by a factor about their middles."""
    return replace(prior, kernel=tuple(_widened(part, factor) for part in prior.components(count)[2:]))


def _widened(part: LogPrior, factor: float) -> LogPrior:
    match part:
        case Normal():
            return replace(part, sd=factor * part.sd)
        case Box():
            middle, half = 0.5 * (part.low + part.high), 0.5 * factor * (part.high - part.low)
            return Box(middle - half, middle + half)
    raise ValueError(
        f"A prior of the kind {type(part).__name__} cannot be widened automatically; call compare with other "
        "priors instead."
    )


def _with_error(value: float, error: float, digits: int) -> str:
    """A number with its error, unless that is too small to be seen in its digits."""
    return f"{value:.{digits}f}" + (f" ± {error:.1g}" if error >= 0.5 * 10.0**-digits else "")


def _status(row: dict[str, Any]) -> str:
    return f" ({row['status']})" if row.get("status", "interior") != "interior" else ""


def _short(text: str, width: int = 44) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _aligned(lines: list[tuple[str, ...]], left: set[int]) -> list[str]:
    """Columns of one width each, a rule below the first line."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    out = [
        "  ".join(
            cell.ljust(w) if i in left else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    out.insert(1, "  ".join("-" * w for w in widths))
    return [line.rstrip() for line in out]
