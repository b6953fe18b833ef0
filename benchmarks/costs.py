"""Cost curves: CPU time of a fit at N = 250 … 8000, ours and peers' in the same process, on one BLAS thread.

`python -m benchmarks.costs --sizes 250 500 1000 2000` measures and appends to benchmarks/series/costs.jsonl, one line
for each fit as it ends. A line of the same commit is not measured again, so that a run that was stopped goes on. All
fits see the same waveform data (21 inputs, labels ±1) and choose one width, μ and ζ, with their own defaults for starts
and tolerances; `log_sigma` is where they end, in units of our σ: the optimum is the same where that is.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF as LengthScale
from sklearn.gaussian_process.kernels import ConstantKernel
from threadpoolctl import threadpool_limits

from bayes_lssvm import BayesianLSSVC, marginalise
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import RBF
from benchmarks.closed_forms import data, regressor
from benchmarks.series import COSTS, append, circumstances, commit, read

SIZES = (250, 500, 1000, 2000)
Fit = Callable[[Array, Array], float]


class Contender(NamedTuple):
    """A fit, what its optimum is, and the most rows that it is given."""

    fit: Fit
    optimum: str
    most: int = 8000
    package: str = "bayes_lssvm"


def _ours(**options: Any) -> Fit:
    return lambda X, y: float(BayesianLSSVC(**options).fit(X, y).kernel_.log_params[0])


def _marginalised(X: Array, y: Array) -> float:
    return marginalise(X, y, progress=False, standardise=False).mean()["log_sigma"]


def _gpr(X: Array, y: Array) -> float:
    found = regressor().fit(X, y).kernel_.get_params()["k1__k1__k2__length_scale"]
    return float(np.log(np.sqrt(2.0) * found))


def _gpc(X: Array, y: Array) -> float:
    found = GaussianProcessClassifier(ConstantKernel(1.0) * LengthScale(1.0)).fit(X, y).kernel_
    return float(np.log(np.sqrt(2.0) * found.get_params()["k2__length_scale"]))


def _gpy(X: Array, y: Array) -> float:
    import GPy

    kernel = GPy.kern.RBF(X.shape[1]) + GPy.kern.Bias(X.shape[1], variance=1e4)
    kernel.bias.variance.fix()
    model = GPy.models.GPRegression(X, y[:, None], kernel)
    model.optimize()
    return float(np.log(np.sqrt(2.0) * float(kernel.rbf.lengthscale[0])))


_EVIDENCE = "evidence of μ, ζ, σ for targets ±1"
CONTENDERS = {
    "BayesianLSSVC()": Contender(_ours(), "the default criterion"),
    "BayesianLSSVC(occam=False)": Contender(_ours(occam=False), _EVIDENCE),
    "marginalise": Contender(_marginalised, "none: μ, ζ, σ integrated out to 1e-6 nats", 2000),
    "scikit-learn GPR": Contender(_gpr, _EVIDENCE, 4000, "sklearn"),
    "scikit-learn GPC": Contender(_gpc, "Laplace's evidence of a logistic likelihood", 2000, "sklearn"),
    "GPy GPRegression": Contender(_gpy, _EVIDENCE, 2000, "GPy"),
}


def cholesky_seconds(X: Array) -> float:
    """CPU time of one Cholesky factorisation of the kernel matrix, the median of three."""
    K = np.asfortranarray(RBF(5.0)(X) + np.eye(len(X)))
    return statistics.median(_cpu(lambda: lapack.dpotrf(K, lower=1)) for _ in range(3))


def _cpu(function: Callable[[], Any]) -> float:
    start = time.process_time()
    function()
    return time.process_time() - start


def measure(name: str, n: int) -> dict[str, Any]:
    """One line of the series."""
    X, y = data(n)
    contender, ends = CONTENDERS[name], list[float]()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        contender.fit(*data(60))  # imports and first calls are not counted
        unit = cholesky_seconds(X)
        seconds = _cpu(lambda: ends.append(contender.fit(X, y)))
    return {
        **circumstances(threads=1),
        "who": name,
        "n": n,
        "cpu_seconds": round(seconds, 4),
        "choleskys": round(seconds / unit, 1),
        "log_sigma": round(ends[0], 5),
        "optimum": contender.optimum,
    }


def missing(path: Path, sizes: list[int], names: list[str]) -> list[tuple[str, int]]:
    """What the series does not have of this commit, small sizes first."""
    here = commit()
    known = {(record["who"], record["n"]) for record in read(path) if record["commit"] == here}
    wanted = [(name, n) for n in sorted(sizes) for name in names if n <= CONTENDERS[name].most]
    return [pair for pair in wanted if pair not in known]


def exponent(small: dict[str, Any], large: dict[str, Any]) -> float:
    """The power of N by which the cost grows from one line to another."""
    return float(np.log(large["cpu_seconds"] / small["cpu_seconds"]) / np.log(large["n"] / small["n"]))


def main(argv: list[str] | None = None) -> int:
    """Measure what is missing."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.costs", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--who", nargs="+", default=list(CONTENDERS), choices=list(CONTENDERS), metavar="NAME")
    parser.add_argument("--series", type=Path, default=COSTS, help="file to append to")
    options = parser.parse_args(argv)
    installed = [name for name in options.who if find_spec(CONTENDERS[name].package)]
    for name, n in missing(options.series, options.sizes, installed):
        record = measure(name, n)
        append(options.series, [record])
        print(f"{name}, N = {n}: {record['cpu_seconds']:.3g} s, {record['choleskys']:.0f} Cholesky factorisations")
    return 0


if __name__ == "__main__":
    sys.exit(main())
