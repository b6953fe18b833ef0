"""What `fit` can refuse and announce before it imports what fits: files that clash, and what many rows will take.

scikit-learn takes seconds to import, and a person who waits wants to know for what.
"""

from __future__ import annotations

import argparse
from glob import has_magic
from pathlib import Path

from ..base.cost import exact_cost, fixed_size_cost
from ..base.tables import STDIN
from ..base.text import InputError
from ..fixed_size.blocks import files_at, is_parquet, row_count
from .output import STDOUT, check_output, same_file, say

EXACT_ROWS = 5000  # beyond, an exact fit takes minutes, and time grows as N³
LANDMARKS = 500
_WORTH_SAYING = 2000  # rows that take a while to read
_ONE_TABLE = 64 * 2**20  # bytes of a table that is read as a whole


def prepare_fit(args: argparse.Namespace) -> bool:
    """Refuse what cannot be written or contradicts itself, and say what many rows will take; whether that was said.

    The number of rows is that which the first of them let expect.
    """
    if args.out == STDOUT:
        raise InputError("--out needs a file name; a model is not text for standard output.")
    check_output(args.out, *args.data)
    if args.report is not None:
        _check_report(args)
    if args.exact and args.landmarks is not None:
        raise InputError("--exact and --landmarks contradict each other; give only one of them.")
    if args.exact:
        return False
    pieces = in_pieces(args)
    n = _rows(args.data) if pieces or Path(args.data[0]).is_file() else 0.0
    if n <= (EXACT_ROWS if args.landmarks is None and not pieces else _WORTH_SAYING):
        return False
    say_cost(args, n, 2, about=True)
    return True


def _rows(paths: list[str]) -> float:
    """Rows of all files, or none where they cannot be counted: the reader will say what is wrong with them."""
    try:
        return sum(map(row_count, files_at(paths)))
    except (ImportError, OSError, ValueError):
        return 0.0


def _check_report(args: argparse.Namespace) -> None:
    """Refuse a model card that could not be written, or not be made of such data."""
    if args.report == STDOUT:
        raise InputError("--report needs a file name, such as card.html.")
    check_output(args.report, *args.data)
    if args.out is not None and same_file(args.out, args.report):
        raise InputError("--out and --report name the same file; give two names.")
    if in_pieces(args):
        raise InputError("--report is for one table that fits into memory, and these data are read in pieces.")


def in_pieces(args: argparse.Namespace) -> bool:
    """Whether the data are read in pieces: several files, a folder, a pattern, Parquet, a large file, or asked for."""
    if args.scheduler is not None or args.kept is not None or len(args.data) > 1:
        return True
    return too_much_for_a_table(args.data[0])


def too_much_for_a_table(path: str) -> bool:
    """Whether a file is for reading in pieces and not as a table of text cells."""
    if path == STDIN:
        return False
    file = Path(path)
    if not file.exists():
        return has_magic(path)
    return file.is_dir() or is_parquet(file) or file.stat().st_size > _ONE_TABLE


def say_cost(args: argparse.Namespace, n: float, classes: int, *, about: bool = False) -> None:
    """Rows, landmarks, time and memory in a note, beside those of an exact fit."""
    m = args.landmarks or LANDMARKS
    matrices = classes if classes > 2 and args.coding in (None, "ovo") else 1
    own = fixed_size_cost(n, m, matrices=matrices, scales=args.kernel == "auto" and args.refine)
    all_rows = exact_cost([int(n)], 1)
    rows = f"About {float(f'{n:.1e}'):.0f}" if about else f"{n:.0f}"
    say(
        "note",
        f"{rows} rows are fitted with {m} landmarks, which takes {own} here. An exact fit would take {all_rows}"
        + ("." if args.landmarks is not None else "; --exact asks for it, --landmarks for another number."),
    )
