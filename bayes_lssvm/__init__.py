"""The Bayesian evidence framework for least-squares support vector machines.

    from bayes_lssvm import BayesianLSSVC
    model = BayesianLSSVC().fit(X, y)
    model.predict_proba(X_new)

The closed forms are in `spectrum`, `level1`, `level2`, `level3`, `moderation`, `solvers`, `gaussian_process` and
`fisher`; the estimators are thin surfaces over them.
"""

from . import datasets, kernels
from ._version import __version__
from .base.errors import (
    BayesLSSVMWarning,
    ConstantFeatureWarning,
    EvidenceDivergenceWarning,
    InterpolationWarning,
    MatrixTooLargeError,
    NoSignalWarning,
    NotPositiveSemidefiniteError,
)
from .estimators import LSSVC, LSSVR, BayesianLSSVC, BayesianLSSVR, FullyBayesianLSSVC, FullyBayesianLSSVR
from .estimators.selector import EvidenceSelector
from .estimators.sparse import SparseLSSVC
from .files import ModelFileError, load, save
from .marginal import HyperPosterior, marginalise
from .search.comparison import Comparison, compare
from .trust import TrustReport, trust

__all__ = [
    "LSSVC",
    "LSSVR",
    "BayesLSSVMWarning",
    "BayesianLSSVC",
    "BayesianLSSVR",
    "Comparison",
    "ConstantFeatureWarning",
    "EvidenceDivergenceWarning",
    "EvidenceSelector",
    "FullyBayesianLSSVC",
    "FullyBayesianLSSVR",
    "HyperPosterior",
    "InterpolationWarning",
    "MatrixTooLargeError",
    "ModelFileError",
    "NoSignalWarning",
    "NotPositiveSemidefiniteError",
    "SparseLSSVC",
    "TrustReport",
    "__version__",
    "compare",
    "datasets",
    "kernels",
    "load",
    "marginalise",
    "save",
    "trust",
]
