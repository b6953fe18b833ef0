"""The command that applies a model to a table: predict."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from .._version import __version__
from ..base.encoding import Encoding
from ..base.tables import Table, read_table
from ..base.text import InputError, listed, quoted
from ..base.typing import Array
from ..files import Classifier, Model, ModelFileError, load
from ..fixed_size.blocks import input_blocks
from .beforehand import too_much_for_a_table
from .grammar import class_prior_from, costs_from
from .output import STDOUT, check_output, emit_columns, emit_json, emit_pieces, emit_text, say
from .spoken import spoken_warnings


def run_predict(args: argparse.Namespace) -> None:
    """Predict each row of a table with a saved model."""
    check_output(args.out, args.data, args.model)
    if args.json and args.out == STDOUT:
        raise InputError("--json already writes to standard output; give --out a file name.")
    model = open_model(args.model)
    if Path(args.data).is_file() and too_much_for_a_table(args.data):
        _predict_in_pieces(model, args)
        return
    table = read_table(args.data)
    X = _inputs(model, table, args.impute == "median")
    with spoken_warnings() as sentences:
        columns, record = _predicted(model, X, args)
    if args.out is not None or not args.json:
        emit_columns(columns, args.out or STDOUT)
    if args.json:
        source = {"model_file": args.model, "data_file": table.source, "rows": len(X)}
        emit_json({"version": __version__} | source | record | {"warnings": sentences})
    elif args.out not in (None, STDOUT):
        emit_text(f"{len(X)} predictions written to {args.out}")


def _predicted(model: Model, X: Array, args: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    return _classify(model, X, args) if isinstance(model, Classifier) else _regress(model, X, args)


def _predict_in_pieces(model: Model, args: argparse.Namespace) -> None:
    """Predict a file that is too large to be read at once; the predictions go where they belong piece by piece."""
    if args.json:
        raise InputError(f"{args.data} is read in pieces, but --json writes one object; leave --json out.")
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        raise InputError(f"the model has no column names, which are needed to match the columns of {args.data}.")
    del model.feature_names_in_
    try:
        pieces = input_blocks(Path(args.data), list(names))
        with spoken_warnings():
            count = emit_pieces((_predicted(model, X, args)[0] for X in pieces), args.out or STDOUT)
    except ImportError as error:
        raise InputError(str(error)) from None
    if args.out not in (None, STDOUT):
        emit_text(f"{count} predictions written to {args.out}")


def open_model(path: str) -> Model:
    """A model from its file, or a sentence that says why not."""
    try:
        return load(path)
    except FileNotFoundError:
        raise InputError(f"there is no file {path!r}.") from None
    except (ModelFileError, PermissionError) as error:
        raise InputError(str(error)) from None


def _inputs(model: Model, table: Table, fill: bool) -> Array:
    """The model's inputs from the table: by name where the model has names, else all columns in their order."""
    names = getattr(model, "feature_names_in_", None)
    encoding = getattr(model, "encoding_", None)
    if names is None:
        if len(table.names) != model.n_features_in_:
            raise InputError(
                f"the model has no column names, so {table.source} must have exactly its {model.n_features_in_} inputs "
                f"in their order, but it has {len(table.names)} columns ({listed(map(quoted, table.names), 8)})."
            )
        say("note", "the model has no column names; columns are matched by their order.")
        return Encoding.of_numbers(table.names).encode(table).X
    del model.feature_names_in_  # matched by name here; an array without names would be warned about
    return inputs_by_name(encoding or Encoding.of_numbers(list(names)), table, fill=fill)


def inputs_by_name(encoding: Encoding, table: Table, *, fill: bool) -> Array:
    """The inputs from the columns of the table; what is missing is refused, and what is left aside is said."""
    encoded = encoding.encode(table, fill=fill or encoding.fills)
    extra = [name for name in table.names if name not in encoding.names]
    if extra:
        say("note", f"the model does not use the column{'s' * (len(extra) > 1)} {listed(map(quoted, extra), 10)}.")
    for sentence in encoded.sentences():
        say("warning", sentence)
    return encoded.X


def _classify(model: Any, X: Array, args: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    classes = model.classes_.tolist()
    prior = class_prior_from(args.class_prior, classes)
    costs = costs_from(args.costs, classes)
    if not hasattr(model, "predict_proba"):
        for option, value in (("--class-prior", prior), ("--costs", costs)):
            if value is not None:
                raise InputError(
                    f"{args.model} decodes by {model.decoding}, which gives no probabilities for {option} to act on."
                )
        labels = model.predict(X)
        return {"label": labels}, {"task": "classification", "classes": classes, "labels": labels}
    probabilities = model.predict_proba(X, class_prior=prior)
    labels = model.predict(X, class_prior=prior, costs=costs)
    columns = {"label": labels} | {f"P({label})": probabilities[:, k] for k, label in enumerate(classes)}
    record = {"task": "classification", "classes": classes, "labels": labels, "probabilities": probabilities}
    if args.interval is not None:
        held = _of_interval(model, "predict_set", X, args)
        sets = [" ".join(str(label) for label, kept in zip(classes, row, strict=True) if kept) for row in held]
        columns, record = columns | {"set": np.array(sets)}, record | {"sets": held}
    return columns, record


def _of_interval(model: Any, method: str, X: Array, args: argparse.Namespace) -> Any:
    """What `predict_interval` or `predict_set` of the model gives; its sentences are those of the command line."""
    if not hasattr(model, method):
        raise InputError(f"--interval needs {method}, which {type(model).__name__} does not have.")
    try:
        return getattr(model, method)(X, args.interval)
    except ValueError as error:
        raise InputError(str(error)) from None


def _regress(model: Any, X: Array, args: argparse.Namespace) -> tuple[dict[str, Any], dict[str, Any]]:
    for option in ("class_prior", "costs"):
        if getattr(args, option) is not None:
            raise InputError(f"--{option.replace('_', '-')} is for classification, but {args.model} is a regression.")
    mean, std = np.asarray(model.predict(X, return_std=True))
    columns = {"mean": mean, "std": std}
    if args.interval is not None:
        columns["lower"], columns["upper"] = _of_interval(model, "predict_interval", X, args)
    return columns, {"task": "regression"} | columns
