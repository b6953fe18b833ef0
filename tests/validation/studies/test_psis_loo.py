"""PSIS-LOO against exact leave-one-out: the exact densities, what leverage says of k̂, and the page."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from bayes_lssvm import marginalise
from bayes_lssvm.base.arviz import datatree
from bayes_lssvm.kernels import RBF, Linear
from bayes_lssvm.levels.level1 import DualPosterior
from bayes_lssvm.marginal.left_out import integrated, left_out
from reports.pages.psis_loo import Compared, page
from validation.harness import run
from validation.psis import psis_loo
from validation.studies.psis_loo import PROBLEMS, STUDY, evidence_ratio, load, posterior_of


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    return run(STUDY, None, size="toy", folder=tmp_path_factory.mktemp("psis"), progress=False)


@pytest.fixture(scope="module")
def compared(toy):
    return Compared.of(toy.cells[0])


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.7)])
def test_densities_given_hyperparameters_are_those_of_models_of_the_others(kernel):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    points = np.array([[0.3, 1.1], [-1.0, 2.0]])
    found = left_out(points, kernel, X, y)
    for row, (mu, zeta) in enumerate(np.exp(points)):
        everything = DualPosterior.from_kernel_matrix(kernel, X, kernel(X), y, mu=mu, zeta=zeta)
        for i in range(len(y)):
            others = np.delete(np.arange(len(y)), i)
            model = DualPosterior.from_kernel_matrix(kernel, X[others], kernel(X[others]), y[others], mu=mu, zeta=zeta)
            mean, variance = model.latent_moments(X[i : i + 1])
            expected = norm.logpdf(y[i], mean, np.sqrt(variance + 1.0 / zeta))
            assert found.log_density[row, i] == pytest.approx(expected[0], abs=1e-10)
            moved = y + np.eye(len(y))[i]  # ∂ẑ_i/∂y_i, exactly: outputs are linear in targets
            again = DualPosterior.from_kernel_matrix(kernel, X, kernel(X), moved, mu=mu, zeta=zeta)
            slope = again.latent_mean(X[i : i + 1]) - everything.latent_mean(X[i : i + 1])
            assert found.leverage[row, i] == pytest.approx(slope[0], abs=1e-10)


def test_the_kernels_own_parameters_come_from_the_rows():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(9, 2)), rng.normal(size=9)
    points = np.array([[0.1, 0.5, np.log(0.4)], [0.1, 0.5, np.log(2.0)]])
    together = left_out(points, RBF(1.0), X, y)
    for row, sigma in enumerate((0.4, 2.0)):
        alone = left_out(points[row : row + 1, :2], RBF(sigma), X, y)
        assert together.log_density[row] == pytest.approx(alone.log_density[0], abs=1e-12)
        assert together.leverage[row] == pytest.approx(alone.leverage[0], abs=1e-12)


def test_densities_weighted_by_the_posterior_of_all_points_are_ratios_of_evidences():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(30, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=30)
    posterior = marginalise(X, y, kernel=RBF(1.0), fixed_kernel=True, standardise=False)
    exact = integrated(
        left_out(np.delete(posterior.nodes, 2, axis=1), posterior.kernel, X, y).log_density, posterior.weights
    )
    for i in (int(np.argmin(exact)), 3):
        without = marginalise(
            np.delete(X, i, axis=0), np.delete(y, i), kernel=RBF(1.0), fixed_kernel=True, standardise=False
        )
        assert exact[i] == pytest.approx(posterior.log_evidence - without.log_evidence, abs=1e-7)


def test_k_hat_of_latent_draws_is_the_leverage():
    """z ~ Normal(m, v) given D, weights 1/p(y | z, ζ): a tail of shape ζv. Many draws of one known v."""
    rng = np.random.default_rng(7)
    leverage = np.array([0.2, 0.5, 0.8])
    z = rng.standard_normal((4, 25_000, 3)) * np.sqrt(leverage)  # ζ = 1
    tree = datatree({"posterior": {"z": z}, "log_likelihood": {"y": norm.logpdf(0.3, z, 1.0)}})
    assert psis_loo(tree).k_hat == pytest.approx(leverage, abs=0.12)


def test_exact_densities_of_the_toy(toy, compared):
    problem = PROBLEMS["toy"]
    posterior = posterior_of(problem, *load(problem))
    assert len(compared.values.exact) == 25
    assert compared.values.exact[7] == pytest.approx(evidence_ratio(problem, posterior, 7), abs=1e-9)
    assert compared.values.reweighted == pytest.approx(compared.values.exact, abs=1e-5)
    # the latent function integrated out, what is left to weigh is benign
    assert np.abs(compared.errors("collapsed")).max() < np.abs(compared.errors("latent")).max()


def test_the_page_says_what_the_numbers_are(toy, compared):
    shown = page(toy)
    (row,) = shown.key_table.rows
    total = compared.values.exact.sum()
    assert row.cells[:2] == ("25", f"{total:.2f}".replace("-", "−"))
    assert row.cells[2] == f"{compared.values.latent.sum() - total:+.2f}".replace("-", "−")
    assert int(row.cells[5]) == (compared.values.k_latent > compared.good_k).sum()
    assert any("It fails most on diabetes, 25 rows" in sentence for sentence in shown.findings)
    assert [picture.name for picture in shown.pictures] == ["leverage"]
