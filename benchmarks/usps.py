"""`python -m benchmarks.usps`: the digits of paper 2, 45 members on 7291 points, by the clock.

The bars are absolute here: designed within 20 minutes on two cores, 2007 points predicted within 60 seconds, less than
4 GB of memory. With --folder finished members are kept, and a run that was stopped goes on; such a run's time is no
measurement. The data are read from the folder that BAYES_LSSVM_DATA names.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path

import numpy as np

from bayes_lssvm import BayesianLSSVC
from bayes_lssvm.datasets import load

MINUTES, SECONDS, GIGABYTES = 20.0, 60.0, 4.0


def peak_memory(jobs: int) -> float:
    """Gigabytes: the largest of this process, and of each of `jobs` others as if they had peaked together."""
    scale = 1e-9 if sys.platform == "darwin" else 1024e-9  # bytes there, kibibytes elsewhere
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    other = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return scale * (own + (jobs if jobs > 1 else 0) * other)


def main(argv: list[str] | None = None) -> int:
    """Design, predict, print; 1 if a bar is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.usps", description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--folder", type=Path, help="where finished members are kept")
    options = parser.parse_args(argv)
    try:
        digits = load("usps")
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        return 1
    model = BayesianLSSVC(
        n_jobs=options.jobs, folder=options.folder, moderation="target", prior="flat", class_prior="equal"
    )
    start = time.perf_counter()
    model.fit(*digits.Xy)
    design = (time.perf_counter() - start) / 60.0
    X, y = digits.test_Xy
    start = time.perf_counter()
    labels = model.classes_[np.argmax(model.predict_proba(X), axis=1)]
    prediction = time.perf_counter() - start
    votes = model.multiclass_
    assert votes is not None
    hamming = votes.set_params(decoding="hamming", class_prior=None).score(model.standardiser_(X), y)
    memory = peak_memory(options.jobs)
    members = len(votes.members_)
    print(f"design of {members} members, {options.jobs} jobs  {design:.1f} min (bar {MINUTES:g})")
    print(f"prediction of {len(X)} points          {prediction:.1f} s (bar {SECONDS:g})")
    print(f"peak memory                        {memory:.2f} GB (bar {GIGABYTES:g})")
    print(f"accuracy, Hamming and Bayes        {100 * hamming:.2f} and {100 * np.mean(labels == y):.2f} %")
    return int(not (design <= MINUTES and prediction <= SECONDS and memory <= GIGABYTES))


if __name__ == "__main__":
    sys.exit(main())
