"""The pages of the studies, by the study's name. A page's module is imported when it is asked for."""

from __future__ import annotations

import importlib.util
from importlib import import_module
from typing import TYPE_CHECKING

from reports.frame.page import Page, Row, Table
from validation.papers import TABLES
from validation.studies import STUDIES

if TYPE_CHECKING:
    from validation.harness import StudyResult

PAGES: dict[str, str] = {name: f"reports.pages.{name.replace('-', '_')}" for name in STUDIES}
"""Name of the study to module; each module has a function `page(result)`."""

TABLE_PAGES: dict[str, str] = {name: f"reports.pages.{name.replace('-', '_')}" for name in TABLES}
"""Name of a reproduced table to module, likewise; a table without one gets a plain page."""


def available() -> tuple[str, ...]:
    """Names of the studies that can be run and shown here, in the registry's order."""
    return tuple(name for name, page in PAGES.items() if _exists(STUDIES[name]) and _exists(page))


def _exists(module: str) -> bool:
    spec = importlib.util.find_spec(module)
    return spec is not None and spec.origin is not None  # a folder alone is a namespace, and has no origin


def page_of(result: StudyResult) -> Page:
    """The page that shows a study's result.

    Where cells could not be computed and the study's page cannot do without them, a page that says so takes its place:
    it has the failures, the diagnostics and the provenance, and no numbers.
    """
    try:
        page: Page = _page(result)
    except Exception:
        if not any(finished.error for finished in result.cells):
            raise  # nothing is missing, so the page's own code is wrong
        return without_numbers(result)
    return page


def _page(result: StudyResult) -> Page:
    if result.study in PAGES:
        found: Page = import_module(PAGES[result.study]).page(result)
        return found
    if _exists(TABLE_PAGES[result.study]):
        shown: Page = import_module(TABLE_PAGES[result.study]).page(result)
        return shown
    from .papers import plain_page  # which draws: only where it is needed

    return plain_page(result)


def available_tables() -> tuple[str, ...]:
    """Names of the reproduced tables whose modules are here, in the registry's order."""
    return tuple(name for name, module in TABLES.items() if _exists(module))


def without_numbers(result: StudyResult) -> Page:
    """A page for a result that lacks what its own page needs."""
    stopped = [finished.cell.key for finished in result.cells if finished.error]
    rows = tuple(
        Row(f.cell.key, ("✗ not computed" if f.error else "computed", f"{f.seconds:.1f}")) for f in result.cells
    )
    return Page(
        name=result.study,
        title=result.title,
        introduction="This study did not come through. The page says what stopped it, and shows no numbers.",
        verdict=(f"No verdict: {len(stopped)} of {len(result.cells)} cells could not be computed.",),
        key_table=Table("Cells", ("cell", "state", "seconds"), rows),
        sections=(),
        methods=(),
        result=result,
    )
