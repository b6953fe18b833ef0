"""Leave-one-out outputs of a mixture over hyperparameters: what every point looks like to the others.

At one kernel and γ they are y_i − α_i/(C⁻¹)_ii (paper 1, eq 12), with (C⁻¹)_ii = Σ_k V_ik²/(λ_k + 1/γ) from the
spectrum of the centred kernel matrix. The mixture has the weights of the posterior of all points.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..base.typing import Array
from ..levels.logistic_map import LogisticMap
from ..linalg.blas import product
from ..linalg.spectrum import CentredSpectrum
from .predictions import PredictionNode


def left_out_map(nodes: Sequence[PredictionNode], X: Array, y: Array) -> LogisticMap:
    """The map to class probabilities from the mean and variance of new targets (`HyperPosterior.predict`)."""
    return LogisticMap.fit(*left_out_moments(nodes, X, y), y)


def left_out_moments(nodes: Sequence[PredictionNode], X: Array, y: Array) -> tuple[Array, Array]:
    """Mean and variance of each left-out target, noise included as in `HyperPosterior.predict`; of shape (N,)."""
    mean, square = np.zeros(len(y)), np.zeros(len(y))
    total = sum(node.weight for node in nodes)
    for node in nodes:
        spectrum = CentredSpectrum.from_kernel_matrix(node.kernel(X), y)
        rows, _ = node.rows.by_gamma()
        inverse = 1.0 / (spectrum.eigenvalues[:, None] + rows.s)  # [N-1, G]
        diagonal = product(spectrum.vectors**2, inverse)  # (C⁻¹)_ii, [N, G]
        alpha = product(spectrum.vectors, spectrum.t[:, None] * inverse)  # [N, G]
        outputs = y[:, None] - alpha / diagonal
        variances = rows.inverse_mu / diagonal
        shares = rows.weight * (node.weight / (total * rows.weight.sum()))
        mean += outputs @ shares
        square += (outputs**2 + variances) @ shares
    return mean, np.maximum(square - mean**2, 0.0)
