"""Displays: the numbers that they draw against other derivations, scikit-learn's conventions, nothing drawn early."""

from __future__ import annotations

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.stats import multivariate_normal

import bayes_lssvm
from bayes_lssvm import (
    BayesianLSSVC,
    BayesianLSSVR,
    DecisionSurfaceDisplay,
    EvidenceDisplay,
    FullyBayesianLSSVR,
    HyperposteriorDisplay,
    LeftOutDisplay,
    RelevanceDisplay,
    ReliabilityDisplay,
    datasets,
)
from bayes_lssvm.displays.choosing import DISPLAYS
from bayes_lssvm.displays.hyperposterior import Gaussian, _ellipse, _level
from bayes_lssvm.kernels import RBF


@pytest.fixture
def ax():
    with mpl.rc_context({"backend": "agg"}):
        yield Figure().subplots()


@pytest.fixture(scope="module")
def ripley():
    return datasets.load("ripley").Xy


@pytest.fixture(scope="module")
def classifier(ripley):
    return BayesianLSSVC(refine=False).fit(*ripley)


@pytest.fixture(scope="module")
def curve():
    rng = np.random.default_rng(0)
    X = np.linspace(-3, 3, 50)[:, None]
    return X, np.sinc(X[:, 0]) + 0.1 * rng.normal(size=50)


@pytest.fixture(scope="module")
def regressor(curve):
    return BayesianLSSVR(refine=False).fit(*curve)


def test_nothing_is_imported_before_something_is_drawn():
    program = (
        "import sys, bayes_lssvm.displays, bayes_lssvm.displays.choosing\n"
        "assert 'matplotlib' not in sys.modules\n"
        "sys.modules['matplotlib'] = None\n"
        "from bayes_lssvm import ReliabilityDisplay\n"
        "display = ReliabilityDisplay.from_predictions([0, 1, 0, 1], [.1, .8, .3, .6], plot=False)\n"
        "try:\n    display.plot()\nexcept ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == 'Plots need matplotlib: pip install "bayes-lssvm[plots]".\n'


@pytest.mark.parametrize("name", [name for name in bayes_lssvm.__all__ if name.endswith("Display")])
def test_the_conventions_of_scikit_learn(name):
    display = getattr(bayes_lssvm, name)
    assert callable(display.from_estimator)
    assert callable(display.plot)
    assert display in DISPLAYS.values()


def test_reliability_of_the_training_rows_is_leave_one_out(classifier, ripley, ax):
    X, y = ripley
    display = classifier.plot("reliability", ax=ax)
    assert (display.ax_, display.figure_) == (ax, ax.figure)
    odds = classifier.left_out_log_odds()
    p = 1.0 / (1.0 + np.exp(-odds))
    sizes = np.array([group.size for group in display.groups])
    assert sizes.sum() == len(y)
    assert (sizes * display.prob_pred).sum() == pytest.approx(p.sum(), rel=1e-12)
    assert (sizes * display.prob_true).sum() == pytest.approx(y.sum(), rel=1e-12)
    assert ((sizes * display.error) ** 2).sum() == pytest.approx((p * (1 - p)).sum(), rel=1e-12)
    other = ReliabilityDisplay.from_estimator(classifier, X, y, left_out=True, plot=False)
    np.testing.assert_allclose(other.prob_pred, display.prob_pred, rtol=1e-12)
    first = ReliabilityDisplay.from_estimator(classifier, pos_label=0, plot=False)
    np.testing.assert_allclose(np.sort(1 - first.prob_pred), np.sort(display.prob_pred), atol=0.06)
    assert "row left out" in ax.get_xlabel()


def test_reliability_of_new_rows_and_of_several_classes(classifier):
    data = datasets.load("ripley")
    new = ReliabilityDisplay.from_estimator(classifier, data.test_data, data.test_target, plot=False)
    same = ReliabilityDisplay.from_predictions(
        data.test_target, classifier.predict_proba(data.test_data)[:, 1], plot=False
    )
    np.testing.assert_allclose(new.prob_pred, same.prob_pred, atol=0.02)  # twins stay together in the first
    iris = datasets.load("iris")
    several = BayesianLSSVC(refine=False).fit(iris.data, iris.target)
    with pytest.raises(ValueError, match="left_out=True"):
        ReliabilityDisplay.from_estimator(several, plot=False)
    found = ReliabilityDisplay.from_estimator(several, iris.data, iris.target, left_out=True, plot=False)
    assert sum(group.size for group in found.groups) == 150


def test_left_out_predictions_are_those_of_refits(regressor, curve, ax):
    X, y = curve
    display = regressor.plot("left-out", ax=ax)
    i = 7
    keep = np.arange(len(y)) != i
    Z = regressor.standardiser_(X)
    K = regressor.kernel_(Z[keep]) / regressor.mu_ + np.eye(len(y) - 1) / regressor.zeta_
    # the flat bias as a Gaussian of huge variance
    K = K + 1e7
    k = regressor.kernel_(Z[keep], Z[[i]])[:, 0] / regressor.mu_ + 1e7
    weights = np.linalg.solve(K, k)
    own = regressor.kernel_(Z[[i]])[0, 0] / regressor.mu_ + 1e7 + 1.0 / regressor.zeta_
    assert display.y_pred[i] == pytest.approx(weights @ y[keep], abs=1e-4)
    assert display.std[i] == pytest.approx(np.sqrt(own - weights @ k), rel=1e-3)
    assert display.coverage(0.5) == pytest.approx(0.5, abs=0.25)
    again = LeftOutDisplay.from_predictions(display.y_true, display.y_pred, display.std, plot=False)
    assert again.coverage(0.9) == display.coverage(0.9)


def test_the_evidence_has_its_maximum_where_the_fit_is(ripley, ax):
    X, y = ripley
    model = BayesianLSSVC().fit(X[::3], y[::3])
    sigma = model.kernel_.sigma
    display = EvidenceDisplay.from_estimator(model, values=sigma * np.array([0.7, 0.95, 1.0, 1.05, 1.4]), ax=ax)
    assert display.fitted == pytest.approx(sigma)
    first = next(iter(display.curves.values()))
    assert first.argmax() == 2
    held = BayesianLSSVC(RBF(1.3), refine=False, prior="flat").fit(X[::3], y[::3])
    papers = EvidenceDisplay.from_estimator(held, values=[1.3], plot=False)
    assert len(papers.curves) == 2
    assert papers.curves["with MacKay's Occam factor (5.2)"][0] == pytest.approx(held.level3_.log_evidence, rel=1e-9)
    with pytest.raises(ValueError, match="no parameters"):
        EvidenceDisplay.from_estimator(BayesianLSSVC("linear").fit(X[::3], y[::3]), plot=False)


def test_relevance_by_scales_and_by_change(ripley, ax):
    X, y = ripley
    noise = np.random.default_rng(0).normal(size=len(y))
    table = np.column_stack([X, noise])[::3]
    ard = BayesianLSSVC("ard").fit(table, y[::3])
    np.testing.assert_array_equal(RelevanceDisplay.from_estimator(ard, plot=False).values, ard.relevance_)
    changed = RelevanceDisplay.from_estimator(ard, method="change", ax=ax)
    assert changed.order[-1] == 2
    held = table.copy()
    held[:, 1] = table[:, 1].mean()
    moved = np.abs(ard.predict_proba(held) - ard.predict_proba(table))[:, 1].mean()
    assert changed.values[1] == pytest.approx(moved, rel=1e-9)
    together = RelevanceDisplay.from_estimator(ard, method="change", groups=("place", "place", "noise"), plot=False)
    assert together.names == ("place", "noise")
    with pytest.raises(ValueError, match="ard"):
        RelevanceDisplay.from_estimator(BayesianLSSVC(refine=False).fit(X, y), method="scales", plot=False)


def test_the_surface_is_what_the_model_predicts(classifier, regressor, ax):
    display = classifier.plot(ax=ax, grid_resolution=12)
    assert isinstance(display, DecisionSurfaceDisplay)
    x, y = display.grid
    assert display.response[3, 5] == pytest.approx(classifier.predict_proba([[x[5], y[3]]])[0, 1], rel=1e-12)
    mean, std = regressor.predict([[0.5]], return_std=True)
    line = DecisionSurfaceDisplay.from_estimator(regressor, X=[[0.5], [0.5]], grid_resolution=3, plot=False)
    assert (line.response[1], line.std[1]) == (pytest.approx(mean[0]), pytest.approx(std[0]))


@pytest.mark.parametrize("features", [("petal", 9), (0, 1, 2), ()])
def test_wrong_features_are_refused(features):
    iris = datasets.load("iris")
    model = BayesianLSSVC(refine=False).fit(iris.data, iris.target)
    with pytest.raises(ValueError, match="features"):
        DecisionSurfaceDisplay.from_estimator(model, iris.data, features=features, plot=False)
    with pytest.raises(ValueError, match="4 inputs: choose"):
        DecisionSurfaceDisplay.from_estimator(model, iris.data, plot=False)


def test_surfaces_of_several_classes_and_of_models_without_rows(ax, curve):
    iris = datasets.load("iris")
    model = BayesianLSSVC(refine=False).fit(iris.data, iris.target)
    display = DecisionSurfaceDisplay.from_estimator(
        model, iris.data, iris.target, features=(2, 3), grid_resolution=9, ax=ax
    )
    assert display.response.shape == (9, 9, 3)
    np.testing.assert_allclose(display.response.sum(axis=-1), 1.0, rtol=1e-12)
    one = DecisionSurfaceDisplay.from_estimator(
        model, iris.data, features=[2], grid_resolution=9, ax=Figure().subplots()
    )
    assert one.response.shape == (9, 3)
    with pytest.raises(ValueError, match="give X"):
        FullyBayesianLSSVR("linear").fit(*curve).plot()


def test_the_hyperposterior_and_laplaces_gaussian(classifier, regressor, ax):
    display = classifier.plot("hyperposterior", ax=ax, grid_resolution=41)
    bars = classifier.level3_.hessian
    assert display.gaussian.mean.tolist() == [np.log(classifier.mu_), np.log(classifier.zeta_)]
    assert np.sqrt(np.diag(display.gaussian.covariance)).tolist() == pytest.approx([bars.log_mu, bars.log_zeta])
    # the density drawn has the moments of the posterior
    posterior = classifier.marginalise(fixed_kernel=True, progress=False)
    mass = display.density / display.density.sum()
    assert mass.sum(axis=0) @ display.grid[0] == pytest.approx(posterior.mean()["log_mu"], abs=0.02)
    assert mass.sum(axis=1) @ display.grid[1] == pytest.approx(posterior.mean()["log_zeta"], abs=0.01)
    one = HyperposteriorDisplay.from_estimator(regressor, parameters=("log_gamma",), plot=False)
    assert one.gaussian.mean[0] == pytest.approx(np.log(regressor.gamma_))
    with pytest.raises(ValueError, match="one or two of log_mu"):
        HyperposteriorDisplay.from_posterior(posterior, parameters=("sigma",), plot=False)


def test_the_contours_of_a_gaussian_hold_their_share():
    """The ellipse of 90 % is where the density equals the level above which 90 % of the mass lies."""
    cov = np.array([[1.0, 0.3], [0.3, 0.5]])
    axis = np.linspace(-6, 6, 401)
    mesh = np.stack(np.meshgrid(axis, axis), axis=-1)
    normal = multivariate_normal([0, 0], cov)
    on_curve = normal.pdf(_ellipse(Gaussian(np.zeros(2), cov), 0.9).T)
    np.testing.assert_allclose(on_curve, _level(normal.pdf(mesh), 0.9), rtol=5e-3)


def test_a_kind_that_does_not_exist(classifier):
    with pytest.raises(ValueError, match="kind must be one of surface"):
        classifier.plot("pie")
