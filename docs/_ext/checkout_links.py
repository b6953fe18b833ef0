"""Links that lead out of docs/ in a checkout lead to a page of the site in the site.

The gallery of reports is copied as it is; CONTRIBUTING, CHANGELOG and the like have pages in `developing`, which in a
checkout hold a link to the file and in the site its text.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
GALLERY = ROOT / "reports" / "gallery"
TEXTS = {f"developing/{name.lower()}": ROOT / f"{name}.md" for name in ("CONTRIBUTING", "CHANGELOG", "SECURITY")}
LINK = re.compile(r"\]\((?:\.\./)+reports/gallery/([\w.-]+)\)")
SCHEME = "gallery:"
TEXT = re.compile(r"\]\((?:\.\./)*(CONTRIBUTING|CHANGELOG|SECURITY)\.md(#[\w-]+)?\)")


def mark(app: Sphinx, docname: str, source: list[str]) -> None:
    """Links to files of the gallery become links of their own kind, so that nobody looks for a source of them."""
    text = TEXTS[docname].read_text(encoding="utf-8") if docname in TEXTS else source[0]
    text = text.replace("](docs/", "](../") if docname in TEXTS else text
    text = LINK.sub(rf"]({SCHEME}\1)", text)
    source[0] = TEXT.sub(lambda m: f"](/developing/{m[1].lower()}.md{m[2] or ''})", text)


def resolve(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    here = os.path.dirname(app.builder.get_target_uri(docname)) or "."
    for node in doctree.findall(nodes.reference):
        uri = node.get("refuri", "")
        if uri.startswith(SCHEME):
            name = uri.removeprefix(SCHEME)
            if not (GALLERY / name).is_file():
                raise FileNotFoundError(f"{docname} leads to {name}, which the gallery does not have.")
            node["refuri"] = os.path.relpath(f"gallery/{name}", here)
            node["classes"] = [c for c in node["classes"] if c != "external"]


def copy(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        shutil.copytree(GALLERY, Path(app.outdir) / "gallery", dirs_exist_ok=True)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", mark)
    app.connect("doctree-resolved", resolve)
    app.connect("build-finished", copy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
