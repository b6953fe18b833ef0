"""The compiled parts of NUTS for one program, and a chain that is run through them.

The data are arguments of the compiled functions, so they serve all data of one shape. A chain takes a few draws at a
time from them, about half a second's worth, so that a bar can move and an interruption is heard; how it is cut up does
not change it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpyro import handlers
from numpyro.infer.hmc import hmc
from numpyro.infer.util import constrain_fn, potential_energy

from models.log_density import Program

_BUFFER = 200  # most draws between two looks at the clock and the keyboard
_SECONDS = 0.5  # about this long between them
_STARTS = 50  # points tried before giving up on a finite density
_RADIUS = 2.0  # of the box round zero, in unconstrained parameters, in which chains start


class NonFiniteStartError(ValueError):
    """The log density is not finite wherever a chain tried to start."""


class Step(NamedTuple):
    """What is kept of one step."""

    z: dict[str, jax.Array]
    log_density: jax.Array
    energy: jax.Array
    acceptance_rate: jax.Array
    n_steps: jax.Array
    diverging: jax.Array
    step_size: jax.Array


class Compiled(NamedTuple):
    """Start at a point, advance n steps, and map unconstrained draws to the sites' own scales."""

    start: Callable[..., Any]
    advance: Callable[..., Any]
    constrain: Callable[..., Any]


class Settings(NamedTuple):
    """What is compiled in."""

    warmup: int
    target_accept: float
    max_tree_depth: int
    dense_mass: bool | tuple[tuple[str, ...], ...]


def _compile(model: Program, settings: Settings) -> Compiled:
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

    def row(state: Any) -> Step:
        size = state.adapt_state.step_size
        return Step(
            state.z, -state.potential_energy, state.energy, state.accept_prob, state.num_steps, state.diverging, size
        )

    def advance(state: Any, n: jax.Array, args: tuple[Any, ...]) -> tuple[Any, Step]:
        def body(i: jax.Array, carry: tuple[Any, Step]) -> tuple[Any, Step]:
            state, kept = carry
            state = step(state, args, {})
            return state, jax.tree.map(lambda buffer, value: buffer.at[i].set(value), kept, row(state))

        empty = jax.tree.map(lambda v: jnp.zeros((_BUFFER, *jnp.shape(v)), jnp.result_type(v)), row(state))
        moved: tuple[Any, Step] = jax.lax.fori_loop(0, n, body, (state, empty))
        return moved

    def constrain(z: dict[str, jax.Array], args: tuple[Any, ...]) -> Any:
        # a key for programs that would draw something unobserved; every latent site is given, so it is never used
        seeded = handlers.seed(model, jax.random.key(0))
        return constrain_fn(seeded, args, {}, z, return_deterministic=True, batch_ndims=2)

    return Compiled(jax.jit(start), jax.jit(advance), jax.jit(constrain))


_compile_once = lru_cache(maxsize=32)(_compile)


def compiled_for(model: Program, settings: Settings) -> Compiled:
    """The functions of a program, those of last time if it can be recognised."""
    try:
        hash((model, settings))
    except TypeError:
        return _compile(model, settings)
    return _compile_once(model, settings)


def run_chain(
    compiled: Compiled,
    key: jax.Array,
    rng: np.random.Generator,
    shapes: dict[str, Any],
    args: tuple[Any, ...],
    warmup: int,
    draws: int,
    bar: Any,
) -> Step:
    """One chain: the rows after warm-up, as NumPy arrays of shape (draws, …)."""
    state = _started(compiled, key, rng, shapes, args)
    rows: list[Step] = []
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
    compiled: Compiled, key: jax.Array, rng: np.random.Generator, shapes: dict[str, Any], args: tuple[Any, ...]
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
