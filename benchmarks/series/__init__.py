"""What was measured, kept in the repository: one JSON object a line, appended and never changed.

Each line says when, which commit and version, what kind of machine (never its name), and how many threads.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bayes_lssvm import __version__

FOLDER = Path(__file__).resolve().parent
RATIOS, COSTS = FOLDER / "ratios.jsonl", FOLDER / "costs.jsonl"
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def circumstances(threads: int | None = None) -> dict[str, Any]:
    """Date, commit, version, kind of machine and threads of a measurement."""
    given = next((int(value) for name in _THREADS if (value := os.environ.get(name, "")).isdigit()), None)
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "version": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "threads": threads or given or os.cpu_count(),
    }


def commit() -> str:
    """The commit of the checkout, with a + where files differ from it; "unknown" outside of a checkout."""
    command = ["git", "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        found = subprocess.run(command, cwd=FOLDER, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip()


def append(path: Path, records: Iterable[dict[str, Any]]) -> None:
    """Add lines to a series."""
    with path.open("a", encoding="utf-8") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    """All lines of a series; none where there is no file yet."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
