"""What a default fit costs, in Cholesky factorisations of its kernel matrix: `python -m benchmarks.fit_cost`.

CPU time of `BayesianLSSVC().fit` on waveform data and of LAPACK's `potrf` on the same matrix, in one process and one
thread, with the exponent of N from each size to the next; `--memory` for the peak of the arrays in the fit of the last
size, which is traced meanwhile; `--ard` for a scale for each of 20 inputs, `--peers` for scikit-learn's Gaussian
processes on the same data (N ≤ 1000).
"""

from __future__ import annotations

import argparse
import os
import time
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import lapack
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF as LengthScale
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

from bayes_lssvm import BayesianLSSVC, LongFitWarning
from bayes_lssvm.base.typing import Array
from bayes_lssvm.kernels import RBF
from benchmarks.closed_forms import data

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def cpu_seconds(function: Callable[[], Any]) -> float:
    """CPU time of one call."""
    start = time.process_time()
    function()
    return time.process_time() - start


def factorisation(X: Array, repeats: int = 5) -> float:
    """CPU time of one `potrf` of the kernel matrix, the least of several."""
    K = RBF(5.0)(X) + np.eye(len(X))

    def once() -> float:
        A = np.array(K, order="F")
        return cpu_seconds(lambda: lapack.dpotrf(A, lower=1, overwrite_a=1, clean=0))

    return min(once() for _ in range(repeats))


def fit_cost(n: int, kernel: str, repeats: int, *, traced: bool = False) -> tuple[float, float, float]:
    """CPU seconds of a fit, the least of several, of one factorisation, and the peak of a traced fit in N² doubles."""
    X, y = data(n)
    X = X[:, :20]
    one, peak = factorisation(X), 0.0
    if traced:
        tracemalloc.start()
    fits = min(cpu_seconds(lambda: BayesianLSSVC(kernel).fit(X, y)) for _ in range(repeats))
    if traced:
        peak = tracemalloc.get_traced_memory()[1] / (8.0 * n * n)
        tracemalloc.stop()
    return fits, min(one, factorisation(X)), peak


def peers(n: int) -> None:
    """Print the ratios to scikit-learn's Gaussian processes, with the evidences of both optima for the regressor."""
    X, y = data(n)
    kernel = ConstantKernel(1.0) * LengthScale(1.0) + WhiteKernel(1.0) + ConstantKernel(1e4, "fixed")
    regressor, classifier = GaussianProcessRegressor(kernel), GaussianProcessClassifier(1.0 * LengthScale(1.0))
    model = BayesianLSSVC()
    ours = min(cpu_seconds(lambda: model.fit(X, y)) for _ in range(3))
    theirs = cpu_seconds(lambda: regressor.fit(X, y))
    width = float(np.sqrt(2.0) * regressor.kernel_.get_params()["k1__k1__k2__length_scale"])
    behind = model.criterion_at(model.kernel_) - model.criterion_at(RBF(width))
    print(f"N = {n}: {theirs / ours:.1f} × faster than GPR (whose σ is {behind:.2g} nats behind by our criterion)")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        theirs = cpu_seconds(lambda: classifier.fit(X, y))
    print(f"N = {n}: {theirs / ours:.1f} × faster than GPC")


def main() -> None:
    """Print a line a size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", type=int, default=[1000, 2000, 4000])
    parser.add_argument("--ard", action="store_true")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--memory", action="store_true")
    options = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in THREADS[:2]):
        print(f"For one thread set {' and '.join(f'{name}=1' for name in THREADS[:2])}.")
    warnings.simplefilter("ignore", LongFitWarning)
    fit_cost(400, "rbf", 1)  # warms up
    last = None
    for n in options.sizes:
        traced = options.memory and n == options.sizes[-1]
        seconds, one, peak = fit_cost(n, "ard" if options.ard else "rbf", 3 if n <= 1000 else 1, traced=traced)
        exponent = "" if last is None else f", exponent {np.log(seconds / last[1]) / np.log(n / last[0]):.2f}"
        print(
            f"N = {n}: {seconds:.3g} CPU s, {seconds / one:.1f} factorisations of {one * 1e3:.3g} ms{exponent}",
            flush=True,
        )
        if traced:
            print(f"N = {n}: peak {peak:.2f} N² doubles", flush=True)
        last = (n, seconds)
    if options.peers:
        peers(1000)


if __name__ == "__main__":
    main()
