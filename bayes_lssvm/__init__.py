"""The Bayesian evidence framework for least-squares support vector machines.

    from bayes_lssvm import BayesianLSSVC
    model = BayesianLSSVC().fit(X, y)
    model.predict_proba(X_new)

The closed forms are in `levels`, on the spectra of `linalg`; the estimators are thin surfaces over them.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ._version import __version__

if TYPE_CHECKING:
    from . import datasets, kernels, priors
    from .base.errors import (
        BayesLSSVMWarning,
        ConstantFeatureWarning,
        EvidenceDivergenceWarning,
        InterpolationWarning,
        LongFitWarning,
        MatrixTooLargeError,
        NoSignalWarning,
        NotPositiveSemidefiniteError,
        TiedOptimaWarning,
    )
    from .displays import (
        DecisionSurfaceDisplay,
        EvidenceDisplay,
        HyperposteriorDisplay,
        LeftOutDisplay,
        RelevanceDisplay,
        ReliabilityDisplay,
    )
    from .estimators import LSSVC, LSSVR, BayesianLSSVC, BayesianLSSVR, FullyBayesianLSSVC, FullyBayesianLSSVR
    from .estimators.averaged import AveragedLSSVC, AveragedLSSVR
    from .estimators.comparing import Comparison, compare
    from .estimators.fixed_size import FixedSizeLSSVC, FixedSizeLSSVR
    from .estimators.selector import EvidenceSelector
    from .estimators.sparse import SparseLSSVC
    from .evidence import LogEvidence, ModelTrust, log_evidence, trust_model
    from .files import ModelFileError, load, save
    from .kernel_search import KernelSearch, search_kernels
    from .marginal import HyperPosterior, marginalise
    from .marginal.ladder import ladder
    from .trust import TrustReport, trust

__all__ = [
    "LSSVC",
    "LSSVR",
    "AveragedLSSVC",
    "AveragedLSSVR",
    "BayesLSSVMWarning",
    "BayesianLSSVC",
    "BayesianLSSVR",
    "Comparison",
    "ConstantFeatureWarning",
    "DecisionSurfaceDisplay",
    "EvidenceDisplay",
    "EvidenceDivergenceWarning",
    "EvidenceSelector",
    "FixedSizeLSSVC",
    "FixedSizeLSSVR",
    "FullyBayesianLSSVC",
    "FullyBayesianLSSVR",
    "HyperPosterior",
    "HyperposteriorDisplay",
    "InterpolationWarning",
    "KernelSearch",
    "LeftOutDisplay",
    "LogEvidence",
    "LongFitWarning",
    "MatrixTooLargeError",
    "ModelFileError",
    "ModelTrust",
    "NoSignalWarning",
    "NotPositiveSemidefiniteError",
    "RelevanceDisplay",
    "ReliabilityDisplay",
    "SparseLSSVC",
    "TiedOptimaWarning",
    "TrustReport",
    "__version__",
    "compare",
    "datasets",
    "kernels",
    "ladder",
    "load",
    "log_evidence",
    "marginalise",
    "priors",
    "save",
    "search_kernels",
    "trust",
    "trust_model",
]

# Where the public names are, each loaded when it is first asked for: `import bayes_lssvm` costs next to nothing.
_HOMES = {
    "base.errors": (
        "BayesLSSVMWarning",
        "ConstantFeatureWarning",
        "EvidenceDivergenceWarning",
        "InterpolationWarning",
        "MatrixTooLargeError",
        "LongFitWarning",
        "NoSignalWarning",
        "NotPositiveSemidefiniteError",
        "TiedOptimaWarning",
    ),
    "displays": (
        "DecisionSurfaceDisplay",
        "EvidenceDisplay",
        "HyperposteriorDisplay",
        "LeftOutDisplay",
        "RelevanceDisplay",
        "ReliabilityDisplay",
    ),
    "estimators.averaged": ("AveragedLSSVC", "AveragedLSSVR"),
    "estimators.classifier": ("BayesianLSSVC",),
    "estimators.comparing": ("Comparison", "compare"),
    "estimators.fixed_size": ("FixedSizeLSSVC", "FixedSizeLSSVR"),
    "estimators.fully_bayesian": ("FullyBayesianLSSVC", "FullyBayesianLSSVR"),
    "estimators.plain": ("LSSVC", "LSSVR"),
    "estimators.regressor": ("BayesianLSSVR",),
    "estimators.selector": ("EvidenceSelector",),
    "estimators.sparse": ("SparseLSSVC",),
    "evidence": ("LogEvidence", "ModelTrust", "log_evidence", "trust_model"),
    "files": ("ModelFileError", "load", "save"),
    "kernel_search": ("KernelSearch", "search_kernels"),
    "marginal": ("HyperPosterior", "marginalise"),
    "marginal.ladder": ("ladder",),
    "trust": ("TrustReport",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_ROOMS = (
    *(
        "base",
        "cli",
        "comparison",
        "datasets",
        "displays",
        "estimators",
        "evidence",
        "files",
        "kernel_search",
        "kernels",
    ),
    *("fixed_size", "levels", "linalg"),
    *("marginal", "multiclass", "press", "priors", "sampling", "search", "selection"),
)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f".{_HOME_OF[name]}", __name__), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})


class _Surface(ModuleType):
    """The package, in which `trust` is the function even after the module of that name was imported."""

    @property
    def trust(self) -> Any:
        return import_module(".trust", __name__).trust

    @trust.setter
    def trust(self, module: ModuleType) -> None:
        """The import system offers the module, which `import bayes_lssvm.trust` finds without it."""


sys.modules[__name__].__class__ = _Surface
