"""The answers under each prior, and how far they are from those under the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from validation.harness import FinishedCell, StudyResult
from validation.studies.prior_sensitivity import PARAMETERS, REFERENCE_KEY, TAIL_LIMIT

SYMBOLS = {"mu": "log μ", "zeta": "log ζ", "sigma": "log σ"}


@dataclass(frozen=True)
class Answer:
    """The answers under one prior; `group` is "all" or the one parameter whose prior is changed."""

    group: str
    label: str
    values: dict[str, Any]

    @property
    def name(self) -> str:
        """The prior as the page calls it."""
        return f"{self.label} on all" if self.group == "all" else f"{self.label} on {PARAMETERS[self.group]}"

    @property
    def endless(self) -> bool:
        """Whether the integral goes on beyond the range in which the library looks."""
        return float(self.values["tail"]) > TAIL_LIMIT

    @property
    def log_evidence(self) -> float:
        """Of the RBF kernel with σ integrated out."""
        return float(self.values["log_evidence"]["rbf"])

    @property
    def bayes_factor(self) -> float:
        """Log Bayes factor of the RBF kernel, σ integrated out, against the linear one."""
        return self.log_evidence - float(self.values["log_evidence"]["linear"])

    @property
    def held_bayes_factor(self) -> float:
        """The same with σ held."""
        return float(self.values["log_evidence"]["held"]) - float(self.values["log_evidence"]["linear"])

    def change_from(self, other: Answer) -> float:
        """Worst change of a prediction: of a probability, or of a mean or sd in predicted standard deviations."""
        if "probability" in self.values:
            return float(np.abs(np.subtract(self.values["probability"], other.values["probability"])).max())
        mean, sd = np.array(self.values["predicted_mean"]), np.array(self.values["predicted_sd"])
        mean_0, sd_0 = np.array(other.values["predicted_mean"]), np.array(other.values["predicted_sd"])
        return float((np.maximum(np.abs(mean - mean_0), np.abs(sd - sd_0)) / sd_0).max())

    def moved_from(self, other: Answer, name: str) -> float:
        """Shift of a posterior mean in standard deviations of the other posterior."""
        return float((self.values["mean"][name] - other.values["mean"][name]) / other.values["sd"][name])


def answers_of(result: StudyResult) -> tuple[Answer, list[Answer], list[Answer]]:
    """The reference, the answers under all priors (reference first), and those of the permuted targets."""
    done = [f for f in result.cells if f.error is None]

    def answer(f: FinishedCell) -> Answer:
        return Answer(f.cell.settings["group"], f.cell.settings["label"], f.values)

    given = {f.cell.key: answer(f) for f in done if not f.cell.settings["permuted"]}
    reference = given.pop(REFERENCE_KEY)
    return reference, [reference, *given.values()], [answer(f) for f in done if f.cell.settings["permuted"]]


def kind_of(reference: Answer) -> str:
    """What is predicted, as `LIMITS` calls it: "probability" or "regression"."""
    return "probability" if "probability" in reference.values else "regression"
