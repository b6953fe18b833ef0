"""Estimators in scikit-learn's conventions: with given γ, designed by the evidence framework, and fully Bayesian."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .classifier import BayesianLSSVC
from .fully_bayesian import FullyBayesianLSSVC, FullyBayesianLSSVR
from .plain import LSSVC, LSSVR
from .regressor import BayesianLSSVR

__all__ = ["LSSVC", "LSSVR", "BayesianLSSVC", "BayesianLSSVR", "FullyBayesianLSSVC", "FullyBayesianLSSVR"]


def __getattr__(name: str) -> Any:
    """What `model.trust`, `model.plot` and `model.marginalise` call; built on the estimators, or seldom needed."""
    if name == "trust":
        return import_module("bayes_lssvm.trust").trust
    if name == "marginalised":
        return import_module("bayes_lssvm.marginal.marginalise").with_surface
    if name == "plot_model":
        return import_module("bayes_lssvm.displays.choosing").plot_model
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
