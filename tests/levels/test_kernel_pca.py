"""Kernel principal components: against scikit-learn's, against features, and as what the LS-SVM is a regression on."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA

from bayes_lssvm import LSSVR
from bayes_lssvm.kernels import RBF, Linear, Polynomial
from bayes_lssvm.levels.kernel_pca import kernel_pca, score_coefficients

KERNELS = [RBF(1.3), Linear(), Polynomial(2, 1.0)]


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(40, 3))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1] + 3.0, rng.normal(size=(11, 3))


@pytest.mark.parametrize("n_components", [3, 15])  # by Lanczos iterations, and by a whole decomposition
def test_scores_are_those_of_scikit_learn_up_to_their_signs(n_components, points):
    X, _, X_new = points
    found = kernel_pca(RBF(1.3), X, n_components)
    theirs = KernelPCA(n_components, kernel="rbf", gamma=1.3**-2.0, eigen_solver="dense").fit(X)
    np.testing.assert_allclose(found.eigenvalues, theirs.eigenvalues_, rtol=1e-9)
    for inputs in (X, X_new):
        mine, other = found.scores(inputs), theirs.transform(inputs)
        signs = np.sign(np.sum(mine * other, axis=0))
        np.testing.assert_allclose(mine, signs * other, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_training_scores_are_centred_uncorrelated_and_have_the_eigenvalues_as_squares(kernel, points):
    X = points[0]
    found = kernel_pca(kernel, X)
    scores = found.scores(X)
    np.testing.assert_allclose(scores.sum(axis=0), 0.0, atol=1e-7)
    np.testing.assert_allclose(scores.T @ scores, np.diag(found.eigenvalues), atol=1e-7 * found.eigenvalues[0])


@pytest.mark.parametrize("kernel", KERNELS[1:], ids=str)
def test_scores_are_coordinates_of_the_centred_features(kernel, points):
    """Principal components by a singular value decomposition in feature space."""
    X, _, X_new = points
    features = kernel.feature_map(X)
    centre = features.mean(axis=0)
    _, singular, axes = np.linalg.svd(features - centre, full_matrices=False)
    kept = singular > 1e-6 * singular[0]
    mine = kernel_pca(kernel, X).scores(X_new)[:, : kept.sum()]
    other = (kernel.feature_map(X_new) - centre) @ axes[kept].T
    np.testing.assert_allclose(np.abs(mine), np.abs(other), atol=1e-6)


@pytest.mark.parametrize("gamma", [0.1, 30.0])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_ls_svm_is_a_ridge_regression_on_the_scores(kernel, gamma, points):
    X, y, X_new = points
    found = kernel_pca(kernel, X)
    z = y.mean() + found.scores(X_new) @ score_coefficients(found, y, gamma)
    model = LSSVR(kernel, gamma=gamma, standardise=False).fit(X, y)
    np.testing.assert_allclose(z, model.predict(X_new), atol=1e-7)


def test_gamma_must_be_positive_and_components_must_be_there(points):
    X, y, _ = points
    with pytest.raises(ValueError, match="gamma"):
        score_coefficients(kernel_pca(RBF(1.0), X, 2), y, 0.0)
    with pytest.raises(ValueError, match="rank must be from 1 to N − 1 = 39, got 40"):
        kernel_pca(RBF(1.0), X, 40)
