"""Simulation-based calibration of the posteriors of μ, ζ and the kernel's parameter, on the command line.

Run it again with the same folder and it continues where it stopped; with more sets or another method it computes only
what is new.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from bayes_lssvm.kernels import as_kernel
from bayes_lssvm.priors import HyperPrior, Normal

from . import METHODS, OtherRunError, Setting, as_text, methods_of, regime_text, run


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m validation.studies.calibration",
        description="Simulate data from the model and test whether posteriors and their intervals are calibrated.",
    )
    parser.add_argument("--sets", type=int, default=500, help="simulated data sets (default: 500)")
    parser.add_argument("--n", type=int, default=20, help="points of a set (default: 20)")
    parser.add_argument("--inputs", type=int, default=2, help="inputs of a point (default: 2)")
    parser.add_argument("--kernel", default="rbf", help="name of the kernel (default: rbf)")
    parser.add_argument("--kernel-value", type=float, help="value of the kernel's parameter where it is known")
    parser.add_argument("--fixed-kernel", action="store_true", help="the kernel's parameter is known, not drawn")
    parser.add_argument("--prior-sd", type=float, default=3.0, help="sd of log mu and log zeta (default: 3)")
    parser.add_argument(
        "--kernel-prior-sd", type=float, default=1.0, help="sd of the kernel's log parameter (default: 1)"
    )
    parser.add_argument(
        "--truth", type=float, nargs="+", metavar="LOG", help="log mu, log zeta (and the kernel's) held: frequentist"
    )
    parser.add_argument(
        "--methods", nargs="+", default=["quadrature", "laplace", "hessian", "mackay"], choices=list(METHODS)
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes (default: 1)")
    parser.add_argument("--block", type=int, default=25, help="sets in a file (default: 25)")
    parser.add_argument("--output", type=Path, help="folder for the results; a run continues what it finds there")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run the command; 0 if it went through."""
    options = _parser().parse_args(argv)
    try:
        kernel = as_kernel(options.kernel, options.inputs)
        if options.kernel_value is not None:
            kernel = kernel.with_log_params(np.log([options.kernel_value]))
        own, width = Normal(0.0, options.prior_sd), Normal(0.0, options.kernel_prior_sd)
        setting = Setting(
            n=options.n,
            n_inputs=options.inputs,
            kernel=kernel,
            prior=HyperPrior(own, own, width),
            fixed_kernel=options.fixed_kernel,
            truth=None if options.truth is None else tuple(options.truth),
            seed=options.seed,
        )
        results = run(
            setting,
            methods_of(setting, options.methods),
            n_sets=options.sets,
            folder=options.output,
            jobs=options.jobs,
            block=options.block,
        )
    except (OtherRunError, ValueError, OSError) as error:
        print(f"calibration: {error}", file=sys.stderr)
        return 1
    print("\n".join(f"{name}: {value}" for name, value in setting.description().items()), end="\n\n")
    print(as_text(results), end="\n\n")
    if setting.truth is not None:
        print("The truth is held, so no posterior has to be uniform: read the coverage, which is the frequentist one.")
    else:
        print(
            "uniform: the ECDF stays in its simultaneous 95 % band, shared among a method's quantities (Bonferroni).\n"
            "p values are not adjusted. 90 % all: sets without a posterior count as not covered."
        )
        if "mackay" in results:
            print("\nCoverage of 90 % intervals by what level 2 finds in the data\n")
            print(regime_text(results, setting.n))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
