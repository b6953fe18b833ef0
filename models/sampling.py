"""NUTS on any NumPyro program, with its diagnostics as data.

The data are arguments of the compiled step, so a program that is sampled again on data of the same shape does not
compile again; chains run one after the other through it, a few draws at a time, so that the bar moves and an
interruption is heard. Everything runs in double precision, whatever the process is set to. Draws come back in memory
only, so an interrupted run leaves nothing behind.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from numpyro.infer.hmc import hmc
from numpyro.infer.util import constrain_fn, potential_energy
from threadpoolctl import threadpool_limits
from tqdm.auto import tqdm

from bayes_lssvm import _arviz
from bayes_lssvm._typing import AnyArray, Array
from bayes_lssvm.diagnostics import Diagnostics, Thresholds, diagnose
from bayes_lssvm.provenance import provenance

from .log_density import Program, as_arguments, double_precision, latent_shapes

if TYPE_CHECKING:
    from xarray import DataTree

_BUFFER = 200  # most draws between two looks at the clock and the keyboard
_SECONDS = 0.5  # about this long between them
_STARTS = 50  # points tried before giving up on a finite density
_RADIUS = 2.0  # of the box round zero, in unconstrained parameters, in which chains start


class NonFiniteStartError(ValueError):
    """The log density is not finite wherever a chain tried to start."""


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
        diverging, energy, acceptance_rate, n_steps, tree_depth, step_size.
    diagnostics : Diagnostics
        Of the latent sites.
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


class _Row(NamedTuple):
    """What is kept of one step."""

    z: dict[str, jax.Array]
    log_density: jax.Array
    energy: jax.Array
    acceptance_rate: jax.Array
    n_steps: jax.Array
    diverging: jax.Array
    step_size: jax.Array


class _Compiled(NamedTuple):
    start: Callable[..., Any]
    advance: Callable[..., Any]
    constrain: Callable[..., Any]


class _Settings(NamedTuple):
    warmup: int
    target_accept: float
    max_tree_depth: int
    dense_mass: bool | tuple[tuple[str, ...], ...]


def _compile(model: Program, settings: _Settings) -> _Compiled:
    """The functions of one program; JAX compiles them once for each shape of the data."""
    initialise, step = hmc(potential_fn_gen=lambda *args: lambda z: potential_energy(model, args, {}, z), algo="NUTS")
    dense = settings.dense_mass if isinstance(settings.dense_mass, bool) else list(settings.dense_mass)

    def start(key: jax.Array, z: dict[str, jax.Array], args: tuple[Any, ...]) -> Any:
        return initialise(
            z,
            num_warmup=settings.warmup,
            target_accept_prob=settings.target_accept,
            max_tree_depth=settings.max_tree_depth,
            dense_mass=dense,
            model_args=args,
            rng_key=key,
        )

    def row(state: Any) -> _Row:
        size = state.adapt_state.step_size
        return _Row(
            state.z, -state.potential_energy, state.energy, state.accept_prob, state.num_steps, state.diverging, size
        )

    def advance(state: Any, n: jax.Array, args: tuple[Any, ...]) -> tuple[Any, _Row]:
        def body(i: jax.Array, carry: tuple[Any, _Row]) -> tuple[Any, _Row]:
            state, kept = carry
            state = step(state, args, {})
            return state, jax.tree.map(lambda buffer, value: buffer.at[i].set(value), kept, row(state))

        empty = jax.tree.map(lambda v: jnp.zeros((_BUFFER, *jnp.shape(v)), jnp.result_type(v)), row(state))
        moved: tuple[Any, _Row] = jax.lax.fori_loop(0, n, body, (state, empty))
        return moved

    def constrain(z: dict[str, jax.Array], args: tuple[Any, ...]) -> Any:
        # a key for programs that would draw something unobserved; every latent site is given, so it is never used
        seeded = numpyro.handlers.seed(model, jax.random.key(0))
        return constrain_fn(seeded, args, {}, z, return_deterministic=True, batch_ndims=2)

    return _Compiled(jax.jit(start), jax.jit(advance), jax.jit(constrain))


_compile_once = lru_cache(maxsize=32)(_compile)


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
        Data.
    seed : int
    chains, warmup, draws : int
        Chains, steps of adaptation of each, and draws of each after them.
    target_accept : float
        Mean acceptance probability that the step size is adapted to.
    max_tree_depth : int
        A trajectory has at most 2 to the power of this steps.
    dense_mass : bool or tuple of tuples of site names
        Adapt correlations of all sites, or of these blocks.
    thresholds : Thresholds, optional
        What the chains must reach.
    check : bool
        Raise ChainsDidNotMixError where they do not; warn instead if False.
    progress : bool
        Show a bar, on a terminal.
    """
    for name, value, least in (("chains", chains, 1), ("warmup", warmup, 1), ("draws", draws, 4)):
        if not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{name} must be a whole number ≥ {least}, got {value!r}.")
    if not 0.0 < target_accept < 1.0:
        raise ValueError(f"target_accept must be between 0 and 1, got {target_accept!r}.")
    began = time.perf_counter()
    settings = _Settings(int(warmup), float(target_accept), int(max_tree_depth), dense_mass)
    bar = tqdm(total=chains * (warmup + draws), desc="NUTS", disable=None if progress else True, leave=False)
    # Cholesky factors of a few hundred rows are too small to share: on a busy machine BLAS threads that wait for each
    # other made a step twenty times slower
    with double_precision(), threadpool_limits(limits=1, user_api="blas"), bar:
        arguments = as_arguments(args)
        shapes = latent_shapes(model, arguments)
        compiled = (_compile_once if isinstance(model, Hashable) else _compile)(model, settings)
        keys = jax.random.split(jax.random.key(seed), chains)
        kept = [
            _chain(compiled, key, np.random.default_rng([seed, c]), shapes, arguments, settings.warmup, draws, bar)
            for c, key in enumerate(keys)
        ]
        rows = jax.tree.map(lambda *parts: np.stack(parts), *kept)
        values = {n: np.asarray(v) for n, v in compiled.constrain(rows.z, arguments).items()}
    depth = np.log2(np.maximum(rows.n_steps, 1)).astype(int) + 1
    diagnostics = diagnose(
        {name: values[name] for name in shapes},
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
    }
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


def _chain(
    compiled: _Compiled,
    key: jax.Array,
    rng: np.random.Generator,
    shapes: dict[str, Any],
    args: tuple[Any, ...],
    warmup: int,
    draws: int,
    bar: Any,
) -> _Row:
    """One chain: the rows after warm-up, as NumPy arrays of shape (draws, …)."""
    state = _started(compiled, key, rng, shapes, args)
    rows: list[_Row] = []
    done, n = 0, 1
    while done < warmup + draws:
        n = min(n, (warmup if done < warmup else warmup + draws) - done)
        clock = time.perf_counter()
        state, block = compiled.advance(state, n, args)
        block.diverging.block_until_ready()
        pace = n / max(time.perf_counter() - clock, 1e-9)
        if done >= warmup:
            rows.append(jax.tree.map(lambda buffer, n=n: np.asarray(buffer)[:n], block))
        done += n
        bar.update(n)
        n = int(np.clip(pace * _SECONDS, 1, min(2 * n + 8, _BUFFER)))
    return jax.tree.map(lambda *parts: np.concatenate(parts), *rows)


def _started(
    compiled: _Compiled, key: jax.Array, rng: np.random.Generator, shapes: dict[str, Any], args: tuple[Any, ...]
) -> Any:
    """The state at a point of finite density, the first of several at random."""
    for _ in range(_STARTS):
        z = {name: jnp.asarray(rng.uniform(-_RADIUS, _RADIUS, s.shape)) for name, s in shapes.items()}
        state = compiled.start(key, z, args)
        finite = [np.isfinite(state.potential_energy), *(np.isfinite(g).all() for g in state.z_grad.values())]
        if all(finite):
            return state
    raise NonFiniteStartError(
        f"The log density or its gradient is not finite at any of {_STARTS} starting points in [−{_RADIUS:g}, "
        f"{_RADIUS:g}] of the unconstrained parameters ({', '.join(shapes)}). Look for extreme values in the data and "
        "for covariance matrices that are not positive definite."
    )
