"""Other draws of a set that is generated: the rows of led come from random numbers, in the paper as here.

Every segment of a digit is wrong with probability 0.1, so that Bayes' rule is right in 74 % of all cases; in 600 rows
it is right in more or in fewer, by chance. A table computed on one draw differs from one computed on another by that.
Where a cell's settings ask for `other_draws`, the classifier is designed and tested on that many other draws too, with
the randomisation of the cell.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.datasets import make_led
from validation.harness import StudyResult

from .algorithms import Fitted, scored
from .data import parts


def other_draws(
    name: str, randomisation: int, count: int, fit: Callable[[Array, AnyArray], Fitted], decodings: Collection[str]
) -> list[dict[str, Any]]:
    """Accuracies on draws 1, 2, … of the set, whose own is draw 0.

    Parameters
    ----------
    name : str
    randomisation, count : int
    fit : callable
        Designs a classifier on inputs of shape (N, d) and numbers of the classes.
    decodings : collection of str
        Whose accuracies are wanted.
    """
    found = []
    for draw in range(1, count + 1):
        part = parts(name, randomisation, draw)
        scores = scored(fit(part.X_train, part.y_train).predict(part.X_test), part.y_test, part.classes)
        found.append({"draw": draw, **{decoding: scores[decoding]["accuracy"] for decoding in decodings}})
    return found


def moc_draws(result: StudyResult, name: str, kernel: str, decodings: Collection[str]) -> list[dict[str, float]]:
    """Mean accuracies of minimal output coding on each other draw, by decoding; empty where there are none."""
    found: dict[int, list[dict[str, Any]]] = {}
    for finished in result.cells:
        s = finished.cell.settings
        if (s["data"], s["kernel"]) == (name, kernel):
            for other in finished.values.get("draws", ()):
                found.setdefault(int(other["draw"]), []).append(other)
    return [
        {decoding: float(np.mean([one[decoding] for one in ones])) for decoding in decodings} for ones in found.values()
    ]


def bayes_rule(X: Array, y: AnyArray) -> float:
    """How often Bayes' rule is right on rows of led, in %: the digit whose display is nearest, one of them in ties."""
    clean, digits = make_led(200, noise=0.0)
    displays = np.array([clean[digits == digit][0] for digit in range(10)])
    wrong = np.sum(X[:, None, :] != displays, axis=2)  # segments, [n, 10]
    nearest = wrong == wrong.min(axis=1, keepdims=True)
    return float(100.0 * np.mean(nearest[np.arange(len(y)), y] / nearest.sum(axis=1)))
