"""Tables of docs/findings/field.md: `python -m reports.pages.field.document` prints them from the gallery's record."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from reports.frame.page import Table
from reports.frame.write import read_result
from validation.harness import StudyResult
from validation.studies.field.summary import summarise

from .tables import duel_table, group_table, key_table, set_table, yardstick_table

RECORD = Path(__file__).resolve().parents[2] / "gallery" / "field.json"


def markdown(table: Table) -> str:
    """A table as Markdown; headings stand in a row of their own."""
    rows = [[row.label.strip(), *(row.cells or [""] * (len(table.header) - 1))] for row in table.rows]
    lines = [list(table.header), ["---"] * len(table.header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def tables(result: StudyResult) -> tuple[str, ...]:
    """Methods, duels, groups of sets, losses and wins, and every set."""
    field = summarise(result)
    return tuple(markdown(make(field)) for make in (key_table, duel_table, group_table, yardstick_table, set_table))


def main(argv: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m reports.pages.field.document", description=main.__doc__)
    parser.add_argument("--from", dest="record", type=Path, default=RECORD, help="JSON record of the page")
    print("\n\n".join(tables(read_result(parser.parse_args(argv).record))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
