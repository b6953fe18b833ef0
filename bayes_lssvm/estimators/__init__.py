"""Estimators in scikit-learn's conventions: the LS-SVM with given γ, and designed by the evidence framework."""

from ._bayesian_classifier import BayesianLSSVC
from ._bayesian_regressor import BayesianLSSVR
from ._plain import LSSVC, LSSVR

__all__ = ["LSSVC", "LSSVR", "BayesianLSSVC", "BayesianLSSVR"]
