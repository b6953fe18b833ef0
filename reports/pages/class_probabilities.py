"""The page of paper 0's section 3.2: read-outs of one LS-SVM, and the Bernoulli Gaussian process, by their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from reports.draw.style import BLUE, GREY, PALE, VERMILION, new_figure
from reports.draw.thumbnail import bars
from reports.frame.answer import Answer, State
from reports.frame.index import TABLES_HEADING
from reports.frame.page import Page, Picture, Row, Section, Table
from reports.frame.words import NONE, number
from validation.harness import StudyResult
from validation.harness.scores import Gain
from validation.papers.paper0.section_3_2 import GP_ROWS, OURS, Compared, compared, overall

MEASURES = {
    "log_score": ("log score", "nats a row, larger is better", ".3f"),
    "brier": ("Brier score", "smaller is better", ".3f"),
    "ece": ("calibration error", "smaller is better", ".3f"),
    "accuracy": ("accuracy", "% of the test rows", ".1f"),
}
INTRODUCTION = (
    "Section 3.2 of paper 0 gives the LS-SVM class probabilities, the moderated output, and names other ways to get "
    "them: Platt's sigmoid, Mukherjee's densities of leave-one-out outputs, (1 + z)/2, a softmax function, a "
    "precision for each class, and a bias term that is moved (Evgeniou et al.). It compares none of them. Here all "
    "are computed from the same LS-SVMs on the sets of its Table 1, and compared with a Gaussian process classifier "
    "(Bernoulli likelihood)."
)
METHODS = (
    "Each randomisation of Table 1 has one LS-SVM, with σ, μ and ζ at the maximum of the evidence (5.2). A read-out "
    "turns its outputs into probabilities or labels; one that has to be fitted is fitted to exact leave-one-out "
    "outputs of the training rows. No read-out sees a test row. “Two variances” has a precision for each class; "
    "“library” is the map that `BayesianLSSVC` has by default.",
    "(1 + z)/2 is kept at least 1/(N + 2) away from 0 and 1. Densities are Gaussian kernel estimates with Scott's "
    "width. The bias is moved to where most left-out labels are right. The Gaussian process is fitted by expectation "
    f"propagation, to distinct rows with their counts where there are more than {GP_ROWS} training rows.",
    "The gain is the read-out's score minus the moderated output's, signed so that positive is better. Within a set "
    "its error is over randomisations, which share rows, so that errors for new data are larger; over sets it is the "
    "standard error of the sets' mean gains.",
)
SMALL = 0.02  # nats a row, as on the page of the predictive scores
RULE = (
    "Asks whether the moderated output can be relied on as a probability. Holds where no rival has a clearly better "
    f"log score on any data set, with care where the clear gains are below {SMALL:g} nats a row, fails beyond."
)


def page(result: StudyResult) -> Page:
    """Gains over the moderated output, and all scores."""
    found = {measure: compared(result, measure) for measure in MEASURES}
    gains = overall(found["log_score"])
    return Page(
        answer=answer(found["log_score"]),
        introduction=INTRODUCTION,
        findings=findings(found["log_score"], {measure: overall(of) for measure, of in found.items()}),
        key_picture=picture(found["log_score"]),
        key_table=gains_table({measure: overall(of) for measure, of in found.items()}),
        sections=tuple(
            Section(f"By data set: {MEASURES[m][0]}", (), (scores_table(of, m),)) for m, of in found.items()
        ),
        methods=METHODS,
        result=result,
        thumbnail=thumbnail(gains),
        group=TABLES_HEADING,
        related=("paper0-table1", "moderated-output"),
    )


def badge(clear_gains: Sequence[float]) -> State:
    """From the clear gains in log score over the moderated output, in nats a row."""
    if not clear_gains:
        return "holds"
    return "with care" if max(clear_gains) <= SMALL else "fails"


def clearly(found: Mapping[str, Mapping[str, Compared]], way: str, sign: float) -> list[str]:
    """Sets on which a rival is clearly better (sign +1) or clearly worse (−1)."""
    gains = {name: by_way[way].gain for name, by_way in found.items() if way in by_way}
    return [name for name, gain in gains.items() if gain.clear and sign * gain.mean > 0.0]


def answer(found: Mapping[str, Mapping[str, Compared]]) -> Answer:
    """Is the moderated output the best that an LS-SVM's output can give?"""
    ways = [way for way in dict.fromkeys(way for by_way in found.values() for way in by_way) if way != OURS]
    clear = {(name, way): found[name][way].gain.mean for way in ways for name in clearly(found, way, 1.0)}
    better = list(dict.fromkeys(name for name, _ in clear))
    verdict = (
        f"The paper's moderated output is clearly beaten by another method on {len(better)} of {len(found)} data sets"
    )
    if clear:
        largest = max(clear, key=lambda one: clear[one])
        verdict += f", by up to {clear[largest]:.2f} nats a row"
    points = []
    for way in (way for way in ("Platt", "two variances") if way in ways):
        more, less = (len(clearly(found, way, sign)) for sign in (1.0, -1.0))
        said = f"no clear difference on any of {len(found)} sets"
        if more or less:
            said = f"clearly better on {more} and clearly worse on {less} of {len(found)} sets"
        points.append(f"{way[0].upper() + way[1:]}: {said}.")
    gains = overall(found)
    best = max(gains, key=lambda way: gains[way].mean)
    points.append(f"The largest mean gain over the sets is {best}'s: {shown(gains[best])} nats a row.")
    return Answer(badge(list(clear.values())), f"{verdict}.", tuple(points), RULE)


def shown(gain: Gain, form: str = ".3f") -> str:
    """A gain with its error."""
    error = "" if gain.error != gain.error else f" ± {gain.error:{form}}"
    return number(gain.mean, f"+{form}") + error


def findings(found: Mapping[str, Mapping[str, Compared]], gains: Mapping[str, Mapping[str, Gain]]) -> tuple[str, ...]:
    """On how many sets a rival is clearly better or worse, and what is clear over sets, a sentence for each measure."""
    ways = [way for way in gains["log_score"] if way != OURS]
    won = [f"{way} {len(clearly(found, way, 1.0))} and {len(clearly(found, way, -1.0))}" for way in ways]
    said = [f"Sets with a clearly better and with a clearly worse log score: {', '.join(won)}."]
    for measure, by_way in gains.items():
        word, unit, form = MEASURES[measure]
        clear = [f"{way} {shown(gain, form)}" for way, gain in by_way.items() if gain.clear]
        listed = "; ".join(clear) if clear else "none"
        said.append(f"Gains over the moderated output in {word} ({unit}), those beyond two standard errors: {listed}.")
    return tuple(said)


def gains_table(gains: Mapping[str, Mapping[str, Gain]]) -> Table:
    """Mean gain over the sets by read-out and measure."""
    ways = dict.fromkeys(way for by_way in gains.values() for way in by_way)
    rows = []
    for way in ways:
        cells = [shown(of[way], MEASURES[m][2]) if way in of else NONE for m, of in gains.items()]
        rows.append(Row(way, tuple(cells)))
    header = ("read-out", *(MEASURES[m][0] for m in gains))
    note = "Mean over data sets ± standard error; positive is better than the moderated output. –: no probabilities."
    return Table("Gain over the moderated output", header, tuple(rows), note)


def scores_table(found: Mapping[str, Mapping[str, Compared]], measure: str) -> Table:
    """Scores by set and read-out; the gain's error tells what is clear."""
    word, unit, form = MEASURES[measure]
    ways = list(dict.fromkeys(way for by_way in found.values() for way in by_way))
    rows = []
    for name, by_way in found.items():
        cells = []
        for way in ways:
            if way not in by_way:
                cells.append(NONE)
                continue
            gain = by_way[way].gain
            mark = "" if way == OURS or not gain.clear else " ▲" if gain.mean > 0.0 else " ▼"
            cells.append(number(by_way[way].mean, form) + mark)
        rows.append(Row(name, tuple(cells)))
    note = f"{unit.capitalize()}; ▲ and ▼: better and worse than the moderated output by more than two standard errors."
    return Table(word.capitalize(), ("", *ways), tuple(rows), note)


def picture(found: Mapping[str, Mapping[str, Compared]]) -> Picture:
    """Gains in log score of every set, a row for each rival, with the mean over sets."""
    gains = overall(found)
    with new_figure(8.0, 0.42 * len(gains) + 1.0) as figure:
        axes = figure.add_subplot()
        axes.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)
        for place, (way, mean) in enumerate(gains.items()):
            own = [by_way[way].gain for by_way in found.values() if way in by_way]
            for gain in own:
                colour = (BLUE if gain.mean > 0.0 else VERMILION) if gain.clear else PALE
                axes.plot(gain.mean, place, "o", color=colour, markeredgecolor=GREY, markersize=6)
            axes.plot(mean.mean, place, "|", color=GREY, markersize=16, markeredgewidth=2.0)
        axes.set_yticks(range(len(gains)), list(gains))
        axes.set_ylim(len(gains) - 0.5, -0.5)
        axes.set_xlabel("gain in log score over the moderated output, nats a row")
    words = "; ".join(f"{way} {shown(gain)}" for way, gain in gains.items())
    return Picture(
        "gains",
        figure,
        f"Mean gains in log score over the moderated output: {words}.",
        "Each dot is a data set. Blue: clearly better than the moderated output; orange: clearly worse; hollow: no "
        "clear difference. The bar is the mean over the sets.",
    )


def thumbnail(gains: Mapping[str, Gain]) -> Figure:
    """Gains in log score."""
    ordered = dict(sorted(((way, g.mean) for way, g in gains.items()), key=lambda one: -one[1]))
    return bars(ordered, "gain in log score over the moderated output", form="+.3f")
