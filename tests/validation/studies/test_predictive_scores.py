"""The comparison of plug-in with fully Bayesian classifiers."""

from __future__ import annotations

import numpy as np
import pytest

from validation.studies.predictive_scores import compare, splits, table


def test_the_splits_are_stratified_reproducible_and_apart():
    first, again = splits("hea", 2, 5), splits("hea", 2, 5)
    for (X, y, X_test, y_test), (other, *_) in zip(first, again, strict=True):
        assert np.array_equal(X, other)
        assert len(X) == 180
        assert len(X_test) == 90
        assert abs(y.mean() - y_test.mean()) < 0.02
    assert len(splits("ripley", 3, 0)) == 1


def test_marginalisation_is_no_worse_on_ripley():
    plug_in, full = compare(["ripley"])
    assert plug_in.method == "plug-in"
    assert full.scores.log_score == pytest.approx(-0.2362, abs=1e-3)
    assert full.log_score_gain == pytest.approx(full.scores.log_score - plug_in.scores.log_score)
    assert full.log_score_gain > 0.0
    assert "| ripley | fully Bayesian | 1 | 0.9" in table([plug_in, full])
