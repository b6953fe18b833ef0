"""Estimators in scikit-learn's conventions: with given γ, designed by the evidence framework, and fully Bayesian."""

from ._bayesian_classifier import BayesianLSSVC
from ._bayesian_regressor import BayesianLSSVR
from ._fully_bayesian import FullyBayesianLSSVC, FullyBayesianLSSVR
from ._plain import LSSVC, LSSVR

__all__ = ["LSSVC", "LSSVR", "BayesianLSSVC", "BayesianLSSVR", "FullyBayesianLSSVC", "FullyBayesianLSSVR"]
