"""Level 2 with a prior: the mode, Laplace's evidence, its gradient, weights and the default priors."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import gamma, kstest

from bayes_lssvm.base.rows import group_equal_inputs
from bayes_lssvm.kernels import ARD, RBF, Linear, Polynomial
from bayes_lssvm.levels.default_prior import default_prior
from bayes_lssvm.levels.level2 import log_evidence, log_evidence_gradient
from bayes_lssvm.levels.level2_posterior import _best_log_mu, _climbed, _local, most_probable
from bayes_lssvm.levels.objective import Objective
from bayes_lssvm.linalg.reduction import LocalEvidence
from bayes_lssvm.linalg.spectrum import TridiagonalReduction
from bayes_lssvm.marginal import laplace_evidence
from bayes_lssvm.priors import Box, Flat, Gamma, HyperPrior, Normal, hyper_prior_from_dict

PRIOR = HyperPrior(Normal(0.0, 3.0), Gamma(0.5, 2.0), Normal(0.5, 1.0))


@pytest.fixture(scope="module")
def labelled():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return X, np.sign(X[:, 0] + 0.5 * X[:, 1] ** 2 - 0.3 + 0.5 * rng.normal(size=60))


def counts(n):
    return np.random.default_rng(1).integers(1, 4, n).astype(float)


# --- the mode


@pytest.mark.parametrize("kernel", [RBF(1.3), RBF(0.2), RBF(30.0), Linear(), Polynomial(3, 2.0)], ids=str)
@pytest.mark.parametrize(
    "prior", [PRIOR, HyperPrior(), HyperPrior(Box(-9, 9), Box(-9, 9))], ids=["gamma", "normal", "box"]
)
def test_the_mode_is_that_of_the_joint_density(kernel, prior, labelled):
    """The Laplace evidence of `marginal`, found by another search, is the same."""
    X, y = labelled
    reduction = TridiagonalReduction.from_kernel_matrix(kernel(X), y)
    found, other = most_probable(reduction, prior.mu, prior.zeta), laplace_evidence(reduction, prior)
    assert found.has_mode
    assert found.log_evidence == pytest.approx(other.log_evidence, abs=1e-7)
    np.testing.assert_allclose(np.log([found.level2.mu, found.level2.zeta]), other.mode, atol=1e-5)
    slope = log_evidence_gradient(reduction, found.level2.mu, found.level2.zeta)
    own = [float(p.gradient(x)) for p, x in zip((prior.mu, prior.zeta), other.mode, strict=True)]
    np.testing.assert_allclose(slope + own, 0.0, atol=1e-4)


def test_labels_that_can_be_interpolated_are_not_taken_for_exact_ones():
    """Two far clusters: without a prior γ runs to the largest number that there is."""
    rng = np.random.default_rng(3)
    X = np.concatenate([rng.normal(-4.0, 0.3, (30, 2)), rng.normal(4.0, 0.3, (30, 2))])
    y = np.repeat([-1.0, 1.0], 30)
    reduction = TridiagonalReduction.from_kernel_matrix(RBF(4.0)(X), y)
    runaway = laplace_evidence(reduction, HyperPrior(Flat(), Flat())).mode[1]
    held = most_probable(reduction, PRIOR.mu, PRIOR.zeta)
    assert runaway > np.log(1e4)
    assert held.level2.zeta < 60.0  # N/(2 rate) and no more
    assert held.has_mode


# --- the gradient


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kernel", [RBF(1.3), RBF(6.0), ARD((1.0, 2.0, 4.0)), Polynomial(2, 3.0)], ids=str)
def test_the_gradient_is_that_of_the_value(kernel, weighted, labelled):
    X, y = labelled
    prior = HyperPrior(PRIOR.mu, PRIOR.zeta, (Normal(0.5, 1.0),) * len(kernel.log_params))
    objective = Objective(X, y, prior=prior, weights=counts(60) if weighted else None)
    exact = objective.evaluate(kernel, gradient=True).gradient
    steps = 1e-4 * np.eye(len(kernel.log_params))
    ends = [
        [objective.evaluate(kernel.with_log_params(kernel.log_params + s * d)).value for s in (1, -1)] for d in steps
    ]
    np.testing.assert_allclose(exact, [(up - down) / 2e-4 for up, down in ends], rtol=1e-5, atol=1e-5)


# --- weights


@pytest.mark.parametrize(("mu", "zeta"), [(1.0, 2.0), (0.3, 50.0)])
def test_a_whole_weight_is_a_row_that_is_repeated(mu, zeta, labelled):
    """Up to the factor of the deviations within the groups, which is known."""
    X, y = labelled
    w = counts(60)
    rows = np.repeat(np.arange(60), w.astype(int))
    repeated = TridiagonalReduction.from_kernel_matrix(RBF(1.3)(X[rows]), y[rows])
    weighted = TridiagonalReduction.from_kernel_matrix(RBF(1.3)(X), y, w)
    within = float(np.sum(-0.5 * (w - 1) * np.log(2 * np.pi / zeta) - 0.5 * np.log(w)))
    assert log_evidence(repeated, mu, zeta) == pytest.approx(log_evidence(weighted, mu, zeta) + within, abs=1e-8)


def test_weights_count_in_the_density_at_a_point_too(labelled):
    X, y = labelled
    objective, kernel = Objective(X, y, weights=counts(60)), RBF(1.3)
    at = objective.at(kernel, 0.3, 0.8)
    reduction = TridiagonalReduction.from_kernel_matrix(kernel(X), y, counts(60))
    assert at.value == pytest.approx(log_evidence(reduction, np.exp(0.3), np.exp(0.8)), abs=1e-10)
    x, h = np.array([0.3, 0.8, np.log(1.3)]), 1e-5
    value = lambda p: objective.at(RBF(float(np.exp(p[2]))), p[0], p[1]).value  # noqa: E731
    slope = [(value(x + h * e) - value(x - h * e)) / (2 * h) for e in np.eye(3)]
    np.testing.assert_allclose(at.gradient, slope, rtol=1e-6)


def test_weights_of_one_change_nothing(labelled):
    X, y = labelled
    K = RBF(1.3)(X)
    plain, ones = (TridiagonalReduction.from_kernel_matrix(K, y, w) for w in (None, np.ones(60)))
    assert log_evidence(ones, 1.0, 2.0) == pytest.approx(log_evidence(plain, 1.0, 2.0), abs=1e-10)


def test_rows_with_equal_inputs_are_put_together():
    X = np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0], [5.0, 1.0], [1.0, 2.0]])
    rows = group_equal_inputs(X, np.array([1.0, -1.0, 1.0, 1.0, -1.0]))
    assert rows.repeated
    np.testing.assert_array_equal(rows.X, X[[0, 1, 3]])
    np.testing.assert_allclose(rows.means, [1 / 3, -1.0, 1.0])
    np.testing.assert_array_equal(rows.counts, [3.0, 1.0, 1.0])
    assert rows.squares == pytest.approx(2 * (2 / 3) ** 2 + (4 / 3) ** 2)
    assert not group_equal_inputs(X[1:4], np.ones(3)).repeated


# --- priors


def test_the_gamma_prior_is_a_distribution():
    prior = Gamma(0.7, 3.0)
    density = lambda x: float(np.exp(prior.log_density(x)))  # noqa: E731
    assert quad(density, -60, 8)[0] == pytest.approx(1.0, abs=1e-7)
    x = np.linspace(-3, 1, 5)
    np.testing.assert_allclose(
        prior.gradient(x), (prior.log_density(x + 1e-6) - prior.log_density(x - 1e-6)) / 2e-6, rtol=1e-6
    )
    np.testing.assert_allclose(
        prior.curvature(x), (prior.gradient(x - 1e-6) - prior.gradient(x + 1e-6)) / 2e-6, rtol=1e-6
    )
    draws = prior.sample(4000, np.random.default_rng(0))
    assert kstest(np.exp(draws), gamma(0.7, scale=1 / 3.0).cdf).pvalue > 0.01
    assert draws.std() == pytest.approx(prior.width, rel=0.05)
    whole = HyperPrior(Normal(), prior, Normal())
    assert hyper_prior_from_dict(whole.to_dict()) == whole
    with pytest.raises(ValueError, match="positive shape and rate"):
        Gamma(0.0, 1.0)


def test_the_default_prior_knows_no_units(labelled):
    X, y = labelled
    kernel = RBF(1.0) + Polynomial(2, 1.0)
    of_classes = default_prior(kernel, X, y, classes=True)
    assert len(of_classes.components(2)) == 4
    assert of_classes.zeta.rate >= 2.0  # equal classes have the least
    targets = 3.0 + np.sin(X[:, 0])
    small, large = (default_prior(kernel, X, c * targets, classes=False) for c in (1.0, 1000.0))
    assert large.mu.mean == pytest.approx(small.mu.mean - 2 * np.log(1000.0))


def test_an_end_of_the_prior_is_kept_and_named(labelled):
    X, y = labelled
    reduction = TridiagonalReduction.from_kernel_matrix(RBF(30.0)(X), y)
    found = most_probable(reduction, Box(-4, 4), Box(-4, 4))
    assert found.level2.mu == pytest.approx(np.exp(-4.0))
    assert not found.has_mode


def test_the_best_log_mu_of_each_gamma_stays_within_both_boxes():
    """Data that pull to the largest μ: the nearer of the two ends holds, that of log μ or that of log ζ."""
    log_gamma = np.linspace(-3.0, 3.0, 13)
    found = _best_log_mu(20, np.full(13, 1e-3), log_gamma, (Box(-4.0, 0.5), Box(-4.0, 1.0)))
    np.testing.assert_allclose(found, np.minimum(0.5, 1.0 - log_gamma), atol=1e-9)
    low = _best_log_mu(20, np.full(13, 1e9), log_gamma, (Box(-4.0, 0.5), Box(-4.0, 1.0)))
    np.testing.assert_allclose(low, np.maximum(-4.0, -4.0 - log_gamma), atol=1e-9)


# --- the climb, on surfaces whose top is known


def surface(*functions, gamma_max=1e300):
    """f(log μ) + g(log ζ) in the place of a log evidence; slopes by complex steps, curvatures by differences."""
    asked = []

    def slopes(x):
        return np.array([f(v + 1e-30j).imag / 1e-30 for f, v in zip(functions, x, strict=True)])

    def local_evidence(mu, zeta):
        x = np.log([mu, zeta])
        asked.append(x)
        bends = (slopes(x + 1e-5) - slopes(x - 1e-5)) / 2e-5
        return LocalEvidence(float(sum(f(v) for f, v in zip(functions, x, strict=True))), slopes(x), np.diag(bends))

    return SimpleNamespace(local_evidence=local_evidence, gamma_max=gamma_max), asked


FLAT = (Flat(), Flat())


def climb(functions, start, priors=FLAT, gamma_max=1e300):
    reduction, asked = surface(*functions, gamma_max=gamma_max)
    here = _local(reduction, priors, np.array(start))
    return _climbed(reduction, priors, here), len(asked)


def test_a_step_that_overshoots_is_halved():
    """Undamped, Newton's steps from 0.4 go to −1.6 and back for ever: a ridge that is steep on both sides."""
    found, asked = climb([lambda x: -np.sqrt(1.0 + 25.0 * (x - 3.0) ** 2)] * 2, [3.4, 3.0])
    np.testing.assert_allclose(found.position, 3.0, atol=1e-6)
    assert asked < 20
    far, asked = climb([lambda x: -0.5 * (x - 30.0) ** 2, lambda x: -0.5 * (x + 10.0) ** 2], [0.0, 0.0])
    np.testing.assert_allclose(far.position, [30.0, -10.0], atol=1e-9)
    assert 15 < asked < 25  # steps of two at most


def test_a_direction_of_the_wrong_curvature_is_climbed():
    """Between two tops, where Newton's step goes down to the saddle; along the other axis it is right at once."""
    found, asked = climb([lambda x: -((x**2 - 1.0) ** 2), lambda x: -2.0 * x**2], [0.1, 0.7])
    np.testing.assert_allclose(found.position, [1.0, 0.0], atol=1e-6)
    assert asked < 25
    hollow, _ = climb([lambda x: -((x**2 - 1.0) ** 2), lambda x: -((x**2 - 4.0) ** 2)], [-0.2, -0.3])
    np.testing.assert_allclose(hollow.position, [-1.0, -2.0], atol=1e-6)


def test_a_climb_ends_where_the_support_or_gamma_does():
    hill = (lambda x: -0.5 * x**2, lambda x: -0.5 * (x - 5.0) ** 2)
    found, _ = climb(hill, [0.5, 0.5], (Flat(), Box(-1.0, 2.0)))
    np.testing.assert_allclose(found.position, [0.0, 2.0], atol=1e-6)
    # log γ ≤ 3 and the top is at 5: every step towards it is halved until none is left
    held, _ = climb(hill, [0.5, 0.5], gamma_max=np.exp(3.0))
    assert held.value > -0.5 * (0.5**2 + 4.5**2)
    assert held.position[1] - held.position[0] == pytest.approx(3.0, abs=0.5)
    assert held.position[1] - held.position[0] <= 3.0


def test_the_density_is_told_up_to_the_largest_gamma_and_within_the_support():
    """γ = ζ/μ, whatever ζ is; and the support of each prior."""
    reduction, _ = surface(lambda x: -(x**2), lambda x: 3.0 * x, gamma_max=np.exp(3.0))
    for x, inside in (((-2.0, 1.5), False), ((2.0, 4.5), True), ((-2.0, 0.9), True), ((5.0, 8.1), False)):
        found = _local(reduction, FLAT, np.array(x))
        assert (found is not None) == inside
        if inside:
            assert found.value == pytest.approx(-(x[0] ** 2) + 3.0 * x[1])
    for priors in ((Box(0.0, 1.0), Flat()), (Flat(), Box(0.0, 1.0))):
        assert _local(reduction, priors, np.array([0.5, 0.5])).value == pytest.approx(-0.25 + 1.5)
        assert _local(reduction, priors, np.array([1.5, 1.5])) is None


def test_near_the_mode_the_slope_decides_and_not_the_value():
    """Values that only fall, as rounding has it: a step below 1e-4 is taken all the same, a longer one is not."""
    for bend in (0.5, 3.0):
        for away, left in ((5e-5, 0.0), (3e-4, 3e-4)):
            falling = iter(-1e-12 * np.arange(1000.0))

            def local_evidence(mu, zeta, bend=bend, falling=falling):
                x = np.log([mu, zeta])
                return LocalEvidence(float(next(falling)), -bend * (x - 1.0), -bend * np.eye(2))

            reduction = SimpleNamespace(local_evidence=local_evidence, gamma_max=1e300)
            found = _climbed(reduction, FLAT, _local(reduction, FLAT, np.array([1.0 + away, 1.0])))
            np.testing.assert_allclose(found.position, [1.0 + left, 1.0], atol=1e-9)


class Counted(Normal):
    """A prior that counts how often its slope is asked for."""

    calls = 0

    def gradient(self, x):
        type(self).calls += 1
        return super().gradient(x)


def test_the_best_log_mu_takes_a_few_steps():
    """To 1e-5, and no farther: the steps shrink like squares."""
    log_gamma, q1 = np.linspace(-10.0, 10.0, 21), np.geomspace(1e-3, 1e3, 21)
    for m in (5, 300):
        Counted.calls = 0
        found = _best_log_mu(m, q1, log_gamma, (Counted(0.0, 3.0), Normal(0.5, 2.0)))
        assert Counted.calls < 12
        pull = np.exp(found) * q1
        slope = 0.5 * (m - pull) - found / 9.0 - (found + log_gamma - 0.5) / 4.0
        assert np.abs(slope / (0.5 * pull + 1.0 / 9.0 + 0.25)).max() < 1e-8


ENDS = [
    (Normal(0.0, 3.0), Box(-9.0, -2.0)),
    (Normal(0.0, 3.0), Box(-9.0, 0.0)),
    (Box(-9.0, -3.0), Normal(0.0, 3.0)),
    (Box(6.0, 9.0), Normal(0.0, 3.0)),
    (Normal(0.0, 3.0), Box(3.0, 9.0)),
]


@pytest.mark.parametrize("priors", ENDS, ids=str)
def test_at_an_end_of_a_range_the_density_is_stationary_along_the_other_axis_and_no_mode(priors, labelled):
    X, y = labelled
    reduction = TridiagonalReduction.from_kernel_matrix(RBF(1.3)(X), y)
    found = most_probable(reduction, *priors)
    held = 0 if isinstance(priors[0], Box) else 1
    at = np.log([found.level2.mu, found.level2.zeta])
    slopes = log_evidence_gradient(reduction, found.level2.mu, found.level2.zeta)
    slopes += [float(prior.gradient(x)) for prior, x in zip(priors, at, strict=True)]
    assert np.abs(at[held] - np.array(priors[held].support)).min() < 1e-9
    assert abs(slopes[held]) > 0.1
    assert abs(slopes[1 - held]) < 1e-6
    assert not found.has_mode


@pytest.mark.parametrize("prior", [PRIOR, HyperPrior(), HyperPrior(Box(-3, 3), Gamma(2.0, 1.0))], ids=str)
def test_the_best_log_mu_is_where_the_slope_is_zero(prior):
    """At every γ of a wide range, from μq_1 near to far from where the priors are."""
    log_gamma, q1 = np.linspace(-30.0, 30.0, 61), np.geomspace(1e-12, 1e12, 61)
    for m in (2, 20, 2000):
        found = _best_log_mu(m, q1, log_gamma, (prior.mu, prior.zeta))
        pull = np.exp(found) * q1
        slope = 0.5 * (m - pull) + prior.mu.gradient(found) + prior.zeta.gradient(found + log_gamma)
        bend = 0.5 * pull + prior.mu.curvature(found) + prior.zeta.curvature(found + log_gamma)
        low = np.maximum(prior.mu.support[0], prior.zeta.support[0] - log_gamma)
        high = np.minimum(prior.mu.support[1], prior.zeta.support[1] - log_gamma)
        inside = (found > low) & (found < high)
        assert np.abs(slope / np.maximum(bend, 1e-12))[inside].max(initial=0.0) < 1e-5
        assert np.all(slope[found <= low] <= 1e-9)
        assert np.all(slope[found >= high] >= -1e-9)


def test_a_mode_is_alone_where_the_scan_has_one_peak():
    """A smooth curve and a fine one with little noise: at some widths either can be the signal, or the noise."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 1))
    y = np.sin(X[:, 0]) + 0.3 * np.sin(30.0 * X[:, 0]) + 0.02 * rng.normal(size=60)
    prior = HyperPrior()
    found = [
        most_probable(TridiagonalReduction.from_kernel_matrix(RBF(width)(X), y), prior.mu, prior.zeta).alone
        for width in (0.1, 0.2, 0.5)
    ]
    assert found == [True, False, True]
