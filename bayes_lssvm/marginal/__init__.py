"""Full marginalisation: μ, ζ and a kernel parameter integrated out instead of fixed at their most probable values.

    from bayes_lssvm.marginal import marginalise
    posterior = marginalise(X, y, kernel="rbf")
    posterior.log_evidence, posterior.summary(), posterior.predict_proba(X_new)

The integration is deterministic quadrature (`rules.level2`, `rules.kernel`), with its own error estimate.
"""

from .gaussian import LaplaceEvidence, laplace_evidence
from .marginalise import marginalise
from .posterior import HyperPosterior

__all__ = ["HyperPosterior", "LaplaceEvidence", "laplace_evidence", "marginalise"]
