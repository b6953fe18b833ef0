"""Leave-one-out probabilities against refits, and what their comparison with the labels finds."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom, norm

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.estimators.grades import calibration_grades
from bayes_lssvm.estimators.left_out import left_out_probabilities
from bayes_lssvm.kernels import Polynomial
from bayes_lssvm.levels.calibration import calibration
from bayes_lssvm.levels.level1 import DualPosterior
from bayes_lssvm.multiclass.decodings import couple_pairwise

pytestmark = pytest.mark.filterwarnings("ignore::bayes_lssvm.base.errors.BayesLSSVMWarning")


def two_classes(seed, n=300):
    """Labels of a logistic model of a smooth function."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (rng.random(n) < expit(2.0 * np.sin(1.5 * X[:, 0]) + 1.4 * X[:, 1])).astype(int)


def three_classes(seed, n, apart=1.5):
    rng = np.random.default_rng(seed)
    y = rng.permutation(n) % 3
    centres = apart * np.array([[1.0, 0.0], [-0.5, 0.87], [-0.5, -0.87]])
    return centres[y] + rng.normal(size=(n, 2)), y


def levels(probabilities, y):
    return tuple(grade.level for grade in calibration_grades(calibration(probabilities, y), sorted(set(y.tolist()))))


# --- probabilities of left-out rows -----------------------------------------------------------------------------------


def without(member, i):
    """Log odds of row i of a member by its model of the other rows, hyperparameters and map held."""
    rest = np.arange(len(member.y_fit_)) != i
    posterior = DualPosterior.from_kernel_matrix(
        member.kernel_,
        member.X_fit_[rest],
        member.kernel_(member.X_fit_[rest]),
        member.y_fit_[rest],
        mu=member.mu_,
        zeta=member.zeta_,
    )
    return member.loo_map_.log_odds(*posterior.latent_moments(member.X_fit_[[i]]))[0]


def test_two_classes_equal_refits():
    X, y = two_classes(0, 40)
    model = BayesianLSSVC().fit(X, y)
    expected = expit([without(model, i) for i in range(40)])
    found = left_out_probabilities(model, X, y)
    np.testing.assert_allclose(found[:, 1], expected, atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, atol=1e-14)
    assert np.abs(found - model.predict_proba(X)).max() > 0.01  # leaving out is seen


@pytest.mark.parametrize("scale", [1e-3, 1e-4])
def test_kernels_of_large_values_equal_refits(scale):
    """Labels that can be interpolated: γ ends far below 10⁵, and yet near rounding, where K(x, x) is 10⁷ or 10⁹."""
    copies = [2, 2, 2, 2, 2, 1, 1]
    X = np.repeat(np.random.default_rng(2).normal(size=(7, 3)), copies, axis=0)
    y = np.repeat([0, 1, 0, 0, 1, 1, 0], copies)
    model = BayesianLSSVC(Polynomial(2, scale), refine=False, prior="flat").fit(X, y)
    assert model.gamma_ < 1e4
    assert model.level3_.level2.status == "interpolation"
    expected = expit([without(model, i) for i in range(len(X))])
    np.testing.assert_allclose(left_out_probabilities(model, X, y)[:, 1], expected, atol=1e-9)
    assert model.loo_map_.largest_variance == pytest.approx(1.0, abs=10.0)  # of labels ±1


@pytest.mark.parametrize("names", [np.array([0, 1, 2]), np.array(["c", "a", "b"])])
def test_three_classes_equal_refits(names):
    X, numbers = three_classes(1, 36)
    y = names[numbers]
    model = BayesianLSSVC().fit(X, y)
    several, labels = model.multiclass_, np.searchsorted(model.classes_, y)
    counts = np.bincount(labels)
    expected = np.empty((36, 3))
    for i in range(36):
        ratios = np.empty((1, 3))
        for bit, member in enumerate(several.members_):
            column = several.code_book_[:, bit]
            share = counts[column > 0].sum() / counts[column != 0].sum()
            rows = np.flatnonzero(column[labels] != 0)
            if i in rows:
                odds = without(member, int(np.flatnonzero(rows == i)[0]))
            else:
                odds = member.loo_map_.log_odds(*member.posterior_.latent_moments(model.standardiser_(X[[i]])))[0]
            ratios[0, bit] = odds - logit(share)
        coupled = couple_pairwise(several.code_book_, ratios, counts / 36)[0]
        floor = 39.0**-2
        expected[i] = (1.0 - 3.0 * floor) * coupled + floor
    np.testing.assert_allclose(left_out_probabilities(model, X, y), expected, atol=1e-9)


def test_what_has_no_left_out_probabilities_says_so():
    X, y = two_classes(0, 40)
    with pytest.raises(ValueError, match="moderation='class'"):
        left_out_probabilities(BayesianLSSVC(moderation="class").fit(X, y), X, y)
    X, y = three_classes(0, 30)
    with pytest.raises(ValueError, match="shared_kernel=False"):
        left_out_probabilities(BayesianLSSVC(shared_kernel=True).fit(X, y), X, y)
    with pytest.raises(ValueError, match="there are 3"):
        BayesianLSSVC().fit(X, y).left_out_log_odds()


# --- the comparison ---------------------------------------------------------------------------------------------------


def test_the_log_score_is_the_mean_over_class_frequencies_with_its_error():
    p = np.array([[0.8, 0.2], [0.3, 0.7], [0.6, 0.4], [0.9, 0.1]])
    found = calibration(p, np.array([0, 1, 0, 1]))
    gains = np.log([0.8, 0.7, 0.6, 0.1]) - np.log(0.5)
    assert found.gain == pytest.approx(gains.mean())
    assert found.gain_error == pytest.approx(gains.std(ddof=1) / 2.0)


def test_the_groups_have_equal_variance_and_exact_deviates():
    rng = np.random.default_rng(0)
    p = np.repeat([0.1, 0.5, 0.9], [100, 36, 100]) + 1e-9 * np.arange(236)  # each has a variance of 9
    y = (rng.random(236) < p).astype(int)
    found = calibration(np.stack([1.0 - p, p], axis=1), y)
    assert (len(found.groups), found.degrees) == (10, 8)  # they cut across the three
    assert sum(group.size for group in found.groups) == 236
    variances = [(group.size * group.error) ** 2 for group in found.groups]
    assert max(variances) < 1.25 * min(variances)
    first = found.groups[0]
    happened = round(first.observed * first.size)
    mid = binom.cdf(happened - 1, first.size, 0.1) + 0.5 * binom.pmf(happened, first.size, 0.1)
    assert first.deviate == pytest.approx(norm.ppf(mid), abs=1e-6)
    assert found.chi2 == pytest.approx(sum(group.deviate**2 for group in found.groups))


def test_rows_with_equal_inputs_stay_together():
    """Of eight different inputs: left-out twins differ in p by their label, and a cut between them sorts labels."""
    apart, together = Counter(), Counter()
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.integers(2, size=(300, 3)).astype(float)
        p = expit(X @ [2.0, 1.0, -1.0] - 1.0)
        y = (rng.random(300) < p).astype(int)
        order = np.argsort(y, kind="stable")  # a file may be sorted by its labels
        X, y = X[order], y[order]
        _, inputs = np.unique(X, axis=0, return_inverse=True)
        P = left_out_probabilities(BayesianLSSVC().fit(X, y), X, y)
        found = calibration(P, y, inputs)
        assert len(found.groups) <= 8
        together[calibration_grades(found, [0, 1])[1].level] += 1
        apart[levels(P, y)[1]] += 1
    assert together["good"] >= 5
    assert apart["good"] <= 2


def test_a_model_that_is_certain_and_wrong_is_bad():
    """Almost no variance is expected: the exact distribution sees that ten of a hundred are too many."""
    y = np.arange(100) % 2
    wrong = np.arange(100) < 10
    p = np.where(y == 1, 1.0, 0.0)
    p[wrong] = 1.0 - p[wrong]
    p = np.clip(p, 1e-6, 1.0 - 1e-6)
    assert levels(np.stack([1.0 - p, p], axis=1), y)[1] == "bad"


def test_true_probabilities_are_rarely_called_wrong():
    """By chance one in a hundred would be, and some more as no parameter was fitted to these labels."""
    found = Counter()
    for seed in range(200):
        rng = np.random.default_rng(seed)
        p = rng.beta(0.4, 0.8, size=300)
        y = (rng.random(300) < p).astype(int)
        found[levels(np.stack([1.0 - p, p], axis=1), y)[1]] += 1
    assert found["good"] >= 190
    assert found["bad"] <= 1


@pytest.mark.parametrize("classes", [two_classes, three_classes])
def test_calibrated_simulations_are_good_and_too_sure_ones_are_not(classes):
    good = Counter()
    for seed in range(8):
        X, y = classes(seed, 240)
        model = BayesianLSSVC().fit(X, y)
        good[levels(left_out_probabilities(model, X, y), y)] += 1
        for member in model.members_:  # log odds three times as large
            own = member.loo_map_
            member.loo_map_ = replace(own, slope=3.0 * own.slope, offset=3.0 * own.offset, bound=3.0 * own.bound)
        assert levels(left_out_probabilities(model, X, y), y)[1] == "bad"
    assert good["good", "good"] >= 7


@pytest.mark.parametrize("classes", [two_classes, three_classes])
def test_permuted_labels_are_not_good(classes):
    for seed in range(8):
        X, y = classes(seed, 150)
        y = np.random.default_rng(seed).permutation(y)
        model = BayesianLSSVC().fit(X, y)
        score, _ = calibration_grades(calibration(left_out_probabilities(model, X, y), y), model.classes_.tolist())
        assert score.level != "good"
        assert (
            "no better than by the class frequencies" in score.sentence or "worse than by the class" in score.sentence
        )


def test_class_frequencies_for_every_row_leave_nothing_to_compare():
    y = np.arange(60) % 3
    found = calibration(np.full((60, 3), 1.0 / 3.0), y)
    assert (found.gain, found.gain_deviate, found.groups) == (pytest.approx(0.0, abs=1e-15), pytest.approx(0.0), ())
    assert levels(np.full((60, 3), 1.0 / 3.0), y) == ("doubtful", "not checked")
