"""The evidence of any model, and whether Laplace's approximation of it can be trusted.

    from bayes_lssvm.evidence import log_evidence, trust_model
    log_evidence(model, (X, y), draws=mcmc)                # a NumPyro model and its draws
    log_evidence(log_density, draws=points)                # a plain log density and draws of shape (chains, n, d)
    log_evidence(log_density, draws=tree, names=["w"])     # the same with an ArviZ tree
    trust_model(model, (X, y))                             # Laplace against importance sampling, bridge and NUTS
    laplace_figures(model, (X, y))                         # what can be said before any sampling

NumPyro, JAX and ArviZ come with the extra `sampling` and are imported when a function is called.
"""

from .estimate import EvidenceEstimate, LogBayesFactor
from .figures import LaplaceFigures, laplace_figures
from .model_trust import trust_model
from .of_draws import EvidenceDisagreementWarning, log_evidence
from .result import LogEvidence
from .trust_report import ModelTrust

__all__ = [
    "EvidenceDisagreementWarning",
    "EvidenceEstimate",
    "LaplaceFigures",
    "LogBayesFactor",
    "LogEvidence",
    "ModelTrust",
    "laplace_figures",
    "log_evidence",
    "trust_model",
]
