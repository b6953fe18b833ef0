"""The studies, by name. A study's module is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module

from validation.harness import Study

STUDIES: dict[str, str] = {
    "error-bars": "validation.studies.error_bars",
    "evidence": "validation.studies.evidence",
    "bayes-factors": "validation.studies.bayes_factors",
    "moderated-output": "validation.studies.moderated_output",
    "map-of-trust": "validation.studies.map_of_trust",
    "calibration": "validation.studies.calibration",
    "prior-sensitivity": "validation.studies.prior_sensitivity",
}
"""Name to module; each module has a constant STUDY."""


def get_study(name: str) -> Study:
    """The study of this name."""
    if name not in STUDIES:
        raise ValueError(f"There is no study {name!r}; there are {', '.join(STUDIES)}.")
    study: Study = import_module(STUDIES[name]).STUDY
    return study
