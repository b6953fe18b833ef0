"""The gallery: which study is shown on which data, and what its pages may weigh."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parents[1] / "gallery"
STYLE: dict[str, Any] = {"dpi": 100, "pictures": False, "digits": 6}
"""Of its pages, as `write_page` takes it."""
MOST_BYTES = 25_000_000
TITLE = "How good is the evidence framework? The gallery"
INTRODUCTION = (
    "The Bayesian evidence framework for LS-SVMs gives error bars, evidence, Bayes factors and class "
    "probabilities in closed form. The pages compare them with exact quadrature and with sampling, on real and on "
    "simulated data, and reproduce the tables of the papers. Each card gives the size of its study: “full”, or "
    "“quick”, a smaller run of some minutes whose numbers are less precise."
)
ON_EVERY_SET = ("error-bars", "evidence", "bayes-factors", "moderated-output")


class Exhibit(NamedTuple):
    """Studies shown on one data set; `data` is None for studies that simulate their own."""

    data: str | None
    studies: tuple[str, ...]


EXHIBITS = (
    Exhibit("ripley", ("section-7-1", "explorer", *ON_EVERY_SET, "prior-sensitivity")),
    Exhibit("hea", ("evidence", "prior-sensitivity")),
    Exhibit(None, ("map-of-trust", "calibration", "agreement", "predictive-scores", "multiclass-calibration", "field")),
    Exhibit(None, ("laplace-reference", "psis-loo", "many-rows", "factor-calibration")),
    Exhibit(None, ("class-probabilities", "second-level")),
)


def weight(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
