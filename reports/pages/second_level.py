"""The page of paper 1's section 4: the cures for over-fitting that it proposes, beside its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from matplotlib.figure import Figure

from reports.draw.style import BLUE, GREY, PALE, VERMILION, new_figure
from reports.draw.thumbnail import bars
from reports.frame.answer import Answer, State
from reports.frame.index import TABLES_HEADING
from reports.frame.page import Page, Picture, Row, Section, Table
from reports.frame.words import number
from validation.harness import StudyResult
from validation.harness.scores import Gain, paired_gain
from validation.papers.paper1.published import TABLE_1
from validation.papers.paper1.section_4 import MOST_ROWS, PLAIN, STOPPED, WAYS, Compared, compared, overall

OWN = "Gaussian prior"
TITLES = {b.name: b.title for b in TABLE_1}
INTRODUCTION = (
    "A kernel with a scale for each input over-fits the leave-one-out error that chooses it. Paper 1 regularises the "
    "scales by a Gaussian prior, and proposes, without trying them, a Laplace prior, penalties on the curvature and on "
    "the slope of the fit (section 4.2), and to stop the climb of the evidence where leave-one-out errors are fewest "
    "(section 4.1). Here all of them choose LS-SVMs on the paper's own small sets."
)
METHODS = (
    f"Sets of paper 1 with at most {MOST_ROWS} training rows, with the benchmark's partitions where they are at hand. "
    "Inputs are standardised by training rows, no choice sees a test row, and the label is the sign.",
    "Criteria with a penalty are descended from the starts of `select_by_press` with one restart. The evidence (5.2) "
    "is climbed once, from the best spherical kernel.",
    "A gain is the test error by PRESS alone minus that of the other method, in points. Within a set its error is over "
    "partitions, which share rows, so that errors for new data are larger; over sets it is the standard error of the "
    "sets' mean gains.",
)
RULE = (
    "Asks whether a proposal of section 4 is better than the paper's Gaussian prior. Holds where one has a clearly "
    "smaller test error on some set and a clearly larger one on none, with care where one is clearly better somewhere "
    "and worse elsewhere, fails otherwise."
)


def page(result: StudyResult) -> Page:
    """Test errors, gains over PRESS alone, and what became of the searches."""
    found = compared(result)
    gains = overall(found)
    return Page(
        answer=answer(found, gains),
        introduction=INTRODUCTION,
        findings=findings(result, found, gains),
        key_picture=picture(found, gains),
        key_table=errors_table(found),
        sections=(Section("Where the searches ended", (), (status_table(result),)),),
        methods=METHODS,
        result=result,
        thumbnail=thumbnail(gains),
        group=TABLES_HEADING,
        related=("paper1-table2", "reproduction"),
    )


def against(found: Mapping[str, Mapping[str, Compared]], way: str, other: str) -> dict[str, Gain]:
    """Set to how many points fewer errors a way has than another, over the same partitions."""
    gains = {}
    for name, by_way in found.items():
        own, theirs = (by_way[one].errors for one in (way, other))
        gains[name] = paired_gain([-e for e in own], [-e for e in theirs])
    return gains


def counts(gains: Mapping[str, Gain]) -> tuple[int, int]:
    """Sets on which a gain is clear, and on which a loss is."""
    clear = [gain.mean for gain in gains.values() if gain.clear]
    return sum(mean > 0.0 for mean in clear), sum(mean < 0.0 for mean in clear)


def badge(won: Mapping[str, tuple[int, int]]) -> State:
    """From the sets on which each proposal is clearly better and clearly worse than the Gaussian prior."""
    if any(better and not worse for better, worse in won.values()):
        return "holds"
    return "with care" if any(better for better, _ in won.values()) else "fails"


def proposals() -> tuple[str, ...]:
    """What section 4 proposes."""
    return tuple(way for way in WAYS if way not in (PLAIN, OWN, "evidence"))


def answer(found: Mapping[str, Mapping[str, Compared]], gains: Mapping[str, Gain]) -> Answer:
    """Is any proposal better than what the paper did?"""
    won = {way: counts(against(found, way, OWN)) for way in proposals()}
    better = [way for way, (more, _) in won.items() if more]
    verdict = (
        "None of the other cures that the paper proposes is clearly better than its Gaussian prior on any of "
        f"{len(found)} data sets."
    )
    if better:
        verdict = (
            f"Clearly better than the paper's Gaussian prior on some of {len(found)} data sets: {', '.join(better)}."
        )
    points = [
        f"{way[0].upper() + way[1:]}: clearly better on {more} of {len(found)} sets and clearly worse on {less}."
        for way, (more, less) in won.items()
    ]
    best = max(gains, key=lambda way: gains[way].mean)
    last = f"The largest mean gain over PRESS alone is the {best}'s: {shown(gains[best])} points."
    return Answer(badge(won), verdict, (*points[:1], points[-1], last), RULE)


def shown(gain: Gain) -> str:
    """A gain with its error, in points."""
    error = "" if gain.error != gain.error else f" ± {gain.error:.1f}"
    return number(gain.mean, "+.1f") + error


def findings(
    result: StudyResult, found: Mapping[str, Mapping[str, Compared]], gains: Mapping[str, Gain]
) -> tuple[str, ...]:
    """Sentences about each way, from the numbers."""
    said = ["Mean gains over PRESS alone, in points: " + "; ".join(f"{w} {shown(g)}" for w, g in gains.items()) + "."]
    for way in proposals():
        own = against(found, way, OWN)
        listed = ", ".join(f"{TITLES[name]} {shown(gain)}" for name, gain in own.items())
        said.append(f"{way} against the Gaussian prior, in points: {listed}.")
    early = against(found, STOPPED, "evidence")
    steps = [f.values["ways"][STOPPED] for f in result.cells if f.error is None]
    stopped = sum(one["step"] < one["steps"] - 1 for one in steps)
    listed = ", ".join(f"{TITLES[name]} {shown(gain)}" for name, gain in early.items())
    said.append(
        f"The climb of the evidence is stopped before its end in {stopped} of {len(steps)} partitions. Points that "
        f"this gains over the end of the climb: {listed}."
    )
    return tuple(said)


def errors_table(found: Mapping[str, Mapping[str, Compared]]) -> Table:
    """Test errors by set and way; marks are against PRESS alone."""
    rows = []
    for name, by_way in found.items():
        cells = []
        for way in WAYS:
            gain = by_way[way].gain
            mark = "" if way == PLAIN or not gain.clear else " ▲" if gain.mean > 0.0 else " ▼"
            cells.append(f"{by_way[way].mean:.1f}{mark}")
        rows.append(Row(TITLES[name], tuple(cells)))
    note = "Means over partitions. ▲ and ▼: better and worse than PRESS alone by more than two standard errors."
    return Table("Test errors, %", ("", *WAYS), tuple(rows), note)


def status_table(result: StudyResult) -> Table:
    """How often each criterion ended inside, at the flat limit, or without a signal."""
    words = ("interior", "flat limit", "interpolation", "no signal")
    done = [f.values["ways"] for f in result.cells if f.error is None]
    rows = []
    for way in (way for way in WAYS if done and "status" in done[0][way]):
        ended = Counter(ways[way]["status"] for ways in done)
        rows.append(Row(way, tuple(str(ended[word]) for word in words)))
    note = (
        "Criteria with a penalty have no lower bound: those of the scales fall as the kernel becomes flat, those of "
        "the fit as it becomes constant. “No signal”: the fit is as good as constant."
    )
    return Table("Partitions by where the search ended", ("", *words), tuple(rows), note)


def picture(found: Mapping[str, Mapping[str, Compared]], gains: Mapping[str, Gain]) -> Picture:
    """Gains of every set over PRESS alone, a row for each way."""
    with new_figure(8.0, 0.42 * len(gains) + 1.0) as figure:
        axes = figure.add_subplot()
        axes.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)
        for place, (way, mean) in enumerate(gains.items()):
            for gain in (by_way[way].gain for by_way in found.values()):
                colour = (BLUE if gain.mean > 0.0 else VERMILION) if gain.clear else PALE
                axes.plot(gain.mean, place, "o", color=colour, markeredgecolor=GREY, markersize=6)
            axes.plot(mean.mean, place, "|", color=GREY, markersize=16, markeredgewidth=2.0)
        axes.set_yticks(range(len(gains)), list(gains))
        axes.set_ylim(len(gains) - 0.5, -0.5)
        axes.set_xlabel("test errors fewer than by PRESS alone, points")
    words = "; ".join(f"{way} {shown(gain)}" for way, gain in gains.items())
    return Picture(
        "gains",
        figure,
        f"Mean gains over PRESS alone in points of test error: {words}.",
        "Each dot is a data set. Blue: clearly better than PRESS alone; orange: clearly worse; hollow: no clear "
        "difference. The bar is the mean over the sets.",
    )


def thumbnail(gains: Mapping[str, Gain]) -> Figure:
    """Gains over PRESS alone."""
    ordered = dict(sorted(((way, g.mean) for way, g in gains.items()), key=lambda one: -one[1]))
    return bars(ordered, "points of test error gained over PRESS", form="+.1f")
