"""The algorithms of paper 0's Table 1, and two of ours, as functions of the training part alone.

An algorithm gets standardised training inputs, labels −1 and +1 and a seed. It gives back a design, which predicts test
inputs when it is asked to. Columns that share one design (the two read-outs of a Bayesian LS-SVM; LS-SVM and GP on the
same folds) are one algorithm with two columns. Nothing of the test part can come into a design: it is not there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.svm import SVC

from bayes_lssvm import BayesianLSSVC, FullyBayesianLSSVC
from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.gaussian_process import GaussianProcess
from bayes_lssvm.levels.moderation import target_log_odds
from validation.harness.scores import Prediction

from . import gp as paper0_gp
from .cv import GAMMAS, SIGMAS, Chosen, Folds, merge
from .equal_rows import Spectrum, counted, distinct, rbf, squared_distances

NO_REPEATS = "LS-SVM (Bay), no repeats"
QUADRATURE_TOLERANCE = 1e-3
PAPERS_RULE: dict[str, Any] = {"prior": "flat", "moderation": "class"}
"""Nats of the log evidence at which the full marginalisation is fine enough: far below what moves a probability."""


@dataclass(frozen=True)
class Design:
    """A fitted algorithm.

    Attributes
    ----------
    predict : callable
        Test inputs of shape (n, d) to a prediction for each column of the table.
    facts : dict
        What was chosen: kernel width, γ, …
    """

    predict: Callable[[Array], dict[str, Prediction]]
    facts: dict[str, Any] = field(default_factory=dict)


Fit = Callable[[Array, Array, int], Design]


def bayesian(X: Array, y: Array, seed: int) -> Design:
    """Section 6.1 with 5.2: decided by the moderated output 3.17 (BayM) and by the sign 2.22 (Bay)."""
    model = BayesianLSSVC(**PAPERS_RULE, standardise=False, random_state=seed).fit(X, y)

    def predict(X_test: Array) -> dict[str, Prediction]:
        z, sd = model.latent(X_test, return_std=True)
        moderated = model.predict_proba(X_test)
        return {
            "LS-SVM (BayM)": Prediction(_label(moderated[:, 1] - 0.5), moderated),
            "LS-SVM (Bay)": Prediction(_label(z), _of_labels(z, sd**2, model.zeta_)),
        }

    return Design(predict, _facts(model))


def without_repeats(X: Array, y: Array, seed: int) -> Design:
    """As Bay, designed on training rows without those that repeat another's input and label.

    Repeats leave the evidence without a bound: as 1/ζ → 0 each adds ½ log ζ to it, whatever the kernel, if the rest can
    be interpolated. This design shows what they did. It was added after the table had been seen.
    """
    _, first = np.unique(np.column_stack([X, y]), axis=0, return_index=True)
    kept = np.sort(first)
    model = BayesianLSSVC(**PAPERS_RULE, standardise=False, random_state=seed).fit(X[kept], y[kept])

    def predict(X_test: Array) -> dict[str, Prediction]:
        z, sd = model.latent(X_test, return_std=True)
        return {NO_REPEATS: Prediction(_label(z), _of_labels(z, sd**2, model.zeta_))}

    return Design(predict, {**_facts(model), "repeats": len(y) - len(kept)})


def without_occam(X: Array, y: Array, seed: int) -> Design:
    """The same without the Occam factor: σ, μ and ζ at the maximum of p(D | μ, ζ, σ); moderated output."""
    model = BayesianLSSVC(**PAPERS_RULE, standardise=False, occam=False, random_state=seed).fit(X, y)
    return Design(lambda X_test: {"no Occam": _moderated(model, X_test)}, _facts(model))


def marginalised(X: Array, y: Array, seed: int) -> Design:
    """μ, ζ and σ integrated out by quadrature; moderated output averaged over them."""
    model = FullyBayesianLSSVC(
        moderation="class", standardise=False, tolerance=QUADRATURE_TOLERANCE, random_state=seed
    ).fit(X, y)
    facts = {"log_evidence": model.log_evidence_}
    return Design(lambda X_test: {"marginalised": _moderated(model, X_test)}, facts)


def cross_validated(X: Array, y: Array, seed: int) -> Design:
    """LS-SVM and GP with γ and σ by ten-fold cross-validation."""
    folds = Folds(X, y, seed)
    sigmas = folds.scale * SIGMAS
    coarse = folds.lssvm_and_gp(sigmas, GAMMAS)  # one eigendecomposition a fold and σ serves both
    lssvm = folds.refine(folds.lssvm, folds.best(coarse[0], sigmas, GAMMAS))
    gp = folds.refine(folds.gp, folds.best(coarse[1], sigmas, GAMMAS))

    def predict(X_test: Array) -> dict[str, Prediction]:
        return {
            "LS-SVM (CV10)": Prediction(_label(_outputs(X, y, X_test, lssvm, bias=True))),
            "GP (CV10)": Prediction(_label(_outputs(X, y, X_test, gp, bias=False))),
        }

    return Design(predict, {"LS-SVM": lssvm._asdict(), "GP": gp._asdict()})


def _outputs(X: Array, y: Array, X_test: Array, chosen: Chosen, *, bias: bool) -> Array:
    rows = distinct(X)
    data = counted(rows.group, y, len(rows.X))
    spectrum = Spectrum.of(rbf(squared_distances(rows.X, rows.X), chosen.sigma), data)
    projected = spectrum.project(rbf(squared_distances(X_test, rows.X), chosen.sigma))
    return spectrum.outputs(projected, np.array([chosen.gamma]), bias=bias)[:, 0]


def svm(X: Array, y: Array, seed: int) -> Design:
    """A support vector machine (libsvm) with C and σ by the same cross-validation."""
    folds = Folds(X, y, seed)
    chosen = folds.choose(folds.svm)
    group, labels, weight = merge(folds.rows.group, y)
    model = SVC(C=chosen.gamma, gamma=1.0 / chosen.sigma**2).fit(folds.rows.X[group], labels, sample_weight=weight)
    return Design(lambda X_test: {"SVM (CV10)": Prediction(model.predict(X_test))}, chosen._asdict())


def gp(X: Array, y: Array, seed: int) -> Design:
    """Gaussian process without bias, by its evidence."""
    return _gp(X, y, "GP (Bay)", bias=False)


def gp_with_bias(X: Array, y: Array, seed: int) -> Design:
    """Gaussian process with a bias in the kernel, by its evidence."""
    return _gp(X, y, "GP_b (Bay)", bias=True)


def _gp(X: Array, y: Array, column: str, *, bias: bool) -> Design:
    found = paper0_gp.design(X, y, bias=bias)
    process = GaussianProcess.fit(
        RBF(sigma=found.sigma), X, y, mu=found.mu, zeta=found.zeta, bias_variance=found.bias_variance
    )

    def predict(X_test: Array) -> dict[str, Prediction]:
        z = process.mean(X_test)
        return {column: Prediction(_label(z), _of_labels(z, process.variance(X_test), found.zeta))}

    return Design(predict, found._asdict())


def _label(z: Array) -> AnyArray:
    return np.where(z >= 0.0, 1.0, -1.0)


def _moderated(model: BayesianLSSVC | FullyBayesianLSSVC, X_test: Array) -> Prediction:
    probabilities = model.predict_proba(X_test)
    return Prediction(_label(probabilities[:, 1] - 0.5), probabilities)


def _of_labels(z: Array, variance: Array, zeta: float) -> Array:
    """P(y | x) of the regression on labels: its predictive densities at −1 and at +1, normalised."""
    odds = target_log_odds(z, variance, zeta)
    return np.stack([expit(-odds), expit(odds)], axis=1)


def _facts(model: BayesianLSSVC) -> dict[str, Any]:
    return {
        "sigma": float(np.exp(model.kernel_.log_params[0])),
        "mu": model.mu_,
        "zeta": model.zeta_,
        "gamma": model.gamma_,
        "gamma_eff": model.gamma_eff_,
        "log_evidence": model.log_evidence_,
        "status": model.level3_.level2.status,
        "occam_capped": model.level3_.occam_capped,
    }


ALGORITHMS: dict[str, Fit] = {
    "lssvm-bay": bayesian,
    "cv10": cross_validated,
    "svm-cv10": svm,
    "gp-bay": gp,
    "gpb-bay": gp_with_bias,
    "marginalised": marginalised,
    "no-occam": without_occam,
    "no-repeats": without_repeats,
}
"""Name of an algorithm in cells to its function."""
