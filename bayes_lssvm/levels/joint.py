"""Draws from a joint Gaussian of several points, and the generator that makes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh

from ..base.typing import Array
from ..linalg.blas import product


def generator(random_state: Any) -> np.random.Generator:
    """A generator from a seed, None, a generator, or one of scikit-learn's `RandomState`s, whose stream it goes on."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.Generator(random_state._bit_generator)
    return np.random.default_rng(random_state)


def gaussian_draws(mean: Array, covariance: Array, n_samples: int, rng: np.random.Generator) -> Array:
    """Draws of shape (n, n_samples) from Normal(mean, covariance).

    By the eigenvalues of the covariance, which may be singular, as where points repeat; what rounding has put below
    zero is taken as zero.
    """
    eigenvalues, vectors = eigh(0.5 * (covariance + covariance.T), driver="evd", check_finite=False)
    root = vectors * np.sqrt(np.maximum(eigenvalues, 0.0))
    return np.asarray(mean[:, None] + product(root, rng.standard_normal((len(mean), n_samples))))
