"""The command that selects inputs: select."""

from __future__ import annotations

import argparse
from typing import Any

from .._version import __version__
from ..base.errors import ConstantFeatureWarning
from ..base.tables import read_table
from ..base.text import InputError, table_of
from ..estimators.selector import EvidenceSelector
from ..selection.path import SelectionPath
from .output import check_output, csv_text, emit_csv, emit_json, emit_text, rows_of
from .spoken import spoken_warnings
from .training import Training, options_of, read_training


def run_select(args: argparse.Namespace) -> None:
    """Search for the inputs that the evidence asks for, and print the models on the way."""
    check_output(args.out, args.data)
    if args.direction == "ard" and args.kernel not in (None, "ard"):
        raise InputError(f"--direction ard ranks by the scales of an ARD kernel; --kernel {args.kernel} has none.")
    if args.out is not None and args.data == "-":
        raise InputError("--out copies the selected columns of the table, but standard input can be read only once.")
    training = read_training(args.data, args.target, args.task, options_of(args), weights=args.weights)
    selector = EvidenceSelector(
        args.direction,
        kernel=args.kernel,
        task=training.task,
        price=args.price,
        occam=args.occam,
        random_state=args.seed,
    )
    with spoken_warnings(but=(ConstantFeatureWarning,)) as sentences:  # the table below names them
        selector.fit(training.X, training.y, training.weights)
    path = selector.path_
    if args.json:
        emit_json(_record(selector, training) | {"seed": args.seed, "warnings": sentences})
    else:
        emit_text(_report(path, training))
    if args.out is not None:
        sources = [training.encoding.sources[i] for i in selector.selected_.tolist()]
        inputs = list(dict.fromkeys(sources))
        chosen = [*inputs, training.target] + ([] if args.weights is None else [args.weights])
        table = read_table(args.data)
        emit_csv(csv_text(chosen, zip(*(table.column(name) for name in chosen), strict=True)), args.out)
        if not args.json:
            what = "the target" if args.weights is None else "the target and the weights"
            emit_text(f"{len(inputs)} input{'s' * (len(inputs) > 1)} and {what} written to {args.out}")


def _report(path: SelectionPath, training: Training) -> str:
    names = training.inputs
    lines = [*training.describe(), ("task", training.task)]
    idle = [names[i] for i in path.columns.constant] + [names[i] for i in path.columns.copies]
    if idle:
        lines.append(("left aside", f"{', '.join(idle)} (constant, or a copy of another input)"))
    lines.append(("selected", ", ".join(names[i] for i in path.selected) or "none: no input explains more than noise"))
    rows = [("", "change", "log evidence", "score", "inputs")]
    for i, step in enumerate(path.steps):
        change = "" if step.changed is None else f"{step.sign} {names[step.changed]}"
        inputs = ", ".join(names[k] for k in step.inputs) or "none"
        rows.append(("best" if i == path.best else "", change, f"{step.log_evidence:.2f}", f"{step.score:.2f}", inputs))
    return "\n".join(
        [rows_of(lines), "", *table_of(rows, right=(2, 3)), f"{path.stopped} Each input costs {path.price:g} nats."]
    )


def _record(selector: EvidenceSelector, training: Training) -> dict[str, Any]:
    path, names = selector.path_, training.inputs
    return {
        "version": __version__,
        "task": training.task,
        "data": training.record(),
        "direction": selector.direction,
        "price": path.price,
        "occam": path.occam,
        "selected": [names[i] for i in path.selected],
        "relevance": dict(zip(names, selector.relevance_.tolist(), strict=True)),
        "steps": [
            {
                "inputs": [names[k] for k in step.inputs],
                "changed": None if step.changed is None else names[step.changed],
                "kernel": None if step.kernel is None else step.kernel.to_dict(),
                "log_evidence": step.log_evidence,
                "score": step.score,
                "status": step.status,
            }
            for step in path.steps
        ],
        "best": path.best,
        "stopped": path.stopped,
    }
