"""Small studies that other processes import, too: what is slow to import is found where it is used."""

from __future__ import annotations

import os
import signal
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import bayes_lssvm
from bayes_lssvm.base.arviz import datatree
from bayes_lssvm.base.errors import NoSignalWarning
from bayes_lssvm.sampling.diagnostics import diagnose
from validation.harness import Cell, CellResult, Check

from .logged import wait_until


@dataclass(frozen=True)
class Small:
    """Draws from a seed, one cell with draws on disk; each computation leaves a line in a log."""

    log: str
    keys: tuple[str, ...] = ("a", "b", "draws", "c")
    seed: int = 0
    scale: float = 1.0
    version: int = 1
    wait_for: str = ""
    name: str = "small"
    title: str = "A small study"
    needs_data: bool = True
    own_data: str = ""

    def cells(self, data, size):
        return [Cell(key, {"scale": self.scale, "rows": (3, 4)}, self.seed + i) for i, key in enumerate(self.keys)]

    def compute(self, cell, data):
        with open(self.log, "a", encoding="utf-8") as stream:
            stream.write(f"{cell.key}\n")
        if self.wait_for and cell.key == "slow":
            wait_until(lambda: Path(self.wait_for).exists())
        rng = np.random.default_rng(cell.seed)
        x = cell.settings["scale"] * rng.normal(size=tuple(cell.settings["rows"]))
        values = {"x": x, "mean": x.mean(), "n": len(data.X), "odd": [np.nan, np.inf, np.float32(0.5), True, None]}
        check = Check("R-hat", float("nan"), float("inf"), True, "R-hat is fine.")
        draws = datatree({"posterior": {"log_mu": rng.normal(size=(2, 50))}}) if cell.key == "draws" else None
        return CellResult(values, (check,), draws)


@dataclass(frozen=True)
class Failing(Small):
    """One cell ends in an error, one fails a check, one warns."""

    keys: tuple[str, ...] = ("fine", "chains", "check", "warned")

    def compute(self, cell, data):
        found = super().compute(cell, data)
        if cell.key == "chains":
            stuck = np.repeat(np.arange(4.0), 100).reshape(4, 100) + np.random.default_rng(0).normal(size=(4, 100))
            diagnose({"log_mu": stuck}).require()
        if cell.key == "check":
            bad = Check("Pareto k", 0.9, 0.7, False, "The Pareto shape is 0.9, above 0.7.")
            return found._replace(checks=(*found.checks, bad))
        if cell.key == "warned":
            warnings.warn("The data are noise.", NoSignalWarning, stacklevel=2)
            warnings.warn("The data are noise.", NoSignalWarning, stacklevel=2)
        return found


@dataclass(frozen=True)
class Numbers(Small):
    """What could differ between processes: BLAS sums, JAX's precision, the closed forms."""

    keys: tuple[str, ...] = ("blas", "jax", "quadrature")

    def compute(self, cell, data):
        rng = np.random.default_rng(cell.seed)
        if cell.key == "blas":
            A = rng.normal(size=(700, 700))
            return CellResult({"eigenvalues": np.linalg.eigvalsh(A @ A.T)[::50], "trace": np.trace(A @ A)})
        if cell.key == "jax":
            import jax.numpy as jnp

            x = jnp.asarray(rng.normal(size=(300, 300)))
            return CellResult({"dtype": str(x.dtype), "logdet": float(jnp.linalg.slogdet(x @ x.T)[1])})
        prior = bayes_lssvm.priors.HyperPrior(bayes_lssvm.priors.Normal(0.0, 3.0), bayes_lssvm.priors.Normal(0.0, 3.0))
        given = {"kernel": bayes_lssvm.kernels.RBF(1.3), "prior": prior, "standardise": False}
        found = bayes_lssvm.marginalise(data.X[::5], data.y[::5], progress=False, **given)
        tree = datatree({"posterior": {"log_mu": rng.normal(size=(2, 50))}})
        return CellResult({"log_evidence": found.log_evidence, "mean": found.mean()}, draws=tree)


@dataclass(frozen=True)
class Raising(Small):
    """A mistake in a program, or an interruption, at the third cell."""

    error: type[BaseException] = KeyboardInterrupt

    def compute(self, cell, data):
        if cell.key == "draws":
            raise self.error("stop")
        return super().compute(cell, data)


@dataclass(frozen=True)
class Dying(Small):
    """A cell that takes its process with it, as one without memory does."""

    def compute(self, cell, data):
        if cell.key == "c":
            wait_until(lambda: len(list(Path(self.wait_for).rglob("*.json"))) == 3)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().compute(cell, data)


def computed(study: Small) -> Counter[str]:
    """How often each cell was computed."""
    path = Path(study.log)
    return Counter(path.read_text("utf-8").split() if path.exists() else [])
