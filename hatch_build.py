"""The README as the package index shows it, where pictures and links need full addresses.

`address` in pyproject.toml is where the files of a release can be read. While it is empty, pictures are left out and
links within the repository become plain text, so that nothing on the index is broken.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?:)([^)]+)\)\n*")
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\((?!https?:)([^)]+)\)")


def for_the_index(text: str, address: str) -> str:
    """The README with full addresses, or without what would need one."""
    if not address:
        return LINK.sub(r"\1", PICTURE.sub("", text))
    base = address.rstrip("/")
    return re.sub(r"\]\((?!https?:|#)([^)]+)\)", rf"]({base}/\1)", text)


class Readme(MetadataHookInterface):
    """Sets `readme` when the metadata of a wheel or a source archive are made."""

    def update(self, metadata: dict[str, Any]) -> None:
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": for_the_index(text, self.config["address"])}
