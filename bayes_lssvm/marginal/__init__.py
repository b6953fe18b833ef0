"""Full marginalisation: μ, ζ and a kernel parameter integrated out instead of fixed at their most probable values.

    from bayes_lssvm.marginal import marginalise
    posterior = marginalise(X, y, kernel="rbf")
    posterior.log_evidence, posterior.summary(), posterior.predict_proba(X_new)

The integration is deterministic quadrature (`_level2_quadrature`, `_kernel_quadrature`), with its own error estimate.
"""

from ._level2_laplace import LaplaceEvidence, laplace_evidence
from ._marginalise import marginalise
from ._posterior import HyperPosterior

__all__ = ["HyperPosterior", "LaplaceEvidence", "laplace_evidence", "marginalise"]
