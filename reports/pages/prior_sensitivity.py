"""The page of prior sensitivity: what evidence, Bayes factors, posteriors and predictions owe to the prior."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bayes_lssvm.search.comparison import kass_raftery
from bayes_lssvm.trust import LIMITS
from reports.draw.style import BLACK, BLUE, GREY, PAGE_WIDTH, PALE, VERMILION, new_figure
from reports.frame.page import Page, Picture, Row, Section, Table
from validation.harness import FinishedCell, StudyResult
from validation.studies.prior_sensitivity import PARAMETERS, REFERENCE_KEY, TAIL_LIMIT

SYMBOLS = {"mu": "log μ", "zeta": "log ζ", "sigma": "log σ"}
MOVED = 0.25  # posterior standard deviations by which a mean may move and count as the same
INTRODUCTION = (
    "The evidence framework needs a prior of log μ, log ζ and log σ, or at least its widths. Every answer on this page "
    "is an exact integral under one of several priors, so that the differences are what the answers owe to the prior."
)


@dataclass(frozen=True)
class Answer:
    """The answers under one prior; `group` is "all" or the one parameter whose prior is changed."""

    group: str
    label: str
    values: dict[str, Any]

    @property
    def name(self) -> str:
        """The prior as the page calls it."""
        return f"{self.label} on all" if self.group == "all" else f"{self.label} on {PARAMETERS[self.group]}"

    @property
    def endless(self) -> bool:
        """Whether the integral goes on beyond the range in which the library looks."""
        return float(self.values["tail"]) > TAIL_LIMIT

    @property
    def log_evidence(self) -> float:
        """Of the RBF kernel with σ integrated out."""
        return float(self.values["log_evidence"]["rbf"])

    @property
    def bayes_factor(self) -> float:
        """Log Bayes factor of the RBF kernel, σ integrated out, against the linear one."""
        return self.log_evidence - float(self.values["log_evidence"]["linear"])

    @property
    def held_bayes_factor(self) -> float:
        """The same with σ held."""
        return float(self.values["log_evidence"]["held"]) - float(self.values["log_evidence"]["linear"])

    def change_from(self, other: Answer) -> float:
        """Worst change of a prediction: of a probability, or of a mean or sd in predicted standard deviations."""
        if "probability" in self.values:
            return float(np.abs(np.subtract(self.values["probability"], other.values["probability"])).max())
        mean, sd = np.array(self.values["predicted_mean"]), np.array(self.values["predicted_sd"])
        mean_0, sd_0 = np.array(other.values["predicted_mean"]), np.array(other.values["predicted_sd"])
        return float((np.maximum(np.abs(mean - mean_0), np.abs(sd - sd_0)) / sd_0).max())

    def moved_from(self, other: Answer, name: str) -> float:
        """Shift of a posterior mean in standard deviations of the other posterior."""
        return float((self.values["mean"][name] - other.values["mean"][name]) / other.values["sd"][name])


def answers_of(result: StudyResult) -> tuple[Answer, list[Answer], list[Answer]]:
    """The reference, the answers under all priors (reference first), and those of the permuted targets."""
    done = [f for f in result.cells if f.error is None]

    def answer(f: FinishedCell) -> Answer:
        return Answer(f.cell.settings["group"], f.cell.settings["label"], f.values)

    given = {f.cell.key: answer(f) for f in done if not f.cell.settings["permuted"]}
    reference = given.pop(REFERENCE_KEY)
    return reference, [reference, *given.values()], [answer(f) for f in done if f.cell.settings["permuted"]]


# --- words -----------------------------------------------------------------------------------------------------------


def verdict(reference: Answer, answers: Sequence[Answer], permuted: Sequence[Answer]) -> tuple[str, ...]:
    """What the answers owe to the prior, in sentences made from the numbers."""
    whole = [a for a in answers if a is reference or not a.endless]
    rest = (*_endless([a for a in answers if a.endless]), *_control(permuted))
    if len(whole) < 2:
        return (f"There is no answer to compare with that under {reference.name}.", *rest)
    return (
        _predictions(reference, whole),
        _posterior(reference, whole),
        _selected(whole),
        _bayes_factors(whole),
        _evidence(whole),
        *_scores(whole),
        *rest,
    )


def _kind(reference: Answer) -> str:
    return "probability" if "probability" in reference.values else "regression"


def _predictions(reference: Answer, answers: Sequence[Answer]) -> str:
    changes = {a.name: a.change_from(reference) for a in answers if a is not reference}
    worst = max(changes, key=lambda name: changes[name])
    limit, bad = LIMITS[_kind(reference)]
    what, unit = ("probability", "") if _kind(reference) == "probability" else ("prediction", " standard deviations")
    size = changes[worst]
    words = (
        "Predictions hardly depend on the prior"
        if size <= limit
        else "Predictions depend on the prior a little"
        if size <= bad
        else "Predictions depend on the prior"
    )
    return f"{words}: no {what} moves by more than {size:.3f}{unit} (under {worst}), against {reference.label} on all."


def _posterior(reference: Answer, answers: Sequence[Answer]) -> str:
    moves = {
        (a.name, symbol): a.moved_from(reference, name)
        for a in answers
        for name, symbol in SYMBOLS.items()
        if a is not reference
    }
    name, symbol = max(moves, key=lambda key: abs(moves[key]))
    worst = moves[name, symbol]
    many = sorted({prior for (prior, _), move in moves.items() if abs(move) > MOVED})
    if not many:
        return (
            f"No posterior mean moves by more than {MOVED:g} standard deviations; the largest shift is that of "
            f"{symbol} under {name} ({_signed(worst)} sd). The data determine the hyperparameters."
        )
    return (
        f"Under {len(many)} of the {len(answers) - 1} other priors a posterior mean moves by more than {MOVED:g} "
        f"standard deviations; the largest shift is that of {symbol} under {name} ({_signed(worst)} sd). There the "
        f"prior is part of the answer."
    )


def _selected(answers: Sequence[Answer]) -> str:
    low, high = (f(answers, key=lambda a: a.values["sigma"]) for f in (min, max))
    first, last = low.values["sigma"], high.values["sigma"]
    return f"The σ of highest posterior density is between {first:.3g} ({low.name}) and {last:.3g} ({high.name})."


def _bayes_factors(answers: Sequence[Answer]) -> str:
    low, high = (f(answers, key=lambda a: a.bayes_factor) for f in (min, max))
    span = (
        f"The log Bayes factor of the RBF kernel against the linear one is between {_signed(low.bayes_factor)} "
        f"({low.name}) and {_signed(high.bayes_factor)} nats ({high.name})"
    )
    words = {kass_raftery(a.bayes_factor) for a in answers}
    if low.bayes_factor < 0.0 < high.bayes_factor:
        return f"{span}: even its sign depends on the prior."
    if len(words) == 1:
        return f"{span}: “{words.pop()}” by Kass and Raftery's scale under every prior."
    ends = f"“{kass_raftery(low.bayes_factor)}” to “{kass_raftery(high.bayes_factor)}”"
    return f"{span}: the wording of Kass and Raftery's scale depends on the prior, {ends}."


def _evidence(answers: Sequence[Answer]) -> str:
    low, high = (f(answers, key=lambda a: a.log_evidence) for f in (min, max))
    held = [a.held_bayes_factor for a in answers]
    return (
        f"The log evidence itself runs from {_signed(low.log_evidence)} ({low.name}) to {_signed(high.log_evidence)} "
        f"({high.name}), {high.log_evidence - low.log_evidence:.1f} nats, because it counts the prior's widths and its "
        "place: compare kernels under one prior only. With σ held, where both kernels have the same parameters, the "
        f"Bayes factor moves by {max(held) - min(held):.2f} nats over the same priors."
    )


def _scores(answers: Sequence[Answer]) -> tuple[str, ...]:
    known = [a for a in answers if a.values.get("log_score") is not None]
    if not known:
        return ()
    low, high = (f(known, key=lambda a: a.values["log_score"]) for f in (min, max))
    return (
        f"On the test set the log score is between {_signed(low.values['log_score'], 4)} ({low.name}) and "
        f"{_signed(high.values['log_score'], 4)} nats a point ({high.name}).",
    )


def _endless(answers: Sequence[Answer]) -> tuple[str, ...]:
    if not answers:
        return ()
    count = f"{len(answers)} prior{'s' * (len(answers) > 1)}"
    return (
        f"Under {count} the integral has no end in the range that is searched ({', '.join(a.name for a in answers)}): "
        "as σ → ∞ the RBF kernel becomes a linear one, as γ → ∞ the data are interpolated, and where the data have no "
        "objection only the prior could stop it. These answers are marked † and are not counted above.",
    )


def _control(permuted: Sequence[Answer]) -> tuple[str, ...]:
    if len(permuted) < 2:
        return ()
    low, high = (f(permuted, key=lambda a: a.values["sd"]["mu"]) for f in (min, max))
    zeta = sorted(a.values["sd"]["zeta"] for a in permuted)
    return (
        f"Where the data say nothing the prior is the answer: with permuted targets the posterior standard deviation "
        f"of log μ is {low.values['sd']['mu']:.2f} under {low.name} and {high.values['sd']['mu']:.2f} under "
        f"{high.name}. That of log ζ, which is about the noise alone, is {zeta[0]:.3f} to {zeta[-1]:.3f}.",
    )


def _signed(value: float, digits: int = 2) -> str:
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0.0 else text.replace("-", "−")


# --- tables ----------------------------------------------------------------------------------------------------------


def _grouped(answers: Sequence[Answer], cells: Callable[[Answer], tuple[str, ...]]) -> tuple[Row, ...]:
    rows: list[Row] = []
    heads = {"all": "All log parameters", **{key: f"{symbol} alone" for key, symbol in PARAMETERS.items()}}
    for group, head in heads.items():
        own = [a for a in answers if a.group == group]
        rows += [Row(head)] * bool(own) + [Row(f"  {a.label}{' †' * a.endless}", cells(a)) for a in own]
    return tuple(rows)


def key_table(reference: Answer, answers: Sequence[Answer]) -> Table:
    """Evidence, Bayes factors, σ, and what happens to predictions."""

    def cells(a: Answer) -> tuple[str, ...]:
        score = a.values.get("log_score")
        return (
            _signed(a.log_evidence),
            _signed(a.bayes_factor),
            _signed(a.held_bayes_factor),
            f"{a.values['sigma']:.3g}",
            "–" if a is reference else f"{a.change_from(reference):.3f}",
            "–" if score is None else _signed(score, 4),
        )

    kind = "worst ΔP" if _kind(reference) == "probability" else "worst change, sd"
    header = ("prior", "log evidence", "log B, σ free", "log B, σ held", "σ", kind, "log score")
    note = (
        f"log B: RBF against linear, with σ integrated out and with σ held at {reference.values['held_sigma']:.3f}. "
        f"The column σ has the highest posterior density of log σ. Changes are from {reference.label} on all, which "
        "the other parameters have where one is named alone."
    )
    if any(a.endless for a in answers):
        note += " †: the integral is cut off at the end of the range that is searched."
    return Table("What the answers owe to the prior", header, _grouped(answers, cells), note)


def moments_table(answers: Sequence[Answer]) -> Table:
    """Posterior means and standard deviations."""

    def cells(a: Answer) -> tuple[str, ...]:
        return tuple(f"{_signed(a.values['mean'][name])} ± {a.values['sd'][name]:.2f}" for name in SYMBOLS)

    rows = _grouped(answers, cells)
    return Table("Posterior means and standard deviations", ("prior", *SYMBOLS.values()), rows)


def control_table(permuted: Sequence[Answer]) -> Table:
    """The same for targets in random order, σ held."""

    def cells(a: Answer) -> tuple[str, ...]:
        moments = [f"{_signed(a.values['mean'][name])} ± {a.values['sd'][name]:.2f}" for name in ("mu", "zeta")]
        return (_signed(a.values["log_evidence"]["held"]), _signed(a.held_bayes_factor), *moments)

    header = ("prior", "log evidence", "log B", "log μ", "log ζ")
    note = "σ held at the same width as above; log B is the RBF kernel's against the linear one."
    return Table("Control: permuted targets", header, _grouped(permuted, cells), note)


# --- figures ---------------------------------------------------------------------------------------------------------


def _priors_axis(axes: Axes, answers: Sequence[Answer]) -> None:
    names = [f"{PARAMETERS.get(a.group, 'all')}: {a.label}" for a in answers]
    axes.set_yticks(range(len(answers)), names)
    axes.set_ylim(len(answers) - 0.5, -0.5)


def _look(answer: Answer, reference: Answer) -> dict[str, Any]:
    filled = {"markerfacecolor": "white"} if answer.endless else {}
    if answer is reference:
        return {"color": VERMILION, "fmt": "D", "markersize": 6, **filled}
    if answer.group == "all":
        return {"color": BLUE, "fmt": "o", "markersize": 5, **filled}
    return {"color": GREY, "fmt": "s", "markersize": 4.5, **filled}


def figure_posteriors(reference: Answer, answers: Sequence[Answer]) -> Figure:
    """A forest of posterior means and standard deviations, one row a prior."""
    with new_figure(PAGE_WIDTH, 1.2 + 0.235 * len(answers)) as figure:
        panels = figure.subplots(1, 3, sharey=True)
        for axes, (name, symbol) in zip(panels, SYMBOLS.items(), strict=True):
            mean, sd = reference.values["mean"][name], reference.values["sd"][name]
            axes.axvspan(mean - sd, mean + sd, color=PALE, linewidth=0)
            axes.axvline(mean, color=BLACK, linewidth=0.8)
            for i, a in enumerate(answers):
                axes.errorbar(
                    a.values["mean"][name], i, xerr=a.values["sd"][name], linewidth=1.4, **_look(a, reference)
                )
            axes.set_title(symbol, loc="left")
            axes.set_xlabel("posterior mean ± sd")
        _priors_axis(panels[0], answers)
        return figure


def figure_evidence(reference: Answer, answers: Sequence[Answer]) -> Figure:
    """Evidence, Bayes factors and predictions, each against the reference."""
    probability = _kind(reference) == "probability"
    with new_figure(PAGE_WIDTH, 1.2 + 0.235 * len(answers)) as figure:
        panels = figure.subplots(1, 3, sharey=True)
        for i, a in enumerate(answers):
            look = _look(a, reference)
            panels[0].errorbar(a.log_evidence - reference.log_evidence, i, **look)
            panels[1].errorbar(a.bayes_factor, i, **look)
            panels[2].errorbar(a.change_from(reference), i, **look)
        panels[0].axvline(0.0, color=BLACK, linewidth=0.8)
        panels[0].set(xlabel="nats, from the reference")
        panels[0].set_title("log evidence", loc="left")
        panels[1].set(xlabel="nats")
        panels[1].axvline(0.0, color=BLACK, linewidth=0.8)
        panels[1].set_title("log B, RBF : linear", loc="left")
        panels[2].axvline(LIMITS[_kind(reference)][0], color=BLACK, linewidth=0.8, linestyle=":")
        panels[2].set(xlabel="of a probability" if probability else "standard deviations")
        panels[2].set_title("worst change", loc="left")
        _priors_axis(panels[0], answers)
        return figure


# --- the page --------------------------------------------------------------------------------------------------------

HOW = (
    "The kernel is K = exp(−|x − z|²/σ²). Weights and bias are integrated out in closed form, log μ, log ζ and log σ "
    "by quadrature whose own error is in the diagnostics. Normal(m, s²) and Box(a, b) are densities of the log "
    "parameter. The linear kernel has no parameter, so that its evidence depends on the priors of μ and ζ alone.",
    "Predictions are averaged over the posterior. Where there is a test set they are compared and scored on it; "
    "otherwise they are compared at data and at midpoints of pairs. The log score is the mean log probability of the "
    "true class, or the log density of a Gaussian with predicted mean and standard deviation.",
    "σ is held, in the columns that say so and in the control, where the evidence without Occam factor is largest.",
)


def page(result: StudyResult) -> Page:
    """What the answers owe to the prior."""
    reference, answers, permuted = answers_of(result)
    data = result.data or {}
    used, n = reference.values["n_used"], data.get("n", reference.values["n_used"])
    rows = f" Of {n} rows {used} were used, spread over the targets." if used < n else ""
    sections = [
        Section(
            "The posterior",
            tables=(moments_table(answers),),
            pictures=(
                Picture(
                    "posteriors",
                    figure_posteriors(reference, answers),
                    "Posterior means with standard deviations of log μ, log ζ and log σ, one row for each prior; the "
                    "table below has the numbers.",
                    "Posterior means and standard deviations (bars) under each prior; the grey band is that of the "
                    "reference, the diamond. Circles: a prior on all three; squares: on one, the reference on the "
                    "others; hollow: an integral without an end. What stays on the band is the data's answer; what "
                    "leaves it is the prior's.",
                ),
            ),
        ),
        Section(
            "Evidence and predictions",
            pictures=(
                Picture(
                    "evidence",
                    figure_evidence(reference, answers),
                    "Three dot plots with one row for each prior: log evidence from the reference, log Bayes factor of "
                    "the RBF kernel against the linear one, and the worst change of a prediction; the table at the top "
                    "has the numbers.",
                    "Left: the evidence counts the widths of the prior and moves with them. Middle: in a Bayes factor "
                    "what the kernels share cancels; a change of sign is a change of mind. Right: predictions, with "
                    "the change that `bayes_lssvm.trust` still calls good as a dotted line.",
                ),
            ),
        ),
    ]
    if permuted:
        sections.append(
            Section(
                "Where the data say nothing",
                ("The targets in random order: what is left is the prior's.",),
                tables=(control_table(permuted),),
            )
        )
    return Page(
        name=result.study,
        title=result.title,
        introduction=INTRODUCTION + rows,
        verdict=verdict(reference, answers, permuted),
        key_table=key_table(reference, answers),
        sections=tuple(sections),
        methods=HOW,
        result=result,
    )
