"""The evidence of any model from draws of its posterior, by two methods that check each other.

Bridge sampling (`bayes_lssvm.sampling.bridge`) and importance sampling from a Student proposal fitted to the draws
(`bayes_lssvm.evidence.importance`) share the draws' mean and covariance and nothing else: the bridge averages over the
draws, importance sampling over its own. Where importance sampling is reliable (k̂ below 0.7) and the two differ by more
than their errors allow, one of them is wrong, and a warning says so.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from ..base.errors import BayesLSSVMWarning, warn
from ..base.provenance import provenance
from ..base.typing import Array
from ..sampling.bridge import BridgeEstimate, Warp, bridge
from .draws import BoundsGiven, by_site, plain_draws
from .estimate import EvidenceEstimate
from .importance import K_HAT_LIMIT, importance, moments
from .numpyro_model import DEFAULT_CHUNK, UnconstrainedModel, versions
from .nuts import nuts
from .result import LogEvidence, effective_draws

Method = Literal["bridge", "importance"]
DISAGREEMENT_LIMIT = 4.0  # standard errors of the difference of two methods
_SMALLEST_ERROR = 1e-4  # nats: a smaller error is not worth an argument


class EvidenceDisagreementWarning(BayesLSSVMWarning):
    """Two estimates of the same evidence differ by more than their errors allow.

    Examples
    --------
    >>> import warnings
    >>> from bayes_lssvm.evidence import EvidenceDisagreementWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", EvidenceDisagreementWarning)  # an error where the two methods disagree
    ...
    """


class Problem(NamedTuple):
    """Draws and a density of them on R^d.

    Attributes
    ----------
    points : array of shape (chains, n, d)
    log_density : callable
    names : tuple of d str
    title : str
    versions : dict
        Of packages that the density needs.
    concerns : tuple of str
    """

    points: Array
    log_density: Callable[[Array], Array]
    names: tuple[str, ...]
    title: str
    versions: dict[str, str]
    concerns: tuple[str, ...] = ()


def log_evidence(
    model: Callable[..., Any],
    args: Any = (),
    draws: Any = None,
    *,
    kwargs: Mapping[str, Any] | None = None,
    sampled: Any = None,
    names: Sequence[str] | None = None,
    bounds: BoundsGiven | None = None,
    by_name: bool = False,
    group: str = "posterior",
    methods: Sequence[Method] = ("bridge", "importance"),
    warp: Warp = "III",
    swap_halves: bool = True,
    n_proposals: int | None = None,
    n_importance: int = 4000,
    seed: int = 0,
    chunk: int = DEFAULT_CHUNK,
) -> LogEvidence:
    """Log p(D) of a model from draws of its posterior, with its standard error.

    Parameters
    ----------
    model : callable
        A NumPyro model, with its handlers (`reparam`, `condition`, `mask`, `scale`) around it; or a plain log density,
        log p(D, θ) with all constants, that maps points of shape (m, d) to (m,).
    args, kwargs : tuple and dict
        What a NumPyro model was sampled with, observed data included. A plain log density has none, and its draws may
        stand here.
    draws, sampled : array, dict, MCMC or DataTree
        Draws after warm-up, in the order in which they were made; either name will do. A plain log density takes an
        array of shape (chains, n, d) or (n, d). Both kinds take {name: array of shape (chains, n, …)}, a
        `numpyro.infer.MCMC` after its run, an object whose `draws` is such a dictionary, an ArviZ DataTree or
        InferenceData, or one of its groups. A NumPyro model needs draws of its latent sites on their own scale;
        deterministic sites may be among them. Without draws, a NumPyro model is sampled by NUTS.
    names : sequence of str, optional
        Of a plain log density: the variables that it takes, in this order; all by default.
    bounds : dict of pairs or sequence of pairs, optional
        Of a plain log density: (low, high) of the parameters that have bounds, by name or by column, infinite for
        none. They are mapped to the whole line, with their Jacobians.
    by_name : bool
        A plain log density takes a dictionary {name: value} of one point instead of an array of points.
    group : str
        Of an ArviZ tree.
    methods : sequence of {"bridge", "importance"}
        The first gives the value; with both there is a cross-check.
    warp, swap_halves, n_proposals
        As for `bayes_lssvm.sampling.bridge.bridge`.
    n_importance : int
        Draws of importance sampling.
    seed : int
        Of the proposals' draws, in streams of their own: it may be the seed of the draws.
    chunk : int
        Densities of a NumPyro model that are evaluated at a time; less needs less memory.

    Returns
    -------
    LogEvidence

    Warns
    -----
    EvidenceDisagreementWarning
        Where the two methods differ by more than four standard errors of their difference.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm import log_evidence
    >>> draws = np.random.default_rng(0).normal(size=(4, 500, 2))  # of a Gaussian without its constant
    >>> found = log_evidence(lambda points: -0.5 * (points**2).sum(axis=1), draws=draws)
    >>> bool(abs(found.value - np.log(2 * np.pi)) < 5 * found.standard_error)
    True
    """
    _check_methods(methods)
    problem = _problem(
        model, args, kwargs, draws, sampled, names=names, bounds=bounds, by_name=by_name, group=group, chunk=chunk,
        seed=seed,
    )  # fmt: skip
    of: dict[str, Any] = {"model": problem.title, "parameters": ", ".join(problem.names)}
    options: dict[str, Any] = {"seed": seed, "warp": warp, "swap_halves": swap_halves, "n_proposals": n_proposals}
    record = provenance(settings={**of, **options, "n_importance": n_importance}, data=(problem.points,))
    record["versions"] |= problem.versions
    estimates, missing = [], ""
    for method in methods:
        if method == "bridge":
            found = bridge(problem.points, problem.log_density, **options)
            estimates.append(as_estimate(found, record))
            continue
        try:
            fitted = moments(problem.points, len(problem.names))
            estimates.append(importance(problem.log_density, [fitted], seed=seed, n=n_importance, **of))
        except ValueError as error:
            if method == methods[0]:
                raise
            missing = f"There is no cross-check by importance sampling: {error}"
    return _compared(problem, tuple(estimates), record, missing)


def _check_methods(methods: Sequence[str]) -> None:
    unknown = [method for method in methods if method not in ("bridge", "importance")]
    if unknown or not methods or isinstance(methods, str) or len(set(methods)) < len(methods):
        raise ValueError(f'methods must be "bridge", "importance" or both, in a sequence, got {methods!r}.')


def _problem(
    model: Callable[..., Any],
    args: Any,
    kwargs: Mapping[str, Any] | None,
    draws: Any,
    sampled: Any,
    *,
    names: Sequence[str] | None,
    bounds: BoundsGiven | None,
    by_name: bool,
    group: str,
    chunk: int,
    seed: int,
) -> Problem:
    if not callable(model):
        raise ValueError(
            f"The model must be a NumPyro model or a log density, got {type(model).__name__}; the draws are the "
            "second argument."
        )
    if not isinstance(args, tuple | list) and draws is None and sampled is None:
        args, draws = (), args
    if not isinstance(args, tuple | list):
        raise ValueError(f"args must be a tuple of the model's arguments, got {type(args).__name__}.")
    if draws is not None and sampled is not None:
        raise ValueError("Give the draws once, as draws or as sampled.")
    given = sampled if draws is None else draws
    title = str(getattr(model, "__name__", repr(model)))
    array = given is not None and not hasattr(given, "data_vars") and hasattr(given, "__array__")
    plain = array or isinstance(given, list) or names is not None or bounds is not None or by_name
    program = bool(args or kwargs) or _takes(model)
    if given is None and not program:
        raise ValueError(
            f"There are no draws. A log density needs them (draws=…); a NumPyro model that takes {_parameters(model)} "
            "needs its arguments (args=…)."
        )
    if not plain and program:
        return _of_program(model, tuple(args), kwargs or {}, given, group, chunk, seed)
    if args or kwargs:
        raise ValueError(
            "A model with arguments is a NumPyro model; its draws are given by site, {site: array of shape "
            "(chains, n, …)}. A plain log density takes points and nothing else."
        )
    if not _takes(model, given):
        raise ValueError(
            f"The model takes {_parameters(model)}: a NumPyro model needs its arguments (args=…), and a plain log "
            "density takes points and nothing else."
        )
    laid = plain_draws(model, given, names=names, bounds=bounds, by_name=by_name, group=group)
    return Problem(laid.points, laid.log_density, laid.names, title, {})


def _takes(model: Callable[..., Any], *values: Any) -> bool:
    """Whether a callable can be called with these values; a NumPyro model without arguments can be with none."""
    try:
        inspect.signature(model).bind(*values)
    except TypeError:
        return False
    except ValueError:  # a builtin without a signature
        return True
    return True


def _parameters(model: Callable[..., Any]) -> str:
    return str(inspect.signature(model))


def _of_program(
    model: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    given: Any,
    group: str,
    chunk: int,
    seed: int,
) -> Problem:
    draws = None if given is None else by_site(given, group)
    density = UnconstrainedModel.of(model, args, kwargs, draws, chunk=chunk)
    points = nuts(density, seed=seed).points if draws is None else density.unconstrain(draws)
    concerns = tuple(f"site {name!r} is improper: log Z holds for a prior density of one" for name in density.improper)
    return Problem(points, density.log_density, density.names, density.title, versions(), concerns)


def as_estimate(found: BridgeEstimate, record: dict[str, Any]) -> EvidenceEstimate:
    """A bridge beside other methods."""
    diagnostics = {**found.diagnostics, "iterations": found.iterations, "converged": found.converged}
    return EvidenceEstimate(found.log_z, found.standard_error, "bridge sampling", diagnostics, record)


def _compared(
    problem: Problem, estimates: tuple[EvidenceEstimate, ...], record: dict[str, Any], missing: str
) -> LogEvidence:
    by_method = {estimate.method: estimate for estimate in estimates}
    bridged, weighted = by_method.get("bridge sampling"), by_method.get("importance sampling")
    k_hat = float("nan") if weighted is None else float(weighted.diagnostics["k_hat"])
    first = estimates[0]
    sentences = [f"log p(D) is {first.log_z:.4f} ± {first.standard_error:.4f} by {first.method}."]
    concerns = [*problem.concerns, *(f"{first.method}: {concern}" for concern in first.concerns)]
    apart = disagreement(bridged, weighted)
    if not np.isnan(apart):
        words = f"Bridge and importance sampling differ by {abs(apart):.1f} standard errors of their difference."
        if abs(apart) > DISAGREEMENT_LIMIT:
            words += " One of them is wrong: look at the chains, draw more, or change the parametrisation."
            concerns.append(words)
            warn(words, EvidenceDisagreementWarning)
        sentences.append(words)
    elif weighted is not None and bridged is not None:
        sentences.append(
            f"Importance sampling cannot confirm the bridge estimate: its k̂ is {k_hat:.2f} (0.7 is the limit)."
        )
    sentences += [missing] if missing else []
    sentences += [f"Concern: {concern}." for concern in concerns if concern not in sentences]
    return LogEvidence(
        value=first.log_z,
        standard_error=first.standard_error,
        k_hat=k_hat,
        ess=float("nan") if bridged is None else effective_draws(bridged),
        dim=len(problem.names),
        names=problem.names,
        estimates=estimates,
        disagreement=apart,
        sentences=tuple(sentences),
        concerns=tuple(concerns),
        provenance=record,
    )


def disagreement(bridged: EvidenceEstimate | None, weighted: EvidenceEstimate | None) -> float:
    """Bridge minus importance sampling in standard errors of the difference; NaN where they cannot be compared."""
    if bridged is None or weighted is None or not weighted.diagnostics["k_hat"] < K_HAT_LIMIT:
        return float("nan")
    error = np.hypot(bridged.standard_error, weighted.standard_error)
    return float((bridged.log_z - weighted.log_z) / max(float(error), _SMALLEST_ERROR))
