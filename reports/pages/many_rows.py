"""The page of many rows: landmarks against all rows, and models of fixed size beside their rivals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from reports.draw.style import BLACK, BLUE, GREY, PAGE_WIDTH, VERMILION, new_figure
from reports.draw.thumbnail import lines
from reports.frame.answer import Answer, State
from reports.frame.index import FIELD_HEADING
from reports.frame.page import Page, Picture, Row, Section, Table
from reports.frame.words import joined, many, minus
from validation.harness import FinishedCell, StudyResult
from validation.studies.many_rows import METHODS, OURS, RIVALS

INTRODUCTION = (
    "An exact LS-SVM keeps the kernel matrix of all rows: time grows as N³ and memory as N². A model of fixed size "
    "takes m rows as landmarks and reads the others once for each pass. How many landmarks are enough, and is there "
    "anything better for the same number?"
)
METHODS_TEXT = (
    "Landmarks: waveform and ringnorm data, labels of two classes, 5000 new rows to test on. The exact model is "
    "BayesianLSSVC with its defaults, the others FixedSizeLSSVC with m landmarks by randomly pivoted Cholesky; "
    "each finds its own σ, one for all inputs. The lower bound is of the exact evidence at the σ of the model with "
    "landmarks.",
    "More rows: waveform data that are made 20 000 rows at a time, each time they are read, so that memory does not "
    "grow with N. Landmarks, one width and sums are those of fit_blocks; a pass reads all rows once. "
    "Test rows are 5000 others, the same for every N.",
    "Our models are FixedSizeLSSVC with its defaults, whose probabilities are by its outputs and the log odds of a "
    "logistic regression on the same features, and whose kernel has one width, or a scale for each input where the "
    'evidence asks for them; with kernel="rbf", one width; with moderation="loo" as well, by its outputs alone; and '
    'with kernel="ard", scales in any case (not on USPS, 256 inputs). Rivals cannot find scales without a grid.',
    "Rivals: sets of the KEEL repository, 70 % of the rows to train and 30 % to test, and the USPS digits with their "
    "own test rows; inputs standardised. Nystroem features (scikit-learn) are as many as there are landmarks and have "
    "the σ that our model with one width found, which saves these rivals their search; its time is not counted for "
    "them. The penalty of the logistic regression is chosen by the log loss on a fifth of the training rows among 1, "
    "10 and 100; BayesianRidge is one regression on ±1 for each class with (1 + z)/2 for its probability.",
    "SGPR and SVGP (GPyTorch) have m inducing points, which they learn with the kernel from our σ on: 60 steps of Adam "
    "at the rate 0.05 on all rows, and 600 steps at 0.02 on 1024 rows each. SGPR is a regression on ±1 and is run for "
    "two classes; SVGP has a Bernoulli likelihood for two classes and a softmax for more, where it is run with 200 "
    "inducing points alone, for its cost. neo-ls-svm (one against the rest for several classes) and "
    "HistGradientBoosting have their defaults and no m of ours.",
    "Probabilities below 10⁻⁶ are raised to it before rows are normalised. Errors of the log loss are standard "
    "errors over the test rows; models are tested on the same rows, so differences are known more precisely. Seconds "
    "are CPU time of one thread, for the fit and, with rivals, the predictions.",
)
KERNEL_RIVALS = tuple(name for name, rival in RIVALS.items() if rival.same_m)
"""Models with as many features or inducing points as ours has landmarks."""
EXACT = 0


def page(result: StudyResult) -> Page:
    """Convergence in m, then the rivals."""
    cells = [cell for cell in result.cells if cell.error is None]
    learned = _by_set(cell for cell in cells if cell.cell.settings["kind"] == "landmarks")
    rivals = [cell for cell in cells if cell.cell.settings["kind"] == "rivals"]
    grown = [cell for cell in cells if cell.cell.settings["kind"] == "growth"]
    learned = {name: own for name, own in learned.items() if EXACT in own and len(own) > 1}
    if not learned and not rivals:
        raise ValueError("No model was completed.")
    sections, picture = [], None
    if learned:
        picture = Picture(
            "landmarks",
            landmarks_figure(learned),
            "For each data set two panels over the number of landmarks: the evidence with landmarks and its lower "
            "bound, which approach the exact evidence, and the log loss, which reaches the exact model's earlier.",
            "Upper row: log evidence minus that of the exact model; the bound (squares) never lies above zero, at the "
            "same σ. Lower row: log loss on new rows; the dotted line and the grey band are the exact model.",
        )
        sections.append(Section("How many landmarks are enough", tables=(landmark_table(learned),)))
    if grown:
        sections.append(Section("More and more rows", tables=(growth_table(grown),)))
    key = rival_table(rivals) if rivals else landmark_table(learned)
    return Page(
        answer=answer(learned, rivals),
        introduction=INTRODUCTION,
        findings=findings(learned, rivals) + growth_findings(grown) + absent(rivals),
        key_picture=picture,
        key_table=key,
        sections=tuple(sections),
        methods=METHODS_TEXT,
        result=result,
        printed=(key,),
        thumbnail=thumbnail(learned),
        group=FIELD_HEADING,
        related=("field",),
    )


RULE = (
    "Holds where some number of landmarks predicts as well as all rows on every data set and the model of fixed size "
    "has the lowest log loss in at least half of the comparisons with other models on as many features; with care "
    "where one of the two is so; fails where neither is."
)


def badge(settled: int, sets: int, wins: int, comparisons: int) -> State:
    """From the data sets on which landmarks were enough, and the comparisons that were won in log loss."""
    enough_rows, good = settled == sets, 2 * wins >= comparisons
    if enough_rows and good:
        return "holds"
    return "with care" if enough_rows or good else "fails"


def answer(learned: dict[str, dict[int, dict[str, Any]]], rivals: Sequence[FinishedCell]) -> Answer:
    """Are landmarks enough, and is there anything better?"""
    numbers = {name: enough(own) for name, own in learned.items()}
    settled = [m for m in numbers.values() if m]
    ours = [cell for cell in rivals if cell.cell.settings["method"] == "ours"]
    wins = sum(
        cell.values["log_loss"]
        <= best_rival(rivals, cell.cell.settings["data"], cell.cell.settings["m"], "log_loss")[1]
        for cell in ours
    )
    parts = []
    if learned:
        few = f"at most {max(settled)} landmarks" if settled else "landmarks"
        where = "both data sets" if len(settled) == len(learned) == 2 else f"{len(settled)} of {len(learned)} data sets"
        parts.append(f"{few} predict as well as all rows on {where}")
    if ours:
        parts.append(f"the model wins {wins} of {many(len(ours), 'comparison')} in log loss")
    verdict = "; ".join(parts)
    points = tuple(
        f"{name}: {m} landmarks predict as well as all rows."
        if m
        else f"{name}: no number of landmarks tried is enough."
        for name, m in list(numbers.items())[:3]
    )
    return Answer(
        badge(len(settled), len(learned), wins, len(ours)), f"{verdict[0].upper()}{verdict[1:]}.", points, RULE
    )


def thumbnail(learned: dict[str, dict[int, dict[str, Any]]]) -> Figure | None:
    """The log loss over the number of landmarks on the first set."""
    if not learned:
        return None
    name, own = next(iter(learned.items()))
    ms = sorted(m for m in own if m != EXACT)
    exact = np.full(len(ms), own[EXACT]["log_loss"])
    curves = {"landmarks": np.array([own[m]["log_loss"] for m in ms]), "all rows": exact}
    return lines(np.array(ms, dtype=float), curves, f"log loss over landmarks, {name}", logarithmic=True)


def _by_set(cells: Any) -> dict[str, dict[int, dict[str, Any]]]:
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for cell in cells:
        settings = cell.cell.settings
        found.setdefault(settings["data"], {})[int(settings["m"])] = cell.values
    return found


def enough(own: dict[int, dict[str, Any]]) -> int | None:
    """The fewest landmarks from which on the log loss is within one standard error of the exact model's, or None."""
    exact = own[EXACT]
    near = {m: v["log_loss"] <= exact["log_loss"] + exact["log_loss_error"] for m, v in own.items() if m != EXACT}
    kept = None
    for m in sorted(near, reverse=True):
        if not near[m]:
            break
        kept = m
    return kept


def best_rival(cells: Sequence[FinishedCell], data: str, m: int, score: str) -> tuple[str, float]:
    """The kernel rival with the best score on a set, and that score."""
    sign = -1.0 if score == "log_loss" else 1.0
    found = {
        cell.cell.settings["method"]: float(cell.values[score])
        for cell in cells
        if cell.cell.settings["data"] == data and cell.cell.settings["m"] == m
    }
    rivals = {name: value for name, value in found.items() if name in KERNEL_RIVALS}
    name = max(rivals, key=lambda name: sign * rivals[name])
    return name, rivals[name]


def findings(learned: dict[str, dict[int, dict[str, Any]]], rivals: Sequence[FinishedCell]) -> tuple[str, ...]:
    """How many landmarks, and how often ours is the best."""
    said = []
    for name, own in learned.items():
        m = enough(own)
        off = own[max(own)]["log_evidence"] - own[EXACT]["log_evidence"]
        settled = f"{m} landmarks predict as well as all rows" if m else "no number tried predicts as well as all rows"
        said.append(
            f"On {name} data {settled}, to a standard error of the log loss; with {max(own)} the evidence is "
            f"{minus(f'{off:+.1f}')} nats off."
        )
    for method in OURS:
        ours = [cell for cell in rivals if cell.cell.settings["method"] == method]
        if ours:
            said.append(_wins(METHODS[method], ours, rivals))
    return tuple(said)


def _wins(title: str, ours: Sequence[FinishedCell], rivals: Sequence[FinishedCell]) -> str:
    """How often one of our models is the best."""
    wins: dict[str, list[str]] = {"log_loss": [], "accuracy": []}
    for cell in ours:
        s = cell.cell.settings
        for score, sign in (("log_loss", -1.0), ("accuracy", 1.0)):
            _, other = best_rival(rivals, s["data"], s["m"], score)
            if sign * cell.values[score] >= sign * other:
                wins[score].append(f"{s['data']}, m = {s['m']}")
    return (
        f"{title}: of {many(len(ours), 'comparison')} with other models on the same number of features it has the "
        f"lowest log loss in {len(wins['log_loss'])} and the highest accuracy in {len(wins['accuracy'])}"
        + (f" ({joined(wins['log_loss'])} for the log loss)." if 0 < len(wins["log_loss"]) < len(ours) else ".")
    )


def landmark_table(learned: dict[str, dict[int, dict[str, Any]]]) -> Table:
    """Every m beside the exact model."""
    rows = []
    for name, own in learned.items():
        rows.append(Row(name))
        for m in (*sorted(m for m in own if m != EXACT), EXACT):
            v = own[m]
            rows.append(
                Row(
                    str(m) if m else "all rows",
                    (
                        minus(f"{v['log_evidence']:.1f}"),
                        minus(f"{v['lower']:.1f}") if m else "–",
                        f"{v['gamma_eff']:.1f}",
                        f"{np.exp(v['log_sigma']):.2f}",
                        f"{100.0 - v['accuracy']:.2f}",
                        f"{v['log_loss']:.4f}",
                        f"{v['seconds']:.1f}",
                    ),
                )
            )
    header = ("landmarks", "log evidence", "at least", "γ_eff", "σ", "error, %", "log loss", "CPU s")
    return Table("Landmarks against all rows", header, tuple(rows))


def growth_table(cells: Sequence[FinishedCell]) -> Table:
    """More rows with the same number of landmarks."""
    rows, seen = [], None  # type: list[Row], int | None
    for cell in sorted(cells, key=lambda cell: (cell.cell.settings["m"], cell.cell.settings["rows"])):
        s, v = cell.cell.settings, cell.values
        if s["m"] != seen:
            seen = s["m"]
            rows.append(Row(f"m = {seen}"))
        per_row = (minus(f"{v[key] / s['rows']:.5f}") for key in ("log_evidence", "lower"))
        rows.append(
            Row(
                _spaced(s["rows"]),
                (
                    *per_row,
                    f"{v['gamma_eff']:.1f}",
                    f"{np.exp(v['log_sigma']):.2f}",
                    f"{100.0 - v['accuracy']:.2f}",
                    f"{v['log_loss']:.4f}",
                    str(v["passes"]),
                    f"{v['seconds']:.1f}",
                ),
            )
        )
    header = ("rows", "log evidence / N", "at least", "γ_eff", "σ", "error, %", "log loss", "passes", "CPU s")
    return Table("Waveform data, more and more rows", header, tuple(rows))


def growth_findings(cells: Sequence[FinishedCell]) -> tuple[str, ...]:
    """What the most rows took, and what they gave."""
    if len(cells) < 2:
        return ()
    few, *_, many_ = sorted(cells, key=lambda cell: cell.cell.settings["rows"])
    n, m, v = many_.cell.settings["rows"], many_.cell.settings["m"], many_.values
    widths = [float(np.exp(cell.values["log_sigma"])) for cell in cells]
    return (
        f"{_spaced(n)} rows with {m} landmarks take {v['seconds']:.0f} CPU seconds and {v['passes']} passes.",
        f"From {_spaced(few.cell.settings['rows'])} to {_spaced(n)} rows σ stays between {min(widths):.2f} and "
        f"{max(widths):.2f}, and the log loss on new rows goes from {few.values['log_loss']:.4f} to "
        f"{v['log_loss']:.4f}.",
    )


def _spaced(n: int) -> str:
    """A whole number with a space before each three of its digits."""
    return f"{n:,}".replace(",", "\N{NO-BREAK SPACE}")


def absent(cells: Sequence[FinishedCell]) -> tuple[str, ...]:
    """Rivals that were not there, and sets on which one has not been run."""
    classes = {cell.cell.settings["data"]: cell.values["classes"] for cell in cells}
    missing, partly = [], []
    for name, rival in RIVALS.items():
        has = {cell.cell.settings["data"] for cell in cells if cell.cell.settings["method"] == name}
        could = [data for data, number in classes.items() if number == 2 or not rival.two_classes]
        if not has:
            missing.append(rival.title)
        elif lacking := [data for data in could if data not in has]:
            partly.append(f"{rival.title} on {joined(lacking)}")
    said = []
    if cells and missing:
        said.append(f"Not installed where this was computed, and so left out: {joined(missing)}.")
    if partly:
        said.append(f"Not run yet: {'; '.join(partly)}.")
    return tuple(said)


def rival_table(cells: Sequence[FinishedCell]) -> Table:
    """Accuracy and log loss of every method on every set."""
    rows, seen = [], []  # type: list[Row], list[str]
    order = list(METHODS)
    by_set = {name: k for k, name in enumerate(dict.fromkeys(cell.cell.settings["data"] for cell in cells))}
    for cell in sorted(
        cells,
        key=lambda cell: (
            by_set[cell.cell.settings["data"]],
            not _has_m(cell),
            cell.cell.settings["m"],
            order.index(cell.cell.settings["method"]),
        ),
    ):
        s, v = cell.cell.settings, cell.values
        if s["data"] not in seen:
            seen.append(s["data"])
            rows.append(Row(f"{s['data']}: {v['n']} rows, {v['d']} inputs, {v['classes']} classes"))
        loss = f"{v['log_loss']:.4f} ± {v['log_loss_error']:.4f}"
        m = str(s["m"]) if _has_m(cell) else "–"
        rows.append(Row(METHODS[s["method"]], (m, f"{v['accuracy']:.2f}", loss, f"{v['seconds']:.1f}")))
    note = "Seconds are CPU time of the fit and of the predictions, on one thread."
    return Table("The same number of features", ("", "m", "accuracy, %", "log loss", "CPU s"), tuple(rows), note)


def _has_m(cell: FinishedCell) -> bool:
    """Whether a model has as many features as ours has landmarks."""
    return cell.cell.settings["method"] in (*OURS, *KERNEL_RIVALS)


def landmarks_figure(learned: dict[str, dict[int, dict[str, Any]]]) -> Figure:
    """Evidence and log loss over m, a column for each data set."""
    with new_figure(PAGE_WIDTH, 5.2) as figure:
        axes = figure.subplots(2, len(learned), squeeze=False, sharex=True)
        for (upper, lower), (name, own) in zip(axes.T, learned.items(), strict=True):
            exact, ms = own[EXACT], sorted(m for m in own if m != EXACT)
            for key, colour, mark, label in (
                ("log_evidence", BLUE, "o-", "with landmarks"),
                ("lower", VERMILION, "s--", "lower bound"),
            ):
                upper.plot(ms, [own[m][key] - exact["log_evidence"] for m in ms], mark, color=colour, label=label)
            upper.axhline(0.0, color=BLACK, linewidth=0.9, linestyle=":", label="all rows")
            upper.set(title=name, ylabel="log evidence\nminus exact, nats")
            lower.errorbar(
                ms, [own[m]["log_loss"] for m in ms], [own[m]["log_loss_error"] for m in ms], fmt="o-", color=BLUE
            )
            lower.axhline(exact["log_loss"], color=BLACK, linewidth=0.9, linestyle=":")
            band = exact["log_loss"] - exact["log_loss_error"], exact["log_loss"] + exact["log_loss_error"]
            lower.axhspan(*band, color=GREY, alpha=0.2, linewidth=0)
            lower.set(xlabel="landmarks m", ylabel="log loss, nats", xscale="log")
            lower.set_xticks(ms, [str(m) for m in ms])
            lower.set_xlim(0.8 * ms[0], 1.25 * ms[-1])
            lower.minorticks_off()
        figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        return figure
