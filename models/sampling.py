"""NUTS on any NumPyro program, with its diagnostics as data.

A program that is sampled again on data of the same shape does not compile again. All is in double precision, whatever
the process is set to. Draws come back in memory only, so an interrupted run leaves nothing behind.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import numpyro
from threadpoolctl import threadpool_limits

from bayes_lssvm.base import arviz as _arviz
from bayes_lssvm.base.progress import tqdm
from bayes_lssvm.base.provenance import provenance
from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.sampling.diagnostics import Diagnostics, Thresholds, diagnose
from models.log_density import Program, as_arguments, double_precision, latent_shapes
from models.modes import find_modes
from models.nuts import Settings, Start, compiled_for, run_chain

if TYPE_CHECKING:
    from xarray import DataTree


@dataclass(frozen=True)
class Sampled:
    """Draws of a program's posterior.

    Attributes
    ----------
    draws : dict of arrays of shape (chains, draws, …)
        Latent sites on their own scale, and deterministic ones.
    log_density : array of shape (chains, draws)
        log p(D, x) of the unconstrained parameters, all constants kept.
    stats : dict of arrays of shape (chains, draws)
        diverging, energy, acceptance_rate, n_steps, tree_depth, step_size; with `modes_over` also jumped, the share
        of jumps that were accepted.
    diagnostics : Diagnostics
        Of the latent sites; with `modes_over` of these, and of the norms of the others.
    seconds : float
        Time the chains took, compilation included.
    provenance : dict
        Data hash, versions, seed and settings.
    """

    draws: dict[str, Array]
    log_density: Array
    stats: dict[str, AnyArray]
    diagnostics: Diagnostics
    seconds: float
    provenance: dict[str, Any]

    def flat(self, name: str) -> Array:
        """All chains of a site one after the other, of shape (chains · draws, …)."""
        values = self.draws[name]
        return values.reshape(-1, *values.shape[2:])

    def to_arviz(self) -> DataTree:
        """Groups posterior and sample_stats, with provenance and diagnostics as attributes."""
        stats = {**self.stats, "lp": self.log_density}
        attrs = {"provenance": self.provenance, "diagnostics": self.diagnostics.as_dict(), "seconds": self.seconds}
        return _arviz.datatree({"posterior": self.draws, "sample_stats": stats}, attrs=attrs)

    def save(self, path: str | Path) -> Path:
        """Write `to_arviz()` as netCDF; the file appears whole or not at all."""
        return _arviz.write_netcdf(self.to_arviz(), path)


def sample(
    model: Program,
    *args: Any,
    seed: int,
    chains: int = 4,
    warmup: int = 500,
    draws: int = 1000,
    target_accept: float = 0.8,
    max_tree_depth: int = 10,
    dense_mass: bool | tuple[tuple[str, ...], ...] = False,
    modes_over: tuple[str, ...] = (),
    jumps: int = 4,
    nuts_every: int = 1,
    vectorised: bool = False,
    thresholds: Thresholds | None = None,
    check: bool = True,
    progress: bool = True,
) -> Sampled:
    """Draw from the posterior of a program by NUTS.

    Parameters
    ----------
    model : callable
        A NumPyro program, called as model(*args).
    *args : arrays, or nested tuples of arrays
        Data. What a program takes from elsewhere is compiled in once and for all.
    seed : int
    chains, warmup, draws : int
        Chains, steps of adaptation of each, and draws of each after them.
    target_accept : float
        Mean acceptance probability that the step size is adapted to.
    max_tree_depth : int
        A trajectory has at most 2 to the power of this steps.
    dense_mass : bool or tuple of tuples of site names
        Adapt correlations of all sites, or of these blocks.
    modes_over : tuple of str
        Scalar sites whose modes are found first, such as a program's `hyperparameters`. Chains start about the modes,
        NUTS moves these sites in their metric, and after each step come jumps between modes and fresh values of all
        other sites, which must be whitened (`moves`). Empty: NUTS moves all sites and starts anywhere.
    jumps : int
        Jumps for each draw, with `modes_over`.
    nuts_every : int
        With `modes_over`, NUTS moves for every so many draws after warm-up: where jumps are accepted, each is worth
        about as much as a step of NUTS at a twentieth of the cost.
    vectorised : bool
        Run all chains in one step of the compiled program instead of one after the other: faster where a step is
        short, and the draws are others.
    thresholds : Thresholds, optional
        What the chains must reach.
    check : bool
        Raise ChainsDidNotMixError where they do not; warn instead if False.
    progress : bool
        Show a bar, on a terminal.
    """
    counts = (("seed", seed, 0), ("chains", chains, 1), ("warmup", warmup, 1), ("draws", draws, 4))
    for name, value, least in (*counts, ("jumps", jumps, 1), ("nuts_every", nuts_every, 1)):
        if not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{name} must be a whole number ≥ {least}, got {value!r}.")
    if not 0.0 < target_accept < 1.0:
        raise ValueError(f"target_accept must be between 0 and 1, got {target_accept!r}.")
    began = time.perf_counter()
    moves: dict[str, Any] = {"block": tuple(modes_over), "jumps": jumps, "nuts_every": nuts_every} if modes_over else {}
    settings = Settings(
        int(warmup), float(target_accept), int(max_tree_depth), dense_mass, vectorised=vectorised, **moves
    )
    bar = tqdm(total=chains * (warmup + draws), desc="NUTS", disable=None if progress else True, leave=False)
    # Cholesky factors of a few hundred rows are too small to share: on a busy machine BLAS threads that wait for each
    # other made a step twenty times slower
    with double_precision(), threadpool_limits(limits=1, user_api="blas"), bar:
        arguments = as_arguments(args)
        shapes = latent_shapes(model, arguments)
        mixture = find_modes(model, arguments, shapes, settings.block) if modes_over else None
        where, compiled = Start(shapes, mixture, settings.block), compiled_for(model, settings)
        keys, rngs = (
            jax.random.split(jax.random.key(seed), chains),
            [np.random.default_rng([seed, c]) for c in range(chains)],
        )
        run = partial(run_chain, compiled, where=where, args=arguments, warmup=settings.warmup, draws=draws, bar=bar)
        rows: Any
        if vectorised:
            rows = run(keys, rngs)
        else:
            kept = [run(key, [rng]) for key, rng in zip(keys, rngs, strict=True)]
            rows = jax.tree.map(lambda *parts: np.stack(parts), *kept)
        values = {n: np.asarray(v) for n, v in compiled.constrain(rows.z, arguments).items()}
    depth = np.log2(np.maximum(rows.n_steps, 1)).astype(int) + 1
    # whitened sites are drawn anew again and again: their size shows whether they are accepted, entry by entry the
    # worst of hundreds would fail by chance
    whole = {
        f"|{name}|": np.linalg.norm(rows.z[name], axis=-1) for name in shapes if modes_over and name not in modes_over
    }
    diagnostics = diagnose(
        {**{name: values[name] for name in settings.block or shapes}, **whole},
        diverging=rows.diverging,
        energy=rows.energy,
        # a tree of the largest depth that stopped there by itself is counted too: it cannot be told apart
        tree_depth_hits=rows.n_steps >= 2**settings.max_tree_depth - 1,
        acceptance=rows.acceptance_rate,
        thresholds=thresholds,
    )
    diagnostics.require() if check else diagnostics.warn()
    stats = {
        "diverging": rows.diverging,
        "energy": rows.energy,
        "acceptance_rate": rows.acceptance_rate,
        "n_steps": rows.n_steps,
        "tree_depth": depth,
        "step_size": rows.step_size,
    } | ({"jumped": rows.jumped} if modes_over else {})
    record = provenance(
        settings={
            "program": getattr(model, "__qualname__", repr(model)),
            "seed": seed,
            "chains": chains,
            "draws": draws,
            **settings._asdict(),
        },
        data=tuple(np.asarray(leaf) for leaf in jax.tree.leaves(arguments)),
    )
    record["versions"] |= {"jax": jax.__version__, "numpyro": numpyro.__version__}
    return Sampled(values, rows.log_density, stats, diagnostics, time.perf_counter() - began, record)
