"""Virtual leave-one-out against what it needs and against refits; gradients of PRESS and evidence against values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import lapack

from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import ARD, RBF
from bayes_lssvm.levels.objective import Objective
from bayes_lssvm.levels.solvers import solve_cholesky
from bayes_lssvm.linalg.blas import fortran_copy
from bayes_lssvm.press.criterion import PressObjective
from bayes_lssvm.press.leave_one_out import LeaveOneOutSpectrum, leave_one_out
from benchmarks.closed_forms import data
from benchmarks.timing import Measured, readable, side_by_side

GAMMA = 2.0


def all_residuals(n: int, repeats: int) -> Measured:
    """Residuals, predictions and variances of all points against one Cholesky factor and its inversion."""
    X, y = data(n)
    K = RBF(5.0)(X)
    M = fortran_copy(K)
    M[np.diag_indices_from(M)] += 1.0 / GAMMA

    def factor_and_inverse() -> None:
        L, _ = lapack.dpotrf(M, lower=1)
        lapack.dtrtri(L, lower=1, overwrite_c=1)

    ours, peer = side_by_side(lambda: leave_one_out(K, y, GAMMA).variances, factor_and_inverse, repeats)
    label = f"leave-one-out of all points, N={n}"
    return Measured(label, readable(ours), f"potrf + trtri {readable(peer)}", ours / peer, 1.5, True)


def many_inputs(n: int, d: int) -> tuple[Array, Array, ARD]:
    """Labels that depend on one of d inputs, and a kernel with a scale for each."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    return X, np.sign(X[:, 0] + 0.5 * rng.normal(size=n)), ARD((float(np.sqrt(d)),) * d)


def gradient_of_press(n: int, d: int, repeats: int) -> Measured:
    """PRESS with its gradient in log₂ γ and d log₂ scales against PRESS alone, the kernel matrix included in both."""
    X, y, kernel = many_inputs(n, d)
    objective = PressObjective(X, y)
    ours, peer = side_by_side(
        lambda: objective.evaluate(kernel, GAMMA, gradient=True), lambda: objective.evaluate(kernel, GAMMA), repeats
    )
    label = f"PRESS and its gradient, N={n}, {d} scales"
    return Measured(label, readable(ours), f"PRESS alone {readable(peer)}", ours / peer, 6.0, True)


def gradient_of_evidence(n: int, d: int, repeats: int) -> Measured:
    """Eq 5.2 with its gradient in d log scales against its value, level 2 solved anew in both."""
    X, y, kernel = many_inputs(n, d)
    objective = Objective(X, y)
    ours, peer = side_by_side(
        lambda: objective.evaluate(kernel, gradient=True), lambda: objective.evaluate(kernel), repeats
    )
    label = f"ARD evidence and its gradient, N={n}, {d} scales"
    return Measured(label, readable(ours), f"the evidence alone {readable(peer)}", ours / peer, 6.0, True)


def refits(K: Array, y: Array) -> Array:
    """Leave-one-out by its definition: a Cholesky factor for each point."""
    everyone = np.arange(len(y))
    found = np.empty(len(y))
    for i in everyone:
        rest = np.delete(everyone, i)
        fit = solve_cholesky(K[np.ix_(rest, rest)], y[rest], GAMMA)
        found[i] = y[i] - K[i, rest] @ fit.alpha - fit.intercept
    return found


def against_refits(n: int, repeats: int) -> Measured:
    """All residuals against as many fits as points."""
    X, y = data(n)
    K = RBF(5.0)(X)
    gap = float(np.abs(leave_one_out(K, y, GAMMA).residuals - refits(K, y)).max())
    ours, peer = side_by_side(lambda: leave_one_out(K, y, GAMMA), lambda: refits(K, y), repeats)
    label = f"leave-one-out, N={n} (largest difference {gap:.0e})"
    against = f"{n} fits {readable(peer)}, {readable(peer / n)} each"
    return Measured(label, readable(ours), against, peer / ours, 20.0, False)


def many_gammas(n: int, repeats: int) -> Measured:
    """PRESS at 100 values of γ by the spectrum against one by one."""
    X, y = data(n)
    K = RBF(5.0)(X)
    gammas = np.logspace(-3, 5, 100)
    ours, peer = side_by_side(
        lambda: LeaveOneOutSpectrum.from_kernel_matrix(K, y).at(gammas).press,
        lambda: leave_one_out(K, y, GAMMA).press,
        repeats,
    )
    label = f"PRESS at 100 values of γ, N={n}"
    return Measured(label, readable(ours), f"100 × one γ {readable(100 * peer)}", 100 * peer / ours, 3.0, False)


def rows(*, quick: bool) -> Iterator[Measured]:
    """Every benchmark of leave-one-out; the quick ones are small, to see that they run."""
    if quick:
        yield all_residuals(100, 3)
        yield gradient_of_press(100, 10, 3)
        yield gradient_of_evidence(100, 10, 3)
        yield against_refits(40, 1)
        yield many_gammas(60, 1)
        return
    yield all_residuals(1000, 25)
    yield all_residuals(2000, 7)
    yield gradient_of_press(1000, 60, 15)
    yield gradient_of_evidence(1000, 60, 15)
    yield against_refits(200, 5)
    yield many_gammas(1000, 5)
