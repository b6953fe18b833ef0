"""Members that share a kernel on rows that repeat inputs: their evidence against 200 digits, where γ has no mode."""

from __future__ import annotations

import numpy as np
import pytest

from bayes_lssvm.kernels import RBF
from bayes_lssvm.multiclass.criterion import PapersRule
from bayes_lssvm.multiclass.objective import SharedObjective
from bayes_lssvm.multiclass.posterior import SharedPosterior
from bayes_lssvm.multiclass.tasks import Task
from tests.helpers_high_precision import log_evidence_at, rbf_tridiagonal


def _grid(seed=3):
    """Twenty rows on a grid of nine points; the first labels follow the inputs, the second do not."""
    rng = np.random.default_rng(seed)
    X = 0.7 * rng.integers(0, 3, size=(20, 2)) - 0.3
    labels = np.stack([X.sum(axis=1) > 1.2, rng.random(20) < 0.5], axis=1)
    return X, np.where(labels, 1.0, -1.0)


def test_the_evidence_at_the_end_of_the_range():
    """Each repeated label is an eigenvalue that is zero, and left to rounding it would change the fourth digit."""
    X, Y = _grid()
    task = Task((0, 1), np.arange(len(X)), Y)
    found = SharedPosterior.fit(RBF(1.0), X, task, occam=False, prior_sd=(5.0, 5.0))
    at_end, inside = (member.level3_.level2 for member in found.members)
    assert (at_end.status, inside.status) == ("interpolation", "interior")
    for level2, y in zip((at_end, inside), Y.T, strict=True):
        exact = log_evidence_at(*rbf_tridiagonal(X, y, 1.0), mu=level2.mu, zeta=level2.zeta)
        assert level2.log_evidence == pytest.approx(exact, abs=1e-9)
    value, _ = SharedObjective(X, (task,), PapersRule(False, (5.0, 5.0))).value_and_gradient(RBF(1.0))
    assert value == pytest.approx(at_end.log_evidence + inside.log_evidence, rel=1e-12)
