"""`python -m benchmarks`: the table of ratios."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from itertools import chain

from bayes_lssvm.base.progress import tqdm
from benchmarks import (
    closed_forms,
    fixed_size,
    intervals,
    leave_one_out,
    marginalisation,
    multiclass,
    sampling,
    series,
)
from benchmarks.timing import table

GROUPS = (closed_forms, fixed_size, intervals, leave_one_out, marginalisation, multiclass, sampling)


def main(argv: list[str] | None = None) -> int:
    """Run the benchmarks and print the table; 1 if a bar is missed and `--strict` was given."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that everything runs")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--record", action="store_true", help="append the ratios to benchmarks/series/ratios.jsonl")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a bar is missed")
    options = parser.parse_args(argv)
    found = chain.from_iterable(group.rows(quick=options.quick) for group in GROUPS)
    rows = list(tqdm(found, desc="benchmarks", disable=None, leave=False))
    if options.record:
        series.append(series.RATIOS, [{**series.circumstances(), **row.as_dict()} for row in rows])
    if options.json:
        print(json.dumps([row.as_dict() for row in rows], indent=1))
    else:
        print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}")
        print(table(rows))
    return 1 if options.strict and not all(row.met for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
