"""A study that keeps a log of what is computed where; light, as many processes import it."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from validation.harness import Cell, CellResult


def wait_until(ready, seconds: float = 1200.0) -> None:
    """Until it is ready; the limit is for a machine twenty times slower than a minute's wait needs."""
    end = time.monotonic() + seconds
    while not ready():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@dataclass(frozen=True)
class Logged:
    """Each computation leaves a line with its process; a cell waits for a file, or until several processes are here."""

    log: str
    keys: tuple[str, ...] = tuple("abcdef")
    wait_for: str = ""
    waiting: tuple[str, ...] = ()
    meeting: int = 1
    name: str = "logged"
    title: str = "A study that keeps a log"
    needs_data: bool = False
    own_data: str = ""
    version: int = 1

    def cells(self, data, size):
        return [Cell(key) for key in self.keys]

    def compute(self, cell, data):
        with open(self.log, "a", encoding="utf-8") as stream:
            stream.write(f"{cell.key} {os.getpid()}\n")
        wait_until(lambda: len({pid for _, pid in lines(self)}) >= self.meeting)
        if cell.key in self.waiting:
            wait_until(lambda: Path(self.wait_for).exists())
        return CellResult({"key": cell.key})


def lines(study: Logged) -> list[list[str]]:
    path = Path(study.log)
    return [line.split() for line in path.read_text("utf-8").splitlines()] if path.exists() else []


def computed(study: Logged) -> Counter[str]:
    return Counter(key for key, _ in lines(study))
