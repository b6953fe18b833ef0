"""`python -m benchmarks.threads`: one and two BLAS threads, alone and beside processes that want the cores too.

Each line is measured in a process of its own, so that threads are those of its environment. `--hogs` processes that do
nothing but count run beside every second line. What is printed for `dpotrf` of an N × N matrix, or for the evidence of
N points with its gradient (`--what evidence`), a call: the time by the clock, the CPU time of the process, how much of
it the kernel took, and how often the process was sent from a core while it could have gone on (involuntary context
switches). A thread of OpenBLAS that waits
for another one spins until the kernel takes the core from it; `perf record` shows where.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import lapack

from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.objective import Objective

_VARIABLES = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_HOG = "while True: pass"
_ONE = "import sys; from benchmarks.threads import measured; measured(sys.argv[1], *map(float, sys.argv[2:]))"


def factorisation(n: int) -> Callable[[], object]:
    """A `dpotrf` of an N × N matrix."""
    A = np.asfortranarray(np.eye(n) + 1.0 / n)
    return lambda: lapack.dpotrf(A, lower=1)


def evidence(n: int) -> Callable[[], object]:
    """The evidence of N points with 21 inputs, and its gradient."""
    X = np.random.default_rng(0).normal(size=(n, 21))
    objective = Objective(X, np.sign(X[:, 0] * X[:, 1] + X[:, 2]))
    return lambda: objective.evaluate(RBF(6.0), gradient=True)


WHAT = {"dpotrf": factorisation, "evidence": evidence}


def measured(what: str, n: float, seconds: float) -> None:
    """Print what a call costs in this process, as JSON."""
    task = WHAT[what](int(n))
    task()  # threads are there from here on
    before, start, count = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        task()
        count += 1
    clock, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    switches = after.ru_nivcsw - before.ru_nivcsw
    found = {"clock": clock, "cpu": user + system, "kernel": system, "switches": switches}
    print(json.dumps({name: value / count for name, value in found.items()}))


def in_process(what: str, n: int, threads: int, seconds: float) -> dict[str, float]:
    """What `measured` prints in a process with so many BLAS threads."""
    environment = os.environ | dict.fromkeys(_VARIABLES, str(threads))
    arguments = [sys.executable, "-c", _ONE, what, str(n), str(seconds)]
    done = subprocess.run(arguments, env=environment, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def beside(hogs: int, what: str, n: int, threads: int, seconds: float) -> dict[str, float]:
    """The same beside so many processes that only count."""
    others: list[subprocess.Popen[Any]] = [subprocess.Popen([sys.executable, "-c", _HOG]) for _ in range(hogs)]
    try:
        return in_process(what, n, threads, seconds)
    finally:
        for other in others:
            other.kill()
            other.wait()


def main(argv: list[str] | None = None) -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.threads", description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*", default=[300, 1000], help="numbers of rows N")
    parser.add_argument("--what", choices=WHAT, default="dpotrf")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, os.cpu_count() or 1], help="BLAS threads")
    parser.add_argument("--hogs", type=int, default=os.cpu_count() or 1, help="processes beside (default: one a core)")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each line")
    options = parser.parse_args(argv)
    print("    N  threads  beside    clock ms    CPU ms   kernel ms  switches   times one thread")
    for n in options.sizes:
        for hogs in (0, options.hogs):
            one = None
            for threads in options.threads:
                found = beside(hogs, options.what, n, threads, options.seconds)
                one = found["clock"] if one is None else one
                times = [1e3 * found[name] for name in ("clock", "cpu", "kernel")]
                print(
                    f"{n:5d}  {threads:7d}  {hogs:6d}  {times[0]:10.2f}  {times[1]:8.2f}  {times[2]:10.2f}"
                    f"  {found['switches']:8.2f}  {found['clock'] / one:10.2f} ×",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
