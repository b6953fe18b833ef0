"""Kernels found, not chosen: sums and products built from base kernels, one step after the other, by the evidence.

Each step tries every move from the structure reached (`search.structure`): a term more, a factor more, another base in
the place of one, a base less. The evidence has μ, ζ and the kernel's parameters integrated out (`search.growth`), so
that a structure pays for what it has more. The best move is taken if its Bayes factor against the structure reached
says so: any above one for a move that does not grow the structure, and one above the number of candidates for a move
that does, as the best of many is ahead by chance. That is what equal prior odds of stopping and of growing come to,
those of growing being shared by the candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .base.memory import require_matrices
from .base.progress import tqdm
from .base.scikit import check_classification_targets, check_X_y
from .base.standardisation import Standardiser
from .base.text import html_table, table_of
from .base.threads import few_threads
from .base.typing import AnyArray, Array
from .base.weights import with_weight
from .comparison.words import kass_raftery
from .estimators.choice import without_copies
from .estimators.classifier import BayesianLSSVC
from .estimators.regressor import BayesianLSSVR
from .kernels import Kernel
from .search.growth import BudgetSpentError, Growth, Scored
from .search.structure import Structure, bases_of, moves

__all__ = ["KernelSearch", "SearchStep", "search_kernels"]

BASES = ("linear", "rbf", "periodic")
TASKS = ("auto", "classification", "regression")
BUDGET = 20_000
_FEWEST = 3


@dataclass(frozen=True)
class SearchStep:
    """One step of a search.

    Attributes
    ----------
    move : str
        "start", "add", "multiply", "replace" or "remove".
    structure : str
        What the best move leads to, such as "linear + periodic * rbf".
    kernel : Kernel
        At its most probable parameters.
    log_evidence : float
    log_bayes_factor : float
        Against the structure reached before; nan at the start.
    needed : float
        The log Bayes factor that it takes.
    taken : bool
        Whether the search went there.
    candidates : tuple of pairs (str, float)
        Every structure that was tried, with its log evidence, the best first.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm import search_kernels
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-3, 3, size=(40, 1))
    >>> y = np.sinc(x[:, 0]) + 0.1 * rng.normal(size=40)
    >>> found = search_kernels(x, y, kernels=["linear"], most_parts=1, progress=False)
    >>> step = found.path[0]
    >>> step.move, step.structure
    ('start', 'linear')
    """

    move: str
    structure: str
    kernel: Kernel
    log_evidence: float
    log_bayes_factor: float
    needed: float
    taken: bool
    candidates: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class KernelSearch:
    """What a search found, and its path.

    Attributes
    ----------
    kernel : Kernel
        The best kernel, at its most probable parameters, for standardised inputs unless `standardise` is false.
    structure : str
        Its structure by the names of the bases, in the grammar of the command line.
    log_evidence : float
    path : tuple of SearchStep
        The last one is not taken, unless the budget or the number of steps ended the search.
    n_evaluations, budget : int
        Evaluations of the evidence of one kernel.
    stopped : str
        Why the search ended.
    standardise : bool

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm import search_kernels
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-3, 3, size=(40, 1))
    >>> y = np.sinc(x[:, 0]) + 0.1 * rng.normal(size=40)
    >>> found = search_kernels(x, y, kernels=["linear"], most_parts=1, progress=False)
    >>> found.structure, found.path[0].move
    ('linear', 'start')
    """

    kernel: Kernel
    structure: str
    log_evidence: float
    path: tuple[SearchStep, ...]
    n_evaluations: int
    budget: int
    stopped: str
    standardise: bool
    classes: bool
    X: Array = field(repr=False)
    y: AnyArray = field(repr=False)
    sample_weight: Array | None = field(repr=False, default=None)

    @property
    def best(self) -> Kernel:
        """The best kernel."""
        return self.kernel

    def estimator(self, **settings: Any) -> BayesianLSSVC | BayesianLSSVR:
        """The estimator with the best kernel, fitted to the data of the search; its parameters are tuned further."""
        arguments: dict[str, Any] = {"kernel": self.kernel, "standardise": self.standardise} | settings
        model = BayesianLSSVC(**arguments) if self.classes else BayesianLSSVR(**arguments)
        return model.fit(self.X, self.y, self.sample_weight)

    def rows(self) -> list[dict[str, Any]]:
        """The path as a list of dictionaries of plain values."""
        return [
            {
                "step": i,
                "move": step.move,
                "structure": step.structure,
                "log_evidence": step.log_evidence,
                "log_bayes_factor": None if np.isnan(step.log_bayes_factor) else step.log_bayes_factor,
                "needed": None if np.isnan(step.needed) else step.needed,
                "evidence": "" if np.isnan(step.log_bayes_factor) else kass_raftery(step.log_bayes_factor),
                "candidates": len(step.candidates),
                "taken": step.taken,
            }
            for i, step in enumerate(self.path)
        ]

    def _repr_html_(self) -> str:
        """The path as a table, for notebooks."""
        columns = ("step", "move", "structure", "log_evidence", "log_bayes_factor", "needed", "taken")
        rows = [["" if row[key] is None else row[key] for key in columns] for row in self.rows()]
        title = f"{self.structure}: {self.kernel!s}. {self.stopped}"
        return html_table(title, [key.replace("_", " ") for key in columns], rows)

    def __str__(self) -> str:
        lines = [("step", "move", "structure", "log evidence", "log B", "needed", "candidates", "")]
        for i, row in enumerate(self.rows()):
            numbers = ("" if row[key] is None else f"{row[key]:.2f}" for key in ("log_bayes_factor", "needed"))
            mark = "taken" if row["taken"] else "not taken"
            evidence = f"{row['log_evidence']:.2f}"
            lines.append((str(i), row["move"], row["structure"], evidence, *numbers, str(row["candidates"]), mark))
        aligned = table_of(lines, right=(0, 3, 4, 5, 6))
        end = f"{self.stopped} {self.n_evaluations} evaluations of the evidence."
        return "\n".join([*aligned, f"{self.structure}: {self.kernel!s}", end])

    def plot(self, ax: Any = None) -> Any:
        """The path as a figure: the evidence of every candidate of every step, and the way that was taken.

        Needs matplotlib. Returns the axes.
        """
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(1.8 * len(self.path) + 3.0, 4.0), layout="constrained")
        for i, step in enumerate(self.path):
            values = [value for _, value in step.candidates]
            ax.plot([i] * len(values), values, "_", color="0.6", markersize=14)
            ax.annotate(
                step.structure,
                (i, step.log_evidence),
                xytext=(0, 8),
                textcoords="offset points",
                ha="center",
                fontsize=8,
            )
        taken = [(i, step.log_evidence) for i, step in enumerate(self.path) if step.taken]
        ax.plot(*zip(*taken, strict=True), "o-", color="C0", label="taken")
        left = [(i, step.log_evidence) for i, step in enumerate(self.path) if not step.taken]
        if left:
            ax.plot(*zip(*left, strict=True), "o", color="C0", fillstyle="none", label="not taken")
        ax.set_xticks(range(len(self.path)), [step.move for step in self.path])
        ax.set_xlabel("best change at each step")
        ax.set_ylabel("log evidence")
        ax.margins(x=0.15, y=0.15)
        ax.legend(frameon=False, loc="best")
        return ax


@few_threads
def search_kernels(
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    kernels: Sequence[Kernel | str] = BASES,
    task: str = "auto",
    budget: int = BUDGET,
    most_parts: int = 6,
    standardise: bool = True,
    seed: int = 0,
    progress: bool = True,
) -> KernelSearch:
    """Build a kernel from base kernels by the evidence.

    Parameters
    ----------
    X : array of shape (N, d)
    y : array of shape (N,)
        Two labels, or real targets.
    sample_weight : array of shape (N,), optional
        Row i has the noise precision ζw_i; weight zero leaves it out. Copies of a row are a weight, as in the
        estimators.
    kernels : sequence of names or kernels
        The bases. Of several inputs a name stands for the kernel of all of them and for one of each ("rbf[0]").
    task : {"auto", "classification", "regression"}
        With "auto", targets of two values and targets that are no numbers are labels.
    budget : int
        Evaluations of the evidence, each one reduction of an N × N matrix. When they are spent the best structure so
        far is the result.
    most_parts : int
        Number of base kernels in a structure, at most.
    standardise : bool
        Bring inputs to zero mean and unit variance first, as the estimators do.
    seed : int
        Chooses the points on which starts are sifted where N > 300.
    progress : bool
        A bar on a terminal.

    Examples
    --------
    >>> import numpy as np
    >>> from bayes_lssvm import search_kernels
    >>> rng = np.random.default_rng(0)
    >>> X = np.linspace(0, 10, 60)[:, None]
    >>> y = 0.4 * X[:, 0] + np.sin(3 * X[:, 0]) + 0.1 * rng.normal(size=60)
    >>> search_kernels(X, y).structure
    'linear + periodic'
    """
    X, y, weights, labels = _checked(X, y, sample_weight, task, budget, most_parts)
    require_matrices(len(X), 6, "Search on a random subset.")
    targets = np.where(y == np.unique(y)[1], 1.0, -1.0) if labels else np.asarray(y, dtype=float)
    standardiser = Standardiser.fit(X, None, weights) if standardise else Standardiser.identity(X.shape[1])
    inputs = standardiser(X)
    bases = bases_of(kernels, inputs, standardiser(np.zeros((1, X.shape[1])))[0])
    if not bases:
        raise ValueError("There are no kernels to build from; give at least one name or kernel.")
    rows = without_copies(inputs, targets, weights)
    growth = Growth(rows.X, rows.y, labels, int(budget), seed, rows.weights)
    path, reached, stopped = _climb_structures(growth, bases, most_parts, progress)
    return KernelSearch(
        kernel=reached.structure.kernel,
        structure=str(reached.structure),
        log_evidence=reached.log_evidence,
        path=tuple(path),
        n_evaluations=growth.spent,
        budget=int(budget),
        stopped=stopped,
        standardise=standardise,
        classes=labels,
        X=X,
        y=y,
        sample_weight=weights,
    )


def _checked(
    X: Any, y: Any, sample_weight: Any, task: str, budget: int, most_parts: int
) -> tuple[Array, AnyArray, Array | None, bool]:
    if task not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}, got {task!r}.")
    for name, value in (("budget", budget), ("most_parts", most_parts)):
        if isinstance(value, bool) or int(value) != value or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
    given = np.asarray(y)
    two = given.ndim == 1 and len(given) > 0 and given.dtype.kind in "biuf" and len(np.unique(given)) == 2
    labels = task == "classification" or (task == "auto" and (given.dtype.kind not in "biuf" or two))
    X, y = check_X_y(X, y, dtype=np.float64, y_numeric=not labels, ensure_min_samples=_FEWEST)
    X, y, weights = with_weight(X, y, sample_weight, _FEWEST)
    count = len(np.unique(y))
    if labels:
        check_classification_targets(y)
        if count != 2:
            raise ValueError(
                f"A search is for two classes or for real targets, but y has {count} labels. Search with one class "
                "against the others, or compare kernels with BayesianLSSVC and more classes."
            )
    if count < 2:
        raise ValueError("All targets are equal, so that there is nothing to find a kernel for.")
    return X, y, weights, labels


def _climb_structures(
    growth: Growth, bases: Sequence[Any], most_parts: int, progress: bool
) -> tuple[list[SearchStep], Scored, str]:
    """Steps until none is worth taking."""
    known: dict[tuple[tuple[str, ...], ...], Scored] = {}
    reached: Scored | None = None
    path: list[SearchStep] = []
    top = -np.inf
    with tqdm(total=growth.budget, desc="kernels", disable=None if progress else True, leave=False) as bar:
        while True:
            tried: dict[tuple[tuple[str, ...], ...], tuple[str, Scored]] = {}
            spent = False
            for move in moves(None if reached is None else reached.structure, bases):
                if move.variants[0].size > most_parts or (reached and move.key == reached.structure.key):
                    continue
                try:
                    if move.key not in known or move.word == "remove":  # from a better place, perhaps
                        again = growth.score(move, top)
                        known[move.key] = max(known.get(move.key, again), again, key=lambda scored: scored.log_evidence)
                except BudgetSpentError:
                    spent = True
                    break
                finally:
                    bar.update(growth.spent - bar.n)
                tried.setdefault(move.key, (move.word, known[move.key]))
                top = max(top, known[move.key].log_evidence)
            if not tried:
                break
            step, best = _step(tried, reached)
            path.append(step)
            if step.taken:
                reached = best
            if spent or not step.taken:
                break
    if reached is None:
        raise ValueError(
            f"A budget of {growth.budget} evaluations is too small for the first kernel; about 100 for each base are "
            "needed."
        )
    if spent:
        return path, reached, "The budget ran out before the search ended."
    return path, reached, "No further change improves the evidence enough."


def _step(tried: dict[Any, tuple[str, Scored]], reached: Scored | None) -> tuple[SearchStep, Scored]:
    """The best of the candidates, and whether it is taken."""
    ranked = sorted(tried.values(), key=lambda item: -item[1].log_evidence)
    word, best = ranked[0]
    log_b = needed = float("nan")
    taken = True
    if reached is not None:
        log_b = best.log_evidence - reached.log_evidence
        needed = float(np.log(len(tried))) if best.structure.size > reached.structure.size else 0.0
        taken = log_b > needed
    candidates = tuple((str(scored.structure), scored.log_evidence) for _, scored in ranked)
    structure: Structure = best.structure
    step = SearchStep(word, str(structure), structure.kernel, best.log_evidence, log_b, needed, taken, candidates)
    return step, best
