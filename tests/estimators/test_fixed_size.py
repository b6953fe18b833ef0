"""FixedSizeLSSVC and FixedSizeLSSVR: the exact estimators where all rows are landmarks, and any number of rows."""

import warnings

import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from bayes_lssvm import BayesianLSSVC, BayesianLSSVR, FixedSizeLSSVC, FixedSizeLSSVR, load, save
from bayes_lssvm.base.errors import BayesLSSVMWarning, ConstantFeatureWarning
from bayes_lssvm.datasets import load as load_data
from bayes_lssvm.fixed_size.blocks import ShardError, of_files
from bayes_lssvm.fixed_size.passes import Collect
from bayes_lssvm.kernels import RBF, Polynomial

ALL_ROWS = pytest.mark.filterwarnings("ignore:n_landmarks")


def waves(n, seed=0, noise=0.2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2)) * [1.0, 20.0] + [5.0, -3.0]
    f = np.sin(2.0 * (X[:, 0] - 5.0)) + 0.05 * (X[:, 1] + 3.0)
    return X, f + noise * rng.normal(size=n)


def three_classes(n, seed=0):
    X, f = waves(n, seed)
    return X, np.array(["low", "middle", "up"])[np.digitize(f, [-0.6, 0.6])]


@ALL_ROWS
@pytest.mark.parametrize("kernel", [RBF(0.3), RBF(1.0), RBF(10.0), Polynomial(2, 1.0)], ids=str)
def test_with_all_rows_as_landmarks_the_classifier_is_the_exact_one(kernel):
    data = load_data("ripley")
    exact = BayesianLSSVC(kernel, refine=False).fit(*data.Xy)
    model = FixedSizeLSSVC(kernel, refine=False, n_landmarks=250).fit(*data.Xy)
    X = data.test_Xy[0]
    assert model.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-8)
    assert model.log_evidence_lower_ == pytest.approx(exact.log_evidence_, abs=1e-6)
    z, sd = exact.latent(X, return_std=True)
    mine, own = model.latent(X, return_std=True)
    np.testing.assert_allclose(mine, z, atol=1e-7)
    np.testing.assert_allclose(own**2, sd**2, atol=1e-7)
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), atol=1e-7)
    np.testing.assert_allclose(model.predict_proba(X), exact.predict_proba(X), atol=1e-7)
    assert model.members_[0].gamma_eff_ == pytest.approx(exact.gamma_eff_, rel=1e-8)


@ALL_ROWS
def test_with_all_rows_as_landmarks_the_regressor_is_the_exact_one():
    X, y = waves(90)
    exact = BayesianLSSVR(RBF(1.5), refine=False).fit(X, y)
    model = FixedSizeLSSVR(RBF(1.5), refine=False, n_landmarks=90).fit(X, y)
    assert model.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-8)
    for mine, theirs in zip(model.predict(X, return_std=True), exact.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-7)
    assert model.zeta_ == pytest.approx(exact.zeta_, rel=1e-7)


@ALL_ROWS
@pytest.mark.parametrize(("seed", "n", "d"), [(0, 105, 1), (1, 123, 2), (2, 149, 3), (3, 96, 5)])
def test_far_from_the_rows_outputs_are_the_exact_ones(tmp_path, seed, n, d):
    """Where landmarks are nearly dependent, features are known to √ε: near the rows it is not to be seen, far it is."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sin(1.2 * X[:, 0]) + X[:, -1] ** 2 + 0.1 * rng.normal(size=n)
    weights = rng.uniform(0.5, 2.0, size=n) if seed == 1 else None
    new = np.vstack([rng.normal(size=(100, d)), 3.0 * rng.normal(size=(30, d)), np.full((1, d), 6.0)])
    exact = BayesianLSSVR().fit(X, y, sample_weight=weights)
    model = FixedSizeLSSVR(exact.kernel_, refine=False, n_landmarks=n).fit(X, y, sample_weight=weights)
    assert model.log_evidence_lower_ == model.log_evidence_ == pytest.approx(exact.log_evidence_, rel=1e-8)
    save(model, tmp_path / "model.npz")
    for each in (model, load(tmp_path / "model.npz")):
        for mine, theirs in zip(each.latent(new, return_std=True), exact.latent(new, return_std=True), strict=True):
            np.testing.assert_allclose(mine, theirs, atol=1e-7)


@ALL_ROWS
def test_rows_that_follow_leave_the_features_of_those_before():
    X, y = waves(90)
    model = FixedSizeLSSVR(RBF(1.5), refine=False, n_landmarks=200).fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
    assert len(model.landmarks_) == 60
    assert not model.low_rank_.complete
    inputs = model.standardiser_(X)
    given = FixedSizeLSSVR(RBF(1.5), refine=False, landmarks=inputs[:60], standardise=False).fit(inputs, y)
    np.testing.assert_allclose(model.predict(X), given.predict(inputs), atol=1e-6)


@ALL_ROWS
@pytest.mark.parametrize("coding", ["ova", "ovo"])
def test_members_of_several_classes_are_the_exact_ones(coding):
    X, y = three_classes(80)
    exact = BayesianLSSVC(RBF(1.5), refine=False, coding=coding).fit(X, y)
    model = FixedSizeLSSVC(RBF(1.5), refine=False, coding=coding, n_landmarks=80).fit(X, y)
    np.testing.assert_array_equal(model.code_book_, exact.code_book_)
    # two of the classes are easy to tell apart, so that γ is large there, and rounding with it
    assert model.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-8 * max(1.0, exact.members_[-1].gamma_))
    np.testing.assert_allclose(model.predict_proba(X), exact.predict_proba(X), atol=1e-6)


def test_few_landmarks_predict_as_the_exact_model_and_the_bound_is_below_it():
    data = load_data("ripley")
    exact = BayesianLSSVC().fit(*data.Xy)
    model = FixedSizeLSSVC(exact.kernel_, refine=False, n_landmarks=40).fit(*data.Xy)
    assert model.log_evidence_lower_ <= exact.log_evidence_
    X, y = data.test_Xy
    assert abs(model.score(X, y) - exact.score(X, y)) < 0.01
    assert np.abs(model.predict_proba(X) - exact.predict_proba(X)).max() < 0.1
    curve = model.convergence_
    assert curve.log_evidence[-1] == pytest.approx(model.log_evidence_, abs=1e-8)
    assert np.all(np.diff(curve.log_evidence_lower) > 0)
    assert model.n_landmarks_suggested_ >= 1


def test_the_kernel_is_that_of_all_rows():
    X, y = waves(1100, noise=0.5)
    exact = BayesianLSSVR().fit(X, y)
    model = FixedSizeLSSVR("rbf", n_landmarks=120).fit(X, y)
    assert np.log(model.kernel_.sigma) == pytest.approx(np.log(exact.kernel_.sigma), abs=0.02)
    assert model.log_evidence_ == pytest.approx(exact.log_evidence_, abs=0.5)
    assert model.low_rank_.n_passes > 2


@pytest.mark.parametrize("seed", [0, 1])
def test_scales_for_many_classes_are_no_worse_than_one_width(seed):
    """Inputs in steps, of which a choice repeats rows: without a prior of ζ those look free of noise (seed 1: 0.50)."""
    rng = np.random.default_rng(seed)
    labels = np.arange(800) % 5
    X = np.clip(np.round(1.2 * rng.normal(size=(5, 6))[labels] + rng.normal(size=(800, 6))), -3.0, 3.0)
    settings = {"n_landmarks": 60}
    width, scales = (FixedSizeLSSVC(kernel, **settings).fit(X[:400], labels[:400]) for kernel in ("rbf", "ard"))
    assert scales.log_evidence_ > width.log_evidence_
    assert scales.score(X[400:], labels[400:]) > width.score(X[400:], labels[400:]) - 0.01


def test_blocks_dask_and_memory_give_the_same_model():
    array = pytest.importorskip("dask.array")
    X, y = three_classes(600)
    whole = FixedSizeLSSVC(n_landmarks=30).fit(X, y)
    order = np.random.default_rng(0).permutation(600)
    parts = [(X[rows], y[rows]) for rows in np.array_split(order, 5)]
    blocks = FixedSizeLSSVC(n_landmarks=30).fit_blocks(parts)
    dask = FixedSizeLSSVC(n_landmarks=30).fit_dask(
        array.from_array(X, chunks=(130, 1)), array.from_array(y, chunks=130)
    )
    for other in (blocks, dask):
        assert other.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-6)
        np.testing.assert_allclose(other.landmarks_, whole.landmarks_, atol=1e-10)
        np.testing.assert_allclose(other.predict_proba(X), whole.predict_proba(X), atol=1e-7)


def test_rows_that_come_later_are_added():
    X, y = waves(500)
    given = X[:25]
    first = FixedSizeLSSVR(RBF(1.0), refine=False, landmarks=given, standardise=False)
    for rows in np.array_split(np.arange(500), 4):
        assert first.partial_fit(X[rows], y[rows]) is first
    whole = FixedSizeLSSVR(RBF(1.0), refine=False, landmarks=given, standardise=False).fit(X, y)
    assert first.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-8)
    np.testing.assert_allclose(first.predict(X), whole.predict(X), atol=1e-9)


def test_later_rows_may_bring_a_class_that_was_announced():
    X, y = three_classes(300)
    order = np.argsort(y == "up", kind="stable")
    X, y = X[order], y[order]
    model = FixedSizeLSSVC(n_landmarks=20, refine=False)
    seen = int((y != "up").sum())
    with pytest.raises(ValueError, match="no rows of the class 'up'"):
        model.partial_fit(X[:seen], y[:seen], classes=["low", "middle", "up"])
    model = FixedSizeLSSVC(n_landmarks=20, refine=False).partial_fit(X[:seen], y[:seen])
    with pytest.raises(ShardError, match="'up' is not one of the classes"):
        model.partial_fit(X[seen:], y[seen:])


def test_a_stopped_run_goes_on_and_counts_no_row_twice(tmp_path):
    X, y = waves(400)
    read = []

    def shard(number):
        def blocks():
            read.append(number)
            if len(read) == 7:  # four for the look, then the third shard of the second pass
                raise KeyboardInterrupt
            rows = slice(100 * number, 100 * number + 100)
            yield X[rows], y[rows]

        return blocks

    def model():
        return FixedSizeLSSVR(RBF(1.0), refine=False, n_landmarks=20)

    shards = [shard(number) for number in range(4)]
    with pytest.raises(KeyboardInterrupt):
        model().fit_blocks(shards, folder=tmp_path)
    read.append("again")
    resumed = model().fit_blocks(shards, folder=tmp_path)
    assert read[read.index("again") + 1 :] == [0, 1, 2, 3, 2, 3]  # the look, and what was not finished
    whole = model().fit_blocks([(X[i : i + 100], y[i : i + 100]) for i in range(0, 400, 100)])
    np.testing.assert_array_equal(resumed.low_rank_.statistics.squares, whole.low_rank_.statistics.squares)
    assert resumed.low_rank_.statistics.n == 400
    assert resumed.log_evidence_ == whole.log_evidence_


def test_kept_statistics_that_are_damaged_are_computed_again(tmp_path):
    X, y = waves(200)
    shards = [(X[:100], y[:100]), (X[100:], y[100:])]
    whole = FixedSizeLSSVR(RBF(1.0), refine=False, n_landmarks=20).fit_blocks(shards, folder=tmp_path)
    kept = sorted(tmp_path.rglob("*.npz"))
    assert len(kept) == 2
    kept[0].write_bytes(kept[0].read_bytes()[:-40])
    with pytest.warns(BayesLSSVMWarning, match="read again"):
        again = FixedSizeLSSVR(RBF(1.0), refine=False, n_landmarks=20).fit_blocks(shards, folder=tmp_path)
    assert again.log_evidence_ == whole.log_evidence_


def test_files_of_a_folder_are_shards(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = three_classes(300)
    for number, rows in enumerate(np.array_split(np.arange(300), 3)):
        frame = pandas.DataFrame(X[rows], columns=["a", "b"]).assign(label=y[rows], id=rows)
        frame.to_csv(tmp_path / f"part{number}.csv", index=False)
    model = FixedSizeLSSVC(n_landmarks=20).fit_blocks(of_files(tmp_path, "label", ignore=["id"]), names=["a", "b"])
    whole = FixedSizeLSSVC(n_landmarks=20).fit(X, y)
    assert model.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-6)
    assert list(model.feature_names_in_) == ["a", "b"]
    with pytest.raises(ShardError, match="no column 'target'"):
        of_files(tmp_path, "target")
    (tmp_path / "part1.csv").write_text("a,label\n1.0,low\n")
    with pytest.raises(ShardError, match=r"part1.csv: it has no column 'b'"):
        FixedSizeLSSVC().fit_blocks(of_files(tmp_path, "label", ignore=["id"]))
    with pytest.raises(ValueError, match="no CSV or Parquet file"):
        of_files(tmp_path / "nothing", "label")


def test_bad_shards_are_named():
    X, y = waves(90)
    shards = [(X[:30].copy(), y[:30]), (X[30:60].copy(), y[30:60]), (X[60:], y[60:])]
    shards[1][0][4, 1] = np.nan
    with pytest.raises(ShardError, match="shard 1: row 4 holds a value that is missing"):
        FixedSizeLSSVR(n_landmarks=10).fit_blocks(shards)
    with pytest.raises(ShardError, match="shard 1: it has 1 input columns, shard 0 before it 2"):
        FixedSizeLSSVR(n_landmarks=10).fit_blocks([(X[:30], y[:30]), (X[30:, :1], y[30:])])
    with pytest.raises(ValueError, match="None of the shards contains any rows of positive weight"):
        FixedSizeLSSVR(n_landmarks=10).fit_blocks([(X[:0], y[:0])])
    with pytest.raises(ValueError, match="no shards"):
        FixedSizeLSSVR(n_landmarks=10).fit_blocks([])
    empty = FixedSizeLSSVR(n_landmarks=10).fit_blocks([(X[:0], y[:0]), (X, y)])
    assert empty.low_rank_.statistics.n == 90
    with pytest.raises(ValueError, match="landmarks have 3 columns"):
        FixedSizeLSSVR(landmarks=np.ones((4, 3))).fit(X, y)
    with pytest.raises(ValueError, match="landmarks must be one of"):
        FixedSizeLSSVR(landmarks="greedy").fit(X, y)
    with pytest.raises(ValueError, match="n_landmarks must be a whole number"):
        FixedSizeLSSVR(n_landmarks=0).fit(X, y)
    with pytest.warns(BayesLSSVMWarning, match="only 90 rows"):
        FixedSizeLSSVR(RBF(1.0), refine=False).fit(X, y)
    with pytest.warns(ConstantFeatureWarning, match="kept at zero: 1"):
        FixedSizeLSSVR(RBF(1.0), refine=False, n_landmarks=10).fit(np.column_stack([X[:, 0], np.ones(90)]), y)


@pytest.mark.parametrize("kernel", ["rbf", "poly2"])
def test_a_saved_model_predicts_the_same_and_takes_more_rows(tmp_path, kernel):
    X, y = three_classes(200)
    model = FixedSizeLSSVC(kernel, n_landmarks=20).fit(X[:150], y[:150])
    again = load(model.save(tmp_path / "model.npz"))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.log_evidence_lower_ == model.log_evidence_lower_
    for each in (model, again):
        each.partial_fit(X[150:], y[150:])
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), atol=1e-9)
    regressor = FixedSizeLSSVR(n_landmarks=20).fit(*waves(100))
    back = load(regressor.save(tmp_path / "regressor.npz"))
    np.testing.assert_array_equal(back.predict(X), regressor.predict(X))


@pytest.mark.filterwarnings("ignore:No signal")
def test_the_key_of_kept_statistics_knows_all_they_depend_on():
    X, y = waves(100)
    found = []
    for kernel, points, standardise in (
        (RBF(1.0), 10, True),
        (RBF(1.1), 10, True),
        (RBF(1.0), 11, True),
        (RBF(1.0), 10, False),
    ):
        model = FixedSizeLSSVR(kernel, refine=False, n_landmarks=points, standardise=standardise).fit(X, y)
        found.append(Collect(model.low_rank_.features, model.low_rank_.encoding, False).key)
    assert len(set(found)) == 4


@pytest.mark.parametrize(
    "estimator",
    [FixedSizeLSSVC(n_landmarks=40), FixedSizeLSSVR(n_landmarks=40), FixedSizeLSSVC("linear", coding="ovo")],
    ids=str,
)
def test_estimators_pass_the_checks_of_scikit_learn(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesLSSVMWarning)
        counted = {"check_sample_weight_equivalence_on_dense_data": "copies are counted as measurements"}
        results = check_estimator(estimator, on_skip=None, on_fail=None, expected_failed_checks=counted)
    failed = [(r["check_name"], repr(r["exception"])) for r in results if r["status"] == "failed"]
    assert not failed
    assert {r["check_name"] for r in results if r["status"] != "passed"} <= {"check_array_api_input", *counted}
