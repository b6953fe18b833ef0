"""Model files: what is saved comes back bit for bit, and nothing else is accepted."""

from __future__ import annotations

import gc
import io
import json
import os
import random
import stat
import sys
import warnings
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bayes_lssvm import LSSVC, BayesianLSSVC, BayesianLSSVR, ModelFileError, NoSignalWarning, load, save
from bayes_lssvm.base.archive import FORMAT, VERSION, checksum
from bayes_lssvm.kernels import ARD, MLP, RBF, Linear, Polynomial

OPTIONAL = {"log_evidence", "loo_map", "n_samples"}
"""Entries of the header that files of earlier versions lack."""

FITTED = ("mu_", "zeta_", "gamma_", "gamma_eff_", "intercept_", "log_evidence_", "log_occam_factor_", "hyper_std_")


@pytest.fixture(scope="module")
def data():
    """Sixty points with two inputs, text labels that depend on them, and a smooth target."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 2)) * [1.0, 30.0] + [5.0, -2.0]
    z = np.sin(X[:, 0]) + X[:, 1] / 30
    return X, np.where(z + 0.3 * rng.normal(size=60) > np.median(z), "ja", "nein"), z + 0.1 * rng.normal(size=60)


@pytest.fixture(scope="module")
def new_points():
    return np.random.default_rng(5).normal(size=(40, 2)) * [2.0, 60.0]


CLASSIFIERS = {
    "text labels": {},
    "refined": {"kernel": "rbf", "refine": True},
    "prior by label": {"class_prior": {"nein": 0.9, "ja": 0.1}},
    "prior in order": {"class_prior": np.array([0.3, 0.7])},
    "costs": {"costs": np.array([[0.0, 1.0], [7.0, 0.5]])},
    "target form": {"moderation": "target"},
    "softmax form": {"moderation": "softmax"},
    "not standardised": {"standardise": False, "kernel": Linear()},
    "two prior widths": {"prior_sd": (2.0, 4.0), "occam": False, "random_state": np.int64(3)},
    "sum": {"kernel": Linear() + RBF(1.7)},
    "product of a sum and a scaling": {"kernel": (Linear() + Polynomial(2, 3.0)) * (0.3 * ARD((1.1, 1 / 3)))},
    "scaled sum": {"kernel": 2.5 * (RBF(0.1 + 0.2) + Linear())},
    "perceptron": {"kernel": MLP(1e-8, 0.0)},
}


def same(a, b) -> bool:
    """Equality to the last bit, of numbers and of text."""
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("settings", CLASSIFIERS.values(), ids=CLASSIFIERS)
def test_a_classifier_predicts_the_same_bits_after_saving(settings, data, new_points, tmp_path):
    X, labels, _ = data
    model = BayesianLSSVC(**({"refine": False} | settings)).fit(X, labels)
    again = load(save(model, tmp_path / "model.npz"))
    assert type(again) is BayesianLSSVC
    assert same(again.predict_proba(new_points), model.predict_proba(new_points))
    assert same(again.decision_function(new_points), model.decision_function(new_points))
    assert same(again.predict(new_points), model.predict(new_points))
    assert same(again.predict(new_points, costs=[[0, 1], [9, 0]]), model.predict(new_points, costs=[[0, 1], [9, 0]]))
    assert all(same(*pair) for pair in zip(again.discriminant(new_points), model.discriminant(new_points), strict=True))
    assert same(again.classes_, model.classes_)
    assert again.zeta_star_ == model.zeta_star_
    assert again.kernel_ == model.kernel_


@pytest.mark.parametrize("kernel", ["rbf", "ard", Linear() + 0.2 * RBF(0.7)], ids=str)
def test_a_regressor_predicts_the_same_bits_after_saving(kernel, data, new_points, tmp_path):
    X, _, y = data
    model = BayesianLSSVR(kernel, refine=False).fit(X, y)
    again = load(model.save(tmp_path / "model.npz"))
    assert type(again) is BayesianLSSVR
    for a, b in zip(
        again.predict(new_points, return_std=True), model.predict(new_points, return_std=True), strict=True
    ):
        assert same(a, b)
    assert all(
        same(*pair)
        for pair in zip(
            again.latent(new_points, return_std=True), model.latent(new_points, return_std=True), strict=True
        )
    )


def test_everything_that_was_inferred_comes_back(data, tmp_path):
    X, labels, _ = data
    model = BayesianLSSVC(refine=False).fit(X, labels)
    again = load(save(model, tmp_path / "model.npz"))
    assert [getattr(again, name) for name in FITTED] == [getattr(model, name) for name in FITTED]
    assert again.level3_ == model.level3_
    assert again.provenance_ == model.provenance_
    assert again.get_params() == model.get_params()
    assert same(again.alpha_, model.alpha_)
    twice = load(save(again, tmp_path / "again.npz"))
    assert same(twice.predict_proba(X), model.predict_proba(X))
    assert str(again.compare(["linear", "rbf"], progress=False)) == str(
        model.compare(["linear", "rbf"], progress=False)
    )


def test_settings_come_back_with_the_labels_own_types(data, tmp_path):
    X, labels, _ = data
    y = np.where(labels == "ja", 2, -1)
    model = BayesianLSSVC(refine=False, class_prior={np.int64(2): 0.2, np.int64(-1): 0.8}).fit(X, y)
    again = load(save(model, tmp_path / "model.npz"))
    assert again.class_prior == {2: 0.2, -1: 0.8}
    assert {type(label) for label in again.class_prior} == {int}
    assert same(again.predict(X), model.predict(X))
    assert again.predict(X).dtype == y.dtype


def test_names_of_a_data_frame_come_back_and_are_checked(data, tmp_path):
    X, labels, _ = data
    frame = pd.DataFrame(X, columns=["height <b>", "gewicht, in kg é"])
    model = BayesianLSSVC(refine=False).fit(frame, pd.Series(labels))
    again = load(save(model, tmp_path / "model.npz"))
    assert list(again.feature_names_in_) == list(frame.columns)
    assert same(again.predict_proba(frame), model.predict_proba(frame))
    assert list(again.predict(frame)) == list(model.predict(frame))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame.rename(columns={"height <b>": "width"}))


def test_a_column_without_variance_and_a_model_without_signal_come_back(data, tmp_path):
    """Infinite scales and error bars are not JSON's numbers, yet they are part of a model."""
    X, labels, _ = data
    permuted = np.random.default_rng(1).permutation(labels)
    with pytest.warns(NoSignalWarning), pytest.warns(UserWarning, match="not vary"):
        model = BayesianLSSVC(refine=False).fit(np.column_stack([X, np.ones(len(X))]), permuted)
    again = load(save(model, tmp_path / "model.npz"))
    inputs = np.column_stack([X, np.full(len(X), 9.0)])
    assert same(again.predict_proba(inputs), model.predict_proba(inputs))
    np.testing.assert_equal(asdict(again.level3_), asdict(model.level3_))  # nan equals nan here


def test_a_file_holds_arrays_and_json_only(data, tmp_path):
    X, labels, _ = data
    path = save(BayesianLSSVC(refine=False).fit(pd.DataFrame(X, columns=["a", "b"]), pd.Series(labels)), tmp_path / "m")
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(str(arrays["header"]))
    assert (header["format"], header["version"]) == (FORMAT, VERSION)
    assert not any(array.dtype.hasobject for array in arrays.values())


def test_only_fitted_models_of_the_evidence_framework_are_saved(data, tmp_path):
    X, labels, _ = data
    with pytest.raises(ValueError, match="not fitted"):
        save(BayesianLSSVC(), tmp_path / "model.npz")
    with pytest.raises(TypeError, match=r"BayesianLSSVR, .* and FixedSizeLSSVR can be saved, got LSSVC"):
        save(LSSVC().fit(X, labels), tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


# Files that are not whole, not ours, or not harmless


@pytest.fixture(scope="module")
def saved(data, tmp_path_factory):
    """A model and the bytes of its file."""
    X, labels, _ = data
    model = BayesianLSSVC(refine=False).fit(X, labels)
    return model, save(model, tmp_path_factory.mktemp("saved") / "model.npz").read_bytes()


def altered(saved, change) -> bytes:
    """The file after `change(header, arrays)`, written anew as somebody who knows the format would."""
    with np.load(io.BytesIO(saved[1]), allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    header = json.loads(str(arrays.pop("header")))
    change(header, arrays)
    if "arrays" in header:
        header["arrays"] = sorted(arrays)
    if "sha256" in header and not any(array.dtype.hasobject for array in arrays.values()):
        header["sha256"] = checksum(header, arrays)
    stream = io.BytesIO()
    np.savez(stream, header=np.array(json.dumps(header)), **arrays)
    return stream.getvalue()


def load_bytes(raw: bytes, folder):
    path = folder / "stranger.npz"
    path.write_bytes(raw)
    return load(path)


class _Intruder:
    """Unpickling this object makes a folder: what an attacker's code would be."""

    def __init__(self, mark: str) -> None:
        self.mark = mark

    def __reduce__(self):
        return os.mkdir, (self.mark,)


@pytest.mark.parametrize("name", ["header", "X", "extra"])
def test_a_pickled_payload_is_refused_and_not_run(name, saved, tmp_path):
    mark = tmp_path / "executed"
    with np.load(io.BytesIO(saved[1]), allow_pickle=False) as archive:
        arrays = {key: archive[key] for key in archive.files}
    arrays[name] = np.array([_Intruder(str(mark))], dtype=object)
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    with pytest.raises(ModelFileError):
        load_bytes(stream.getvalue(), tmp_path)
    assert not mark.exists()
    # the payload is a real one: with pickling allowed it runs
    with np.load(io.BytesIO(stream.getvalue()), allow_pickle=True) as archive:
        assert archive[name].shape == (1,)
    assert mark.is_dir()


# np.load leaves a broken archive's handle to the garbage collector; the test of that is the next but one
@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(share, saved, tmp_path):
    raw = saved[1]
    with pytest.raises(ModelFileError, match="is not a model file"):
        load_bytes(raw[: int(share * len(raw))], tmp_path)


@pytest.mark.parametrize("raw", [b"a,b\n1,2\n", b"PK\x03\x04 but no archive", bytes(range(256))])
def test_another_file_is_refused(raw, tmp_path):
    with pytest.raises(ModelFileError, match="is not a model file"):
        load_bytes(raw, tmp_path)


def test_a_refused_file_is_closed(saved, tmp_path):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(ModelFileError):
            load_bytes(saved[1][:1000], tmp_path)
        gc.collect()
    assert not [str(warning.message) for warning in caught]


def test_another_archive_is_refused(tmp_path):
    stream = io.BytesIO()
    np.savez(stream, X=np.eye(2))
    with pytest.raises(ModelFileError, match="is not a model file"):
        load_bytes(stream.getvalue(), tmp_path)
    with pytest.raises(ModelFileError, match="is not a model file"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing.npz")


@pytest.mark.parametrize("version", [VERSION + 1, 0, str(VERSION), None, [1]])
def test_another_version_is_refused_with_a_sentence(version, saved, tmp_path):
    raw = altered(saved, lambda header, _: header.update(version=version))
    with pytest.raises(ModelFileError, match=r"has format version .*; this version .* reads versions .*\. Fit and"):
        load_bytes(raw, tmp_path)


REFUSED_HEADERS = {
    "another format": ({"format": "another"}, "is not a model file"),
    "another estimator": ({"estimator": "os.system"}, "unknown kind"),
    "another kernel": ({"kernel": {"kind": "Spline"}}, "no kernel of kind 'Spline'"),
    "a list for a kernel": ({"kernel": [1]}, "damaged"),
    "a kernel of width −1": ({"kernel": {"kind": "RBF", "sigma": -1.0}}, "positive"),
    "another setting": ({"params": {"depth": 3}}, "depth"),
    "no intercept": ({"intercept": None}, "damaged"),
    "level 3 as a number": ({"level3": 3}, "damaged"),
}


@pytest.mark.parametrize(("change", "words"), REFUSED_HEADERS.values(), ids=REFUSED_HEADERS)
def test_a_header_with_a_foreign_value_is_refused(change, words, saved, tmp_path):
    with pytest.raises(ModelFileError, match=words):
        load_bytes(altered(saved, lambda header, _: header.update(change)), tmp_path)


def test_a_file_that_lacks_an_array_or_an_entry_is_refused(saved, tmp_path):
    with np.load(io.BytesIO(saved[1]), allow_pickle=False) as archive:
        names = [name for name in archive.files if name != "header"]
        entries = list(json.loads(str(archive["header"])))
    for name in names:
        with pytest.raises(ModelFileError, match=name):
            load_bytes(altered(saved, lambda _, arrays, name=name: arrays.pop(name)), tmp_path)
    for entry in set(entries) - OPTIONAL:
        with pytest.raises(ModelFileError):
            load_bytes(altered(saved, lambda header, _, entry=entry: header.pop(entry)), tmp_path)


# Damage that would surface as some other exception, or not at all, if `load` did not look for it.
DAMAGED = {
    "an empty file": lambda saved: b"",
    "a single array": lambda saved: _npy(),
    "settings that are a list": lambda s: altered(s, lambda h, _: h.update(params=[])),
    "an estimator that is a list": lambda s: altered(s, lambda h, _: h.update(estimator=[])),
    "JSON without end": lambda saved: _npz(header=np.array("[" * 100_000)),
    "text for numbers": lambda s: altered(s, lambda _, a: a.update(alpha=np.array(["x"]))),
    "arrays that do not fit": lambda s: altered(s, lambda _, a: a.update(X=a["X"][:3])),
    "another number of inputs": lambda s: altered(s, lambda h, _: h.update(n_features=7)),
    "too few names": lambda s: altered(s, lambda h, _: h.update(feature_names=["a"])),
}


def _npy() -> bytes:
    stream = io.BytesIO()
    np.save(stream, np.eye(3))
    return stream.getvalue()


def _npz(**arrays) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


@pytest.mark.parametrize("make", DAMAGED.values(), ids=DAMAGED.keys())
def test_a_damaged_file_is_refused_by_its_own_error(make, saved, tmp_path):
    with pytest.raises(ModelFileError):
        load_bytes(make(saved), tmp_path)


def test_a_flipped_bit_is_refused_or_harmless(saved, data, tmp_path):
    """Every array carries a checksum; what it does not cover (dates, padding) does not change the predictions."""
    model, raw = saved
    X = data[0]
    expected = model.predict_proba(X)
    dice = random.Random(0)
    refused = 0
    for _ in range(150):
        damaged = bytearray(raw)
        damaged[dice.randrange(len(raw))] ^= 1 << dice.randrange(8)
        try:
            again = load_bytes(bytes(damaged), tmp_path)
        except ModelFileError:
            refused += 1
        else:
            assert same(again.predict_proba(X), expected)
    assert refused > 100


# Writing


@pytest.mark.parametrize("failure", [OSError("no space left"), KeyboardInterrupt()])
def test_a_failure_while_writing_leaves_no_file(failure, saved, tmp_path, monkeypatch):
    def half(stream, **_):
        stream.write(b"PK\x03\x04 half a file")
        raise failure

    monkeypatch.setattr(np, "savez_compressed", half)
    with pytest.raises(type(failure)):
        save(saved[0], tmp_path / "model.npz")
    assert not list(tmp_path.iterdir())


def test_a_failure_while_writing_leaves_the_former_file(saved, tmp_path, monkeypatch):
    path = save(saved[0], tmp_path / "model.npz")
    former = path.read_bytes()

    def fail(*_, **__):
        raise OSError("no space left")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="no space"):
        save(saved[0], path)
    assert path.read_bytes() == former
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_saved_model_has_the_permissions_of_any_new_file(saved, tmp_path):
    other = tmp_path / "other"
    other.touch()
    path = save(saved[0], tmp_path / "model.npz")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(other.stat().st_mode)


# Files that earlier versions wrote

SAVED = Path(__file__).parent / "estimators" / "saved"
KEPT = json.loads((SAVED / "expected.json").read_text())


@pytest.mark.parametrize("name", KEPT["expected"])
def test_files_of_earlier_versions_predict_what_they_did(name, tmp_path):
    model = load(SAVED / f"{name}.npz")
    new = np.array(KEPT["inputs"])
    new = np.column_stack([new, np.zeros((len(new), model.n_features_in_ - 2))])
    for same_model in (model, load(save(model, tmp_path / "again.npz"))):
        found = same_model.predict(new) if name == "regression" else same_model.decision_function(new)
        # at γ = 1e9 outputs have eight digits: by 60-digit arithmetic they were off by 1e-8 then, and are by 5e-9 now
        rtol = 1e-6 if name == "inputs-removed" else 1e-9
        np.testing.assert_allclose(found, KEPT["expected"][name], rtol=rtol, atol=1e-9)


@pytest.mark.parametrize("name", KEPT["expected"])
def test_the_format_is_the_one_that_earlier_versions_wrote(name, tmp_path):
    again = save(load(SAVED / f"{name}.npz"), tmp_path / "again.npz")
    with np.load(SAVED / f"{name}.npz") as former, np.load(again) as now:
        assert set(now.files) == set(former.files)
        assert all(same(now[key], former[key]) for key in now.files if key != "header")
        headers = [json.loads(str(archive["header"])) for archive in (former, now)]
    for members in (header.pop("members", []) for header in headers):
        for member in members:
            del member["params"]  # a member once had the settings of a code book too
    for header in headers:  # which files of version 1 and 2 had not
        for new in ("version", "arrays", "sha256"):
            header.pop(new, None)
    assert headers[1]["params"].pop("prior") is None  # settings that there were not
    assert headers[1]["params"].pop("noise", "constant") == "constant"
    for entry in OPTIONAL - set(headers[0]):
        headers[1].pop(entry, None)
    assert headers[1] == headers[0]


@pytest.mark.parametrize("entry", sorted(OPTIONAL - {"n_samples"}))
def test_a_file_without_an_optional_entry_is_read(entry, saved, data, tmp_path):
    """The map is found again from the data; the evidence is then that of level 3."""
    model, X = saved[0], data[0]
    again = load_bytes(altered(saved, lambda header, _: header.pop(entry)), tmp_path)
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X), rtol=1e-9)
    expected = model.level3_.log_evidence if entry == "log_evidence" else model.log_evidence_
    assert again.log_evidence_ == expected
