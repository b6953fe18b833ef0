"""One-step-ahead forecasts of the DAX: AR, ARX, LS-SVM, and LS-SVM with volatility correction (paper 4).

A model is designed on a window of past days and then forecasts the days of a block, each from the days before it:

    buy and hold    the window's mean and standard deviation
    AR              own lags by least squares, their number p by AIC
    ARX             lags of all four indices, p by AIC
    LS-SVM          lags of all four indices, RBF kernel by evidence, p by the evidence too
    LS-SVM + vol.   the same inputs, with noise precisions ζw_t from a second LS-SVM (`paper4_volatility`)
    learned noise   `BayesianLSSVR(noise="learned")`, whose two LS-SVMs see the same inputs: the lags and the activity
                    that the volatility is forecast from

Each gives mean and standard deviation of a Gaussian for the day's return. Inputs are standardised with the window.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from bayes_lssvm import BayesianLSSVR
from bayes_lssvm.base.errors import BayesLSSVMWarning
from bayes_lssvm.base.standardisation import Standardiser
from bayes_lssvm.base.typing import Array

from .dax_series import DAX, LONGEST, Inputs, activity, all_lags, inputs_for, own_lags
from .volatility import fit_weighted, left_out, volatility

MODELS = ("LS-SVM + volatility", "LS-SVM, learned noise", "LS-SVM", "ARX", "AR", "buy and hold")
AR_ORDERS = tuple(range(1, 11))
ARX_ORDERS = tuple(range(1, 6))
LSSVM_ORDERS = (1, 2, 3, 5)
_DECIMALS = 3  # of log evidences, in nats: about what the optimiser leaves


class Forecast(NamedTuple):
    """Mean and standard deviation of the return, in %, for each day of a block."""

    mean: Array
    sd: Array


class Block(NamedTuple):
    """Forecasts of a block by every model, and facts about their design."""

    forecasts: dict[str, Forecast]
    facts: dict[str, Any]


def forecast_block(
    returns: Array,
    first: int,
    days: int,
    *,
    window: int,
    seed: int,
    orders: Sequence[int] = LSSVM_ORDERS,
) -> Block:
    """Forecasts of `days` returns from row `first` on, by models of the `window` rows before it.

    Parameters
    ----------
    returns : array of shape (T, 4)
        In %; rows from `first` on are looked at one after the other, never before their forecast is made.
    first, days, window : int
    seed : int
    orders : sequence of int
        Lags among which the LS-SVM's evidence chooses.
    """
    if first - window < LONGEST or first + days > len(returns):
        raise ValueError(
            f"Rows {first - window} to {first + days} are asked for, but inputs need {LONGEST} returns before the "
            f"first, and there are {len(returns)}."
        )
    train, test = range(first - window, first), range(first, first + days)
    y = returns[first - window : first, DAX]
    mean, sd = float(y.mean()), float(y.std(ddof=1))
    found = {"buy and hold": Forecast(np.full(days, mean), np.full(days, sd))}
    facts: dict[str, Any] = {}
    for name, make, candidates in (("AR", own_lags, AR_ORDERS), ("ARX", all_lags, ARX_ORDERS)):
        found[name], facts[f"{name} order"] = _least_squares(returns, train, test, y, make, candidates)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesLSSVMWarning)  # "no signal" and the like: the facts have each status
        lssvms, own = _lssvms(returns, train, test, (y - mean) / sd, orders, seed)
    for name, forecast in lssvms.items():
        found[name] = Forecast(mean + sd * forecast.mean, sd * forecast.sd)
    return Block({name: found[name] for name in MODELS}, facts | own)


def _least_squares(
    returns: Array, train: range, test: range, y: Array, make: Callable[[int], Inputs], orders: Sequence[int]
) -> tuple[Forecast, int]:
    """A linear model with a constant, its order by AIC = N log RSS + 2k."""
    best: tuple[float, int, Array, float] | None = None
    for p in orders:
        X = _with_constant(inputs_for(returns, train, make(p)))
        beta: Array = np.asarray(np.linalg.lstsq(X, y, rcond=None)[0], dtype=np.float64)
        rss = float(np.sum((y - X @ beta) ** 2))
        aic = len(y) * float(np.log(rss)) + 2.0 * X.shape[1]
        if best is None or aic < best[0]:
            best = (aic, p, beta, float(np.sqrt(rss / (len(y) - X.shape[1]))))
    assert best is not None
    _, p, beta, sd = best
    mean = _with_constant(inputs_for(returns, test, make(p))) @ beta
    return Forecast(mean, np.full(len(mean), sd)), p


def _with_constant(X: Array) -> Array:
    return np.column_stack([np.ones(len(X)), X])


def _lssvms(
    returns: Array, train: range, test: range, y: Array, orders: Sequence[int], seed: int
) -> tuple[dict[str, Forecast], dict[str, Any]]:
    """The LS-SVM without and with volatility, and with learned noise, for standardised targets y."""
    fitted = {
        p: BayesianLSSVR("rbf", prior="flat", random_state=seed).fit(inputs_for(returns, train, all_lags(p)), y)
        for p in orders
    }
    # without signal all orders say the same but for rounding: the first of them then
    p = max(fitted, key=lambda order: round(fitted[order].log_evidence_, _DECIMALS))
    model = fitted[p]
    X_new = inputs_for(returns, test, all_lags(p))
    mean, sd = model.predict(X_new, return_std=True)

    scale = Standardiser.fit(inputs_for(returns, train, activity))
    active, active_new = (scale(inputs_for(returns, rows, activity)) for rows in (train, test))
    noise = volatility(active, y - left_out(model), active_new, seed)
    weighted = fit_weighted(model.X_fit_, y, noise.train)
    z, variance = weighted.moments(model.standardiser_(X_new))
    learned = BayesianLSSVR("rbf", noise="learned", random_state=seed)
    learned.fit(np.column_stack([inputs_for(returns, train, all_lags(p)), active]), y)
    facts = {
        "LS-SVM order": p,
        "log_evidence": {str(order): m.log_evidence_ for order, m in fitted.items()},
        "status": model.level3_.level2.status,
        "log_gain": model.level3_.level2.log_gain,
        "gamma_eff": model.gamma_eff_,
        "volatility_status": noise.status,
        "weighted_status": weighted.status,
        "weighted_log_evidence": weighted.log_evidence,
        "weights": [float(q) for q in np.quantile(noise.train, [0.05, 0.5, 0.95])],
        "noise": learned.noise_,
        "noise_gain": learned.noise_gain_,
    }
    forecasts = {
        "LS-SVM": Forecast(mean, sd),
        "LS-SVM + volatility": Forecast(z, np.sqrt(variance + 1.0 / (weighted.posterior.zeta * noise.new))),
        "LS-SVM, learned noise": Forecast(*learned.predict(np.column_stack([X_new, active_new]), return_std=True)),
    }
    return forecasts, facts
