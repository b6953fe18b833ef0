"""Tables of the study: each posterior, the rules, and the bridge."""

from __future__ import annotations

from collections.abc import Sequence

from reports.frame.page import Row, Table
from reports.frame.words import number

from .posteriors import FIGURES, RULES, Confusion, Posterior, confusion, rank_correlation


def posterior_table(posteriors: Sequence[Posterior]) -> Table:
    """Every posterior, by family."""
    families = dict.fromkeys(p.family for p in posteriors)
    rows: list[Row] = []
    for family in families:
        rows.append(Row(family))
        own = sorted((p for p in posteriors if p.family == family), key=lambda p: p.error)
        rows += [Row(f"  {p.name}", _cells(p)) for p in own]
    header = ("posterior", "d", "log evidence", "Laplace", "next term", "left", "skewness", "k̂", "verdict")
    note = (
        "“Laplace” is its error in nats; “next term” the correction that the expansion gives at the mode, and “left” "
        "the error once it is added. k̂ is that of 2000 weights of a Student density at the mode. The log evidence is "
        "exact where it has no error; a flat prior counts with density one. The verdict is `trust_model`'s, "
        + ("from draws of NUTS." if all(p.sampled for p in posteriors) else "before any sampling.")
    )
    return Table("Laplace's evidence of each posterior", header, tuple(rows), note)


def _cells(p: Posterior) -> tuple[str, ...]:
    truth = number(p["log_evidence"], ".3f")
    if not p.values["exact"]:
        truth += f" ± {p['truth_error']:.3f}"
    signed = (number(p[name], "+.3f") for name in ("laplace", "correction", "next_order"))
    return (
        f"{p['dim']:.0f}",
        truth,
        *signed,
        number(p["skewness"], ".2f"),
        number(p["k_hat"], ".2f"),
        str(p.values["verdict"]),
    )


def rule_table(posteriors: Sequence[Posterior]) -> Table:
    """Which warning would have told."""
    kinds = ([p for p in posteriors if p.kind == "reference"], posteriors)
    rows = [Row(rule.name, tuple(cell for own in kinds for cell in _counts(confusion(rule, own)))) for rule in RULES]
    header = ("warning", "references: caught", "false alarms", "all: caught", "false alarms")
    note = (
        "Caught, of those whose Laplace error exceeds 0.5 nats; false alarms, of the others. No threshold was "
        "chosen on these posteriors."
    )
    return Table("Which warning works", header, tuple(rows), note)


def _counts(found: Confusion) -> tuple[str, str]:
    return f"{found.caught} of {found.off}", f"{found.false} of {found.fine}"


def correlation_table(posteriors: Sequence[Posterior]) -> Table:
    """Rank correlations of figures with the error."""
    kinds = ([p for p in posteriors if p.kind == "reference"], posteriors)
    rows = tuple(
        Row(words, tuple(number(rank_correlation(figure, own), ".2f") for own in kinds))
        for figure, words in FIGURES.items()
    )
    header = ("diagnostic", "references", "all")
    return Table("Rank correlation with the size of Laplace's error", header, rows, "Spearman's. No draws are needed.")
