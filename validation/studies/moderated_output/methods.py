"""P(y = +1 | x) by five methods.

| method          | weights and bias     | μ, ζ                     | σ                                       |
| --------------- | -------------------- | ------------------------ | --------------------------------------- |
| `plug-in`       | in closed form       | at (μ_MP, ζ_MP)          | at σ_MP (5.3)                           |
| `mu-zeta`       | in closed form       | quadrature               | at σ_MP                                 |
| `mu-zeta-sigma` | in closed form       | quadrature               | quadrature                              |
| `nuts`          | in closed form       | averaged over draws      | averaged over the same draws            |
| `bernoulli`     | latent values, NUTS  | NUTS (μ; there is no ζ)  | at σ_MP                                 |

The first four are the LS-SVM's moderated output (paper 0, section 3.2) averaged, or not, over the hyperparameters. The
draws' average evaluates level 1 anew at each draw, and uses nothing of the mixture that quadrature's predictions use.
The last one has another likelihood: P(y = +1 | f) = 1/(1 + e^{−f}) with a Gaussian process f.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import RBF, Kernel
from bayes_lssvm.levels.level1 import ClassCentres, DualPosterior
from bayes_lssvm.levels.moderation import log_odds
from bayes_lssvm.linalg.spectrum import TridiagonalReduction
from bayes_lssvm.trust import ladder
from models import BernoulliGP
from validation.harness import CellResult
from validation.ladder import PRIOR
from validation.sampled import collapsed_rung, sample_program, why

from .points import Points


def fitted(points: Points) -> BayesianLSSVC:
    """The classifier of the evidence framework: everything at its most probable value."""
    return BayesianLSSVC("rbf", prior="flat", moderation="class", standardise=False).fit(points.X, points.y)


def plug_in(points: Points, settings: dict[str, Any], seed: int) -> CellResult:
    """Moderated output at (μ_MP, ζ_MP, σ_MP)."""
    model = fitted(points)
    found = {"sigma": _sigma(model), "mu": model.mu_, "zeta": model.zeta_}
    return CellResult({**found, **_shared(points, model.predict_proba(points.all_new)[:, 1])})


def over_mu_zeta(points: Points, settings: dict[str, Any], seed: int) -> CellResult:
    """Averaged over (μ, ζ) at σ_MP."""
    return _integrated(points, fitted(points).kernel_, fixed_kernel=True)


def over_all(points: Points, settings: dict[str, Any], seed: int) -> CellResult:
    """Averaged over (μ, ζ, σ)."""
    return _integrated(points, RBF(1.0), fixed_kernel=False)


def _integrated(points: Points, kernel: Kernel, *, fixed_kernel: bool) -> CellResult:
    options: dict[str, Any] = {"kernel": kernel, "prior": PRIOR, "fixed_kernel": fixed_kernel, "progress": False}
    rung = ladder(points.X, points.y, rungs=("quadrature",), **options)["quadrature"]
    found = rung.integral
    own = {"log_evidence": found.log_evidence, "mean": _logs(found.mean()), "sd": _logs(found.sd())}
    return CellResult({**own, **_shared(points, found.predict_proba(points.all_new)[:, 1])}, rung.checks)


def by_nuts(points: Points, settings: dict[str, Any], seed: int) -> CellResult:
    """Level 1's moderated output at draws of (μ, ζ, σ), averaged."""
    rung, chains = collapsed_rung(points.X, points.y, settings, seed, kernel=RBF(1.0), prior=PRIOR)
    chains = why(chains, points.X, points.y, RBF(1.0))
    found, m = rung.integral, settings["averaged"]
    # evenly spaced in the cumulated weights: where these are equal, every so-many-th draw of the chains in turn
    chosen = np.searchsorted(np.cumsum(found.weights)[:-1], (np.arange(m) + 0.5) / m)
    columns = [found.names.index(name) for name in rung.mean]
    each = np.array([at_draw(points, RBF(s), mu, zeta) for mu, zeta, s in np.exp(found.nodes[chosen][:, columns])])
    error = each.std(axis=0, ddof=1) / np.sqrt(m)
    own = {"averaged": m, "mean": _logs(found.mean()), "sd": _logs(found.sd())}
    return CellResult({**own, **_shared(points, each.mean(axis=0), error)}, chains.checks, chains.tree())


def at_draw(points: Points, kernel: Kernel, mu: float, zeta: float) -> Array:
    """P(y = +1 | x, μ, ζ, σ) at the test points and on the map: level 1 alone."""
    K = kernel(points.X)
    gamma_eff = 1.0 + float(TridiagonalReduction.from_kernel_matrix(K, points.y).sums(np.array([zeta / mu])).d_eff[0])
    posterior = DualPosterior.from_kernel_matrix(kernel, points.X, K, points.y, mu=mu, zeta=zeta)
    centres = ClassCentres.from_posterior(posterior, points.y, gamma_eff, K)
    plus = float(np.mean(points.y > 0))
    return np.asarray(expit(log_odds(posterior, centres, points.all_new, prior_plus=plus, training_plus=plus)))


def by_bernoulli(points: Points, settings: dict[str, Any], seed: int) -> CellResult:
    """The Gaussian process classifier, its kernel held at σ_MP, sampled."""
    sigma = _sigma(fitted(points))
    program = BernoulliGP(RBF(sigma), PRIOR, fixed_kernel=True)
    drawn = sample_program(program, program.data(points.X, points.y), settings, seed, target_accept=0.95)
    drawn = why(drawn, points.X, points.y, RBF(sigma))
    latent = {name: drawn.draws[name] for name in ("log_mu", "b", "eta")}
    draws = latent["b"].shape[1]  # more than the settings' where chains were run again
    thin = max(1, draws * settings["chains"] // settings["averaged"])
    each = np.array(
        [
            program.predict_proba({n: v[c : c + 1] for n, v in latent.items()}, points.X, points.all_new, thin=thin)[
                :, 1
            ]
            for c in range(settings["chains"])
        ]
    )
    error = each.std(axis=0, ddof=1) / np.sqrt(len(each))  # of the chains' means
    values = {
        "sigma": sigma,
        "averaged": -(-draws // thin) * settings["chains"],
        "mean": {"log_mu": float(latent["log_mu"].mean()), "b": float(latent["b"].mean())},
        "sd": {"log_mu": float(latent["log_mu"].std()), "b": float(latent["b"].std())},
    }
    probabilities = _shared(points, each.mean(axis=0), error)
    return CellResult({**values, **probabilities}, drawn.checks, drawn.tree("b"))


METHODS = {
    "plug-in": plug_in,
    "mu-zeta": over_mu_zeta,
    "mu-zeta-sigma": over_all,
    "nuts": by_nuts,
    "bernoulli": by_bernoulli,
}


def _sigma(model: BayesianLSSVC) -> float:
    return float(np.exp(model.kernel_.log_params[0]))


def _logs(values: dict[str, float]) -> dict[str, float]:
    return {name: value for name, value in values.items() if name.startswith("log_")}


def _shared(points: Points, probability: Array, error: Array | None = None) -> dict[str, Any]:
    """Probabilities at the test points and on the map, with Monte-Carlo errors of those that are averages of draws."""
    m = len(points.X_test)
    found: dict[str, Any] = {"test": probability[:m], "map": probability[m:]}
    if error is not None:
        found |= {"test_error": error[:m], "map_error": error[m:]}
    return found
