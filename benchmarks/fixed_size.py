"""Models of fixed size: a pass against `dsyrk`, levels 2 and 3 against a pass, gradients, memory, rivals, and Dask.

By CPU time, so that other programs on the machine disturb the ratios little; two workers on Dask by the wall clock.
`python -m benchmarks.fixed_size` prints these alone, with `--dask` the last one, which needs a quiet machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from time import process_time

import numpy as np
from scipy.linalg import blas

from bayes_lssvm.base.standardisation import Standardiser
from bayes_lssvm.base.typing import Array
from bayes_lssvm.fixed_size.blocks import ROWS, Shard, of_arrays
from bayes_lssvm.fixed_size.features import NystromMap
from bayes_lssvm.fixed_size.objective import derivatives, posteriors_of, tasks_of
from bayes_lssvm.fixed_size.passes import Collect, Differentiate, Encoding
from bayes_lssvm.fixed_size.posterior import FixedSizePosterior
from bayes_lssvm.fixed_size.priors import priors_of
from bayes_lssvm.fixed_size.statistics import Statistics
from bayes_lssvm.kernels import ARD, RBF, Kernel
from benchmarks.closed_forms import data
from benchmarks.timing import Measured, readable, side_by_side, table

INPUTS = 21  # of waveform data


class Setting:
    """Waveform data with m landmarks, and what a pass over them does."""

    def __init__(self, n: int, m: int, kernel: Kernel | None = None) -> None:
        self.X, self.y = data(n)
        self.features = NystromMap.of(kernel or RBF(5.0), self.X[:: max(1, n // m)][:m])
        self.encoding = Encoding(Standardiser.identity(self.X.shape[1]), None)
        self.shard: Shard = of_arrays(self.X, self.y, rows=n)[0]
        self.work = Collect(self.features, self.encoding, False)

    def collect(self) -> Statistics:
        """A pass."""
        return self.work(self.shard)

    def all_features(self) -> Array:
        """Features of all rows at once, of shape (N, m)."""
        return np.vstack([self.features(self.X[k : k + ROWS]) for k in range(0, len(self.X), ROWS)])

    def levels(self, statistics: Statistics) -> tuple[list[object], object]:
        """Levels 1 to 3 from the sums, and what a gradient needs of them."""
        (task,) = tasks_of(statistics, None)
        priors = priors_of(None, self.features.kernel, self.X.shape[1], statistics, None)
        (found,) = posteriors_of(task, priors)
        FixedSizePosterior.of(task, np.array([found.level2.mu]), np.array([found.level2.zeta]))
        return [task, [found], priors], found

    def differentiate(self) -> Differentiate:
        """The pass that gives the gradient."""
        (task, found, priors), _ = self.levels(self.collect())
        row, _ = derivatives(task, found, priors, self.features)  # type: ignore[arg-type]
        return Differentiate(self.features, self.encoding, [row])


def a_pass(n: int, m: int, repeats: int) -> Measured:
    """Reading, kernel rows, whitening and sums against the product ΦᵀΦ alone, in the same blocks."""
    setting = Setting(n, m)
    blocks = [np.asfortranarray(np.random.default_rng(0).normal(size=(m, min(ROWS, n - k)))) for k in range(0, n, ROWS)]
    square = np.zeros((m, m), order="F")

    def product() -> None:
        for block in blocks:
            blas.dsyrk(1.0, block, beta=1.0, c=square, overwrite_c=1)

    ours, peer = side_by_side(setting.collect, product, repeats, process_time)
    label = f"fixed size: a pass over {n} rows, m={m}"
    return Measured(label, readable(ours), f"dsyrk {readable(peer)}", ours / peer, 3.0, True)


def levels_2_and_3(n: int, m: int, repeats: int) -> Measured:
    """Levels 1 to 3 from the sums against the pass that made them."""
    setting = Setting(n, m)
    statistics = setting.collect()
    ours, peer = side_by_side(lambda: setting.levels(statistics), setting.collect, repeats, process_time)
    label = f"fixed size: levels 1 to 3, N={n}, m={m}"
    return Measured(label, readable(ours), f"the pass {readable(peer)}", 100 * ours / peer, 5.0, True, "%")


def gradient(n: int, m: int, repeats: int, *, scales: int = 0) -> Measured:
    """A pass for the gradient against one for the value, with one width or a scale for each of the 21 inputs."""
    setting = Setting(n, m, ARD((5.0,) * scales) if scales else None)
    work = setting.differentiate()
    ours, peer = side_by_side(lambda: work(setting.shard), setting.collect, repeats, process_time)
    label = f"fixed size: gradient of the evidence, N={n}, m={m}" + (f", {scales} scales" if scales else "")
    return Measured(label, readable(ours), f"its value {readable(peer)}", ours / peer, 2.0, True)


_RIDGE = """
import sys
from time import process_time
from sklearn.linear_model import BayesianRidge
from benchmarks.fixed_size import Setting
from benchmarks.timing import peak_memory, seconds
which, n, m = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
setting = Setting(n, m)
if which == "ours":
    time = seconds(lambda: setting.levels(setting.collect()), process_time)
else:
    phi = setting.all_features()
    time = seconds(lambda: BayesianRidge().fit(phi, setting.y), process_time)
print(time, peak_memory())
"""


def against_bayesian_ridge(n: int, m: int) -> tuple[Measured, Measured]:
    """A pass with levels 1 to 3 against scikit-learn's BayesianRidge on the same features, made beforehand.

    A process each, so that its peak memory is known; both hold the rows, and all else that is imported.
    """

    def run(which: str) -> tuple[float, float]:
        command = [sys.executable, "-c", _RIDGE, which, str(n), str(m)]
        found = subprocess.run(command, capture_output=True, check=True, text=True, env=_one_thread()).stdout.split()
        return float(found[0]), float(found[1])

    (ours, own), (peer, other) = run("ours"), run("ridge")
    label = f"fixed size: pass and levels, N={n}, m={m}"
    return (
        Measured(label, readable(ours), f"BayesianRidge {readable(peer)}", peer / ours, 5.0, False),
        Measured(
            f"{label}, peak memory",
            f"{own / 2**20:.0f} MiB",
            f"BayesianRidge {other / 2**20:.0f} MiB",
            100 * own / other,
            100 / 3,
            True,
            "%",
        ),
    )


_MEMORY = """
import sys
import numpy as np
from bayes_lssvm.datasets import make_waveform
from bayes_lssvm import FixedSizeLSSVR
from bayes_lssvm.kernels import RBF
from benchmarks.timing import peak_memory
n, m = int(sys.argv[1]), int(sys.argv[2])
def rows():
    for k in range(0, n, 20_000):
        X, y = make_waveform(20_000, seed=k)
        yield X, np.asarray(y, dtype=float)
FixedSizeLSSVR(RBF(5.0), refine=False, n_landmarks=m).fit_blocks(rows)
print(peak_memory())
"""


def flat_memory(few: int, many: int, m: int) -> Measured:
    """Peak memory of a process that reads blocks, with ten times the rows."""

    def peak(n: int) -> float:
        command = [sys.executable, "-c", _MEMORY, str(n), str(m)]
        return float(subprocess.run(command, capture_output=True, check=True).stdout)

    small, large = peak(few), peak(many)
    label = f"fixed size: peak memory of a process, N={many:.0e}, m={m}"
    return Measured(
        label, f"{large / 2**20:.0f} MiB", f"N={few:.0e} {small / 2**20:.0f} MiB", large / small, 1.05, True
    )


_DASK = """
import sys, time
import numpy as np
from bayes_lssvm.datasets import make_waveform
from bayes_lssvm import FixedSizeLSSVR
from bayes_lssvm.fixed_size.blocks import Shard
from bayes_lssvm.kernels import RBF
n, m, workers = map(int, sys.argv[1:])
def shard(seed):
    def read():
        X, y = make_waveform(20_000, seed=seed)
        return [(X, np.asarray(y, dtype=float))]
    return Shard(f"shard {seed}", read)
shards = [shard(seed) for seed in range(n // 20_000)]
model = FixedSizeLSSVR(RBF(5.0), refine=False, n_landmarks=m)
if __name__ == "__main__":
    client = None
    if workers:
        from distributed import Client, LocalCluster
        cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
        client = Client(cluster)
        client.wait_for_workers(workers)
        # as in the one process, what is imported is not counted
        client.run(lambda: bool(__import__("bayes_lssvm.estimators.fixed_size") and __import__("bayes_lssvm.datasets")))
    start = time.perf_counter()
    model.fit_blocks(shards, client=client)
    print(time.perf_counter() - start, model.log_evidence_)
"""


def two_workers(n: int, m: int) -> Measured:
    """Two Dask worker processes against one process, one BLAS thread each."""

    def run(workers: int) -> tuple[float, float]:
        command = [sys.executable, "-c", _DASK, str(n), str(m), str(workers)]
        found = subprocess.run(command, capture_output=True, check=True, text=True, env=_one_thread()).stdout.split()
        return float(found[0]), float(found[1])

    (alone, one), (together, two) = run(0), run(2)
    if abs(one - two) > 1e-6 * abs(one):
        raise RuntimeError(f"the evidences differ: {one} by one process, {two} by two workers")
    label = f"fixed size on Dask, two workers, N={n}, m={m}"
    return Measured(label, readable(together), f"one process {readable(alone)}", alone / together, 1.6, False)


def _one_thread() -> dict[str, str]:
    return os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def rows(*, quick: bool) -> Iterator[Measured]:
    """Every benchmark of models of fixed size; the quick ones are small, to see that they run."""
    if quick:
        yield a_pass(3000, 50, 1)
        yield levels_2_and_3(3000, 50, 1)
        yield gradient(3000, 50, 1)
        yield gradient(3000, 50, 1, scales=INPUTS)
        yield from against_bayesian_ridge(3000, 50)
        return
    yield a_pass(20_000, 1000, 3)
    yield levels_2_and_3(100_000, 500, 3)
    yield gradient(20_000, 500, 3)
    yield gradient(20_000, 500, 3, scales=INPUTS)
    yield from against_bayesian_ridge(100_000, 500)
    yield flat_memory(100_000, 1_000_000, 500)
    yield two_workers(1_000_000, 500)


def main(argv: list[str] | None = None) -> int:
    """Print the table of this group, or of Dask alone."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fixed_size", description=__doc__)
    parser.add_argument("--dask", action="store_true", help="two workers against one process, three times")
    options = parser.parse_args(argv)
    found = [two_workers(1_000_000, 500) for _ in range(3)] if options.dask else list(rows(quick=False))
    print(table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
