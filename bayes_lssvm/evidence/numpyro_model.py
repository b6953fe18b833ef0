"""A NumPyro model as a density on R^d: draws to unconstrained parameters, log joint with Jacobians.

For latent sites θ whose supports a bijection T maps R^d onto, θ = T(x), and observed data D,

    q(x) = p(D, T(x)) |det ∂T/∂x|,          ∫ q(x) dx = p(D)

NumPyro's `potential_energy` is −log q with every normalising constant of priors and likelihood in it; an improper
uniform site counts with density one. Supports that depend on other sites (Uniform(0, τ)) are mapped draw by draw.
Everything runs in 64 bits, whatever the caller's mode: single precision costs tens of nats where a covariance is
ill-conditioned. JAX and NumPyro are imported when a model is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..base.progress import tqdm
from ..base.streams import stream
from ..base.text import scalar_names
from ..base.typing import AnyArray, Array
from ..sampling.precision import double_precision

Draws = Mapping[str, AnyArray]
DEFAULT_CHUNK = 64  # points a call: the matrices of a Gaussian process on a thousand points then take half a gigabyte
_BAR_FROM = 50  # chunks: less is done before a bar could be read
_WHAT = "A NumPyro model"
_RADIUS = 2.0  # of starting points, as NumPyro has it
_PRIOR_KEY = 0x57A7  # of the stream of draws of the prior


@dataclass(frozen=True)
class Site:
    """A latent site: its name, its shape when constrained and when not, and whether its prior is improper."""

    name: str
    shape: tuple[int, ...]
    unconstrained: tuple[int, ...]
    improper: bool

    @property
    def size(self) -> int:
        """Number of unconstrained parameters."""
        return math.prod(self.unconstrained)


@dataclass(frozen=True)
class UnconstrainedModel:
    """A NumPyro model with its arguments, as a density of flat unconstrained vectors of length `dim`."""

    model: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    sites: tuple[Site, ...]
    observed: tuple[str, ...]
    chunk: int = DEFAULT_CHUNK

    @classmethod
    def of(
        cls,
        model: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        draws: Draws | None = None,
        *,
        chunk: int = DEFAULT_CHUNK,
    ) -> UnconstrainedModel:
        """Find the latent sites, and refuse draws that are not theirs."""
        if chunk < 1:
            raise ValueError(f"chunk must be 1 or more, got {chunk}.")
        sites: list[Site] = []
        observed: list[str] = []
        with double_precision(_WHAT):
            import jax

            wide_args, wide_kwargs = widened(tuple(args)), widened(dict(kwargs))

            def look(values: Draws | None) -> None:
                trace = _trace(model, wide_args, wide_kwargs, values)
                sites.extend(_site(name, site) for name, site in _latent(trace, values).items())
                observed.extend(n for n, s in trace.items() if s["type"] == "sample" and s["is_observed"])

            jax.eval_shape(look, None if draws is None else dict(draws))  # only shapes: nothing is computed
        return cls(model, wide_args, wide_kwargs, tuple(sites), tuple(observed), chunk)

    @property
    def dim(self) -> int:
        """Number of unconstrained parameters."""
        return sum(site.size for site in self.sites)

    @property
    def title(self) -> str:
        """What the model is called."""
        return str(getattr(self.model, "__name__", repr(self.model)))

    @property
    def data(self) -> tuple[AnyArray, ...]:
        """The arrays among the arguments, for provenance."""
        import jax

        return tuple(np.asarray(leaf) for leaf in jax.tree.leaves((self.args, self.kwargs)) if hasattr(leaf, "dtype"))

    @property
    def names(self) -> tuple[str, ...]:
        """One name for each unconstrained parameter: the site's, with an index where it has several."""
        return scalar_names({site.name: site.unconstrained for site in self.sites})

    @property
    def improper(self) -> tuple[str, ...]:
        """Sites whose prior is improper."""
        return tuple(site.name for site in self.sites if site.improper)

    def split(self, x: Any) -> dict[str, Any]:
        """Unconstrained values by site, of one flat vector of shape (d,)."""
        ends = np.cumsum([site.size for site in self.sites])
        return {s.name: x[end - s.size : end].reshape(s.unconstrained) for s, end in zip(self.sites, ends, strict=True)}

    def potential(self, x: Any) -> Any:
        """Minus log q at one flat vector, as JAX sees it."""
        from numpyro.infer.util import potential_energy

        return potential_energy(self.model, self.args, self.kwargs, self.split(x))

    def unconstrain(self, draws: Draws) -> Array:
        """Draws {site: (chains, n, …)} or {site: (n, …)} as an array of shape (chains, n, d)."""
        leads = {np.shape(draws[s.name])[: np.ndim(draws[s.name]) - len(s.shape)] for s in self.sites}
        lead = leads.pop()
        if leads or len(lead) not in (1, 2):
            raise ValueError(
                "Draws must have shape (chains, n, …) or (n, …) with the site's own shape last, the same number for "
                f"every site; found { {s.name: np.shape(draws[s.name]) for s in self.sites} } for sites of shape "
                f"{ {s.name: s.shape for s in self.sites} }."
            )
        flat = {s.name: np.asarray(draws[s.name], dtype=float).reshape(-1, *s.shape) for s in self.sites}

        def one(values: dict[str, Any]) -> Any:
            return self._flat(_trace(self.model, self.args, self.kwargs, values))

        points = in_chunks(vectorised(one), flat, self.chunk, "draws mapped")
        if not np.all(np.isfinite(points)):
            raise ValueError(
                f"{np.sum(~np.isfinite(points).all(axis=-1))} draws lie on the boundary of a support, where they "
                "have no unconstrained value. This happens in single precision: sample in 64 bits "
                "(numpyro.enable_x64())."
            )
        return points.reshape(-1 if len(lead) == 2 else 1, lead[-1], self.dim)

    def log_density(self, x: Array) -> Array:
        """Log q at points of shape (m, d)."""
        return in_chunks(self._log_density, np.asarray(x, dtype=float), self.chunk, "densities")

    def value_and_gradient(self, x: Array) -> tuple[float, Array]:
        """Log q and its gradient at one point of shape (d,)."""
        found = in_chunks(self._with_gradient, np.asarray(x, dtype=float)[None], 1, "gradients")[0]
        return float(found[0]), found[1:]

    def hessians(self, x: Array) -> Array:
        """Matrices of second derivatives of log q at points of shape (m, d), of shape (m, d, d)."""
        return in_chunks(self._hessians, np.asarray(x, dtype=float), max(1, self.chunk // 16), "Hessians", single=False)

    @cached_property
    def _log_density(self) -> Callable[[Any], Any]:
        return vectorised(lambda x: -self.potential(x))

    @cached_property
    def _with_gradient(self) -> Callable[[Any], Any]:
        import jax
        import jax.numpy as jnp

        def both(x: Any) -> Any:
            value, gradient = jax.value_and_grad(self.potential)(x)
            return -jnp.concatenate([value[None], gradient])

        return vectorised(both)

    @cached_property
    def _hessians(self) -> Callable[[Any], Any]:
        import jax

        return vectorised(lambda x: -jax.hessian(self.potential)(x))

    def prior_draws(self, n: int, seed: int) -> Array:
        """Unconstrained draws of the prior, of shape (n, d); an improper one is refused."""
        if self.improper:
            raise ValueError(
                f"Sites {', '.join(self.improper)} have no distribution to draw from: their prior is improper. "
                "Bridge sampling works for such models; methods that start from the prior do not."
            )
        with double_precision(_WHAT):
            import jax

            key = jax.random.fold_in(jax.random.key(seed), _PRIOR_KEY)
            keys = jax.random.split(key, -(-n // self.chunk))
            parts = [np.asarray(self._prior(jax.random.split(key, self.chunk))) for key in keys]
        return np.concatenate(parts)[:n]

    @cached_property
    def _prior(self) -> Callable[[Any], Any]:
        from numpyro import handlers

        def drawn(key: Any) -> Any:
            return self._flat(handlers.trace(handlers.seed(self.model, key)).get_trace(*self.args, **self.kwargs))

        return vectorised(drawn)

    def starts(self, n: int, seed: int) -> Array:
        """Starting points of shape (n, d): uniform in [−2, 2], and every other one from a proper prior."""
        points = stream(seed, "starts").uniform(-_RADIUS, _RADIUS, (n, self.dim))
        if not self.improper:
            points[1::2] = self.prior_draws(n, seed)[1::2]
        return points[np.isfinite(points).all(axis=1)]

    def _flat(self, trace: Mapping[str, Any]) -> Any:
        """Values of a trace as one flat unconstrained vector."""
        import jax.numpy as jnp
        from numpyro.distributions import biject_to

        parts = [biject_to(trace[s.name]["fn"].support).inv(trace[s.name]["value"]) for s in self.sites]
        return jnp.concatenate([jnp.ravel(part) for part in parts])


def versions() -> dict[str, str]:
    """Of JAX and NumPyro, for provenance."""
    import jax
    import numpyro

    return {"jax": jax.__version__, "numpyro": numpyro.__version__}


def vectorised(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function over the first axis of its argument's arrays, compiled."""
    import jax

    return jax.jit(jax.vmap(function))


def in_chunks(function: Callable[[Any], Any], values: Any, chunk: int, what: str, *, single: bool = True) -> Array:
    """A compiled function over the first axis of arrays, a chunk at a time, in 64 bits.

    Chunks are filled up with copies, so that no shape is compiled but that of a chunk and, if it may be, that of a
    single point.
    """
    out = []
    with double_precision(_WHAT):
        import jax
        import jax.numpy as jnp

        m = len(jax.tree.leaves(values)[0])
        chunk = 1 if single and m == 1 else chunk
        starts = range(0, m, chunk)
        for start in tqdm(starts, desc=what, leave=False, disable=None if len(starts) >= _BAR_FROM else True):
            index = np.minimum(np.arange(start, start + chunk), m - 1)
            part = jax.tree.map(lambda a: jnp.asarray(a[index], dtype=jnp.float64), values)  # noqa: B023 - called at once
            out.append(np.asarray(function(part))[: m - start])
    return np.concatenate(out)


def widened(tree: Any) -> Any:
    """The same arguments with single-precision arrays in double precision."""
    import jax

    def widen(leaf: Any) -> Any:
        return np.asarray(leaf, dtype=float) if getattr(leaf, "dtype", None) in (np.float32, np.float16) else leaf

    return jax.tree.map(widen, tree)


def _trace(
    model: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], draws: Draws | None
) -> dict[str, Any]:
    """The trace of the model at one draw: values of the site's own shape, or the first of many; anywhere without."""
    import jax.numpy as jnp
    from numpyro import handlers
    from numpyro.infer.initialization import init_to_uniform

    def value(site: dict[str, Any]) -> Any:
        if draws is None:
            return init_to_uniform(site)
        if site["type"] != "sample" or site["name"] not in draws or site["is_observed"]:
            return None
        shape, given = tuple(site["fn"].shape()), draws[site["name"]]
        if np.ndim(given) < len(shape) or np.shape(given)[np.ndim(given) - len(shape) :] != shape:
            raise ValueError(
                f"Site {site['name']!r} has shape {shape} in the model, but its draws have shape {np.shape(given)}; "
                "they must be (chains, n, …) with the site's own shape last."
            )
        return jnp.asarray(given).reshape(-1, *shape)[0]

    seeded = handlers.substitute(handlers.seed(model, rng_seed=0), substitute_fn=value)
    return dict(handlers.trace(seeded).get_trace(*args, **kwargs))


def _latent(trace: dict[str, Any], draws: Draws | None) -> dict[str, Any]:
    """The latent sites of a trace; a sentence for each kind of thing that has no evidence by integration."""
    for name, site in trace.items():
        if site["type"] == "plate" and site["args"][1] not in (None, site["args"][0]):
            raise ValueError(f"Plate {name!r} takes a random subsample of the data: the evidence needs all the data.")
        if site["type"] == "param":
            raise ValueError(f"Site {name!r} is a numpyro.param, which has no prior; make it a sample site.")
    latent = {n: s for n, s in trace.items() if s["type"] == "sample" and not s["is_observed"]}
    if not latent:
        raise ValueError(
            "The model has no latent sites, so there is nothing to integrate: its log density is already log Z."
        )
    discrete = [name for name, site in latent.items() if site["fn"].support.is_discrete]
    if discrete:
        raise ValueError(
            f"Sites {', '.join(discrete)} are discrete. Sum them out in the model (a mixture distribution, "
            "logsumexp): the evidence is an integral over real parameters."
        )
    if draws is None:
        return latent
    missing = [name for name in latent if name not in draws]
    if missing:
        raise ValueError(f"There are no draws of the latent sites {', '.join(missing)}; found {', '.join(draws)}.")
    unknown = [name for name in draws if name not in trace]
    if unknown:
        raise ValueError(
            f"There are draws of {', '.join(unknown)}, which the model does not have: are they draws of another model, "
            "or of another parametrisation of it?"
        )
    return latent


def _site(name: str, site: dict[str, Any]) -> Site:
    from numpyro.distributions import biject_to

    fn = site["fn"]
    shape = tuple(fn.shape())
    return Site(name, shape, tuple(biject_to(fn.support).inverse_shape(shape)), _is_improper(fn))


def _is_improper(fn: Any) -> bool:
    from numpyro.distributions import ImproperUniform

    while not isinstance(fn, ImproperUniform):
        fn = getattr(fn, "base_dist", None)
        if fn is None:
            return False
    return True
