"""Estimators in scikit-learn's conventions: with given γ, designed by the evidence framework, and fully Bayesian."""

from .classifier import BayesianLSSVC
from .fully_bayesian import FullyBayesianLSSVC, FullyBayesianLSSVR
from .plain import LSSVC, LSSVR
from .regressor import BayesianLSSVR

__all__ = ["LSSVC", "LSSVR", "BayesianLSSVC", "BayesianLSSVR", "FullyBayesianLSSVC", "FullyBayesianLSSVR"]
