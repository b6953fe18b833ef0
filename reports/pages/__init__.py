"""The pages of the studies and tables, by name. A page's module is imported when it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from reports.frame.answer import Answer
from reports.frame.page import Page, Row, Table
from validation.registry import STUDIES, TABLES

if TYPE_CHECKING:
    from validation.harness import StudyResult

PAGES: dict[str, str] = {name: f"reports.pages.{name.replace('-', '_')}" for name in (*STUDIES, *TABLES)}
"""Name of the study or table to module; each module has a function `page(result)`."""


def page_of(result: StudyResult) -> Page:
    """The page that shows a study's result.

    Where cells could not be computed and the study's page cannot do without them, a page that says so takes its place:
    it has the failures, the diagnostics and the provenance, and no numbers.
    """
    try:
        page: Page = import_module(PAGES[result.study]).page(result)
    except Exception:
        if not any(finished.error for finished in result.cells):
            raise  # nothing is missing, so the page's own code is wrong
        return without_numbers(result)
    return page


def without_numbers(result: StudyResult) -> Page:
    """A page for a result that lacks what its own page needs."""
    stopped = [finished.cell.key for finished in result.cells if finished.error]
    rows = tuple(
        Row(f.cell.key, ("✗ not computed" if f.error else "computed", f"{f.seconds:.1f}")) for f in result.cells
    )
    return Page(
        answer=Answer("fails", f"No verdict: {len(stopped)} of {len(result.cells)} cells could not be computed."),
        introduction="This study did not finish. The page says what stopped it, and shows no numbers.",
        key_table=Table("Cells", ("cell", "state", "seconds"), rows),
        result=result,
    )
