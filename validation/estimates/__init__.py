"""The evidence from samples by other means than the library's: importance sampling at a mode, SMC, nested sampling.

| function              | needs                                       | use                                            |
| --------------------- | ------------------------------------------- | ---------------------------------------------- |
| `importance_sampling` | a `Target`                                  | few parameters, one mode; k̂ tells if it failed |
| `tempered_smc`        | a `Target` with a prior to draw from        | several modes; an independent check            |
| `nested_sampling`     | the same with quantiles of the prior        | the same; needs dynesty                        |

Each returns an `EvidenceEstimate`: log Z, standard error, diagnostics, provenance. Bridge sampling of any model is
`bayes_lssvm.evidence.log_evidence`.
"""

from bayes_lssvm.evidence import EvidenceEstimate, LogBayesFactor

from .importance import importance_sampling
from .nested import nested_sampling
from .numpyro_target import numpyro_target
from .smc import tempered_smc
from .target import Target, lssvm_target

__all__ = [
    "EvidenceEstimate",
    "LogBayesFactor",
    "Target",
    "importance_sampling",
    "lssvm_target",
    "nested_sampling",
    "numpyro_target",
    "tempered_smc",
]
