"""Warnings as sentences of the command line; apart from `cli.output`, which parsing needs and NumPy must not burden."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from ..base.errors import heard
from .output import say


@contextmanager
def spoken_warnings(*, but: tuple[type[Warning], ...] = ()) -> Iterator[list[str]]:
    """Collect warnings within the block, and say each as a sentence at its end, but for those of some kinds."""
    sentences: list[str] = []
    # filters belong to the whole process, which is ours here: the program runs one command
    with warnings.catch_warnings(record=True) as caught, heard() as said:
        warnings.simplefilter("always", UserWarning)
        yield sentences
    sentences += dict.fromkeys(message for message, category in said if not issubclass(category, but))
    sentences += dict.fromkeys(str(warning.message) for warning in caught)
    for sentence in sentences:
        say("warning", sentence)
