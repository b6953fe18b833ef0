"""The commands that learn from a table: fit and compare."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np

from .._errors import ConstantFeatureWarning
from .._memory import require_matrices
from .._version import __version__
from ..comparison import compare
from ..estimators import BayesianLSSVC, BayesianLSSVR
from ..level3 import ErrorBars
from ..model_files import save
from ..standardisation import Standardiser
from ._grammar import class_prior_from, parse_kernel
from ._output import STDOUT, InputError, check_output, emit_json, emit_text, rows_of, say, spoken_warnings, writing
from ._training import Training, read_training

Model = BayesianLSSVC | BayesianLSSVR


def run_fit(args: argparse.Namespace) -> None:
    """Design a model, print what was found and save it."""
    if args.out == STDOUT:
        raise InputError("--out needs a file name; a model is not text for standard output.")
    check_output(args.out, args.data)
    training = read_training(args.data, args.target, args.task, args.ignore)
    model = _estimator(args, training)
    with spoken_warnings() as sentences:
        Standardiser.fit(training.X, training.inputs)  # warns of columns without variance, by their names
        warnings.simplefilter("ignore", ConstantFeatureWarning)  # the model would do so again, by their numbers
        model.fit(training.X, training.y)
        score = _training_score(model, training)
    # Arrays carry no names, but the model file shall: `predict` matches columns by them.
    model.feature_names_in_ = np.array(training.inputs, dtype=object)
    if args.out is not None:
        with writing(args.out) as path:
            save(model, path)
    if args.json:
        emit_json(_record(model, training, score, args) | {"warnings": sentences})
    else:
        emit_text(_report(model, training, score))
        if args.out is not None:
            emit_text(f"model written to {args.out}")


def run_compare(args: argparse.Namespace) -> None:
    """Rank kernels by their evidence."""
    training = read_training(args.data, args.target, args.task, args.ignore)
    kernels = [parse_kernel(text, len(training.inputs))[0] for text in args.kernels]
    require_matrices(len(training.X), 6, "Compare on a random subset of the rows.")
    y = training.y
    if training.task == "classification":
        y = np.where(y == max(training.counts), 1.0, -1.0)
    with spoken_warnings() as sentences:
        X = Standardiser.fit(training.X, training.inputs)(training.X)
        comparison = compare(X, y, kernels, refine=args.refine, occam=args.occam, seed=args.seed)
    if args.json:
        record = {"version": __version__, "task": training.task, "data": training.record()}
        settings = {"refined": args.refine, "occam": args.occam, "seed": args.seed}
        emit_json(record | settings | {"kernels": comparison.rows(), "warnings": sentences})
    else:
        emit_text(rows_of([*training.describe(), ("task", training.task)]) + f"\n\n{comparison}")


def _estimator(args: argparse.Namespace, training: Training) -> Model:
    kernel, given = parse_kernel(args.kernel, len(training.inputs))
    if given and args.refine:
        say("note", "the kernel parameters given are where the search starts; --no-refine takes them as they are.")
    common: dict[str, Any] = {"refine": args.refine, "occam": args.occam, "random_state": args.seed}
    if training.task == "classification":
        prior = class_prior_from(args.class_prior, list(training.counts))
        return BayesianLSSVC(kernel, class_prior=prior, moderation=args.moderation or "class", **common)
    for option in ("class_prior", "moderation"):
        if getattr(args, option) is not None:
            raise InputError(f"--{option.replace('_', '-')} is for classification, but the target is a number.")
    return BayesianLSSVR(kernel, **common)


def _training_score(model: Model, training: Training) -> dict[str, float]:
    predicted = model.predict(training.X)
    if training.task == "classification":
        return {"accuracy": float(np.mean(predicted == training.y))}
    return {"rmse": float(np.sqrt(np.mean((predicted - training.y) ** 2)))}


def _report(model: Model, training: Training, score: dict[str, float]) -> str:
    level3, level2 = model.level3_, model.level3_.level2
    chosen = f"by the evidence {'with' if model.occam else 'without'} the Occam factor" if model.refine else "as given"
    if not model.kernel_.log_params.size:
        chosen = "no parameters"
    bars = "log {} ± {:.3g} (MacKay), ± {:.3g} (Hessian)"
    lines = [
        *training.describe(),
        ("task", training.task),
        ("kernel", f"{model.kernel_} ({chosen})"),
        ("μ", f"{level2.mu:<10.5g} {bars.format('μ', level3.mackay.log_mu, level3.hessian.log_mu)}"),
        ("ζ", f"{level2.zeta:<10.5g} {bars.format('ζ', level3.mackay.log_zeta, level3.hessian.log_zeta)}"),
        ("γ = ζ/μ", f"{level2.gamma:.5g}"),
        ("γ_eff", f"{level2.gamma_eff:.5g} of N = {level2.n}"),
        (
            "log evidence",
            f"{level3.log_evidence:.3f} with the Occam factor, {level3.log_evidence_without_occam:.3f} without",
        ),
        ("status", level2.status),
    ]
    if training.task == "classification":
        lines.append(("training accuracy", f"{100 * score['accuracy']:.1f} %"))
    else:
        noise = float(1.0 / np.sqrt(level2.zeta))
        lines.append(("training RMSE", f"{score['rmse']:.5g} (noise level 1/√ζ {noise:.5g})"))
    return rows_of(lines)


def _record(model: Model, training: Training, score: dict[str, float], args: argparse.Namespace) -> dict[str, Any]:
    level3, level2 = model.level3_, model.level3_.level2

    def bars(source: ErrorBars) -> dict[str, float]:
        return {"log_mu": source.log_mu, "log_zeta": source.log_zeta, "correlation": source.correlation}

    record: dict[str, Any] = {
        "version": __version__,
        "task": training.task,
        "data": training.record(),
        "kernel": model.kernel_.to_dict(),
        "kernel_text": str(model.kernel_),
        "refined": model.refine,
        "occam": model.occam,
        "seed": args.seed,
        "mu": level2.mu,
        "zeta": level2.zeta,
        "gamma": level2.gamma,
        "gamma_eff": level2.gamma_eff,
        "error_bars": {"mackay": bars(level3.mackay), "hessian": bars(level3.hessian)},
        "log_evidence": level3.log_evidence,
        "log_evidence_without_occam": level3.log_evidence_without_occam,
        "log_occam_factor": level3.log_occam_factor,
        "status": level2.status,
        "training": score,
        "model_file": args.out,
    }
    if isinstance(model, BayesianLSSVC):
        record |= {
            "zeta_star": model.zeta_star_,
            "moderation": model.moderation,
            "class_prior": model._prior(None),
        }
    return record
