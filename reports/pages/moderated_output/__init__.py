"""The page of the moderated output: maps, differences, scores and calibration of five ways to class probabilities."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from bayes_lssvm.base.typing import AnyArray
from reports.draw.thumbnail import bars
from reports.frame.page import Page, Picture, Row, Section, Table
from reports.frame.words import joined, number
from validation.harness import StudyResult
from validation.harness.scores import Gain, ReliabilityBin, binary_scores, log_score_gain, reliability
from validation.studies.moderated_output import LABELS

from .figures import Places, diagrams, differences, maps
from .sentences import EXACT, Difference, Probabilities, answer, difference, findings

INTRODUCTION = (
    "The moderated output is a class probability with the weights and the bias integrated out. The evidence framework "
    "fixes μ, ζ and σ at their most probable values. This page shows what changes when they are integrated out too, by "
    "quadrature or by sampling, and how a Gaussian process classifier with a Bernoulli likelihood compares."
)


def page(result: StudyResult) -> Page:
    """The page of a result; methods whose cell failed are left out and named in the banner."""
    own = result["points"].values
    if not own:
        raise ValueError("The points of the study are missing.")
    found = {name: _probabilities(result, name) for name in LABELS if _computed(result, name)}
    if not found:
        raise ValueError("No method has probabilities, so there is nothing to compare.")
    truth = np.array(own["y_test"])
    places = _places(result)
    apart = {name: difference(found, name, EXACT, places) for name in found if name != EXACT and EXACT in found}
    gains = (
        {n: log_score_gain(p.test, found["plug-in"].test, truth) for n, p in found.items()}
        if "plug-in" in found
        else {}
    )
    calibration = {name: reliability(p.test, truth) for name, p in found.items()}
    return Page(
        answer=answer(apart, gains, calibration),
        introduction=INTRODUCTION,
        findings=findings(found, apart, gains, calibration),
        key_table=_key_table(found, gains, calibration, truth),
        key_picture=_maps(found, places, own["explained"]),
        sections=(
            *((_differences(found, apart, places),) if apart else ()),
            _calibration(calibration, places.classes[1]),
        ),
        methods=_methods(result),
        result=result,
        thumbnail=_thumbnail(apart),
        related=("section-7-1", "predictive-scores"),
    )


def _thumbnail(apart: Mapping[str, Difference]) -> Figure:
    return bars({LABELS[n]: d.at_test for n, d in apart.items()}, "largest change of a test probability", form=".3f")


def _computed(result: StudyResult, name: str) -> bool:
    return any(f.cell.key == name and f.error is None for f in result.cells)


def _probabilities(result: StudyResult, name: str) -> Probabilities:
    values = result[name].values
    test = np.array(values["test"])
    return Probabilities(test, np.array(values["map"]), np.array(values.get("test_error", np.zeros(len(test)))))


def _places(result: StudyResult) -> Places:
    own, data = result["points"].values, result.data or {}
    names = tuple(str(n) for n in data.get("feature_names", ()))
    if own["d"] > 2 or len(names) != own["d"]:
        names = ("first principal component", "second principal component")[: min(own["d"], 2)]
    else:
        names = tuple(f"{name} (standardised)" for name in names)
    classes = data.get("class_names") or ("−1", "+1")
    return Places(
        np.array(own["first"]),
        np.array(own["second"]),
        np.array(own["places"]),
        np.array(own["y"]),
        names,
        (str(classes[0]), str(classes[1])),
        np.array(own["nearest"]),
    )


def _key_table(
    found: Mapping[str, Probabilities],
    gains: Mapping[str, Gain],
    calibration: Mapping[str, tuple[ReliabilityBin, ...]],
    truth: AnyArray,
) -> Table:
    rows = []
    for name, p in found.items():
        s = binary_scores(p.test, truth)
        own = gains.get(name)
        change = "–" if own is None or name == "plug-in" else f"{number(own.mean, '+.4f')} ± {own.error:.4f}"
        outside = f"{sum(b.outside for b in calibration[name])} of {len(calibration[name])}"
        log_score = f"{s.log_score:.4f}".replace("-", "−")
        numbers = (f"{s.accuracy:.3f}", log_score, change, f"{s.brier:.4f}", f"{s.calibration_error:.4f}", outside)
        rows.append(Row(LABELS[name], numbers))
    return Table(
        f"Scores on {len(truth)} test points",
        ("method", "accuracy", "log score", "minus plug-in's", "Brier", "ECE", "bins outside"),
        tuple(rows),
        note="Log score: mean log probability of the true class, in nats, larger is better; the difference has the "
        "standard error of a paired comparison. Brier: smaller is better. ECE: expected calibration error in ten "
        "bins of equal count.",
    )


def _maps(found: Mapping[str, Probabilities], places: Places, explained: float) -> Picture:
    where = (
        "over the plane of the two inputs"
        if explained == 1.0
        else f"over the plane of the first two principal components through the mean, with {explained:.0%} of the "
        "inputs' variance: training points are projected onto it, and may lie far from it"
    )
    if places.is_line:
        where = "along the one input; marks at the edges are the training points"
    return Picture(
        "maps",
        maps(places, {name: p.map for name, p in found.items()}),
        alt=f"Maps of the probability of “{places.classes[1]}” by {joined([LABELS[n] for n in found])}; the text says "
        "how they differ.",
        caption=f"P({places.classes[1]} | x, D) {where}. "
        + ("" if places.is_line else "Lines are at 0.1, 0.5 and 0.9. ")
        + "Where there are no data, the probability should go back towards the class frequencies.",
    )


def _differences(found: Mapping[str, Probabilities], apart: Mapping[str, Difference], places: Places) -> Section:
    rows = tuple(
        Row(
            f"{LABELS[name]} − {LABELS[EXACT]}",
            (
                f"{d.on_map:.4f}",
                "(" + ", ".join(f"{x:.2f}" for x in d.place).replace("-", "−") + ")",
                f"{d.first:.3f}, {d.second:.3f}",
                f"{d.nearest:.2f}",
                f"{d.at_test:.4f}",
                f"{d.mean_test:.4f}",
            ),
        )
        for name, d in apart.items()
    )
    header = (
        "difference",
        "worst on the map",
        "where",
        "P there",
        "to nearest point",
        "worst at tests",
        "mean at tests",
    )
    return Section(
        "Differences from the exact average",
        pictures=(
            Picture(
                "differences",
                differences(places, {name: p.map for name, p in found.items()}, EXACT),
                alt="Maps of differences of probabilities from the LS-SVM with μ, ζ and σ integrated out. "
                + " ".join(f"{LABELS[n]}: up to {d.on_map:.3f}." for n, d in apart.items()),
                caption=f"Each method minus “{LABELS[EXACT]}” by quadrature; every panel has its own scale, given in "
                "its title. "
                + ("" if places.is_line else "The cross is where the difference is largest, the dashed line P = 0.5."),
            ),
        ),
        tables=(Table("Worst differences and where", header, rows, note="Distances are in standardised units."),),
    )


def _calibration(calibration: Mapping[str, tuple[ReliabilityBin, ...]], class_name: str) -> Section:
    return Section(
        "Calibration on the test set",
        pictures=(
            Picture(
                "reliability",
                diagrams(calibration, class_name),
                alt="Reliability diagrams. "
                + " ".join(
                    f"{LABELS[n]}: {sum(b.outside for b in bins)} of {len(bins)} bins outside the 95 % band."
                    for n, bins in calibration.items()
                ),
                caption="Test points in bins of equal count, in the order of their probability: the share that is "
                f"“{class_name}” against the mean probability. The grey band is where 95 % of such shares lie by "
                "chance if the probabilities are right (binomial); filled marks lie outside it.",
            ),
        ),
    )


def _methods(result: StudyResult) -> tuple[str, ...]:
    own = result["points"].values
    origin = "the data set's own test part" if own["own_test"] else "a third set aside within each class, by seed 0"
    some = _part(own["n"], own["n_given"], "the training part")
    test = f"{own['n_test']} points, {_part(own['n_test'], own['n_test_given'], origin)}"
    settings = {f.cell.key: f.cell.settings for f in result.cells}
    sigma = result["plug-in"].values.get("sigma")
    nuts, bernoulli = settings["nuts"], settings["bernoulli"]
    return (
        f"Training: {own['n']} points, {some}. Test: {test}. Inputs are standardised by the training points.",
        "Plug-in: `BayesianLSSVC` with an RBF kernel, exp(−|x − z|²/σ²): σ_MP by the formula (5.3), then μ_MP and ζ_MP"
        + (f"; here σ_MP = {sigma:.3f}. " if sigma is not None else ". ")
        + "All moderated outputs are paper 0's class-centred form (3.8 to 3.17), the prior the training frequencies.",
        "Prior of the integrals: log μ, log ζ ~ Normal(0, 3²), log σ ~ Normal(0, 1). “over μ, ζ” fixes σ at σ_MP; "
        "“over μ, ζ, σ” fixes nothing. Both are quadrature, whose averaged probabilities are right to about 0.001.",
        f"NUTS: {nuts['chains']} chains of {nuts['draws']} draws of (μ, ζ, σ) after {nuts['warmup']} of warm-up; "
        f"level 1 is evaluated again at {nuts['averaged']} of them, evenly spaced, and the probabilities are "
        "averaged.",
        "Bernoulli GP: P(y = +1 | f) = 1/(1 + exp(−f)), f a Gaussian process with the same kernel, "
        f"{bernoulli['chains']} chains of {bernoulli['draws']} draws after {bernoulli['warmup']} of warm-up, "
        f"predictions averaged over about {bernoulli['averaged']} of them. Its σ is fixed at σ_MP at every size: with "
        "σ free each step costs a Cholesky factor and its derivative, and the chains would take an hour.",
    )


def _part(n: int, given: int, what: str) -> str:
    return f"all of {what}" if n == given else f"chosen from the {given} of {what}, spread over the classes"
