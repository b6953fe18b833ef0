"""A scale for each input, climbed to from one width, and taken where the evidence asks for it.

The evidence with d scales at their best values is never below the one with one width, which is a special case. Half a
log N for each further scale is what they must gain at least (Schwarz's rule, since the evidences are at the best
values), so that scales are taken where

    log p(D | s_1 … s_d) − log p(D | σ) > ½ (d − 1) log N.

Both are climbed first on a few rows with few landmarks, where an evaluation takes milliseconds. Where the gain there,
times the share of the rows, is not enough, the answer is no. Else both are compared on the rows that stand for all,
with landmarks of their own. So what it costs does not grow with the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..base.typing import Array
from ..kernels import ARD, RBF, Kernel
from ..search.polish import inverse_curvature, quasi_newton
from .evidence import RowsEvidence

FEWEST_ROWS, MOST_INPUTS = 1000, 100
ROWS, LANDMARKS, BITS = 2000, 200, 40  # of the climb
_PROMISE = 0.05  # nats of a further step for each bit
_BEND = 0.1  # of the evidence in the log of a width, for each row: a guess at the first step


class Scales(NamedTuple):
    """Scales that the rows ask for, and the inverse curvature of the evidence of all rows there, of shape (d, d)."""

    kernel: ARD
    inverse: Array


def may_have_scales(n: int, d: int) -> bool:
    """Whether scales are tried at all for n rows of d inputs."""
    return n > FEWEST_ROWS and 1 < d <= MOST_INPUTS


def least_gain(n: int, d: int) -> float:
    """The rule."""
    return 0.5 * (d - 1.0) * float(np.log(n))


def scales(
    width: RBF,
    few: RowsEvidence,
    n_few: int,
    sample: Callable[[Kernel], float],
    n_sample: int,
    n: int,
    bits: int,
    bounds: Callable[[Kernel], Array],
) -> Scales | None:
    """Scales in the place of one width, or None where that is enough.

    Parameters
    ----------
    width : RBF
        Near the best width.
    few : RowsEvidence
        Of a few rows, with landmarks for the width; it may be that of some of the bits only.
    n_few, n_sample, n : int
        The numbers of these rows, of those that stand for all, and of all.
    sample : callable
        The evidence of the rows that stand for all, for a kernel, with landmarks for it.
    bits : int
        Of the model.
    bounds : callable
        The box of a kernel's log parameters.
    """
    d = few.Z.shape[1]
    promise, share = _PROMISE * few.bits, bits / few.bits
    first = np.array([[1.0 / (_BEND * n_few * few.bits)]])
    line = quasi_newton(lambda x: few(width.with_log_params(x)), width.log_params, first, bounds(width), promise)
    one = width.with_log_params(line.position)
    start = ARD((one.sigma,) * d)
    end = quasi_newton(
        lambda x: few(start.with_log_params(x)),
        start.log_params,
        d * line.inverse[0, 0] * np.eye(d),
        bounds(start),
        promise,
    )
    each = start.with_log_params(end.position)
    gain = share * (few.of_data(each) - few.of_data(one))
    if gain * n / n_few <= least_gain(n, d):
        return None
    if sample(each) - sample(one) <= least_gain(n_sample, d):
        return None
    inverse = inverse_curvature(lambda x: few(each.with_log_params(x)), each.log_params, bounds(each))
    return Scales(each, inverse * (n_few / n / share))
