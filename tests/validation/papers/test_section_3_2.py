"""Section 3.2 of paper 0: the read-outs by their definitions or by other programs, the study and its page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import gaussian_kde
from sklearn.calibration import _sigmoid_calibration

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.press.leave_one_out import leave_one_out
from reports.pages import page_of
from reports.pages.class_probabilities import answer, badge, findings
from validation.harness import run
from validation.harness.scores import Gain
from validation.papers.paper0 import section_3_2
from validation.papers.paper0.read_outs import (
    bias_moved,
    class_precisions,
    densities,
    one_plus_z,
    platt,
    read_outs,
    two_variances,
)
from validation.papers.paper0.section_3_2 import DECISIONS, OURS, STUDY, Compared, compared, overall
from validation.papers.paper0.table1 import part


@pytest.fixture(scope="module")
def outputs():
    rng = np.random.default_rng(2)
    y = np.where(rng.random(80) < 0.4, 1.0, -1.0)
    return 0.7 * y + rng.normal(0.0, 0.6, 80), y


@pytest.fixture(scope="module")
def overlapping():
    rng = np.random.default_rng(1)
    y = np.where(rng.random(120) < 0.35, 1.0, -1.0)
    X = rng.normal(size=(120, 2)) * np.where(y > 0, 0.6, 1.4)[:, None]
    X[:, 0] += y
    return X[:70], y[:70], X[70:], y[70:]


def test_platts_sigmoid_is_scikit_learns(outputs):
    z, y = outputs
    a, b = _sigmoid_calibration(z, y)
    new = np.linspace(-2.0, 2.0, 9)
    assert np.allclose(expit(platt(z, y)(new)), 1.0 / (1.0 + np.exp(a * new + b)), atol=1e-5)


def test_densities_are_scipys(outputs):
    z, y = outputs
    new = np.linspace(-2.0, 2.0, 9)
    log_odds = 0.0
    for sign in (1.0, -1.0):
        own = z[y == sign]
        kde = gaussian_kde(own, bw_method=1.06 * len(own) ** -0.2)
        log_odds = log_odds + sign * np.log(len(own) * kde(new))
    assert np.allclose(densities(z, y)(new), log_odds, atol=1e-10)


def test_the_bias_is_moved_to_the_most_right_labels(outputs):
    z, y = outputs
    found = np.sum((bias_moved(z, y)(z) > 0) == (y > 0))
    assert found == max(np.sum((z > t) == (y > 0)) for t in np.linspace(-4.0, 4.0, 4001))
    assert found >= np.sum((z > 0) == (y > 0))
    apart = np.array([-2.0, -1.0, 1.0, 2.0])
    assert np.array_equal(bias_moved(apart, np.sign(apart))(np.array([-1e-9, 1e-9])), [-np.inf, np.inf])
    shifted = apart + 5.0  # the nearest end of the range of thresholds is 4, and its middle 5
    assert np.array_equal(bias_moved(shifted, np.sign(apart))(np.array([4.9, 5.1])), [-np.inf, np.inf])


def test_one_plus_z_is_a_probability_within_its_bounds():
    p = expit(one_plus_z(8)(np.array([-3.0, -1.0, -0.2, 0.0, 0.6, 5.0])))
    assert np.allclose(p, [0.1, 0.1, 0.4, 0.5, 0.8, 0.9])


def test_one_variance_is_the_librarys_moderated_output_and_two_average_to_it(overlapping):
    X, y, new, _ = overlapping
    model = BayesianLSSVC(prior="flat", moderation="class", standardise=False, random_state=0).fit(X, y)
    found = read_outs(X, y, new, 0)
    assert np.allclose(expit(found["moderated"]), model.predict_proba(new)[:, 1], atol=1e-10)
    n_plus, n_minus = np.sum(y > 0), np.sum(y < 0)
    plus, minus = class_precisions(model.latent(X), y, model.gamma_eff_)
    # the scatters of both classes are the scatter that ζ_* is measured on
    assert n_plus / plus + n_minus / minus == pytest.approx(len(y) / model.zeta_star_, rel=1e-8)
    assert plus > 1.3 * minus  # the first class is narrower
    moments = model.centres_.moments(model.posterior_, new)
    prior = np.log(n_plus / n_minus)
    e_plus, e_minus = moments
    by_hand = [
        np.exp(-0.5 * e.mean**2 / (1.0 / z + e.variance)) / np.sqrt(1.0 / z + e.variance)
        for e, z in ((e_plus, plus), (e_minus, minus))
    ]
    odds = n_plus * by_hand[0] / (n_minus * by_hand[1])
    assert np.allclose(np.exp(two_variances(*moments, (plus, minus), prior)), odds, rtol=1e-10)
    assert np.allclose(found["two variances"], np.log(odds), atol=1e-9)
    assert not np.allclose(found["two variances"], found["moderated"], atol=0.05)


def test_other_forms_are_the_librarys_and_the_decisions_those_of_the_output(overlapping):
    X, y, new, _ = overlapping
    found = read_outs(X, y, new, 0)
    for name, moderation in (("softmax", "softmax"), ("library", "loo")):
        model = BayesianLSSVC(prior="flat", moderation=moderation, standardise=False, random_state=0).fit(X, y)
        assert np.allclose(expit(found[name]), model.predict_proba(new)[:, 1], atol=1e-9)
    assert np.array_equal(found["sign"] > 0, model.latent(new) >= 0.0)
    assert np.array_equal(found["(1 + z)/2"] >= 0, found["sign"] > 0)


def test_read_outs_do_not_see_test_rows(overlapping):
    X, y, new, _ = overlapping
    alone, among = read_outs(X, y, new[:5], 0), read_outs(X, y, new, 0)
    for name, odds in alone.items():
        assert np.allclose(odds, among[name][:5], atol=1e-9)


def test_on_rsy_normal_densities_make_the_moderated_output_too_sure():
    """Normal densities of left-out outputs do no better, kernel densities of training outputs nearly as well as Platt.

    So it is their shape, not that errors are measured on training rows. Log scores on four of the ten randomisations.
    """
    scores: dict[str, list[float]] = {}
    for r in (0, 2, 4, 7):
        X, y, X_test, y_test = part("rsy", r)
        model = BayesianLSSVC(prior="flat", moderation="class", standardise=False, random_state=r).fit(X, y)
        assert model.level3_.level2.status == "interior"
        left_out = leave_one_out(model.kernel_(X), y, model.gamma_).predictions
        z, own = np.asarray(model.latent(X_test)), np.asarray(model.latent(X))
        plus, minus = left_out[y > 0], left_out[y < 0]
        variance = (len(plus) * plus.var() + len(minus) * minus.var()) / len(y)
        normal = ((z - minus.mean()) ** 2 - (z - plus.mean()) ** 2) / (2.0 * variance) + np.log(len(plus) / len(minus))
        for name, odds in (
            ("moderated", model.decision_function(X_test)),
            ("normal, left out", normal),
            ("kernel, left out", densities(left_out, y)(z)),
            ("kernel, training", densities(own, y)(z)),
            ("Platt", platt(left_out, y)(z)),
        ):
            scores.setdefault(name, []).append(-float(np.mean(np.logaddexp(0.0, -y_test * odds))))
    mean = {name: float(np.mean(values)) for name, values in scores.items()}
    assert mean["normal, left out"] == pytest.approx(mean["moderated"], abs=0.02)
    assert mean["kernel, training"] > mean["moderated"] + 0.1
    assert mean["kernel, training"] == pytest.approx(mean["kernel, left out"], abs=0.03)
    assert mean["Platt"] > mean["moderated"] + 0.15


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    return run(STUDY, None, size="toy", folder=tmp_path_factory.mktemp("cells"), progress=False)


def test_the_study_scores_and_its_page_shows_the_gains(toy):
    assert not [f.error for f in toy.cells if f.error]
    found = compared(toy, "log_score")
    assert set(found) == {"cra"}
    assert not set(DECISIONS) & set(found["cra"])
    scores = [[f.values["read_outs"][way]["log_score"] for f in toy.cells] for way in ("Platt", OURS)]
    gain = np.subtract(*scores)
    assert found["cra"]["Platt"].gain == pytest.approx((gain.mean(), gain.std(ddof=1) / np.sqrt(2.0)))
    brier = compared(toy, "brier")["cra"]["softmax"]
    assert brier.gain.mean < 0.0 < brier.mean - compared(toy, "brier")["cra"][OURS].mean
    shown = page_of(toy)
    cells = {row.label: row.cells for row in shown.key_table.rows}
    assert cells["sign"][0] == "–"
    assert cells["Platt"][0] == f"{gain.mean():+.3f}".replace("-", "−")  # one set has no error over sets
    assert len(shown.sections) == 4


def test_the_answer_follows_the_clear_gains_on_single_sets():
    assert [badge(gains) for gains in ([], [0.019], [0.01, 0.05])] == ["holds", "with care", "fails"]

    def one(mean, error):
        return Compared(-0.3 + mean, Gain(mean, error))

    found = {
        "a": {OURS: one(0.0, 0.0), "Platt": one(0.05, 0.01), "softmax": one(-0.2, 0.01)},
        "b": {OURS: one(0.0, 0.0), "Platt": one(0.05, 0.04), "softmax": one(-0.1, 0.09)},
    }
    said = answer(found)
    assert said.badge == "fails"
    assert "on 1 of 2 data sets, by up to 0.05 nats a row." in said.verdict
    assert said.points[0] == "Platt: clearly better on 1 and clearly worse on 0 of 2 sets."
    assert findings(found, {"log_score": overall(found)})[0].endswith(
        "worse log score: Platt 1 and 0, softmax 0 and 1."
    )
    assert "Platt's: +0.050 ± 0.000 nats" in said.points[1]


def test_gains_over_sets_have_the_error_of_their_mean(toy):
    found = compared(toy, "log_score")
    other = {way: one._replace(gain=Gain(one.gain.mean + 0.2, 0.0)) for way, one in found["cra"].items()}
    both = overall({**found, "another": other})
    assert both["Platt"].mean == pytest.approx(found["cra"]["Platt"].gain.mean + 0.1)
    assert both["Platt"].error == pytest.approx(0.1)
    assert OURS not in both


def test_a_process_is_left_out_for_many_rows(monkeypatch, toy):
    monkeypatch.setattr(section_3_2, "GP_ROWS", 10)
    values = STUDY.compute(toy.cells[0].cell, None).values["read_outs"]
    assert section_3_2.PROCESS not in values
    fewer = replace(toy, cells=(replace(toy.cells[0], values={"read_outs": values}), toy.cells[1]))
    assert section_3_2.PROCESS not in compared(fewer, "log_score")["cra"]


def test_rows_that_repeat_are_counted_where_there_are_many(monkeypatch, toy):
    """Sixty rows of nine distinct inputs: with a limit of thirty rows the process is that of all sixty."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(90, 2)) - 1.0
    y = np.where(X[:, 0] + X[:, 1] + rng.normal(size=90) > 0.0, 1.0, -1.0)
    monkeypatch.setattr(section_3_2, "part", lambda *_: (X[:60], y[:60], X[60:], y[60:]))
    scores = []
    for limit in (1000, 30):
        monkeypatch.setattr(section_3_2, "GP_ROWS", limit)
        scores.append(STUDY.compute(toy.cells[0].cell, None).values["read_outs"][section_3_2.PROCESS])
    assert scores[1] == pytest.approx(scores[0], rel=1e-4)
    rows, labels, counts = section_3_2.distinct(X[:60], y[:60])
    assert len(labels) == len(counts) <= 18
    assert counts @ (labels > 0.0) == np.sum(y[:60] > 0.0)
    assert np.allclose(counts @ rows, X[:60].sum(axis=0))
