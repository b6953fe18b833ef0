"""A parser of arguments whose refusals end with status 1."""

from __future__ import annotations

import argparse
from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """As argparse's, but for the status: 2, its own, means failed checks or cells here."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, and end."""
        self.exit(1, f"{self.prog}: {message}\nTry '{self.prog} --help'.\n")
