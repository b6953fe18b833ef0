"""Simulation-based calibration: are the posteriors of the hyperparameters, and their intervals, what they claim to be?

Hyperparameters are drawn from the prior and data from the model (`_simulation`); each method says where the truth lies
in its posterior (`_methods`, `_pit`), which must be uniform over many sets (`_uniformity`), and how often its intervals
cover (`_coverage`). `python -m validation.calibration` runs it.
"""

from ._catalogue import METHODS, methods_of
from ._coverage import Coverage, coverage, wilson
from ._methods import ClosedForm, Draws, Laplace, Method, Outcome, Quadrature
from ._run import DamagedBlockWarning, OtherRunError, Record, Results, run
from ._samplers import Marginalised, Program
from ._simulation import Problem, Setting, SimulatedSet
from ._study import SCENARIOS, Scenario, summary
from ._tables import Regime, Row, as_text, regime_text, regimes, rows_of
from ._uniformity import Band, Uniformity, band_p_value, ecdf, ecdf_band, uniformity

__all__ = [
    "METHODS",
    "SCENARIOS",
    "Band",
    "ClosedForm",
    "Coverage",
    "DamagedBlockWarning",
    "Draws",
    "Laplace",
    "Marginalised",
    "Method",
    "OtherRunError",
    "Outcome",
    "Problem",
    "Program",
    "Quadrature",
    "Record",
    "Regime",
    "Results",
    "Row",
    "Scenario",
    "Setting",
    "SimulatedSet",
    "Uniformity",
    "as_text",
    "band_p_value",
    "coverage",
    "ecdf",
    "ecdf_band",
    "methods_of",
    "regime_text",
    "regimes",
    "rows_of",
    "run",
    "summary",
    "uniformity",
    "wilson",
]
