"""The log evidence taken apart into terms that add up to it.

At μ_MP and ζ_MP the weights w and the bias b are integrated out exactly, as a best fit times the share of their prior
that the data leave (rank-free, with p(b) = 1 and γ = ζ/μ):

    log p(D | μ, ζ, σ) = (N/2) log(ζ/2π) − ζE_D          fit: the likelihood at w_MP and b_MP
                         − μE_W                          size: what the prior thinks of w_MP
                         − ½ Σ log(1 + γλ_i)             volume: how much the data shrink the prior of w
                         + ½ log(2π/(Nζ))                bias: the width that is left to b

Then 5.2 pays for μ and ζ, each by the ratio of its error bar to the prior's width, and what it leaves out is the rest
of the exact integral over log μ and log ζ:

    log p(D | σ) = log p(D | μ_MP, ζ_MP, σ) + log(σ_logμ|D/σ_logμ) + log(σ_logζ|D/σ_logζ) + left out
"""

from __future__ import annotations

import numpy as np

from bayes_lssvm.base.checks import Check
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.level2 import e_d, e_w
from bayes_lssvm.levels.level3 import log_occam
from bayes_lssvm.linalg.spectrum import TridiagonalReduction
from bayes_lssvm.trust import Ladder

SUBTOTAL = ("fit", "size", "volume", "bias")
"""Parts of log p(D | μ_MP, ζ_MP, σ)."""
PARTS = (*SUBTOTAL, "mu", "zeta", "left_out")
_ROUNDING = 1e-11  # of the largest part


def parts_of(sigma: float, found: Ladder, X: Array, y: Array) -> dict[str, float]:
    """The parts at one width, in nats."""
    assert found.level3 is not None
    level3 = found.level3
    level2 = level3.level2
    reduction = TridiagonalReduction.from_kernel_matrix(RBF(sigma)(X), y)
    n, gamma, zeta = len(y), level2.gamma, level2.zeta
    log_det, _ = reduction.values(np.array([gamma]))  # Σ log(λ_i + 1/γ)
    occam = log_occam(level2, level3.prior_sd)  # 5.2
    return {
        "fit": 0.5 * n * float(np.log(zeta / (2.0 * np.pi))) - zeta * e_d(reduction, gamma),
        "size": -level2.mu * e_w(reduction, gamma),
        "volume": -0.5 * float(log_det[0] + (n - 1) * np.log(gamma)),
        "bias": 0.5 * float(np.log(2.0 * np.pi / (n * zeta))),
        "mu": occam.log_mu,
        "zeta": occam.log_zeta,
        "left_out": found["quadrature"].log_evidence - level3.log_evidence,
    }


def added_up(parts: dict[str, float], found: Ladder) -> Check:
    """Whether the parts are the evidence by quadrature, to rounding."""
    off = abs(sum(parts.values()) - found["quadrature"].log_evidence)
    limit = 1e-9 + _ROUNDING * max(map(abs, parts.values()))
    sentence = f"The parts of the log evidence add up to it within {off:.1e} nats (at most {limit:.1e})."
    return Check("parts add up", off, limit, bool(off <= limit), sentence)
