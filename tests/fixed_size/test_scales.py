"""kernel="auto": one width, or a scale for each input where the evidence of the rows asks for them."""

import numpy as np
import pytest

from bayes_lssvm import FixedSizeLSSVC, FixedSizeLSSVR, load
from bayes_lssvm.fixed_size.scales import FEWEST_ROWS, MOST_INPUTS, least_gain, may_have_scales
from bayes_lssvm.kernels import ARD, RBF
from bayes_lssvm.priors import HyperPrior, Normal

SETTINGS = {"n_landmarks": 40}


def one_input_of_six(n, seed=0, classes=2):
    """Labels by the first input alone, with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    f = np.sin(2.0 * X[:, 0]) + 0.3 * rng.logistic(size=n)
    return X, np.digitize(f, np.quantile(f, np.arange(1, classes) / classes))


def all_inputs_alike(n, seed=0):
    """Labels by the distance from the middle."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, ((X**2).sum(axis=1) + rng.logistic(size=n) > 3.4).astype(int)


def test_scales_are_taken_where_most_inputs_say_nothing():
    X, y = one_input_of_six(2400)
    model, width = FixedSizeLSSVC(**SETTINGS).fit(X[:1200], y[:1200]), FixedSizeLSSVC("rbf", **SETTINGS)
    width.fit(X[:1200], y[:1200])
    scales = np.array(model.kernel_.scales)
    assert scales[0] < 0.5 * scales[1:].min()
    assert model.log_evidence_ > width.log_evidence_ + least_gain(1200, 6)
    assert model.score(X[1200:], y[1200:]) >= width.score(X[1200:], y[1200:])


def test_it_is_the_model_of_one_width_where_inputs_are_alike():
    X, y = all_inputs_alike(1300)
    model, width = (FixedSizeLSSVC(kernel, **SETTINGS).fit(X, y) for kernel in ("auto", "rbf"))
    assert model.kernel_ == width.kernel_
    assert model.log_evidence_ == width.log_evidence_
    np.testing.assert_array_equal(model.predict_proba(X[:9]), width.predict_proba(X[:9]))


@pytest.mark.parametrize(
    "settings",
    [
        {"refine": False},
        {"integrate": True},
        {"prior": HyperPrior(Normal(0, 3), Normal(0, 3), (Normal(1, 1),))},
    ],
    ids=str,
)
def test_one_width_stays_where_scales_were_not_asked_for(settings):
    X, y = one_input_of_six(1200)
    assert isinstance(FixedSizeLSSVC(**SETTINGS, **settings).fit(X, y).kernel_, RBF)


def test_few_rows_and_many_inputs_have_one_width():
    X, y = one_input_of_six(FEWEST_ROWS)
    assert isinstance(FixedSizeLSSVC(**SETTINGS).fit(X, y).kernel_, RBF)
    assert not may_have_scales(10**6, MOST_INPUTS + 1)
    assert not may_have_scales(10**6, 1)
    assert may_have_scales(FEWEST_ROWS + 1, MOST_INPUTS)


def test_the_rule_is_half_a_log_n_for_each_further_scale():
    assert least_gain(1000, 5) == pytest.approx(2.0 * np.log(1000))


def test_several_classes_of_which_one_is_rare():
    X, y = one_input_of_six(1500, classes=3)
    y[y == 2] = 1
    y[np.argsort(X[:, 0])[-9:]] = 2
    model = FixedSizeLSSVC(**SETTINGS).fit(X, y)
    assert isinstance(model.kernel_, ARD)
    assert np.isfinite(model.predict_proba(X)).all()


def test_real_targets_and_weights_that_count_rows():
    X, _ = one_input_of_six(1100)
    y = np.sin(2.0 * X[:, 0]) + 0.3 * np.random.default_rng(1).normal(size=1100)
    model = FixedSizeLSSVR(**SETTINGS).fit(X, y, sample_weight=np.full(1100, 2.0))
    assert isinstance(model.kernel_, ARD)
    plain = FixedSizeLSSVR(**SETTINGS).fit(X, y)
    assert model.score(X, y) == pytest.approx(plain.score(X, y), abs=0.01)


def test_blocks_dask_and_memory_give_the_same_scales(tmp_path):
    array = pytest.importorskip("dask.array")
    X, y = one_input_of_six(1200)
    whole = FixedSizeLSSVC(**SETTINGS).fit(X, y)
    order = np.random.default_rng(0).permutation(1200)
    blocks = FixedSizeLSSVC(**SETTINGS).fit_blocks([(X[rows], y[rows]) for rows in np.array_split(order, 3)])
    dask = FixedSizeLSSVC(**SETTINGS).fit_dask(array.from_array(X, chunks=(500, 6)), array.from_array(y, chunks=500))
    for other in (blocks, dask):
        np.testing.assert_allclose(other.kernel_.log_params, whole.kernel_.log_params, atol=1e-6)
        np.testing.assert_allclose(other.predict_proba(X), whole.predict_proba(X), atol=1e-6)
    back = load(whole.save(tmp_path / "model.npz"))
    assert back.kernel_ == whole.kernel_
    np.testing.assert_allclose(back.predict_proba(X), whole.predict_proba(X), atol=1e-12)
    more_X, more_y = one_input_of_six(300, seed=5)
    assert back.partial_fit(more_X, more_y).kernel_ == whole.kernel_
    assert back.n_samples_ == 1500


@pytest.mark.filterwarnings("ignore:No signal")
def test_classes_that_the_first_rows_do_not_show():
    """Two of 9000 rows are of a rare class: no subset may know of them."""
    X, y = one_input_of_six(9000)
    y = np.where(np.isin(np.arange(9000), [17, 4711]), 1, 0)
    model = FixedSizeLSSVC(n_landmarks=10).fit(X, y)
    assert np.isfinite(model.predict_proba(X[:100])).all()
