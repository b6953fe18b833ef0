"""What a fit will take, said before it starts."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm import BayesianLSSVC, BayesianLSSVR, LongFitWarning
from bayes_lssvm.base import cost
from bayes_lssvm.base.cost import Cost, announce, exact_cost, fixed_size_cost


def test_costs_follow_the_flops(monkeypatch):
    monkeypatch.setattr(cost, "seconds_a_flop", lambda: 1e-10)
    small, large = exact_cost([2000], 1), exact_cost([4000], 1)
    assert large.seconds == pytest.approx(8.0 * small.seconds)
    assert large.bytes == pytest.approx(4.0 * small.bytes)
    assert exact_cost([2000, 2000], 1).seconds == pytest.approx(2.0 * small.seconds)
    assert exact_cost([2000], 20).seconds > 2.0 * small.seconds
    passes = [fixed_size_cost(n, 500).seconds for n in (1e5, 2e5, 3e5)]
    assert passes[2] - passes[1] == pytest.approx(passes[1] - passes[0])
    assert fixed_size_cost(1e6, 500).bytes == fixed_size_cost(1e5, 500).bytes


@pytest.mark.parametrize(
    ("seconds", "size", "said"),
    [
        (12.4, 2**20 * 7, "about 12 seconds and 7 MiB"),
        (600.0, 2**30 * 1.5, "about 10 minutes and 1.5 GiB"),
        (0.01, 10.0, "about 1 second and 1 MiB"),
        (7300.0, 2**33, "about 2 hours and 8 GiB"),
        (1e6, 2**40, "about 11.6 days and 1024 GiB"),
    ],
)
def test_costs_read_as_people_say_them(seconds, size, said):
    assert str(Cost(seconds, size)) == said


def test_a_long_fit_is_announced_with_what_to_do_instead(monkeypatch):
    monkeypatch.setattr(cost, "seconds_a_flop", lambda: 1e-10)
    monkeypatch.setattr(cost, "available_bytes", lambda: 2**40)  # whatever else is in memory
    with pytest.warns(LongFitWarning, match=r"A fit to 20000 rows takes about 3 hours and 12 GiB here\. FixedSize"):
        announce([20_000], 1, "FixedSizeLSSVC")
    announce([1100], 1, "FixedSizeLSSVC")  # warnings are errors here: nothing is said


@pytest.mark.parametrize("model", [BayesianLSSVC(), BayesianLSSVR()])
def test_estimators_speak_before_they_work(model, monkeypatch):
    """The warning comes first: the fit itself is stopped where the search would begin."""

    def stopped(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("bayes_lssvm.estimators.evidence.choose", stopped)
    monkeypatch.setattr(cost, "seconds_a_flop", lambda: 1e-8)
    X = np.random.default_rng(0).normal(size=(1200, 2))
    with pytest.warns(LongFitWarning, match="A fit to 1200 rows"), pytest.raises(KeyboardInterrupt):
        model.fit(X, X[:, 0] > 0)


def test_what_does_not_fit_is_refused_and_not_announced(monkeypatch):
    monkeypatch.setattr("bayes_lssvm.base.cost.available_bytes", lambda: 10**6)
    monkeypatch.setattr(cost, "seconds_a_flop", lambda: 1e-8)
    announce([20_000], 1, "FixedSizeLSSVC")  # warnings are errors here: nothing is said
