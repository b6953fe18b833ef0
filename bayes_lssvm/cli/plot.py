"""The command that draws what a saved model found: plot."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from ..base.encoding import Encoding
from ..base.files import write_atomically
from ..base.tables import read_table
from ..base.text import InputError, listed, quoted
from ..base.typing import AnyArray, Array
from ..displays.choosing import DISPLAYS, suited
from .figures import check_format, require_matplotlib, write_figure
from .output import STDOUT, check_output, emit_text, writing
from .predict import open_model
from .spoken import spoken_warnings


def run_plot(args: argparse.Namespace) -> None:
    """Draw a figure of a saved model."""
    if args.out == STDOUT:
        raise InputError("--out needs a file name; a figure is not text for standard output.")
    check_output(args.out, args.model)
    check_format(args.out)
    require_matplotlib("plot")
    model: Any = open_model(args.model)
    kind = args.kind or suited(model)
    options = _options(model, kind, args)
    with spoken_warnings():
        try:
            display = DISPLAYS[kind].from_estimator(model, plot=False, **options)
        except (ValueError, AttributeError) as error:
            said, asks, _ = str(error).partition(": give X")
            advice = f"{said}. Give the table with --data TABLE --target COLUMN." if asks and not args.data else error
            raise InputError(f"--kind {kind}: {advice}") from None
        with writing(args.out) as path:
            write_atomically(path, lambda stream: write_figure(display.plot, stream, Path(args.out).suffix.lower()))
    emit_text(f"{kind} drawn to {args.out}")


def _options(model: Any, kind: str, args: argparse.Namespace) -> dict[str, Any]:
    for option, kinds in (("features", ("surface",)), ("parameter", ("evidence",)), ("left_out", ("reliability",))):
        if getattr(args, option) and kind not in kinds:
            raise InputError(f"--{option.replace('_', '-')} is for --kind {kinds[0]}, but the kind is {kind}.")
    options: dict[str, Any] = {}
    if args.features:
        options["features"] = args.features
    if args.parameter:
        names = model.kernel_.param_names if hasattr(model, "kernel_") else ()
        if args.parameter not in names:
            raise InputError(
                f"the kernel has no parameter {quoted(args.parameter)}; it has {listed(names, 10) or 'none'}."
            )
        options["parameter"] = args.parameter
    if args.data is None:
        if args.left_out or args.target:
            raise InputError("--target and --left-out describe the rows of --data; give --data too.")
        return options
    if kind not in ("surface", "reliability", "relevance"):
        raise InputError(f"--data is for --kind surface, reliability and relevance, but the kind is {kind}.")
    X, y = _rows(model, args)
    if y is None and kind == "reliability":
        raise InputError("--kind reliability compares with labels: give --target COLUMN too.")
    own = {"X": X} | ({} if kind == "relevance" else {"y": y})
    return options | own | ({"left_out": True} if args.left_out else {})


def _rows(model: Any, args: argparse.Namespace) -> tuple[Array, AnyArray | None]:
    """Inputs, and labels as the model has them, or numbers."""
    table = read_table(args.data)
    encoding = getattr(model, "encoding_", None)
    if encoding is None:
        names = getattr(model, "feature_names_in_", table.names)
        encoding = Encoding.of_numbers([str(name) for name in names])
    X = encoding.encode(table, fill=encoding.fills).X
    if args.target is None:
        return X, None
    cells = table.column(args.target)
    if not hasattr(model, "classes_"):
        return X, Encoding.of_numbers([args.target]).encode(table).X[:, 0]
    labels = {str(label): label for label in model.classes_.tolist()}
    unknown = sorted({cell for cell in cells if cell not in labels})
    if unknown:
        raise InputError(
            f"{table.source}: the target {quoted(args.target)} has labels that the model does not know: "
            f"{listed(map(quoted, unknown), 5)}."
        )
    return X, np.array([labels[cell] for cell in cells])
