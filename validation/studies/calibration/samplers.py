"""Samplers to be calibrated: functions (X, y, seed) → draws of the log parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import Kernel
from bayes_lssvm.marginal import marginalise
from bayes_lssvm.priors import HyperPrior
from models.gaussian_process import GaussianProcess
from models.sampling import sample


@dataclass(frozen=True)
class _Sampler:
    """The model that is sampled, and the chains of NUTS."""

    kernel: Kernel
    prior: HyperPrior
    fixed_kernel: bool
    chains: int = 4
    warmup: int = 500
    draws: int = 1000


@dataclass(frozen=True)
class Marginalised(_Sampler):
    """Draws of `marginalise`: the chains of NUTS as they are, `draws` independent ones of other methods."""

    method: str = "quadrature"

    def __call__(self, X: Array, y: Array, seed: int) -> dict[str, Array]:
        own: dict[str, Any] = {}
        if self.method == "nuts":
            own = {"chains": self.chains, "warmup": self.warmup, "draws": self.draws}
        posterior = marginalise(
            X,
            y,
            kernel=self.kernel,
            prior=self.prior,
            fixed_kernel=self.fixed_kernel,
            method=self.method,
            seed=seed,
            progress=False,
            **own,
            standardise=False,
        )
        if posterior.chains is not None and np.ptp(posterior.weights) == 0.0:
            return dict(zip(posterior.names, posterior.nodes.T, strict=True))
        drawn = posterior.sample(self.draws, seed=seed)
        return {name: drawn[name] for name in posterior.names}


@dataclass(frozen=True)
class Program(_Sampler):
    """Draws of the function-space program in `models`, a Cholesky factor at every step, by NUTS."""

    draws: int = 500

    def __call__(self, X: Array, y: Array, seed: int) -> dict[str, Array]:
        program = GaussianProcess(self.kernel, self.prior, self.fixed_kernel)
        found = sample(
            program,
            *program.data(X, y),
            seed=seed,
            chains=self.chains,
            warmup=self.warmup,
            draws=self.draws,
            progress=False,
        )
        return {name: np.asarray(found.flat(name)) for name in found.draws if name.startswith("log_")}
