"""Section 7.1 of paper 0: the LS-SVM classifier designed on Ripley's synthetic data, beside the numbers in print.

σ is chosen by two criteria, because the paper's text and its number do not agree (the errata in docs say how):

    without Occam   log p(D | μ_MP, ζ_MP, σ), level 2 at its maximum
    eq 5.3          the same times the Occam factor σ_logμ|D σ_logζ|D of 5.2, up to a constant

Both designs are then judged on the 1000 test points, by the sign of the latent output (2.22) and by the moderated
output (3.17), and on the unbalanced set that repeats the negatives three times and the positives once.

All of it is closed forms, and one cell. The sizes quick and full are the same; toy has coarser curves and map.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from bayes_lssvm import BayesianLSSVC, datasets
from bayes_lssvm.base.typing import Array
from bayes_lssvm.levels.level3 import DEFAULT_PRIOR_SD, ErrorBars
from validation.harness import Cell, CellResult, Size, Study, StudyData, load_data

from .designs import (
    NEGATIVE_COPIES,
    POSITIVE_COPIES,
    PRINTED,
    Design,
    EvidenceCurve,
    Printed,
    ProbabilityMap,
    Score,
    describe,
    evidence_curve,
    probability_map,
)

__all__ = [
    "PRINTED",
    "STUDY",
    "Design",
    "EvidenceCurve",
    "Printed",
    "ProbabilityMap",
    "RipleyStudy",
    "Score",
    "evidence_curve",
    "from_record",
    "probability_map",
    "study",
]

X1_RANGE, X2_RANGE = (-1.5, 1.5), (-0.5, 1.5)
_FINE = {"n_wide": 81, "n_near": 41, "n_map": (151, 101)}
_POINTS: dict[Size, dict[str, Any]] = {
    "toy": {"n_wide": 5, "n_near": 21, "n_map": (31, 21)},
    "quick": _FINE,
    "full": _FINE,
}


@dataclass(frozen=True)
class RipleyStudy:
    """All of section 7.1.

    Attributes
    ----------
    printed : Printed
    without_occam, eq_5_3 : Design
    wide, near : EvidenceCurve
        Over all sensible σ, and close to the two maxima.
    surface : ProbabilityMap
        By the design without the Occam factor, whose σ is the paper's.
    X, y : arrays of shape (N, 2) and (N,)
        Training inputs, and labels ±1.
    n_test : int
    prior_sd : float
        Width of the prior of log μ and of log ζ, the denominator of 5.2.
    """

    printed: Printed
    without_occam: Design
    eq_5_3: Design
    wide: EvidenceCurve
    near: EvidenceCurve
    surface: ProbabilityMap
    X: Array
    y: Array
    n_test: int
    prior_sd: float

    @property
    def designs(self) -> tuple[Design, Design]:
        """Both designs, the one that reproduces the paper first."""
        return self.without_occam, self.eq_5_3

    @property
    def n_unbalanced(self) -> int:
        """Number of points in the unbalanced test set (Ripley's has as many of each class)."""
        return self.n_test * (NEGATIVE_COPIES + POSITIVE_COPIES) // 2

    def record(self) -> dict[str, Any]:
        """Everything but the training data, in plain values for JSON."""
        return {
            "printed": self.printed._asdict(),
            "designs": [_plain(asdict(design)) for design in self.designs],
            "evidence_curve": {"wide": _plain(asdict(self.wide)), "near": _plain(asdict(self.near))},
            "map": _plain(asdict(self.surface)),
            "n_test": self.n_test,
            "prior_sd": self.prior_sd,
        }


def _plain(value: Any) -> Any:
    """Arrays as lists and named tuples as dictionaries, all the way down."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, dict):
        return {name: _plain(v) for name, v in value.items()}
    if isinstance(value, tuple):
        return [_plain(v) for v in value]
    return value


def from_record(record: dict[str, Any]) -> RipleyStudy:
    """The study from its record."""
    X, labels = datasets.load("ripley").Xy
    without_occam, eq_5_3 = (_design(design) for design in record["designs"])
    wide, near = (
        EvidenceCurve(**{name: np.array(values) for name, values in record["evidence_curve"][which].items()})
        for which in ("wide", "near")
    )
    return RipleyStudy(
        printed=Printed(**record["printed"]),
        without_occam=without_occam,
        eq_5_3=eq_5_3,
        wide=wide,
        near=near,
        surface=ProbabilityMap(**{name: np.array(values) for name, values in record["map"].items()}),
        X=X,
        y=np.where(labels == np.unique(labels)[1], 1.0, -1.0),
        n_test=record["n_test"],
        prior_sd=record["prior_sd"],
    )


def _design(record: dict[str, Any]) -> Design:
    bars = {name: ErrorBars(**record[name]) for name in ("mackay", "hessian")}
    return Design(**{**record, **bars, "scores": tuple(Score(**score) for score in record["scores"])})


def study(
    *,
    n_wide: int = 81,
    n_near: int = 41,
    n_map: tuple[int, int] = (151, 101),
    prior_sd: float = DEFAULT_PRIOR_SD,
) -> RipleyStudy:
    """Run section 7.1.

    Parameters
    ----------
    n_wide, n_near : int
        Values of σ on the two evidence curves.
    n_map : pair of int
        Points of the probability map along x⁽¹⁾ and x⁽²⁾.
    prior_sd : float
        Width of the prior of log μ and log ζ; it moves 5.2 by a constant and no choice of σ here.
    """
    data = datasets.load("ripley")
    X, labels = data.Xy
    X_test, test_labels = data.test_Xy
    positive = test_labels == 1

    plain = BayesianLSSVC("rbf", occam=False, moderation="class", prior_sd=prior_sd).fit(X, labels)
    without_occam = describe("without Occam", plain, X_test, positive)
    with_occam = BayesianLSSVC("rbf", prior="flat", moderation="class", prior_sd=prior_sd).fit(X, labels)
    eq_5_3 = describe("eq 5.3", with_occam, X_test, positive)
    low, high = sorted((without_occam.sigma, eq_5_3.sigma))
    margin = 2.0 * (high - low)
    inputs, y = plain.X_fit_, plain.y_fit_
    wide = evidence_curve(inputs, y, np.geomspace(0.2, 8.0, n_wide), prior_sd=prior_sd)
    near = evidence_curve(inputs, y, np.linspace(low - margin, high + margin, n_near), prior_sd=prior_sd)
    surface = probability_map(plain, np.linspace(*X1_RANGE, n_map[0]), np.linspace(*X2_RANGE, n_map[1]))
    return RipleyStudy(
        printed=PRINTED,
        without_occam=without_occam,
        eq_5_3=eq_5_3,
        wide=wide,
        near=near,
        surface=surface,
        X=X,
        y=y,
        n_test=len(X_test),
        prior_sd=prior_sd,
    )


def cells(data: StudyData, size: Size) -> list[Cell]:
    """One cell, on Ripley's data alone."""
    if data is None or data.sha256 != load_data("ripley").sha256:
        raise ValueError("Section 7.1 is about Ripley's data; leave out --data, or name other studies.")
    return [Cell("section-7-1", {"kernel": "rbf", "prior_sd": DEFAULT_PRIOR_SD, **_POINTS[size]})]


def compute(cell: Cell, data: StudyData) -> CellResult:
    """Both designs, the curves and the map; inputs as they come, which the classifier standardises itself."""
    own = {name: cell.settings[name] for name in ("n_wide", "n_near", "n_map", "prior_sd")}
    return CellResult(study(**own).record())


STUDY = Study(
    name="section-7-1",
    title="Paper 0, section 7.1: the LS-SVM classifier on Ripley's data",
    cells=cells,
    compute=compute,
)
"""One cell that holds the whole record."""
