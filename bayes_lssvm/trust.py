"""Do the closed forms hold on these data? The ladder of approximations, climbed in seconds, and a verdict.

The evidence framework fixes μ, ζ and the kernel's parameters at their most probable values and takes Gaussian error
bars there. `trust` compares that with the exact integrals on the user's own data:

| question                          | measured by                                                |
| --------------------------------- | ---------------------------------------------------------- |
| is the evidence right?            | eq 5.2 and Laplace's method minus the integral, in nats    |
| are the error bars right?         | their ratios to the exact standard deviations              |
| is the posterior near a Gaussian? | Pareto k̂ of a Student proposal, modes, mass beyond 3 sd    |
| does it matter?                   | the worst change of a prediction when nothing is fixed     |

Each check is "good", "doubtful" or "bad" by limits that `LIMITS` states; the verdict is the worst of them.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from .base.errors import quiet
from .base.provenance import provenance
from .base.scikit import check_X_y, type_of_target
from .base.typing import AnyArray, Array
from .estimators.classifier import BayesianLSSVC
from .estimators.regressor import BayesianLSSVR
from .kernels import Kernel, as_kernel
from .marginal.ladder import Ladder, Rung, ladder
from .marginal.posterior import HyperPosterior
from .priors import HyperPrior, LogPrior, as_hyper_prior
from .search.starts import spread_subset

__all__ = [
    "LIMITS",
    "VERDICTS",
    "Grade",
    "Ladder",
    "LadderRow",
    "Rung",
    "TrustReport",
    "ladder",
    "trust",
    "worst_change",
]

Level = Literal["good", "doubtful", "bad"]
_LEVELS: tuple[Level, ...] = ("good", "doubtful", "bad")
VERDICTS = {
    "good": "The closed forms can be trusted on these data.",
    "doubtful": "Use the closed forms with care on these data.",
    "bad": "Do not trust the closed forms on these data; integrate the hyperparameters out (marginalise).",
}
# Up to the first number a check is good, up to the second doubtful, beyond it bad.
LIMITS: dict[str, tuple[float, float]] = {
    "evidence": (0.5, 2.0),  # nats; half a nat is less than a Bayes factor of 2
    "error bars": (0.22, 0.69),  # |log of a ratio|: factors of 1.25 and 2
    "k_hat": (0.7, 1.0),
    "missed modes": (0.05, 0.3),  # mass relative to the best mode
    "tail mass": (0.05, 0.15),  # beyond 3 standard deviations, where a Gaussian has 0.0027
    "probability": (0.05, 0.15),
    "regression": (0.25, 1.0),  # in predicted standard deviations
}
_TOLERANCE = 1e-4  # nats
_MOST_POINTS = 500


class Grade(NamedTuple):
    """One measured quantity, how good it is by the limits, and what it says."""

    name: str
    value: float
    level: Level
    sentence: str


class LadderRow(NamedTuple):
    """A rung of the ladder in a report: the kernel held or free, its evidence, and error bars of log μ and log ζ."""

    method: str
    kernel: str
    log_evidence: float
    difference: float
    sd_log_mu: float
    sd_log_zeta: float


@dataclass(frozen=True)
class TrustReport:
    """What `trust` found.

    Attributes
    ----------
    verdict : "good", "doubtful" or "bad"
    sentence : str
        The verdict in words.
    reasons : tuple of str
        One sentence for each check that is not good, or for all if every one is.
    checks : tuple of Grade
    ladder : tuple of LadderRow
        Evidence and error bars by each method; `difference` is in nats from the exact value of the same model.
    kernel : Kernel
        The kernel at its most probable parameters, for standardised inputs.
    n_modes : int
        Modes of the posterior of μ and ζ at that kernel.
    k_hat, tail_mass, worst_change : float
    n_used : int
        Points that were used; a subset of 500, spread over the targets, stands for more.
    seconds : float
    provenance : dict
    """

    verdict: Level
    sentence: str
    reasons: tuple[str, ...]
    checks: tuple[Grade, ...]
    ladder: tuple[LadderRow, ...]
    kernel: Kernel
    n_modes: int
    k_hat: float
    tail_mass: float
    worst_change: float
    n_used: int
    seconds: float
    provenance: dict[str, Any]

    def __str__(self) -> str:
        lines = [f"{self.verdict.upper()}: {self.sentence}", f"kernel {self.kernel}, {self.n_used} points", ""]
        header = ("method", "kernel", "log evidence", "minus exact", "sd log mu", "sd log zeta")
        rows = [
            (
                r.method,
                r.kernel,
                f"{r.log_evidence:.3f}",
                f"{r.difference:+.3f}",
                f"{r.sd_log_mu:.3f}",
                f"{r.sd_log_zeta:.3f}",
            )
            for r in self.ladder
        ]
        widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
        for row in [header, *rows]:
            cells = [c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
            lines.append("  ".join(cells).rstrip())
        lines.append("")
        width = max(len(check.level) for check in self.checks)
        lines += [f"{check.level.ljust(width)}  {check.sentence}" for check in self.checks]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        record = {name: value for name, value in asdict(self).items() if name not in ("kernel", "checks", "ladder")}
        record |= {"kernel": self.kernel.to_dict(), "checks": [c._asdict() for c in self.checks]}
        return record | {"ladder": [r._asdict() for r in self.ladder]}


def trust(
    X: Any,
    y: Any,
    *,
    kernel: Kernel | str = "rbf",
    prior: HyperPrior | LogPrior | None = None,
    fixed_kernel: bool = False,
    standardise: bool = True,
    task: str = "auto",
    seed: int = 0,
    progress: bool = True,
) -> TrustReport:
    """Tell whether the closed forms of the evidence framework hold on given data.

    Parameters
    ----------
    X : array of shape (N, d)
    y : array of shape (N,)
        Two labels of any kind, or real numbers.
    kernel : Kernel or str
        Its parameters are put at their most probable values for the closed forms, and integrated out for the exact
        answer, unless `fixed_kernel`.
    prior : HyperPrior, LogPrior or None
        Priors of the log parameters; Normal(0, 3) each by default.
    fixed_kernel : bool
        Take the kernel's parameters as given.
    standardise : bool
        Standardise the inputs first, as the estimators do.
    task : {"auto", "classification", "regression"}
        "auto": classification if the targets are text or have two values.
    seed : int
        Of the subset where there are more than 500 points, and of the draws behind k̂.
    """
    start = time.perf_counter()
    if task not in ("auto", "classification", "regression"):
        raise ValueError(f"task must be auto, classification or regression, got {task!r}.")
    X, y = check_X_y(X, y, dtype=np.float64, ensure_min_samples=3)
    given, hyper_prior = as_kernel(kernel, X.shape[1]), as_hyper_prior(prior)
    n_kernel = 0 if fixed_kernel else given.log_params.size
    hyper_prior.require_proper(n_kernel, "trust")
    if len(X) > _MOST_POINTS:
        chosen = spread_subset(y, _MOST_POINTS, np.random.default_rng(seed))
        X, y = X[chosen], y[chosen]
    model = _fit(given, X, y, task, refine=n_kernel > 0, standardise=standardise, seed=seed)
    with quiet():
        held = _climbed(model, hyper_prior, seed, progress, held=True)
        free = _climbed(model, hyper_prior, seed, progress, held=False) if n_kernel else None
    whole = free or held
    change = worst_change(model, whole.exact.integral, _looked_at(X, seed))
    checks = _grades(model, held, free, change)
    worst = max(checks, key=lambda check: _LEVELS.index(check.level)).level
    record = provenance(settings={"kernel": given, "prior": hyper_prior, "seed": seed}, data=(X, y))
    return TrustReport(
        verdict=worst,
        sentence=VERDICTS[worst],
        reasons=tuple(check.sentence for check in checks if worst == "good" or check.level != "good"),
        checks=checks,
        ladder=tuple(r for part, own in ((held, "held"), (free, "free")) if part for r in _rows(part, own)),
        kernel=model.kernel_,
        n_modes=int(held.ladder["laplace"].integral.diagnostics["n_modes"]) if "laplace" in held.ladder else 0,
        k_hat=_k_hat(whole),
        tail_mass=_tail_mass(whole),
        worst_change=change,
        n_used=len(X),
        seconds=time.perf_counter() - start,
        provenance=record,
    )


Model = BayesianLSSVC | BayesianLSSVR


class Climbed(NamedTuple):
    """A ladder, and the rung of it that the others are measured from."""

    ladder: Ladder
    exact: Rung


def _fit(kernel: Kernel, X: Array, y: AnyArray, task: str, *, refine: bool, standardise: bool, seed: int) -> Model:
    """The closed-form model, whose warnings the user shall see."""
    # the papers' rule: it is their closed forms that are held against the integrals
    settings: dict[str, Any] = {"refine": refine, "prior": "flat", "standardise": standardise, "random_state": seed}
    if task == "auto":
        task = "classification" if type_of_target(y) == "binary" or y.dtype.kind in "OUSb" else "regression"
    if task == "classification":
        if len(np.unique(y)) > 2:
            raise ValueError(
                f"trust looks at one binary model or one regression, and y has {len(np.unique(y))} classes; look at "
                "each pair of classes, or at one class against the rest."
            )
        return BayesianLSSVC(kernel, moderation="class", **settings).fit(X, y)
    targets = np.asarray(y, dtype=float)
    spread = float(targets.std(ddof=1))
    # so that the priors of μ and ζ mean the same on every scale; equal targets are refused by fit
    return BayesianLSSVR(kernel, **settings).fit(X, (targets - targets.mean()) / (spread if spread > 0 else 1.0))


def _climbed(model: Model, prior: HyperPrior, seed: int, progress: bool, *, held: bool) -> Climbed:
    """Every rung that applies, on the kernel held at its most probable parameters or free, and the one believed."""
    X, y, kernel = model.X_fit_, model.y_fit_, model.kernel_
    options: dict[str, Any] = {"kernel": kernel, "prior": prior, "fixed_kernel": held, "seed": seed}
    options |= {"tolerance": _TOLERANCE, "progress": progress}
    if held:
        found = ladder(X, y, rungs=("mackay", "laplace", "importance", "quadrature"), draws=2000, **options)
        return Climbed(found, found["quadrature"])
    if kernel.log_params.size == 1:
        found = ladder(X, y, rungs=("laplace", "importance", "quadrature"), draws=400, **options)
        return Climbed(found, found["quadrature"])
    found = ladder(X, y, rungs=("laplace", "importance"), draws=1000, **options)
    if "importance" in found and found["importance"].integral.diagnostics["k_hat"] < LIMITS["k_hat"][1]:
        return Climbed(found, found["importance"])
    return Climbed(found, ladder(X, y, rungs=("ccd",), **options)["ccd"])


def _rows(found: Climbed, kernel: str) -> list[LadderRow]:
    shown = [rung for rung in found.ladder if rung is not found.exact] + [found.exact]
    return [
        LadderRow(
            rung.method,
            kernel,
            rung.log_evidence,
            rung.log_evidence - found.exact.log_evidence,
            rung.sd["log_mu"],
            rung.sd["log_zeta"],
        )
        for rung in shown
    ]


def _k_hat(found: Climbed) -> float:
    if "importance" not in found.ladder:
        return float("nan")
    return float(found.ladder["importance"].integral.diagnostics["k_hat"])


def _tail_mass(found: Climbed) -> float:
    if "laplace" not in found.ladder:
        return float("nan")
    exact = found.exact.integral
    keep = [i for i, name in enumerate(exact.names) if name != "log_gamma"]
    return found.ladder["laplace"].mass_beyond(exact.points[:, keep])


def _looked_at(X: Array, seed: int) -> Array:
    """The data and points between them."""
    pairs = np.random.default_rng(seed).integers(len(X), size=(2, min(len(X), 500)))
    return np.vstack([X, 0.5 * (X[pairs[0]] + X[pairs[1]])])


def worst_change(model: Model, exact: HyperPosterior, X: Array) -> float:
    """The largest difference of a prediction at rows of X, fixed against integrated.

    A difference of probabilities for classes; for real targets one of means, or of standard deviations, in units of the
    predicted standard deviation.
    """
    points = model.standardiser_(X)
    if isinstance(model, BayesianLSSVC):
        return float(np.abs(model.predict_proba(X)[:, 1] - exact.predict_proba(points)[:, 1]).max())
    fixed, spread = model.predict(X, return_std=True)
    mean, std = exact.predict(points, return_std=True)
    return float((np.maximum(np.abs(mean - fixed), np.abs(std - spread)) / std).max())


# --- checks ----------------------------------------------------------------------------------------------------------


def _level(name: str, value: float) -> Level:
    good, doubtful = LIMITS[name]
    return "good" if value <= good else "doubtful" if value <= doubtful else "bad"


def _grades(model: Model, held: Climbed, free: Climbed | None, change: float) -> tuple[Grade, ...]:
    whole = free or held
    checks = [_status(model)]
    closed = held.ladder["mackay"].log_evidence - held.exact.log_evidence
    checks.append(
        Grade(
            "evidence",
            closed,
            _level("evidence", abs(closed)),
            f"The evidence by 5.2 is {closed:+.3f} nats from the exact integral over μ and ζ.",
        )
    )
    if free is not None and "laplace" in free.ladder:
        off = free.ladder["laplace"].log_evidence - free.exact.log_evidence
        sentence = f"With the kernel's parameters free, Laplace's method is {off:+.3f} nats from the integral."
        checks.append(Grade("evidence, kernel free", off, _level("evidence", abs(off)), sentence))
    checks += [_error_bar(held, name) for name in ("log_mu", "log_zeta")]
    checks += [_shape(whole), _modes(whole), _tails(whole)]
    kind = "probability" if isinstance(model, BayesianLSSVC) else "regression"
    words = (
        f"a predicted probability by at most {change:.3f}"
        if kind == "probability"
        else f"a prediction by at most {change:.2f} of its standard deviations"
    )
    sentence = f"Integrating the hyperparameters out changes {words}."
    checks.append(Grade("predictions", change, _level(kind, change), sentence))
    return tuple(checks)


def _status(model: Model) -> Grade:
    level2 = model.level3_.level2
    if level2.status == "interior":
        sentence = f"Level 2 has a mode: γ_eff is {level2.gamma_eff:.3g} of N = {level2.n}."
        return Grade("status", level2.log_gain, "good", sentence)
    found = "γ → 0: noise alone explains the targets" if level2.status == "no signal" else "γ → ∞: the data interpolate"
    return Grade("status", level2.log_gain, "bad", f"Level 2 has no mode to stand on ({found}).")


def _error_bar(held: Climbed, name: str) -> Grade:
    ratio = held.ladder["mackay"].sd[name] / held.exact.sd[name]
    symbol = {"log_mu": "log μ", "log_zeta": "log ζ"}[name]
    sentence = f"MacKay's error bar of {symbol} is {ratio:.2f} times the exact standard deviation."
    return Grade(f"error bar of {name}", ratio, _level("error bars", abs(float(np.log(ratio)))), sentence)


def _shape(found: Climbed) -> Grade:
    k_hat = _k_hat(found)
    if np.isnan(k_hat):
        return Grade("k_hat", k_hat, "doubtful", 'Pareto k̂ is not known (it needs "bayes-lssvm[sampling]" and a mode).')
    sentence = f"Pareto k̂ of a Student proposal at the mode is {k_hat:.2f} (0.7 is the limit of reliable weights)."
    return Grade("k_hat", k_hat, _level("k_hat", k_hat), sentence)


def _modes(found: Climbed) -> Grade:
    if "laplace" not in found.ladder:
        return Grade("modes", 0.0, "bad", "The posterior has no mode with curvature in all directions.")
    facts = found.ladder["laplace"].integral.diagnostics
    missed, count = facts["missed_mass"], facts["n_modes"]
    sentence = (
        "The posterior has one mode."
        if count == 1
        else (f"The posterior has {count} modes; those that a single Gaussian misses have {missed:.0%} of its mass.")
    )
    return Grade("modes", float(count), _level("missed modes", missed), sentence)


def _tails(found: Climbed) -> Grade:
    mass = _tail_mass(found)
    if np.isnan(mass):
        return Grade("tail mass", mass, "bad", "Without a Gaussian there are no tails to measure.")
    sentence = f"{100 * mass:.1f} % of the posterior lies beyond 3 standard deviations (a Gaussian has 0.3 %)."
    return Grade("tail mass", mass, _level("tail mass", mass), sentence)
