"""The compiled parts of NUTS for one program, and a chain that is run through them.

The data are arguments of the compiled functions, so they serve all data of one shape. A chain takes a few draws at a
time from them, about half a second's worth, so that a bar can move and an interruption is heard; how it is cut up does
not change it. Chains run one after the other, or all in one vectorised step.

Where a block of hyperparameters is named, NUTS moves these alone, in the metric of the Gaussian at their highest mode;
jumps between modes and fresh values of all other sites (`moves`) come after each step.
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
from models.modes import Mixture
from models.moves import Sites, move

_BUFFER = 200  # most draws between two looks at the clock and the keyboard
_SECONDS = 0.5  # about this long between them
_STARTS = 50  # points tried before giving up on a finite density
_SCATTER = 1.5  # standard deviations of the modes' Gaussians
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
    jumped: jax.Array


class Chain(NamedTuple):
    """Where a chain is: NUTS's own state, the sites that it does not move, and a key for what does."""

    state: Any
    rest: Sites
    key: jax.Array


class Compiled(NamedTuple):
    """Start at a point, advance n steps, and map unconstrained draws to the sites' own scales.

    The first two take a chain, or all chains at once where they are vectorised.
    """

    start: Callable[..., Any]
    advance: Callable[..., Any]
    constrain: Callable[..., Any]


class Settings(NamedTuple):
    """What is compiled in.

    Attributes
    ----------
    warmup, target_accept, max_tree_depth, dense_mass
        As for `models.sample`.
    block : tuple of str
        Hyperparameters that NUTS moves while the other sites are refreshed; empty where it moves all sites.
    jumps : int
        Jumps of the block for each draw.
    nuts_every : int
        After warm-up, NUTS moves the block for every so many draws; jumps do for all of them.
    vectorised : bool
    """

    warmup: int
    target_accept: float
    max_tree_depth: int
    dense_mass: bool | tuple[tuple[str, ...], ...]
    block: tuple[str, ...] = ()
    jumps: int = 0
    nuts_every: int = 1
    vectorised: bool = False


def _compile(model: Program, settings: Settings) -> Compiled:
    """The functions of one program; JAX compiles them once for each shape of the data."""
    block, jumps = settings.block, settings.jumps

    def potential_of(args: tuple[Any, ...], rest: Sites) -> Callable[[Sites], jax.Array]:
        return lambda z: potential_energy(model, args, {}, {**z, **rest})

    initialise, step = hmc(potential_fn_gen=potential_of, algo="NUTS")
    dense = settings.dense_mass if isinstance(settings.dense_mass, bool) else list(settings.dense_mass)

    def start(key: jax.Array, z: Sites, args: tuple[Any, ...], mixture: Mixture | None) -> Chain:
        own = {name: value for name, value in z.items() if not block or name in block}
        rest = {name: value for name, value in z.items() if name not in own}
        metric = None if mixture is None else {block: mixture.factors[0] @ mixture.factors[0].T}
        state = initialise(
            own,
            num_warmup=settings.warmup,
            target_accept_prob=settings.target_accept,
            max_tree_depth=settings.max_tree_depth,
            inverse_mass_matrix=metric,
            dense_mass=dense if mixture is None else [block],
            model_args=(args, rest),
            rng_key=key,
        )
        return Chain(state, rest, jax.random.fold_in(key, 1))

    def moved(chain: Chain, args: tuple[Any, ...], mixture: Mixture) -> tuple[Chain, jax.Array]:
        key, own = jax.random.split(chain.key)

        def potential(x: jax.Array, rest: Sites) -> jax.Array:
            return potential_of(args, rest)(dict(zip(block, x, strict=True)))

        state = chain.state
        x = jnp.stack([state.z[name] for name in block])
        found = move(own, x, chain.rest, state.potential_energy, potential, mixture, jumps)
        z = dict(zip(block, found.x, strict=True))
        energy = state.energy - state.potential_energy + found.potential
        state = state._replace(z=z, potential_energy=found.potential, energy=energy)
        return Chain(state, found.rest, key), found.accepted

    def row(chain: Chain, jumped: jax.Array) -> Step:
        state, size = chain.state, chain.state.adapt_state.step_size
        sites = {**state.z, **chain.rest}
        return Step(
            sites,
            -state.potential_energy,
            state.energy,
            state.accept_prob,
            state.num_steps,
            state.diverging,
            size,
            jumped,
        )

    def by_nuts(chain: Chain, args: tuple[Any, ...]) -> Chain:
        if jumps:  # only here is the gradient at the point needed where jumps and fresh values ended
            gradient = jax.grad(potential_of(args, chain.rest))(chain.state.z)
            chain = chain._replace(state=chain.state._replace(z_grad=gradient))
        return chain._replace(state=step(chain.state, (args, chain.rest), {}))

    def rested(chain: Chain, args: tuple[Any, ...]) -> Chain:
        none = {"num_steps": chain.state.num_steps * 0, "diverging": jnp.zeros_like(chain.state.diverging)}
        return chain._replace(state=chain.state._replace(**none))

    def advance(
        chain: Chain, done: jax.Array, n: jax.Array, args: tuple[Any, ...], mixture: Mixture | None
    ) -> tuple[Chain, Step]:
        def body(i: jax.Array, carry: tuple[Chain, Step]) -> tuple[Chain, Step]:
            chain, kept = carry
            if settings.nuts_every == 1:
                chain = by_nuts(chain, args)
            else:
                turn = (done + i < settings.warmup) | ((done + i) % settings.nuts_every == 0)
                chain = jax.lax.cond(turn, by_nuts, rested, chain, args)
            jumped = jnp.zeros(())
            if mixture is not None:
                chain, jumped = moved(chain, args, mixture)
            return chain, jax.tree.map(lambda buffer, value: buffer.at[i].set(value), kept, row(chain, jumped))

        first = row(chain, jnp.zeros(()))
        empty = jax.tree.map(lambda v: jnp.zeros((_BUFFER, *jnp.shape(v)), jnp.result_type(v)), first)
        result: tuple[Chain, Step] = jax.lax.fori_loop(0, n, body, (chain, empty))
        return result

    def constrain(z: dict[str, jax.Array], args: tuple[Any, ...]) -> Any:
        # a key for programs that would draw something unobserved; every latent site is given, so it is never used
        seeded = handlers.seed(model, jax.random.key(0))

        def one(values: dict[str, jax.Array]) -> Any:
            return constrain_fn(seeded, args, {}, values, return_deterministic=True)

        # one draw after the other: a matrix for each of thousands of them at once can exceed the memory
        found = jax.lax.map(one, {name: v.reshape(-1, *v.shape[2:]) for name, v in z.items()})
        chains_and_draws = next(iter(z.values())).shape[:2]
        return jax.tree.map(lambda v: v.reshape(*chains_and_draws, *v.shape[1:]), found)

    if settings.vectorised:
        all_start = jax.vmap(start, (0, 0, None, None))
        all_advance = jax.vmap(advance, (0, None, None, None, None))
        return Compiled(jax.jit(all_start), jax.jit(all_advance), jax.jit(constrain))
    return Compiled(jax.jit(start), jax.jit(advance), jax.jit(constrain))


_compile_once = lru_cache(maxsize=32)(_compile)


def compiled_for(model: Program, settings: Settings) -> Compiled:
    """The functions of a program, those of last time if it can be recognised."""
    try:
        hash((model, settings))
    except TypeError:
        return _compile(model, settings)
    return _compile_once(model, settings)


class Start(NamedTuple):
    """Where chains may start: the sites' shapes, and the modes of those that have some."""

    shapes: dict[str, Any]
    mixture: Mixture | None
    block: tuple[str, ...]

    def point(self, rng: np.random.Generator) -> Sites:
        """In a box round zero, or scattered round the modes with the other sites standard normal."""
        if self.mixture is None:
            return {name: jnp.asarray(rng.uniform(-_RADIUS, _RADIUS, s.shape)) for name, s in self.shapes.items()}
        means, factors, log_weights = self.mixture
        i = rng.choice(len(means), p=np.exp(log_weights))
        x = means[i] + _SCATTER * factors[i] @ rng.standard_normal(len(self.block))
        z = {name: jnp.asarray(rng.standard_normal(s.shape)) for name, s in self.shapes.items()}
        return {**z, **{name: jnp.asarray(value) for name, value in zip(self.block, x, strict=True)}}


def run_chain(
    compiled: Compiled,
    key: jax.Array,
    rngs: list[np.random.Generator],
    where: Start,
    args: tuple[Any, ...],
    warmup: int,
    draws: int,
    bar: Any,
) -> Step:
    """One chain, or several where there are as many keys: rows after warm-up, of shape ([chains], draws, …)."""
    several = key.ndim == 1
    chain = _started(compiled, key, rngs, where, args)
    rows: list[Step] = []
    done, n = 0, 1
    while done < warmup + draws:
        n = min(n, (warmup if done < warmup else warmup + draws) - done)
        clock = time.perf_counter()
        chain, block = compiled.advance(chain, done, n, args, where.mixture)
        block.diverging.block_until_ready()
        pace = n / max(time.perf_counter() - clock, 1e-9)
        if done >= warmup:
            rows.append(jax.tree.map(lambda buffer, n=n: np.asarray(buffer[:, :n] if several else buffer[:n]), block))
        done += n
        bar.update(n * len(rngs))
        n = int(np.clip(pace * _SECONDS, 1, min(2 * n + 8, _BUFFER)))
    return jax.tree.map(lambda *parts: np.concatenate(parts, axis=int(several)), *rows)


def _started(
    compiled: Compiled, key: jax.Array, rngs: list[np.random.Generator], where: Start, args: tuple[Any, ...]
) -> Chain:
    """The chains at points of finite density, the first of several at random."""
    several, good = key.ndim == 1, np.zeros(len(rngs), dtype=bool)
    points = [where.point(rng) for rng in rngs]
    for _ in range(_STARTS):
        z = jax.tree.map(lambda *parts: jnp.stack(parts), *points) if several else points[0]
        chain = compiled.start(key, z, args, where.mixture)
        finite = [chain.state.potential_energy, *chain.state.z_grad.values()]
        good = np.all([np.isfinite(f).reshape(len(rngs), -1).all(axis=1) for f in finite], axis=0)
        if good.all():
            return chain
        points = [p if ok else where.point(rng) for p, ok, rng in zip(points, good, rngs, strict=True)]
    raise NonFiniteStartError(
        f"The log density or its gradient is not finite at any of {_STARTS} starting points in [−{_RADIUS:g}, "
        f"{_RADIUS:g}] of the unconstrained parameters ({', '.join(where.shapes)}). Look for extreme values in the "
        "data and for covariance matrices that are not positive definite."
    )
