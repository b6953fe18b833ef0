"""What `trust_model` returns: a verdict, the evidence by every method, error bars beside the draws', and checks."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, NamedTuple

import numpy as np

from ..base.grades import Grade, Level, aligned, graded_lines
from ..base.text import html_table, plain
from ..base.typing import Array
from ..sampling.diagnostics import Diagnostics
from .figures import LaplaceFigures


class MethodRow(NamedTuple):
    """A way to the evidence in a report."""

    method: str
    log_evidence: float
    standard_error: float
    difference: float
    k_hat: float
    ess: float


class ParameterRow(NamedTuple):
    """Laplace's error bar of a parameter beside the draws'."""

    name: str
    mode: float
    mean: float
    laplace_sd: float
    sd: float


@dataclass(frozen=True)
class ModelTrust:
    """What `trust_model` found.

    Attributes
    ----------
    verdict : "good", "doubtful" or "bad"
        On the evidence.
    error_bars : "good", "doubtful", "bad" or "not checked"
        On the error bars.
    sentence : str
        Both in words.
    checks : tuple of Grade
        "not checked" is the level of what could not be measured, which does not count.
    methods : tuple of MethodRow
        The evidence by each method; `difference` is in nats from the one that is believed, which is the last.
    parameters : tuple of ParameterRow
        Unconstrained; empty without draws.
    error : float
        Laplace minus what is believed, in nats; NaN where nothing can be believed.
    figures : LaplaceFigures
        What was known before any sampling.
    draws : array of shape (chains, n, d) or None
        Of NUTS, of the unconstrained parameters.
    diagnostics : Diagnostics or None
        Of the chains.
    seconds : float
    provenance : dict

    Examples
    --------
    >>> import numpy as np, numpyro, numpyro.distributions as dist
    >>> from bayes_lssvm.evidence import trust_model
    >>> def model(y):
    ...     mean = numpyro.sample("mean", dist.Normal(0.0, 10.0))
    ...     numpyro.sample("y", dist.Normal(mean, 1.0), obs=y)
    ...
    >>> report = trust_model(model, (np.array([0.1, -0.4, 0.9]),), sample=False, starts=2, progress=False)
    >>> report.error_bars
    'not checked'
    """

    verdict: Level
    error_bars: Level
    sentence: str
    checks: tuple[Grade, ...]
    methods: tuple[MethodRow, ...]
    parameters: tuple[ParameterRow, ...]
    error: float
    figures: LaplaceFigures
    draws: Array | None
    diagnostics: Diagnostics | None
    seconds: float
    provenance: dict[str, Any]

    @property
    def flagged(self) -> bool:
        """Whether the evidence is not to be trusted: the verdict is not "good"."""
        return self.verdict != "good"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Sentences of the checks that are doubtful or bad, or of all that were made if every one is good."""
        found = tuple(check.sentence for check in self.checks if check.level in ("doubtful", "bad"))
        return found or tuple(check.sentence for check in self.checks if check.level == "good")

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; the draws are left out."""
        record = {name: getattr(self, name) for name in ("verdict", "error_bars", "sentence", "error", "seconds")}
        record |= {name: [row._asdict() for row in getattr(self, name)] for name in ("checks", "methods", "parameters")}
        record |= {"figures": self.figures.as_dict(), "provenance": self.provenance}
        return dict(plain(record))

    def __repr__(self) -> str:
        return f"ModelTrust({self.verdict!r}, error bars {self.error_bars!r}, error {self.error:+.3f} nats)"

    def __str__(self) -> str:
        lines = [self._head(), "", *aligned([_METHODS, *map(_method_cells, self.methods)], words=1), ""]
        if self.parameters:
            lines += [*aligned([_PARAMETERS, *map(_parameter_cells, self._worst())], words=1), ""]
        return "\n".join([*lines, *graded_lines(self.checks)])

    def _repr_html_(self) -> str:
        tables = html_table(self._head(), _METHODS, map(_method_cells, self.methods))
        if self.parameters:
            tables += html_table("Unconstrained parameters", _PARAMETERS, map(_parameter_cells, self._worst()))
        checks = "".join(f"<li>{escape(check.level)}: {escape(check.sentence)}</li>" for check in self.checks)
        return f"{tables}<ul>{checks}</ul>"

    def _head(self) -> str:
        return f"{self.verdict.upper()}: {self.sentence}"

    def _worst(self, most: int = 8) -> list[ParameterRow]:
        """The parameters whose error bars are farthest off."""
        return sorted(self.parameters, key=lambda row: -abs(float(np.log(row.laplace_sd / row.sd))))[:most]


_METHODS = ("method", "log evidence", "standard error", "minus believed", "k_hat", "ESS")
_PARAMETERS = ("parameter", "mode", "mean", "Laplace sd", "sd")


def _figure(value: float, form: str) -> str:
    return "" if np.isnan(value) else format(value, form)


def _method_cells(row: MethodRow) -> tuple[str, ...]:
    return (row.method, *(_figure(v, f) for v, f in zip(row[1:], (".3f", ".3f", "+.3f", ".2f", ".0f"), strict=True)))


def _parameter_cells(row: ParameterRow) -> tuple[str, ...]:
    return (row.name, *(_figure(value, ".3f") for value in row[1:]))
