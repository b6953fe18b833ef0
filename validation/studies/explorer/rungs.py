"""Every rung of the ladder at one width, and what the reader is told about it.

A rung without an answer on given data (no mode to stand on, a Hessian that is not negative definite) is NaN, which
cells keep as None, and the page leaves it out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayes_lssvm.base.checks import Check
from bayes_lssvm.base.typing import Array
from bayes_lssvm.trust import Ladder

from .parts import added_up, parts_of

RUNGS = ("mackay", "hessian", "laplace", "importance", "quadrature")


def rungs_at(sigma: float, found: Ladder, X: Array, y: Array) -> tuple[dict[str, Any], Check]:
    """Numbers of one width: all rungs, the evidence taken apart, and level 2; and whether the parts add up."""
    assert found.level3 is not None
    level2 = found.level3.level2
    parts = parts_of(sigma, found, X, y)
    laplace = found["laplace"].integral.diagnostics if "laplace" in found else {"n_modes": 0}
    values = {
        "sigma": sigma,
        "log_evidence": {name: found[name].log_evidence if name in found else np.nan for name in RUNGS},
        "best_fit": level2.log_evidence,
        "quadrature_error": found["quadrature"].error,
        "importance_error": found["importance"].error if "importance" in found else np.nan,
        "k_hat": found["importance"].integral.diagnostics["k_hat"] if "importance" in found else np.nan,
        "parts": parts,
        "capped": found.level3.occam_capped,
        "gamma_eff": level2.gamma_eff,
        "n": level2.n,
        "mu": level2.mu,
        "zeta": level2.zeta,
        "status": level2.status,
        "n_modes": laplace["n_modes"],
    }
    return values, added_up(parts, found)
