"""The log joint density of a program as a function of one flat vector of unconstrained parameters.

The density is that of the unconstrained vector: where a prior has bounds, the Jacobian of the map to the real line is
in it. Its integral over the whole space is the evidence p(D | H), all constants kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
from jax.flatten_util import ravel_pytree
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.infer.initialization import init_to_uniform
from numpyro.infer.util import constrain_fn, potential_energy

from bayes_lssvm.base.typing import AnyArray, Array

Program = Callable[..., Any]


@contextmanager
def double_precision() -> Iterator[None]:
    """JAX in 64 bits for the time of a call, whatever the process is set to.

    NumPyro's validation of arguments is off meanwhile: traced values escape it, and what it can see it evaluates matrix
    by matrix, outside the compiled function.
    """
    with jax.enable_x64(True), numpyro.validation_enabled(False):
        yield


def as_arguments(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Every array of the arguments as JAX's, floats in double precision; call it where 64-bit mode is on."""
    return jax.tree.map(lambda a: jnp.asarray(np.asarray(a)) if _whole(a) else jnp.asarray(a, jnp.float64), args)


def _whole(a: Any) -> bool:
    return np.asarray(a).dtype.kind in "biu"


def latent_shapes(model: Program, args: tuple[Any, ...]) -> dict[str, Any]:
    """Unconstrained shape of each latent site, found without computing anything."""

    def unconstrained(key: jax.Array, *args: Any) -> dict[str, jax.Array]:
        started = handlers.substitute(handlers.seed(model, key), substitute_fn=init_to_uniform)
        sites = handlers.trace(started).get_trace(*args)
        latent = {n: s for n, s in sites.items() if s["type"] == "sample" and not s["is_observed"]}
        discrete = [name for name, site in latent.items() if site["fn"].support.is_discrete]
        if discrete:
            raise ValueError(f"NUTS cannot move discrete sites; this program has {', '.join(discrete)}: sum them out.")
        return {name: biject_to(site["fn"].support).inv(site["value"]) for name, site in latent.items()}

    shapes = jax.eval_shape(unconstrained, jax.random.key(0), *args)
    if not shapes:
        raise ValueError("The program has no latent sites, so there is nothing to sample.")
    return dict(shapes)


@dataclass(frozen=True)
class FlatDensity:
    """log p(D, x) of a program on given arguments, for x of shape (n,); always in double precision.

    Attributes
    ----------
    names : tuple of str
        The latent sites in the order in which they lie in x.
    shapes : dict
        Unconstrained shape of each.
    size : int
        n.
    """

    model: Program
    args: tuple[Any, ...]
    names: tuple[str, ...]
    shapes: Mapping[str, tuple[int, ...]]
    size: int
    _value: Callable[[jax.Array], jax.Array]
    _gradient: Callable[[jax.Array], jax.Array]
    _hessian: Callable[[jax.Array], jax.Array]

    @classmethod
    def of(cls, model: Program, *args: Any) -> FlatDensity:
        """The density of a program, from what it is called with."""
        with double_precision():
            arguments = as_arguments(args)
            shapes = latent_shapes(model, arguments)
            flat, unravel = ravel_pytree({name: jnp.zeros(s.shape) for name, s in shapes.items()})

        def value(x: jax.Array) -> jax.Array:
            return -potential_energy(model, arguments, {}, unravel(x))

        names = tuple(sorted(shapes))  # as JAX orders dictionaries
        compiled = (jax.jit(f) for f in (value, jax.grad(value), jax.hessian(value)))
        return cls(model, arguments, names, {n: shapes[n].shape for n in names}, flat.size, *compiled)

    def _evaluate(self, function: Callable[[jax.Array], jax.Array], x: Array) -> Array:
        if np.shape(x) != (self.size,):
            raise ValueError(f"The density takes vectors of length {self.size}, got an array of shape {np.shape(x)}.")
        with double_precision():
            return np.asarray(function(jnp.asarray(x, dtype=jnp.float64)))

    def __call__(self, x: Array) -> float:
        """The log joint density at x."""
        return float(self._evaluate(self._value, x))

    def gradient(self, x: Array) -> Array:
        """Its gradient, of shape (n,)."""
        return self._evaluate(self._gradient, x)

    def hessian(self, x: Array) -> Array:
        """Its matrix of second derivatives, of shape (n, n)."""
        return self._evaluate(self._hessian, x)

    def flatten(self, values: Mapping[str, AnyArray]) -> Array:
        """The vector of unconstrained values given by site."""
        parts = [np.broadcast_to(np.asarray(values[n], dtype=float), self.shapes[n]).ravel() for n in self.names]
        return np.concatenate(parts)

    def position(self, name: str) -> slice:
        """Where a site lies in the vector."""
        before = self.names[: self.names.index(name)]
        start = sum(int(np.prod(self.shapes[n], dtype=int)) for n in before)
        return slice(start, start + int(np.prod(self.shapes[name], dtype=int)))

    def constrained(self, x: Array) -> dict[str, Array]:
        """The value of each site, on its own scale."""
        with double_precision():
            parts = {n: jnp.asarray(x[self.position(n)]).reshape(self.shapes[n]) for n in self.names}
            return {n: np.asarray(v) for n, v in constrain_fn(self.model, self.args, {}, parts).items()}
