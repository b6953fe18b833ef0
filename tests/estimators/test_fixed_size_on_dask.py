"""Models of fixed size on a Dask cluster of real processes, whose workers are killed in the middle of a pass."""

from __future__ import annotations

import os
import signal
from types import SimpleNamespace

import numpy as np
import pytest

from bayes_lssvm import FixedSizeLSSVR
from bayes_lssvm.base.standardisation import Standardiser
from bayes_lssvm.fixed_size.blocks import ShardError, of_reader
from bayes_lssvm.fixed_size.features import NystromMap
from bayes_lssvm.fixed_size.passes import Collect, Encoding, OnDask
from bayes_lssvm.fixed_size.statistics import Statistics
from bayes_lssvm.kernels import RBF

pytest.importorskip("distributed")

ROWS, SHARDS = 300, 4


def waves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 2))
    return X, np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=ROWS)


def fit(shards, **options):
    return FixedSizeLSSVR(RBF(1.0), refine=False, n_landmarks=20).fit_blocks(shards, **options)


def shard_of(number, log=None, deadly_reads=()):
    """A shard that writes down its reads, and kills the worker that does one of `deadly_reads`."""
    X, y = (part[number::SHARDS] for part in waves())

    def blocks():
        if log is not None:
            (log / f"{number}-{os.urandom(4).hex()}").touch()
            done = len(list(log.glob(f"{number}-*")))
            if done in deadly_reads:
                os.kill(os.getpid(), signal.SIGKILL)
        yield X, y

    return blocks


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster,
        Client(cluster) as found,
    ):
        yield found


def test_a_worker_killed_in_the_middle_of_the_sums_changes_nothing(client, tmp_path):
    plain = [shard_of(number) for number in range(SHARDS)]
    # the first read is the look, the second the pass that sums: the worker dies there, and its task goes to another
    shards = [shard_of(number, tmp_path, deadly_reads=(2,) if number == 2 else ()) for number in range(SHARDS)]
    model, whole = fit(shards, client=client), fit(plain)
    assert len(list(tmp_path.glob("2-*"))) >= 3, "no worker was killed"
    assert model.low_rank_.statistics.n == ROWS
    np.testing.assert_allclose(model.low_rank_.statistics.squares, whole.low_rank_.statistics.squares, rtol=1e-10)
    assert model.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-8)


@pytest.mark.slow  # four workers are started and killed one after the other
def test_a_shard_that_kills_every_worker_is_a_sentence_and_finished_shards_are_kept(client, tmp_path):
    log, folder = tmp_path / "log", tmp_path / "kept"
    log.mkdir()
    deadly = [shard_of(number, log, deadly_reads=range(2, 6) if number == 3 else ()) for number in range(SHARDS)]
    with pytest.raises(ConnectionError, match=r"lost during the pass .* are kept in .* resumes from there"):
        fit(deadly, client=client, folder=folder)
    finished = {path.stem for path in folder.rglob("*.npz")}
    assert 1 <= len(finished) < SHARDS
    resumed = fit([shard_of(number) for number in range(SHARDS)], folder=folder)
    assert {path.stem for path in folder.rglob("*.npz")} > finished
    whole = fit([shard_of(number) for number in range(SHARDS)])
    assert resumed.low_rank_.statistics.n == ROWS
    np.testing.assert_allclose(resumed.low_rank_.statistics.squares, whole.low_rank_.statistics.squares, rtol=1e-10)


def test_a_bad_row_on_a_worker_names_its_shard(client):
    X, y = waves()
    X[5, 1] = np.nan
    with pytest.raises(ShardError, match="shard 0: row 5 holds a value that is missing"):
        fit([lambda: [(X, y)]], client=client)


class Tasks:
    """A client that computes here, and adds up what each of its tasks would be when it is sent."""

    def __init__(self):
        self.sent = 0

    def compute(self, found):
        import cloudpickle

        self.sent = sum(len(cloudpickle.dumps(task)) for task in dict(found.__dask_graph__()).values())
        return SimpleNamespace(result=lambda: found.compute(scheduler="sync"))


def test_a_feature_map_travels_once_and_not_with_every_part():
    features = NystromMap.of(RBF(1.0), waves()[0][:100])
    work = Collect(features, Encoding(Standardiser.identity(2), None), False)
    shards, tasks = of_reader([shard_of(number) for number in range(SHARDS)]), Tasks()
    found = OnDask(shards, tasks)(work, Statistics.merge, "statistics")
    assert found.n == ROWS
    assert features.L.nbytes < tasks.sent < 2 * features.L.nbytes
