"""Level 3: the evidence of a model, with its Occam factor (paper 0, section 5).

    p(D | H) ≃ p(D | μ_MP, ζ_MP, H) · (σ_logμ|D σ_logζ|D) / (σ_logμ σ_logζ)                            (5.2)

with MacKay's error bars σ²_logμ|D ≃ 2/(γ_eff − 1) and σ²_logζ|D ≃ 2/(N − γ_eff), or those of the exact Hessian. The
numerator and denominator are widths: of the posterior and of the prior of log μ and log ζ. Dropping what is common to
all models of the same data gives eq 5.3, here without a rank:

    log 5.3 = ½ [ (N−1) log ζ − Σ log(1 + γλ_i) − log(γ_eff − 1) − log(N − γ_eff) ]

Eq 5.3 grows without limit as γ_eff → 1 or N, where MacKay's error bars exceed any prior. In 5.2 an error bar wider
than the prior is replaced by the prior's width, so that no Occam factor is above one, and the result says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..base.typing import Array
from ..linalg.reduction import LocalReduction, Reduction
from ..linalg.spectrum import CentredSpectrum
from .level2 import Level2, log_evidence_hessian, optimise

DEFAULT_PRIOR_SD = 3.0


class ErrorBars(NamedTuple):
    """Posterior standard deviations of log μ and log ζ, and their correlation."""

    log_mu: float
    log_zeta: float
    correlation: float


class Occam(NamedTuple):
    """The Occam factor of 5.2, taken apart."""

    log_mu: float
    log_zeta: float
    capped: bool

    @property
    def total(self) -> float:
        """Log of the whole factor."""
        return self.log_mu + self.log_zeta


@dataclass(frozen=True)
class Level3:
    """The evidence of one model.

    Attributes
    ----------
    level2 : Level2
        μ_MP, ζ_MP and what belongs to them.
    log_evidence : float
        log p(D | H) by 5.2: absolute, the Occam factor included.
    log_evidence_without_occam : float
        log p(D | μ_MP, ζ_MP, H).
    log_occam_factor : float
        Their difference, by MacKay's error bars; at most zero.
    log_occam_factor_hessian : float
        The same with the determinant of the exact Hessian, ½ log det Σ − log σ_logμ − log σ_logζ, and no bound: it is
        positive where the data say less than the prior, and nan where the Hessian is not negative definite.
    log_eq_5_3 : float
        Eq 5.3 as printed, relative to models of the same data only; +inf where it diverges.
    mackay, hessian : ErrorBars
        Error bars by MacKay's formulas and by the exact Hessian (nan where it is not negative definite).
    prior_sd : tuple of two floats
        σ_logμ and σ_logζ.
    occam_capped : bool
        Whether an error bar was wider than the prior, where 5.3 is about to diverge.
    """

    level2: Level2
    log_evidence: float
    log_evidence_without_occam: float
    log_occam_factor: float
    log_occam_factor_hessian: float
    log_eq_5_3: float
    mackay: ErrorBars
    hessian: ErrorBars
    prior_sd: tuple[float, float]
    occam_capped: bool


class HasLevel3:
    """What a model with a `level3_` says of μ and ζ, under the names that estimators have."""

    level3_: Level3

    @property
    def mu_(self) -> float:
        """μ_MP."""
        return self.level3_.level2.mu

    @property
    def zeta_(self) -> float:
        """ζ_MP."""
        return self.level3_.level2.zeta

    @property
    def gamma_(self) -> float:
        """γ_MP = ζ_MP/μ_MP."""
        return self.level3_.level2.gamma

    @property
    def gamma_eff_(self) -> float:
        """Effective number of parameters (4.4)."""
        return self.level3_.level2.gamma_eff


def as_prior_sd(prior_sd: float | tuple[float, float]) -> tuple[float, float]:
    """(σ_logμ, σ_logζ) from one width for both or a pair."""
    try:
        values = np.broadcast_to(np.asarray(prior_sd, dtype=float), (2,))
    except (TypeError, ValueError):
        values = np.full(2, np.nan)
    if not np.all(np.isfinite(values) & (values > 0)):
        raise ValueError(f"prior_sd must be one positive width or two (log mu, log zeta), got {prior_sd!r}.")
    return float(values[0]), float(values[1])


def mackay_error_bars(result: Level2) -> ErrorBars:
    """σ_logμ|D = √(2/(γ_eff − 1)) and σ_logζ|D = √(2/(N − γ_eff)), taken as uncorrelated."""
    with np.errstate(divide="ignore"):
        widths = np.sqrt(2.0 / np.array([result.d_eff, max(result.n - result.gamma_eff, 0.0)]))
    return ErrorBars(float(widths[0]), float(widths[1]), 0.0)


def hessian_error_bars(reduction: LocalReduction, result: Level2) -> tuple[ErrorBars, float]:
    """Error bars from the exact Hessian at the mode, and ½ log det of the covariance."""
    precision = -log_evidence_hessian(reduction, result.mu, result.zeta)
    determinant = float(precision[0, 0] * precision[1, 1] - precision[0, 1] ** 2)
    if not (determinant > 0.0 and precision[0, 0] > 0.0):
        return ErrorBars(np.nan, np.nan, np.nan), np.nan
    widths = np.sqrt(np.array([precision[1, 1], precision[0, 0]]) / determinant)
    correlation = -float(precision[0, 1]) / float(np.sqrt(precision[0, 0] * precision[1, 1]))
    return ErrorBars(float(widths[0]), float(widths[1]), correlation), -0.5 * float(np.log(determinant))


def log_occam(result: Level2, prior_sd: tuple[float, float]) -> Occam:
    """The Occam factor of 5.2 by MacKay's error bars, none of them wider than the prior."""
    bars = mackay_error_bars(result)
    ratios = (bars.log_mu / prior_sd[0], bars.log_zeta / prior_sd[1])
    logs = [min(float(np.log(r)), 0.0) if np.isfinite(r) else 0.0 for r in ratios]
    return Occam(logs[0], logs[1], bool(max(ratios) > 1.0))


def occam_slope(result: Level2, prior_sd: tuple[float, float]) -> float:
    """∂(log Occam factor)/∂γ_eff; an error bar capped at the prior's width does not move."""
    bars = mackay_error_bars(result)
    slope = -0.5 / result.d_eff if bars.log_mu < prior_sd[0] else 0.0
    return slope + (0.5 / (result.n - result.gamma_eff) if bars.log_zeta < prior_sd[1] else 0.0)


def log_eq_5_3(reduction: LocalReduction, result: Level2) -> float:
    """Eq 5.3 in logs, rank-free and as printed otherwise."""
    n = result.n
    counts = np.array([result.d_eff, n - result.gamma_eff])
    if np.any(counts <= 0.0):
        return float("inf")
    log_det, _ = reduction.values(np.array([result.gamma]))
    # Σ log(1 + γλ) = log_det + (N−1) log γ, and log ζ − log γ = log μ
    fit = (n - 1) * np.log(result.mu) - float(log_det[0])
    return 0.5 * float(fit - np.log(counts).sum())


def evaluate(
    reduction: Reduction,
    *,
    prior_sd: float | tuple[float, float] = DEFAULT_PRIOR_SD,
    level2: Level2 | None = None,
) -> Level3:
    """The evidence of the model whose kernel matrix was reduced.

    Parameters
    ----------
    reduction : TridiagonalReduction or CentredSpectrum
    prior_sd : float or pair of floats
        Widths σ_logμ and σ_logζ of the prior, the denominator of 5.2.
    level2 : Level2, optional
        The mode, where it is known already.
    """
    return level3_at(reduction, optimise(reduction) if level2 is None else level2, prior_sd=prior_sd)


def level3_at(
    reduction: LocalReduction, result: Level2, *, prior_sd: float | tuple[float, float] = DEFAULT_PRIOR_SD
) -> Level3:
    """The same at a mode that is known."""
    widths = as_prior_sd(prior_sd)
    occam = log_occam(result, widths)
    hessian, log_volume = hessian_error_bars(reduction, result)
    return Level3(
        level2=result,
        log_evidence=result.log_evidence + occam.total,
        log_evidence_without_occam=result.log_evidence,
        log_occam_factor=occam.total,
        log_occam_factor_hessian=log_volume - float(np.log(widths).sum()),
        log_eq_5_3=log_eq_5_3(reduction, result),
        mackay=mackay_error_bars(result),
        hessian=hessian,
        prior_sd=widths,
        occam_capped=occam.capped,
    )


def evidence_of(
    K: Array,
    y: Array,
    *,
    prior_sd: float | tuple[float, float] = DEFAULT_PRIOR_SD,
    weights: Array | None = None,
) -> Level3:
    """The evidence of a kernel matrix K of shape (N, N) with targets y and, where rows have them, weights (N,)."""
    spectrum = CentredSpectrum.from_kernel_matrix(np.asarray(K, float), np.asarray(y, float), weights)
    return evaluate(spectrum, prior_sd=prior_sd)
