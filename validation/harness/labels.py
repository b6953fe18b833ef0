"""Two classes as −1 and +1: which of them is +1, or one class against the rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from bayes_lssvm.base.text import listed, quoted
from bayes_lssvm.base.typing import AnyArray, Array


class DataError(ValueError):
    """Data that a study cannot take, as a sentence."""


class Coding(NamedTuple):
    """How labels become numbers.

    Attributes
    ----------
    positive : str
        The class that is +1; all else is −1.
    names : (str, str)
        Of −1 and +1.
    """

    positive: str
    names: tuple[str, str]

    def __call__(self, labels: AnyArray) -> Array:
        """Labels, of shape (N,), as −1 and +1."""
        return np.where(np.asarray(labels) == self.positive, 1.0, -1.0)


def choose_coding(counts: Mapping[str, int], positive: str | None, where: str) -> Coding:
    """The coding of these classes.

    Parameters
    ----------
    counts : dict of str to int
        Rows of each class. Of two classes the second is +1 unless `positive` says otherwise.
    positive : str or None
        The class that is +1; with more than two classes, against the rest.
    where : str
        Beginning of a sentence: "iris.csv: the target 'species'".
    """
    names = list(counts)
    shown = listed((f"{quoted(name)} with {_rows(count)}" for name, count in counts.items()), 6)
    if len(names) < 2:
        raise DataError(f"{where} is {shown}, and nothing else; two classes or varying numbers are needed.")
    if positive is not None and positive not in counts:
        raise DataError(f"{where} has no class {quoted(positive)} to be positive; its classes are {shown}.")
    if len(names) > 2 and positive is None:
        raise DataError(
            f"{where} has {len(names)} classes ({shown}), but the studies are for two classes or real targets. Choose "
            f"one class against the rest with `positive`, {quoted(names[0])} for example, or keep the rows of two "
            "classes."
        )
    chosen = names[1] if positive is None else positive
    others = [name for name in names if name != chosen]
    rest = others[0] if len(others) == 1 else f"not {chosen}"
    few = [n for n, count in ((chosen, counts[chosen]), (rest, sum(counts[o] for o in others))) if count < 2]
    if few:
        raise DataError(f"{where} has one row only of the class {quoted(few[0])}; two of each are needed.")
    return Coding(chosen, (rest, chosen))


def _rows(count: int) -> str:
    return f"{count} row{'s' * (count != 1)}"
