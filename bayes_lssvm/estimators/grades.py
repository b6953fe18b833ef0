"""Grades: a measured quantity, how good it is by stated limits, and a sentence; and the report that they make."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from ..kernels import Kernel
from ..levels.calibration import Calibration

Level = Literal["good", "not checked", "doubtful", "bad"]
GRADED: tuple[Level, ...] = ("good", "doubtful", "bad")
# Up to the first number a check is good, up to the second doubtful, beyond it bad.
LIMITS: dict[str, tuple[float, float]] = {
    "evidence": (0.5, 2.0),  # nats; half a nat is less than a Bayes factor of 2
    "error bars": (0.22, 0.69),  # |log of a ratio|: factors of 1.25 and 2
    "k_hat": (0.7, 1.0),
    "missed modes": (0.05, 0.3),  # mass relative to the best mode
    "tail mass": (0.05, 0.15),  # beyond 3 standard deviations, where a Gaussian has 0.0027
    "probability": (0.05, 0.15),
    "regression": (0.25, 1.0),  # in predicted standard deviations
    "log score": (-2.0, 2.0),  # nats behind class frequencies, in standard errors: good is ahead by two
    "reliability": (2.33, 3.72),  # a normal deviate: chances of 1 % and of 1 in 10 000
}


class Grade(NamedTuple):
    """One measured quantity, how good it is by the limits, and what it says."""

    name: str
    value: float
    level: Level
    sentence: str


class LadderRow(NamedTuple):
    """A rung of the ladder in a report: the kernel held or free, its evidence, and error bars of log μ and log ζ."""

    method: str
    kernel: str
    log_evidence: float
    difference: float
    sd_log_mu: float
    sd_log_zeta: float


@dataclass(frozen=True)
class TrustReport:
    """What `trust` found.

    Attributes
    ----------
    verdict : "good", "doubtful" or "bad"
        The worst of the checks that could be made.
    sentence : str
        The verdict in words: on the closed forms, and for classes on the probabilities.
    reasons : tuple of str
        One sentence for each check that is doubtful or bad, or for all that were made if every one is good.
    checks : tuple of Grade
        "not checked" is the level of what could not be measured, which does not count.
    ladder : tuple of LadderRow
        Evidence and error bars by each method; `difference` is in nats from the exact value of the same model. Empty
        for more than two classes.
    kernel : Kernel or None
        The kernel at its most probable parameters, for standardised inputs; None for more than two classes.
    calibration : Calibration or None
        Leave-one-out probabilities of the default classifier beside the labels; None for real targets.
    n_modes : int
        Modes of the posterior of μ and ζ at that kernel.
    k_hat, tail_mass, worst_change : float
        NaN where they were not measured.
    n_used, n_rows : int
        Rows that were used, and that were given; a subset of 500, spread over the targets, stands for more.
    seconds : float
    provenance : dict
    """

    verdict: Level
    sentence: str
    reasons: tuple[str, ...]
    checks: tuple[Grade, ...]
    ladder: tuple[LadderRow, ...]
    kernel: Kernel | None
    calibration: Calibration | None
    n_modes: int
    k_hat: float
    tail_mass: float
    worst_change: float
    n_used: int
    n_rows: int
    seconds: float
    provenance: dict[str, Any]

    @property
    def rows(self) -> str:
        """How many rows were used, in words."""
        if self.n_used == self.n_rows:
            return f"all {self.n_rows} rows were used"
        return f"{self.n_used} of {self.n_rows} rows, spread over the targets, were used"

    def __str__(self) -> str:
        what = "" if self.kernel is None else f"kernel {self.kernel}; "
        lines = [f"{self.verdict.upper()}: {self.sentence}", what + self.rows, ""]
        if self.ladder:
            lines += [*_table(self.ladder), ""]
        width = max(len(check.level) for check in self.checks)
        lines += [f"{check.level.ljust(width)}  {check.sentence}" for check in self.checks]
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        record = asdict(self) | {"rows": self.rows}
        record |= {"kernel": None if self.kernel is None else self.kernel.to_dict()}
        record |= {"checks": [c._asdict() for c in self.checks], "ladder": [r._asdict() for r in self.ladder]}
        if self.calibration is not None:
            record["calibration"] |= {"groups": [group._asdict() for group in self.calibration.groups]}
        return record


def _table(rungs: Iterable[LadderRow]) -> list[str]:
    """The ladder as lines of text."""
    rows = [("method", "kernel", "log evidence", "minus exact", "sd log mu", "sd log zeta")]
    for r in rungs:
        figures = (f"{r.log_evidence:.3f}", f"{r.difference:+.3f}", f"{r.sd_log_mu:.3f}", f"{r.sd_log_zeta:.3f}")
        rows.append((r.method, r.kernel, *figures))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            c.ljust(w) if i < 2 else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def level_of(name: str, value: float) -> Level:
    """The level of a value by the limits of that name."""
    good, doubtful = LIMITS[name]
    return "good" if value <= good else "doubtful" if value <= doubtful else "bad"


def worst(checks: Iterable[Grade]) -> Level:
    """The worst level of the checks that were made."""
    made: list[Level] = [check.level for check in checks if check.level in GRADED]
    return max(made, key=GRADED.index, default="not checked")


def calibration_grades(found: Calibration, labels: list[Any]) -> tuple[Grade, Grade]:
    """The grades of the log score and of the reliability, for the names of the classes."""
    return _log_score(found), _reliability(found, labels)


def _log_score(found: Calibration) -> Grade:
    level = level_of("log score", -found.gain_deviate)
    figures = f"{abs(found.gain):.3f} ± {found.gain_error:.3f} nats"
    if level == "doubtful":
        words = (
            f"no better than by class frequencies, within the error ({found.gain:+.3f} ± {found.gain_error:.3f} nats)"
        )
    else:
        words = f"{figures} {'better' if level == 'good' else 'worse'} than by class frequencies"
    return Grade("log score", found.gain, level, f"Left-out rows are predicted {words}.")


def _reliability(found: Calibration, labels: list[Any]) -> Grade:
    if not found.groups:
        sentence = "Probabilities of left-out rows hardly differ from class frequencies: there is nothing to compare."
        return Grade("reliability", float("nan"), "not checked", sentence)
    level, count = level_of("reliability", found.deviate), len(found.groups)
    groups = f"{count} group{'s' * (count > 1)} of left-out rows"
    measured = f"χ² is {found.chi2:.1f} for {found.degrees} degree{'s' * (found.degrees > 1)} of freedom in {groups}"
    if len(labels) > 2:
        measured += f" by P({labels[found.groups[0].label]}), the worst class"
    if level == "good":
        sentence = f"Predicted and observed frequencies agree within their errors: {measured}."
    else:
        group = found.farthest
        sentence = (
            f"Predicted and observed frequencies differ by more than their errors: of {group.size} left-out rows with "
            f"P({labels[group.label]}) about {group.predicted:.3f} a share of {group.observed:.3f} is of that class "
            f"(± {group.error:.3f} expected); {measured}."
        )
    return Grade("reliability", found.deviate, level, sentence)
