"""Numbers that pages print, recomputed from the stored cells of the gallery by other code.

Each function below names cells of a page's tables, as (table, heading, row, column), with what they should say. A
number is right if it is that of the cell to half a unit of the last digit that is printed. Pages whose cells are not in
the gallery, or that need draws or data, are in `test_page_numbers_made_up.py` or have such tests beside their studies.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from scipy.stats import norm, rankdata, spearmanr

from reports.command.gallery import FOLDER
from reports.frame.write import read_result
from reports.pages import page_of
from tests.helpers_page_numbers import KEY, agrees, shown


def values(result, *names):
    """Arrays of one number a cell, by the cells' settings of these names."""
    found = defaultdict(list)
    for cell in result.cells:
        found[tuple(cell.cell.settings[name] for name in names)].append(cell.values)
    return found


def mean_sd(numbers):
    return float(np.mean(numbers)), float(np.std(numbers, ddof=1))


def nan(value):
    return np.nan if value is None else value


# --- what the pages should say ---------------------------------------------------------------------------------------


def calibration(result):
    names = {"known_20": "known kernel, N = 20, 400 sets", "known_100": "known kernel, N = 100, 200 sets"}
    columns = {"log_mu": "log μ", "log_zeta": "log ζ", "y_new": "new target"}
    called = {"quadrature": "exact (quadrature)", "laplace": "Laplace's method with the prior"}
    called |= {name: f"{title}'s error bars" for name, title in (("hessian", "Hessian"), ("mackay", "MacKay"))}
    for (scenario, method), blocks in values(result, "scenario", "method").items():
        records, method = [record for block in blocks for record in block["records"]], called.get(method, method)
        for quantity, column in columns.items():
            pit = np.array([r["pit"][quantity] for r in records if r["pit"].get(quantity) is not None])
            if scenario in names:
                yield KEY, names[scenario], method, column, 100.0 * np.mean((pit >= 0.05) & (pit <= 0.95))
                for width in (0.5, 0.8, 0.95):
                    title = "K" + names[scenario].rpartition(",")[0][1:]
                    share = 100.0 * np.mean(np.abs(pit - 0.5) <= 0.5 * width)
                    yield title, method, column, f"{100 * width:.0f} %", share


def map_of_trust(result):
    columns = {"mackay": "MacKay (5.2), 0.5 nats", "hessian": "Hessian, 0.5 nats", "laplace": "Laplace, 0.5 nats"}
    shares = defaultdict(dict)
    for cell in result.cells:
        s = cell.cell.settings
        if s["d"] == 2 and s["width"] == s["assumed"] == 0.5:
            sets = cell.values["sets"]
            for name in columns:
                errors = np.array([nan(v) for v in sets[name]])
                shares[name, s["snr"]][s["n"]] = float(np.mean(np.abs(errors) <= 0.5))
    for (name, snr), found in shares.items():
        held = [n for n in sorted(found) if all(found[m] >= 0.9 for m in found if m >= n)]
        label = "0 (no signal)" if snr == 0.0 else f"{snr:g}"
        yield KEY, "d = 2, σ = 1", label, columns[name], held[0] if held else "–"


def field(result):
    titles = {"ours": "BayesianLSSVC", "logistic": "logistic regression", "forest": "random forest", "gpc": "GPC"}
    by = values(result, "set", "method")
    methods = sorted({method for _, method in by})
    sets = sorted({name for name, _ in by})

    def table(figure):
        return np.array([[np.mean([v[figure] for v in by[name, method]]) for method in methods] for name in sets])

    losses, right = table("log_loss"), table("accuracy")
    for j, method in enumerate(methods):
        if method in titles:
            row = (KEY, "", titles[method])
            yield *row, "rank", np.mean(rankdata(losses, axis=1)[:, j])
            yield *row, "rank, acc.", np.mean(rankdata(-right, axis=1)[:, j])
            yield *row, "log loss", np.prod(losses[:, j]) ** (1.0 / len(sets))
            yield *row, "% correct", right[:, j].mean()
            yield *row, "Brier", table("brier")[:, j].mean()


def laplace_reference(result):
    cells = [(cell.cell.settings["kind"] == "reference", cell.values) for cell in result.cells]
    for column, chosen in (("references", [v for known, v in cells if known]), ("all", [v for _, v in cells])):
        error = [np.inf if v["laplace"] is None else abs(v["laplace"]) for v in chosen]
        title = "Rank correlation with the size of Laplace's error"
        for figure, row in (("correction", "the next term of the expansion"), ("skewness", "the largest skewness")):
            size = [np.inf if v[figure] is None else abs(v[figure]) for v in chosen]
            yield title, "", row, column, spearmanr(size, error).statistic
        off = np.array(error) > 0.5
        warned = np.array([not abs(nan(v["correction"])) <= 0.5 for v in chosen])
        caught = f"{column}: caught"
        yield "Which warning works", "", "next term beyond 0.5 nats", caught, (np.sum(off & warned), np.sum(off))
    for known, v in cells:
        if known:
            name = next(c.cell.key for c in result.cells if c.values is v)
            yield "Laplace's evidence of each posterior", None, name, "Laplace", v["laplace"]


def moderated_output(result):
    by = {cell.cell.key: cell.values for cell in result.cells}
    y = np.array(by["points"]["y_test"])
    base = np.log(np.where(y > 0, by["plug-in"]["test"], 1.0 - np.array(by["plug-in"]["test"])))
    for key, title in (("plug-in", "plug-in"), ("mu-zeta-sigma", "over μ, ζ, σ"), ("bernoulli", "Bernoulli GP")):
        P = np.array(by[key]["test"])
        if key != "plug-in":
            gain = np.log(np.where(y > 0, P, 1.0 - P)) - base
            error = gain.std(ddof=1) / np.sqrt(len(gain))
            yield KEY, "", title, "minus plug-in's", (gain.mean(), error)
        yield KEY, "", title, "accuracy", np.mean((P > 0.5) == (y > 0))
        yield KEY, "", title, "log score", np.mean(np.log(np.where(y > 0, P, 1.0 - P)))
        yield KEY, "", title, "Brier", np.mean((P - (y > 0)) ** 2)


def paper0_table1(result):
    found = defaultdict(list)
    for cell in result.cells:
        for column, scores in cell.values["columns"].items():
            found[cell.cell.settings["data"], column].append(scores["accuracy"])
    for (data, column), scores in found.items():
        if column in ("LS-SVM (BayM)", "LS-SVM (CV10)", "SVM (CV10)", "GP (Bay)", "marginalised"):
            yield KEY, "", data, column, mean_sd(scores)


def paper1_table2(result):
    names = {"banana": "Banana", "breast_cancer": "Breast cancer", "heart": "Heart"}
    columns = {"lssvm-rbf": "RBF LSSVM", "lssvm-br-rbf": "RBF LSSVM-BR", "ep-gpc-rbf": "RBF EP-GPC"}
    for (data, algorithm), own in values(result, "set", "algorithm").items():
        if data in names and algorithm in columns:
            mean, sd = mean_sd([v["error"] for v in own])
            yield KEY, "", names[data], columns[algorithm], (mean, sd / np.sqrt(len(own)))


def paper2(result):
    codings = {"ovo": "1vs1", "ova": "1vsA", "moc": "MOC", "ecoc": "ECOC"}
    for (data, kernel, coding), own in values(result, "data", "kernel", "coding").items():
        second = ("bayes", "Bayes") if result.study == "paper2-table2" else ("hinge", "loss")
        for decoding, word in (("hamming", "Hamming"), second):
            if kernel == "linear":
                yield KEY, "", data, f"{word} {codings[coding]}", mean_sd([v[decoding]["accuracy"] for v in own])


def paper4_dax(result):
    returns = np.concatenate([cell.values["returns"] for cell in result.cells])
    for name in ("LS-SVM + volatility", "LS-SVM, learned noise", "LS-SVM", "ARX", "AR"):
        mean, sd = (
            np.concatenate([c.values["forecasts"][name][part] for c in result.cells]) for part in ("mean", "sd")
        )
        moved = returns != 0.0
        yield KEY, "", name, "hit rate, %", 100.0 * np.mean((mean[moved] > 0.0) == (returns[moved] > 0.0))
        yield KEY, "", name, "log score", norm.logpdf(returns, mean, sd).mean()
        if name.startswith("LS-SVM"):
            inside = np.abs(returns - mean) <= norm.ppf(0.95) * sd
            yield "Returns inside the 90 % error bars, %", "", name, "all days", 100.0 * inside.mean()


def paper4_ovarian(result):
    heads = {
        "wbc": "Wisconsin breast cancer: 30 randomisations, 426 training rows",
        "pid": "Pima diabetes: 30 randomisations, 479 training rows",
    }
    for (data,), own in values(result, "data").items():
        for model in ("LR", "LS-SVM lin", "LS-SVM RBF"):
            yield KEY, heads[data], model, "AUC (sd)", mean_sd([v["models"][model]["auc"] for v in own])


def prior_sensitivity(result):
    reference = result["all_normal_0_3"].values
    for cell in result.cells:
        s, v = cell.cell.settings, cell.values
        if s["group"] != "all":
            continue
        evidence = v["log_evidence"]
        held = evidence["held"] - evidence["linear"]
        if s["permuted"]:
            yield "Control: permuted targets", "All log parameters", s["label"], "log B", held
            continue
        row = (KEY, "All log parameters", s["label"])
        yield *row, "log evidence", evidence["rbf"]
        yield *row, "log B, σ free", evidence["rbf"] - evidence["linear"]
        yield *row, "log B, σ fixed", held
        if v is not reference:
            change = np.max(np.abs(np.array(v["probability"]) - np.array(reference["probability"])))
            yield *row, "worst ΔP", change
        moments = (v["mean"]["sigma"], v["sd"]["sigma"])
        yield "Posterior means and standard deviations", "All log parameters", s["label"], "log σ", moments


def evidence(result):
    points = [p for c in result.cells if c.cell.settings.get("part") == "curve" for p in c.values["points"]]
    exact = np.array([p["log_evidence"]["quadrature"] for p in points])
    rows = {
        "mackay": "MacKay's Occam factor (5.2)",
        "laplace": "Laplace with the prior",
        "importance": "importance sampling",
    }
    for rung, row in rows.items():
        off = np.array([nan(p["log_evidence"][rung]) for p in points]) - exact
        yield KEY, "", row, "largest error, all σ", off[np.nanargmax(np.abs(off))]
        near = np.where(exact >= exact.max() - 10.0, off, np.nan)
        yield KEY, "", row, "largest error, within 10 nats", near[np.nanargmax(np.abs(near))]
    for cell in result.cells:
        v = cell.values
        if cell.cell.settings["kind"] == "bridge":
            row = f"σ = {v['sigma']:.4g}, {'GP' if v['program'] == 'gp' else 'collapsed'} NUTS"
            yield "NUTS with bridge sampling", "", row, "difference", v["log_evidence"] - v["exact"]
            yield "NUTS with bridge sampling", "", row, "sampled", (v["log_evidence"], v["error"])


def psis_loo(result):
    title = "Largest error of one point, in nats"
    page = page_of(result)
    for row, cell in zip(page.key_table.rows, result.cells, strict=True):
        v = {name: np.array(own) for name, own in cell.values.items() if isinstance(own, list)}
        error, warns = v["latent"] - v["exact"], v["k_latent"] > cell.values["good_k"]
        yield KEY, "", row.label, "points", len(v["exact"])
        yield KEY, "", row.label, "exact elpd", v["exact"].sum()
        for method, column in (("latent", "latent"), ("collapsed", "collapsed"), ("plug_in", "plug-in")):
            yield KEY, "", row.label, column, v[method].sum() - v["exact"].sum()
        yield KEY, "", row.label, "k̂ warns", np.count_nonzero(warns)
        yield title, "", row.label, "k̂ good", np.max(np.abs(error[~warns])) if not warns.all() else "–"
        yield title, "", row.label, "k̂ warns", np.max(np.abs(error[warns])) if warns.any() else "–"
        yield title, "", row.label, "leverage", min(v["leverage"])
        yield title, "", row.label, "largest k̂", max(v["k_latent"])


def class_probabilities(result):
    """Mean gain over the moderated output, and its error over the data sets."""
    for measure, column in (("log_score", "log score"), ("accuracy", "accuracy")):
        found = defaultdict(lambda: defaultdict(list))
        for cell in result.cells:
            for way, scores in cell.values["read_outs"].items():
                if measure in scores:
                    found[way][cell.cell.settings["data"]].append(scores[measure])
        for way in ("two variances", "softmax", "(1 + z)/2", "Platt", "densities", "Bernoulli GP"):
            gains = [np.mean(own) - np.mean(found["moderated"][data]) for data, own in found[way].items()]
            mean, sd = mean_sd(gains)
            yield KEY, "", way, column, (mean, sd / np.sqrt(len(gains)))


PAGES = {
    "class-probabilities": class_probabilities,
    "calibration": calibration,
    "map-of-trust": map_of_trust,
    "field": field,
    "laplace-reference": laplace_reference,
    "moderated-output-ripley": moderated_output,
    "paper0-table1": paper0_table1,
    "paper1-table2": paper1_table2,
    "paper2-table2": paper2,
    "paper2-table3": paper2,
    "paper4-dax": paper4_dax,
    "paper4-ovarian": paper4_ovarian,
    "prior-sensitivity-hea": prior_sensitivity,
    "prior-sensitivity-ripley": prior_sensitivity,
    "evidence-hea": evidence,
    "evidence-ripley": evidence,
    "psis-loo": psis_loo,
}


# --- what they do say ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
def test_the_numbers_of_a_page_are_those_of_its_cells(name):
    result = read_result(FOLDER / f"{name}.json")
    page = page_of(result)
    cells = shown(page.key_table, *(table for section in page.sections for table in section.tables))
    checked = 0
    for table, heading, row, column, expected in PAGES[name](result):
        cell = cells[table, heading, row][column]
        assert agrees(cell, expected), f"{row}, {column}: the page says {cell}, the cells {expected}"
        checked += 1
    assert checked >= 5
