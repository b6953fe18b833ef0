"""Simulation-based calibration: are the posteriors of the hyperparameters, and their intervals, what they claim to be?

Hyperparameters are drawn from the prior and data from the model (`simulation`); each method says where the truth lies
in its posterior (`methods`, `pit`), which must be uniform over many sets (`uniformity`), and how often its intervals
cover (`coverage`). `python -m reports --study calibration` runs it; `evaluate` does so for a method of one's own.
"""

from .catalogue import METHODS, methods_of
from .coverage import Coverage, coverage, wilson
from .methods import ClosedForm, Draws, Laplace, Method, Outcome, Quadrature
from .records import Record, Results, evaluate
from .samplers import Marginalised, Program
from .scenarios import SCENARIOS, Scenario, summary
from .simulation import Setting, SimulatedSet, Simulator
from .study import STUDY, collect
from .tables import QuantityRow, Regime, as_text, regime_text, regimes, rows_of
from .uniformity import Band, Uniformity, band_p_value, ecdf, ecdf_band, uniformity

__all__ = [
    "METHODS",
    "SCENARIOS",
    "STUDY",
    "Band",
    "ClosedForm",
    "Coverage",
    "Draws",
    "Laplace",
    "Marginalised",
    "Method",
    "Outcome",
    "Program",
    "Quadrature",
    "QuantityRow",
    "Record",
    "Regime",
    "Results",
    "Scenario",
    "Setting",
    "SimulatedSet",
    "Simulator",
    "Uniformity",
    "as_text",
    "band_p_value",
    "collect",
    "coverage",
    "ecdf",
    "ecdf_band",
    "evaluate",
    "methods_of",
    "regime_text",
    "regimes",
    "rows_of",
    "summary",
    "uniformity",
    "wilson",
]
