"""The command that shows the data sets and writes them as tables: datasets."""

from __future__ import annotations

import argparse
from collections import defaultdict
from typing import Any

from ..base.text import InputError, table_of
from ..datasets import ALIASES, Dataset, Entry, Spec, available, find, load
from .output import STDOUT, check_output, csv_text, emit_csv, emit_json, emit_text


def run_datasets(args: argparse.Namespace) -> None:
    """List the data sets, describe one, or write one as a table."""
    if args.name is None:
        if args.csv is not None or args.test or args.openml:
            raise InputError("--csv, --test and --openml need the name of a data set, such as ripley.")
        _list(args.json)
        return
    if (args.test or args.openml) and args.csv is None:
        raise InputError("--test and --openml choose what --csv writes; give --csv FILE too.")
    if args.json and args.csv == STDOUT:
        raise InputError("--json already writes to standard output; give --csv a file name.")
    spec = find(args.name)
    entry = next(e for e in available() if e.name == spec.name)
    if args.csv is None:
        if args.json:
            emit_json(_record(entry) | {"description": spec.description})
        else:
            test = f", {spec.test_rows} test rows" if spec.test_rows else ""
            emit_text(f"{spec.description}\nShape: {entry.rows} rows, {entry.inputs} inputs{test}; {entry.origin}")
        return
    check_output(args.csv)
    data = _load(spec, openml=args.openml)
    text, rows = _table(data, test=args.test)
    emit_csv(text, args.csv)
    if args.json:
        part = {"file": args.csv, "part": "test" if args.test else "training", "rows_written": rows}
        emit_json(_record(entry) | part | {"inputs": data.feature_names, "target": data.target_name or None})
    elif args.csv != STDOUT:
        target = f", target {data.target_name}" if data.target_name else ", no target"
        emit_text(f"{rows} rows written to {args.csv}: {len(data.feature_names)} inputs{target}")


def _load(spec: Spec, *, openml: bool) -> Dataset:
    if openml and "openml" not in spec.options:
        raise InputError(f"{spec.name} needs no download; leave --openml out.")
    try:
        return load(spec.name, **({"openml": True} if openml else {}))
    except FileNotFoundError as error:
        raise InputError(str(error).replace("pass openml=True", "give --openml")) from None


def _aliases() -> dict[str, list[str]]:
    by_name = defaultdict(list)
    for alias, name in ALIASES.items():
        by_name[name].append(alias)
    return by_name


def _record(entry: Entry) -> dict[str, Any]:
    return entry._asdict() | {"aliases": _aliases().get(entry.name, [])}


def _list(as_json: bool) -> None:
    if as_json:
        emit_json({"datasets": [_record(entry) for entry in available()]})
        return
    aliases = _aliases()
    lines = [("name", "also", "rows × inputs", "classes", "origin", "what")]
    for e in available():
        classes = str(e.classes) if e.classes else "–"
        also = ", ".join(aliases.get(e.name, []))
        lines.append((e.name, also, f"{e.rows} × {e.inputs}", classes, e.origin, e.title))
    emit_text("\n".join(table_of(lines, rule=True)))


def _table(data: Dataset, *, test: bool) -> tuple[str, int]:
    if test and data.test_data is None:
        raise InputError(f"{data.name} has no fixed test part; write the whole set without --test.")
    X, y = (data.test_data, data.test_target) if test else (data.data, data.target)
    assert X is not None
    rows: list[list[Any]] = X.tolist()
    if y is not None:
        rows = [[*row, label] for row, label in zip(rows, y.tolist(), strict=True)]
    header = [*data.feature_names, *([data.target_name] if y is not None else [])]
    return csv_text(header, rows), len(rows)
