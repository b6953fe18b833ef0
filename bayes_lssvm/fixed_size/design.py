"""The design of a model of fixed size: a look, landmarks, a kernel from a subset, polished on all rows, the sums.

The kernel's parameters are first those of the exact evidence on at most a thousand rows. A scale for each input may
then take the place of one width (`scales`). They drift as rows are added, so the low-rank evidence of all rows is
climbed from there, a pass for its value and one for its gradient a step. The plain evidence is climbed and not its
lower bound, which draws towards wide kernels where landmarks are few.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ..base.typing import AnyArray, Array
from ..kernels import RBF, Kernel
from ..levels.default_prior import default_prior
from ..levels.objective import Objective
from ..multiclass.criterion import WithPriors
from ..multiclass.objective import SharedObjective
from ..multiclass.search import refine_shared
from ..multiclass.tasks import tasks_of as exact_tasks_of
from ..priors import HyperPrior
from ..search.polish import Polished, inverse_curvature, quasi_newton
from ..search.refinement import refine_objective
from ..search.starts import spread_subset
from .evidence import RowsEvidence
from .features import ExplicitMap, FeatureMap, NystromMap
from .landmarks import choose_landmarks
from .mixture import Mixture, Node, lay_nodes
from .passes import Collect, Encoding, Runner
from .priors import priors_of
from .sample import Look
from .scales import BITS, LANDMARKS, ROWS, Scales, may_have_scales, scales
from .statistics import Statistics

SUBSET = 1000  # rows on which the kernel is searched first
_PROMISE, _PROMISE_A_ROW = 0.05, 1e-6  # nats that a further step on all rows must promise, for each bit
_MANY = 4  # times the rows that stand for all


@dataclass(frozen=True)
class Settings:
    """What a design is asked for.

    Attributes
    ----------
    kernel : Kernel
        A start, or the kernel itself if `refine` is False.
    rule, n_landmarks : str or array of shape (m, d), and int
        Landmarks, in the data's units if they are given.
    refine, polish : bool
        Whether to search the kernel's parameters, and whether to do so on all rows.
    prior : HyperPrior, optional
        Of the hyperparameters, the same for each bit; the default one otherwise.
    seed : int
    integrate : bool
        Whether to integrate μ, ζ and the kernel's parameter out.
    scales : bool
        Whether a scale for each input may take the place of the kernel's one width.
    """

    kernel: Kernel
    rule: Any
    n_landmarks: int
    refine: bool
    polish: bool
    prior: HyperPrior | None
    seed: int
    integrate: bool = False
    scales: bool = False


@dataclass(frozen=True)
class Design:
    """The model, as far as rows have made it.

    Attributes
    ----------
    features : FeatureMap
    encoding : Encoding
    code : array of shape (C, L), or None for real targets
    statistics : Statistics
    look : Look
        Rows that stand for all, in the data's units.
    n_passes : int
        Passes over the rows, the look included.
    nodes : tuple of Node
        The kernels that are mixed, where hyperparameters are integrated out.
    complete : bool
        Whether every row is a landmark, so that the model is the exact one.
    """

    features: FeatureMap
    encoding: Encoding
    code: Array | None
    statistics: Statistics
    look: Look
    n_passes: int
    nodes: tuple[Node, ...] = ()
    complete: bool = False

    def with_rows(self, runner: Runner, look: Look) -> Design:
        """The design after more rows, landmarks, kernels and scales held."""

        def more(features: FeatureMap, before: Statistics) -> Statistics:
            work = Collect(features, self.encoding, len(before.squares) > 1)
            return before.merge(runner(work, Statistics.merge, "statistics"))

        nodes = tuple(node._replace(statistics=more(node.features, node.statistics)) for node in self.nodes)
        statistics = more(self.features, self.statistics)
        return replace(self, statistics=statistics, look=self.look.merge(look), nodes=nodes, complete=False)


class _Sample(NamedTuple):
    """The rows that stand for all: standardised inputs, numbers of classes or real targets, and weights if any."""

    X: Array
    y: AnyArray
    weights: Array | None

    def at(self, rows: AnyArray | slice) -> _Sample:
        """Some of them."""
        return _Sample(self.X[rows], self.y[rows], None if self.weights is None else self.weights[rows])

    def first(self, size: int) -> _Sample:
        """The first of them: their order is as good as random."""
        return self.at(slice(size))


def design(settings: Settings, runner: Runner, look: Look, encoding: Encoding, code: Array | None) -> Design:
    """Landmarks, kernel and sums for rows that have been looked at."""
    sample = _Sample(*encoding(look.X, look.y, "the sample"), look.own_weights)
    d, kernel = sample.X.shape[1], settings.kernel
    by_class = code is not None and bool((code == 0).any())
    passes = 1
    searched = settings.refine and kernel.log_params.size > 0
    if searched:
        kernel = _searched(settings, kernel, sample, code)
    explicit = ExplicitMap.of(kernel, d)
    if explicit is not None and explicit.size <= max(settings.n_landmarks, d + 1):
        statistics = runner(work := Collect(explicit, encoding, by_class), Statistics.merge, "statistics", work.key)
        alone = (Node(explicit, statistics, 0.0),) if settings.integrate else ()
        return Design(explicit, encoding, code, statistics, look, passes + 1, alone)

    def landmarks(for_kernel: Kernel) -> Array:
        if not isinstance(settings.rule, str):
            return encoding.standardiser(np.asarray(settings.rule, dtype=float))
        return choose_landmarks(settings.rule, for_kernel, sample.X, settings.n_landmarks, settings.seed)

    evidence = RowsEvidence(settings.prior, runner, encoding, code, landmarks(kernel))
    inverse = None
    if settings.scales and searched and may_have_scales(look.n, d):
        found = _with_scales(evidence, kernel, sample, look.n, landmarks)
        if found is not None:
            kernel, inverse = found
            evidence = RowsEvidence(settings.prior, runner, encoding, code, landmarks(kernel))
    if searched and settings.polish and look.n > SUBSET:
        kernel = _polished(evidence, kernel, sample, look.n, inverse)
        passes += evidence.n_passes
    features = NystromMap.of(kernel, evidence.Z)
    statistics = evidence.statistics(features)
    nodes: tuple[Node, ...] = ()
    if settings.integrate:
        before = evidence.n_passes
        nodes = _mixed(evidence, Node(features, statistics, 0.0), sample.X, searched)
        passes += evidence.n_passes - before
    complete = isinstance(settings.rule, str) and look.n <= min(settings.n_landmarks, len(look.X))
    return Design(features, encoding, code, statistics, look, passes + 1, nodes, complete)


def _mixed(evidence: RowsEvidence, middle: Node, inputs: Array, searched: bool) -> tuple[Node, ...]:
    """The kernels over which predictions are averaged; the one of the design alone, where its parameters are held."""
    kernel = middle.features.kernel
    if not searched or kernel.log_params.size != 1:
        return (middle,)
    centre = float(kernel.log_params[0])
    found = {centre: middle}

    def at(position: float) -> Node:
        if position not in found:
            features = NystromMap.of(kernel.with_log_params(np.array([position])), evidence.Z)
            found[position] = Node(features, evidence.statistics(features), 0.0)
        return found[position]

    def log_integrand(node: Node) -> float:
        own = node.features.kernel
        priors = priors_of(evidence.given, own, inputs.shape[1], node.statistics, evidence.code)
        return Mixture.of((node,), evidence.code, priors).log_evidence

    low, high = kernel.log_bounds(inputs)[0]
    return lay_nodes(at, log_integrand, centre, (float(low), float(high)))


def _searched(settings: Settings, kernel: Kernel, sample: _Sample, code: Array | None) -> Kernel:
    """The kernel of the largest exact evidence on a subset of the rows."""
    rng = np.random.default_rng([settings.seed, 2])
    X, t, w = sample.at(spread_subset(sample.y, SUBSET, rng)) if len(sample.X) > SUBSET else sample
    if code is None or code.shape[1] == 1:
        y = np.asarray(t, dtype=float) if code is None else code[t, 0]
        prior = settings.prior or default_prior(kernel, X, y, classes=code is not None, weights=w)
        return refine_objective(Objective(X, y, prior=prior, weights=w), kernel, settings.seed).kernel
    criterion = WithPriors(X.shape[1], settings.prior)
    objective = SharedObjective(X, exact_tasks_of(code, t, w, whole=False), criterion, w)
    return refine_shared(kernel, objective, t, code, settings.seed).kernel


def _told(code: Array | None, targets: AnyArray) -> Array | None:
    """The bits of a code of which these rows show both sides, and three rows at least."""
    if code is None:
        return None
    counts = np.bincount(targets, minlength=len(code))
    plus, minus = (code > 0).T @ counts, (code < 0).T @ counts
    return code[:, (plus > 0) & (minus > 0) & (plus + minus >= 3)]


def _with_scales(
    evidence: RowsEvidence,
    width: Kernel,
    sample: _Sample,
    n: int,
    landmarks: Callable[[Kernel], Array],
) -> Scales | None:
    """Scales in the place of one width, where the rows that stand for all ask for them."""
    assert isinstance(width, RBF)
    few = sample.first(ROWS)
    told = _told(evidence.code, few.y)
    if told is not None:
        if told.shape[1] == 0:
            return None
        told = told[:, np.unique(np.linspace(0, told.shape[1] - 1, BITS).round().astype(int))]

    def of_sample(kernel: Kernel) -> float:
        return evidence.on(*sample, evidence.code, landmarks(kernel)).of_data(kernel)

    try:
        return scales(
            width,
            evidence.on(*few, told, evidence.Z[:LANDMARKS]),
            len(few.X),
            of_sample,
            len(sample.X),
            n,
            evidence.bits,
            lambda kernel: kernel.log_bounds(sample.X),
        )
    except np.linalg.LinAlgError:  # a step went too far for the matrix
        return None


def _polished(evidence: RowsEvidence, kernel: Kernel, sample: _Sample, n: int, inverse: Array | None = None) -> Kernel:
    """The kernel at the maximum of the low-rank evidence of all rows, from one near it.

    The way begins with the inverse curvature for all rows that is given, or with that of a subset. With many more rows
    than stand for all it leads by way of these, where a step takes no pass.
    """
    bounds, nats = kernel.log_bounds(sample.X), evidence.bits * (1 if inverse is None else kernel.log_params.size)

    def climbed(rows: RowsEvidence, count: int, start: Array, inverse: Array) -> Polished:
        promise = (_PROMISE + _PROMISE_A_ROW * count) * nats
        return quasi_newton(lambda x: rows(kernel.with_log_params(x)), start, inverse, bounds, promise)

    start = kernel.log_params
    try:
        if inverse is None:
            few = sample.first(2 * SUBSET)
            told = _told(evidence.code, few.y)
            if told is not None and told.shape[1] == 0:  # classes too rare for a subset
                few, told = sample, evidence.code
            small = evidence.on(*few, told)
            share = len(few.X) / n * small.bits / evidence.bits
            inverse = share * inverse_curvature(lambda x: small(kernel.with_log_params(x)), start, bounds)
        elif n > _MANY * len(sample.X):
            share = len(sample.X) / n
            end = climbed(evidence.on(*sample, evidence.code), len(sample.X), start, inverse / share)
            start, inverse = end.position, share * end.inverse
        end = climbed(evidence, n, start, inverse)
    except np.linalg.LinAlgError:  # a step went too far for the matrix
        return kernel
    return kernel.with_log_params(end.position)
