"""A check: one number that a result rests on, against its limit."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """A diagnostic that a number rests on.

    Attributes
    ----------
    name : str
        "R-hat", "bulk ESS", "divergences", "E-FMI", "Pareto k", "quadrature error", …
    value, limit : float
        What was found, and where it would have been too much or too little.
    passed : bool
        A value that is not a number never passes.
    sentence : str
        What it means, for a reader: "R-hat of log_mu is 1.31 (must be below 1.01)".
    """

    name: str
    value: float
    limit: float
    passed: bool
    sentence: str
