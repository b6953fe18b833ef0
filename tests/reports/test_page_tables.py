"""Numbers of pages that cannot be drawn from the gallery alone, recomputed by other code from stored or made-up cells.

Made-up cells have numbers of which no two rules make the same: unequal errors, signs that differ, uneven counts. Of
sentences only the numbers are looked at.
"""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import norm

from bayes_lssvm import datasets
from reports.command.gallery import FOLDER
from reports.frame.write import read_result
from reports.pages import agreement, error_bars, multiclass_calibration, paper2_usps, predictive_scores
from reports.pages import section_7_1 as ripley
from reports.pages.error_bars.bars import assemble, findings
from reports.pages.section_7_1.sentences import SCORE_NAMES
from tests.helpers_page_numbers import KEY, agrees, numbers, said, shown
from validation.harness import Cell, FinishedCell, StudyResult
from validation.papers.paper2.usps import PRINTED, WITHIN, digits
from validation.studies.agreement import COMPARISONS
from validation.studies.multiclass_calibration import REFERENCE
from validation.studies.section_7_1 import from_record


def stored(study, values, size="toy"):
    """A result with these cells: (key, settings, values)."""
    cells = tuple(FinishedCell(Cell(key, settings), found) for key, settings, found in values)
    return StudyResult(study, study, size, None, cells, {}, Path())


def check(page, expected):
    cells = shown(page.key_table, *(table for section in page.sections for table in section.tables))
    for table, heading, row, column, value in expected:
        cell = cells[table, heading, row][column]
        assert agrees(cell, value), f"{row}, {column}: the page says {cell}, the cells {value}"


# --- agreement -------------------------------------------------------------------------------------------------------

AGREED = {
    "ripley-linear-weight-space": ((1.2, -0.4), (-2.6, 0.7), -0.0123, 0.0205, 812.4),
    "ripley-rbf-gp": ((-0.3, 1.9), (0.2, -1.1), 0.0311, 0.0082, 455.0),
    "ripley-linear-importance": ((), (), -0.0042, 0.0031, None),
}


def test_agreement_with_quadrature():
    names = ("log_mu", "log_zeta")
    cells = []
    for key, (means, sds, off, error, size) in AGREED.items():
        values = {"mean_z": dict(zip(names, means, strict=False)), "sd_z": dict(zip(names, sds, strict=False))}
        values |= {"log_z_difference": off, "log_z_error": error, "min_ess": size, "diagnostics_ok": True}
        cells.append((key, {}, values))
    page = agreement.page(stored("agreement", cells))
    expected = []
    for key, (means, sds, off, error, size) in AGREED.items():
        row = (KEY, "", COMPARISONS[key].name)
        worst = max(max(means), -min(means), max(sds), -min(sds)) if means else "–"
        expected += [(*row, "worst moment, in s.e.", worst), (*row, "smallest ESS", size or "–")]
        expected += [(*row, "log Z − exact", (off, error)), (*row, "in its s.e.", math.fabs(off) / error)]
        for name, mean, sd in zip(names, means, sds, strict=False):
            place = ("Differences from quadrature", COMPARISONS[key].name, name)
            expected += [(*place, "mean, in s.e.", mean), (*place, "standard deviation, in s.e.", sd)]
    check(page, expected)
    assert said(page.findings, 2.6, 1)  # the farthest moment
    assert said(page.findings, 8, 0)  # of so many
    assert said(page.findings, 0.0311 / 0.0082, 1)
    assert said(page.findings, 0.0311, 4)


# --- predictive scores -----------------------------------------------------------------------------------------------


def binary(rng, better=0.0):
    return {
        "accuracy": float(rng.uniform(0.7, 0.9)),
        "log_score": float(-0.4 + better + 0.05 * rng.normal()),
        "brier": float(rng.uniform(0.1, 0.2)),
        "calibration_error": float(rng.uniform(0.02, 0.1)),
    }


@pytest.mark.parametrize("better", [0.0, 0.5, -0.5])
def test_scores_of_plug_in_and_fully_bayesian_classifiers(better):
    rng = np.random.default_rng(3)
    counts = {"hea": 7, "rsy": 4}
    own = {
        data: [{"plug-in": binary(rng), "fully Bayesian": binary(rng, better)} for _ in range(count)]
        for data, count in counts.items()
    }
    cells = [(f"{d}.{i}", {"data": d}, values) for d, found in own.items() for i, values in enumerate(found)]
    page = predictive_scores.page(stored("predictive-scores", cells))
    headings = [row.label for row in page.key_table.rows if not row.cells]
    assert [numbers(heading)[-1] for heading in headings] == ["7", "4"]
    expected = []
    columns = {"% correct": ("accuracy", 100.0), "log score": ("log_score", 1.0), "Brier": ("brier", 1.0)}
    columns |= {"ECE": ("calibration_error", 1.0)}
    for heading, data, sentence in zip(headings, counts, page.findings, strict=True):
        for method in ("plug-in", "fully Bayesian"):
            for column, (name, unit) in columns.items():
                mean = sum(v[method][name] for v in own[data]) / counts[data]
                expected.append((KEY, heading, method, column, unit * mean))
        gains = [v["fully Bayesian"]["log_score"] - v["plug-in"]["log_score"] for v in own[data]]
        mean = sum(gains) / len(gains)
        error = math.sqrt(sum((g - mean) ** 2 for g in gains) / (len(gains) - 1) / len(gains))
        expected.append((KEY, heading, "fully Bayesian", "gain in log score", (mean, error)))
        assert said([sentence], mean, 4)
        assert said([sentence], error, 4)
        assert said([sentence], counts[data], 0)
        assert ("better" in sentence, "worse" in sentence) == (mean > 2.0 * error, mean < -2.0 * error)
    check(page, expected)


# --- several classes -------------------------------------------------------------------------------------------------


def calibration_error(parts):
    """In ten even bins, of the rows of all parts together."""
    pairs = [pair for part in parts for pair in zip(part["confidence"], part["correct"], strict=True)]
    total = 0.0
    for k in range(10):
        inside = [(p, c) for p, c in pairs if k / 10 < p <= (k + 1) / 10]
        total += abs(sum(p for p, _ in inside) - sum(c for _, c in inside))
    return total / len(pairs)


def test_calibration_of_several_classes():
    rng = np.random.default_rng(5)
    splits = []
    for _ in range(5):
        right = rng.uniform(0.35, 1.0, size=40)
        correct = rng.uniform(size=40) < right
        made = {}
        for method, sure in ((REFERENCE, right), ("surer", np.minimum(right + 0.15, 1.0))):
            scores = {"accuracy": float(rng.uniform(60, 80)), "log_score": float(rng.normal(-0.6, 0.2))}
            made[method] = {"scores": scores, "confidence": sure.tolist(), "correct": correct.tolist()}
        splits.append(made)
    page = multiclass_calibration.page(
        stored("multiclass-calibration", [(f"wine.{i}", {"data": "wine"}, own) for i, own in enumerate(splits)])
    )
    (by_accuracy,) = [table for table in page.sections[0].tables if "ccuracy" in table.title]
    expected = []
    for table, name in ((page.key_table, "log_score"), (by_accuracy, "accuracy")):
        first, other = ([s[m]["scores"][name] for s in splits] for m in (REFERENCE, "surer"))
        apart = np.subtract(other, first)
        error = math.sqrt(np.sum((apart - apart.mean()) ** 2) / 4 / 5)
        expected.append((table.title, "", REFERENCE, "wine", np.mean(first)))
        expected.append((table.title, "", "surer", "wine", (np.mean(other), apart.mean(), error)))
    (table,) = [table for table in page.sections[0].tables if table is not by_accuracy]
    first, other = ([s[m] for s in splits] for m in (REFERENCE, "surer"))
    left_out = [
        calibration_error(other[:i] + other[i + 1 :]) - calibration_error(first[:i] + first[i + 1 :]) for i in range(5)
    ]
    jackknife = math.sqrt(0.8 * sum((v - np.mean(left_out)) ** 2 for v in left_out))
    own = calibration_error(other)
    expected.append((table.title, "", "surer", "wine", (own, own - calibration_error(first), jackknife)))
    check(page, expected)
    best = max(np.mean([s[m]["scores"]["log_score"] for s in splits]) for m in (REFERENCE, "surer"))
    assert said(page.findings, best, 3)
    assert said(page.findings, min(own, calibration_error(first)), 3)


# --- digits ----------------------------------------------------------------------------------------------------------


def test_decoded_digits():
    """Three digits and members whose outputs are made up."""
    truth = digits("three").y_test
    rng = np.random.default_rng(8)
    pairs = list(combinations(range(3), 2))
    cells, outputs, ratios = [], {}, {}
    for place, (i, j) in enumerate(pairs):
        side = np.where(truth == j, 1.0, np.where(truth == i, -1.0, 0.0))
        outputs[i, j] = 0.7 * side + 0.8 * rng.normal(size=len(truth))
        ratios[i, j] = 2.0 * outputs[i, j] + 0.5 * rng.normal(size=len(truth))
        points = 30 + 7 * place
        facts = {
            "points": points,
            "sigma": 3.5 + place,
            "mu": 1.0,
            "zeta": 2.0,
            "gamma_eff": points * (0.4, 0.999, 1)[place],
        }
        values = {"outputs": outputs[i, j].tolist(), "log_ratios": ratios[i, j].tolist(), **facts}
        cells.append((f"three.{i}-{j}", {"data": "three", "first": i, "second": j}, values))
    page = paper2_usps.page(stored("paper2-usps", cells))

    # Hamming: as many pairs as a class wins; ties by the sizes of the outputs
    won = np.zeros((len(truth), 3))
    for (i, j), z in outputs.items():
        won[:, j] += z > 0
        won[:, i] += z < 0
    tied = np.sum(won == won.max(axis=1, keepdims=True), axis=1) > 1
    by_votes = np.argmax(won, axis=1)
    # Bayes: each pair gives its two classes their odds and the third none
    P = np.ones((len(truth), 3))
    for (i, j), r in ratios.items():
        P[:, j] *= 2.0 / (1.0 + np.exp(-r))
        P[:, i] *= 2.0 / (1.0 + np.exp(r))
    P /= P.sum(axis=1, keepdims=True)
    chosen = P.argmax(axis=1)
    right = 100.0 * np.mean(chosen == truth)
    table = ("Decodings", "", "Bayes")
    each = P[np.arange(len(truth)), truth]
    check(
        page,
        [
            (*table, "accuracy, %", right),
            (*table, "log score, nats", np.log(each).mean()),
            (*table, "Brier", ((P - np.eye(3)[truth]) ** 2).sum(axis=1).mean()),
        ],
    )
    shares = shown(page.key_table, page.sections[0].tables[0])["Decodings", "", "Hamming"]["accuracy, %"]
    sure = 100.0 * np.mean((by_votes == truth) & ~tied)
    assert sure - 0.01 <= float(shares) <= sure + 100.0 * tied.mean() + 0.01
    rows = page.sections[-1].tables[0].rows
    counts = [[0 if cell == "·" else int(cell) for cell in row.cells] for row in rows]
    assert counts == [[int(np.sum((truth == i) & (chosen == j))) for j in range(3)] for i in range(3)]
    assert said(page.findings, 100.0 * P.max(axis=1).mean(), 1)
    assert said(page.findings, right, 1)
    for number in (3, 30, 44, 2):  # members, fewest and most points, members that interpolate
        assert said(page.findings, number, 0)


def test_digits_of_the_gallery():
    """Both decodings of the 45 stored members, where the data are here."""
    result = read_result(FOLDER / "paper2-usps.json")
    try:
        truth = digits("usps").y_test
    except FileNotFoundError:
        pytest.skip("usps is not here")
    page = paper2_usps.page(result)
    P = np.zeros((len(truth), 10))  # logs
    for cell in result.cells:
        r = np.array(cell.values["log_ratios"])
        P[:, cell.cell.settings["second"]] -= np.logaddexp(0.0, -r)
        P[:, cell.cell.settings["first"]] -= np.logaddexp(0.0, r)
    right = 100.0 * np.mean(P.argmax(axis=1) == truth)
    assert said(page.findings, right, 2)
    assert said(page.findings, right - PRINTED["bayes"], 2)
    assert ("outside" in page.findings[1]) == (abs(right - PRINTED["bayes"]) > WITHIN)
    check(page, [("Decodings", "", "Bayes", "accuracy, %", right)])


# --- error bars ------------------------------------------------------------------------------------------------------


def test_error_bars_of_the_gallery():
    result = read_result(FOLDER / "error-bars-ripley.json")
    by = {cell.cell.key: cell for cell in result.cells if cell.error is None}
    cells = shown(error_bars.key_table(assemble(result)), error_bars.distance_table(result))
    symbols = {"log_mu": "log μ", "log_zeta": "log ζ", "log_sigma": "log σ"}
    off, counted, worst = dict.fromkeys(symbols, 0), 0, 0.0
    for key, cell in by.items():
        problem, _, program = key.rpartition(".")
        label = cell.cell.settings["problem"]["label"]
        exact = by[f"{problem}.quadrature"].values
        if program == "closed-forms":
            for name, symbol in symbols.items():
                if name not in exact["sd"]:
                    continue
                row = cells[KEY, f"Standard deviation of {symbol}", label]
                mackay, hessian, truth = (v["sd"][name] for v in (cell.values["mackay"], cell.values["hessian"], exact))
                assert agrees(row["exact"], truth)
                assert agrees(row["Hessian"], hessian)
                ratio = math.inf if mackay is None else mackay / truth
                off[name] += not 0.75 <= ratio <= 1.25
                assert ("✗" in row["MacKay / exact"]) == (not 0.75 <= ratio <= 1.25)
                if ratio <= 10.0:
                    assert agrees(row["MacKay"], mackay)
                    assert agrees(row["MacKay / exact"], ratio)
            both = cells[KEY, "Correlation of log μ and log ζ", label]
            assert agrees(both["exact"], exact["correlation"]["log_mu log_zeta"])
        elif program == "collapsed":
            for name, error in cell.values["errors"]["sd"].items():
                row = cells[KEY, f"Standard deviation of {symbols[name]}", label]
                assert agrees(row["NUTS"], (cell.values["sd"][name], error))
        if "errors" in cell.values:  # chains: distances from quadrature on the same rows, in standard errors
            far = 0.0
            for kind in ("mean", "sd", "correlation"):
                for name, value in cell.values[kind].items():
                    z = (value - cell.values["exact"][kind][name]) / cell.values["errors"][kind][name]
                    counted, far = counted + 1, max(far, abs(z))
            worst = max(worst, far)
            words = {"collapsed": "collapsed NUTS", "weight-space": "weight-space NUTS", "gp": "GP NUTS"}[program]
            row = cells["Distances of sampled numbers from quadrature", "", f"{label}: {words}"]
            assert abs(float(row["farthest (s.e.)"]) - far) < 0.06 + 2e-3 * far  # six digits are stored
            assert agrees(row["least ESS"], cell.values["min_ess"])
            assert agrees(row["rows"], cell.values["n_rows"])
    sentences = findings(result)
    if off["log_mu"]:
        assert said(sentences, off["log_mu"], 0)
    assert said(sentences, counted, 0)
    assert any(said(sentences, worst + slip, 1) for slip in (-0.01, 0.0, 0.01))


# --- section 7.1 -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def record():
    """The stored record; maps and curves take no part."""
    values = dict(read_result(FOLDER / "ripley.json").cells[0].values)
    values.setdefault("map", {"x1": [0.0], "x2": [0.0], "probability": [[0.5]], "latent_std": [[1.0]]})
    values.setdefault("n_test", 1000)
    values.setdefault("prior_sd", 3.0)
    return values


class Posterior:
    """An LS-SVM with RBF kernel on Ripley's data by dense algebra: a Gaussian process with a flat bias."""

    def __init__(self, design):
        data = datasets.load("ripley")
        X, labels = data.Xy
        mean, sd = X.mean(axis=0), X.std(axis=0, ddof=1)
        self.X, self.y = (X - mean) / sd, np.where(labels == 1, 1.0, -1.0)
        self.new, self.truth = (data.test_Xy[0] - mean) / sd, np.where(data.test_Xy[1] == 1, 1.0, -1.0)
        self.design, self.n = design, len(self.y)
        self.K = self.kernel(self.X, self.X)

    def kernel(self, A, B):
        squares = ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2)
        return np.exp(-squares / self.design["sigma"] ** 2)

    def log_evidence(self, log_mu, log_zeta):
        """Log of ∫ N(y | b1, K/μ + I/ζ) db."""
        C = self.K / np.exp(log_mu) + np.eye(self.n) / np.exp(log_zeta)
        ones = np.ones(self.n)
        solved, level = np.linalg.solve(C, self.y), np.linalg.solve(C, ones)
        b = (ones @ solved) / (ones @ level)
        fit = self.y @ solved - b * (ones @ solved)
        flat = 0.5 * math.log(2.0 * math.pi / (ones @ level))
        return -0.5 * (fit + np.linalg.slogdet(C)[1] + self.n * math.log(2.0 * math.pi)) + flat

    def outputs(self):
        C = self.K / self.design["mu"] + np.eye(self.n) / self.design["zeta"]
        ones = np.ones(self.n)
        b = (ones @ np.linalg.solve(C, self.y)) / (ones @ np.linalg.solve(C, ones))
        return b + self.kernel(self.new, self.X) @ np.linalg.solve(C, self.y - b) / self.design["mu"]


@pytest.mark.parametrize("place", [0, 1])
def test_numbers_of_section_7_1(record, place):
    design = record["designs"][place]
    column = ("without Occam factor", "formula (5.3)")[place]
    cells = shown(ripley.main_table(from_record(record)))
    model = Posterior(design)
    centred = model.K - model.K.mean(axis=0) - model.K.mean(axis=1)[:, None] + model.K.mean()
    values = np.linalg.eigvalsh(centred)
    values = np.where(values > 1e-12, values, 0.0)
    mu, zeta, n = design["mu"], design["zeta"], model.n
    effective = 1.0 + np.sum(zeta * values / (mu + zeta * values))
    bars = math.sqrt(2.0 / (effective - 1.0)), math.sqrt(2.0 / (n - effective))
    best, step = (math.log(mu), math.log(zeta)), 1e-3

    def curvature(i, j):
        a, b = step * np.eye(2)[i], step * np.eye(2)[j]
        f = model.log_evidence
        return (f(*(best + a + b)) - f(*(best + a - b)) - f(*(best - a + b)) + f(*(best - a - b))) / (4.0 * step**2)

    hessian = -np.array([[curvature(i, j) for j in (0, 1)] for i in (0, 1)])
    own = np.sqrt(np.diag(np.linalg.solve(hessian, np.eye(2))))
    evidence = model.log_evidence(*best)
    occam = math.log(bars[0] * bars[1] / record["prior_sd"] ** 2)
    spread = math.log(math.sqrt(1.0 / np.linalg.det(hessian)) / record["prior_sd"] ** 2)
    # eq 5.3 with all N − 1 eigenvalues of the centred matrix (the one of the constant vector is left out)
    counted = np.sort(values)[1:]
    relative = 0.5 * ((n - 1) * (math.log(mu) + math.log(zeta)) - np.log(mu + zeta * counted).sum())
    relative -= 0.5 * (math.log(effective - 1.0) + math.log(n - effective))
    expected = {
        "σ_MP, kernel width": (design["sigma"], 6e-5),
        "γ_MP = ζ_MP / μ_MP": (zeta / mu, 6e-5),
        "γ_eff, effective number of parameters": (effective, 6e-3),
        "of log μ, MacKay's formula": (bars[0], 6e-5),
        "of log ζ, MacKay's formula": (bars[1], 6e-5),
        "of log μ, exact Hessian": (own[0], 8e-5),
        "of log ζ, exact Hessian": (own[1], 8e-5),
        "log p(D | μ_MP, ζ_MP, σ)": (evidence, 6e-5),
        "log evidence with MacKay's Occam factor (5.2)": (evidence + occam, 6e-5),
        "log of the formula (5.3), without its constants": (relative, 6e-5),
    }
    rows = {name: shown_cells for (table, heading, name), shown_cells in cells.items() if heading is None}
    for name, (value, tolerance) in expected.items():
        assert float(numbers(rows[name][column])[0]) == pytest.approx(value, abs=tolerance), name
    (by_mackay,) = [row for name, row in rows.items() if name.startswith("log Occam factor, MacKay")]
    (by_hessian,) = [row for name, row in rows.items() if name.startswith("log Occam factor, Hessian")]
    assert float(numbers(by_mackay[column])[0]) == pytest.approx(occam, abs=1e-4)
    assert float(numbers(by_hessian[column])[0]) == pytest.approx(spread, abs=2e-4)
    z = model.outputs()
    right = np.mean(np.sign(z) == model.truth)
    assert agrees(rows["sign of the latent output (2.22)"][column], 100.0 * right)
    sentences = ripley.findings(from_record(record))
    assert said(sentences, design["sigma"], 4)
    assert said(sentences, 100.0 * right, 1)


def test_scores_of_section_7_1(record):
    found = from_record(record)
    table = ripley.score_table(found)
    for design, heading in zip(record["designs"], [r.label for r in table.rows if not r.cells], strict=False):
        assert said([heading], design["sigma"], 4)
        cells = shown(table)
        for score, name in zip(design["scores"], SCORE_NAMES.values(), strict=True):
            row = cells[table.title, heading, name]
            assert agrees(row["log loss"], score["log_loss"])
            assert agrees(row["Brier"], score["brier"])
            assert agrees(row["% correct"], 100.0 * score["accuracy"])
    losses = [score["log_loss"] for score in record["designs"][0]["scores"]]
    sentences = ripley.findings(found)
    for value in (min(losses), max(losses), math.log(2.0)):
        assert said(sentences, value, 3)
    apart = abs(np.subtract(*(design["log_evidence_without_occam"] for design in record["designs"])))
    near = [n for n in numbers(sentences[0]) if abs(float(n) - apart) < 1e-3]
    assert near  # the store has six digits
    using = [record["designs"][0][name] for name in ("unbalanced_ignoring", "unbalanced_using")]
    for value in using:
        assert said(sentences, 100.0 * value, 1)
    error = math.sqrt(record["printed"]["accuracy"] * (1.0 - record["printed"]["accuracy"]) / 1000.0)
    assert said(sentences, 100.0 * error, 1)


def test_the_quantile_that_chance_is_judged_by():
    sentence = error_bars.bars.chance(3.4, 50)
    limit = norm.ppf(1.0 - 0.05 / 100)
    assert said([sentence], limit, 1)
