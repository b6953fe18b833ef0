"""Every study and every table of the papers, by name. A module is imported when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from validation.harness import Study, StudyResult

if TYPE_CHECKING:
    from validation.papers.table import ReproducedTable

STUDIES: dict[str, str] = {
    "section-7-1": "validation.studies.section_7_1",
    "error-bars": "validation.studies.error_bars",
    "evidence": "validation.studies.evidence",
    "bayes-factors": "validation.studies.bayes_factors",
    "moderated-output": "validation.studies.moderated_output",
    "map-of-trust": "validation.studies.map_of_trust",
    "calibration": "validation.studies.calibration",
    "prior-sensitivity": "validation.studies.prior_sensitivity",
    "agreement": "validation.studies.agreement",
    "predictive-scores": "validation.studies.predictive_scores",
    "multiclass-calibration": "validation.studies.multiclass_calibration",
    "field": "validation.studies.field",
    "laplace-reference": "validation.studies.laplace_reference",
    "psis-loo": "validation.studies.psis_loo",
    "many-rows": "validation.studies.many_rows",
    "factor-calibration": "validation.studies.factor_calibration",
    "explorer": "validation.studies.explorer",
    "class-probabilities": "validation.papers.paper0.section_3_2",
    "second-level": "validation.papers.paper1.section_4",
}
"""Name to module; each module has a constant STUDY."""

TABLES: dict[str, str] = {
    "paper0-table1": "validation.papers.paper0.table1",
    "paper1-table2": "validation.papers.paper1.table2",
    "paper2-table2": "validation.papers.paper2.table2",
    "paper2-table3": "validation.papers.paper2.table3",
    "paper2-usps": "validation.papers.paper2.usps",
    "paper2-usps-svm": "validation.papers.paper2.usps_svm",
    "paper4-ovarian": "validation.papers.paper4.ovarian",
    "paper4-dax": "validation.papers.paper4.dax",
}
"""Name to module; each module has a constant STUDY and a function `table(result)`."""


def get_study(name: str) -> Study:
    """The study of this name, or the one behind the table of this name."""
    known = {**STUDIES, **TABLES}
    if name not in known:
        raise ValueError(f"There is no study {name!r}; there are {', '.join(known)}.")
    study: Study = import_module(known[name]).STUDY
    return study


def whole_study(name: str) -> Study:
    """The study behind a table with all cells that it may have, of which by default only some are computed."""
    study: Study = getattr(import_module(TABLES[name]), "WHOLE", None) or get_study(name)
    return study


def get_table(result: StudyResult) -> ReproducedTable:
    """A study's result as a table, ours beside theirs."""
    table: ReproducedTable = import_module(TABLES[result.study]).table(result)
    return table


def chosen(names: Sequence[str], known: dict[str, str], what: str) -> tuple[str, ...]:
    """The names that were asked for, each once, or all; one that is not known is refused in a sentence."""
    if "all" in names:
        return tuple(known)
    for name in names:
        if name not in known:
            kinds = {"study": "studies", "table": "tables"}[what]
            raise ValueError(
                f"The {what} {name!r} does not exist. The {kinds} are {', '.join(known)}, or 'all' of them."
            )
    return tuple(dict.fromkeys(names))
