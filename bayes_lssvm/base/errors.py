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

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm import NotPositiveSemidefiniteError
    >>> from bayes_lssvm.kernels import MLP, check_positive_semidefinite
    >>> try:
    ...     check_positive_semidefinite(MLP(1.0, 1.0), np.array([[0.0, 1.0], [1.0, 0.0]]))
    ... except NotPositiveSemidefiniteError:
    ...     print("not an inner product")
    ...
    not an inner product
    """


class MatrixTooLargeError(MemoryError, ValueError):
    """A kernel matrix would not fit into memory; raised before it is allocated.

    Examples
    --------
    >>> from bayes_lssvm import MatrixTooLargeError
    >>> issubclass(MatrixTooLargeError, MemoryError)
    True
    """


class UnknownKernelError(ValueError):
    """A kernel of a class that `bayes_lssvm.kernels.register` has not been told of, on its way to or from a file."""


class BayesLSSVMWarning(UserWarning):
    """A result that is returned but should be read with care.

    Examples
    --------
    >>> import warnings
    >>> from bayes_lssvm import BayesianLSSVC, BayesLSSVMWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", BayesLSSVMWarning)
    ...     model = BayesianLSSVC("linear").fit([[0.0], [1.0], [0.0], [1.0]], [0, 0, 1, 1])
    ...
    """


class LongFitWarning(BayesLSSVMWarning):
    """A fit that takes longer than a few seconds, said before it starts, with its time and memory.

    Examples
    --------
    >>> import warnings
    >>> from bayes_lssvm import LongFitWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", LongFitWarning)  # a fit that would take long is refused
    ...
    """


class NoSignalWarning(BayesLSSVMWarning):
    """The data are explained about as well by noise alone (γ → 0).

    Examples
    --------
    >>> import warnings
    >>> from bayes_lssvm import BayesianLSSVC
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = BayesianLSSVC("linear").fit([[0.0], [1.0], [0.0], [1.0]], [0, 0, 1, 1])
    ...
    >>> sorted({warning.category.__name__ for warning in caught})
    ['NoSignalWarning']
    """


class InterpolationWarning(BayesLSSVMWarning):
    """Level 2 runs to the interpolating corner (γ → ∞).

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from bayes_lssvm import BayesianLSSVR
    >>> x = np.linspace(-1, 1, 20)[:, None]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = BayesianLSSVR("linear", prior="flat").fit(x, 2 * x[:, 0])
    ...
    >>> sorted({warning.category.__name__ for warning in caught})
    ['InterpolationWarning']
    """


class EvidenceDivergenceWarning(BayesLSSVMWarning):
    """Eq 5.3 diverges because γ_eff is close to 1 or to N.

    Examples
    --------
    >>> import warnings
    >>> from bayes_lssvm import BayesianLSSVC
    >>> X = [[3, 0], [0, 1], [0, 2], [1, 1], [1, 2], [2, 1], [0, 3], [1, 0], [2, 0], [4, 4], [2, 3], [3, 2]]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = BayesianLSSVC(refine=False, prior="flat").fit(X, [1, 1, 1, 2, 2, 2] * 2)
    ...
    >>> sorted({warning.category.__name__ for warning in caught})
    ['EvidenceDivergenceWarning']
    """


class TiedOptimaWarning(BayesLSSVMWarning):
    """Two models that differ are equally good by the criterion; one of them was taken.

    Examples
    --------
    >>> import warnings
    >>> from bayes_lssvm import TiedOptimaWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", TiedOptimaWarning)  # two equally good models are an error
    ...
    """


class DamagedFileWarning(BayesLSSVMWarning):
    """A file that was kept to save work cannot be used; what it held is computed again."""


class ConstantFeatureWarning(BayesLSSVMWarning):
    """A column of the inputs has no variance; it is kept at zero.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from bayes_lssvm import BayesianLSSVR
    >>> x = np.linspace(-1, 1, 20)
    >>> X = np.column_stack([x, np.ones(20)])
    >>> y = x + 0.1 * np.cos(50 * x)
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     model = BayesianLSSVR("linear").fit(X, y)
    ...
    >>> sorted({warning.category.__name__ for warning in caught})
    ['ConstantFeatureWarning']
    """


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
