"""The search for kernels: planted structures are found, every step is a Bayes factor, and the budget holds."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.integrate import quad

from bayes_lssvm import BayesianLSSVC, BayesianLSSVR, search_kernels
from bayes_lssvm.kernels import RBF, Linear, OnInputs, Periodic, Product, Scaled, Sum
from bayes_lssvm.levels.default_prior import default_prior
from bayes_lssvm.levels.objective import Objective
from bayes_lssvm.search.growth import Growth
from bayes_lssvm.search.structure import Part, Structure, bases_of, moves

STRUCTURES = (
    "linear",
    "rbf",
    "linear + periodic",
    "linear * rbf",
    "periodic * rbf",
    "linear * periodic",
    "periodic + rbf",
    "rbf[0] + rbf[1]",
    "linear[0] + periodic[1]",
    "linear[0] * rbf[1]",
)


def planted(structure, seed, n=90):
    """Inputs, uniform on (−3, 3) or (0, 10), and a draw of the process with noise of a tenth of its size.

    Widths are in standard deviations of the inputs: 0.7 for an RBF kernel, 0.35 under a linear factor and 2 under a
    periodic one, so that there is something to modulate; a period of 0.5, about seven within the range. Each varies by
    a quarter from set to set.
    """
    rng = np.random.default_rng([seed, *structure.encode()])
    X = rng.uniform(*((-3.0, 3.0) if rng.random() < 0.5 else (0.0, 10.0)), (n, 2 if "[" in structure else 1))
    scale = X.std(axis=0, ddof=1)

    def covariance(name):
        column = int(name[-2]) if "[" in name else 0
        x = X[:, column] / scale[column]
        difference = np.subtract.outer(x, x)
        if name.startswith("linear"):
            return np.outer(x, x) if "*" in structure else np.outer(x - x.mean(), x - x.mean())
        if name.startswith("rbf"):
            width = {"linear * rbf": 0.35, "periodic * rbf": 2.0}.get(structure, 0.7)
            return np.exp(-((difference / np.exp(rng.normal(np.log(width), 0.25))) ** 2))
        period, length = np.exp(rng.normal(np.log(0.5), 0.3)), np.exp(rng.normal(0.0, 0.3))
        return np.exp(-2.0 * np.sin(np.pi * difference / period) ** 2 / length**2)

    K = np.zeros((n, n))
    for term in structure.split(" + "):
        product = np.prod([covariance(name) for name in term.split(" * ")], axis=0)
        K += product / np.mean(np.diag(product))
    f = np.linalg.cholesky(K + 1e-9 * np.trace(K) / n * np.eye(n)) @ rng.normal(size=n)
    return X, f + 0.1 * f.std() * rng.normal(size=n)


@pytest.fixture(scope="module")
def trend_and_season():
    X, y = planted("linear + periodic", 7, n=40)
    return X, y, search_kernels(X, y, progress=False)


# ------------------------------------------------------------------------------------------------------- results


def test_a_trend_with_a_season_is_found(trend_and_season):
    _, _, found = trend_and_season
    assert found.structure == "linear + periodic"
    assert isinstance(found.kernel, Sum)
    assert {type(getattr(part, "kernel", part)) for part in found.kernel.parts} == {Linear, Periodic}
    assert found.best is found.kernel


def test_every_step_is_a_bayes_factor_of_the_structures_before_and_after(trend_and_season):
    _, _, found = trend_and_season
    taken = [step for step in found.path if step.taken]
    assert found.path[0].move == "start"
    assert np.isnan(found.path[0].log_bayes_factor)
    for before, after in zip(taken, found.path[1:], strict=False):
        assert after.log_bayes_factor == pytest.approx(after.log_evidence - before.log_evidence, abs=1e-12)
        assert after.taken == (after.log_bayes_factor > after.needed)
        grows = after.structure.count("*") + after.structure.count("+")
        grows -= before.structure.count("*") + before.structure.count("+")
        assert after.needed == pytest.approx(np.log(len(after.candidates)) if grows > 0 else 0.0)
    assert not found.path[-1].taken
    assert taken[-1].structure == found.structure
    assert taken[-1].log_evidence == found.log_evidence
    for step in found.path:
        names, values = zip(*step.candidates, strict=True)
        assert len(set(names)) == len(names)
        assert list(values) == sorted(values, reverse=True)
        assert (names[0], values[0]) == (step.structure, step.log_evidence)


def test_the_path_is_a_table_and_plain_values(trend_and_season):
    _, _, found = trend_and_season
    rows = json.loads(json.dumps(found.rows()))
    assert [row["structure"] for row in rows] == [step.structure for step in found.path]
    text = str(found)
    assert all(f"{step.log_evidence:.2f}" in text for step in found.path)
    assert "not taken" in text
    assert f"{found.n_evaluations} evaluations" in text


def test_the_figure_shows_every_candidate_and_the_way(trend_and_season):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    _, _, found = trend_and_season
    axes = found.plot()
    shown = np.concatenate([line.get_ydata() for line in axes.lines if line.get_marker() == "_"])
    expected = [value for step in found.path for _, value in step.candidates]
    np.testing.assert_array_equal(np.sort(shown), np.sort(expected))
    (way,) = (line for line in axes.lines if line.get_label() == "taken")
    assert way.get_ydata().tolist() == [step.log_evidence for step in found.path if step.taken]
    assert found.plot(axes) is axes
    plt.close("all")


def test_the_estimator_is_one_call_away(trend_and_season):
    X, y, found = trend_and_season
    model = found.estimator()
    assert isinstance(model, BayesianLSSVR)
    assert isinstance(model.kernel_, Sum)
    assert np.corrcoef(model.predict(X), y)[0, 1] > 0.98
    held = found.estimator(refine=False)
    assert held.kernel_ == found.kernel


def test_a_budget_ends_the_search_with_the_best_so_far(trend_and_season):
    X, y, whole = trend_and_season
    first = search_kernels(X, y, budget=300, progress=False)
    assert first.n_evaluations <= 300 < whole.n_evaluations
    assert first.stopped.startswith("The budget ran out")
    assert first.structure == first.path[-1].structure or not first.path[-1].taken
    with pytest.raises(ValueError, match="budget of 10 evaluations is too small"):
        search_kernels(X, y, budget=10, kernels=["rbf"], progress=False)


def test_a_line_moves_a_period_from_twice_its_length():
    """Alone the periodic kernel takes two periods for one; with a line beside it, one, and nothing else is needed."""
    X = np.linspace(0.0, 10.0, 40)[:, None]
    y = 0.4 * X[:, 0] + np.sin(3.0 * X[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=40)
    assert search_kernels(X, y, kernels=["linear", "periodic"], progress=False).structure == "linear + periodic"


def test_labels_give_a_classifier():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 1))
    y = np.where(np.abs(X[:, 0]) + 0.2 * rng.normal(size=60) > 0.7, "yes", "no")
    found = search_kernels(X, y, kernels=["linear", "rbf"], progress=False)
    assert found.structure == "rbf"
    model = found.estimator()
    assert isinstance(model, BayesianLSSVC)
    assert model.score(X, y) > 0.85


# ---------------------------------------------------------------------------------------------------- the evidence


def test_the_evidence_of_a_width_is_that_of_quadrature():
    """Laplace's method over log σ against the integral of the same density: within a tenth of a nat."""
    X, y = planted("rbf", 3, n=60)
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    growth = Growth(X, y, classes=False, budget=1000)
    (move,) = moves(None, bases_of(["rbf"], X, np.zeros(1)))
    found = growth.score(move)
    objective = Objective(X, y, prior=default_prior(RBF(1.0), X, y, classes=False))
    centre = float(found.structure.kernel.log_params[0])
    top = objective.evaluate(RBF(float(np.exp(centre)))).value
    mass = quad(lambda x: np.exp(objective.evaluate(RBF(float(np.exp(x)))).value - top), centre - 1.5, centre + 1.5)[0]
    assert found.log_evidence == pytest.approx(top + np.log(mass), abs=0.1)


def test_the_evidence_does_not_change_with_the_units_of_inputs():
    X, y = planted("rbf", 5, n=40)
    first = search_kernels(X, y, kernels=["linear", "rbf"], progress=False)
    second = search_kernels(1e3 * X + 5e3, y, kernels=["linear", "rbf"], progress=False)
    assert second.structure == first.structure
    assert second.log_evidence == pytest.approx(first.log_evidence, abs=1e-4)


# ------------------------------------------------------------------------------------------------ structures


def structure(*terms, factors=None):
    bases = {
        base.name: base for base in bases_of(["linear", "rbf", "periodic"], np.linspace(-1, 1, 9)[:, None], [[0.0]])
    }
    parts = tuple(tuple(Part(bases[name], bases[name].kernel) for name in term.split("*")) for term in terms)
    return Structure(parts, factors or (1.0,) * len(parts)), list(bases.values())


def test_a_structure_is_its_kernel_and_back():
    own, _ = structure("rbf*periodic", "linear", "rbf", factors=(1.0, 0.5, 2.0))
    kernel = Product((RBF(1.0), Periodic(1.0, 1.0))) + 0.5 * Linear() + Scaled(2.0, RBF(1.0))
    assert own.kernel == kernel
    assert str(own) == "linear + periodic * rbf + rbf"
    values = np.arange(1.0, 1.0 + kernel.log_params.size) / 10.0
    moved = own.with_log_params(values)
    np.testing.assert_allclose(moved.kernel.log_params, values)
    for at in ((0, 0), (0, 1), (1, 0), (2, 0)):
        np.testing.assert_allclose(values[own.place(at)], moved.terms[at[0]][at[1]].kernel.log_params)
    np.testing.assert_allclose(
        moved.usual().kernel.log_params, structure("rbf*periodic", "linear", "rbf")[0].kernel.log_params
    )


def test_moves_from_one_base_are_sums_products_and_the_others():
    own, bases = structure("rbf")
    reached = {str(move.variants[0]): move.word for move in moves(own, bases)}
    assert reached == {
        "linear + rbf": "add",
        "rbf + rbf": "add",
        "periodic + rbf": "add",
        "linear * rbf": "multiply",
        "periodic * rbf": "multiply",
        "linear": "replace",
        "periodic": "replace",
    }


def test_moves_take_back_and_say_nothing_twice():
    own, bases = structure("linear", "rbf*periodic")
    reached = [str(move.variants[0]) for move in moves(own, bases)]
    assert {"linear", "periodic * rbf", "linear + rbf", "linear + periodic"} <= set(reached)
    assert "linear + linear + periodic * rbf" not in reached
    assert "linear * linear + periodic * rbf" in reached  # a parabola
    assert not any("rbf * rbf" in name or "periodic * periodic" in name for name in reached)


def test_a_linear_factor_starts_from_the_mean_the_ends_or_zero():
    X = np.linspace(0.0, 10.0, 21)[:, None]
    standardised, zero = (X - 5.0) / 3.0, np.array([-5.0 / 3.0 - 1.0])
    (base,) = bases_of(["linear"], standardised, zero)
    assert [k.origin for k in base.in_products] == [(), (-5.0 / 3.0,), (5.0 / 3.0,), tuple(zero)]
    (base,) = bases_of(["linear"], standardised, np.array([0.01]))
    assert len(base.in_products) == 3


def test_bases_of_several_inputs_are_of_all_and_of_each():
    X = np.random.default_rng(0).normal(size=(9, 2))
    bases = bases_of(["linear", "rbf", "periodic", RBF(3.0)], X, np.zeros(2))
    assert [base.name for base in bases] == [
        *("linear", "linear[0]", "linear[1]", "rbf", "rbf[0]", "rbf[1]", "periodic[0]", "periodic[1]"),
        "RBF(sigma=3)",
    ]
    assert bases[4].kernel == OnInputs(RBF(1.0), (0,))


# ------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": np.ones(12)}, "All targets are equal"),
        ({"y": np.arange(12) % 3, "task": "classification"}, "two classes or for real targets, but y has 3 labels"),
        ({"task": "ranking"}, "task must be one of"),
        ({"budget": 0}, "budget must be a whole number"),
        ({"most_parts": 1.5}, "most_parts must be a whole number"),
        ({"kernels": []}, "no kernels to build from"),
        ({"kernels": ["wavelet"]}, "no kernel named 'wavelet'"),
    ],
)
def test_what_cannot_be_searched_gets_a_sentence(arguments, message):
    data = {"X": np.random.default_rng(0).normal(size=(12, 1)), "y": np.linspace(0.0, 1.0, 12)}
    with pytest.raises(ValueError, match=message):
        search_kernels(**(data | arguments))


# ---------------------------------------------------------------------------------------------- planted structures


@pytest.mark.slow
def test_planted_structures_are_recovered_in_four_of_five_sets():
    """Fifty sets, five of each structure; recovered means the same terms and factors, no more and no less.

    Bases, origins, the rule of growth and the prior of the period were settled with seeds 0 to 4 and 100 to 104.
    """
    wrong = []
    for name in STRUCTURES:
        for seed in range(10, 15):
            found = search_kernels(*planted(name, seed), progress=False).structure
            if found != name:
                wrong.append((name, seed, found))
    assert len(wrong) <= 10, wrong


# --- weights ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def measured():
    rng = np.random.default_rng(5)
    X = rng.uniform(-3.0, 3.0, (20, 1))
    return X, X[:, 0] + np.sin(3.0 * X[:, 0]) + 0.2 * rng.normal(size=20), rng.integers(0, 4, 20)


def short(X, y, w=None, **settings):
    return search_kernels(X, y, sample_weight=w, kernels=["linear", "rbf"], most_parts=2, progress=False, **settings)


def test_a_whole_weight_is_the_row_repeated_and_weight_zero_the_row_left_out(measured):
    X, y, times = measured
    weighted, repeated = short(X, y, times), short(X.repeat(times, axis=0), y.repeat(times))
    left_out = short(X[times > 0], y[times > 0], times[times > 0])
    for other in (repeated, left_out):
        assert other.structure == weighted.structure
        assert [step.structure for step in other.path] == [step.structure for step in weighted.path]
        assert other.log_evidence == pytest.approx(weighted.log_evidence, abs=1e-6)
    new = np.linspace(-4.0, 4.0, 7)[:, None]
    np.testing.assert_allclose(weighted.estimator().predict(new), repeated.estimator().predict(new), atol=1e-4)
    np.testing.assert_array_equal(weighted.estimator().weights_, times[times > 0])


def test_the_evidence_of_a_base_is_that_of_the_weighted_estimator(measured):
    """A linear kernel has no parameters, so that nothing is climbed or integrated."""
    X, y, _ = measured
    w = np.random.default_rng(0).gamma(2.0, 1.0, 20)
    found = search_kernels(X, y, sample_weight=w, kernels=["linear"], most_parts=1, progress=False)
    assert found.log_evidence == pytest.approx(BayesianLSSVR("linear").fit(X, y, w).log_evidence_, abs=1e-8)
    labels = np.where(y > 0, "up", "down")
    found = search_kernels(X, labels, sample_weight=w, kernels=["linear"], most_parts=1, progress=False)
    assert found.log_evidence == pytest.approx(BayesianLSSVC("linear").fit(X, labels, w).log_evidence_, abs=1e-8)


@pytest.mark.parametrize(
    ("w", "words"),
    [
        (np.r_[-1.0, np.ones(19)], "must not be negative; row 0"),
        (np.r_[np.nan, np.ones(19)], "must be finite; row 0"),
        (np.zeros(20), "zero for every row"),
        (np.ones(3), "one number for each of the 20 rows"),
        (np.r_[1.0, 1.0, np.zeros(18)], "3 data points of positive weight"),
    ],
)
def test_bad_weights_get_a_sentence(measured, w, words):
    X, y, _ = measured
    with pytest.raises(ValueError, match=words):
        short(X, y, w)
