"""The command that builds a kernel: search."""

from __future__ import annotations

import argparse

from .._version import __version__
from ..kernel_search import search_kernels
from .output import emit_json, emit_text, rows_of
from .spoken import spoken_warnings
from .training import options_of, read_training


def run_search(args: argparse.Namespace) -> None:
    """Build a kernel from base kernels by the evidence, and print the path."""
    training = read_training(args.data, args.target, args.task, options_of(args), weights=args.weights).with_weight()
    with spoken_warnings() as sentences:
        found = search_kernels(
            training.X,
            training.y,
            sample_weight=training.weights,
            kernels=args.kernels,
            task=training.task,
            budget=args.budget,
            seed=args.seed,
        )
    if args.json:
        facts = {"version": __version__, "task": training.task, "data": training.record(), "seed": args.seed}
        result = {"structure": found.structure, "kernel": found.kernel.to_dict(), "log_evidence": found.log_evidence}
        run = {"evaluations": found.n_evaluations, "budget": found.budget, "stopped": found.stopped}
        emit_json(facts | result | run | {"path": found.rows(), "warnings": sentences})
    else:
        emit_text(rows_of([*training.describe(), ("task", training.task)]) + f"\n\n{found}")
