"""The data of a study: standardised inputs and coded targets, with the names that a report prints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bayes_lssvm.base.typing import Array


@dataclass(frozen=True)
class StudyData:
    """Data as every study takes them.

    Attributes
    ----------
    name : str
        Of the data set, or the file's stem.
    X : array of shape (N, d)
        Inputs, standardised by their mean and standard deviation (ddof=1).
    y : array of shape (N,)
        Labels −1 and +1, or standardised real targets.
    task : "classification" or "regression"
    feature_names : tuple of d str
        As the source has them; they may hold anything.
    target_name : str
    class_names : (str, str) or None
        Names of the classes −1 and +1.
    X_test, y_test : arrays of shape (N_test, d) and (N_test,), or None
        Standardised by the training numbers.
    sha256 : str
        Over everything numeric above.
    notes : tuple of str
        What was done to the data: "12 rows with missing values were left out."
    """

    name: str
    X: Array
    y: Array
    task: str
    feature_names: tuple[str, ...]
    target_name: str
    class_names: tuple[str, str] | None
    X_test: Array | None
    y_test: Array | None
    sha256: str
    notes: tuple[str, ...] = ()

    def describe(self) -> dict[str, Any]:
        """The data without its numbers, for JSON."""
        return {
            "name": self.name,
            "n": self.X.shape[0],
            "d": self.X.shape[1],
            "n_test": 0 if self.X_test is None else self.X_test.shape[0],
            "task": self.task,
            "class_names": None if self.class_names is None else list(self.class_names),
            "feature_names": list(self.feature_names),
            "target_name": self.target_name,
            "sha256": self.sha256,
            "notes": list(self.notes),
        }
