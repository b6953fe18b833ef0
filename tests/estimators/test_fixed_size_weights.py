"""`sample_weight` in models of fixed size: those of as many landmarks as rows are the exact weighted ones."""

from __future__ import annotations

import numpy as np
import pytest

import bayes_lssvm
from bayes_lssvm import BayesianLSSVC, BayesianLSSVR, FixedSizeLSSVC, FixedSizeLSSVR
from bayes_lssvm.base.standardisation import Standardiser
from bayes_lssvm.estimators.left_out import left_out_targets
from bayes_lssvm.fixed_size.blocks import of_arrays, of_files
from bayes_lssvm.fixed_size.evidence import RowsEvidence
from bayes_lssvm.fixed_size.passes import Encoding, Local
from bayes_lssvm.kernels import RBF

pytestmark = pytest.mark.filterwarnings("ignore::bayes_lssvm.base.errors.BayesLSSVMWarning")
N, NEW = 60, np.random.default_rng(9).normal(size=(20, 2))


def waves(classes=0):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(N, 2))
    y = np.sin(2.0 * X[:, 0]) + 0.3 * rng.normal(size=N)
    if classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    return X, y, rng.uniform(0.2, 3.0, N), rng.integers(1, 4, N).astype(float)


@pytest.mark.parametrize("which", ["precisions", "counts"])
def test_the_regressor_with_all_rows_as_landmarks_is_the_exact_one(which):
    X, y, precisions, counts = waves()
    w = precisions if which == "precisions" else counts
    exact = BayesianLSSVR(RBF(1.0), refine=False).fit(X, y, sample_weight=w)
    low = FixedSizeLSSVR(RBF(1.0), refine=False, n_landmarks=N).fit(X, y, sample_weight=w)
    assert [low.mu_, low.zeta_, low.gamma_eff_] == pytest.approx([exact.mu_, exact.zeta_, exact.gamma_eff_], rel=1e-7)
    assert low.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-6)
    assert low.log_evidence_lower_ == pytest.approx(low.log_evidence_, abs=1e-5)
    for a, b in zip(low.predict(NEW, return_std=True), exact.predict(NEW, return_std=True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-7)
    left = left_out_targets(exact)
    noise = 1.0 / exact.zeta_
    size = left.rows.residuals * np.sqrt((left.rows.latent_variances + noise) / left.variances)
    np.testing.assert_allclose(np.sort(np.abs(low._left_out_errors())), np.sort(np.abs(size)), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("which", ["precisions", "counts"])
def test_the_classifier_with_all_rows_as_landmarks_is_the_exact_one(which):
    X, y, precisions, counts = waves(2)
    w = precisions if which == "precisions" else counts
    exact = BayesianLSSVC(RBF(1.0), refine=False).fit(X, y, sample_weight=w)
    low = FixedSizeLSSVC(RBF(1.0), refine=False, n_landmarks=N).fit(X, y, sample_weight=w)
    assert low.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-6)
    np.testing.assert_allclose(low.training_frequencies_, exact.training_frequencies_, rtol=1e-12)
    np.testing.assert_allclose(low.predict_proba(NEW), exact.predict_proba(NEW), atol=1e-7)


@pytest.mark.parametrize(("classes", "integrate"), [(0, False), (2, False), (3, False), (0, True)])
def test_weight_zero_is_the_row_left_out_and_blocks_merge(classes, integrate, tmp_path):
    X, y, w, _ = waves(classes)
    w = np.where(np.arange(N) % 4, w, 0.0)
    cls = FixedSizeLSSVC if classes else FixedSizeLSSVR
    options = {"n_landmarks": 15, "integrate": integrate}

    def outputs(model):
        return model.predict_proba(NEW) if classes else np.stack(model.predict(NEW, return_std=True))

    whole = cls(**options).fit(X, y, sample_weight=w)
    kept = w > 0.0
    np.testing.assert_allclose(
        outputs(cls(**options).fit(X[kept], y[kept], sample_weight=w[kept])), outputs(whole), rtol=1e-12
    )
    parts = [(X[i::3], y[i::3], w[i::3]) for i in range(3)]
    np.testing.assert_allclose(outputs(cls(**options).fit_blocks(parts)), outputs(whole), atol=1e-7)
    again = bayes_lssvm.load(whole.save(tmp_path / "model.npz"))
    np.testing.assert_allclose(outputs(again), outputs(whole), rtol=1e-10)
    for model in (whole, again):
        model.partial_fit(X[:20], y[:20], sample_weight=w[20:40])
    np.testing.assert_allclose(outputs(again), outputs(whole), rtol=1e-10)
    given = whole.low_rank_.statistics
    assert given.masses.sum() == pytest.approx(w.sum() + w[20:40].sum())
    assert given.n == kept.sum() + kept[20:40].sum()


def test_rows_that_are_added_with_weights_are_those_of_one_fit():
    X, y, w, _ = waves()
    settings = {"refine": False, "standardise": False, "landmarks": X[:12]}
    parts = FixedSizeLSSVR(RBF(1.0), **settings).fit(X[:40], y[:40], sample_weight=w[:40])
    parts.partial_fit(X[40:], y[40:], sample_weight=w[40:])
    whole = FixedSizeLSSVR(RBF(1.0), **settings).fit(X, y, sample_weight=w)
    for a, b in zip(parts.predict(NEW, return_std=True), whole.predict(NEW, return_std=True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)
    assert parts.predict_interval(NEW, 0.8).upper == pytest.approx(whole.predict_interval(NEW, 0.8).upper, rel=1e-9)


@pytest.mark.parametrize("classes", [0, 3])
def test_the_gradient_of_the_weighted_evidence(classes):
    """Against differences, as the exact evidence's is."""
    X, y, w, _ = waves(classes)
    code = np.array([[1.0, 1.0, 0.0], [-1.0, 0.0, 1.0], [0.0, -1.0, -1.0]]) if classes else None
    encoding = Encoding(Standardiser.identity(2), np.arange(3) if classes else None)
    evidence = RowsEvidence(None, Local(of_arrays(X, y, w)), encoding, code, X[:10])
    at, h = np.log(1.2), 1e-5
    values = [evidence(RBF(float(np.exp(at + step))))[0] for step in (-h, h)]
    assert evidence(RBF(1.2))[1][0] == pytest.approx((values[1] - values[0]) / (2.0 * h), rel=1e-5)


def test_the_weighted_bound_is_below_the_exact_evidence():
    X, y, w, _ = waves()
    exact = BayesianLSSVR(RBF(1.0), refine=False).fit(X, y, sample_weight=w)
    for m in (5, 20, 40):
        low = FixedSizeLSSVR(RBF(1.0), refine=False, n_landmarks=m).fit(X, y, sample_weight=w)
        assert low.log_evidence_lower_ < exact.log_evidence_ + 1e-6


@pytest.mark.parametrize("bad", [-1.0, np.nan])
def test_bad_weights_are_a_sentence(bad):
    X, y, w, _ = waves()
    w[3] = bad
    for call in (
        lambda: FixedSizeLSSVR().fit(X, y, sample_weight=w),
        lambda: FixedSizeLSSVR().fit_blocks([(X, y, w)]),
    ):
        with pytest.raises(ValueError, match=r"row 3"):
            call()
    with pytest.raises(ValueError, match="one number for each of 60 rows"):
        FixedSizeLSSVR().fit_blocks([(X, y, w[:5])])


def test_dask_and_files_take_weights(tmp_path):
    """Parts of Dask arrays and of files give the weighted model of all rows; rows of weight zero count for nothing."""
    array, pandas = pytest.importorskip("dask.array"), pytest.importorskip("pandas")
    X, y, w, _ = waves(2)
    w = np.where(np.arange(N) % 4, w, 0.0)
    whole = FixedSizeLSSVC(n_landmarks=15).fit(X, y, sample_weight=w)
    on_dask = FixedSizeLSSVC(n_landmarks=15).fit_dask(*(array.from_array(each, chunks=25) for each in (X, y, w)))
    frame = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "label": y, "w": w, "v": np.ones(N)})
    for k in range(3):
        frame[20 * k : 20 * k + 20].to_csv(tmp_path / f"{k}.csv", index=False)
    shards = of_files(tmp_path, "label", ["v"], weights="w")
    assert shards[0].columns == ("a", "b")
    kept = tmp_path / "kept"
    from_files = FixedSizeLSSVC(n_landmarks=15).fit_blocks(shards, folder=kept)
    named = pandas.DataFrame(NEW, columns=["a", "b"])
    for model, new in ((on_dask, NEW), (from_files, named)):
        assert model.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-6)
        np.testing.assert_allclose(model.predict_proba(new), whole.predict_proba(NEW), atol=1e-7)
    # sums of other weights that are kept in the same folder are not taken for these
    equal = FixedSizeLSSVC(n_landmarks=15).fit_blocks(of_files(tmp_path, "label", ["w"], weights="v"), folder=kept)
    plain = FixedSizeLSSVC(n_landmarks=15).fit(X, y)
    np.testing.assert_allclose(equal.predict_proba(named), plain.predict_proba(NEW), atol=1e-7)


def test_bad_weights_of_dask_and_files_get_a_sentence(tmp_path):
    array, pandas = pytest.importorskip("dask.array"), pytest.importorskip("pandas")
    X, y, w, _ = waves()
    parts = [array.from_array(each, chunks=25) for each in (X, y, w)]
    model = FixedSizeLSSVR(n_landmarks=15)
    with pytest.raises(ValueError, match="sample_weight must be a Dask array or series like y"):
        model.fit_dask(*parts[:2], w)
    with pytest.raises(ValueError, match="parts by rows and sample_weight into 1"):
        model.fit_dask(*parts[:2], array.from_array(w, chunks=60))
    with pytest.raises(ValueError, match="partition 0: the weight of row 0 is -1"):
        model.fit_dask(*parts[:2], array.from_array(np.where(np.arange(N) < 25, -1.0, 1.0), chunks=25))
    with pytest.raises(ValueError, match="None of the shards contains any rows of positive weight"):
        model.fit_dask(*parts[:2], array.from_array(np.zeros(N), chunks=25))
    frame = pandas.DataFrame({"a": X[:, 0], "y": y, "w": w, "text": ["much"] * N})
    frame.to_csv(tmp_path / "one.csv", index=False)
    with pytest.raises(ValueError, match="it has no column 'weight'"):
        of_files(tmp_path, "y", weights="weight")
    with pytest.raises(ValueError, match="cannot be the weights and the target"):
        of_files(tmp_path, "y", weights="y")
    with pytest.raises(ValueError, match="column 'text' is not numeric"):
        model.fit_blocks(of_files(tmp_path, "y", ["w"], weights="text"))
