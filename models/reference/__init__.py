"""Posteriors of posteriordb as NumPyro programs of our own, to be held against its reference draws.

    from models.reference import REFERENCES
    reference = REFERENCES["eight_schools-eight_schools_noncentered"]
    sample(reference.program, *reference.args(), seed=0)      # ours
    reference.draws()                                         # theirs

| module          | references                                                                        |
| --------------- | --------------------------------------------------------------------------------- |
| `regression`    | 27 linear regressions: earnings, children's scores, mesquite, elections, simulated |
| `series`        | AR(5), ARMA(1, 1)                                                                 |
| `hidden_markov` | three models with two states                                                      |
| `dynamics`      | lynx and hare, a drug in one compartment                                          |
| `small`         | eight schools, a Gaussian process on eleven points                                |

The Stan programs are the specification; the data and the draws stay outside the repository (`files`). Normalising
constants of proper priors and of likelihoods are kept, a flat prior has density one.
"""

from models.reference.files import reference_folder
from models.reference.registry import REFERENCES, Reference

__all__ = ["REFERENCES", "Reference", "reference_folder"]
