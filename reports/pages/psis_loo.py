"""The page of PSIS-LOO against exact leave-one-out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from bayes_lssvm.base.arviz import read_netcdf
from bayes_lssvm.base.typing import AnyArray, Array
from reports.draw.arviz import compare_figure, loo_pit_figure
from reports.draw.style import BLACK, BLUE, GREEN, GREY, ORANGE, PAGE_WIDTH, PURPLE, SKY, VERMILION, new_figure
from reports.draw.thumbnail import small
from reports.frame.answer import Answer, State
from reports.frame.page import Page, Picture, Row, Section, Table
from reports.frame.words import minus, number
from validation.harness import FinishedCell, StudyResult
from validation.psis import psis_compare
from validation.studies.psis_loo import PROBLEMS, Pointwise

INTRODUCTION = (
    "Leave-one-out by Pareto-smoothed importance sampling (PSIS-LOO) is a standard way to compare Bayesian models: one "
    "set of draws, no refits, and k̂ to tell where it fails. Here the truth is known, because leave-one-out densities "
    "of an LS-SVM with all hyperparameters integrated out are ratios of evidences, which quadrature gives to many "
    "digits. How far off is PSIS, and does k̂ warn?"
)
METHODS = (
    "Exact: log p(D) − log p(D without the point), each evidence by quadrature over μ, ζ and, where it is free, σ; for "
    "every point of the kernels with fixed σ and of the 20 rows. For the others the posterior of all points is "
    "weighted by 1/p(y_i | the others, μ, ζ, σ), a Gaussian in closed form (paper 1, eq 12), at the nodes of its "
    "rule, and the three worst points are checked against the ratio of evidences. The weighting fails where the "
    "posterior without the point lies beyond these nodes: the last column of the second table is its largest error.",
    "PSIS, latent: arviz.loo on draws of μ, ζ, σ and of the latent function, with the likelihood p(y_i | z_i, ζ): what "
    "to_arviz gives. PSIS, collapsed: the same draws of μ, ζ and σ with log p(y_i | the others, μ, ζ, σ) for the "
    "likelihood. Plug-in: the closed form at the draw of highest posterior density.",
    "Given the hyperparameters the latent value has a normal posterior of variance v, and the weight 1/p(y_i | z_i, ζ) "
    "has a tail of shape ζv. That is the leverage h_ii, by how much the output moves with its own target.",
    "Labels are −1 and +1 as targets, as the LS-SVM has them; inputs and real targets are standardised; the prior is "
    "the default of marginalise.",
)
_LOOKS = ((BLUE, "o"), (GREEN, "^"), (VERMILION, "s"), (PURPLE, "D"), (SKY, "v"), (ORANGE, "P"), (BLACK, "x"))
_SMALLEST = 1e-5  # nats, of what is drawn


@dataclass(frozen=True)
class Compared:
    """A problem with its leave-one-out log densities by every method."""

    label: str
    values: Pointwise
    good_k: float

    @classmethod
    def of(cls, cell: FinishedCell) -> Compared:
        """From a stored cell."""
        arrays = {name: np.array(cell.values[name], dtype=float) for name in Pointwise._fields}
        return cls(PROBLEMS[cell.cell.key].label, Pointwise(**arrays), float(cell.values["good_k"]))

    def errors(self, method: str) -> Array:
        """Log densities minus the exact ones."""
        return np.asarray(getattr(self.values, method) - self.values.exact)

    def flagged(self, method: str) -> AnyArray:
        """Points whose k̂ warns."""
        return np.asarray(getattr(self.values, f"k_{method}") > self.good_k)


def page(result: StudyResult) -> Page:
    """Sums, points, and where PSIS fails."""
    found = [Compared.of(cell) for cell in result.cells if cell.error is None]
    if not found:
        raise ValueError("No problem was completed.")
    picture = Picture(
        "leverage",
        leverage_figure(found),
        "Two scatter plots over the leverage of each point: the size of the error of PSIS on a logarithmic axis, which "
        "grows with leverage, and k̂, which grows with it along the diagonal.",
        "Each mark is a data point; the higher its leverage, the worse PSIS predicts it. Left: the error of PSIS with "
        "latent draws. Right: k̂, which equals the leverage on the solid line; above the dotted line ArviZ warns.",
    )
    return Page(
        answer=answer(found),
        introduction=INTRODUCTION,
        findings=findings(found),
        key_picture=picture,
        key_table=key_table(found),
        sections=(
            Section("Point by point", tables=(point_table(found),)),
            *comparison(result),
        ),
        methods=METHODS,
        result=result,
        printed=(key_table(found),),
        thumbnail=thumbnail(found),
        related=("laplace-reference", "predictive-scores"),
    )


RULE = (
    "Looks at the sum of the leave-one-out log densities of each problem. Holds where PSIS-LOO is within 1 nat of the "
    "exact sum on all problems; with care where it is off only on problems in which k̂ warns; fails where it is off "
    "without a warning."
)


def badge(errors: Sequence[float], warned: Sequence[bool]) -> State:
    """From the error of each problem's sum in nats, and whether a k̂ warns there."""
    off = [warning for error, warning in zip(errors, warned, strict=True) if abs(error) > 1.0]
    if not off:
        return "holds"
    return "with care" if all(off) else "fails"


def answer(found: Sequence[Compared]) -> Answer:
    """Is PSIS-LOO right, and does k̂ say where it is not?"""
    errors = [float(c.errors("latent").sum()) for c in found]
    warned = [bool(c.flagged("latent").any()) for c in found]
    state = badge(errors, warned)
    off = sum(abs(e) > 1.0 for e in errors)
    largest = max(found, key=lambda c: abs(float(c.errors("latent").sum())))
    start = f"PSIS-LOO is off by more than 1 nat on {off} of {len(found)} problems"
    verdict = {
        "holds": f"PSIS-LOO is within 1 nat of exact leave-one-out on all {len(found)} problems.",
        "with care": f"{start}; its own diagnostic, k̂, warns on each of them.",
        "fails": f"{start}, and k̂ does not always warn.",
    }[state]
    total = {m: sum(abs(float(c.errors(m).sum())) for c in found) for m in ("latent", "collapsed", "plug_in")}
    return Answer(
        state,
        verdict,
        (
            f"The largest error is {number(float(largest.errors('latent').sum()), '+.1f')} nats, on {largest.label}.",
            f"Integrating the latent function out first cuts the errors from {total['latent']:.1f} to "
            f"{total['collapsed']:.1f} nats in total.",
            f"Fixing the hyperparameters instead costs {total['plug_in']:.1f} nats in total.",
        ),
        RULE,
    )


def thumbnail(found: Sequence[Compared]) -> Figure:
    """Error and leverage of every point."""
    with small("error of one point against its leverage") as (figure, axes):
        for (colour, mark), c in zip(_LOOKS, found, strict=False):
            error = np.maximum(np.abs(c.errors("latent")), _SMALLEST)
            axes.plot(c.values.leverage, error, mark, color=colour, markersize=2.2, alpha=0.6, markeredgewidth=0)
        axes.set(yscale="log", xlabel="leverage", ylabel="nats")
        return figure


def comparison(result: StudyResult) -> tuple[Section, ...]:
    """Kernels on the same rows of Ripley's data: ArviZ's comparison beside the exact one, and its LOO-PIT."""
    cells = [c for c in result.cells if c.cell.key.startswith("ripley") and c.error is None and c.draws is not None]
    if len(cells) < 2:
        return ()
    labels = [PROBLEMS[c.cell.key].label.removeprefix("Ripley, ") for c in cells]
    trees = {label: read_netcdf(c.draws) for label, c in zip(labels, cells, strict=True) if c.draws is not None}
    table = psis_compare(trees)
    exact = {label: float(np.sum(c.values["exact"])) for label, c in zip(labels, cells, strict=True)}
    best = max(exact, key=exact.__getitem__)
    chosen = str(table.index[0])
    said = (
        f"ArviZ's compare puts {chosen} first, as exact leave-one-out does."
        if chosen == best
        else f"ArviZ's compare puts {chosen} first. By exact leave-one-out {best} is first, "
        f"{exact[best] - exact[chosen]:.1f} nats ahead of it."
    )
    rows = tuple(
        Row(
            str(label),
            (
                minus(f"{row['elpd']:.1f} ± {row['se']:.1f}"),
                minus(f"{exact[str(label)]:.1f}"),
                "yes" if row["warning"] else "no",
            ),
        )
        for label, row in table.iterrows()
    )
    shown = Table("The order of the kernels", ("", "elpd by PSIS-LOO", "exact elpd", "k̂ warns"), rows)
    pictures = (
        Picture("compare", compare_figure(table), "ArviZ's plot_compare of four kernels.", "PSIS-LOO with one s.e."),
        Picture(
            "loo-pit",
            loo_pit_figure(trees),
            "ArviZ's LOO-PIT of each kernel: a line and a grey band.",
            "Within the band left-out targets are where they are predicted to be. Targets are labels ±1: a step in the "
            "middle is what Gaussian noise makes of two values.",
        ),
    )
    return (Section("Which kernel?", (said,), tables=(shown,), pictures=pictures),)


def findings(found: Sequence[Compared]) -> tuple[str, ...]:
    """Where PSIS holds, where it does not, and whether k̂ says so."""
    fine = [c for c in found if not c.flagged("latent").any()]
    bad = [c for c in found if c.flagged("latent").any()]
    said = []
    if fine:
        worst = max(abs(float(c.errors("latent").sum())) for c in fine)
        said.append(
            f"Where no k̂ warns ({'; '.join(c.label for c in fine)}) PSIS-LOO is within {worst:.2f} nats of exact "
            "leave-one-out."
        )
    if bad:
        worst_case = max(bad, key=lambda c: abs(float(c.errors("latent").sum())))
        off, flags = float(worst_case.errors("latent").sum()), worst_case.flagged("latent")
        said.append(
            f"It fails most on {worst_case.label}: {minus(f'{off:+.1f}')} nats in the sum, with {int(flags.sum())} of "
            f"{len(flags)} k̂ above {worst_case.good_k:.2f}."
        )
        kept = [c.errors("latent")[~c.flagged("latent")] for c in bad]
        calm = float(np.max(np.abs(np.concatenate(kept)))) if any(len(k) for k in kept) else 0.0
        loud = float(np.max(np.abs(np.concatenate([c.errors("latent")[c.flagged("latent")] for c in bad]))))
        said.append(
            f"There a point whose k̂ does not warn is off by up to {calm:.2f} nats, and one whose k̂ warns by up to "
            f"{loud:.2f}."
        )
    total = {m: sum(abs(float(c.errors(m).sum())) for c in found) for m in ("latent", "collapsed", "plug_in")}
    said.append(
        "Integrating the latent function out before the weights are computed leaves an error of "
        f"{total['collapsed']:.2f} of {total['latent']:.2f} nats, summed over problems; fixing the hyperparameters "
        f"costs {total['plug_in']:.2f}."
    )
    return tuple(said)


def key_table(found: Sequence[Compared]) -> Table:
    """Sums over the points."""
    rows = tuple(
        Row(
            c.label,
            (
                str(len(c.values.exact)),
                minus(f"{c.values.exact.sum():.2f}"),
                *(minus(f"{c.errors(method).sum():+.2f}") for method in ("latent", "collapsed", "plug_in")),
                str(int(c.flagged("latent").sum())),
            ),
        )
        for c in found
    )
    header = ("", "points", "exact elpd", "latent", "collapsed", "plug-in", "k̂ warns")
    note = "Differences from the exact expected log predictive density (elpd), in nats, summed over all points."
    return Table("Leave-one-out log densities", header, rows, note)


def point_table(found: Sequence[Compared]) -> Table:
    """The largest error of a point, with and without a warning, and what leverage has to do with it."""
    rows = []
    for c in found:
        error, flags = np.abs(c.errors("latent")), c.flagged("latent")
        rows.append(
            Row(
                c.label,
                (
                    f"{error[~flags].max():.3f}" if (~flags).any() else "–",
                    f"{error[flags].max():.3f}" if flags.any() else "–",
                    f"{np.abs(c.errors('collapsed')).max():.3f} ({int(c.flagged('collapsed').sum())})",
                    f"{c.values.leverage.min():.2f} to {c.values.leverage.max():.2f}",
                    f"{c.values.k_latent.max():.2f}",
                    f"{np.abs(c.errors('reweighted')).max():.0e}" if c.errors("reweighted").any() else "checked",
                ),
            )
        )
    header = ("", "k̂ good", "k̂ warns", "collapsed", "leverage", "largest k̂", "closed-form weights")
    note = "In brackets: the number of points whose k̂ warns."
    return Table("Largest error of one point, in nats", header, tuple(rows), note)


def leverage_figure(found: Sequence[Compared]) -> Figure:
    """|error| and k̂ of PSIS with latent draws, over leverage."""
    with new_figure(PAGE_WIDTH, 4.4) as figure:
        left, right = figure.subplots(1, 2)
        for (colour, mark), c in zip(_LOOKS, found, strict=False):
            look = {"color": colour, "markersize": 3.5, "alpha": 0.6, "markeredgewidth": 0, "label": c.label}
            error = np.maximum(np.abs(c.errors("latent")), _SMALLEST)
            left.plot(c.values.leverage, error, mark, **look)
            right.plot(c.values.leverage, c.values.k_latent, mark, **look)
        left.set(yscale="log", xlabel="leverage h", ylabel="|error of PSIS|, nats")
        right.plot([0.0, 1.0], [0.0, 1.0], color=BLACK, linewidth=0.9, zorder=0)
        right.axhline(found[0].good_k, color=GREY, linewidth=1.0, linestyle=":")
        right.set(xlabel="leverage h", ylabel="k̂")
        figure.legend(*left.get_legend_handles_labels(), loc="outside lower center", ncols=3, markerscale=1.8)
        return figure
