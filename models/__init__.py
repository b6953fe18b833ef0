"""Independent NumPyro programs of the model that `bayes_lssvm` solves in closed form.

    from models import Exact, KernelWeightSpace, WeightSpace, features, sample
    program = WeightSpace(prior=Normal(0, 3))
    posterior = sample(program, *program.data(features(Linear(), X), y), seed=0)
    program = KernelWeightSpace(Exact(RBF(1.0)), prior=Normal(0, 3))
    posterior = sample(program, *program.data(X, y), seed=0, modes_over=program.hyperparameters)

| program             | latent quantities                                | likelihood                       |
| ------------------- | ------------------------------------------------ | -------------------------------- |
| `WeightSpace`       | log μ, log ζ, w, b                               | y ~ Normal(Φw + b, 1/ζ)          |
| `KernelWeightSpace` | log μ, log ζ, the kernel's log parameters, w, b  | y ~ Normal(Φ_θ w + b, 1/ζ)       |
| `GaussianProcess`   | log μ, log ζ, the kernel's log parameters, b     | y ~ Normal(b, K/μ + I/ζ)         |
| `BernoulliGP`       | log μ, the kernel's log parameters, b, latent f  | P(y = +1) = 1/(1 + e^{−f})       |

They are priors and a likelihood. With the analytic side they share the data, the kernel and the prior object, and
never its evidence: an error in the algebra must show as a disagreement.
"""

from models.bernoulli_gp import BernoulliGP
from models.feature_maps import Exact, Fourier, Hilbert, kernel_error
from models.gaussian_process import GaussianProcess
from models.kernel_weights import KernelWeightSpace
from models.log_density import FlatDensity
from models.nuts import NonFiniteStartError
from models.priors import to_numpyro
from models.sampling import Sampled, sample
from models.weight_space import WeightSpace, features

__all__ = [
    "BernoulliGP",
    "Exact",
    "FlatDensity",
    "Fourier",
    "GaussianProcess",
    "Hilbert",
    "KernelWeightSpace",
    "NonFiniteStartError",
    "Sampled",
    "WeightSpace",
    "features",
    "kernel_error",
    "sample",
    "to_numpyro",
]
