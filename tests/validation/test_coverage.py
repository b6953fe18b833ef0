"""How often intervals and label sets hold new targets, at toy size and at full size."""

from __future__ import annotations

import numpy as np
import pytest

from validation.coverage import NOISES, class_set, coverages, interval_coverage, main, regression_set, set_coverage


@pytest.mark.parametrize("noise", NOISES)
def test_noise_has_the_same_size_whatever_its_kind(noise):
    X, y = regression_set(200_000, noise, np.random.default_rng(0))
    rest = y - np.sin(1.5 * X[:, 0])
    assert abs(rest.mean()) < 0.01
    assert np.std(rest) == pytest.approx(0.3, rel=0.05)


def test_every_class_has_rows():
    for seed in range(20):
        _, labels = class_set(6, 3, np.random.default_rng(seed))
        assert set(labels) == {0, 1, 2}


@pytest.mark.filterwarnings("ignore:.*No signal")
def test_a_few_sets_are_counted():
    found = interval_coverage(20, "gaussian", "given", ("jackknife+", "cv+"), 0.9, 30)
    assert set(found) == {"jackknife+", "cv+"}
    assert all(abs(each.share - 0.9) < 4.0 * each.error + 0.01 for each in found.values())
    (sets,) = set_coverage(30, 2, 0.9, 10).values()
    assert 0.75 < sets.share <= 1.0
    assert 0.8 < sets.size < 2.0


@pytest.mark.filterwarnings("ignore::bayes_lssvm.base.errors.BayesLSSVMWarning")
def test_refits_of_all_sets_are_their_own_mean_and_those_of_some_a_correction():
    """The mean over all sets plus the mean difference of the first, with the standard error of that sum."""
    whole, some = (set_coverage(12, 2, 0.8, 3, refits=refits) for refits in (2, 0))
    assert whole["predict_set"] == some["predict_set"]
    shares = np.array([[0.9, 0.5], [0.8, 0.5], [1.0, 0.5], [0.7, 0.5], [0.6, 0.5]])
    again = shares[:3] + np.array([[0.1, 0.0], [0.0, 0.0], [0.05, 0.0]])
    found = coverages({"m": [tuple(pair) for pair in shares]}, {"m": [tuple(pair) for pair in again]})["m, refitted"]
    assert found.share == pytest.approx(0.8 + 0.05)
    change = np.array([0.1, 0.0, 0.05])
    variance = np.var(shares[:, 0], ddof=1) / 5 + np.var(change, ddof=1) / 3
    assert found.error == pytest.approx(np.sqrt(variance + 2.0 * np.cov(change, shares[:3, 0])[0, 1] / 5))
    every = coverages({"m": [tuple(pair) for pair in shares[:3]]}, {"m": [tuple(pair) for pair in again]})
    assert every["m, refitted"].share == pytest.approx(again[:, 0].mean())
    assert every["m, refitted"].error == pytest.approx(np.std(again[:, 0], ddof=1) / np.sqrt(3))


def test_the_command_prints_a_line_for_each_method(capsys):
    assert main(["--model", "given", "--noise", "skewed", "--sets", "3", "--n", "20"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("N = 20    given, skewed")


@pytest.mark.slow
@pytest.mark.parametrize("n", [20, 50, 100])
@pytest.mark.parametrize("noise", ["gaussian", "heavy tails"])
def test_jackknife_plus_covers_within_one_percent_over_a_thousand_sets(n, noise):
    found = interval_coverage(n, noise, "given", ("jackknife+",), 0.9, 1000)["jackknife+"]
    assert abs(found.share - 0.9) < 0.01


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*No signal")
@pytest.mark.parametrize("n", [30, 60, 120])
def test_label_sets_of_two_classes_cover_within_one_percent_over_a_thousand_sets(n):
    assert abs(set_coverage(n, 2, 0.9, 1000)["predict_set"].share - 0.9) < 0.01
