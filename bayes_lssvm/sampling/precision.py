"""JAX in 64 bits for the time of a call, imported when it is needed: the extra `sampling` brings it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def double_precision(what: str) -> Iterator[None]:
    """JAX in 64 bits and on the CPU inside, as it was outside; `what` needs it, and says so where it is missing."""
    try:
        import jax
        import numpyro  # noqa: F401 - to say early what is missing
    except ImportError as error:
        raise ImportError(
            f'{what} needs packages that are not installed ({error}): pip install "bayes-lssvm[sampling]".'
        ) from error
    with jax.enable_x64(True), jax.default_device(jax.local_devices(backend="cpu")[0]):
        yield
