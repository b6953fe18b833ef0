"""Tampered netCDF files of posteriors: each gives the posterior that was saved, or a sentence, in bounded memory."""

from __future__ import annotations

import random
import shutil

import h5py
import numpy as np
import pytest

from bayes_lssvm.kernels import RBF
from bayes_lssvm.marginal.export import PosteriorFileError
from bayes_lssvm.marginal.marginalise import marginalise
from bayes_lssvm.marginal.posterior import HyperPosterior

from .conftest import ENOUGH

RNG = np.random.default_rng(2)
X = RNG.normal(size=(20, 1))
Y = np.sin(2 * X[:, 0]) + 0.2 * RNG.normal(size=20)


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    posterior = marginalise(X, Y, kernel=RBF(1.0), fixed_kernel=True, progress=False, standardise=False)
    return posterior, posterior.save(tmp_path_factory.mktemp("honest") / "posterior.nc")


def outcome(path):
    try:
        return HyperPosterior.load(path)
    except ValueError as error:  # PosteriorFileError is one
        return str(error)


def test_a_flipped_bit_is_harmless_or_a_sentence(honest, cases, tmp_path):
    posterior, path = honest
    raw, expected = path.read_bytes(), posterior.predict(X)
    counts = {"refused": 0, "loaded": 0}
    for seed in cases(30, full=300):
        dice = random.Random(seed)
        damaged = bytearray(raw)
        for _ in range(dice.choice((1, 20))):
            damaged[dice.randrange(len(raw))] ^= 1 << dice.randrange(8)
        other = tmp_path / "damaged.nc"
        other.write_bytes(damaged[: dice.randrange(len(raw))] if dice.random() < 0.2 else damaged)
        found = outcome(other)
        if isinstance(found, str):
            assert str(other) in found
            counts["refused"] += 1
        else:
            np.testing.assert_array_equal(found.predict(X), expected)
            counts["loaded"] += 1
    assert counts["refused"] or sum(counts.values()) < ENOUGH // 2  # most are refused


def edited(path, tmp_path, change):
    copy = shutil.copy(path, tmp_path / "edited.nc")
    with h5py.File(copy, "a") as file:
        change(file)
    return copy


CHANGES = {
    "a weight that is not a number": lambda f: f["rule_data/weights"].__setitem__(0, np.nan),
    "another input": lambda f: f["constant_data/X"].__setitem__(0, 7.0),
    "another evidence": lambda f: f.attrs.__setitem__("log_evidence", 1e9),
    "another kernel": lambda f: f.attrs.__setitem__("kernel", '{"kind": "RBF", "sigma": 9.0}'),
    "no rule": lambda f: f.__delitem__("rule_data"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("vouched", [True, False])
def test_a_changed_file_is_refused(change, vouched, honest, tmp_path):
    """Without a checksum, as in files of earlier versions, what cannot be a posterior still is."""

    def both(file):
        change(file)
        if not vouched:
            del file.attrs["sha256"]

    path = edited(honest[1], tmp_path, both)
    if vouched or change in (CHANGES["a weight that is not a number"], CHANGES["no rule"]):
        with pytest.raises(PosteriorFileError, match="is damaged"):
            HyperPosterior.load(path)
    else:
        assert isinstance(HyperPosterior.load(path), HyperPosterior)


def test_a_bomb_is_refused_before_it_is_unpacked(honest, tmp_path):
    zeros = {"shape": (2**40,), "dtype": "f8", "chunks": (2**20,), "compression": "gzip"}
    path = edited(honest[1], tmp_path, lambda f: f.create_dataset("posterior/bomb", **zeros))
    with pytest.raises(ValueError, match="would unpack to"):
        HyperPosterior.load(path)
