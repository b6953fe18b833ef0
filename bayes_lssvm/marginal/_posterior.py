"""The posterior of the hyperparameters, and predictions averaged over it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from .._typing import Array
from ..moderation import MODERATIONS
from ..priors import HyperPrior
from ._kernel_quadrature import KernelNode, Quadrature
from ._predictions import NodePredictor

_LIGHTEST_KERNEL = 1e-5


@dataclass(frozen=True)
class HyperPosterior:
    """p(log μ, log ζ, log θ | D) as weighted nodes, with the evidence.

    Attributes
    ----------
    log_evidence : float
        log p(D | H): weights, bias and hyperparameters integrated out, all constants kept.
    log_evidence_error : float
        Change of it at the last refinement of the rule.
    tail : float
        The integrand at the ends of the range relative to its maximum.
    names : tuple of str
        "log_mu", "log_zeta", "log_gamma" and the kernel's parameters.
    nodes : array of shape (M, len(names))
    weights : array of shape (M,)
        Posterior probabilities of the nodes.
    """

    prior: HyperPrior
    log_evidence: float
    log_evidence_error: float
    tail: float
    names: tuple[str, ...]
    nodes: Array
    weights: Array
    kernel_nodes: tuple[KernelNode, ...]
    X: Array
    y: Array
    provenance: dict[str, Any]

    @classmethod
    def from_quadrature(
        cls,
        rule: Quadrature,
        kernel_params: tuple[str, ...],
        prior: HyperPrior,
        X: Array,
        y: Array,
        provenance: dict[str, Any],
    ) -> HyperPosterior:
        """Flatten a quadrature rule into weighted nodes."""
        points, logs = [], []
        for node in rule.nodes:
            integral = node.integral
            theta = np.broadcast_to(node.kernel.log_params, (len(integral.log_mu), node.kernel.log_params.size))
            gamma = integral.log_zeta - integral.log_mu
            points.append(
                np.column_stack([integral.log_mu, integral.log_zeta, gamma, theta])[:, : 3 + len(kernel_params)]
            )
            logs.append(integral.log_weights - integral.log_z + node.log_weight)
        log_weights = np.concatenate(logs)
        weights = np.exp(log_weights - log_weights.max())
        return cls(
            prior=prior,
            log_evidence=rule.log_evidence,
            log_evidence_error=rule.error,
            tail=rule.tail,
            names=("log_mu", "log_zeta", "log_gamma", *(f"log_{name}" for name in kernel_params)),
            nodes=np.vstack(points),
            weights=weights / weights.sum(),
            kernel_nodes=rule.nodes,
            X=X,
            y=y,
            provenance=provenance,
        )

    def mean(self) -> dict[str, float]:
        """Posterior mean of each log parameter."""
        return dict(zip(self.names, (self.weights @ self.nodes).tolist(), strict=True))

    def covariance(self) -> Array:
        """Posterior covariance of the log parameters, in the order of `names`."""
        centred = self.nodes - self.weights @ self.nodes
        return np.asarray(centred.T @ (self.weights[:, None] * centred))

    def sd(self) -> dict[str, float]:
        """Posterior standard deviation of each log parameter."""
        return dict(zip(self.names, np.sqrt(np.diag(self.covariance())).tolist(), strict=True))

    def correlation(self) -> Array:
        """Posterior correlations of the log parameters, in the order of `names`."""
        covariance = self.covariance()
        scale = np.sqrt(np.diag(covariance))
        return np.asarray(covariance / np.outer(scale, scale))

    def expectation(self, function: Callable[[Array], Array]) -> float:
        """Posterior mean of a function of the nodes, whose columns are `names`: `lambda x: np.exp(x[:, 0])` for μ."""
        return float(self.weights @ function(self.nodes))

    def summary(self) -> str:
        """A table of means and standard deviations, and the evidence with its error."""
        mean, sd = self.mean(), self.sd()
        width = max(len(name) for name in self.names)
        lines = [f"{'':{width}}  {'mean':>8}  {'sd':>7}"]
        lines += [f"{name:{width}}  {mean[name]:8.4f}  {sd[name]:7.4f}" for name in self.names]
        lines.append(f"log evidence {self.log_evidence:.6f} (quadrature, error about {self.log_evidence_error:.0e})")
        return "\n".join(lines)

    def _predictors(self) -> list[tuple[float, NodePredictor]]:
        logs = np.array([node.log_weight for node in self.kernel_nodes])
        weights = np.exp(logs - logs.max())
        weights[weights < _LIGHTEST_KERNEL * weights.sum()] = 0.0
        weights /= weights.sum()
        return [
            (float(w), NodePredictor(node, self.X, self.y))
            for w, node in zip(weights, self.kernel_nodes, strict=True)
            if w > 0.0
        ]

    def predict(self, X: Array, *, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Mean of a new target at each row of X, and on request its standard deviation, noise included.

        Means and variances are those of the whole mixture, by the law of total variance.
        """
        X = np.asarray(X, dtype=float)
        first, second = np.zeros(len(X)), np.zeros(len(X))
        for weight, predictor in self._predictors():
            z, variance = predictor.latent(X)
            rows = predictor.rows
            first += weight * (z @ rows.weight)
            second += weight * ((variance + rows.inverse_zeta + z**2) @ rows.weight)
        return (first, np.sqrt(np.maximum(second - first**2, 0.0))) if return_std else first

    def predict_proba(
        self, X: Array, *, moderation: str = "class", class_prior: tuple[float, float] | None = None
    ) -> Array:
        """[P(y=−1 | x, D), P(y=+1 | x, D)] for targets ±1: moderated outputs averaged over the posterior."""
        if not np.all(np.abs(self.y) == 1.0):
            raise ValueError("predict_proba needs targets ±1; this posterior was made for real targets.")
        if moderation not in MODERATIONS:
            raise ValueError(f"moderation must be one of {', '.join(MODERATIONS)}, got {moderation!r}.")
        X = np.asarray(X, dtype=float)
        frequency = float(np.mean(self.y > 0))
        plus = frequency if class_prior is None else float(class_prior[1])
        prior, training = np.log(plus) - np.log1p(-plus), np.log(frequency) - np.log1p(-frequency)
        positive = np.zeros(len(X))
        for weight, predictor in self._predictors():
            positive += weight * (expit(predictor.log_odds(X, moderation, prior, training)) @ predictor.rows.weight)
        return np.stack([1.0 - positive, positive], axis=1)
