"""What a user with many rows could take instead: other models on Nyström features, inducing points, boosted trees.

Models with a kernel's width are given the one that ours found, which saves them their search. SGPR and SVGP go on from
there and learn their kernel and their inducing points. What is not part of scikit-learn is run where it is installed;
no lock file holds it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import BayesianRidge, LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier

from bayes_lssvm.base.typing import AnyArray, Array

SMALLEST = 1e-6
_PENALTIES = (1.0, 10.0, 100.0)
_BATCHES, _BATCH, _RATE = 600, 1024, 0.02  # of SVGP
_STEPS, _STEP = 60, 0.05  # of SGPR


class Problem(NamedTuple):
    """Rows to train on, classes numbered from 0, rows to predict, landmarks allowed, and the width that ours found."""

    X: Array
    y: AnyArray
    X_new: Array
    m: int
    sigma: float
    seed: int


class Rival(NamedTuple):
    """Another model.

    Attributes
    ----------
    title : str
    predict : callable
        Probabilities of shape (n, C) of the new rows of a problem.
    same_m : bool
        Whether it has m Nyström features or inducing points, as ours has.
    package : str
        What has to be installed beside scikit-learn; empty for nothing.
    two_classes : bool
        Whether it is run for two classes alone.
    """

    title: str
    predict: Callable[[Problem], Array]
    same_m: bool = True
    package: str = ""
    two_classes: bool = False

    @property
    def installed(self) -> bool:
        """Whether it can be run here."""
        return not self.package or find_spec(self.package) is not None


def _on_features(fit: Callable[[Array, AnyArray, Array], Array]) -> Callable[[Problem], Array]:
    def predict(p: Problem) -> Array:
        features = Nystroem(gamma=p.sigma**-2.0, n_components=p.m, random_state=0).fit(p.X)
        return fit(features.transform(p.X), p.y, features.transform(p.X_new))

    return predict


def _logistic(phi: Array, y: AnyArray, phi_new: Array) -> Array:
    """The penalty by a fifth of the rows, then all rows."""
    own, held, y_own, y_held = train_test_split(phi, y, test_size=0.2, random_state=0, stratify=y)
    losses = [
        log_loss(y_held, LogisticRegression(C=C, max_iter=300).fit(own, y_own).predict_proba(held)) for C in _PENALTIES
    ]
    best = _PENALTIES[int(np.argmin(losses))]
    return np.asarray(LogisticRegression(C=best, max_iter=300).fit(phi, y).predict_proba(phi_new))


def _ridge(phi: Array, y: AnyArray, phi_new: Array) -> Array:
    columns = [BayesianRidge().fit(phi, np.where(y == label, 1.0, -1.0)).predict(phi_new) for label in np.unique(y)]
    return of_outputs(np.stack(columns, axis=1))


def of_outputs(z: Array) -> Array:
    """Probabilities from a regression on ±1 for each class: (1 + z)/2, normalised."""
    P = np.clip(0.5 * (1.0 + z), SMALLEST, 1.0)
    return np.asarray(P / P.sum(axis=1, keepdims=True))


def _boosting(p: Problem) -> Array:
    return np.asarray(HistGradientBoostingClassifier(random_state=0).fit(p.X, p.y).predict_proba(p.X_new))


def _neo(p: Problem) -> Array:
    model = import_module("neo_ls_svm").NeoLSSVM()  # scales inputs and chooses its features itself; for two classes
    several = len(np.unique(p.y)) > 2
    model = (OneVsRestClassifier(model) if several else model).fit(p.X, p.y)
    return np.asarray(model.predict_proba(p.X_new), dtype=float)


def _sgpr(p: Problem) -> Array:
    """Titsias' regression on ±1: the bound of the evidence is climbed in kernel, noise and inducing points."""
    torch, gp = import_module("torch"), import_module("gpytorch")
    torch.manual_seed(p.seed)
    X, y = torch.tensor(p.X), torch.tensor(2.0 * p.y - 1.0)
    likelihood = gp.likelihoods.GaussianLikelihood().double()

    class Model(gp.models.ExactGP):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__(X, y, likelihood)
            self.mean_module = gp.means.ConstantMean()
            base = gp.kernels.ScaleKernel(_torch_kernel(gp, p, torch.Size()))
            self.covar_module = gp.kernels.InducingPointKernel(base, _inducing(torch, p), likelihood)

        def forward(self, x: Any) -> Any:
            return gp.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    model = Model().double()
    objective = gp.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimiser = torch.optim.Adam(model.parameters(), lr=_STEP)
    model.train()
    for _ in range(_STEPS):
        optimiser.zero_grad()
        loss = -objective(model(X), y)
        loss.backward()
        optimiser.step()
    model.eval()
    with torch.no_grad():
        z = model(torch.tensor(p.X_new)).mean.numpy()
    return of_outputs(np.stack([-z, z], axis=1))


def _svgp(p: Problem) -> Array:
    """A Gaussian process classifier by variational inference in minibatches; the classes share their inducing points.

    A Bernoulli likelihood for two classes, the softmax of a process for each class for more.
    """
    torch, gp = import_module("torch"), import_module("gpytorch")
    torch.manual_seed(p.seed)
    classes = int(p.y.max()) + 1
    several = classes > 2
    shape = torch.Size([classes]) if several else torch.Size()

    class Model(gp.models.ApproximateGP):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            q = gp.variational.CholeskyVariationalDistribution(p.m, batch_shape=shape)
            own = gp.variational.VariationalStrategy(self, _inducing(torch, p), q)
            super().__init__(gp.variational.IndependentMultitaskVariationalStrategy(own, classes) if several else own)
            self.mean_module = gp.means.ConstantMean(batch_shape=shape)
            self.covar_module = gp.kernels.ScaleKernel(_torch_kernel(gp, p, shape), batch_shape=shape)

        def forward(self, x: Any) -> Any:
            return gp.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    if several:
        likelihood = gp.likelihoods.SoftmaxLikelihood(num_features=classes, num_classes=classes, mixing_weights=False)
    else:
        likelihood = gp.likelihoods.BernoulliLikelihood()
    model = Model().double()
    X, y = torch.tensor(p.X), torch.tensor(p.y if several else p.y.astype(float))
    objective = gp.mlls.VariationalELBO(likelihood, model, num_data=len(y))
    optimiser = torch.optim.Adam(model.parameters(), lr=_RATE)
    model.train()
    for _ in range(_BATCHES):
        rows = torch.randint(len(y), (_BATCH,))
        optimiser.zero_grad()
        loss = -objective(model(X[rows]), y[rows])
        loss.backward()
        optimiser.step()
    model.eval()
    found = []
    with torch.no_grad(), gp.settings.num_likelihood_samples(64):
        for rows in torch.tensor(p.X_new).split(_BATCH):
            P = likelihood(model(rows)).probs
            found.append(P.mean(dim=0).numpy() if several else torch.stack([1.0 - P, P], dim=1).numpy())
    return np.vstack(found)


def _inducing(torch: Any, p: Problem) -> Any:
    rng = np.random.default_rng(p.seed)
    return torch.tensor(p.X[rng.permutation(len(p.X))[: p.m]])


def _torch_kernel(gp: Any, p: Problem, shape: Any) -> Any:
    """exp(−d²/(2ℓ²)) with ℓ = σ/√2 to start from."""
    kernel = gp.kernels.RBFKernel(batch_shape=shape).double()
    kernel.lengthscale = p.sigma / np.sqrt(2.0)
    return kernel


RIVALS: dict[str, Rival] = {
    "logistic": Rival("Nystroem + logistic regression", _on_features(_logistic)),
    "ridge": Rival("Nystroem + BayesianRidge", _on_features(_ridge)),
    "sgpr": Rival("GPyTorch SGPR", _sgpr, package="gpytorch", two_classes=True),
    "svgp": Rival("GPyTorch SVGP", _svgp, package="gpytorch"),
    "neo": Rival("neo-ls-svm", _neo, same_m=False, package="neo_ls_svm"),
    "boosting": Rival("HistGradientBoosting", _boosting, same_m=False),
}
"""By name, in the order of the tables."""
