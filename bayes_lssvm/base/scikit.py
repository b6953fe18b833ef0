"""scikit-learn's checks of inputs, one thread at a time (`turns`), and what they say of tables that are none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.utils import multiclass, validation

from .frames import cell_that_is_no_number, refuse_unfit
from .turns import alone

__all__ = ["check_X_y", "check_classification_targets", "type_of_target", "validate_data"]


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
