"""R-hat, effective sample sizes and Monte-Carlo errors of chains (Vehtari, Gelman, Simpson, Carpenter, Bürkner 2021).

Chains are split in halves, M of them with n draws each. With W the mean variance within and B/n the variance of their
means, R-hat² = (B/W + n − 1)/n; it is the larger of that of ranks made normal, and of ranks of |x − median|. The
effective sample size is Mn/τ with the autocorrelations of all chains together,

    ρ_t = 1 − (W − mean_m c_mt) / (W (n − 1)/n + B/n),
    τ = −1 + 2 Σ_{k<K} min_{j≤k} P_j + ρ_{2K},    P_k = ρ_{2k} + ρ_{2k+1}

up to the first K with P_K ≤ 0 (Geyer's initial positive and monotone sequences). τ is at least 1/log₁₀(Mn).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

from ..base.typing import AnyArray, Array

_TAIL = 0.05  # the quantiles whose effective sample size is "tail"
_FEWEST_DRAWS, _FEWEST_CHAINS = 4, 2
_CONSTANT = 1e-15  # a range
_BLOM = 3.0 / 8.0


class ChainStatistics(NamedTuple):
    """Statistics of each scalar of each quantity: every field maps names to arrays of shape (…).

    Attributes
    ----------
    rhat : dict
        Rank-normalised split R-hat, the larger of bulk and folded; NaN for one chain or a constant.
    ess_bulk, ess_tail : dict
        Effective sample sizes of the rank-normalised draws and of the 5 % and 95 % quantiles (the smaller).
    mcse_mean, mcse_sd : dict
        Monte-Carlo standard errors of the posterior mean and standard deviation.
    """

    rhat: dict[str, Array]
    ess_bulk: dict[str, Array]
    ess_tail: dict[str, Array]
    mcse_mean: dict[str, Array]
    mcse_sd: dict[str, Array]


def rhat_and_ess(draws: Mapping[str, AnyArray]) -> ChainStatistics:
    """R-hat, effective sample sizes and Monte-Carlo errors of draws of shape (chains, draws, …)."""
    result = ChainStatistics({}, {}, {}, {}, {})
    for name, values in draws.items():
        x = np.asarray(values, dtype=float)
        scalars = np.moveaxis(x.reshape(*x.shape[:2], -1), 2, 0)
        found = np.array([_of_scalar(scalar) for scalar in scalars]).reshape(-1, len(result))
        for field, column in zip(result, found.T, strict=True):
            field[name] = column.reshape(x.shape[2:])
    return result


def bfmi(energy: Array) -> Array:
    """Energy fraction of missing information (E-FMI) of each chain, from energies of shape (chains, draws)."""
    energy = np.atleast_2d(np.asarray(energy, dtype=float))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.square(np.diff(energy, axis=1)).mean(axis=1) / energy.var(axis=1, ddof=1))


def _of_scalar(x: Array) -> tuple[float, ...]:
    """The fields of `ChainStatistics` for draws of shape (chains, draws)."""
    if x.shape[1] < _FEWEST_DRAWS or np.isnan(x).any():
        return (np.nan,) * len(ChainStatistics._fields)
    halves, normal = _split(x), _normal_ranks(_split(x))
    # a quantity that never moves has no variance to divide by: its R-hat is NaN, which no check passes
    with np.errstate(divide="ignore", invalid="ignore"):
        folded = _normal_ranks(np.abs(halves - np.median(halves)))
        rhat = float(np.fmax(_rhat(normal), _rhat(folded))) if len(x) >= _FEWEST_CHAINS else np.nan
        tails = [_ess(_split((x <= np.quantile(x, q)).astype(float))) for q in (_TAIL, 1.0 - _TAIL)]
        # sd = √E(x − m)², so its error is that of the mean of the squares over 2 sd
        squares = (x - x.mean()) ** 2
        error_of_sd = _error_of_mean(squares) / (2.0 * np.sqrt(squares.mean()))
        return rhat, _ess(normal), min(tails), _error_of_mean(x), float(error_of_sd)


def _split(x: Array) -> Array:
    """The first and the last halves of chains of shape (M, n), as chains of their own."""
    half = x.shape[1] // 2
    return np.vstack([x[:, :half], x[:, -half:]])


def _normal_ranks(x: Array) -> Array:
    """Normal quantiles of the ranks among all draws, with Blom's offset."""
    ranks = rankdata(x, method="average").reshape(x.shape)
    return np.asarray(ndtri((ranks - _BLOM) / (x.size - 2.0 * _BLOM + 1.0)))


def _rhat(x: Array) -> float:
    n = x.shape[1]
    between, within = n * x.mean(axis=1).var(ddof=1), x.var(axis=1, ddof=1).mean()
    return float(np.sqrt((between / within + n - 1) / n))


def _error_of_mean(x: Array) -> float:
    return float(x.std(ddof=1) / np.sqrt(_ess(_split(x))))


def _ess(x: Array) -> float:
    """The effective sample size of chains of shape (M, n), each at least two draws long."""
    if np.ptp(x) < _CONSTANT:
        return float(x.size)
    n = x.shape[1]
    covariances = _autocovariances(x).mean(axis=0)
    within = covariances[0] * n / (n - 1.0)
    total = covariances[0] + (x.mean(axis=1).var(ddof=1) if len(x) > 1 else 0.0)
    rho = 1.0 - (within - covariances) / total
    rho[0] = 1.0
    pairs = rho[0 : n - n % 2 : 2] + rho[1::2]
    last = max((n - 1) // 2 - 1, 0)  # the last pair that is looked at
    ended = np.flatnonzero(pairs[: last + 1] <= 0.0)
    K = int(ended[0]) if len(ended) else last
    rest = max(rho[2 * K], 0.0) if pairs[K] < 0.0 else rho[2 * K]
    tau = -1.0 + 2.0 * np.minimum.accumulate(pairs[:K]).sum() + rest
    return float(x.size / max(tau, 1.0 / np.log10(x.size))) if np.isfinite(rho).all() else np.nan


def _autocovariances(x: Array) -> Array:
    """Of chains of shape (M, n) at all lags, each a sum over n."""
    n = x.shape[1]
    length = next_fast_len(2 * n, real=True)
    spectrum = rfft(x - x.mean(axis=1, keepdims=True), n=length, axis=1)
    return np.asarray(irfft(spectrum * spectrum.conj(), n=length, axis=1)[:, :n] / n)
