"""Tables of prior sensitivity: the answers, the posterior's moments, and the control."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from reports.frame.page import Row, Table
from validation.studies.prior_sensitivity import PARAMETERS

from .answers import SYMBOLS, Answer, kind_of
from .sentences import signed


def _grouped(answers: Sequence[Answer], cells: Callable[[Answer], tuple[str, ...]]) -> tuple[Row, ...]:
    rows: list[Row] = []
    heads = {"all": "All log parameters", **{key: f"{symbol} alone" for key, symbol in PARAMETERS.items()}}
    for group, head in heads.items():
        own = [a for a in answers if a.group == group]
        rows += [Row(head)] * bool(own) + [Row(f"  {a.label}{' †' * a.endless}", cells(a)) for a in own]
    return tuple(rows)


def key_table(reference: Answer, answers: Sequence[Answer]) -> Table:
    """Evidence, Bayes factors, σ, and what happens to predictions."""

    def cells(a: Answer) -> tuple[str, ...]:
        return (
            signed(a.log_evidence),
            signed(a.bayes_factor),
            signed(a.held_bayes_factor),
            f"{a.values['sigma']:.3g}",
            "–" if a is reference else f"{a.change_from(reference):.3f}",
            *([signed(a.values["log_score"], 4)] if scored else []),
        )

    scored = all(a.values.get("log_score") is not None for a in answers)  # there is a test set

    kind = "worst ΔP" if kind_of(reference) == "probability" else "worst change, sd"
    header = ("prior", "log evidence", "log B, σ free", "log B, σ fixed", "σ", kind, *(["log score"] if scored else []))
    note = (
        "log B: RBF against linear, with σ integrated out and with σ fixed at "
        f"{reference.values['held_sigma']:.3f}. The column σ is the mode of the posterior of log σ. Changes are "
        f"from {reference.label} on all; where one parameter is named alone, the others keep that prior."
    )
    if any(a.endless for a in answers):
        note += " †: the integral is cut off at the end of the range that is searched."
    return Table("The answers under each prior", header, _grouped(answers, cells), note)


def moments_table(answers: Sequence[Answer]) -> Table:
    """Posterior means and standard deviations."""

    def cells(a: Answer) -> tuple[str, ...]:
        return tuple(f"{signed(a.values['mean'][name])} ± {a.values['sd'][name]:.2f}" for name in SYMBOLS)

    rows = _grouped(answers, cells)
    return Table("Posterior means and standard deviations", ("prior", *SYMBOLS.values()), rows)


def control_table(permuted: Sequence[Answer]) -> Table:
    """The same for targets in random order, σ held."""

    def cells(a: Answer) -> tuple[str, ...]:
        moments = [f"{signed(a.values['mean'][name])} ± {a.values['sd'][name]:.2f}" for name in ("mu", "zeta")]
        return (signed(a.values["log_evidence"]["held"]), signed(a.held_bayes_factor), *moments)

    header = ("prior", "log evidence", "log B", "log μ", "log ζ")
    note = "σ is fixed at the same width as above; log B is the RBF kernel's against the linear one."
    return Table("Control: permuted targets", header, _grouped(permuted, cells), note)
