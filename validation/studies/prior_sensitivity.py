"""Prior sensitivity: what do the answers owe to the prior of the hyperparameters?

Everything is integrated exactly, by quadrature over (log μ, log ζ, log σ) of an RBF kernel, so that differences between
answers are the prior's and nothing else's. The reference is the library's default, Normal(0, 3²) for each log
parameter. Other priors are put on all of them, or on one with the reference on the others:

| prior               | what it changes                                             |
| ------------------- | ----------------------------------------------------------- |
| Normal(0, s²)       | the width, s = 1 … 10                                        |
| Box(−w, w)          | the shape: constant, and nothing outside                    |
| Normal(±3, 3²)      | the middle, by one standard deviation of the reference      |

For each prior: log p(D | RBF), the log Bayes factors of the RBF kernel against the linear one (σ integrated out, and σ
held where the evidence without Occam factor is largest), moments of the posterior, the σ of the highest posterior
density of log σ, predictions, and their log score where there is a test set.

As a control the targets are permuted, so that they say nothing about μ, and (log μ, log ζ) integrated out with σ held
at the same width. (With σ free there is no end to that integral: as σ → ∞ the kernel is constant and the evidence too.)

On data that a linear kernel suits, too, a wide prior can leave the integral over σ without an end: as σ → ∞ and
μ ∝ σ⁻² the RBF kernel becomes a linear one, and the evidence a constant. "tail" is then not small: such an answer is of
the range of σ in which the library looks, and is told apart from the others.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import RBF, Kernel, Linear
from bayes_lssvm.marginal import HyperPosterior, marginalise
from bayes_lssvm.marginal.ladder import quadrature_check
from bayes_lssvm.priors import Box, HyperPrior, LogPrior, Normal, hyper_prior_from_dict
from bayes_lssvm.search.refinement import refine
from validation.harness import Cell, CellResult, Size, Study, StudyData
from validation.ladder import spread_rows

TAIL_LIMIT = 1e-3  # of the integrand's maximum, at an end of the range of σ or γ
REFERENCE = HyperPrior(Normal(0.0, 3.0), Normal(0.0, 3.0), Normal(0.0, 3.0))
REFERENCE_KEY = "all_normal_0_3"
PARAMETERS = {"mu": "log μ", "zeta": "log ζ", "kernel": "log σ"}
SEED = 2002
_TOLERANCE = 1e-5
_POINTS = 400


class Variant(NamedTuple):
    """A prior of one log parameter with the word for its file and its name on a page."""

    key: str
    label: str
    prior: LogPrior


def _normal(mean: float, sd: float) -> Variant:
    said = f"Normal({mean:+g}, {sd:g}²)".replace("-", "−").replace("+0,", "0,")
    return Variant(f"normal_{mean:g}_{sd:g}", said, Normal(mean, sd))


def _box(half: float) -> Variant:
    return Variant(f"box_{half:g}", f"Box(−{half:g}, {half:g})", Box(-half, half))


class PriorsOfSize(NamedTuple):
    """What a size covers: priors of all parameters and of one, whether targets are permuted too, and rows used."""

    together: tuple[Variant, ...]
    alone: tuple[Variant, ...]
    permuted: tuple[Variant, ...]
    rows: int


_WIDTHS = tuple(_normal(0.0, sd) for sd in (1.0, 3.0, 5.0, 10.0))
_SHIFTS = (_normal(-3.0, 3.0), _normal(3.0, 3.0))
_ENDS = (_WIDTHS[0], _WIDTHS[1], _WIDTHS[3])
PLANS: dict[Size, PriorsOfSize] = {
    "toy": PriorsOfSize((_WIDTHS[1], _WIDTHS[0], _box(10.0)), (_WIDTHS[0],), (_WIDTHS[1],), 80),
    "quick": PriorsOfSize((*_WIDTHS, _box(5.0), _box(10.0), *_SHIFTS), (_WIDTHS[0], _WIDTHS[3]), _ENDS, 300),
    "full": PriorsOfSize(
        (*_WIDTHS, _box(3.0), _box(5.0), _box(10.0), *_SHIFTS),
        (_WIDTHS[0], _WIDTHS[3], _box(10.0), *_SHIFTS),
        (*_WIDTHS, _box(10.0)),
        1000,
    ),
}


def cells(data: StudyData, size: Size) -> list[Cell]:
    """The reference first; others change all parameters, one of them, or the targets."""
    plan = PLANS[size]

    def cell(key: str, group: str, variant: Variant, prior: HyperPrior, permuted: bool = False) -> Cell:
        settings = {
            "group": group,
            "label": variant.label,
            "prior": prior.to_dict(),
            "permuted": permuted,
            "rows": plan.rows,
        }
        return Cell(key, settings, SEED)

    found = [cell(f"all_{v.key}", "all", v, HyperPrior(v.prior, v.prior, v.prior)) for v in plan.together]
    found += [
        cell(f"{name}_{v.key}", name, v, _with(name, v.prior))
        for name in PARAMETERS
        for v in plan.alone
        if v.prior != REFERENCE.mu
    ]
    found += [cell(f"permuted_{v.key}", "all", v, HyperPrior(v.prior, v.prior, v.prior), True) for v in plan.permuted]
    return sorted(found, key=lambda one: one.key != REFERENCE_KEY)


def compute(cell: Cell, data: StudyData) -> CellResult:
    """Evidence, Bayes factors, moments and predictions under one prior."""
    prior = hyper_prior_from_dict(cell.settings["prior"])
    X, y = spread_rows(data.X, data.y, cell.settings["rows"], cell.seed)
    width = refine(RBF(1.0), X, y, occam=False).kernel
    permuted = bool(cell.settings["permuted"])
    if permuted:
        y = np.random.default_rng(cell.seed).permutation(y)
    parts = {"held": _posterior(X, y, width, prior, fixed=True), "linear": _posterior(X, y, Linear(), prior)}
    if not permuted:
        parts["rbf"] = _posterior(X, y, RBF(1.0), prior)
    whole = parts["held" if permuted else "rbf"]
    names = [name.removeprefix("log_") for name in whole.names if name != "log_gamma"]
    mean, sd = whole.mean(), whole.sd()
    values: dict[str, Any] = {
        "n_used": len(y),
        "log_evidence": {name: part.log_evidence for name, part in parts.items()},
        "held_sigma": float(np.exp(width.log_params[0])),
        "mean": {name: mean[f"log_{name}"] for name in names},
        "sd": {name: sd[f"log_{name}"] for name in names},
        "tail": max(part.tail for part in parts.values()),
    }
    if not permuted:
        values |= {"sigma": selected_sigma(whole), **_predictions(whole, data, X, cell.seed)}
    worst = _worst_error(parts.values(), whole=cell.key == REFERENCE_KEY)
    return CellResult(values, (quadrature_check(worst),))


def _with(name: str, prior: LogPrior) -> HyperPrior:
    """The reference with one parameter's prior changed."""
    return replace(REFERENCE, **{name: prior})


def _posterior(X: Array, y: Array, kernel: Kernel, prior: HyperPrior, *, fixed: bool = False) -> HyperPosterior:
    return marginalise(
        X, y, kernel=kernel, prior=prior, fixed_kernel=fixed, tolerance=_TOLERANCE, progress=False, standardise=False
    )


def selected_sigma(posterior: HyperPosterior) -> float:
    """The σ at which the posterior density of log σ is highest: a parabola through the best three nodes of the rule."""
    column = posterior.names.index("log_sigma")
    nodes, index = np.unique(posterior.nodes[:, column], return_inverse=True)
    log_mass = np.log(np.bincount(index.ravel(), posterior.weights))
    best = int(np.argmax(log_mass))
    if not 0 < best < len(nodes) - 1:
        return float(np.exp(nodes[best]))  # at an end of the prior's support
    left, middle, right = log_mass[best - 1 : best + 2]
    step = nodes[best + 1] - nodes[best]
    return float(np.exp(nodes[best] + 0.5 * step * (left - right) / (left - 2.0 * middle + right)))


def _predictions(posterior: HyperPosterior, data: StudyData, X: Array, seed: int) -> dict[str, Any]:
    """Predictions at the test points, or at data and midpoints of pairs, and the log score of the test set."""
    rng = np.random.default_rng(seed)
    if data.X_test is not None:
        points = data.X_test
    else:
        pairs = rng.integers(len(X), size=(2, _POINTS // 2))
        points = np.vstack([X[: _POINTS // 2], 0.5 * (X[pairs[0]] + X[pairs[1]])])
    shown = slice(None, None, -(-len(points) // _POINTS))  # all are scored, an even choice of them is kept
    if data.task == "classification":
        P = posterior.predict_proba(points)[:, 1]
        kept: dict[str, Any] = {"probability": P[shown]}
        score = None if data.y_test is None else np.log(np.where(data.y_test > 0, P, 1.0 - P))
    else:
        mean, std = posterior.predict(points, return_std=True)
        kept = {"predicted_mean": mean[shown], "predicted_sd": std[shown]}
        score = None
        if data.y_test is not None:
            score = -0.5 * ((data.y_test - mean) / std) ** 2 - np.log(std) - 0.5 * np.log(2.0 * np.pi)
    return kept | {"log_score": None if score is None else float(np.mean(score))}


def _worst_error(posteriors: Iterable[HyperPosterior], *, whole: bool) -> float:
    """The rules' own errors; tails that the range cuts off are a finding, except where all else is measured from it."""
    return max(p.log_evidence_error - (0.0 if whole else p.tail) for p in posteriors)


STUDY = Study(
    name="prior-sensitivity",
    title="How much the answers depend on the prior",
    cells=cells,
    compute=compute,
)
"""A cell is one prior on the targets as they are, or permuted."""
