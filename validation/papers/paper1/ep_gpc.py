"""Gaussian process classifier by expectation propagation, through GPy: the EP-GPC of paper 1's Table 2.

The latent function has mean zero and covariance σ_f² exp(−½ Σ (x_i − z_i)²/l_i²), the likelihood is the cumulative
normal. σ_f² and the length scales maximise the marginal likelihood of expectation propagation, which is run anew at
every step of the search: GPy's default keeps the first run's site parameters, and ends elsewhere. The elliptical kernel
starts at the optimum of the spherical one. GPy visits the sites in random orders that it takes from NumPy's global
generator: it is seeded for a fit, and left as it was found. The paper used the MATLAB programs of Rasmussen and
Williams (2006).

GPy is an extra, `pip install "bayes-lssvm[gpc]"`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np

from bayes_lssvm.base.errors import NotPositiveSemidefiniteError
from bayes_lssvm.base.typing import Array
from bayes_lssvm.search.climb import Stop, climb

__all__ = ["EPClassifier", "available", "fit"]

MAX_EVALUATIONS = 100  # of the marginal likelihood, for each kernel
# of log σ_f² and log l: beyond, expectation propagation is a matter of rounding
_VARIANCES = (np.log(1e-4), np.log(1e4))
_WIDTHS = (np.log(1e-2), np.log(1e4))


def available() -> bool:
    """Whether GPy is installed."""
    return find_spec("GPy") is not None


class EPClassifier(NamedTuple):
    """A trained classifier.

    Attributes
    ----------
    model : GPy.models.GPClassification
    log_evidence : float
        Log marginal likelihood by expectation propagation.
    eta : array of shape (1,) or (d,)
        1/(2l²), comparable to paper 1's kernel parameters.
    converged : bool
        Whether the search ended before its limit of evaluations.
    n_evaluations : int
    """

    model: Any
    log_evidence: float
    eta: Array
    converged: bool
    n_evaluations: int

    def probability(self, X: Array) -> Array:
        """P(y = +1) of shape (n,) for inputs of shape (n, d)."""
        p, _ = self.model.predict(X)
        return np.clip(np.asarray(p, dtype=float)[:, 0], 0.0, 1.0)


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    before = np.random.get_state()  # noqa: NPY002 - the generator that GPy uses
    np.random.seed(seed)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


def fit(X: Array, y: Array, *, elliptical: bool, seed: int = 0) -> EPClassifier:
    """Train on inputs of shape (N, d), standardised as a rule, and labels ±1 of shape (N,)."""
    if not available():
        raise ImportError('The Gaussian process classifier needs GPy: pip install "bayes-lssvm[gpc]".')
    with _seeded(seed):
        return _fit(X, y, elliptical)


def _fit(X: Array, y: Array, elliptical: bool) -> EPClassifier:
    start = np.array([1.0, np.sqrt(X.shape[1])])
    spherical = _optimised(X, y, start, elliptical=False)
    if not elliptical:
        return spherical
    variance, width = np.asarray(spherical.model.kern.param_array, dtype=float)
    found = _optimised(X, y, np.append(variance, np.full(X.shape[1], width)), elliptical=True)
    return found._replace(n_evaluations=found.n_evaluations + spherical.n_evaluations)


def _optimised(X: Array, y: Array, start: Array, *, elliptical: bool) -> EPClassifier:
    """L-BFGS-B in the logs of (σ_f², l) on GPy's marginal likelihood and its gradient."""
    GPy: Any = import_module("GPy")
    kernel = GPy.kern.RBF(X.shape[1], variance=start[0], lengthscale=start[1:], ARD=elliptical)
    ep = GPy.inference.latent_function_inference.EP(ep_mode="nested")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of steps that overflow, which `climb` turns back
        model = GPy.models.GPClassification(X, (y[:, None] > 0).astype(float), kernel=kernel, inference_method=ep)

        def log_evidence(log_parameters: Array) -> tuple[float, Array]:
            parameters = np.exp(log_parameters)
            try:
                model[:] = parameters
            except (AssertionError, np.linalg.LinAlgError) as error:  # GPy asserts what is no longer a number
                raise NotPositiveSemidefiniteError(f"Expectation propagation broke down: {error}") from error
            value, slope = float(model.log_likelihood()), parameters * np.asarray(model.gradient, dtype=float)
            if not (np.isfinite(value) and np.isfinite(slope).all()):
                raise NotPositiveSemidefiniteError("Expectation propagation broke down: no finite evidence.")
            return value, slope

        box = np.array([_VARIANCES, *[_WIDTHS] * (len(start) - 1)])
        end = climb(log_evidence, np.log(start), box, Stop(1e-8, 1e-3, evaluations=MAX_EVALUATIONS))
        log_evidence(end.position)  # the search may have ended elsewhere
    eta = 0.5 / np.exp(end.position[1:]) ** 2
    return EPClassifier(model, float(model.log_likelihood()), eta, end.converged, end.n_evaluations)
