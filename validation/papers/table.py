"""A table of a paper, ours beside theirs, and the verdict on each of its entries.

An entry is *reproduced* where our mean lies within two of the paper's standard deviations of the paper's mean. Where a
paper prints standard errors of means instead, the two means are compared by z = (ours − theirs) / √(se² + se²), and
|z| ≤ 2 is reproduced; a single score of ours has the error of a single one of the paper's. Otherwise it is *better* or
*worse*, and the table says why.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from validation.harness import Study

table_study = partial(Study, needs_data=False, own_data="several sets, named in the tables")
"""The study behind a table."""

Verdict = Literal["reproduced", "better", "worse", "ours alone", "not computed"]


class Published(NamedTuple):
    """A figure as a paper prints it.

    Attributes
    ----------
    mean : float
    spread : float or None
        What stands behind the ±.
    kind : "sd" or "se"
        Whether that is the standard deviation over randomisations or the standard error of their mean.
    marked : str
        The paper's typographic mark, "best", "5 %", …
    randomisations : int or None
        How many are behind the mean, where the paper says it.
    """

    mean: float
    spread: float | None = None
    kind: Literal["sd", "se"] = "sd"
    marked: str = ""
    randomisations: int | None = None


class Reason(NamedTuple):
    """Why a figure differs.

    Attributes
    ----------
    sentence : str
        What may make it differ.
    test : str
        The test that the explanation rests on, as pytest takes it; empty where the reason is not known, and the
        sentence then says no more than what is another than in the paper.
    """

    sentence: str = ""
    test: str = ""


@dataclass(frozen=True)
class Entry:
    """One figure of a table.

    Attributes
    ----------
    row, column : str
    scores : tuple of float
        Ours, one a randomisation, in the order of randomisations.
    published : Published or None
    why : Reason
        Explains a difference.
    """

    row: str
    column: str
    scores: tuple[float, ...]
    published: Published | None = None
    why: Reason = Reason()  # noqa: RUF009 - a tuple

    @property
    def mean(self) -> float:
        """Mean of our scores; nan without any."""
        return float(np.mean(self.scores)) if self.scores else math.nan

    @property
    def sd(self) -> float:
        """Standard deviation of our scores (N − 1); nan for fewer than two."""
        return float(np.std(self.scores, ddof=1)) if len(self.scores) > 1 else math.nan

    @property
    def se(self) -> float:
        """Standard error of our mean."""
        return self.sd / math.sqrt(len(self.scores)) if len(self.scores) > 1 else math.nan

    @property
    def distance(self) -> float:
        """(ours − theirs) in the paper's standard deviations, or z for published standard errors; nan if unknown."""
        if self.published is None or self.published.spread is None or not self.scores:
            return math.nan
        difference = self.mean - self.published.mean
        scale = self.published.spread
        if self.published.kind == "se":
            single = scale * math.sqrt(self.published.randomisations or 0)
            scale = math.hypot(scale, self.se if math.isfinite(self.se) else single)
        if scale == 0.0:
            return 0.0 if difference == 0.0 else math.copysign(math.inf, difference)
        return difference / scale


@dataclass(frozen=True)
class ReproducedTable:
    """A table of a paper with our figures.

    Attributes
    ----------
    name : str
        Of the study: "paper0-table1".
    title, source : str
        What it shows, and where it stands: "Paper 0, Table 1".
    measure : str
        "test set accuracy, %".
    higher_is_better : bool
    rows, columns : tuple of str
        In the paper's order.
    entries : tuple of Entry
    absent : tuple of str
        Sentences on what could not be computed here and why.
    digits : int
        After the point, where figures are shown.
    """

    name: str
    title: str
    source: str
    measure: str
    higher_is_better: bool
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    entries: tuple[Entry, ...]
    absent: tuple[str, ...] = field(default=())
    digits: int = 1

    @property
    def kind(self) -> str:
        """What stands behind the ± of the table, "sd" or "se"."""
        return next((e.published.kind for e in self.entries if e.published is not None), "sd")

    def entry(self, row: str, column: str) -> Entry | None:
        """The entry at this place, if there is one."""
        return next((e for e in self.entries if (e.row, e.column) == (row, column)), None)

    def verdict(self, entry: Entry) -> Verdict:
        """What became of an entry."""
        if not entry.scores:
            return "not computed"
        distance = entry.distance
        if math.isnan(distance):
            return "ours alone"
        if abs(distance) <= 2.0:
            return "reproduced"
        return "better" if (distance > 0) == self.higher_is_better else "worse"
