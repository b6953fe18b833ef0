"""The commands that integrate the hyperparameters out: trust and marginalise.

Inputs are standardised, and numbers as targets too, so that priors of the log parameters mean the same on every table.
"""

from __future__ import annotations

import argparse
import atexit
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np

from .._version import __version__
from ..base.standardisation import Standardiser, moments
from ..base.tables import STDIN, read_table
from ..base.text import InputError, plain
from ..estimators.common import check_regression_targets
from ..kernels import Kernel
from ..marginal.marginalise import marginalise
from ..priors import HyperPrior
from ..sampling.diagnostics import ChainsDidNotMixError
from ..trust import trust
from .grammar import hyper_prior_from, parse_kernel
from .marginalised import Marginalised, record_of, report_of
from .output import (
    STDOUT,
    check_output,
    emit_columns,
    emit_json,
    emit_text,
    rows_of,
    same_file,
    say,
    writing,
)
from .predict import inputs_by_name
from .spoken import spoken_warnings
from .training import Training, options_of, read_training

# Which methods an option is for, and what they and files need beyond the dependencies of the library.
_METHODS_OF = {
    "draws": ("importance", "nuts"),
    "chains": ("nuts",),
    "warmup": ("nuts",),
    "check": ("nuts",),
    "tolerance": ("quadrature", "mackay"),
}
_PACKAGES_OF = {"nuts": ("jax", "numpyro")}
INTERRUPTED = 130  # the exit code that `main` returns
_PACKAGES_OF_FILES = ("arviz_base", "xarray", "h5netcdf", "h5py")


def run_trust(args: argparse.Namespace) -> None:
    """Tell what can be trusted on a table. The verdict is a result, so the exit code does not tell it."""
    training = read_training(
        args.data, args.target, args.task, options_of(args), many_classes=True, weights=args.weights
    ).with_weight()
    kernel, prior = _model(args, training)
    with _said_as_options(), spoken_warnings() as sentences:
        X = Standardiser.fit(training.X, training.inputs, training.weights)(training.X)
        options = {"kernel": kernel, "prior": prior, "fixed_kernel": args.fixed_kernel, "seed": args.seed}
        report = trust(X, training.y, sample_weight=training.weights, standardise=False, task=training.task, **options)
    if args.json:
        emit_json(_heading(args, training, prior) | report.as_dict() | {"warnings": sentences})
    else:
        emit_text(rows_of([*training.describe(), ("task", training.task)]) + f"\n\n{report}")


def run_marginalise(args: argparse.Namespace) -> None:
    """Integrate the hyperparameters out, print what was found, save it, and predict new rows."""
    _check_outputs(args)
    _check_method(args)
    training = read_training(args.data, args.target, args.task, options_of(args), weights=args.weights).with_weight()
    kernel, prior = _model(args, training)
    new = None
    if args.predict is not None:
        new = inputs_by_name(training.encoding, read_table(args.predict), fill=args.impute == "median")
    with _said_as_options(), _interruptible(args.method), spoken_warnings() as sentences:
        found = _integrate(args, training, kernel, prior)
        predictions = None if new is None else found.predictions(new)
    if args.out is not None:
        with writing(args.out) as path:
            found.posterior.save(path)
    on_screen = predictions is not None and not args.json and args.predictions in (None, STDOUT)
    if predictions is not None and (on_screen or args.predictions is not None):
        emit_columns(predictions, args.predictions or STDOUT)
    if args.json:
        record = _heading(args, training, prior) | record_of(found) | {"posterior_file": args.out}
        emit_json(record | ({} if predictions is None else {"predictions": predictions}) | {"warnings": sentences})
    elif not on_screen:
        emit_text(report_of(found, args.kernel))
        if args.out is not None:
            emit_text(f"posterior written to {args.out}")
        if new is not None:
            emit_text(f"{len(new)} predictions written to {args.predictions}")


# --- what is refused before the work ---------------------------------------------------------------------------------


def _check_outputs(args: argparse.Namespace) -> None:
    inputs = [path for path in (args.data, args.predict) if path is not None]
    if inputs == [STDIN, STDIN]:
        raise InputError("standard input holds one table; give DATA or --predict a file name.")
    if args.predictions is not None and args.predict is None:
        raise InputError("--predictions says where to write the predictions of --predict TABLE; give --predict too.")
    if args.json and args.predictions == STDOUT:
        raise InputError("--json already writes to standard output; give --predictions a file name.")
    if args.out == STDOUT:
        raise InputError("--out needs a file name; a posterior is not text for standard output.")
    for path in (args.out, args.predictions):
        check_output(path, *inputs)
    if args.out is not None and args.predictions is not None and same_file(args.out, args.predictions):
        raise InputError("--out and --predictions name the same file; give two names.")


def _check_method(args: argparse.Namespace) -> None:
    for option, methods in _METHODS_OF.items():
        if getattr(args, option) is not None and args.method not in methods:
            name = "--no-check" if option == "check" else f"--{option}"
            raise InputError(f"{name} is for --method {' or '.join(methods)}, but the method is {args.method}.")
    _require_packages(f"--method {args.method}", _PACKAGES_OF.get(args.method, ()))
    if args.out is not None:
        _require_packages("--out", _PACKAGES_OF_FILES)


def _require_packages(what: str, packages: Sequence[str]) -> None:
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        raise InputError(
            f'{what} needs packages that are not installed ({", ".join(missing)}): pip install "bayes-lssvm[sampling]".'
        )


def _model(args: argparse.Namespace, training: Training) -> tuple[Kernel, HyperPrior]:
    """The kernel and the prior that the arguments name."""
    kernel, given = parse_kernel(args.kernel, len(training.inputs))
    n_kernel = 0 if args.fixed_kernel else kernel.log_params.size
    if args.prior_kernel is not None and n_kernel == 0:
        why = "--fixed-kernel keeps them fixed" if args.fixed_kernel else f"{kernel!s} has none"
        raise InputError(f"--prior-kernel is for the kernel's parameters, but {why}.")
    prior = hyper_prior_from(args.prior, args.prior_mu, args.prior_zeta, args.prior_kernel)
    prior.components(n_kernel)  # refuses another number of priors than the kernel has parameters
    if given and n_kernel:
        say("note", "the kernel's parameters are integrated out; --fixed-kernel keeps the given values.")
    return kernel, prior


@contextmanager
def _interruptible(method: str) -> Iterator[None]:
    """End at once after an interrupt: threads of JAX that still work would crash an interpreter that tidies up."""
    try:
        yield
    except KeyboardInterrupt:
        if method == "nuts":
            atexit.register(os._exit, INTERRUPTED)
        raise


@contextmanager
def _said_as_options() -> Iterator[None]:
    """Failures of the library in the words of the command line."""
    try:
        yield
    except (ImportError, ValueError, ChainsDidNotMixError) as error:
        words = str(error).replace("fixed_kernel=True", "--fixed-kernel").replace("check=False", "--no-check")
        raise InputError(words) from None


# --- the work ---------------------------------------------------------------------------------------------------------


def _integrate(args: argparse.Namespace, training: Training, kernel: Kernel, prior: HyperPrior) -> Marginalised:
    standardiser = Standardiser.fit(training.X, training.inputs, training.weights)
    if training.task == "classification":
        y, mean, scale = np.where(training.y == max(training.counts), 1.0, -1.0), 0.0, 1.0
    else:
        given = check_regression_targets(training.y)
        mean, scale = (float(value) for value in moments(given, training.weights)[:2])
        y = (given - mean) / scale
    options = {name: getattr(args, name) for name in _METHODS_OF if getattr(args, name) is not None}
    posterior = marginalise(
        standardiser(training.X),
        y,
        sample_weight=training.weights,
        kernel=kernel,
        prior=prior,
        method=args.method,
        fixed_kernel=args.fixed_kernel,
        seed=args.seed,
        **options,
        standardise=False,
    )
    table = training.record() | {
        "task": training.task,
        "input_mean": standardiser.mean,
        "input_scale": standardiser.scale,  # not finite, so null, for a column without variance
        "target_mean": mean,
        "target_scale": scale,
    }
    posterior = replace(posterior, provenance=posterior.provenance | {"table": plain(table)})
    return Marginalised(training, posterior, standardiser, mean, scale)


def _heading(args: argparse.Namespace, training: Training, prior: HyperPrior) -> dict[str, Any]:
    """What the records of both commands begin with."""
    return {
        "version": __version__,
        "task": training.task,
        "data": training.record(),
        "kernel_given": args.kernel,
        "fixed_kernel": args.fixed_kernel,
        "prior": prior.to_dict(),
        "seed": args.seed,
    }
