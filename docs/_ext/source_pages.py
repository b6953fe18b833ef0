"""Links from dotted paths, tests and file names of the pages to the reference, or to the source, which the site holds.

The pages are written to be read in a checkout too, so that they name code as code: `bayes_lssvm.levels.level2.j4`,
tests/levels/test_level2.py::test_…. What has a page of the reference is linked to it; the rest to its line in a
highlighted copy of the file.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from surface import public_names

ROOT = Path(__file__).resolve().parents[2]
DOTTED = re.compile(r"bayes_lssvm(?:\.\w+)+")
TEST = re.compile(r"(tests/[\w/]+\.py)::(\w+)")
FILE = re.compile(r"(?:bayes_lssvm|models|validation|reports|tests|benchmarks)/[\w/]+\.py")
FOLDER = "source"


@cache
def line_of(file: str, name: str) -> int:
    """The line of a function or class of a file."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    return next((node.lineno for node in ast.walk(tree) if isinstance(node, kinds) and node.name == name), 1)


@cache
def source_of(path: str) -> tuple[str, int] | None:
    """(file, line) of a dotted path; the line of the class for attributes that have none of their own."""
    parts = path.split(".")
    for split in range(len(parts), 0, -1):
        try:
            module = importlib.import_module(".".join(parts[:split]))
        except ModuleNotFoundError:
            continue
        found: Any = module
        for name in parts[split:]:
            inner = getattr(found, name, None)
            if not (inspect.isclass(inner) or inspect.isroutine(inner)):
                break
            found = inner
        found = inspect.unwrap(found) if callable(found) else found
        try:
            file, line = inspect.getsourcefile(found), inspect.getsourcelines(found)[1]
        except (TypeError, OSError):
            file, line = module.__file__, 1
        relative = Path(str(file)).resolve()
        return (relative.relative_to(ROOT).as_posix(), max(line, 1)) if relative.is_relative_to(ROOT) else None
    return None


@cache
def documented() -> dict[str, str]:
    """Dotted path to page of the reference, for public classes and functions."""
    return {n.path: f"reference/api/{n.path}" for n in public_names() if n.is_code}


def reference(text: str, uri: str) -> nodes.reference:
    """A link with the text in the fixed-width face."""
    return nodes.reference("", "", nodes.literal(text, text), refuri=uri, internal=True)


class Linker:
    """Links of one page; remembers which files they lead to."""

    def __init__(self, app: Sphinx, docname: str) -> None:
        self.app, self.docname = app, docname
        self.files: set[str] = app.env.metadata.setdefault("source-pages", {}).setdefault("files", set())

    def uri(self, page: str, anchor: str = "") -> str:
        return self.app.builder.get_relative_uri(self.docname, page) + (f"#{anchor}" if anchor else "")

    def to_source(self, file: str, line: int = 1) -> str:
        self.files.add(file)
        here = self.app.builder.get_target_uri(self.docname)
        return os.path.relpath(f"{FOLDER}/{file}.html", os.path.dirname(here) or ".") + f"#L-{line}"

    def of_path(self, path: str) -> str | None:
        if path in documented():
            return self.uri(documented()[path], path)
        found = source_of(path)
        return None if found is None else self.to_source(*found)

    def literal(self, node: nodes.literal) -> None:
        text = node.astext()
        uri = None
        if DOTTED.fullmatch(text):
            uri = self.of_path(text)
        elif FILE.fullmatch(text) and (ROOT / text).is_file():
            uri = self.to_source(text)
        if uri:
            node.replace_self(reference(text.removeprefix("bayes_lssvm."), uri))

    def text(self, node: nodes.Text) -> None:
        pieces: list[nodes.Node] = []
        text, end = node.astext(), 0
        for match in TEST.finditer(text):
            pieces.append(nodes.Text(text[end : match.start()]))
            file, name = match.groups()
            pieces.append(reference(name, self.to_source(file, line_of(file, name))))
            end = match.end()
        if pieces:
            node.parent.replace(node, [*pieces, nodes.Text(text[end:])])


def link(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    if app.builder.format != "html" or docname.startswith("reference/api/"):
        return
    linker = Linker(app, docname)
    for literal in list(doctree.findall(nodes.literal)):
        if not isinstance(literal.parent, nodes.reference):
            linker.literal(literal)
    for text in list(doctree.findall(nodes.Text)):
        if isinstance(text.parent, nodes.paragraph | nodes.strong | nodes.emphasis):
            linker.text(text)


def linkcode_resolve(domain: str, info: dict[str, str]) -> str | None:
    """The source of an object of the reference, relative to its page (sphinx.ext.linkcode)."""
    found = source_of(f"{info['module']}.{info['fullname']}") if domain == "py" else None
    if found is None:
        return None
    _LINKED.add(found[0])
    return f"../../{FOLDER}/{found[0]}.html#L-{found[1]}"


_LINKED: set[str] = set()


def collect(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """The highlighted files that a page leads to."""
    files = app.env.metadata.get("source-pages", {}).get("files", set()) | _LINKED
    for file in sorted(files):
        code = (ROOT / file).read_text(encoding="utf-8")
        html = app.builder.highlighter.highlight_block(
            code, "python", linenos="inline", lineanchors="L", anchorlinenos=True
        )
        yield f"{FOLDER}/{file}", {"title": file, "body": f"<h1>{file}</h1>{html}", "parents": []}, "page.html"


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-resolved", link)
    app.connect("html-collect-pages", collect)
    return {"parallel_read_safe": True, "parallel_write_safe": False}
