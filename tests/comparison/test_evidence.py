"""Evidences with the kernel's parameters integrated out: against dense grids, other methods, and their own errors."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from bayes_lssvm import compare, marginalise
from bayes_lssvm.comparison.evidence import kernel_evidence
from bayes_lssvm.comparison.integrand import Integrand, default_priors
from bayes_lssvm.comparison.problem import as_problem
from bayes_lssvm.comparison.words import UNDECIDED, worded
from bayes_lssvm.kernels import ARD, RBF, Linear, Polynomial
from bayes_lssvm.levels.default_prior import default_prior
from bayes_lssvm.priors import Box, HyperPrior, Normal

PRIOR = HyperPrior(Normal(0.0, 2.0), Normal(1.0, 2.0), Normal(0.5, 1.0))


def regression(seed=0, n=24, d=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=n)


def three_classes(n=30):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 2))
    return X, np.array(["a", "b", "c"])[(X[:, 0] > -0.4).astype(int) + (X[:, 0] + 0.3 * X[:, 1] > 0.5)]


def on_a_grid(X, y, kernel, prior, n_theta, n_level2=70):
    """Log p(D | H) by brute force: every parameter on a grid, the evidence from eigenvalues in an explicit basis."""
    basis = np.linalg.svd(np.eye(len(y)) - 1.0 / len(y))[0][:, :-1]
    t = basis.T @ y
    parts = prior.components(kernel.log_params.size)
    axes = [np.linspace(p.mean - 5.0 * p.sd, p.mean + 5.0 * p.sd, n_theta) for p in parts[2:]]
    m, z = (np.linspace(p.mean - 6.0 * p.sd, p.mean + 6.0 * p.sd, n_level2) for p in parts[:2])
    M, Z = np.meshgrid(m, z, indexing="ij")
    own = parts[0].log_density(M) + parts[1].log_density(Z)
    cells = sum(float(np.log(a[1] - a[0])) for a in (m, z, *axes))
    logs = []
    for theta in map(np.array, product(*axes)):
        values, vectors = np.linalg.eigh(basis.T @ kernel.with_log_params(theta)(X) @ basis)
        variance = np.maximum(values, 0.0)[:, None, None] / np.exp(M) + 1.0 / np.exp(Z)
        squares = ((vectors.T @ t) ** 2)[:, None, None]
        fit = -0.5 * (np.log(2.0 * np.pi * variance) + squares / variance).sum(axis=0) - 0.5 * np.log(len(y))
        prior_theta = sum(float(p.log_density(v)) for p, v in zip(parts[2:], theta, strict=True))
        logs.append(logsumexp(fit + own) + prior_theta)
    return float(logsumexp(logs)) + cells


@pytest.mark.parametrize("kernel", [RBF(1.0), Polynomial(2, 1.0)], ids=str)
def test_one_parameter_against_a_dense_grid(kernel):
    X, y = regression()
    found = kernel_evidence(as_problem(X, y), kernel, prior=PRIOR, progress=False)
    exact = on_a_grid(X, y, kernel, PRIOR, 80)
    assert found.method == "lattice"
    assert abs(found.log_evidence - exact) < 1e-3
    assert abs(found.log_evidence - exact) < found.error + 1e-4
    by_rule = marginalise(X, y, kernel=kernel, prior=PRIOR, standardise=False, progress=False)
    assert found.log_evidence == pytest.approx(by_rule.log_evidence, abs=1e-4)


def test_two_parameters_against_a_dense_grid():
    X, y = regression(n=14)
    kernel = ARD((1.0, 1.0))
    found = kernel_evidence(as_problem(X, y), kernel, prior=PRIOR, progress=False)
    exact = on_a_grid(X, y, kernel, PRIOR, 26, 40)
    assert found.method == "lattice"
    assert found.n_parameters == 2
    assert abs(found.log_evidence - exact) < 1e-3
    assert found.error < 1e-3


def test_no_parameter_is_the_integral_over_mu_and_zeta():
    X, y = regression()
    found = kernel_evidence(as_problem(X, y), Linear(), prior=PRIOR, progress=False)
    assert found.log_evidence == pytest.approx(on_a_grid(X, y, Linear(), PRIOR, 0, 300), abs=1e-6)
    held = kernel_evidence(as_problem(X, y), RBF(1.3), prior=PRIOR, free=False, progress=False)
    assert held.n_parameters == 0
    rule = marginalise(X, y, kernel=RBF(1.3), prior=PRIOR, fixed_kernel=True, standardise=False, progress=False)
    assert held.log_evidence == pytest.approx(rule.log_evidence, abs=1e-6)


@pytest.mark.slow
def test_draws_and_the_lattice_agree_within_their_errors():
    X, y = regression(3, n=14)
    problem, kernel = as_problem(X, y), ARD((1.0, 1.0))
    exact = kernel_evidence(problem, kernel, prior=PRIOR, progress=False)
    # a third input without variation has a scale of which nothing is known: it integrates to one
    wider = as_problem(np.column_stack([X, np.zeros(len(X))]), y)
    drawn = kernel_evidence(wider, ARD((1.0, 1.0, 1.0)), prior=PRIOR, tolerance=0.1, progress=False)
    assert drawn.method == "draws"
    assert abs(drawn.log_evidence - exact.log_evidence) < drawn.error
    assert drawn.error < 0.11
    mean, sd = drawn.mean_and_sd()
    assert (mean[2], sd[2]) == pytest.approx((0.5, 1.0), abs=0.2)  # the prior's own
    np.testing.assert_allclose(mean[:2], exact.mean_and_sd()[0], atol=0.2)


def test_a_box_is_integrated_to_its_edges():
    X, y = regression(5, n=12)
    box = HyperPrior(Normal(0.0, 2.0), Normal(1.0, 2.0), Box(-0.5, 0.4))
    found = kernel_evidence(as_problem(X, y), RBF(1.0), prior=box, progress=False)
    nodes, weights = np.polynomial.legendre.leggauss(24)
    held = [
        kernel_evidence(as_problem(X, y), RBF(float(np.exp(0.45 * u - 0.05))), prior=box, free=False, progress=False)
        for u in nodes
    ]
    exact = logsumexp([h.log_evidence for h in held], b=0.5 * weights)
    assert found.log_evidence == pytest.approx(exact, abs=5e-4)


def test_members_of_a_code_share_the_kernel_and_nothing_else():
    X, y = three_classes()
    problem = as_problem(X, y)
    assert problem.classes.tolist() == ["a", "b", "c"]
    assert len(problem.members) == 3
    integrand = Integrand(problem, RBF(1.0), default_priors(problem, RBF(1.0)))
    apart = 0.0
    for first, second in ((0, 1), (0, 2), (1, 2)):
        rows = np.isin(problem.y, (first, second))
        signs = np.where(problem.y[rows] == second, 1.0, -1.0)
        prior = default_prior(RBF(1.0), X[rows], signs, classes=True)
        held = HyperPrior(prior.mu, prior.zeta)
        own = marginalise(
            X[rows], signs, kernel=RBF(1.7), prior=held, fixed_kernel=True, standardise=False, progress=False
        )
        apart += own.log_evidence
    theta = np.log([1.7])
    assert integrand(theta).log_density == pytest.approx(apart + float(prior.kernel[0].log_density(theta[0])), abs=1e-6)


def test_the_gradient_of_laplace_s_density_is_that_of_its_values():
    X, y = three_classes(18)
    problem = as_problem(X, y)
    box = HyperPrior(Normal(0.0, 3.0), Normal(0.0, 3.0), (Box(-2.0, 3.0), Normal(0.3, 1.0)))
    integrand = Integrand(problem, ARD((1.0, 1.0)), (box,) * 3)
    z, step = np.array([0.3, 0.1]), 1e-5
    _, slope = integrand.laplace(z)
    for i, e in enumerate(step * np.eye(2)):
        numeric = (integrand.laplace(z + e)[0] - integrand.laplace(z - e)[0]) / (2.0 * step)
        assert slope[i] == pytest.approx(numeric, rel=1e-5)


# --- words and tables ------------------------------------------------------------------------------------------------


def test_a_bayes_factor_smaller_than_its_error_is_not_worded():
    assert worded(1.4, 1.5) == worded(-1.4, 1.5) == UNDECIDED
    assert worded(1.5, 1.4) == "positive"
    assert worded(-4.0, np.nan) == "strong"


def test_the_comparison_pays_for_parameters_and_shows_priors():
    X, y = regression(n=30)
    found = compare(X, y, ["linear", "rbf", RBF(2.0)], prior_probabilities=[0.5, 0.25, 0.25], progress=False)
    rbf, same, linear = found.candidates
    # two names of one kernel have one evidence, and nothing is decided between them
    assert rbf.log_evidence == pytest.approx(same.log_evidence, abs=1e-3)
    assert found.words(1) == UNDECIDED
    assert found.rows()[1]["evidence_for_best"] == UNDECIDED
    odds = np.exp(np.array([c.log_evidence for c in found])) * np.array([0.25, 0.25, 0.5])
    np.testing.assert_allclose(found.probabilities, odds / odds.sum(), rtol=1e-10)
    log_b = rbf.log_evidence - linear.log_evidence
    assert found.log_bayes_factors[0, 2] == log_b
    assert found.log_bayes_factor_errors[0, 2] == rbf.error + linear.error
    prior = default_prior(RBF(1.0), X, y, classes=False)
    rule = marginalise(X, y, kernel=RBF(1.0), prior=prior, standardise=False, progress=False)
    assert rbf.log_evidence == pytest.approx(rule.log_evidence, abs=1e-3)
    text = str(found)
    assert "N(0.347, 1)" in text
    assert "not decided by this computation" in text
    assert [row["prior"] for row in found.rows()] == ["N(0.347, 1)", "N(0.347, 1)", "none"]


def test_priors_can_be_given_and_their_widths_matter_as_they_should():
    X, y = regression(n=30)
    found = compare(X, y, ["rbf", "linear"], prior=PRIOR, progress=False)
    table = found.prior_sensitivity((5.0,))
    assert table.factors == (1.0, 5.0)
    narrow, broad = (next(c for c in own if isinstance(c.kernel, RBF)) for own in table.comparisons)
    mean, sd = narrow.evidence.mean_and_sd()
    # far wider than the posterior, a prior costs the log of its width: the density at the mean
    cost = float(PRIOR.kernel.log_density(mean[0]) - Normal(0.5, 5.0).log_density(mean[0]))
    assert narrow.log_evidence - broad.log_evidence == pytest.approx(cost, abs=1.5 * float(sd[0]))
    linear = [next(c for c in own if isinstance(c.kernel, Linear)) for own in table.comparisons]
    assert linear[0].log_evidence == linear[1].log_evidence
    assert table.same_best
    assert "wider by 5" in str(table)
    assert len(table.rows()) == 4
    again = compare(X, y, ["rbf"], prior=[HyperPrior(PRIOR.mu, PRIOR.zeta, Normal(0.5, 5.0))], progress=False)
    assert again.best.log_evidence == pytest.approx(broad.log_evidence, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"kernel_parameters": "guessed"}, "kernel_parameters must be one of integrated, maximised"),
        ({"task": "ranking"}, "task must be one of"),
        ({"occam": False}, 'are for kernel_parameters="maximised"'),
        ({"prior": [None]}, "There are 1 priors for 2 kernels"),
        ({"prior_probabilities": [0.7, 0.7]}, "prior_probabilities must be 2 positive numbers"),
    ],
)
def test_what_cannot_be_compared_gets_a_sentence(arguments, sentence):
    X, y = regression()
    with pytest.raises(ValueError, match=sentence):
        compare(X, y, ["rbf", "linear"], progress=False, **arguments)


def test_labels_and_numbers_are_told_apart():
    X, y = regression(n=12)
    assert as_problem(X, y).classes is None
    assert as_problem(X, y > 0).classes.tolist() == [False, True]
    assert as_problem(X, np.sign(y)).classes.tolist() == [-1.0, 1.0]
    assert as_problem(X, np.arange(12)).classes is None
    assert as_problem(X, np.arange(12) % 3).classes.tolist() == [0, 1, 2]
    assert as_problem(X, np.arange(12) % 3, task="regression").classes is None
    with pytest.raises(ValueError, match="All targets are equal"):
        as_problem(X, np.ones(12))
    with pytest.raises(ValueError, match="two classes, but all 12 labels are 'a'"):
        as_problem(X, np.array(["a"] * 12))
