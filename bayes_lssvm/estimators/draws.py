"""`sample_y`: joint draws of new targets, or of the function, by a fitted regressor."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from ..base.typing import Array
from ..levels.joint import gaussian_draws, generator

OF = ("y", "f")


class DrawsTargets:
    """A regressor with a joint Gaussian of new points."""

    @abstractmethod
    def _joint(self, X: Any, *, noise: bool) -> tuple[Array, Array]:
        """Mean of shape (n, L) and covariance of shape (n, n, L) at the rows of X, with the noise of targets or not."""

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0, *, of: str = "y") -> Array:
        """Joint draws at the rows of X, of shape (n, n_samples), or (n, L, n_samples) for L outputs.

        Parameters
        ----------
        X : array of shape (n, d)
        n_samples : int, default 1
        random_state : int, Generator, RandomState or None, default 0
        of : {"y", "f"}, default "y"
            New targets, each with noise of its own, as `predict(return_std=True)` has them; or the function alone.

        Notes
        -----
        Hyperparameters are held at the model's. Outputs are drawn independently of each other. Student's noise is drawn
        as such, with tails beyond those of a Gaussian of its error bar.
        """
        if isinstance(n_samples, bool) or not isinstance(n_samples, int | np.integer) or n_samples < 1:
            raise ValueError(f"n_samples must be a positive whole number, got {n_samples!r}.")
        if of not in OF:
            raise ValueError(f'of must be "y" for new targets or "f" for the function without noise, got {of!r}.')
        rng, n_samples = generator(random_state), int(n_samples)
        mean, covariance = self._joint(X, noise=of == "y" and self._gaussian_noise)
        draws = [gaussian_draws(m, c, n_samples, rng) for m, c in zip(mean.T, covariance.T, strict=True)]
        if of == "y" and not self._gaussian_noise:
            draws = [f + e for f, e in zip(draws, self._noise_draws(X, n_samples, rng), strict=True)]
        return draws[0] if self._one_output else np.stack(draws, axis=1)

    @property
    @abstractmethod
    def _gaussian_noise(self) -> bool:
        """Whether the noise of all outputs is Gaussian."""

    @abstractmethod
    def _noise_draws(self, X: Any, n_samples: int, rng: np.random.Generator) -> list[Array]:
        """Noise of new targets at the rows of X, of shape (n, n_samples) for each output."""

    @property
    @abstractmethod
    def _one_output(self) -> bool:
        """Whether targets were given as an array of shape (N,)."""
