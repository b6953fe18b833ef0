"""What a selection of inputs returns: the models it went through, and the one it chose."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from ..base.columns import Columns
from ..base.text import html_table
from ..base.typing import AnyArray, Array
from ..kernels import Kernel

__all__ = ["SelectionPath", "SelectionStep"]


@dataclass(frozen=True)
class SelectionStep:
    """One model on the path.

    Attributes
    ----------
    inputs : tuple of int
        Its columns of X, ascending.
    changed : int or None
        The column that was removed or added to come here; None at the start.
    kernel : Kernel or None
        Over `inputs`, at the largest evidence; None for the model without inputs.
    log_evidence : float
        Absolute; with the Occam factor of μ and ζ or without, as asked for.
    score : float
        What is compared: log evidence − price · number of inputs, less 10 nats where γ ran to an end of its range
        (`Evaluation.rank`).
    relevance : array of shape (len(inputs),) or None
        1/s_i², where the kernel has a scale for each input.
    status : "interior", "no signal", "interpolation" or "no inputs"
    tried : dict of int to float
        Score after the removal or addition of each input that was tried to come here.
    """

    inputs: tuple[int, ...]
    changed: int | None
    kernel: Kernel | None
    log_evidence: float
    score: float
    relevance: Array | None
    status: str
    tried: dict[int, float]

    @property
    def sign(self) -> str:
        """Whether the input that changed came in, "+", or left, "−"."""
        return "+" if self.changed in self.inputs else "−"


@dataclass(frozen=True)
class SelectionPath:
    """The models that a search went through, and the one it chose.

    Attributes
    ----------
    direction : "backward", "forward" or "stepwise"
    steps : tuple of SelectionStep
        In the order of the search, the step that was no improvement included.
    best : int
        Which step was chosen.
    price : float
        Nats that an input must bring.
    occam : bool
    n_features : int
    columns : Columns
        The columns that took part, those that do not vary, and copies.
    stopped : str
        Why the search ended.
    """

    direction: str
    steps: tuple[SelectionStep, ...]
    best: int
    price: float
    occam: bool
    n_features: int
    columns: Columns
    stopped: str

    @property
    def chosen(self) -> SelectionStep:
        """The step that was chosen."""
        return self.steps[self.best]

    @property
    def selected(self) -> tuple[int, ...]:
        """Columns of the chosen model; none where no input tells more than chance does."""
        return self.chosen.inputs

    @property
    def support(self) -> AnyArray:
        """Mask of the selected columns, of shape (d,)."""
        mask = np.zeros(self.n_features, dtype=bool)
        mask[list(self.selected)] = True
        return mask

    @property
    def gain(self) -> Array:
        """Score that each input brought when it was added, or took along when removed, of shape (d,).

        Of inputs that were never moved it is what the last attempt told; nan where none was made.
        """
        gain = np.full(self.n_features, np.nan)
        for before, after in itertools.pairwise(self.steps):
            for column, score in after.tried.items():
                gain[column] = before.score - score if column in before.inputs else score - before.score
        return gain

    def _repr_html_(self) -> str:
        """The models on the way as a table, for notebooks."""
        rows = []
        for i, step in enumerate(self.steps):
            change = "" if step.changed is None else f"{step.sign}{step.changed}"
            inputs = ", ".join(map(str, step.inputs)) or "none"
            rows.append(["best" if i == self.best else "", change, step.log_evidence, step.score, inputs])
        return html_table(self.stopped, ("", "change", "log evidence", "score", "inputs"), rows)

    def __str__(self) -> str:
        lines = [f"{'':4}  {'change':>6}  {'log evidence':>12}  {'score':>9}  inputs"]
        for i, step in enumerate(self.steps):
            change = "" if step.changed is None else f"{step.sign}{step.changed}"
            names = ", ".join(map(str, step.inputs)) or "none"
            mark = "best" if i == self.best else ""
            lines.append(f"{mark:4}  {change:>6}  {step.log_evidence:12.2f}  {step.score:9.2f}  {names}")
        lines.append(f"{self.stopped} Each input costs {self.price:g} nats.")
        return "\n".join(lines)
