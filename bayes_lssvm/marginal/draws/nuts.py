"""The No-U-Turn sampler of NumPyro as a plain function: starting points in, draws out, compiled once.

The potential is one of two: a table of polynomials (`table`), which costs a microsecond and knows nothing of N, or a
function in NumPy called back from the compiled loop. The table is an argument of the compiled functions, and so is the
number by which a NumPy function is looked up, so that other data, priors or kernels do not compile them again. JAX is
imported when something is sampled, and its double precision is switched on for the duration of the call only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from ...base.progress import tqdm
from ...base.typing import AnyArray, Array
from ...sampling.compiled import kept_programs
from ...sampling.precision import double_precision
from .jumps import cell_log_probabilities, jump, n_modes
from .table import DEGREE, HALF_WIDTH, Table

MAX_TREE_DEPTH = 10
ValueAndGradient = Callable[[Array], tuple[float, Array]]
Jump = Callable[[Array, bool], "Array | None"]  # from a point, and whether the chain warms up, to another or None
_WHAT = 'method="nuts"'
_BLOCK = 25  # draws between two looks at the keyboard, where a draw takes long


class NutsChains(NamedTuple):
    """Draws after warm-up, with what the sampler says of each.

    Attributes
    ----------
    z : array of shape (chains, draws, D)
    potential, energy, accept : arrays of shape (chains, draws)
        Minus the log density, Hamiltonian, mean acceptance probability of the trajectory.
    steps : integer array of shape (chains, draws)
        Leapfrog steps.
    diverging : boolean array of shape (chains, draws)
    """

    z: Array
    potential: Array
    energy: Array
    accept: Array
    steps: AnyArray
    diverging: AnyArray


def sample_table(
    table: Table, starts: Array, *, warmup: int, draws: int, target_accept: float, seed: int
) -> NutsChains:
    """NUTS on (ε, z): ε is standard normal, and z has the density of the table. Several modes are joined by jumps.

    Parameters
    ----------
    table : Table
    starts : array of shape (chains, 1 + D)
    """
    with double_precision(_WHAT), kept_programs():
        import jax.numpy as jnp

        data = jnp.asarray(table.coefficients), jnp.asarray(table.stretched)
        cells = jnp.asarray(cell_log_probabilities(table)) if n_modes(table) > 1 else None
        settings = _Settings("table", warmup, target_accept, warmup + draws)
        return _sample(settings, data, starts, draws, seed, None, cells=cells)


def sample_function(
    function: ValueAndGradient,
    starts: Array,
    *,
    warmup: int,
    draws: int,
    target_accept: float,
    seed: int,
    progress: bool,
    jumps: Sequence[Jump] = (),
) -> NutsChains:
    """NUTS on a log density in NumPy; where it is not finite, a trajectory diverges.

    Parameters
    ----------
    function : callable
        From a point of shape (D,) to the log density and its gradient.
    starts : array of shape (chains, D)
    jumps : sequence of callables
        One for each chain: what moves it after each step of NUTS, by a rule that leaves the density as it is.
    """
    total = len(starts) * (warmup + draws)
    bar = tqdm(total=total, desc="NUTS", unit="draw", disable=None if progress else True, leave=False)
    with double_precision(_WHAT), _registered(function) as number, bar:
        settings = _Settings("function", warmup, target_accept, 1 if jumps else _BLOCK)
        after = [_moved_by(jump, function) for jump in jumps]
        return _sample(settings, np.float64(number), starts, draws, seed, bar, after=after)


class _Settings(NamedTuple):
    kind: str
    warmup: int
    target_accept: float
    block: int


def _sample(
    settings: _Settings,
    data: Any,
    starts: Array,
    draws: int,
    seed: int,
    bar: Any,
    *,
    cells: Any = None,
    after: Sequence[Callable[[Any, bool], Any]] = (),
) -> NutsChains:
    import jax

    start, advance = _compiled(settings)
    total = settings.warmup + draws
    kept = []
    for chain, (key, z) in enumerate(zip(jax.random.split(jax.random.key(seed), len(starts)), starts, strict=True)):
        state = start(jax.numpy.asarray(z), key, data)
        rows = []
        for done in range(0, total, settings.block):
            n = min(settings.block, total - done)
            state, row = advance(state, n, data, cells)
            if after:
                state = after[chain](state, done < settings.warmup)
                row = [jax.numpy.asarray(value)[None] for value in _row(state)]
            rows.append([np.asarray(values)[:n] for values in row])
            if bar is not None:
                bar.update(n)
        kept.append([np.concatenate(values)[settings.warmup :] for values in zip(*rows, strict=True)])
    return NutsChains(*(np.stack(values) for values in zip(*kept, strict=True)))


def _row(state: Any) -> tuple[Any, ...]:
    return state.z, state.potential_energy, state.energy, state.accept_prob, state.num_steps, state.diverging


def _moved_by(jump: Jump, function: ValueAndGradient) -> Callable[[Any, bool], Any]:
    """The state after a jump, which costs one more gradient where it goes elsewhere."""
    import jax.numpy as jnp

    def moved(state: Any, warming: bool) -> Any:
        z = jump(np.asarray(state.z), warming)
        value, gradient = (-np.inf, np.zeros(0)) if z is None else function(z)
        if z is None or not (np.isfinite(value) and np.isfinite(gradient).all()):
            return state
        potential = np.float64(-value)  # a double as before, or all would be compiled again
        energy = np.float64(state.energy) - np.float64(state.potential_energy) + potential
        there = {"z": z, "potential_energy": potential, "z_grad": -gradient, "energy": energy}
        return state._replace(**{name: jnp.asarray(value) for name, value in there.items()})

    return moved


@lru_cache(maxsize=32)
def _compiled(settings: _Settings) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Functions that set a chain up, and move it by up to `block` draws."""
    import jax
    import jax.numpy as jnp
    from numpyro.infer.hmc import hmc

    potential_of = {"table": _table_potential, "function": _function_potential}[settings.kind]
    initialise, step = hmc(potential_fn_gen=potential_of, algo="NUTS")

    def start(z: Any, key: Any, data: Any) -> Any:
        return initialise(
            z,
            num_warmup=settings.warmup,
            target_accept_prob=settings.target_accept,
            max_tree_depth=MAX_TREE_DEPTH,
            dense_mass=True,
            model_args=(data,),
            rng_key=key,
        )

    def jumped(state: Any, data: Any, cells: Any) -> Any:
        key, own = jax.random.split(state.rng_key)
        potential = potential_of(data)
        z, energy = jump(own, state.z, state.potential_energy, potential, cells, data[1])
        kinetic = state.energy - state.potential_energy
        gradient = jax.grad(potential)(z)
        return state._replace(z=z, potential_energy=energy, z_grad=gradient, energy=energy + kinetic, rng_key=key)

    def advance(state: Any, n: Any, data: Any, cells: Any) -> Any:
        def body(i: Any, carry: Any) -> Any:
            state, buffers = carry
            state = step(state, (data,), {})
            if cells is not None:
                state = jumped(state, data, cells)
            return state, tuple(b.at[i].set(v) for b, v in zip(buffers, _row(state), strict=True))

        buffers = tuple(jnp.zeros((settings.block, *jnp.shape(v)), jnp.result_type(v)) for v in _row(state))
        return jax.lax.fori_loop(0, n, body, (state, buffers))

    return jax.jit(start), jax.jit(advance)


def _table_potential(data: tuple[Any, Any]) -> Callable[[Any], Any]:
    """½ε² minus the log density of z, from a table's coefficients and its stretched axes."""
    import jax
    import jax.numpy as jnp

    coefficients, stretched = data
    cells = np.array(coefficients.shape[: coefficients.ndim // 2])

    def potential(x: Any) -> Any:
        z = x[1:]
        within = jnp.clip(z, -HALF_WIDTH, HALF_WIDTH)
        share = jnp.where(stretched, 0.5 + 0.5 * within / HALF_WIDTH, jax.nn.sigmoid(z))
        cell = jnp.clip(jnp.floor(share * cells).astype(int), 0, cells - 1)
        value = coefficients[tuple(cell)]
        for t in share - (cell + 0.5) / cells:  # Horner's rule, one axis after the other
            total = value[0]
            for k in range(1, DEGREE + 1):
                total = total * t + value[k]
            value = total
        # beyond the end of a stretched axis the density falls as the Jacobian does
        outside = jnp.where(stretched, -jnp.abs(z - within), jax.nn.log_sigmoid(z) + jax.nn.log_sigmoid(-z))
        return 0.5 * x[0] ** 2 - value - outside.sum()

    return potential


_FUNCTIONS: dict[int, ValueAndGradient] = {}
_NUMBERS = count()


@contextmanager
def _registered(function: ValueAndGradient) -> Iterator[int]:
    number = next(_NUMBERS)
    _FUNCTIONS[number] = function
    try:
        yield number
    finally:
        del _FUNCTIONS[number]


def _call(words: AnyArray) -> AnyArray:
    """Potential and gradient, (1 + D,) doubles, by the registered function; both sides as 32-bit words."""
    number, *x = np.ascontiguousarray(words).view(np.float64)[:, 0]
    value, gradient = _FUNCTIONS[int(number)](np.array(x))
    finite = np.isfinite(value) and np.isfinite(gradient).all()
    answer = np.concatenate([[-value], -gradient]) if finite else np.concatenate([[np.inf], np.zeros(len(x))])
    return answer[:, None].view(np.uint32)


def _function_potential(number: Any) -> Callable[[Any], Any]:
    """The registered function as a potential with its own derivative."""
    import jax
    import jax.numpy as jnp
    from jax.lax import bitcast_convert_type

    shape_of: Any = jax.ShapeDtypeStruct

    # JAX calls back on a thread where 64 bits are not switched on and would round doubles, so they travel as integers
    def both(number: Any, x: Any) -> Any:
        words = bitcast_convert_type(jnp.concatenate([number[None], x]), jnp.uint32)
        answer = jax.pure_callback(_call, shape_of(words.shape, jnp.uint32), words, vmap_method="sequential")
        answer = bitcast_convert_type(answer, jnp.float64)
        return answer[0], answer[1:]

    @jax.custom_vjp
    def potential(number: Any, x: Any) -> Any:
        return both(number, x)[0]

    def backward(gradient: Any, cotangent: Any) -> tuple[None, Any]:
        return None, cotangent * gradient

    potential.defvjp(both, backward)
    return lambda x: potential(number, x)
