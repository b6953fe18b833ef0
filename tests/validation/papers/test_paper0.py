"""Paper 0, Table 1: its algorithms against others of the same model, its statistics, and who sees test rows."""

from __future__ import annotations

import inspect
import itertools
import warnings

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.stats import binomtest, rankdata
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from bayes_lssvm import LSSVC, BayesianLSSVC, BayesLSSVMWarning, InterpolationWarning
from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.gaussian_process import GaussianProcess
from validation.harness import Cell
from validation.harness.ranks import wilcoxon
from validation.papers.paper0 import algorithms as paper0_algorithms
from validation.papers.paper0 import cv as paper0_cv
from validation.papers.paper0 import table1 as paper0_table1
from validation.papers.paper0.algorithms import ALGORITHMS
from validation.papers.paper0.cv import GAMMAS, SIGMAS, Folds, merge
from validation.papers.paper0.equal_rows import Spectrum, counted, distinct, rbf, squared_distances
from validation.papers.paper0.gp import Evidence, design
from validation.papers.paper0.published import (
    AVERAGE_RANKS,
    AVERAGES,
    AVERAGES_NOT_DIFFERENT,
    BEST_OVERALL,
    COLUMNS,
    SIGN_TEST,
    SIZES,
    TABLE_1,
)
from validation.papers.paper0.table1 import ALL_COLUMNS, ASIDE, REPEATED, SETS, STUDY, Part, algorithms_of, part, whole

MEANS = {column: np.array([TABLE_1[row, column].mean for row in SIZES]) for column in COLUMNS}


@pytest.fixture(scope="module")
def tied():
    """Inputs of which many are equal, with labels that differ among equal inputs."""
    rng = np.random.default_rng(3)
    X = rng.integers(-1, 2, size=(70, 2)).astype(float)
    X[:25] += rng.normal(size=(25, 2))
    y = np.where(X[:, 0] + 0.8 * rng.normal(size=70) > 0, 1.0, -1.0)
    X_new = rng.normal(size=(20, 2))
    return X, y, X_new


# --- the paper's own figures -----------------------------------------------------------------------------------------


def test_printed_averages_follow_from_the_printed_table():
    for column, average in AVERAGES.items():
        assert MEANS[column].mean() == pytest.approx(average, abs=0.051 + 1e-9)


def test_printed_marks_of_the_averages_follow_from_the_wilcoxon_test():
    """SVM (CV10) and GP_b (Bay) alone are not in boldface."""
    found = {column for column in COLUMNS if wilcoxon(MEANS[column], MEANS[BEST_OVERALL]) > 0.05}
    assert found == AVERAGES_NOT_DIFFERENT


def test_no_usual_rule_for_ties_gives_the_printed_average_ranks():
    """Whatever digits stand behind the print, each column's ranks are larger than printed, or tied ones are.

    Figures that differ in print keep their order behind it. So competition ranks, however ties are resolved (the
    smallest or largest place, their mean, or any order), are at least the number of better columns and one; and they
    are larger than the printed ones in every column. Places that leave no gap after ties, and ties of all figures that
    are not significantly different, do not give them either.
    """
    means = np.stack([MEANS[column] for column in COLUMNS], axis=1)
    printed = np.array([AVERAGE_RANKS[column] for column in COLUMNS])
    least = rankdata(-means, axis=1, method="min").mean(axis=0)
    assert (least > printed + 0.05).all()
    bold = np.array([[TABLE_1[row, column].marked == "not different" for column in COLUMNS] for row in SIZES])
    tied = np.where(bold, means.max(axis=1, keepdims=True), means)
    dense = [rankdata(-of, axis=1, method="dense").mean(axis=0) for of in (means, tied)]
    by_tests = [rankdata(-tied, axis=1, method=rule).mean(axis=0) for rule in ("average", "min", "max")]
    for ranks in (*dense, *by_tests):
        assert np.abs(ranks - printed).max() > 0.5


@pytest.mark.parametrize("column", COLUMNS)
def test_printed_sign_tests_follow_from_the_printed_table(column):
    """Figures that are equal in print may differ behind: some resolution gives the printed probability."""
    a, b = MEANS[column], MEANS[BEST_OVERALL]
    wins, losses, ties = int((a > b).sum()), int((a < b).sum()), int((a == b).sum())
    possible = set()
    for more, fewer in itertools.product(range(ties + 1), repeat=2):
        if more + fewer <= ties and wins + losses + more + fewer:
            possible.add(round(float(binomtest(wins + more, wins + losses + more + fewer).pvalue), 3))
    assert SIGN_TEST[column] in possible
    if not ties:
        assert possible == {SIGN_TEST[column]}


# --- equal rows ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [0.3, 100.0])
def test_equal_rows_put_together_are_the_same_lssvm_and_gp(tied, gamma):
    X, y, X_new = tied
    rows = distinct(X)
    assert len(rows.X) < 40
    np.testing.assert_array_equal(rows.X[rows.group], X)
    data = counted(rows.group, y, len(rows.X))
    spectrum = Spectrum.of(rbf(squared_distances(rows.X, rows.X), 1.3), data)
    projected = spectrum.project(rbf(squared_distances(X_new, rows.X), 1.3))
    model = LSSVC(kernel=RBF(1.3), gamma=gamma, standardise=False).fit(X, y)
    ours = spectrum.outputs(projected, np.array([gamma]), bias=True)[:, 0]
    np.testing.assert_allclose(ours, model.decision_function(X_new), atol=1e-9)
    process = GaussianProcess.fit(RBF(1.3), X, y, mu=2.0, zeta=2.0 * gamma)
    ours = spectrum.outputs(projected, np.array([gamma]), bias=False)[:, 0]
    np.testing.assert_allclose(ours, process.mean(X_new), atol=1e-9)


def test_equal_rows_put_together_are_the_same_svm(tied):
    X, y, X_new = tied
    rows = distinct(X)
    group, labels, weight = merge(rows.group, y)
    assert weight.sum() == len(y)
    options = {"C": 3.0, "gamma": 0.5, "tol": 1e-8}
    merged = SVC(**options).fit(rows.X[group], labels, sample_weight=weight)
    np.testing.assert_allclose(
        merged.decision_function(X_new), SVC(**options).fit(X, y).decision_function(X_new), atol=1e-5
    )


def test_cross_validation_counts_as_one_model_a_fold_does(tied):
    X, y, _ = tied
    folds = Folds(X, y, seed=5)
    sigmas, gammas = np.array([0.7, 2.0]), np.array([0.5, 50.0])
    lssvm, gp = folds.lssvm_and_gp(sigmas, gammas)
    svm = folds.svm(sigmas, gammas)
    splitter = StratifiedKFold(10, shuffle=True, random_state=5)
    expected = np.zeros((3, 2, 2), dtype=int)
    for train, test in splitter.split(X, y):
        for i, j in np.ndindex(2, 2):
            kernel, gamma = RBF(sigmas[i]), gammas[j]
            outputs = (
                LSSVC(kernel=kernel, gamma=gamma, standardise=False).fit(X[train], y[train]).decision_function(X[test]),
                GaussianProcess.fit(kernel, X[train], y[train], mu=1.0, zeta=gamma).mean(X[test]),
                SVC(C=gamma, gamma=1.0 / sigmas[i] ** 2).fit(X[train], y[train]).decision_function(X[test]),
            )
            for k, z in enumerate(outputs):
                expected[k, i, j] += int((np.where(z >= 0, 1.0, -1.0) == y[test]).sum())
    np.testing.assert_array_equal(lssvm, expected[0])
    np.testing.assert_array_equal(gp, expected[1])
    np.testing.assert_array_equal(svm, expected[2])


def test_ties_of_cross_validation_go_to_their_middle(tied):
    X, y, _ = tied
    folds = Folds(X, y, seed=0)
    counts = np.full((3, 5), 40)
    counts[1, 1:4] = 60
    found = folds.best(counts, np.array([1.0, 2.0, 4.0]), 10.0 ** np.arange(5))
    assert (found.sigma, found.gamma) == (2.0, 100.0)
    assert found.accuracy == pytest.approx(100 * 60 / 70)


def test_the_chosen_candidate_is_at_least_as_good_as_the_first_set(tied):
    X, y, _ = tied
    folds = Folds(X, y, seed=1)
    first = folds.lssvm(folds.scale * SIGMAS, GAMMAS).max()
    assert folds.choose(folds.lssvm).accuracy >= 100.0 * first / len(y) - 1e-9


# --- Gaussian processes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [False, True], ids=["GP", "GP_b"])
def test_gp_evidence_is_the_process_own_and_its_gradient_is_right(tied, bias):
    X, y, _ = tied
    evidence = Evidence(X, y, bias=bias)
    for theta in (np.array([-1.0, 0.3, 0.5]), np.array([1.5, 1.0, -2.0])):
        theta = theta if bias else theta[:2]
        mu = evidence.mu(theta)
        c = float(np.exp(theta[2])) / mu if bias else 0.0
        process = GaussianProcess.fit(
            RBF(float(np.exp(theta[1]))), X, y, mu=mu, zeta=mu / float(np.exp(theta[0])), bias_variance=c
        )
        assert evidence(theta)[0] == pytest.approx(-process.log_marginal_likelihood, abs=1e-8)
        assert evidence.values([theta])[0] == pytest.approx(evidence(theta)[0], abs=1e-8)
        assert check_grad(lambda t: evidence(t)[0], lambda t: evidence(t)[1], theta) < 1e-4


@pytest.mark.parametrize("bias", [False, True], ids=["GP", "GP_b"])
def test_gp_design_is_a_maximum(tied, bias):
    X, y, _ = tied
    found = design(X, y, bias=bias)
    for factor in (0.8, 1.25):
        changes = [{"mu": found.mu * factor}, {"zeta": found.zeta * factor}]
        for change in changes:
            values = {"mu": found.mu, "zeta": found.zeta, "bias_variance": found.bias_variance, **change}
            process = GaussianProcess.fit(RBF(found.sigma), X, y, **values)
            assert process.log_marginal_likelihood < found.log_evidence
        other = GaussianProcess.fit(
            RBF(found.sigma * factor), X, y, mu=found.mu, zeta=found.zeta, bias_variance=found.bias_variance
        )
        assert other.log_marginal_likelihood < found.log_evidence


# --- the table -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SIZES)
def test_parts_have_the_papers_sizes(name):
    X, y, _ = whole(name)
    size = SIZES[name]
    assert X.shape == (size.n_train + size.n_test, size.inputs)
    found = part(name, 0)
    assert (found.X_train.shape, found.X_test.shape) == ((size.n_train, size.inputs), (size.n_test, size.inputs))
    assert set(y) == {-1.0, 1.0}


def test_cells_cover_the_table_and_share_what_they_divide():
    cells = STUDY.cells(None, "full")
    assert len(cells) == 10 * (10 * (len(ALGORITHMS) - 1) + len(REPEATED))
    for _, group in itertools.groupby(cells, key=lambda c: (c.settings["randomisation"], c.settings["data"])):
        members = list(group)
        assert {c.settings["algorithm"] for c in members} == set(algorithms_of(members[0].settings["data"]))
        assert len({(c.seed, c.settings["sha256"]) for c in members}) == 1
    assert set(SETS["quick"]) <= set(SIZES)


@pytest.fixture(scope="module")
def few():
    """A small part: 84 training rows and 100 test rows of Ripley's data."""
    found = part("rsy", 0)
    return Part(found.X_train[::3], found.y_train[::3], found.X_test[:100], found.y_test[:100])


@pytest.fixture
def few_candidates(monkeypatch):
    """Six candidates for cross-validation instead of 42: what a candidate is does not matter here."""
    for module in (paper0_cv, paper0_algorithms):
        monkeypatch.setattr(module, "SIGMAS", np.array([0.5, 1.0, 2.0]))
        monkeypatch.setattr(module, "GAMMAS", np.array([1.0, 10.0]))


@pytest.mark.usefixtures("few_candidates")
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_no_test_data_come_into_a_design(algorithm, few, monkeypatch):
    """Other test inputs and labels: the design is the same to the bit, and a prediction is that of its own row."""
    assert list(inspect.signature(ALGORITHMS[algorithm]).parameters) == ["X", "y", "seed"]
    cell = Cell("k", {"data": "rsy", "algorithm": algorithm, "randomisation": 0}, 11)
    rng = np.random.default_rng(0)
    other = few._replace(X_test=rng.normal(size=few.X_test.shape), y_test=rng.permutation(few.y_test))
    values = []
    for shown in (few, other):
        monkeypatch.setattr(paper0_table1, "part", lambda name, r, shown=shown: shown)
        values.append(STUDY.compute(cell, None).values)
    assert values[0]["design"] == values[1]["design"]
    assert values[0]["columns"] != values[1]["columns"]
    made = ALGORITHMS[algorithm](few.X_train, few.y_train, 11)
    all_rows, few_rows = made.predict(few.X_test), made.predict(few.X_test[:7])
    assert set(all_rows) <= {*ALL_COLUMNS, *ASIDE}
    for column, found in all_rows.items():
        np.testing.assert_array_equal(found.labels[:7], few_rows[column].labels)
        if found.probabilities is not None:
            np.testing.assert_allclose(found.probabilities[:7], few_rows[column].probabilities, atol=1e-8)
            np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0, atol=1e-12)


def test_standardisation_sees_training_rows_alone(monkeypatch):
    X, y, sha = whole("hea")
    split = paper0_table1.random_split("hea", len(y), SIZES["hea"].n_train, 2)
    before = part("hea", 2)
    changed = X.copy()
    changed[split.test] += 100.0
    monkeypatch.setattr(paper0_table1, "whole", lambda name: (changed, y, sha))
    after = part("hea", 2)
    np.testing.assert_array_equal(before.X_train, after.X_train)
    assert not np.allclose(before.X_test, after.X_test)
    np.testing.assert_allclose(before.X_train.mean(axis=0), 0.0, atol=1e-12)


@pytest.mark.usefixtures("few_candidates")
def test_every_column_has_an_algorithm(few):
    columns = [c for fit in ALGORITHMS.values() for c in fit(few.X_train, few.y_train, 0).predict(few.X_test[:3])]
    assert sorted(columns) == sorted((*ALL_COLUMNS, *ASIDE))


# --- what the differences rest on ------------------------------------------------------------------------------------


def test_on_sonar_a_linear_kernel_has_the_papers_accuracy():
    """Over the ten randomisations: the RBF kernel has more evidence by tens of nats, and more correct labels."""
    accuracy: dict[str, list[float]] = {"linear": [], "rbf": []}
    gains = []
    for r in range(10):
        X_train, y_train, X_test, y_test = part("snr", r)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesLSSVMWarning)  # both interpolate now and then
            models = {
                kernel: BayesianLSSVC(kernel, prior="flat", standardise=False).fit(X_train, y_train)
                for kernel in accuracy
            }
        for kernel, model in models.items():
            accuracy[kernel].append(100.0 * float((np.sign(model.latent(X_test)) == y_test).mean()))
        gains.append(models["rbf"].log_evidence_ - models["linear"].log_evidence_)
    linear, rbf = (float(np.mean(accuracy[k])) for k in ("linear", "rbf"))
    assert linear == pytest.approx(77.4, abs=1.0)
    assert linear == pytest.approx(TABLE_1["snr", "LS-SVM (Bay)"].mean, abs=1.0)
    assert rbf == pytest.approx(86.9, abs=1.0)
    assert 20.0 < np.mean(gains) < 32.0


def test_on_bld_repeated_rows_drive_the_evidence_to_interpolation():
    """Randomisation 6 has two training rows that repeat others; without them γ has an optimum inside."""
    found = part("bld", 6)
    with pytest.warns(InterpolationWarning):
        made = ALGORITHMS["lssvm-bay"](found.X_train, found.y_train, 0)
    assert made.facts["status"] == "interpolation"
    without = ALGORITHMS["no-repeats"](found.X_train, found.y_train, 0)
    assert without.facts["repeats"] == 2
    assert without.facts["status"] == "interior"
    assert without.facts["gamma_eff"] < 40.0 < 200.0 < made.facts["gamma_eff"]
