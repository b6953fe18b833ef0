"""The report that the grades of `trust` make, and the grades of a classifier's probabilities."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from ..base.grades import Grade, Level, aligned, graded_lines, level_of
from ..base.text import html_table
from ..kernels import Kernel
from ..levels.calibration import Calibration


class LadderRow(NamedTuple):
    """A rung of the ladder in a report: the kernel held or free, its evidence, and error bars of log μ and log ζ.

    Examples
    --------
    >>> from bayes_lssvm import trust
    >>> from bayes_lssvm.datasets import load
    >>> X, y = load("ripley").Xy
    >>> report = trust(X[::3], y[::3], kernel="linear", fixed_kernel=True, progress=False)
    >>> [row.method for row in report.ladder]
    ['mackay', 'laplace', 'importance', 'quadrature']
    """

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

    Examples
    --------
    >>> from bayes_lssvm import trust
    >>> from bayes_lssvm.datasets import load
    >>> from bayes_lssvm.kernels import RBF
    >>> X, y = load("ripley").Xy
    >>> report = trust(X[::3], y[::3], kernel=RBF(1.3), fixed_kernel=True, progress=False)
    >>> report.verdict, report.n_modes
    ('good', 1)
    >>> print(report.checks[0].level)
    good
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
        return f"{self.n_used} of {self.n_rows} rows, spread evenly over the targets, were used"

    def __repr__(self) -> str:
        """One line: the verdict and what it rests on."""
        graded = [f"{sum(c.level == level for c in self.checks)} {level}" for level in ("good", "doubtful", "bad")]
        return f"TrustReport({self.verdict!r}: {', '.join(graded)}; {self.rows})"

    def _repr_html_(self) -> str:
        """The verdict and the table of checks, for notebooks."""
        rows = [[check.name, check.level, check.sentence] for check in self.checks]
        return html_table(f"{self.verdict.upper()}: {self.sentence}", ("check", "level", "what was found"), rows)

    def __str__(self) -> str:
        what = "" if self.kernel is None else f"kernel {self.kernel}; "
        lines = [f"{self.verdict.upper()}: {self.sentence}", what + self.rows, ""]
        if self.ladder:
            lines += [*_table(self.ladder), ""]
        return "\n".join([*lines, *graded_lines(self.checks)])

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
    return aligned(rows, words=2)


def calibration_grades(found: Calibration, labels: list[Any]) -> tuple[Grade, Grade]:
    """The grades of the log score and of the reliability, for the names of the classes."""
    return _log_score(found), _reliability(found, labels)


def _log_score(found: Calibration) -> Grade:
    level = level_of("log score", -found.gain_deviate)
    figures = f"{abs(found.gain):.3f} ± {found.gain_error:.3f} nats"
    if level == "doubtful":
        words = (
            f"no better than by the class frequencies, within the error ({found.gain:+.3f} ± "
            f"{found.gain_error:.3f} nats)"
        )
    else:
        words = f"{figures} {'better' if level == 'good' else 'worse'} than by the class frequencies"
    return Grade("log score", found.gain, level, f"Left-out rows are predicted {words}.")


def _reliability(found: Calibration, labels: list[Any]) -> Grade:
    if not found.groups:
        sentence = (
            "Probabilities of left-out rows hardly differ from the class frequencies, so there is nothing to compare."
        )
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
            f"Predicted and observed frequencies differ by more than their errors: of {group.size} left-out rows "
            f"with P({labels[group.label]}) about {group.predicted:.3f} a share of {group.observed:.3f} is of that "
            f"class (± {group.error:.3f} expected); {measured}."
        )
    return Grade("reliability", found.deviate, level, sentence)
