"""Does every link of the built site lead somewhere, and does no page fetch anything from elsewhere?

python docs/_ext/check_site.py output/docs
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Elements whose address the browser opens by itself, as against links that a reader follows.
FETCHED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


@dataclass
class Found(HTMLParser):
    """The anchors of a page, the links in it, and what it loads."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.anchors.update(v for v in (values.get("id"), values.get("name")) if v)
        address = values.get(FETCHED.get(tag, ""))
        if address and values.get("rel") not in ("canonical", "search"):
            self.fetched.append(address)
        elif tag == "a" and values.get("href"):
            self.links.append(str(values["href"]))


def read(path: Path) -> Found:
    found = Found()
    found.feed(path.read_text(encoding="utf-8"))
    return found


def faults(site: Path) -> list[str]:
    """A line for each link that leads nowhere, and for each thing that is fetched from another host."""
    site = site.resolve()
    pages = {path: read(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}
    wrong: list[str] = []
    for path, found in pages.items():
        name = path.relative_to(site).as_posix()
        wrong += [f"{name}: fetches {a}" for a in found.fetched if urlsplit(a).scheme in ("http", "https")]
        for address in [*found.links, *found.fetched]:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                wrong.append(f"{name}: {address} leads nowhere")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors | {"top"}:
                wrong.append(f"{name}: {address} has no such anchor")
    return wrong


if __name__ == "__main__":
    found = sorted(set(faults(Path(sys.argv[1]))))
    print("\n".join(found) or "Every link within the site leads somewhere, and nothing is fetched from elsewhere.")
    sys.exit(bool(found))
