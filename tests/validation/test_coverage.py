"""How often intervals and label sets hold new targets, at toy size and at full size."""

from __future__ import annotations

import numpy as np
import pytest

from validation.coverage import NOISES, class_set, interval_coverage, main, regression_set, set_coverage


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
    sets = set_coverage(30, 2, 0.9, 10)
    assert 0.75 < sets.share <= 1.0
    assert 0.8 < sets.size < 2.0


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
    assert abs(set_coverage(n, 2, 0.9, 1000).share - 0.9) < 0.01
