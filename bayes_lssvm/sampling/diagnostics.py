"""Whether chains can be believed: the usual diagnostics of NUTS as data, and the checks they have to pass.

| diagnostic                | says                                                       | passes             |
| ------------------------- | ---------------------------------------------------------- | ------------------ |
| rank-normalised R-hat     | chains agree with each other, and each with itself         | < 1.01             |
| bulk and tail ESS         | how many independent draws the chains are worth            | ≥ 100 for a chain  |
| divergences               | trajectories that left the energy surface                  | none               |
| E-FMI                     | energy moves as fast between draws as within the posterior | > 0.3              |
| draws at the largest tree | trajectories cut short                                     | < 1 %              |

(Vehtari et al. 2021, Rank-normalization, folding, and localization: an improved R-hat; Betancourt 2016, Diagnosing
suboptimal cotangent disintegrations.) A NaN passes no check.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np

from ..base.checks import Check
from ..base.errors import BayesLSSVMWarning, require_positive, warn
from ..base.text import scalar_names
from ..base.typing import AnyArray, Array
from .chains import bfmi, rhat_and_ess


class ChainsDidNotMixError(RuntimeError):
    """Chains whose draws cannot stand for the posterior; `diagnostics` says why."""

    def __init__(self, message: str, diagnostics: Diagnostics | None = None) -> None:
        super().__init__(message)
        self.diagnostics = diagnostics


class ChainsDidNotMixWarning(BayesLSSVMWarning):
    """The same where the caller asked for the draws all the same."""


@dataclass(frozen=True)
class Thresholds:
    """What chains have to reach.

    Attributes
    ----------
    rhat : float
        R-hat of every scalar must be below.
    ess_per_chain : float
        Bulk and tail ESS of every scalar must be at least this times the number of chains.
    divergences : int
        At most so many after warm-up.
    e_fmi : float
        E-FMI of every chain must be above.
    tree_depth_share : float
        Share of draws at the largest tree depth must be below.
    """

    rhat: float = 1.01
    ess_per_chain: float = 100.0
    divergences: int = 0
    e_fmi: float = 0.3
    tree_depth_share: float = 0.01

    def __post_init__(self) -> None:
        for name in ("rhat", "ess_per_chain", "e_fmi", "tree_depth_share"):
            require_positive(f"The threshold {name}", getattr(self, name))
        if self.divergences < 0:
            raise ValueError(f"The threshold divergences must be 0 or more, got {self.divergences!r}.")


@dataclass(frozen=True)
class Diagnostics:
    """Diagnostics of a set of chains.

    Attributes
    ----------
    rhat, ess_bulk, ess_tail, mcse_mean, mcse_sd : dict
        One number for each scalar, by name: "log_mu", "w[3]".
    n_chains, n_draws : int
        Chains, and draws in each.
    divergences, max_depth_hits : int or None
        Draws that diverged, and draws whose tree had the largest depth; None where the sampler has no such thing.
    e_fmi, acceptance : tuple of float or None
        Of each chain: energy fraction of missing information, mean acceptance probability.
    thresholds : Thresholds
    """

    rhat: Mapping[str, float]
    ess_bulk: Mapping[str, float]
    ess_tail: Mapping[str, float]
    mcse_mean: Mapping[str, float]
    mcse_sd: Mapping[str, float]
    n_chains: int
    n_draws: int
    divergences: int | None = None
    e_fmi: tuple[float, ...] | None = None
    max_depth_hits: int | None = None
    acceptance: tuple[float, ...] | None = None
    thresholds: Thresholds = field(default_factory=Thresholds)

    @property
    def checks(self) -> tuple[Check, ...]:
        """Every check, those of what the sampler does not report left out."""
        limits, total = self.thresholds, self.n_chains * self.n_draws
        name, value = _worst(self.rhat, largest=True)
        found = [
            Check(
                "R-hat",
                value,
                limits.rhat,
                value < limits.rhat,
                f"R-hat of {name} is {value:.4f} (must be below {limits.rhat:g})"
                + (": one chain cannot show that it mixed; run two or more" if self.n_chains < 2 else ""),
            )
        ]
        need = limits.ess_per_chain * self.n_chains
        for kind, sizes in (("bulk", self.ess_bulk), ("tail", self.ess_tail)):
            name, value = _worst(sizes, largest=False)
            sentence = f"the {kind} effective sample size of {name} is {value:.0f} of {total} draws"
            found.append(Check(f"{kind} ESS", value, need, value >= need, f"{sentence} (must be {need:.0f} or more)"))
        if self.divergences is not None:
            sentence = f"{self.divergences} of {total} trajectories diverged (at most {limits.divergences} may)"
            passed = self.divergences <= limits.divergences
            found.append(Check("divergences", float(self.divergences), float(limits.divergences), passed, sentence))
        if self.e_fmi is not None:
            value = float(np.min(self.e_fmi))
            sentence = f"the smallest E-FMI of a chain is {value:.3f} (must be above {limits.e_fmi:g})"
            found.append(Check("E-FMI", value, limits.e_fmi, value > limits.e_fmi, sentence))
        if self.max_depth_hits is not None:
            value = self.max_depth_hits / total
            sentence = f"{100 * value:.2f} % of the draws reached the largest tree depth (must be below "
            sentence += f"{100 * limits.tree_depth_share:g} %)"
            found.append(Check("tree depth", value, limits.tree_depth_share, value < limits.tree_depth_share, sentence))
        return tuple(found)

    @property
    def failures(self) -> tuple[Check, ...]:
        """The checks that did not pass."""
        return tuple(check for check in self.checks if not check.passed)

    @property
    def ok(self) -> bool:
        """Whether every check passed."""
        return not self.failures

    @property
    def min_ess(self) -> float:
        """The smallest bulk or tail effective sample size."""
        return float(min(_worst(self.ess_bulk, largest=False)[1], _worst(self.ess_tail, largest=False)[1]))

    def message(self) -> str:
        """What failed and what helps, or that nothing did."""
        failed = self.failures
        if not failed:
            return f"The {self.n_chains} chains of {self.n_draws} draws pass all {len(self.checks)} checks."
        listed = "; ".join(check.sentence for check in failed)
        advice = " ".join(_ADVICE[name] for name in _ADVICE if any(name in check.name for check in failed))
        return f"The chains did not mix: {listed}. {advice} check=False returns the draws with a warning instead."

    def require(self) -> None:
        """Raise ChainsDidNotMixError if a check failed."""
        if not self.ok:
            raise ChainsDidNotMixError(self.message(), self)

    def warn(self) -> None:
        """Warn if a check failed."""
        if not self.ok:
            warn(self.message().removesuffix(" check=False returns the draws with a warning instead."), _WARNING)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Diagnostics:
        """The diagnostics whose `as_dict` gave the record."""
        own = {part.name: record[part.name] for part in fields(cls)}
        return cls(**own | {"thresholds": Thresholds(**record["thresholds"])})

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, the checks included."""
        record = asdict(self)
        record["checks"] = [asdict(check) for check in self.checks]
        record["ok"] = self.ok
        return record


_WARNING = ChainsDidNotMixWarning
# What helps, by the name of the check that failed.
_ADVICE = {
    "divergences": "Raise target_accept towards 1 or sample the other parametrisation (centred or not).",
    "tree depth": "Raise the largest tree depth, or warm up longer.",
    "E-FMI": "Use another parametrisation or a narrower prior.",
    "R-hat": "Warm up longer; if chains stay apart, the posterior has several modes or the prior is too wide.",
    "ESS": "Take more draws.",
}


def _worst(values: Mapping[str, float], *, largest: bool) -> tuple[str, float]:
    """Name and value of the worst scalar; one that is not a number is worst of all."""
    bad = [name for name, value in values.items() if not np.isfinite(value)]
    name = bad[0] if bad else (max if largest else min)(values, key=lambda n: values[n])
    return name, float(values[name])


def _scalars(arrays: Mapping[str, Array]) -> dict[str, float]:
    """One entry for each element."""
    names = scalar_names({name: array.shape for name, array in arrays.items()})
    return dict(zip(names, (float(v) for array in arrays.values() for v in array.ravel()), strict=True))


def diagnose(
    draws: Mapping[str, AnyArray],
    *,
    diverging: AnyArray | None = None,
    energy: AnyArray | None = None,
    tree_depth_hits: AnyArray | None = None,
    acceptance: AnyArray | None = None,
    thresholds: Thresholds | None = None,
) -> Diagnostics:
    """Diagnostics of draws after warm-up.

    Parameters
    ----------
    draws : dict of arrays of shape (chains, draws, …)
    diverging, tree_depth_hits : boolean arrays of shape (chains, draws), optional
        Draws that diverged, and draws whose tree had the largest depth.
    energy, acceptance : arrays of shape (chains, draws), optional
    thresholds : Thresholds, optional
    """
    if not draws:
        raise ValueError("There are no draws to diagnose.")
    shapes = {np.shape(values)[:2] for values in draws.values()}
    if len(shapes) != 1 or len(shape := next(iter(shapes))) != 2 or shape[1] < 4:
        raise ValueError(
            "Draws must have shape (chains, draws, …), the same for all names, with 4 draws or more; found "
            f"{ {name: np.shape(values) for name, values in draws.items()} }."
        )
    statistics = rhat_and_ess(draws)
    return Diagnostics(
        **{name: _scalars(part) for name, part in statistics._asdict().items()},
        n_chains=int(shape[0]),
        n_draws=int(shape[1]),
        divergences=None if diverging is None else int(np.sum(diverging)),
        e_fmi=None if energy is None else tuple(bfmi(np.asarray(energy, dtype=float)).tolist()),
        max_depth_hits=None if tree_depth_hits is None else int(np.sum(tree_depth_hits)),
        acceptance=None if acceptance is None else tuple(np.mean(acceptance, axis=1).tolist()),
        thresholds=thresholds or Thresholds(),
    )
