"""scikit-learn's checks of inputs, one thread at a time, and what they say of tables that are none.

They change Python's warning filters and put them back. The filters belong to the whole process, and two threads that do
so at once leave them changed, so that warnings are lost or become errors for good.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from threading import RLock
from typing import Any, TypeVar

from sklearn.utils import multiclass, validation

from .frames import cell_that_is_no_number, refuse_unfit

__all__ = ["alone", "check_X_y", "check_classification_targets", "type_of_target", "validate_data"]

Function = TypeVar("Function", bound=Callable[..., Any])


class _Turn:
    """A lock that a forked process finds open."""

    def __init__(self) -> None:
        self.open()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.open)

    def open(self) -> None:
        self.lock = RLock()


_TURN = _Turn()


def alone(function: Function) -> Function:
    """The function, of which one thread runs at a time, as it does with any other function that has been so marked."""

    @wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        with _TURN.lock:
            return function(*args, **kwargs)

    return called  # type: ignore[return-value]


@alone
def check_X_y(X: Any, y: Any, *, y_numeric: bool = False, **settings: Any) -> Any:
    """`sklearn.utils.validation.check_X_y`, with a sentence for what is no table of numbers."""
    refuse_unfit(X, y, numeric_target=y_numeric)
    with _sentences(X):
        return validation.check_X_y(X, y, y_numeric=y_numeric, **settings)


@alone
def validate_data(estimator: Any, X: Any, y: Any = None, *, y_numeric: bool = False, **settings: Any) -> Any:
    """`sklearn.utils.validation.validate_data`, with a sentence for what is no table of numbers; without y, X alone."""
    refuse_unfit(X, y, numeric_target=y_numeric)
    given = {} if y is None and settings.get("reset") is False else {"y": y, "y_numeric": y_numeric}
    with _sentences(X):
        return validation.validate_data(estimator, X, **given, **settings)


@contextmanager
def _sentences(X: Any) -> Iterator[None]:
    """Where a cell of X is no number, an error that names it."""
    try:
        yield
    except (TypeError, ValueError) as error:
        raise (cell_that_is_no_number(X) or error) from None


type_of_target = alone(multiclass.type_of_target)
check_classification_targets = alone(multiclass.check_classification_targets)
