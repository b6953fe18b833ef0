"""Selection of inputs by evidence: ranking of planted inputs, paths, the selector in pipelines, bad input."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from bayes_lssvm import (
    BayesianLSSVC,
    BayesianLSSVR,
    BayesLSSVMWarning,
    ConstantFeatureWarning,
    NoSignalWarning,
    TiedOptimaWarning,
)
from bayes_lssvm.estimators.selector import EvidenceSelector
from bayes_lssvm.kernels import ARD, RBF, Linear
from bayes_lssvm.levels.level3 import evidence_of
from bayes_lssvm.levels.objective import Objective
from bayes_lssvm.marginal import marginalise
from bayes_lssvm.selection.inputs import backward_elimination, forward_selection, stepwise_selection
from bayes_lssvm.selection.relevance import ard_relevance, relevance_posterior
from reports.draw.selection import figure_selection_path

RELEVANT = {0, 1}


def planted(seed, n=100, d=8, noise=0.5):
    """sin(1.5x₀) + sin(1.5x₁) plus noise: with noise 0.5 the signal's variance is four times the noise's. And signs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    signal = np.sin(1.5 * X[:, 0]) + np.sin(1.5 * X[:, 1])
    y = signal + noise * rng.normal(size=n)
    return X, y, np.where(y > 0, 1.0, -1.0)


def ranked_first(sets, *, labels):
    """Share of the sets in which the two relevant inputs come first; 100 points, or 200 for labels, eight inputs."""
    hits = 0
    for seed in sets:
        X, y, signs = planted(seed, n=200 if labels else 100)
        hits += set(ard_relevance(X, signs if labels else y).ranking[:2].tolist()) == RELEVANT
    return hits / len(sets)


@pytest.fixture(scope="module")
def small():
    """Sixty points with four inputs, of which 0 and 1 matter."""
    return planted(3, n=60, d=4)


@pytest.fixture(scope="module")
def path(small):
    return backward_elimination(small[0], small[1], whole_path=True)


# --- relevance -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [False, True], ids=["targets", "labels"])
def test_relevant_inputs_are_ranked_first(labels):
    assert ranked_first(range(4 if not labels else 2), labels=labels) >= 0.95


@pytest.mark.slow
@pytest.mark.parametrize("labels", [False, True], ids=["targets", "labels"])
def test_relevant_inputs_are_ranked_first_in_a_hundred_sets(labels):
    assert ranked_first(range(1000, 1100), labels=labels) >= 0.95


def test_relevance_is_the_inverse_square_of_the_scales_at_a_maximum_of_the_evidence(small):
    X, y, _ = small
    found = ard_relevance(X, y, occam=False)
    np.testing.assert_allclose(found.relevance, np.array(found.kernel.scales) ** -2.0)
    np.testing.assert_array_equal(found.ranking, np.argsort(-found.relevance))
    assert found.log_evidence == pytest.approx(evidence_of(found.kernel(X), y).log_evidence_without_occam)
    assert found.log_evidence > found.spherical_log_evidence
    assert found.spherical_log_evidence == pytest.approx(evidence_of(found.spherical(X), y).log_evidence_without_occam)
    gradient = Objective(X, y, occam=False).evaluate(found.kernel, gradient=True).gradient
    assert np.abs(gradient).max() < 0.05  # nats for a factor e


def test_occam_factor_belongs_to_the_evidence_if_asked_for(small):
    X, y, _ = small
    found = ard_relevance(X, y, occam=True)
    assert found.log_evidence == pytest.approx(evidence_of(found.kernel(X), y).log_evidence)


def test_constant_columns_and_copies_have_no_relevance(small):
    X, y, _ = small
    wide = np.column_stack([X[:, 0], np.full(60, 7.0), X[:, 1], 3.0 - 2.0 * X[:, 0], X[:, 2]])
    with pytest.warns(ConstantFeatureWarning, match="1"), pytest.warns(BayesLSSVMWarning, match=r"3 \(of 0\)"):
        found = ard_relevance(wide, y)
    assert found.columns.used == (0, 2, 4)
    assert found.columns.copies == {3: 0}
    assert found.relevance[1] == found.relevance[3] == 0.0
    plain = ard_relevance(X[:, [0, 1, 2]], y)
    np.testing.assert_allclose(found.relevance[[0, 2, 4]], plain.relevance)


def test_posterior_of_the_scales_is_the_one_of_marginalise(small):
    X, y, _ = small
    found = relevance_posterior(X[:, :3], y, method="laplace", probability=0.8)
    whole = marginalise(X[:, :3], y, kernel="ard", method="laplace", standardise=False)
    assert found.mean == pytest.approx([whole.mean()[f"log_scale_{i}"] for i in range(3)])
    assert found.interval == pytest.approx(np.array([whole.interval(0.8)[f"log_scale_{i}"] for i in range(3)]))
    assert found.most_relevant.sum() == pytest.approx(1.0)
    draws = whole.sample(20_000)
    scales = np.stack([draws[f"log_scale_{i}"] for i in range(3)], axis=1)
    share = np.bincount(np.argmin(scales, axis=1), minlength=3) / len(scales)
    np.testing.assert_allclose(found.most_relevant, share, atol=4 * 0.5 / np.sqrt(20_000))
    assert "most relevant" in str(found)


def test_design_over_the_scales_tells_the_relevant_inputs(small):
    X, y, _ = small
    found = relevance_posterior(X[:, :3], y, method="ccd")
    assert found.most_relevant[2] < 0.05
    assert found.mean[2] > max(found.mean[:2])
    assert np.all(found.interval[:, 0] < found.mean)
    assert np.all(found.mean < found.interval[:, 1])


# --- paths ---------------------------------------------------------------------------------------------------------


def test_backward_elimination_ends_at_the_relevant_inputs(path):
    assert path.selected == (0, 1)
    assert [len(step.inputs) for step in path.steps] == [4, 3, 2, 1, 0]
    assert path.chosen.score == max(step.score for step in path.steps)
    np.testing.assert_array_equal(path.support, [True, True, False, False])


def test_every_step_of_the_path_has_its_evidence(small, path):
    X, y, _ = small
    for step in path.steps[:-1]:
        evidence = evidence_of(step.kernel(X[:, step.inputs]), y).log_evidence
        assert step.log_evidence == pytest.approx(evidence)
        assert step.score == pytest.approx(evidence - 2.0 * len(step.inputs))
        np.testing.assert_allclose(step.relevance, np.array(step.kernel.scales) ** -2.0)


def test_evidence_of_no_inputs_is_the_limit_of_a_kernel_without_signal(small, path):
    """A constant kernel says nothing, whatever its μ."""
    y = small[1]
    limit = evidence_of(np.ones((60, 60)) + 1e-9 * np.eye(60), y)
    assert path.steps[-1].log_evidence == pytest.approx(limit.log_evidence, abs=1e-6)
    assert path.steps[-1].inputs == ()


def test_ard_evidence_never_improves_by_a_removal(path):
    """A scale more contains the model without it: only the price removes inputs."""
    values = [step.log_evidence for step in path.steps[:-1]]
    assert np.all(np.diff(values) < 0.05)


def test_search_stops_at_the_first_step_that_is_no_improvement(small, path):
    stopped = backward_elimination(small[0], small[1])
    assert stopped.selected == path.selected
    assert len(stopped.steps) == stopped.best + 2
    assert "No further removal" in stopped.stopped
    assert "best" in str(stopped)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_forward_selection_takes_the_largest_evidence_at_each_step(small, kernel):
    X, y, _ = small
    found = forward_selection(X, y, kernel=kernel)
    assert found.selected == (0, 1)
    first = found.steps[1]
    assert set(first.tried) == {0, 1, 2, 3}
    assert first.tried[first.changed] == max(first.tried.values())
    chosen = found.chosen.kernel
    assert isinstance(chosen, Linear if kernel == "linear" else RBF)
    assert found.chosen.log_evidence == pytest.approx(evidence_of(chosen(X[:, :2]), y).log_evidence)
    assert found.gain[0] > 0 > np.nanmax(found.gain[2:])
    if kernel == "linear":
        for column in RELEVANT:
            expected = evidence_of(Linear()(X[:, [column]]), y).log_evidence
            assert first.tried[column] == pytest.approx(expected)


def test_stepwise_selection_takes_back_what_later_inputs_made_superfluous():
    """The noisy sum of two inputs is the best single one; with both of them it tells nothing more."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 4))
    X[:, 0] = X[:, 1] + X[:, 2] + rng.normal(size=80)
    y = X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=80)
    forward = forward_selection(X, y, kernel="linear")
    found = stepwise_selection(X, y, kernel="linear")
    assert found.steps[1].inputs == forward.steps[1].inputs == (0,)
    assert 0 in forward.selected
    assert found.selected == (1, 2)
    scores = [step.score for step in found.steps[: found.best + 1]]
    assert scores == sorted(scores)
    step = next(step for step in found.steps if step.sign == "−" and step.changed == 0)
    assert step.score == pytest.approx(evidence_of(Linear()(X[:, [1, 2]]), y).log_evidence)
    assert "−0" in str(found)
    few = stepwise_selection(X, y, kernel="linear", max_inputs=2)
    for path, most in ((found, 4), (few, 2)):  # every input that may come, and every one that may go
        for before, after in pairwise(path.steps):
            to_add = set(range(4)) - set(before.inputs) if len(before.inputs) < most else set()
            to_remove = set(before.inputs) if len(before.inputs) > 1 else set()
            assert set(after.tried) == to_add | to_remove
    assert max(len(step.inputs) for step in few.steps) == 2


def test_backward_elimination_of_a_linear_model_agrees_with_forward_selection(small):
    X, y, _ = small
    assert backward_elimination(X, y, kernel="linear").selected == forward_selection(X, y, kernel="linear").selected


def test_scales_held_give_the_ranking_of_one_optimisation(small):
    X, y, _ = small
    held = backward_elimination(X, y, reoptimise=False, whole_path=True)
    ranking = ard_relevance(X, y).ranking.tolist()
    assert [step.changed for step in held.steps[1:]] == ranking[::-1]
    scales = dict(enumerate(held.steps[0].kernel.scales))
    assert held.steps[2].kernel == ARD(tuple(scales[i] for i in held.steps[2].inputs))
    assert held.selected == (0, 1)


def test_one_input_is_kept_if_it_tells_something(small):
    X, y, _ = small
    assert backward_elimination(X[:, :1], y).selected == (0,)
    assert forward_selection(X[:, :1], y).selected == (0,)


@pytest.mark.parametrize(
    "search", [backward_elimination, forward_selection, stepwise_selection], ids=["backward", "forward", "stepwise"]
)
def test_no_input_is_selected_where_none_matters(search):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    with pytest.warns(NoSignalWarning, match="none is selected"):
        found = search(X, y)
    assert found.selected == ()
    assert found.chosen.status == "no inputs"
    assert not found.support.any()


def test_more_inputs_than_points():
    X, y, _ = planted(5, n=25, d=40, noise=0.1)
    found = forward_selection(X, y, kernel="linear")
    assert set(found.selected) >= RELEVANT
    assert len(found.selected) < 25


def test_an_input_must_be_worth_its_price(small):
    X = small[0]
    y = X[:, 0] + 0.5 * X[:, 1] + 0.5 * np.random.default_rng(0).normal(size=60)
    cheap = forward_selection(X, y, kernel="linear")
    gain = cheap.steps[2].log_evidence - cheap.steps[1].log_evidence
    for factor, count in ((0.9, 2), (1.1, 1)):
        assert len(forward_selection(X, y, kernel="linear", price=factor * gain).selected) == count
    with pytest.warns(NoSignalWarning, match="price of 10000 nats"):
        dear = backward_elimination(X, y, kernel="linear", price=1e4, whole_path=True)
    assert dear.selected == ()
    assert len(forward_selection(X, y, max_inputs=1).selected) == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel": "poly2"}, "kernel must be one of"),
        ({"price": -1.0}, "price must be"),
        ({"prior_sd": 0.0}, "prior_sd"),
    ],
    ids=["kernel", "price", "prior"],
)
@pytest.mark.parametrize(
    "search", [backward_elimination, forward_selection, stepwise_selection], ids=["backward", "forward", "stepwise"]
)
def test_bad_settings_are_refused(small, search, settings, message):
    with pytest.raises(ValueError, match=message):
        search(small[0], small[1], **settings)


def test_bad_data_are_refused(small):
    X, y, _ = small
    with pytest.raises(ValueError, match="targets are equal"):
        ard_relevance(X, np.ones(60))
    with pytest.raises(ValueError, match="No column"):
        forward_selection(np.ones((60, 2)), y)
    with pytest.raises(ValueError, match="max_inputs"):
        forward_selection(X, y, max_inputs=0)
    with pytest.raises(ValueError, match="reoptimise"):
        backward_elimination(X, y, kernel="rbf", reoptimise=False)
    with pytest.raises(ValueError, match="at most 10"):
        relevance_posterior(np.random.default_rng(0).normal(size=(60, 11)), y)
    with pytest.raises(ValueError, match="method must be"):
        relevance_posterior(X, y, method="quadrature")
    with pytest.raises(ValueError, match="probability"):
        relevance_posterior(X, y, probability=1.0)
    with pytest.raises(ValueError, match="NaN"):
        ard_relevance(np.where(np.eye(60)[:, :4] > 0, np.nan, X), y)


# --- the selector --------------------------------------------------------------------------------------------------

SELECTORS = [EvidenceSelector("forward", kernel="linear")]
SLOW = [EvidenceSelector(), EvidenceSelector("ard"), EvidenceSelector("forward")]


@pytest.mark.filterwarnings("ignore::bayes_lssvm.BayesLSSVMWarning")
@pytest.mark.parametrize("selector", [*SELECTORS, *(pytest.param(s, marks=pytest.mark.slow) for s in SLOW)], ids=str)
def test_selector_passes_the_checks_of_scikit_learn(selector):
    # by the papers' rule, by which inputs are selected, repeated rows are measurements of ζ, which weights are not
    papers = {"check_sample_weight_equivalence_on_dense_data": "rows are counted"}
    results = check_estimator(selector, on_skip=None, on_fail=None, expected_failed_checks=papers)
    assert len(results) > 40
    assert not [(r["check_name"], repr(r["exception"])) for r in results if r["status"] == "failed"]
    assert {r["check_name"] for r in results if r["status"] != "passed"} <= {"check_array_api_input", *papers}


@pytest.mark.parametrize("direction", ["backward", "forward", "stepwise", "ard"])
def test_selector_works_in_a_pipeline_for_targets_and_labels(small, direction):
    X, y, _ = small
    table = pd.DataFrame(1e3 + 50.0 * X, columns=list("abcd"))  # the search standardises
    model = make_pipeline(EvidenceSelector(direction), BayesianLSSVR()).fit(table, y)
    assert model[0].selected_.tolist() == [0, 1]
    assert model[0].get_feature_names_out().tolist() == ["a", "b"]
    assert model[0].relevance_.shape == (4,)
    assert model[0].relevance_[:2].min() > model[0].relevance_[2:].max()
    assert model.score(table, y) > 0.7
    np.testing.assert_array_equal(model[0].transform(table), table.to_numpy()[:, :2])


def test_selector_takes_any_two_labels(small):
    X, _, _ = small
    labels = np.where(X[:, 2] > 0, "yes", "no")
    model = make_pipeline(EvidenceSelector("forward", kernel="linear"), BayesianLSSVC("linear")).fit(X, labels)
    assert model[0].support_.tolist() == [False, False, True, False]
    assert model.score(X, labels) > 0.9
    same = clone(model[0]).set_params(task="classification").fit(X, labels)
    assert same.path_.selected == model[0].path_.selected


def test_selector_keeps_one_input_where_none_matters():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    for direction in ("forward", "ard"):
        with pytest.warns(NoSignalWarning):
            selector = EvidenceSelector(direction).fit(X, y)
        assert selector.path_.selected == ()
        assert selector.transform(X).shape == (40, 1)


@pytest.mark.parametrize("seed", [39, 45, 104])
def test_selector_keeps_the_same_input_in_any_order_where_none_can_be_told_apart(seed):
    """Noise alone: all scales at the end of their range, so that relevances are equal."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(15, 3)), rng.permutation(np.arange(15) % 2)
    kept = set()
    for columns in ([0, 1, 2], [2, 0, 1], [2, 1, 0]):
        with pytest.warns(NoSignalWarning):
            selector = EvidenceSelector("ard").fit(X[:, columns], y)
        kept |= {columns[i] for i in selector.selected_}
    assert len(kept) == 1


@pytest.mark.filterwarnings("ignore::bayes_lssvm.NoSignalWarning")
@pytest.mark.parametrize("direction", ["backward", "forward", "stepwise", "ard"])
def test_selector_names_inputs_that_can_be_swapped_where_it_keeps_one(direction):
    X = np.repeat([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], 4, axis=0)
    with pytest.warns(TiedOptimaWarning, match="columns 0, 1 of X are swapped"):
        EvidenceSelector(direction).fit(X, np.tile([0.0, 1.0], 8))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"direction": "sideways"}, "direction must be"),
        ({"kernel": "mlp"}, "kernel must be"),
        ({"direction": "ard", "kernel": "rbf"}, "ARD kernel"),
        ({"task": "ranking"}, "task must be"),
    ],
    ids=["direction", "kernel", "ard", "task"],
)
def test_selector_refuses_bad_settings(small, settings, message):
    with pytest.raises(ValueError, match=message):
        EvidenceSelector(**settings).fit(small[0], small[1])


def test_selector_refuses_more_than_two_labels(small):
    with pytest.raises(ValueError, match="OneVsOneClassifier"):
        EvidenceSelector().fit(small[0], np.resize(["a", "b", "c"], 60))
    with pytest.raises(ValueError, match="Only binary"):
        EvidenceSelector(task="classification").fit(small[0], np.resize([0, 1, 2], 60))


# --- the figure ----------------------------------------------------------------------------------------------------


def test_figure_shows_every_step_and_the_choice(path):
    figure = figure_selection_path(path, names=list("abcd"))
    axes = figure.axes[0]
    np.testing.assert_allclose(axes.lines[0].get_ydata(), [step.log_evidence for step in path.steps])
    labels = [text.get_text() for text in axes.get_xticklabels()]
    assert labels[0] == "all 4"
    assert labels[1:] == ["abcd"[step.changed] for step in path.steps[1:]]
    with pytest.raises(ValueError, match="names"):
        figure_selection_path(path, names=["a"])
