"""Prior sensitivity: exact answers under several priors, and a verdict that follows them."""

from __future__ import annotations

import dataclasses
import io
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bayes_lssvm.kernels import RBF, Linear
from bayes_lssvm.marginal import marginalise
from bayes_lssvm.marginal.ladder import quadrature_check
from bayes_lssvm.priors import Box, HyperPrior, Normal, hyper_prior_from_dict
from reports.draw.style import as_png
from reports.pages.prior_sensitivity import page
from reports.pages.prior_sensitivity.answers import Answer, answers_of
from reports.pages.prior_sensitivity.sentences import findings
from reports.pages.prior_sensitivity.tables import key_table
from validation.harness import StudyData, load_data, run
from validation.ladder import spread_rows
from validation.registry import get_study
from validation.studies.prior_sensitivity import (
    REFERENCE,
    REFERENCE_KEY,
    SEED,
    STUDY,
    TAIL_LIMIT,
    _worst_error,
    selected_sigma,
)

DOCS = Path(__file__).resolve().parents[3] / "docs"


@pytest.fixture(scope="module")
def ripley():
    return load_data("ripley")


@pytest.fixture(scope="module")
def result(ripley, tmp_path_factory):
    folder = tmp_path_factory.mktemp("prior")
    return run(get_study("prior-sensitivity"), ripley, size="toy", folder=folder, progress=False)


@pytest.fixture(scope="module")
def regression(ripley):
    """Forty points with real targets and no test set."""
    X = ripley.X[:50]
    y = np.sin(2.0 * X[:, 0]) + 0.3 * np.random.default_rng(0).normal(size=50)
    y = (y - y.mean()) / y.std(ddof=1)
    return StudyData("sine", X, y, "regression", ("a", "b"), "y", None, None, None, "0" * 64)


# --- the study


def test_cells_change_all_priors_or_one(ripley):
    cells = STUDY.cells(ripley, "full")
    assert cells[0].key == REFERENCE_KEY
    assert hyper_prior_from_dict(cells[0].settings["prior"]) == REFERENCE
    priors = {cell.key: hyper_prior_from_dict(cell.settings["prior"]) for cell in cells}
    assert priors["all_box_10"] == HyperPrior(Box(-10, 10), Box(-10, 10), Box(-10, 10))
    assert priors["mu_normal_0_1"] == HyperPrior(Normal(0, 1), Normal(0, 3), Normal(0, 3))
    assert priors["zeta_normal_3_3"] == HyperPrior(Normal(0, 3), Normal(3, 3), Normal(0, 3))
    assert priors["kernel_normal_0_10"] == HyperPrior(Normal(0, 3), Normal(0, 3), Normal(0, 10))
    assert {f"all_normal_0_{sd}" for sd in (1, 3, 10)} <= set(priors)
    assert {cell.settings["label"] for cell in cells} >= {"Normal(0, 1²)", "Normal(−3, 3²)", "Box(−10, 10)"}
    assert any(cell.settings["permuted"] for cell in cells)


def test_rows_are_all_or_a_spread_choice(ripley):
    X, y = spread_rows(ripley.X, ripley.y, 1000, SEED)
    assert X is ripley.X
    X, y = spread_rows(ripley.X, ripley.y, 80, SEED)
    assert len(X) == len(y) == 80
    assert abs(y.mean() - ripley.y.mean()) < 0.05
    again, _ = spread_rows(ripley.X, ripley.y, 80, SEED)
    assert np.array_equal(X, again)


def test_a_cell_is_what_the_library_says(ripley, result):
    X, y = spread_rows(ripley.X, ripley.y, 80, SEED)
    values = result["mu_normal_0_1"].values
    prior = HyperPrior(Normal(0, 1), Normal(0, 3), Normal(0, 3))
    exact = marginalise(X, y, kernel="rbf", prior=prior, standardise=False)
    assert values["log_evidence"]["rbf"] == pytest.approx(exact.log_evidence, abs=1e-4)
    assert values["mean"]["sigma"] == pytest.approx(exact.mean()["log_sigma"], abs=1e-3)
    linear = marginalise(X, y, kernel=Linear(), prior=prior, standardise=False)
    assert values["log_evidence"]["linear"] == pytest.approx(linear.log_evidence, abs=1e-4)
    P = exact.predict_proba(ripley.X_test)[:, 1]
    score = np.mean(np.log(np.where(ripley.y_test > 0, P, 1.0 - P)))
    assert values["log_score"] == pytest.approx(score, abs=1e-4)


def documented():
    """The evidence, moments and log losses that docs/guide/marginalisation.md prints for each prior."""
    text = (DOCS / "guide" / "marginalisation.md").read_text(encoding="utf-8")
    number = r"(-?[\d.]+)"
    pattern = rf"^(Normal\(0, \d+\)|Box\(-10, 10\)): log Z {number}, log_mu {number} ± {number}, "
    pattern += rf"log_zeta {number} ± {number}, log_sigma {number} ± {number}, log loss {number}$"
    return {m[0]: [float(v) for v in m[1:]] for m in re.findall(pattern, text, flags=re.MULTILINE)}


@pytest.mark.parametrize(("said", "key"), [("Normal(0, 1)", "all_normal_0_1"), ("Box(-10, 10)", "all_box_10")])
def test_on_ripleys_data_the_study_agrees_with_the_documentation(ripley, said, key):
    assert len(documented()) == 4
    (cell,) = [cell for cell in STUDY.cells(ripley, "full") if cell.key == key]
    values = STUDY.compute(cell, ripley).values
    mean, sd = values["mean"], values["sd"]
    found = [values["log_evidence"]["rbf"]]
    found += [one[name] for name in ("mu", "zeta", "sigma") for one in (mean, sd)]
    assert [*found, -values["log_score"]] == pytest.approx(documented()[said], abs=0.0051)
    assert values["log_score"] == pytest.approx(-documented()[said][-1], abs=6e-5)


def test_bayes_factors_and_sigma_of_ripleys_data(ripley):
    """The log Bayes factor that the documentation and the design record print for sd 3, and the three σ in order."""
    (cell,) = [cell for cell in STUDY.cells(ripley, "full") if cell.key == REFERENCE_KEY]
    values = STUDY.compute(cell, ripley).values
    assert values["held_sigma"] == pytest.approx(1.3111, abs=1e-3)
    assert values["log_evidence"]["held"] == pytest.approx(-256.475, abs=2e-3)
    assert values["log_evidence"]["held"] - values["log_evidence"]["linear"] == pytest.approx(18.65, abs=6e-3)
    assert values["log_evidence"]["rbf"] == pytest.approx(-259.22, abs=6e-3)
    assert values["held_sigma"] < values["sigma"] < 1.36


def test_the_selected_sigma_is_the_highest_density(ripley):
    """Against the density of log σ by quadrature over μ and ζ at each σ, times its prior."""
    X, y = spread_rows(ripley.X, ripley.y, 80, SEED)
    posterior = marginalise(X, y, kernel="rbf", prior=Normal(0, 1), standardise=False)
    found = np.log(selected_sigma(posterior))
    grid = found + np.array([-0.05, -0.025, 0.0, 0.025, 0.05])
    density = [
        marginalise(
            X, y, kernel=RBF(float(np.exp(u))), prior=Normal(0, 1), fixed_kernel=True, standardise=False
        ).log_evidence
        - 0.5 * u**2
        for u in grid
    ]
    curve = np.polynomial.Polynomial.fit(grid - found, density, 2).deriv()
    assert abs(float(curve.roots()[0])) < 5e-3


def test_permuted_targets_keep_the_width_and_lose_the_signal(result):
    values = result["permuted_normal_0_3"].values
    given = result[REFERENCE_KEY].values
    assert values["held_sigma"] == given["held_sigma"]
    assert set(values["log_evidence"]) == {"held", "linear"}
    assert values["log_evidence"]["held"] < given["log_evidence"]["held"] - 10.0
    assert "probability" not in values


def test_real_targets_without_a_test_set(regression, tmp_path):
    found = run(STUDY, regression, size="toy", folder=tmp_path, progress=False)
    values = found[REFERENCE_KEY].values
    assert values["log_score"] is None
    assert len(values["predicted_mean"]) == len(values["predicted_sd"]) > 50
    shown = page(found)
    assert "standard deviations (under" in shown.findings[0]
    assert "worst change, sd" in shown.key_table.header


def test_data_are_needed(tmp_path):
    with pytest.raises(ValueError, match="needs data"):
        run(STUDY, None, size="toy", folder=tmp_path, progress=False)


# --- the page


def test_the_page_opens_with_a_verdict_from_the_numbers(result):
    assert result.failed == ()
    shown = page(result)
    text = "\n".join(shown.findings)
    assert "Predictions depend on the prior a little: no probability moves by more than 0.0" in text
    assert "Of 250 rows 80 were used" in shown.introduction
    assert "log Bayes factor of the RBF kernel against the linear one is between −" in text
    assert [picture.name for picture in shown.pictures] == ["evidence", "posteriors"]
    assert all(len(picture.alt) > 60 and len(picture.caption) > 60 for picture in shown.pictures)
    assert {row.label for row in shown.key_table.rows if not row.cells} == {
        "All log parameters", "log μ alone", "log ζ alone", "log σ alone",
    }  # fmt: skip
    with Image.open(io.BytesIO(as_png(shown.pictures[0].figure, dpi=60))) as image:
        assert image.width >= 400


def answer(label, *, rbf=-100.0, linear=-120.0, mean=0.0, sigma=1.3, p=0.5, score=-0.25, sd_mu=0.5, tail=0.0):
    values = {
        "log_evidence": {"rbf": rbf, "held": rbf + 2.0, "linear": linear},
        "held_sigma": 1.3,
        "mean": {"mu": mean, "zeta": 1.0, "sigma": 0.3},
        "sd": {"mu": sd_mu, "zeta": 0.1, "sigma": 0.2},
        "sigma": sigma,
        "probability": [0.1, p],
        "log_score": score,
        "tail": tail,
    }
    return Answer("all", label, values)


def test_the_verdict_flips_with_the_numbers():
    reference = answer("A")
    same = findings(reference, [reference, answer("B", p=0.52, mean=0.1)], [])
    assert same[0].startswith(
        "Predictions hardly depend on the prior: no probability moves by more than 0.020 (under B"
    )
    assert "The data determine the hyperparameters" in same[1]
    assert "“very strong” by Kass and Raftery's scale under every prior" in same[3]
    other = findings(reference, [reference, answer("B", p=0.9, mean=-2.0, rbf=-117.0)], [])
    assert other[0].startswith("Predictions depend on the prior: no probability moves by more than 0.400")
    assert "Under 1 of the 1 other priors" in other[1]
    assert "log μ under B on all (−4.00 sd)" in other[1]
    assert "the wording of Kass and Raftery's scale depends on the prior, “strong” to “very strong”" in other[3]
    sign = findings(reference, [reference, answer("B", rbf=-121.0)], [])
    assert "even its sign depends on the prior" in sign[3]
    assert len(same) == len(sign)


def test_an_integral_without_an_end_is_told_apart():
    """Its numbers are those of the range that was searched, so that no verdict rests on them."""
    reference = answer("A")
    answers = [reference, answer("B", p=0.9, rbf=-121.0, tail=0.4)]
    said = findings(reference, [*answers, answer("C")], [])
    assert said[0].startswith("Predictions hardly depend on the prior")
    assert "under every prior" in said[3]
    assert said[-1].startswith("Under 1 prior the integral extends beyond the range that is searched (B on all)")
    assert findings(reference, answers, [])[0] == "There is no answer to compare with that under A on all."
    table = key_table(reference, answers)
    assert [row.label.strip() for row in table.rows] == ["All log parameters", "A", "B †"]
    assert "†" in table.note
    assert "†" not in key_table(reference, [reference]).note


def test_a_wide_prior_on_linear_data_is_integrated_to_its_end():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + 0.5 * rng.normal(size=60)
    data = StudyData("line", X, (y - y.mean()) / y.std(ddof=1), "regression", ("a", "b"), "y", None, None, None, "0")
    cells = {cell.key: cell for cell in STUDY.cells(data, "full")}
    wide = STUDY.compute(cells["all_normal_0_10"], data)
    assert wide.values["tail"] < TAIL_LIMIT
    assert wide.checks[0].passed
    assert STUDY.compute(cells["all_normal_0_1"], data).values["tail"] < TAIL_LIMIT
    posterior = marginalise(X[:20], data.y[:20], kernel="rbf", prior=Normal(0, 3), standardise=False)
    cut = dataclasses.replace(posterior, tail=0.5, log_evidence_error=0.5)
    assert quadrature_check(_worst_error((cut,), whole=False)).passed
    assert not quadrature_check(_worst_error((cut,), whole=True)).passed  # all else is measured from the reference


def test_the_control_says_what_the_prior_does():
    reference = answer("A")
    control = findings(reference, [reference, answer("B")], [answer("A", sd_mu=0.6), answer("B", sd_mu=5.5)])
    assert "0.60 under A on all and 5.50 under B on all" in control[-1]
    assert len(control) == len(findings(reference, [reference, answer("B")], [])) + 1


def test_the_table_marks_the_reference(result):
    reference, answers, permuted = answers_of(result)
    assert answers[0] is reference
    assert len(permuted) == 1
    rows = {row.label.strip(): row.cells for row in key_table(reference, answers).rows[:4]}
    assert rows["Normal(0, 3²)"][4] == "–"
    assert float(rows["Normal(0, 1²)"][4]) > 0.0


def test_without_the_reference_there_is_no_page(result):
    broken = dataclasses.replace(result.cells[0], values={}, error="It broke.")
    with pytest.raises(KeyError, match=REFERENCE_KEY):
        page(dataclasses.replace(result, cells=(broken, *result.cells[1:])))
