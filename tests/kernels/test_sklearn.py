"""scikit-learn's kernels as they are: values, gradients, evidence, files, and sentences where one does not fit."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gpk

from bayes_lssvm import BayesianLSSVC, BayesianLSSVR, load
from bayes_lssvm.kernels import (
    RBF,
    Linear,
    Matern,
    OnInputs,
    Periodic,
    RationalQuadratic,
    as_kernel,
    from_sklearn,
    kernel_from_dict,
)
from bayes_lssvm.levels.gaussian_process import GaussianProcess

RNG = np.random.default_rng(5)
X, Z = RNG.normal(size=(12, 2)), RNG.normal(size=(5, 2))
Y = np.sin(X[:, 0]) + 0.1 * RNG.normal(size=12)

PEERS = {
    "rbf": gpk.RBF(1.3),
    "anisotropic": gpk.RBF([1.3, 0.4]),
    "matern": gpk.Matern(0.7, nu=2.5),
    "matern of any nu": gpk.Matern(0.7, nu=0.9),
    "composite": 2.0 * gpk.RationalQuadratic(0.5, 1.2) * gpk.DotProduct(0.3) + gpk.WhiteKernel(0.1) ** 2,
    "fixed parts": gpk.Matern(1.0, "fixed", nu=1.5) + gpk.RBF(2.0, (0.1, 10.0)),
    "periodic": gpk.ExpSineSquared(1.1, 2.0) + gpk.RBF(1.0),
    "pairwise": gpk.PairwiseKernel(0.5, metric="laplacian"),
    "nothing free": gpk.RBF(1.0, "fixed"),
}
every_peer = pytest.mark.parametrize("peer", PEERS.values(), ids=PEERS.keys())


@every_peer
def test_values_and_gradients_are_scikit_learns(peer):
    kernel = from_sklearn(peer)
    np.testing.assert_allclose(kernel(X), peer(X), rtol=1e-14, atol=1e-15)
    np.testing.assert_array_equal(kernel(X), kernel(X).T)
    np.testing.assert_array_equal(kernel(X, Z), peer(X, Z))
    np.testing.assert_array_equal(kernel.diag(X), peer.diag(X))
    np.testing.assert_array_equal(kernel.log_params, peer.theta)
    np.testing.assert_array_equal(kernel.log_bounds(X), peer.bounds.reshape(-1, 2))
    assert len(kernel.param_names) == len(peer.theta)
    for second in (None, Z):
        slopes = list(kernel.gradient(X, second))
        assert len(slopes) == len(peer.theta)
        for p, slope in enumerate(slopes):
            step = 1e-5 * np.eye(len(peer.theta))[p]
            ends = [kernel.with_log_params(kernel.log_params + sign * step)(X, second) for sign in (1, -1)]
            np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-5, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    ("own", "peer"),
    [
        (RBF(1.3 * np.sqrt(2.0)), gpk.RBF(1.3)),
        (Matern(0.7, 0.5), gpk.Matern(0.7, nu=0.5)),
        (Matern(0.7, 1.5), gpk.Matern(0.7, nu=1.5)),
        (Matern(0.7, 2.5), gpk.Matern(0.7, nu=2.5)),
        (RationalQuadratic(0.7, 1.4), gpk.RationalQuadratic(0.7, 1.4)),
    ],
)
def test_own_kernels_and_their_gradients_equal_scikit_learns(own, peer):
    other = from_sklearn(peer)
    np.testing.assert_allclose(own(X), other(X), rtol=1e-12, atol=1e-14)
    theirs = sorted(other.gradient(X), key=np.sum)
    for mine, reference in zip(sorted(own.gradient(X), key=np.sum), theirs, strict=True):
        np.testing.assert_allclose(mine, reference, rtol=1e-9, atol=1e-12)


def test_the_periodic_kernel_and_its_gradient_equal_scikit_learns_in_one_input():
    own, other = Periodic(0.8, 1.7), from_sklearn(gpk.ExpSineSquared(0.8, 1.7))
    np.testing.assert_allclose(own(X[:, :1]), other(X[:, :1]), rtol=1e-12)
    for mine, reference in zip(own.gradient(X[:, :1]), other.gradient(X[:, :1]), strict=True):
        np.testing.assert_allclose(mine, reference, rtol=1e-9, atol=1e-11)


@every_peer
def test_the_evidence_is_that_of_scikit_learns_regressor(peer):
    if isinstance(peer, gpk.Sum) and "WhiteKernel" in repr(peer):
        pytest.skip("white noise in the kernel is no part of the function at new points")
    gp = GaussianProcess.fit(from_sklearn(peer), X, Y, mu=1.0, zeta=50.0, bias_variance=0.0)
    reference = GaussianProcessRegressor(peer, alpha=1.0 / 50.0, optimizer=None).fit(X, Y)
    assert gp.log_marginal_likelihood == pytest.approx(reference.log_marginal_likelihood_value_, rel=1e-8)
    np.testing.assert_allclose(gp.mean(Z), reference.predict(Z), rtol=1e-8, atol=1e-8)


@every_peer
def test_a_kernel_survives_its_dictionary(peer):
    kernel = from_sklearn(peer)
    again = kernel_from_dict(json.loads(json.dumps(kernel.to_dict())))
    assert again == kernel
    assert hash(again) == hash(kernel)
    np.testing.assert_array_equal(again(X), kernel(X))
    if kernel.log_params.size:
        assert again.with_log_params(kernel.log_params + 0.1) != kernel


def test_estimators_tune_save_and_load_them(tmp_path):
    rng = np.random.default_rng(1)
    inputs = rng.normal(size=(40, 2))
    latent = np.sin(2.0 * inputs[:, 0]) + 0.2 * rng.normal(size=40)
    kernel = from_sklearn(gpk.Matern(1.0, nu=1.5)) + 0.5 * OnInputs(from_sklearn(gpk.DotProduct(1.0)), (1,))
    for model, target in ((BayesianLSSVR(kernel), latent), (BayesianLSSVC(kernel), latent > 0)):
        model.fit(inputs, target)
        again = load(model.save(tmp_path / "model.npz"))
        np.testing.assert_array_equal(again.predict(inputs), model.predict(inputs))
    own = BayesianLSSVR(Matern(1.0, 1.5), prior="flat").fit(inputs, latent)
    theirs = BayesianLSSVR(from_sklearn(gpk.Matern(1.0, nu=1.5)), prior="flat").fit(inputs, latent)
    assert theirs.log_evidence_ == pytest.approx(own.log_evidence_, abs=1e-6)


def test_what_changes_the_given_kernel_later_does_not_change_ours():
    peer = gpk.RBF(1.0)
    kernel = from_sklearn(peer)
    peer.theta = np.array([3.0])
    kernel.peer.theta = np.array([2.0])
    assert kernel.log_params == pytest.approx([0.0])


class OwnPeer(gpk.RBF):
    """A kernel of a user's own, for scikit-learn."""


def test_what_cannot_be_taken_or_saved_gets_a_sentence():
    with pytest.raises(ValueError, match=r"takes a kernel of sklearn\.gaussian_process\.kernels, got 'rbf'"):
        from_sklearn("rbf")
    with pytest.raises(ValueError, match="takes a kernel of sklearn"):
        from_sklearn(Linear())
    with pytest.raises(ValueError, match="a list of kernels, each with its own matrix"):
        from_sklearn(gpk.CompoundKernel([gpk.RBF(), gpk.RBF()]))
    with pytest.raises(ValueError, match="not have finite logarithms"):
        from_sklearn(gpk.RBF(np.inf))
    with pytest.raises(ValueError, match="does not take inputs of 3 columns"):
        as_kernel(from_sklearn(gpk.RBF([1.0, 2.0])), 3)
    kernel = from_sklearn(OwnPeer(1.0))
    np.testing.assert_allclose(kernel(X), gpk.RBF(1.0)(X))
    with pytest.raises(ValueError, match=r"not one of scikit-learn's own kernels.*register"):
        kernel.to_dict()
    for spec in ({"class": "Kernel", "params": {}}, {"class": "np", "params": {}}, {"class": "RBF"}, 3):
        with pytest.raises(ValueError, match=r"."):
            kernel_from_dict({"kind": "FromSklearn", "peer": spec})
