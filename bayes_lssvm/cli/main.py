"""The entry point: runs a command and turns failures into sentences and exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

from ..base.text import InputError
from .output import say
from .parser import build_parser

SUCCESS, MISTAKE, INTERRUPTED, PIPE_CLOSED = 0, 2, 130, 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run `bayes-lssvm` with these arguments (those of the process by default) and return the exit code."""
    _show_any_character()
    try:
        with suppress(SystemExit):  # how --help and --version end; wrong arguments are an InputError
            arguments = build_parser().parse_args(argv)
            arguments.run(arguments)
        print(end="", flush=True)  # a full disk or a closed pipe shows here, not when the interpreter ends
    except BrokenPipeError:
        _abandon_stdout()
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except InputError as error:
        for sentence in error.sentences:
            say("error", sentence)
        return MISTAKE
    except OSError as error:
        _abandon_stdout()
        where = f" ({error.filename!r})" if error.filename is not None else ""
        say("error", f"{error.strerror or error}{where}.")
        return MISTAKE
    except (ValueError, MemoryError) as error:  # the library refuses bad data and settings with sentences
        say("error", str(error) or "not enough memory.")
        return MISTAKE
    return SUCCESS


def _show_any_character() -> None:
    """Let a terminal without Greek letters show escapes instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def _abandon_stdout() -> None:
    """Point standard output to nowhere, so that the interpreter's last flush is quiet."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
