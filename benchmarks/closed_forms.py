"""The closed forms against an eigendecomposition, scikit-learn's Gaussian processes, and their own kernel blocks."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF as LengthScale
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.base.typing import Array
from bayes_lssvm.datasets import make_waveform
from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.level2 import j4
from bayes_lssvm.levels.objective import Objective
from bayes_lssvm.linalg.spectrum import TridiagonalReduction
from benchmarks.timing import Measured, readable, seconds, side_by_side


def data(n: int, seed: int = 1) -> tuple[Array, Array]:
    """Waveform data (21 inputs), standardised, with labels ±1."""
    X, labels = make_waveform(n, seed=seed)
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), np.where(labels == labels.max(), 1.0, -1.0)


def level3_against_eigendecomposition(n: int, repeats: int) -> Measured:
    """One level-3 evaluation (kernel matrix, μ, ζ, evidence with Occam factor) against `eigh` with vectors."""
    X, y = data(n)
    kernel = RBF(5.0)
    K = kernel(X)
    objective = Objective(X, y)
    ours, peer = side_by_side(lambda: objective.evaluate(kernel), lambda: eigh(K, driver="evd"), repeats)
    name = f"level 3: kernel, μ, ζ, evidence, N={n}"
    return Measured(name, readable(ours), f"eigh(evd) {readable(peer)}", ours / peer, 0.7, True)


def many_gammas(n: int, repeats: int) -> Measured:
    """100 values of γ after the reduction."""
    X, y = data(n)
    K = RBF(5.0)(X)
    reduction = TridiagonalReduction.from_kernel_matrix(K, y)
    gammas = np.logspace(-4, 4, 100)
    ours, peer = side_by_side(
        lambda: j4(reduction, gammas), lambda: TridiagonalReduction.from_kernel_matrix(K, y), repeats
    )
    return Measured(
        f"100 values of γ, N={n}",
        readable(ours),
        f"the reduction {readable(peer)}",
        100.0 * ours / peer,
        5.0,
        True,
        "%",
    )


def regressor() -> Any:
    """scikit-learn's GPR with the hyperparameters of the evidence framework."""
    # 1/μ, σ/√2 and 1/ζ are free, from scikit-learn's own defaults; the wide constant stands for p(b) = 1
    kernel = ConstantKernel(1.0) * LengthScale(1.0) + WhiteKernel(1.0) + ConstantKernel(1e4, "fixed")
    return GaussianProcessRegressor(kernel)


def fit_against_gp_regression(n: int, repeats: int) -> Iterator[Measured]:
    """Fit with σ refined against GPR optimising the same three hyperparameters on the same targets."""
    X, y = data(n)
    model, peer_model = BayesianLSSVC(occam=False), regressor()
    ours, peer = side_by_side(lambda: model.fit(X, y), lambda: peer_model.fit(X, y), repeats)
    width = np.sqrt(2.0) * peer_model.kernel_.get_params()["k1__k1__k2__length_scale"]
    gap = abs(float(model.kernel_.log_params[0]) - float(np.log(width)))
    name = f"fit, σ refined, N={n} (|Δ log σ| at the optimum {gap:.1e})"
    yield Measured(name, readable(ours), f"GPR.fit {readable(peer)}", peer / ours, 5.0, False)
    with_occam = BayesianLSSVC(prior="flat", moderation="class")
    ours = sorted(seconds(lambda: with_occam.fit(X, y)) for _ in range(repeats))[repeats // 2]
    name = f"fit by eq 5.3 (an optimum that GPR does not have), N={n}"
    yield Measured(name, readable(ours), f"GPR.fit {readable(peer)}", peer / ours, 1.0, False)


def fit_against_gp_classification(n: int) -> Measured:
    """Fit with σ refined against scikit-learn's Laplace GP classifier, one run each."""
    X, y = data(n)
    ours = min(seconds(lambda: BayesianLSSVC().fit(X, y)) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer = seconds(lambda: GaussianProcessClassifier(ConstantKernel(1.0) * LengthScale(1.0)).fit(X, y))
    return Measured(f"fit, σ refined, N={n}", readable(ours), f"GPC.fit {readable(peer)}", peer / ours, 5.0, False)


def prediction(n: int, n_new: int, repeats: int) -> Measured:
    """predict_proba against the kernel block alone."""
    X, y = data(n)
    X_new, _ = make_waveform(n_new, seed=2)
    model = BayesianLSSVC(RBF(5.0), refine=False).fit(X, y)
    inputs = model.standardiser_(X_new)
    ours, peer = side_by_side(lambda: model.predict_proba(X_new), lambda: model.kernel_(inputs, model.X_fit_), repeats)
    name = f"predict_proba, {n_new} points, N={n}"
    return Measured(name, readable(ours), f"kernel block {readable(peer)}", ours / peer, 5.0, True)


_MEMORY_PROGRAM = """
import tracemalloc
from benchmarks.closed_forms import data
from bayes_lssvm import BayesianLSSVC
X, y = data({n})
BayesianLSSVC(occam={occam}).fit(*data(400))
tracemalloc.start()
BayesianLSSVC(occam={occam}).fit(X, y)
print(tracemalloc.get_traced_memory()[1])
"""


def peak_memory(n: int, occam: bool) -> Measured:
    """Peak of the arrays that a fit holds at once (LAPACK's work arrays are among them), in units of N² doubles."""
    program = _MEMORY_PROGRAM.format(n=n, occam=occam)
    peak = float(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout)
    name = f"peak memory of fit, N={n}, {'with' if occam else 'without'} Occam"
    return Measured(name, f"{peak / 2**20:.0f} MiB", "N² doubles", peak / (8.0 * n * n), 6.0, True, "N²")


def light_import() -> Measured:
    """Heavy packages that `import bayes_lssvm` brings in."""
    program = (
        "import sys, bayes_lssvm; "
        "print(len({'jax', 'numpyro', 'arviz_base', 'arviz_stats', 'matplotlib'} & set(sys.modules)))"
    )
    count = float(subprocess.run([sys.executable, "-c", program], capture_output=True, check=True).stdout)
    return Measured(
        "heavy packages on import", f"{count:.0f}", "JAX, ArviZ, matplotlib, …", count, 0.0, True, "packages"
    )


def rows(*, quick: bool) -> Iterator[Measured]:
    """Every benchmark of the closed forms; the quick ones are small, to see that they run."""
    if quick:
        yield level3_against_eigendecomposition(200, 3)
        yield many_gammas(200, 3)
        yield from fit_against_gp_regression(150, 1)
        yield fit_against_gp_classification(100)
        yield prediction(200, 500, 3)
        yield light_import()
        return
    yield level3_against_eigendecomposition(1000, 9)
    yield level3_against_eigendecomposition(2000, 5)
    yield many_gammas(1000, 25)
    yield from fit_against_gp_regression(1000, 5)
    yield fit_against_gp_classification(1000)
    yield prediction(1000, 10_000, 7)
    yield peak_memory(2000, False)
    yield peak_memory(2000, True)
    yield light_import()
