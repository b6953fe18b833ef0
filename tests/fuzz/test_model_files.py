"""Tampered model files: each gives the model that was saved, or a `ModelFileError`, in bounded memory."""

from __future__ import annotations

import io
import json
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest

from bayes_lssvm import BayesianLSSVC, BayesianLSSVR, ModelFileError, load, save
from bayes_lssvm.base.archive import checksum

from .conftest import ENOUGH
from .tampering import npy, opened, tampered

MANY = 100  # cases, of which some leave the model as it was
RNG = np.random.default_rng(3)
X = RNG.normal(size=(500, 2))
Z = X[:, 0] - X[:, 1] + 0.3 * RNG.normal(size=500)
NEW = RNG.normal(size=(7, 2))
MODELS = {
    "two classes": lambda: BayesianLSSVC(refine=False).fit(X[:24], np.where(Z[:24] > 0, "ja", "nein")),
    "a number": lambda: BayesianLSSVR("ard", refine=False).fit(X[:24], Z[:24]),
    "three classes": lambda: BayesianLSSVC("linear").fit(X[:36], np.digitize(Z[:36], (-0.6, 0.6))),
    "a shared kernel": lambda: BayesianLSSVC(shared_kernel=True, refine=False).fit(
        X[:36], np.digitize(Z[:36], (-0.6, 0.6))
    ),
}


def answer(model):
    return model.predict(NEW) if isinstance(model, BayesianLSSVR) else model.predict_proba(NEW)


@pytest.fixture(scope="module", params=list(MODELS))
def honest(request, tmp_path_factory):
    """What a model predicts, and the bytes of its file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MODELS[request.param]()
    return answer(model), save(model, tmp_path_factory.mktemp("honest") / "model.npz").read_bytes()


def loaded_or_sentence(path):
    try:
        return load(path)
    except ModelFileError as error:
        return str(error)


def test_a_tampered_file_is_the_model_or_a_sentence(honest, cases, tmp_path):
    expected, raw = honest
    path = tmp_path / "tampered.npz"
    outcomes = {"refused": 0, "loaded": 0}
    for seed in cases(180, full=1000):
        content, vouched, kind = tampered(raw, seed)
        path.write_bytes(content)
        model = loaded_or_sentence(path)
        if isinstance(model, str):
            assert str(path) in model, (seed, kind)
            assert model.endswith("."), (seed, kind)
            outcomes["refused"] += 1
            continue
        outcomes["loaded"] += 1
        with np.errstate(all="ignore"):
            found = answer(model)
        if vouched:
            np.testing.assert_array_equal(found, expected, err_msg=f"{seed} {kind}")
        else:
            assert np.isfinite(found).all(), (seed, kind)
    number = sum(outcomes.values())
    assert outcomes["refused"] > outcomes["loaded"] or number < ENOUGH
    assert outcomes["loaded"] or number < MANY  # a part of `make fuzz` may have none


# --- bombs -----------------------------------------------------------------------------------------------------------


def zipped(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def _bomb(raw: bytes, **blown_up) -> bytes:
    """The file with arrays of zeros, its checksum made right."""
    header, arrays = opened(raw)
    arrays |= blown_up
    header["arrays"] = sorted(arrays)
    header["sha256"] = checksum(header, arrays)
    return zipped({f"{n}.npy": npy(a) for n, a in (arrays | {"header": np.array(json.dumps(header))}).items()})


BIG = 2**25  # bytes, where an honest file has two million
BOMBS = {
    "the factor": lambda raw: _bomb(raw, inverse_factor=np.zeros((2048, BIG // 2**14))),
    "the inputs": lambda raw: _bomb(raw, X=np.zeros((BIG // 16, 2))),
    "an array more": lambda raw: _bomb(raw, extra=np.zeros(BIG // 8)),
    "an array more, not named": lambda raw: _extended(raw),
    "labels": lambda raw: _bomb(raw, classes=np.zeros(2, dtype=f"<U{BIG // 8}")),
    "the header": lambda raw: zipped({"header.npy": npy(np.array(" " * (BIG // 4) + "{}"))}),
    "all arrays alike": lambda raw: _bomb(raw, **_of_points(2048)),
}


def _extended(raw: bytes) -> bytes:
    stream = io.BytesIO(raw)
    with zipfile.ZipFile(stream, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("more.npy", npy(np.zeros(BIG // 8)))
    return stream.getvalue()


def _of_points(n: int) -> dict:
    one = np.zeros(n)
    factor = np.zeros((n, n))
    return {"X": np.zeros((n, 2)), "y": one, "alpha": one, "kernel_means": one, "inverse_factor": factor} | {
        "members": np.zeros((n, 2), dtype=bool),
        "centre": np.zeros((2, n)),
    }


@pytest.mark.parametrize("make", BOMBS.values(), ids=BOMBS)
def test_a_bomb_takes_no_more_than_twice_an_honest_file(make, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BayesianLSSVC(refine=False).fit(X, Z > 0)
    path = save(model, tmp_path / "model.npz")
    raw = path.read_bytes()
    size = sum(a.nbytes for a in opened(raw)[1].values())
    assert size > 8 * 500**2
    assert _peak(path, refused=False) < 2 * size
    content = make(raw)
    assert len(content) < 2 * len(raw)
    path.write_bytes(content)
    assert _peak(path, refused=True) < 2 * size


def _peak(path, *, refused: bool) -> int:
    tracemalloc.start()
    try:
        if refused:
            with pytest.raises(ModelFileError):
                load(path)
        else:
            load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
