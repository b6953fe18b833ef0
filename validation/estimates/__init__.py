"""The evidence from samples: bridge sampling, importance sampling, tempered SMC and nested sampling, one interface.

| function              | needs                                       | use                                            |
| --------------------- | ------------------------------------------- | ---------------------------------------------- |
| `bridge_numpyro`      | a NumPyro model and draws of its posterior  | the most accurate for its price, by far        |
| `bridge_target`       | a `Target` and draws                        | the same without NumPyro                       |
| `importance_sampling` | a `Target`                                  | few parameters, one mode; k̂ tells if it failed |
| `tempered_smc`        | a `Target` with a prior to draw from        | several modes; an independent check            |
| `nested_sampling`     | the same with quantiles of the prior        | the same; needs dynesty                        |

Each returns an `EvidenceEstimate`: log Z, standard error, diagnostics, provenance.
"""

from .bridge import bridge_numpyro, bridge_target
from .estimate import EvidenceEstimate, LogBayesFactor
from .importance import importance_sampling
from .nested import nested_sampling
from .numpyro_target import numpyro_target
from .smc import tempered_smc
from .target import Target, lssvm_target

__all__ = [
    "EvidenceEstimate",
    "LogBayesFactor",
    "Target",
    "bridge_numpyro",
    "bridge_target",
    "importance_sampling",
    "lssvm_target",
    "nested_sampling",
    "numpyro_target",
    "tempered_smc",
]
