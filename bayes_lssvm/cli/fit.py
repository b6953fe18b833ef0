"""The commands that learn from a table: fit and compare."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from .._version import __version__
from ..base.cost import announce
from ..base.errors import ConstantFeatureWarning, LongFitWarning
from ..base.memory import require_matrices
from ..base.standardisation import Standardiser
from ..base.text import InputError
from ..estimators.choice import check_criterion
from ..estimators.classifier import BayesianLSSVC
from ..estimators.comparing import compare
from ..estimators.fixed_size import AUTO, FixedSizeLSSVC, FixedSizeLSSVR
from ..estimators.regressor import BayesianLSSVR
from ..files import save
from ..kernels import as_kernel
from ..multiclass.decodings import PROBABILISTIC
from . import beforehand, large
from .card import model_card
from .figures import require_matplotlib
from .grammar import class_prior_from, parse_kernel
from .output import (
    emit_json,
    emit_text,
    rows_of,
    say,
    write_text,
    writing,
)
from .report import record, report
from .spoken import spoken_warnings
from .training import Training, options_of, read_training

Model = BayesianLSSVC | BayesianLSSVR
FixedSize = FixedSizeLSSVC | FixedSizeLSSVR


def run_fit(args: argparse.Namespace) -> None:
    """Fit a model, print what was found and save it; `prepare_fit` has looked at the arguments."""
    if beforehand.in_pieces(args):
        _refuse_with_landmarks(args, "Rows in pieces")
        _fit_files(args)
        return
    if args.report is not None:
        require_matplotlib("--report")
    training = read_training(
        args.data[0], args.target, args.task, options_of(args), many_classes=True, weights=args.weights
    )
    model: Model | FixedSize
    if args.landmarks is not None or (len(training.X) > beforehand.EXACT_ROWS and not args.exact):
        _refuse_with_landmarks(args, "Models of fixed size")
        model = large.fit_table(args, training, said=args.said)
    else:
        model = _estimator(args, training)
        with spoken_warnings():  # before the work, and not with what it has to say
            announce(
                [len(training.X)], as_kernel(model.kernel, len(training.inputs)).log_params.size, "--landmarks 500"
            )
    with spoken_warnings() as constant:
        Standardiser.fit(training.X, training.inputs)  # warns of columns without variance, by their names
    again = (ConstantFeatureWarning, LongFitWarning)  # the model would say them again, and columns by their numbers
    with spoken_warnings(but=again) as sentences:
        model.fit(training.X, training.y, **({} if training.weights is None else {"sample_weight": training.weights}))
        score = _training_score(model, training)
    # Arrays carry no names, but the model file shall: `predict` matches columns by them.
    model.feature_names_in_ = np.array(training.inputs, dtype=object)
    model.encoding_ = training.encoding
    if isinstance(model, FixedSize):
        facts = large.record(model, training.source, args.seed, args.out) | {"training": score}
        text = large.report(model, training.describe())
    else:
        facts = record(model, training, score, args.seed, args.out)
        text = report(model, training, score)
    spoken = [*training.warnings, *constant, *sentences]
    if args.report is not None:
        with spoken_warnings():
            write_text(args.report, model_card(model, training, args, spoken))
    _deliver(args, model, facts | {"warnings": spoken, "report_file": args.report}, text)


def _refuse_with_landmarks(args: argparse.Namespace, which: str) -> None:
    """Refuse what models of exact kernel matrices only know."""
    if args.noise != "constant":
        raise InputError(f"{which} take no --noise; use --exact, on a subset of the rows if they are too many.")


def _fit_files(args: argparse.Namespace) -> None:
    with spoken_warnings() as sentences:
        model, source = large.fit_files(args, said=args.said)
    facts = large.record(model, source, args.seed, args.out) | {"warnings": sentences}
    _deliver(args, model, facts, large.report(model, large.describe(model, source)))


def _deliver(args: argparse.Namespace, model: Model | FixedSize, facts: dict[str, Any], text: str) -> None:
    """Save the model and say what was found."""
    if args.out is not None:
        with writing(args.out) as path:
            save(model, path)
    if args.json:
        emit_json(facts)
        return
    emit_text(text)
    if args.out is not None:
        emit_text(f"model written to {args.out}")
    if args.report is not None:
        emit_text(f"model card written to {args.report}")


def run_compare(args: argparse.Namespace) -> None:
    """Rank kernels by their evidence."""
    training = read_training(
        args.data, args.target, args.task, options_of(args), many_classes=True, weights=args.weights
    ).with_weight()
    kernels = [parse_kernel(text, len(training.inputs))[0] for text in args.kernels]
    maximised = args.kernel_parameters == "maximised"
    if maximised and len(training.counts) > 2:
        raise InputError(f"--kernel-parameters maximised is for two classes, and {training.source} has more.")
    if maximised and args.prior_sensitivity:
        raise InputError("--prior-sensitivity needs kernel parameters with a prior: --kernel-parameters integrated.")
    if not maximised and not args.occam:
        raise InputError(
            "--no-occam is for --kernel-parameters maximised; an integral already includes its Occam factor."
        )
    require_matrices(len(training.X), 6, "Compare on a random subset of the rows.")
    with spoken_warnings() as sentences:
        X = Standardiser.fit(training.X, training.inputs, training.weights)(training.X)
        comparison = compare(
            X,
            training.y,
            kernels,
            sample_weight=training.weights,
            kernel_parameters=args.kernel_parameters,
            task=training.task,
            refine=args.refine,
            occam=args.occam,
            seed=args.seed,
        )
        sensitivity = comparison.prior_sensitivity() if args.prior_sensitivity else None
    if args.json:
        facts = {"version": __version__, "task": training.task, "data": training.record()}
        settings = {"refined": args.refine, "occam": args.occam, "seed": args.seed}
        settings["kernel_parameters"] = args.kernel_parameters
        rows = {"kernels": comparison.rows()}
        if sensitivity is not None:
            rows["prior_sensitivity"] = sensitivity.rows()
        emit_json(facts | settings | rows | {"warnings": sentences})
    else:
        table = comparison if sensitivity is None else sensitivity
        emit_text(rows_of([*training.describe(), ("task", training.task)]) + f"\n\n{table}")


def _estimator(args: argparse.Namespace, training: Training) -> Model:
    kernel, given = parse_kernel("rbf" if args.kernel == AUTO else args.kernel, len(training.inputs))
    if given and args.refine:
        say("note", "the kernel parameters given are where the search starts; --no-refine uses them unchanged.")
    common: dict[str, Any] = {"refine": args.refine, "occam": args.occam, "random_state": args.seed}
    common["criterion"] = args.criterion
    common["prior"] = None if args.prior == "default" else args.prior
    try:
        check_criterion(args.criterion, kernel, args.refine)
    except ValueError as error:
        raise InputError(f"--criterion {args.criterion}: {error}") from None
    if args.noise != "constant" and args.criterion != "evidence":
        raise InputError(
            f"--noise {args.noise} is compared with constant noise by the evidence; use it with --criterion evidence."
        )
    if training.task == "classification":
        prior = class_prior_from(args.class_prior, list(training.counts))
        several = _several_classes(args, training)
        if args.noise != "constant":
            raise InputError(f"--noise {args.noise} is for a numeric target, and {training.source} has classes.")
        if args.moderation == "logistic":
            raise InputError("--moderation logistic is for models with landmarks; give their number as --landmarks M.")
        return BayesianLSSVC(kernel, class_prior=prior, moderation=args.moderation or "loo", **several, **common)
    for option in ("class_prior", "moderation", "coding", "decoding"):
        if getattr(args, option) is not None:
            raise InputError(f"--{option.replace('_', '-')} is for classification, but the target is a number.")
    return BayesianLSSVR(kernel, noise=args.noise, **common)


def _several_classes(args: argparse.Namespace, training: Training) -> dict[str, Any]:
    """Settings for more than two classes; one that could have no effect is refused."""
    given = {name: getattr(args, name) for name in ("coding", "decoding") if getattr(args, name) is not None}
    if len(training.counts) == 2 and given:
        raise InputError(f"--{next(iter(given))} is for more than two classes, and {training.source} has two.")
    decoding = given.get("decoding", "auto")
    if decoding not in PROBABILISTIC and args.class_prior is not None:
        raise InputError(f"--decoding {decoding} gives no probabilities for --class-prior to act on.")
    if decoding == "coupling" and given.get("coding", "ovo") != "ovo":
        raise InputError("--decoding coupling needs a member for each pair of classes: --coding ovo.")
    return given


def _training_score(model: Model | FixedSize, training: Training) -> dict[str, float]:
    predicted = model.predict(training.X)
    if training.task == "classification":
        return {"accuracy": float(np.mean(predicted == training.y))}
    return {"rmse": float(np.sqrt(np.mean((predicted - training.y) ** 2)))}
