"""The design of a model of fixed size: a look, landmarks, a kernel from a subset, polished on all rows, the sums.

The kernel's parameters are first those of the exact evidence on at most a thousand rows. They drift as rows are added,
so the low-rank evidence of all rows is climbed from there, a pass for its value and one for its gradient a step. The
plain evidence is climbed and not its lower bound, which draws towards wide kernels where landmarks are few.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..base.standardisation import Standardiser
from ..base.typing import AnyArray, Array
from ..kernels import Kernel
from ..levels.default_prior import default_prior, prior_of_labels, prior_of_targets
from ..levels.objective import Objective
from ..multiclass.criterion import WithPriors
from ..multiclass.objective import SharedObjective
from ..multiclass.search import refine_shared
from ..multiclass.tasks import tasks_of as exact_tasks_of
from ..priors import HyperPrior
from ..search.polish import polish
from ..search.refinement import refine_objective
from ..search.starts import spread_subset
from .blocks import of_arrays
from .features import ExplicitMap, FeatureMap, NystromMap
from .landmarks import choose_landmarks
from .mixture import Mixture, Node, lay_nodes
from .objective import derivatives, landmark_gradient, posteriors_of, tasks_of
from .passes import Collect, Differentiate, Encoding, Local, Runner
from .sample import Look
from .statistics import Statistics

SUBSET = 1000  # rows on which the kernel is searched first
_PROMISE, _PROMISE_A_ROW = 0.05, 1e-6  # nats that a further step on all rows must promise, for each bit


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
    """

    kernel: Kernel
    rule: Any
    n_landmarks: int
    refine: bool
    polish: bool
    prior: HyperPrior | None
    seed: int
    integrate: bool = False


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


def shares(counts: Array, code: Array) -> Array:
    """Share of +1 among the rows of each bit, by their number or their weights."""
    return np.asarray((code > 0).T @ counts / ((code != 0).T @ counts))


def priors_of(
    given: HyperPrior | None, kernel: Kernel, d: int, statistics: Statistics, code: Array | None
) -> list[HyperPrior]:
    """The prior of each bit."""
    width = np.empty((0, d))
    if code is None:
        mass = float(statistics.masses.sum())
        variance = statistics.target_square / mass - (statistics.target_sum / mass) ** 2
        return [given or prior_of_targets(kernel, width, variance)]
    return [given or prior_of_labels(kernel, width, float(p)) for p in shares(statistics.masses, code)]


def design(settings: Settings, runner: Runner, look: Look, encoding: Encoding, code: Array | None) -> Design:
    """Landmarks, kernel and sums for rows that have been looked at."""
    inputs, targets = encoding(look.X, look.y, "the sample")
    d, kernel = inputs.shape[1], settings.kernel
    by_class = code is not None and bool((code == 0).any())
    passes = 1
    searched = settings.refine and kernel.log_params.size > 0
    if searched:
        kernel = _searched(settings, kernel, inputs, targets, code, look.own_weights)
    explicit = ExplicitMap.of(kernel, d)
    if explicit is not None and explicit.size <= max(settings.n_landmarks, d + 1):
        statistics = runner(work := Collect(explicit, encoding, by_class), Statistics.merge, "statistics", work.key)
        alone = (Node(explicit, statistics, 0.0),) if settings.integrate else ()
        return Design(explicit, encoding, code, statistics, look, passes + 1, alone)
    if isinstance(settings.rule, str):
        Z = choose_landmarks(settings.rule, kernel, inputs, settings.n_landmarks, settings.seed)
    else:
        Z = encoding.standardiser(np.asarray(settings.rule, dtype=float))
    evidence = _Evidence(settings, runner, encoding, code, Z, by_class)
    if searched and settings.polish and look.n > SUBSET:
        kernel = _polished(evidence, kernel, inputs, targets, look)
        passes += evidence.n_passes
    features = NystromMap.of(kernel, Z)
    statistics = evidence.statistics(features)
    nodes: tuple[Node, ...] = ()
    if settings.integrate:
        before = evidence.n_passes
        nodes = _mixed(evidence, Node(features, statistics, 0.0), inputs, searched)
        passes += evidence.n_passes - before
    complete = isinstance(settings.rule, str) and look.n <= min(settings.n_landmarks, len(look.X))
    return Design(features, encoding, code, statistics, look, passes + 1, nodes, complete)


def _mixed(evidence: _Evidence, middle: Node, inputs: Array, searched: bool) -> tuple[Node, ...]:
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
        priors = priors_of(evidence.settings.prior, own, inputs.shape[1], node.statistics, evidence.code)
        return Mixture.of((node,), evidence.code, priors).log_evidence

    low, high = kernel.log_bounds(inputs)[0]
    return lay_nodes(at, log_integrand, centre, (float(low), float(high)))


def _searched(
    settings: Settings, kernel: Kernel, inputs: Array, targets: AnyArray, code: Array | None, weights: Array | None
) -> Kernel:
    """The kernel of the largest exact evidence on a subset of the rows."""
    rng = np.random.default_rng([settings.seed, 2])
    rows = spread_subset(targets, SUBSET, rng) if len(inputs) > SUBSET else np.arange(len(inputs))
    X, t, w = inputs[rows], targets[rows], None if weights is None else weights[rows]
    if code is None or code.shape[1] == 1:
        y = np.asarray(t, dtype=float) if code is None else code[t, 0]
        prior = settings.prior or default_prior(kernel, X, y, classes=code is not None, weights=w)
        return refine_objective(Objective(X, y, prior=prior, weights=w), kernel, settings.seed).kernel
    criterion = WithPriors(X.shape[1], settings.prior)
    objective = SharedObjective(X, exact_tasks_of(code, t, w, whole=False), criterion, w)
    return refine_shared(kernel, objective, t, code, settings.seed).kernel


class _Evidence:
    """The low-rank evidence of all rows with landmarks Z, and the passes that it took."""

    def __init__(
        self, settings: Settings, runner: Runner, encoding: Encoding, code: Array | None, Z: Array, by_class: bool
    ) -> None:
        self.settings, self.runner, self.encoding = settings, runner, encoding
        self.code, self.Z, self.by_class, self.n_passes = code, Z, by_class, 0

    def statistics(self, features: NystromMap) -> Statistics:
        """A pass."""
        work = Collect(features, self.encoding, self.by_class)
        self.n_passes += 1
        return self.runner(work, Statistics.merge, "statistics", work.key)

    def __call__(self, kernel: Kernel) -> tuple[float, Array]:
        """Value and gradient in the kernel's log parameters, a pass each."""
        features = NystromMap.of(kernel, self.Z)
        statistics = self.statistics(features)
        priors = priors_of(self.settings.prior, kernel, self.Z.shape[1], statistics, self.code)
        own = priors[0].components(len(kernel.log_params))[2:]
        value = sum(float(part.log_density(x)) for part, x in zip(own, kernel.log_params, strict=True))
        slope = np.array([float(part.gradient(x)) for part, x in zip(own, kernel.log_params, strict=True)])
        rows, outer = [], np.zeros((features.size, features.size))
        for task in tasks_of(statistics, self.code):
            found = posteriors_of(task, priors)
            value += sum(each.log_evidence for each in found)
            row, share = derivatives(task, found, priors, features)
            rows.append(row)
            outer += share
        self.n_passes += 1
        over_rows = self.runner(Differentiate(features, self.encoding, rows), np.add, "gradient")
        return value, slope + over_rows + landmark_gradient(features, outer)


def _polished(evidence: _Evidence, kernel: Kernel, inputs: Array, targets: AnyArray, look: Look) -> Kernel:
    """The kernel at the maximum of the low-rank evidence of all rows, from that of a subset."""
    rows = inputs[: 2 * SUBSET], targets[: 2 * SUBSET]  # the order of the sample is as good as random
    weights = None if look.own_weights is None else look.weights[: 2 * SUBSET]
    encoding = Encoding(Standardiser.identity(inputs.shape[1]), evidence.encoding.classes)
    labels = rows[1] if encoding.classes is None else encoding.classes[rows[1]]
    subset = Local(of_arrays(rows[0], labels, weights))
    small = _Evidence(evidence.settings, subset, encoding, evidence.code, evidence.Z, evidence.by_class)
    bits = 1 if evidence.code is None else evidence.code.shape[1]
    end = polish(
        lambda x: evidence(kernel.with_log_params(x)),
        lambda x: small(kernel.with_log_params(x)),
        len(rows[0]) / look.n,
        kernel.log_params,
        kernel.log_bounds(inputs),
        (_PROMISE + _PROMISE_A_ROW * look.n) * bits,
    )
    return kernel if end is None else kernel.with_log_params(end.position)
