"""Paper 4's case studies: the weighted LS-SVM against dense Gaussians, no look at test rows or at the future, pages."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from markupsafe import escape
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal

from bayes_lssvm import BayesianLSSVR
from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.level2 import log_evidence
from bayes_lssvm.levels.solvers import solve_cholesky
from bayes_lssvm.linalg.spectrum import TridiagonalReduction
from bayes_lssvm.selection.inputs import forward_selection, stepwise_selection
from reports.frame.html import as_html, draw
from reports.pages import paper4_dax as dax_page
from reports.pages import paper4_ovarian as ovarian_page
from reports.pages.paper4_ovarian import sentences as ovarian_sentences
from validation.harness import run, splits
from validation.papers.paper4 import ovarian as paper4_ovarian
from validation.papers.paper4 import volatility as paper4_volatility
from validation.papers.paper4.dax import COLUMNS, trading
from validation.papers.paper4.dax import STUDY as DAX_STUDY
from validation.papers.paper4.dax import table as dax_table
from validation.papers.paper4.dax_models import MODELS, forecast_block
from validation.papers.paper4.dax_series import DAX, activity, all_lags, inputs_for, own_lags, prices, returns_of
from validation.papers.paper4.dax_strategy import hit_rate, positions, profits, sign_test, turnover
from validation.papers.paper4.ovarian_pipeline import MODELS as PIPELINE
from validation.papers.paper4.ovarian_pipeline import both_searches, design
from validation.papers.paper4.roc import FALSE_POSITIVE_RATES, analyse, at_cut_off, paired_difference
from validation.papers.paper4.volatility import (
    SMALLEST_SQUARE,
    fit_weighted,
    left_out,
    volatility,
    weighted_evidence,
)

quiet = pytest.mark.filterwarnings("ignore::bayes_lssvm.base.errors.BayesLSSVMWarning")


# --- the weighted LS-SVM ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def heteroscedastic():
    """Sixty points of a sine whose noise grows along the input: X, y, and the relative precisions."""
    rng = np.random.default_rng(4)
    X = np.sort(rng.uniform(-2.0, 2.0, size=(60, 1)), axis=0)
    sd = np.exp(0.9 * X[:, 0] - 1.0)
    return X, np.sin(2.0 * X[:, 0]) + sd * rng.normal(size=60) + 0.7, 1.0 / sd**2


def dense_log_evidence(K, y, weights, mu, zeta):
    """∫ Normal(y; b1, K/μ + diag(1/(ζw))) db, by generalised least squares."""
    S = K / mu + np.diag(1.0 / (zeta * weights))
    inverse = np.linalg.inv(S)
    total = inverse.sum()
    b = inverse.sum(axis=0) @ y / total
    peak = multivariate_normal(np.full(len(y), b), S).logpdf(y)
    return peak + 0.5 * np.log(2.0 * np.pi / total)


@pytest.mark.parametrize(("mu", "zeta"), [(1.0, 1.0), (0.2, 5.0), (30.0, 0.1)])
def test_weighted_evidence_is_that_of_the_dense_gaussian(heteroscedastic, mu, zeta):
    X, y, w = heteroscedastic
    K = RBF(0.8)(X)
    ours = log_evidence(TridiagonalReduction.from_kernel_matrix(K, y, w), mu, zeta)
    assert ours == pytest.approx(dense_log_evidence(K, y, w, mu, zeta), rel=1e-10)


def test_mode_of_the_weighted_evidence_is_that_of_the_dense_gaussian(heteroscedastic):
    X, y, w = heteroscedastic
    K = RBF(0.8)(X)
    mode = weighted_evidence(K, y, w).level2
    best = dense_log_evidence(K, y, w, mode.mu, mode.zeta)
    for factor in (0.99, 1.01):
        assert dense_log_evidence(K, y, w, mode.mu * factor, mode.zeta) < best
        assert dense_log_evidence(K, y, w, mode.mu, mode.zeta * factor) < best


def test_weighted_forecast_is_the_conditional_of_a_dense_gaussian(heteroscedastic):
    X, y, w = heteroscedastic
    fitted = fit_weighted(X, y, w)
    model = fitted.posterior
    new = np.array([[-2.5], [0.1], [1.9]])
    mean, variance = fitted.moments(new)
    flat = 1e6  # variance of the bias: wide enough to be flat at the tolerance
    prior = model.kernel(np.vstack([X, new])) / model.mu + flat
    n = len(y)
    S = prior[:n, :n] + np.diag(1.0 / (model.zeta * w))
    gain = np.linalg.solve(S, prior[:n, n:]).T
    np.testing.assert_allclose(mean, gain @ y, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(variance, np.diag(prior[n:, n:] - gain @ prior[:n, n:]), rtol=1e-3)


def test_equal_weights_give_the_librarys_regressor(heteroscedastic):
    X, y, _ = heteroscedastic
    Z = (X - X.mean()) / X.std(ddof=1)
    refined = BayesianLSSVR(prior="flat").fit(Z, y)
    weighted = fit_weighted(Z, y, np.ones(len(y)))
    assert weighted.log_evidence == pytest.approx(refined.log_evidence_, abs=1e-2)
    held = BayesianLSSVR(weighted.posterior.kernel, refine=False, prior="flat", standardise=False).fit(Z, y)
    mean, variance = weighted.moments(Z[::7] + 0.1)
    ours, sd = held.latent(Z[::7] + 0.1, return_std=True)
    np.testing.assert_allclose(mean, ours, rtol=1e-8)
    np.testing.assert_allclose(variance, sd**2, rtol=1e-6)


@pytest.mark.parametrize("scale", [0.02, 1.0, 300.0])
def test_the_width_is_the_best_of_a_dense_grid(heteroscedastic, scale):
    """Between 0.3 and 30 times √(2d); in units in which the best is outside it is at the end."""
    X, y, w = heteroscedastic
    X = scale * X
    low, high = np.log([0.3 * np.sqrt(2.0), 30.0 * np.sqrt(2.0)])
    grid = np.linspace(low, high, 150)
    best = max(weighted_evidence(RBF(float(np.exp(u)))(X), y, w).log_evidence for u in grid)
    found = fit_weighted(X, y, w)
    assert low - 1e-9 <= np.log(found.posterior.kernel.sigma) <= high + 1e-9
    assert found.log_evidence >= best - 1e-3
    assert found.log_evidence == weighted_evidence(found.posterior.kernel(X), y, w).log_evidence


@pytest.mark.parametrize("scale", [0.02, 1.0, 300.0])
def test_the_width_is_sought_between_the_neighbours_of_the_best_start(heteroscedastic, scale, monkeypatch):
    X, y, w = heteroscedastic
    X, starts, asked = scale * X, np.log(paper4_volatility.WIDTHS * np.sqrt(2.0)), []

    def bounded(cost, bounds, **settings):
        asked.append(bounds)
        return minimize_scalar(cost, bounds=bounds, **settings)

    monkeypatch.setattr(paper4_volatility, "minimize_scalar", bounded)
    fit_weighted(X, y, w)
    evidences = [weighted_evidence(RBF(float(np.exp(u)))(X), y, w).log_evidence for u in starts]
    best = int(np.argmax(evidences))
    assert {0.02: best == 0, 1.0: 0 < best < 8, 300.0: best == 8}[scale]
    near = [u for k, u in enumerate(starts) if abs(k - best) <= 1]
    assert asked == [(min(near), max(near))]


def test_weights_scale_into_zeta(heteroscedastic):
    X, y, w = heteroscedastic
    K = RBF(0.8)(X)
    one, seven = weighted_evidence(K, y, w), weighted_evidence(K, y, 7.0 * w)
    # Occam factors do not see the scale, so neither does the evidence
    assert seven.level2.zeta == pytest.approx(one.level2.zeta / 7.0, rel=1e-6)
    assert seven.log_evidence == pytest.approx(one.log_evidence, abs=1e-6)


def test_right_weights_have_the_larger_evidence(heteroscedastic):
    X, y, w = heteroscedastic
    assert fit_weighted(X, y, w).log_evidence > fit_weighted(X, y, np.ones(len(y))).log_evidence + 10.0


@quiet  # the truth is linear, and so is a very wide kernel
def test_second_lssvm_finds_the_volatility():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    new = rng.normal(size=(100, 2))
    errors = np.exp(0.8 * X[:, 0]) * rng.normal(size=300)
    found = volatility(X, errors, new, seed=0)
    assert found.status == "interior"
    assert np.corrcoef(-0.5 * np.log(found.new), new[:, 0])[0, 1] > 0.9
    assert np.log(found.train).mean() == pytest.approx(0.0, abs=1e-12)


@quiet
def test_training_weights_have_not_seen_their_own_error():
    """Each is that of a second LS-SVM solved without the point."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 1))
    errors = rng.normal(size=80) * np.exp(X[:, 0])
    u = np.log(errors**2 + SMALLEST_SQUARE)
    model = BayesianLSSVR("rbf", prior="flat").fit(X, u)
    K, inside = model.kernel_(model.X_fit_), left_out(model)
    for i in (0, 11, 79):
        others = np.delete(np.arange(80), i)
        alpha, b = solve_cholesky(K[np.ix_(others, others)], u[others], model.gamma_)
        assert inside[i] == pytest.approx(K[i, others] @ alpha + b, rel=1e-7)
    new = X[:5] + 0.3
    weights = volatility(X, errors, new, seed=0)
    np.testing.assert_allclose(weights.train, np.exp(inside.mean() - inside), rtol=1e-10)
    np.testing.assert_allclose(weights.new, np.exp(inside.mean() - model.predict(new)), rtol=1e-10)


# --- no look-ahead ---------------------------------------------------------------------------------------------------

FIRST, LENGTH, PAST = 300, 12, 90


@pytest.fixture(scope="module")
def some_block():
    return forecast(prices()[0])


def forecast(P):
    return forecast_block(returns_of(P), FIRST, LENGTH, window=PAST, seed=3, orders=(1, 2)).forecasts


def same(ours, theirs, days):
    return all(
        np.array_equal(getattr(ours[name], part)[:days], getattr(theirs[name], part)[:days])
        for name in MODELS
        for part in ("mean", "sd")
    )


@pytest.mark.parametrize("known", [0, 5])
def test_forecasts_do_not_know_the_future(some_block, known):
    """The forecast of day FIRST + k needs the prices up to the day before: later ones replaced, it stays to the bit."""
    P = np.array(prices()[0])
    last = FIRST + known + 1  # the first price after which the forecasts of `known` + 1 days must not change
    rng = np.random.default_rng(known)
    replaced = P.copy()
    replaced[last:] = rng.uniform(500.0, 5000.0, size=replaced[last:].shape)
    assert same(some_block, forecast(replaced), known + 1)
    shuffled = P.copy()
    shuffled[last:] = rng.permutation(shuffled[last:], axis=0)
    assert same(some_block, forecast(shuffled), known + 1)
    if known < LENGTH - 1:  # and the test can fail: the day after does depend on what was replaced
        assert not same(some_block, forecast(replaced), LENGTH)


def test_forecasts_do_know_the_past(some_block):
    P = np.array(prices()[0])
    P[FIRST - 3, DAX] *= 1.2
    assert not same(some_block, forecast(P), 1)


def test_inputs_are_made_of_the_days_before():
    returns = np.arange(200.0).reshape(50, 4)
    seen = []

    def record(past):
        seen.append(len(past))
        return past[-1]

    inputs_for(returns, range(30, 34), record)
    assert seen == [30, 31, 32, 33]
    np.testing.assert_array_equal(own_lags(3)(returns[:30]), returns[[29, 28, 27], DAX])
    np.testing.assert_array_equal(all_lags(2)(returns[:30]), [*returns[29], *returns[28]])
    np.testing.assert_allclose(
        activity(returns[:30])[:3], [returns[29, 0], returns[25:30, 0].mean(), returns[10:30, 0].mean()]
    )


def test_a_window_before_the_series_is_refused():
    with pytest.raises(ValueError, match="inputs need 20 returns before the first"):
        forecast_block(returns_of(prices()[0]), 100, 5, window=90, seed=0)


# --- strategies ------------------------------------------------------------------------------------------------------


def test_profit_by_hand():
    held = positions(np.array([0.0, 0.3, 0.0, -0.1, -2.0]))
    np.testing.assert_array_equal(held, [0.0, 1.0, 1.0, -1.0, -1.0])
    np.testing.assert_array_equal(positions(np.array([-0.2, 0.0, 0.1])), [-1.0, -1.0, 1.0])
    assert turnover(held) == 3.0
    earned = profits(held, np.array([0.05, 0.01, -0.02, -0.03, 0.01]), cost=0.001)
    np.testing.assert_allclose(earned, [0.0, 0.009, -0.02, 0.03 - 0.002, -0.01])
    assert hit_rate(held[1:], np.array([1.0, 0.0, -1.0, 1.0])) == pytest.approx(200.0 / 3.0)


def test_sign_test_is_standard_normal_for_signs_by_chance():
    rng = np.random.default_rng(8)
    found = [sign_test(rng.normal(size=200) + 0.3, rng.normal(size=200) + 0.2).statistic for _ in range(1000)]
    assert abs(np.mean(found)) < 4.0 / math.sqrt(1000)
    assert np.std(found) == pytest.approx(1.0, abs=4.0 / math.sqrt(2000))


def test_sign_test_knows_skill_and_its_absence():
    outcomes = np.random.default_rng(9).normal(size=100)
    assert sign_test(outcomes, outcomes).statistic > 9.0
    assert sign_test(-outcomes, outcomes).p_value > 0.999
    assert math.isnan(sign_test(np.ones(100), outcomes).statistic)


# --- ROC -------------------------------------------------------------------------------------------------------------


def test_roc_by_hand():
    odds = np.array([-2.0, -1.0, 0.5, 0.1, 2.0, 3.0])
    y = np.array([-1.0, -1.0, -1.0, 1.0, 1.0, 1.0])
    found = analyse(odds, 1.0 / (1.0 + np.exp(-odds)), y)
    assert found["auc"] == pytest.approx(8.0 / 9.0)  # of nine pairs one is the wrong way round
    curve = found["curve"]
    assert curve[0] == pytest.approx(2.0 / 3.0)
    assert curve[-1] == 1.0
    assert (np.diff(curve) >= 0.0).all()
    assert np.trapezoid(curve, FALSE_POSITIVE_RATES) >= found["auc"] - 0.01
    assert found["cut_offs"]["0.5"] == pytest.approx(
        {"accuracy": 500.0 / 6.0, "sensitivity": 100.0, "specificity": 200.0 / 3.0}
    )
    assert at_cut_off(np.array([0.4, 0.4]), np.array([1.0, -1.0]), 0.4)["sensitivity"] == 100.0
    p, y = np.array([0.2, 0.4, 0.6, 0.9, 0.3, 0.35, 0.5]), np.array([1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    found = analyse(np.log(p / (1.0 - p)), p, y)
    for cut, hits, misses in ((0.5, 2, 1), (0.4, 3, 1), (0.3, 3, 3)):
        figures = {"accuracy": (hits + 3 - misses) / 7.0, "sensitivity": hits / 4.0, "specificity": 1.0 - misses / 3.0}
        assert found["cut_offs"][f"{cut:g}"] == pytest.approx({name: 100.0 * v for name, v in figures.items()})
    assert found["log_score"] == pytest.approx(np.log(np.where(y > 0, p, 1.0 - p)).mean())
    assert found["brier"] == pytest.approx(2.0 * np.mean((p - (y > 0)) ** 2))
    # the false alarms come at 0.5, 0.35 and 0.3: two of four cases have more than the first, three than the others
    at = np.interp([0.0, 1.0 / 6.0, 1.0 / 3.0 + 0.01, 1.0], FALSE_POSITIVE_RATES, found["curve"])
    assert at == pytest.approx([0.5, 0.625, 0.75, 1.0], abs=0.02)


def test_one_class_has_no_curve():
    with pytest.raises(ValueError, match="both classes"):
        analyse(np.zeros(3), np.full(3, 0.5), np.ones(3))


def test_paired_difference_by_hand():
    d = paired_difference([0.9, 0.8, 0.95], [0.8, 0.85, 0.85], n_train=200, n_test=100)
    assert d.mean == pytest.approx(0.05)
    assert d.se == pytest.approx(np.std([0.1, -0.05, 0.1], ddof=1) * math.sqrt(1 / 3 + 1 / 2))
    assert (d.larger, d.runs) == (2, 3)
    with pytest.raises(ValueError, match="same randomisations"):
        paired_difference([0.9], [0.8, 0.7], n_train=2, n_test=1)


# --- the ovarian pipeline --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(paper4_ovarian.SETS))
def test_randomisations_are_stratified_and_whole(name):
    _, y, _ = paper4_ovarian.whole(name)
    n_train, n_test = paper4_ovarian.sizes(len(y))
    assert n_train / n_test == pytest.approx(265 / 160, rel=0.01)
    seen = set()
    for r in range(30):
        split = paper4_ovarian.stratified_split(name, y, n_train, n_test, r)
        assert (len(split.train), len(split.test)) == (n_train, n_test)
        np.testing.assert_array_equal(np.sort(np.concatenate(split)), np.arange(len(y)))
        assert abs((y[split.train] > 0).mean() - (y > 0).mean()) < 1.0 / n_train
        seen.add(split.train.tobytes())
    assert len(seen) == 30


@quiet
def test_design_does_not_see_the_test_rows(monkeypatch):
    """With test inputs replaced and test labels turned round, everything that was designed stays to the bit."""
    cell = next(c for c in paper4_ovarian.STUDY.cells(None, "toy") if c.settings["data"] == "pid")
    X, y, sha256 = paper4_ovarian.whole("pid")
    s = cell.settings
    train = paper4_ovarian.stratified_split("pid", y, s["n_train"], s["n_test"], 0).train
    designed = design(X[train], y[train], cell.seed)
    X_other, y_other = np.array(X), np.array(y)
    rest = np.setdiff1d(np.arange(len(y)), train)
    X_other[rest], y_other[rest] = 0.5 * X_other[rest] + 7.0, -y_other[rest]
    monkeypatch.setattr(paper4_ovarian, "whole", lambda name: (X_other, y_other, sha256))
    monkeypatch.setattr(paper4_ovarian, "stratified_split", lambda *a: splits.Split(train, rest))
    values = paper4_ovarian.STUDY.compute(cell, None).values
    assert values["facts"] == designed.facts
    one, more = designed.predict(X[rest[:1]]), designed.predict(X[rest[:9]])
    for model in PIPELINE:  # nor does a prediction depend on the rows beside it
        np.testing.assert_allclose(one[model].log_odds[0], more[model].log_odds[0], rtol=1e-9)


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """Both studies at toy size."""
    folder = tmp_path_factory.mktemp("cells")
    return {s.name: run(s, None, size="toy", folder=folder, progress=False) for s in (paper4_ovarian.STUDY, DAX_STUDY)}


def test_equal_rows_let_the_evidence_interpolate(toy):
    """What the page says of breast cancer: γ_eff is the number of distinct rows, for labels agree where rows do."""
    finished = toy["paper4-ovarian"]["wbc.00"]
    facts, s = finished.values["facts"], finished.cell.settings
    X, y, _ = paper4_ovarian.whole("wbc")
    train = paper4_ovarian.stratified_split("wbc", y, s["n_train"], s["n_test"], 0).train
    rows = np.unique(X[train][:, facts["selected"]], axis=0, return_inverse=True)[1]
    assert all(np.ptp(y[train][rows == k]) == 0.0 for k in range(rows.max() + 1))
    assert facts["lssvm"]["LS-SVM RBF"]["status"] == "interpolation"
    assert facts["distinct_rows"] < facts["n_train"]
    assert facts["lssvm"]["LS-SVM RBF"]["gamma_eff"] == pytest.approx(facts["distinct_rows"], abs=0.01)


@pytest.mark.parametrize(("positive", "negative"), [(6, 5), (5, 6)])
def test_the_majority_rule_needs_one_row_more(monkeypatch, positive, negative):
    """Of eleven training rows one class has one more; randomisations that failed have no rates."""
    y = np.repeat([1.0, -1.0], [2 * positive, 2 * negative])
    monkeypatch.setattr(paper4_ovarian, "whole", lambda name: (None, y, None))
    settings = {"data": "toy", "n_train": 11, "n_test": 11, "randomisation": 0}
    cells = [
        SimpleNamespace(cell=SimpleNamespace(settings={**settings, **changes}), error=error)
        for changes, error in (
            ({}, None),
            ({"randomisation": 1}, "failed"),
            ({"data": "other"}, None),
            ({"randomisation": 2}, None),
        )
    ]
    rates, again = paper4_ovarian.majority_rule(SimpleNamespace(cells=cells), "toy")
    assert again == rates  # strata: as many of each class in every randomisation
    larger = positive > negative
    share = 100.0 * max(positive, negative) / 11.0
    assert rates == pytest.approx(
        {"accuracy": share, "sensitivity": 100.0 * larger, "specificity": 100.0 * (not larger)}
    )


def test_the_majority_rule_is_the_share_of_the_larger_class(toy):
    """It follows from the split; a model's lead over it is in points of accuracy, paired."""
    result = toy["paper4-ovarian"]
    for name in paper4_ovarian.SETS:
        _, y, _ = paper4_ovarian.whole(name)
        s = result[f"{name}.00"].cell.settings
        test = y[paper4_ovarian.stratified_split(name, y, s["n_train"], s["n_test"], 0).test]
        (rates,) = paper4_ovarian.majority_rule(result, name)
        assert np.mean(y > 0) < 0.5  # in both sets the disease is the smaller class
        assert rates == pytest.approx({"accuracy": 100.0 * np.mean(test < 0), "sensitivity": 0.0, "specificity": 100.0})
        model = result[f"{name}.00"].values["models"]["LR"]["cut_offs"]["0.5"]["accuracy"]
        lead = paper4_ovarian.over_majority(result, name)["LR"]
        assert lead.mean == pytest.approx(model - rates["accuracy"])
        assert math.isnan(lead.se)  # of one randomisation


def test_tables_have_every_entry_and_no_target(toy):
    ovarian, dax = paper4_ovarian.table(toy["paper4-ovarian"]), dax_table(toy["paper4-dax"])
    for found in (ovarian, dax):
        assert len(found.entries) == len(found.rows) * len(found.columns)
        assert {found.verdict(e) for e in found.entries} == {"ours alone"}
        assert "not public" in found.absent[0]
    auc = toy["paper4-ovarian"]["pid.00"].values["models"]["LS-SVM RBF"]["auc"]
    assert ovarian.entry("pid: LS-SVM RBF", "AUC, %").scores == (100.0 * auc,)


def test_profits_of_blocks_add_up(toy):
    result = toy["paper4-dax"]
    found, shown = trading(result), dax_table(result)
    hold = found["buy and hold"]
    first, last = result.cells[0].cell.settings["first"], result.cells[-1].cell.settings["first"] + 10
    P = prices()[0][first : last + 1, DAX]
    assert hold.before_costs.sum() == pytest.approx(100.0 * np.sum(np.diff(P) / P[:-1]))
    assert hold.after_costs.sum() == pytest.approx(hold.before_costs.sum() - 0.1)
    for name, own in found.items():
        scores = shown.entry(name, COLUMNS[2]).scores
        assert sum(scores) * 10 / 250 == pytest.approx(own.after_costs.sum())


@quiet
def test_both_searches_are_the_librarys_whether_an_input_is_taken_back_or_not():
    """The noisy sum of two inputs is the best single one, and superfluous beside both."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 4))
    X[:, 0] = X[:, 1] + X[:, 2] + rng.normal(size=80)
    taken_back = []
    for target in (X[:, 1] + X[:, 2], X[:, 3]):
        y = target + 0.1 * rng.normal(size=80)
        path, found = both_searches(X, y, 0)
        forward = forward_selection(X, y, kernel="rbf", seed=0, progress=False)
        stepwise = stepwise_selection(X, y, kernel="rbf", seed=0, progress=False)
        assert [(s.inputs, s.log_evidence) for s in path.steps] == [(s.inputs, s.log_evidence) for s in forward.steps]
        assert found["selected"] == list(stepwise.selected)
        assert found["log_evidence"] == stepwise.chosen.log_evidence
        taken_back.append(found["taken_back"])
    assert taken_back == [1, 0]


def test_the_page_says_how_often_a_stepwise_search_selects_otherwise(toy):
    """Facts by hand: one randomisation of two takes an input back and ends elsewhere."""
    result = toy["paper4-ovarian"]
    cell = result["wbc.00"]
    forward = cell.values["facts"]["selected"]
    best = max(step["log_evidence"] for step in cell.values["facts"]["path"])
    assert cell.values["facts"]["stepwise"]["log_evidence"] >= best - 1e-9

    def with_stepwise(selected, taken_back):
        facts = {**cell.values["facts"], "stepwise": {"selected": selected, "taken_back": taken_back}}
        return replace(cell, values={**cell.values, "facts": facts})

    changed = replace(result, cells=(with_stepwise(forward[::-1], 0), with_stepwise(forward[1:], 1)))
    (said,) = ovarian_sentences.stepwise(changed, ["wbc"])
    assert said.endswith("forward search: Wisconsin breast cancer 1 of 2 (an input is taken back in 1).")


def test_pages_are_drawn(toy):
    for module, name, says in (
        (ovarian_page, "paper4-ovarian", "runs to interpolation"),
        (ovarian_page, "paper4-ovarian", "more accurate than the majority rule"),
        (dax_page, "paper4-dax", "after costs of 0.1 %"),
    ):
        page = module.page(toy[name])
        images = draw(page, dpi=60)
        text = as_html(page, images, command="x", record="x.json")
        assert len(images) == len(page.pictures) > 0
        assert any(says in sentence for sentence in page.findings)
        assert "nan" not in " ".join(page.findings)
        assert str(escape(page.title)) in text
