"""Faults in a process that has the tests already: what is loaded is changed where it stands.

To import the library and to collect a few thousand tests takes ten times as long as most faults live. So the tests of
a job are collected once, and every fault gets a fork of that process, in which the code of the functions that have it
is exchanged: `__code__`, which all who refer to a function share. What was decided while modules were imported (a
constant, the default of an argument, a table) stays as it was, so that faults there are left to a process that imports
anew. So is a fault with which a process only waits: a fork of one with threads may hang by itself.
"""

from __future__ import annotations

import functools
import gc
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest

from tests.mutations.operators import Mutant

Functions = dict[str, list[FunctionType]]


def loaded_functions(sources: list[str]) -> Functions:
    """Every function that some files have brought into this process; a file that is not loaded is left out."""
    files = {str(Path(source).resolve()) for source in sources}
    loaded = {getattr(module, "__file__", None) for module in list(sys.modules.values())}
    found: Functions = {file: [] for file in files & loaded}
    for one in gc.get_objects():
        if type(one) is FunctionType and one.__code__.co_filename in found:
            found[one.__code__.co_filename].append(one)
    return found


def exchange(mutant: Mutant, changed: bytes, functions: Functions) -> bool:
    """Put the fault into every loaded function that has it; whether the process now is as if it had imported it.

    Of a file that is not loaded nothing has to change: whoever imports it reads the fault.
    """
    file = str(Path(mutant.path).resolve())
    if file not in functions:
        return True
    new: dict[tuple[str, int], list[CodeType]] = {}
    for code in codes_of(compile(changed, file, "exec")):
        new.setdefault((code.co_qualname, code.co_firstlineno), []).append(code)
    has_it = [f for f in functions[file] if f.__code__.co_firstlineno <= mutant.line <= last_line(f.__code__)]
    for function in has_it:
        code = function.__code__
        same = new.get((code.co_qualname, code.co_firstlineno), [])
        if len(same) != 1 or same[0].co_freevars != code.co_freevars:  # two lambdas of one line
            return False
        function.__code__ = same[0]
    return bool(has_it)


def codes_of(code: CodeType) -> list[CodeType]:
    """A code with those inside it."""
    inside = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return [code, *(deeper for one in inside for deeper in codes_of(one))]


@functools.cache
def last_line(code: CodeType) -> int:
    """The last line of a code and of those inside it."""
    return max(line for one in codes_of(code) for _, _, line in one.co_lines() if line is not None)


class Collected:
    """A plugin for pytest: where the tests would be run, it hands them to `work` by their names."""

    def __init__(self, work: Callable[[pytest.Session, dict[str, Any]], None]) -> None:
        self.work = work

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """In the place of pytest's own loop."""
        self.work(session, {item.nodeid: item for item in session.items})
        return True


def run_items(session: pytest.Session, items: list[Any], limits: list[float] | None = None) -> int:
    """The tests one after the other up to the first failure: 1 where there is one.

    With limits, a test that keeps the processor longer ends the process by a signal.
    """
    for number, (item, following) in enumerate(zip(items, [*items[1:], None], strict=True)):
        if limits:
            signal.setitimer(signal.ITIMER_PROF, limits[number])
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.testsfailed:
            return 1
    return 0
