"""Full marginalisation against an eigendecomposition, and its predictions against plug-in ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import eigh

from bayes_lssvm import BayesianLSSVC, datasets
from bayes_lssvm.base.typing import Array
from bayes_lssvm.datasets import make_waveform
from bayes_lssvm.kernels import RBF
from bayes_lssvm.marginal import marginalise
from bayes_lssvm.priors import HyperPrior, Normal
from benchmarks.closed_forms import data
from benchmarks.timing import Measured, readable, side_by_side

PRIOR = HyperPrior(kernel=Normal(0.0, 1.0))


def ripley() -> tuple[Array, Array]:
    """Ripley's 250 points, standardised, with labels ±1."""
    found = datasets.load("ripley")
    X = (found.data - found.data.mean(axis=0)) / found.data.std(axis=0, ddof=1)
    return X, np.where(np.asarray(found.target) == 1, 1.0, -1.0)


def full_marginalisation(name: str, X: Array, y: Array, repeats: int, bar: float) -> Measured:
    """Quadrature over μ, ζ and σ to 1e-6 nats, in units of one eigendecomposition of the same matrix."""
    K = RBF(1.3)(X)
    refined = marginalise(X, y, prior=PRIOR, tolerance=1e-10, progress=False, standardise=False).log_evidence
    error = abs(
        marginalise(X, y, prior=PRIOR, tolerance=1e-6, progress=False, standardise=False).log_evidence - refined
    )
    ours, peer = side_by_side(
        lambda: marginalise(X, y, prior=PRIOR, tolerance=1e-6, progress=False, standardise=False),
        lambda: eigh(K, driver="evd"),
        repeats,
    )
    label = f"full marginalisation over μ, ζ, σ, {name} (off a refined rule by {error:.0e})"
    return Measured(label, readable(ours), f"eigh(evd) {readable(peer)}", ours / peer, bar, True)


def prediction(n: int, n_new: int, repeats: int) -> Measured:
    """Marginalised class probabilities against three times the plug-in ones plus a kernel block for each kernel."""
    X, y = data(n)
    new, _ = make_waveform(n_new, seed=2)
    new = (new - new.mean(axis=0)) / new.std(axis=0, ddof=1)
    posterior = marginalise(X, y, prior=PRIOR, tolerance=1e-4, progress=False, standardise=False)
    plug_in = BayesianLSSVC(RBF(5.0), refine=False, standardise=False).fit(X, y)
    kernels = [node.kernel for node in posterior.prediction_nodes]
    ours, fixed = side_by_side(lambda: posterior.predict_proba(new), lambda: plug_in.predict_proba(new), repeats)
    _, block = side_by_side(lambda: None, lambda: kernels[0](new, X), repeats)
    allowed = 3.0 * fixed + len(kernels) * block
    label = f"marginalised predict_proba, {n_new} points, N={n}"
    against = f"3 × plug-in + {len(kernels)} blocks {readable(allowed)}"
    return Measured(label, readable(ours), against, ours / allowed, 1.0, True)


def rows(*, quick: bool) -> Iterator[Measured]:
    """Every benchmark of the marginalisation; the quick ones are small, to see that they run."""
    if quick:
        yield full_marginalisation("N=60", *data(60), 1, 60.0)
        yield prediction(150, 200, 1)
        return
    yield full_marginalisation("Ripley, N=250", *ripley(), 5, 30.0)
    yield full_marginalisation("N=1000", *data(1000), 3, 20.0)
    yield prediction(250, 1000, 7)
    yield prediction(1000, 10_000, 3)
