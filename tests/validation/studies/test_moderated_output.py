"""The study of the moderated output and its page: direct calls, made-up probabilities, splits and planes."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bayes_lssvm import BayesianLSSVC, marginalise
from bayes_lssvm.kernels import RBF
from reports.pages.moderated_output import page
from reports.pages.moderated_output.sentences import Probabilities, outside_error
from validation.harness import Cell, FinishedCell, StudyData, StudyResult, load_data, run
from validation.harness.scores import binary_scores
from validation.registry import get_study
from validation.studies.moderated_output import LABELS, METHODS, STUDY
from validation.studies.moderated_output.methods import PRIOR, at_draw
from validation.studies.moderated_output.points import describe, points_of

PLACES = {"points": 40, "test": 100, "grid": 13}


@pytest.fixture(scope="module")
def ripley():
    return load_data("ripley")


@pytest.fixture(scope="module")
def toy(ripley, tmp_path_factory):
    return run(STUDY, ripley, size="toy", folder=tmp_path_factory.mktemp("moderated-output"), progress=False)


@pytest.fixture(scope="module")
def points(ripley):
    return points_of(ripley, PLACES)


def some_data(n=60, d=2, **changes):
    rng = np.random.default_rng(d)
    X = rng.normal(size=(n, d)) * np.linspace(2.0, 1.0, d)
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0.3, 1.0, -1.0)
    names = tuple(f"x{i}" for i in range(d))
    made = StudyData("made", X, y, "classification", names, "label", ("no", "yes"), None, None, "0" * 64)
    return replace(made, **changes)


def made_up(data, shift):
    """A result whose methods have smooth probabilities of the first input, moved by `shift[method]` in log odds."""
    places = points_of(data, PLACES)
    cells = [FinishedCell(Cell("points", {"method": "points"}), as_lists(describe(places, data)))]
    for method in METHODS:
        slope, offset, error = {"plug-in": (1.0, 0.0, None), **shift}.get(method, (1.0, 0.0, None))
        odds = slope * 2.0 * places.all_new[:, 0] - 0.6 + offset
        p, m = 1.0 / (1.0 + np.exp(-odds)), len(places.X_test)
        values = {"test": p[:m].tolist(), "map": p[m:].tolist(), "sigma": 1.0}
        if method in ("nuts", "bernoulli"):
            values["test_error"] = np.full(m, 1e-4 if error is None else error).tolist()
        settings = {"method": method, "chains": 4, "draws": 10, "warmup": 5, "averaged": 7}
        cells.append(FinishedCell(Cell(method, settings), values))
    return StudyResult("moderated-output", STUDY.title, "toy", data.describe(), tuple(cells), {}, Path())


def as_lists(values):
    return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in values.items()}


# --- the study -------------------------------------------------------------------------------------------------------


def test_every_cell_is_computed_and_passes_its_checks(toy):
    assert get_study("moderated-output") is STUDY
    assert toy.failed == ()
    for method in METHODS:
        p = np.array(toy[method].values["test"] + toy[method].values["map"])
        assert p.shape == (100 + 13 * 13,)
        assert np.all((p >= 0.0) & (p <= 1.0))
    assert {c.name for c in toy["bernoulli"].checks} >= {"R-hat", "bulk ESS", "divergences"}
    assert toy["nuts"].draws is not None


def test_deterministic_methods_are_what_direct_calls_give(toy, points):
    model = BayesianLSSVC("rbf", prior="flat", moderation="class", standardise=False).fit(points.X, points.y)
    np.testing.assert_allclose(toy["plug-in"].values["test"], model.predict_proba(points.X_test)[:, 1], atol=1e-12)
    assert toy["plug-in"].values["sigma"] == pytest.approx(model.kernel_.sigma)
    held = marginalise(
        points.X, points.y, kernel=model.kernel_, prior=PRIOR, fixed_kernel=True, progress=False, standardise=False
    )
    np.testing.assert_allclose(toy["mu-zeta"].values["map"], held.predict_proba(points.plane)[:, 1], atol=1e-12)
    free = marginalise(points.X, points.y, kernel=RBF(1.0), prior=PRIOR, progress=False, standardise=False)
    assert toy["mu-zeta-sigma"].values["log_evidence"] == pytest.approx(free.log_evidence, abs=1e-10)


def test_level_1_at_the_most_probable_values_is_the_plug_in(toy, points):
    values = toy["plug-in"].values
    p = at_draw(points, RBF(values["sigma"]), values["mu"], values["zeta"])
    np.testing.assert_allclose(p, values["test"] + values["map"], atol=1e-9)


def test_averages_over_draws_agree_with_quadrature(toy):
    sampled = Probabilities(*(np.array(toy["nuts"].values[k]) for k in ("test", "map", "test_error")))
    exact = Probabilities(*(np.array(toy["mu-zeta-sigma"].values[k]) for k in ("test", "map")), np.zeros(100))
    assert outside_error(sampled, exact).mean() < 0.05
    assert sampled.test_error.max() > 1e-4


def test_real_targets_are_refused():
    data = some_data(y=np.linspace(-1, 1, 60), task="regression", class_names=None)
    with pytest.raises(ValueError, match="compares class probabilities, but 'label' of made holds real numbers"):
        STUDY.cells(data, "toy")


def test_data_without_a_test_set_are_split_within_classes():
    data = some_data(n=90)
    found = points_of(data, {**PLACES, "points": 500})
    assert (len(found.X), len(found.X_test)) == (60, 30)
    assert np.mean(found.y > 0) == pytest.approx(np.mean(data.y > 0), abs=0.02)
    np.testing.assert_allclose(found.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(found.X.std(axis=0, ddof=1), 1.0)
    again = points_of(data, {**PLACES, "points": 500})
    np.testing.assert_array_equal(found.X_test, again.X_test)
    fewer = points_of(data, PLACES)
    assert (len(fewer.X), len(fewer.X_test)) == (40, 30)


def test_a_test_set_is_used_as_it_is(ripley):
    found = points_of(ripley, {"points": 300, "test": 2000, "grid": 5})
    np.testing.assert_array_equal(found.X, ripley.X)
    np.testing.assert_array_equal(found.X_test, ripley.X_test)


def test_the_map_is_the_plane_of_two_principal_components():
    found = points_of(some_data(d=5), PLACES)
    np.testing.assert_allclose(found.directions.T @ found.directions, np.eye(2), atol=1e-12)
    assert found.plane.shape == (169, 5)
    centred = found.plane - found.origin
    np.testing.assert_allclose(centred @ found.directions @ found.directions.T, centred, atol=1e-12)
    variance = np.linalg.eigvalsh(np.cov(found.X.T))[::-1]
    assert found.explained == pytest.approx(variance[:2].sum() / variance.sum())
    plane = points_of(some_data(d=2), PLACES)
    assert plane.explained == 1.0
    assert plane.plane[:13, 1] == pytest.approx(plane.second[0])
    line = points_of(some_data(d=1), PLACES)
    assert line.plane.shape == (52, 1)


# --- the page --------------------------------------------------------------------------------------------------------


def test_the_page_of_a_run(toy, points):
    built = page(toy)
    assert [row.label for row in built.key_table.rows] == list(LABELS.values())
    own = binary_scores(np.array(toy["plug-in"].values["test"]), points.y_test)
    assert built.key_table.rows[0].cells[0] == f"{own.accuracy:.3f}"
    assert built.key_table.rows[0].cells[3] == f"{own.brier:.4f}"
    worst = np.abs(np.array(toy["plug-in"].values["test"]) - np.array(toy["mu-zeta-sigma"].values["test"])).max()
    assert f"moves P by at most {worst:.3f} at a test point" in built.findings[0]
    assert "40 points, chosen from the 250 of the training part, spread over the classes" in built.methods[0]
    assert "100 points, chosen from the 1000 of the data set's own test part" in built.methods[0]
    assert [p.name for p in built.pictures] == ["maps", "differences", "reliability"]
    for picture in built.pictures:
        stream = io.BytesIO()
        picture.figure.savefig(stream, format="png", dpi=50)
        assert len(stream.getvalue()) > 5000


def test_the_verdict_when_nothing_differs():
    said = page(made_up(some_data(n=240), {})).findings
    assert said[0].startswith("Fixing the hyperparameters changes little here")
    assert "agrees with quadrature at all 80 test points" in said[1]
    assert any(s.startswith("No method's log score differs") for s in said)


def test_the_verdict_when_methods_differ():
    shift = {"plug-in": (1.0, 1.5, None), "nuts": (1.0, 0.4, 1e-3), "bernoulli": (1.0, -6.0, 0.01)}
    built = page(made_up(some_data(n=240), shift))
    said = built.findings
    assert said[0].startswith("Fixing the hyperparameters changes probabilities that matter here")
    assert "With μ and ζ integrated out and σ alone fixed, 0.000 of that remains" in said[0]
    assert "is farther from quadrature than three Monte-Carlo standard errors at" in said[1]
    (scores,) = [s for s in said if s.startswith("By the log score")]
    assert "Bernoulli GP is worse than the plug-in" in scores
    (table,) = built.sections[0].tables
    worst = {row.label: float(row.cells[0]) for row in table.rows}
    assert worst["over μ, ζ − over μ, ζ, σ"] == 0.0
    assert worst["plug-in − over μ, ζ, σ"] == pytest.approx(np.tanh(1.5 / 4), abs=0.01)  # largest at the middle


@pytest.mark.parametrize("d", [1, 4])
def test_pages_of_one_input_and_of_many(d):
    built = page(made_up(some_data(d=d), {"bernoulli": (0.5, 0.3, 0.01)}))
    caption = built.pictures[0].caption
    assert ("along the one input" if d == 1 else "first two principal components") in caption
    assert "20 points, all of a third set aside within each class, by seed 0" in built.methods[0]
    for picture in built.pictures[: 2 if d == 1 else 1]:
        picture.figure.savefig(io.BytesIO(), format="png", dpi=40)


def test_names_of_users_are_drawn_as_they_are():
    data = some_data(class_names=("a$b", "<i>c$d</i>"), feature_names=("$x", "y_1$"))
    built = page(made_up(data, {}))
    assert "<i>c$d</i>" in built.pictures[0].caption  # the frame escapes it
    labels = [axes.get_xlabel() for axes in built.pictures[0].figure.axes]
    assert r"\$x (standardised)" in labels
    built.pictures[0].figure.savefig(io.BytesIO(), format="png", dpi=40)  # an open formula would be an error


def test_methods_that_failed_are_left_out():
    result = made_up(some_data(), {})
    cells = tuple(
        FinishedCell(f.cell, {}, error="Could not be computed.") if f.cell.key == "bernoulli" else f
        for f in result.cells
    )
    built = page(replace(result, cells=cells))
    assert [row.label for row in built.key_table.rows] == [LABELS[m] for m in METHODS if m != "bernoulli"]
    assert not any("Bernoulli" in s for s in built.findings)
