"""Are the probabilities right on these data, and do the closed forms hold? Checks in seconds, and a verdict.

For classes the default classifier predicts each row by the model of the others, in closed form, and its probabilities
are compared with the labels (`levels.calibration`).

The evidence framework fixes μ, ζ and the kernel's parameters at their most probable values and takes Gaussian error
bars there. `trust` compares that with the exact integrals on the user's own data, for two classes and for real targets:

| question                          | measured by                                                |
| --------------------------------- | ---------------------------------------------------------- |
| is the evidence right?            | eq 5.2 and Laplace's method minus the integral, in nats    |
| are the error bars right?         | their ratios to the exact standard deviations              |
| is the posterior near a Gaussian? | Pareto k̂ of a Student proposal, modes, mass beyond 3 sd    |
| does it matter?                   | the worst change of a prediction when nothing is fixed     |

Each check is "good", "doubtful" or "bad" by limits that `LIMITS` states, or "not checked" where it could not be made;
the verdict is the worst of those that were.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from .base.errors import quiet
from .base.grades import LIMITS, Grade, level_of, worst
from .base.provenance import provenance
from .base.scikit import check_X_y, type_of_target
from .base.standardisation import moments
from .base.threads import few_threads
from .base.typing import AnyArray, Array
from .base.weights import with_weight
from .estimators.classifier import BayesianLSSVC
from .estimators.grades import LadderRow, TrustReport, calibration_grades
from .estimators.left_out import left_out_probabilities
from .estimators.regressor import BayesianLSSVR
from .kernels import Kernel, as_kernel
from .levels.calibration import Calibration, calibration
from .marginal.ladder import Ladder, Rung, ladder
from .marginal.posterior import HyperPosterior
from .priors import HyperPrior, LogPrior, as_hyper_prior
from .search.starts import spread_subset

__all__ = [
    "LIMITS",
    "PROBABILITIES",
    "VERDICTS",
    "Calibration",
    "Grade",
    "Ladder",
    "LadderRow",
    "Rung",
    "TrustReport",
    "ladder",
    "level_of",
    "trust",
    "worst_change",
]

VERDICTS = {
    "good": "The closed forms can be trusted on these data.",
    "doubtful": "Use the closed forms with care on these data.",
    "bad": "Do not trust the closed forms on these data; integrate the hyperparameters out (marginalise).",
    "not checked": "",
}
PROBABILITIES = {
    "good": "The default classifier's probabilities are calibrated.",
    "doubtful": "Use the default classifier's probabilities with care.",
    "bad": "Do not use the default classifier's probabilities as they are.",
    "not checked": "",
}
_TOLERANCE = 1e-4  # nats
_MOST_POINTS = 500

Model = BayesianLSSVC | BayesianLSSVR


@few_threads
def trust(
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    kernel: Kernel | str = "rbf",
    prior: HyperPrior | LogPrior | None = None,
    fixed_kernel: bool = False,
    standardise: bool = True,
    task: str = "auto",
    seed: int = 0,
    progress: bool = True,
) -> TrustReport:
    """Tell whether probabilities and the closed forms of the evidence framework can be trusted on given data.

    For classes, leave-one-out probabilities of the default classifier with this kernel are compared with the labels.
    For two classes and for real targets the papers' closed forms are compared with exact integrals.

    Parameters
    ----------
    X : array of shape (N, d)
    y : array of shape (N,)
        Labels of any kind, or real numbers.
    sample_weight : array of shape (N,), optional
        Row i has the noise precision ζw_i. In the comparison with labels it counts by its weight, as in the classes'
        frequencies; weights that are whole numbers count equal rows.
    kernel : Kernel or str
        Its parameters are put at their most probable values for the closed forms, and integrated out for the exact
        answer, unless `fixed_kernel`.
    prior : HyperPrior, LogPrior or None
        Priors of the log parameters in the integrals; Normal(0, 3) each by default.
    fixed_kernel : bool
        Take the kernel's parameters as given.
    standardise : bool
        Standardise the inputs first, as the estimators do.
    task : {"auto", "classification", "regression"}
        "auto": classification if the targets are text or have two values.
    seed : int
        Of the subset where there are more than 500 points, and of the draws behind k̂.

    Examples
    --------
    >>> from bayes_lssvm import trust
    >>> from bayes_lssvm.datasets import load
    >>> from bayes_lssvm.kernels import RBF
    >>> X, y = load("ripley").Xy
    >>> report = trust(X[::3], y[::3], kernel=RBF(1.3), fixed_kernel=True, progress=False)
    >>> report.verdict
    'good'
    """
    start = time.perf_counter()
    X, y = check_X_y(X, y, dtype=np.float64, ensure_min_samples=3)
    X, y, weights = with_weight(X, y, sample_weight)
    task, n_rows = _task(task, y), len(X)
    given, hyper_prior = as_kernel(kernel, X.shape[1]), as_hyper_prior(prior)
    n_kernel = 0 if fixed_kernel else given.log_params.size
    hyper_prior.require_proper(n_kernel, "trust")
    if len(X) > _MOST_POINTS:
        chosen = spread_subset(y, _MOST_POINTS, np.random.default_rng(seed))
        X, y, weights = X[chosen], y[chosen], None if weights is None else weights[chosen]
    n_classes = len(np.unique(y)) if task == "classification" else 0
    settings: dict[str, Any] = {"refine": n_kernel > 0, "standardise": standardise, "random_state": seed}
    forms = _not_climbed(n_classes)
    if n_classes <= 2:
        model = _papers_model(given, X, y, weights, task, settings)
        forms = _closed_forms(model, X, hyper_prior, seed, progress, free=n_kernel > 0)
    found: Calibration | None = None
    checks: tuple[Grade, ...] = ()
    if n_classes:
        found, checks = _calibrated(given, X, y, weights, n_classes, settings)
    verdict = worst((*checks, *forms.checks))
    says = (VERDICTS[worst(forms.checks)], PROBABILITIES[worst(checks)])
    return TrustReport(
        verdict=verdict,
        sentence=" ".join(words for words in says if words),
        reasons=tuple(c.sentence for c in (*checks, *forms.checks) if c.level in _reasons(verdict)),
        checks=(*checks, *forms.checks),
        calibration=found,
        n_used=len(X),
        n_rows=n_rows,
        seconds=time.perf_counter() - start,
        provenance=provenance(
            settings={"kernel": given, "prior": hyper_prior, "seed": seed},
            data=(X, y) if weights is None else (X, y, weights),
        ),
        **{name: value for name, value in forms._asdict().items() if name != "checks"},
    )


def _task(task: str, y: AnyArray) -> str:
    if task not in ("auto", "classification", "regression"):
        raise ValueError(f"task must be auto, classification or regression, got {task!r}.")
    if task != "auto":
        return task
    return "classification" if type_of_target(y) == "binary" or y.dtype.kind in "OUSb" else "regression"


def _reasons(verdict: str) -> tuple[str, ...]:
    """Levels of the checks that the verdict rests on."""
    return ("good",) if verdict == "good" else ("doubtful", "bad")


# --- probabilities ---------------------------------------------------------------------------------------------------


def _calibrated(
    kernel: Kernel, X: Array, y: AnyArray, weights: Array | None, n_classes: int, settings: dict[str, Any]
) -> tuple[Calibration, tuple[Grade, ...]]:
    """Leave-one-out probabilities of the default classifier with this kernel, beside the labels."""
    with quiet() if n_classes == 2 else nullcontext():  # for two classes the papers' model has warned already
        model = BayesianLSSVC(kernel, **settings).fit(X, y, weights)
    _, inputs = np.unique(X, axis=0, return_inverse=True)
    labels = np.searchsorted(model.classes_, y)
    found = calibration(left_out_probabilities(model, X, y), labels, inputs.ravel(), weights)
    return found, calibration_grades(found, model.classes_.tolist())


# --- closed forms ----------------------------------------------------------------------------------------------------


class ClosedForms(NamedTuple):
    """What the ladder says of the closed forms: fields of the report."""

    checks: tuple[Grade, ...]
    ladder: tuple[LadderRow, ...] = ()
    kernel: Kernel | None = None
    n_modes: int = 0
    k_hat: float = float("nan")
    tail_mass: float = float("nan")
    worst_change: float = float("nan")


def _not_climbed(n_classes: int) -> ClosedForms:
    sentence = (
        f"The closed forms can be checked for one binary model or a regression, but there are {n_classes} classes: "
        "to check them, call trust with the rows of two classes, or with one class against the rest."
    )
    return ClosedForms((Grade("closed forms", float("nan"), "not checked", sentence),))


def _closed_forms(model: Model, X: Array, prior: HyperPrior, seed: int, progress: bool, *, free: bool) -> ClosedForms:
    with quiet():
        held = _climbed(model, prior, seed, progress, held=True)
        whole = _climbed(model, prior, seed, progress, held=False) if free else held
    change = worst_change(model, whole.exact.integral, _looked_at(X, seed))
    parts = ((held, "fixed"), (whole, "free")) if free else ((held, "fixed"),)
    return ClosedForms(
        checks=_grades(model, held, whole if free else None, change),
        ladder=tuple(row for part, own in parts for row in _rows(part, own)),
        kernel=model.kernel_,
        n_modes=int(held.ladder["laplace"].integral.diagnostics["n_modes"]) if "laplace" in held.ladder else 0,
        k_hat=_k_hat(whole),
        tail_mass=_tail_mass(whole),
        worst_change=change,
    )


class Climbed(NamedTuple):
    """A ladder, and the rung of it that the others are measured from."""

    ladder: Ladder
    exact: Rung


def _papers_model(
    kernel: Kernel, X: Array, y: AnyArray, weights: Array | None, task: str, settings: dict[str, Any]
) -> Model:
    """The closed-form model, whose warnings the user shall see.

    By the papers' rule: it is their closed forms that are held against the integrals.
    """
    if task == "classification":
        return BayesianLSSVC(kernel, moderation="class", prior="flat", **settings).fit(X, y, weights)
    targets = np.asarray(y, dtype=float)
    mean, spread = (float(value) for value in moments(targets, weights)[:2])
    # so that the priors of μ and ζ mean the same on every scale; equal targets are refused by fit
    return BayesianLSSVR(kernel, prior="flat", **settings).fit(
        X, (targets - mean) / (spread if spread > 0 else 1.0), weights
    )


def _climbed(model: Model, prior: HyperPrior, seed: int, progress: bool, *, held: bool) -> Climbed:
    """Every rung that applies, on the kernel held at its most probable parameters or free, and the one believed."""
    X, y, kernel = model.X_fit_, model.y_fit_, model.kernel_
    options: dict[str, Any] = {"kernel": kernel, "prior": prior, "fixed_kernel": held, "seed": seed}
    options |= {"sample_weight": model.weights_}
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

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm import BayesianLSSVR, marginalise
    >>> from bayes_lssvm.trust import worst_change
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 1))
    >>> y = X[:, 0] + 0.3 * rng.normal(size=40)
    >>> model = BayesianLSSVR("linear").fit(X, y)
    >>> exact = marginalise(model.standardiser_(X), y, kernel="linear", standardise=False, task="regression")
    >>> bool(worst_change(model, exact, X) < 2)
    True
    """
    points = model.standardiser_(X)
    if isinstance(model, BayesianLSSVC):
        return float(np.abs(model.predict_proba(X)[:, 1] - exact.predict_proba(points)[:, 1]).max())
    fixed, spread = model.predict(X, return_std=True)
    mean, std = exact.predict(points, return_std=True)
    return float((np.maximum(np.abs(mean - fixed), np.abs(std - spread)) / std).max())


# --- checks ----------------------------------------------------------------------------------------------------------


def _grades(model: Model, held: Climbed, free: Climbed | None, change: float) -> tuple[Grade, ...]:
    whole = free or held
    checks = [_status(model)]
    closed = held.ladder["mackay"].log_evidence - held.exact.log_evidence
    checks.append(
        Grade(
            "evidence",
            closed,
            level_of("evidence", abs(closed)),
            f"The evidence with MacKay's Occam factor (5.2) is {closed:+.3f} nats from the exact integral over μ and "
            "ζ.",
        )
    )
    if free is not None and "laplace" in free.ladder:
        off = free.ladder["laplace"].log_evidence - free.exact.log_evidence
        sentence = f"With the kernel's parameters free, Laplace's method is {off:+.3f} nats from the integral."
        checks.append(Grade("evidence, kernel free", off, level_of("evidence", abs(off)), sentence))
    checks += [_error_bar(held, name) for name in ("log_mu", "log_zeta")]
    checks += [_shape(whole), _modes(whole), _tails(whole)]
    kind = "probability" if isinstance(model, BayesianLSSVC) else "regression"
    words = (
        f"a predicted probability by at most {change:.3f}"
        if kind == "probability"
        else f"a prediction by at most {change:.2f} of its standard deviations"
    )
    sentence = f"Integrating the hyperparameters out changes {words}."
    checks.append(Grade("predictions", change, level_of(kind, change), sentence))
    return tuple(checks)


def _status(model: Model) -> Grade:
    level2 = model.level3_.level2
    if level2.status == "interior":
        sentence = f"Level 2 has a mode: γ_eff is {level2.gamma_eff:.3g} of N = {level2.n}."
        return Grade("status", level2.log_gain, "good", sentence)
    found = (
        "γ → 0: noise alone explains the targets"
        if level2.status == "no signal"
        else "γ → ∞: the data are interpolated"
    )
    return Grade("status", level2.log_gain, "bad", f"Level 2 has no mode ({found}).")


def _error_bar(held: Climbed, name: str) -> Grade:
    ratio = held.ladder["mackay"].sd[name] / held.exact.sd[name]
    symbol = {"log_mu": "log μ", "log_zeta": "log ζ"}[name]
    sentence = f"MacKay's error bar of {symbol} is {ratio:.2f} times the exact standard deviation."
    return Grade(f"error bar of {name}", ratio, level_of("error bars", abs(float(np.log(ratio)))), sentence)


def _shape(found: Climbed) -> Grade:
    k_hat = _k_hat(found)
    if np.isnan(k_hat):
        sentence = "Pareto k̂ is not known (it needs a mode)."
        return Grade("k_hat", k_hat, "not checked", sentence)
    sentence = f"Pareto k̂ of a Student proposal at the mode is {k_hat:.2f} (0.7 is the limit of reliable weights)."
    return Grade("k_hat", k_hat, level_of("k_hat", k_hat), sentence)


def _modes(found: Climbed) -> Grade:
    if "laplace" not in found.ladder:
        return Grade("modes", 0.0, "bad", "The posterior has no mode with curvature in all directions.")
    facts = found.ladder["laplace"].integral.diagnostics
    missed, count = facts["missed_mass"], facts["n_modes"]
    sentence = (
        "The posterior has one mode."
        if count == 1
        else f"The posterior has {count} modes; a single Gaussian covers one of them and leaves out {missed:.2f} "
        "times its mass."
    )
    return Grade("modes", float(count), level_of("missed modes", missed), sentence)


def _tails(found: Climbed) -> Grade:
    mass = _tail_mass(found)
    if np.isnan(mass):
        return Grade("tail mass", mass, "not checked", "Without a Gaussian there are no tails to measure.")
    sentence = f"{100 * mass:.1f} % of the posterior lies beyond 3 standard deviations (for a Gaussian, 0.3 %)."
    return Grade("tail mass", mass, level_of("tail mass", mass), sentence)
