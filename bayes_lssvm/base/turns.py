"""Functions of other packages that change the state of the whole process and put it back: one thread at a time.

scikit-learn's checks and ArviZ change Python's warning filters. Two threads that do so at once leave them changed, so
that warnings are lost or become errors for good.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from threading import RLock
from typing import Any, TypeVar

__all__ = ["alone"]

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
