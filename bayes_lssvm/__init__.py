"""The Bayesian evidence framework for least-squares support vector machines.

    from bayes_lssvm import BayesianLSSVC
    model = BayesianLSSVC().fit(X, y)
    model.predict_proba(X_new)

The closed forms are in `spectrum`, `level1`, `level2`, `level3`, `moderation`, `solvers`, `gaussian_process` and
`fisher`; the estimators are thin surfaces over them.
"""

from . import datasets, kernels
from ._errors import (
    BayesLSSVMWarning,
    ConstantFeatureWarning,
    EvidenceDivergenceWarning,
    InterpolationWarning,
    MatrixTooLargeError,
    NoSignalWarning,
    NotPositiveSemidefiniteError,
)
from ._version import __version__
from .comparison import Comparison, compare
from .estimators import LSSVC, LSSVR, BayesianLSSVC, BayesianLSSVR, FullyBayesianLSSVC, FullyBayesianLSSVR
from .estimators_sparse import SparseLSSVC
from .evidence_selector import EvidenceSelector
from .marginal import HyperPosterior, marginalise
from .model_files import ModelFileError, load, save
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
