"""`fit` with landmarks: tables of any length, one or many, read in pieces, on this machine or on Dask."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._version import __version__
from ..base.text import InputError, listed, quoted
from ..base.typing import AnyArray
from ..estimators.fixed_size import AUTO, FORMS, FixedSizeLSSVC, FixedSizeLSSVR
from ..fixed_size.blocks import Shard, of_files, row_count
from .beforehand import LANDMARKS, say_cost
from .grammar import class_prior_from, parse_kernel
from .output import rows_of, say
from .training import Training, looks_like_classes

_ANSWER = 10.0  # seconds that a scheduler has
Model = FixedSizeLSSVC | FixedSizeLSSVR


def fit_table(args: argparse.Namespace, training: Training, *, said: bool) -> Model:
    """The model of fixed size, not fitted yet, for a table that has been read.

    Says what it will take, unless that was said before and is no more than it was thought to be.
    """
    model = _estimator(args, training.task, len(training.inputs), list(training.counts))
    if not said or len(training.counts) > 2:
        say_cost(args, len(training.X), len(training.counts))
    return model


def fit_files(args: argparse.Namespace, *, said: bool) -> tuple[Model, str]:
    """A model of fixed size of files that are read in pieces, and where they are, as messages name it.

    Says what it will take under the same condition as `fit_table`.
    """
    if args.exact:
        raise InputError("--exact is for one table that fits into memory, and these data are read in pieces.")
    try:
        shards = of_files(args.data, args.target, args.ignore, weights=args.weights)
    except ImportError as error:
        raise InputError(str(error)) from None
    source = shards[0].name if len(shards) == 1 else f"{len(shards)} files from {shards[0].name}"
    first = _first_targets(shards)
    task = args.task
    if task == "auto":
        task = "classification" if looks_like_classes(first) else "regression"
        say("note", f"the target {quoted(args.target)} is treated as {task}, judging by its first {len(first)} rows.")
    classes = np.unique(first).tolist() if task == "classification" else []
    model = _estimator(args, task, len(shards[0].columns), classes)
    if not said or len(classes) > 2:
        say_cost(args, sum(row_count(Path(shard.name)) for shard in shards), len(classes))
    client = _client(args.scheduler)
    try:
        model.fit_blocks(shards, folder=args.kept, client=client)
    finally:
        if client is not None:
            client.close()
    return model, source


def _first_targets(shards: Sequence[Shard]) -> AnyArray:
    for shard in shards:
        for _, y, _ in shard.blocks():
            if len(y):
                return y
    raise InputError("none of the files contains any rows.")


def _client(address: str | None) -> Any:
    if address is None:
        return None
    try:
        from distributed import Client
    except ImportError:
        raise InputError('--scheduler needs Dask: pip install "bayes-lssvm[dask]".') from None
    try:
        return Client(address, timeout=_ANSWER)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise InputError(f"no Dask scheduler answers at {quoted(address)} ({error}).") from None


def _estimator(args: argparse.Namespace, task: str, d: int, classes: list[Any]) -> Model:
    allowed = {"criterion": ("evidence",), "prior": ("default",), "occam": (True,), "moderation": (None, *FORMS)}
    for option, usual in allowed.items():
        if getattr(args, option) not in usual:
            raise InputError(
                f"--{'no-occam' if option == 'occam' else option} is for exact models; models with landmarks use "
                "the evidence with the default prior, and probabilities calibrated on left-out rows "
                f"(--moderation {' or '.join(FORMS[1:])}). --exact keeps all rows."
            )
    kernel = AUTO if args.kernel == AUTO else parse_kernel(args.kernel, d)[0]
    common = {"n_landmarks": args.landmarks or LANDMARKS, "refine": args.refine, "random_state": args.seed}
    if task == "classification":
        several = {name: getattr(args, name) for name in ("coding", "decoding") if getattr(args, name) is not None}
        prior = class_prior_from(args.class_prior, classes)
        return FixedSizeLSSVC(kernel, class_prior=prior, moderation=args.moderation or "auto", **several, **common)
    for option in ("class_prior", "coding", "decoding", "moderation"):
        if getattr(args, option) is not None:
            raise InputError(f"--{option.replace('_', '-')} is for classification, but the target is a number.")
    return FixedSizeLSSVR(kernel, **common)


# --- what was found --------------------------------------------------------------------------------------------------


def report(model: Model, data: Sequence[tuple[str, str]]) -> str:
    """The model in lines of text, below those that describe the data."""
    converged = model.convergence_
    suggested = model.n_landmarks_suggested_
    used = len(model.landmarks_) or model.low_rank_.features.size
    enough = "enough" if suggested <= used else f"{suggested} would settle the evidence further"
    lines = [
        *data,
        ("task", "classification" if isinstance(model, FixedSizeLSSVC) else "regression"),
        ("kernel", f"{model.kernel_} ({'by the evidence' if model.refine else 'as given'})"),
        ("landmarks", f"{used} of {model.n_samples_} rows ({enough}); {model.low_rank_.n_passes} passes"),
        *_levels(model),
        ("log evidence", f"{model.log_evidence_:.3f} with landmarks, {model.log_evidence_lower_:.3f} or more without"),
    ]
    return rows_of(lines) + f"\n\n{converged}"


def _levels(model: Model) -> list[tuple[str, str]]:
    members = model.members_
    if len(members) > 1:
        named = (("μ", "mu_"), ("ζ", "zeta_"), ("γ_eff", "gamma_eff_"))
        found = [(symbol, [getattr(member, name) for member in members]) for symbol, name in named]
        return [
            ("members", str(len(members))),
            *((symbol, f"{min(values):.4g} to {max(values):.4g}") for symbol, values in found),
        ]
    (one,) = members
    return [("μ", f"{one.mu_:.5g}"), ("ζ", f"{one.zeta_:.5g}"), ("γ_eff", f"{one.gamma_eff_:.5g}")]


def record(model: Model, source: str, seed: int, model_file: str | None) -> dict[str, Any]:
    """The model for JSON."""
    found: dict[str, Any] = {
        "version": __version__,
        "task": "classification" if isinstance(model, FixedSizeLSSVC) else "regression",
        "data": {"file": source, "rows": model.n_samples_, "inputs": model.feature_names_in_},
        "seed": seed,
        "kernel": model.kernel_.to_dict(),
        "kernel_text": str(model.kernel_),
        "landmarks": len(model.landmarks_),
        "landmarks_suggested": model.n_landmarks_suggested_,
        "passes": model.low_rank_.n_passes,
        "log_evidence": model.log_evidence_,
        "log_evidence_lower": model.log_evidence_lower_,
        "members": [
            {"mu": m.mu_, "zeta": m.zeta_, "gamma_eff": m.gamma_eff_, "log_evidence": m.log_evidence_}
            for m in model.members_
        ],
        "convergence": model.convergence_.rows(),
        "model_file": model_file,
    }
    if isinstance(model, FixedSizeLSSVC):
        pairs = zip(model.classes_.tolist(), model.training_frequencies_.tolist(), strict=True)
        found["classes"] = [{"label": label, "share": share} for label, share in pairs]
    return found


def describe(model: Model, source: str) -> list[tuple[str, str]]:
    """Files as lines of a table."""
    names = model.feature_names_in_.tolist()
    inputs = f"{model.n_samples_} rows, {len(names)} input{'s' * (len(names) > 1)} ({listed(names, 8)})"
    lines = [("data", f"{source}: {inputs}")]
    if isinstance(model, FixedSizeLSSVC):
        pairs = zip(model.classes_.tolist(), model.training_frequencies_.tolist(), strict=True)
        lines.append(("target", "classes " + listed((f"{label} ({100 * share:.1f} %)" for label, share in pairs), 20)))
    return lines
