"""What goes wrong, said in sentences: error and warning classes, and the checks they come from."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType
from typing import NamedTuple

import numpy as np


class NotPositiveSemidefiniteError(np.linalg.LinAlgError, ValueError):
    """A kernel matrix has a negative eigenvalue, or noise on its diagonal that is below its rounding.

    A `ValueError`, since it is the kernel or γ that has to change, and a `LinAlgError`, so that code that guards a
    factorisation as NumPy's and SciPy's are guarded catches this one too.
    """


class MatrixTooLargeError(MemoryError, ValueError):
    """A kernel matrix would not fit into memory; raised before it is allocated."""


class UnknownKernelError(ValueError):
    """A kernel of a class that `bayes_lssvm.kernels.register` has not been told of, on its way to or from a file."""


class BayesLSSVMWarning(UserWarning):
    """A result that is returned but should be read with care."""


class LongFitWarning(BayesLSSVMWarning):
    """A fit that takes longer than a few seconds, said before it starts, with its time and memory."""


class NoSignalWarning(BayesLSSVMWarning):
    """The data are explained about as well by noise alone (γ → 0)."""


class InterpolationWarning(BayesLSSVMWarning):
    """Level 2 runs to the interpolating corner (γ → ∞)."""


class EvidenceDivergenceWarning(BayesLSSVMWarning):
    """Eq 5.3 diverges because γ_eff is close to 1 or to N."""


class TiedOptimaWarning(BayesLSSVMWarning):
    """Two models that differ are equally good by the criterion; one of them was taken."""


class DamagedFileWarning(BayesLSSVMWarning):
    """A file that was kept to save work cannot be used; what it held is computed again."""


class ConstantFeatureWarning(BayesLSSVMWarning):
    """A column of the inputs has no variance; it is kept at zero."""


def require_positive(what: str, value: float) -> float:
    """The value as a float; refuse one that is not a positive finite number."""
    if not isinstance(value, int | float | np.number) or not (np.isfinite(value) and value > 0):
        raise ValueError(f"{what} must be a positive finite number, got {value!r}.")
    return float(value)


class Said(NamedTuple):
    """A warning as data."""

    message: str
    category: type[Warning]


# Who hears the warnings of this thread instead of Python, whose filters belong to the whole process: a block that
# changes them and puts them back, in two threads at once, leaves them changed.
_LISTENER: ContextVar[list[Said] | None] = ContextVar("listener", default=None)


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line outside this package from which the call came, or tell who listens (`heard`)."""
    listener = _LISTENER.get()
    if listener is not None:
        listener.append(Said(message, category))
        return
    frame: FrameType | None = sys._getframe()
    level = 1
    while frame is not None and str(frame.f_globals.get("__name__", "")).partition(".")[0] == "bayes_lssvm":
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def heard() -> Iterator[list[Said]]:
    """The library's warnings of this thread within the block, as data; none of them is issued."""
    said: list[Said] = []
    token = _LISTENER.set(said)
    try:
        yield said
    finally:
        _LISTENER.reset(token)


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the library's warnings to itself, where what they would say comes back as numbers and checks."""
    with heard():
        yield
