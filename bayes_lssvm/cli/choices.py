"""The names among which options choose, as the library has them.

They stand here once more so that help and mistakes in the arguments come at once, without NumPy and scikit-learn; a
test holds them against the library's own.
"""

from __future__ import annotations

KERNEL_NAMES = (
    *("linear", "poly", "poly2", "poly3", "rbf", "ard", "mlp", "matern12", "matern32", "matern52", "rq"),
    *("periodic", "categorical", "constant", "white"),
)
CRITERIA = ("evidence", "press", "press-br", "press-laplace", "press-curvature", "press-slope", "loo")
CODINGS = ("ovo", "ova", "moc", "ecoc", "exhaustive")
DECODINGS = ("auto", "bayes", "bayes-sequential", "bayes-printed", "coupling", "hamming", "loss", "hinge")
MODERATIONS = ("loo", "class", "target", "softmax")
PRIORS = ("default", "flat")
NOISES = ("constant", "learned", "student")
KERNEL_PARAMETERS = ("integrated", "maximised")
DIRECTIONS = ("backward", "forward", "stepwise", "ard")
SELECTION_KERNELS = ("linear", "rbf", "ard")
IMPUTATIONS = ("median", "drop")
DECIMALS = ("point", "comma")
FIGURES = ("surface", "reliability", "left-out", "evidence", "relevance", "hyperposterior")
METHODS = ("quadrature", "mackay", "laplace", "importance", "ccd", "nuts")
