"""Bars of long work: one process's kill is no other's standstill."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHILD_KILLED_AT_A_BAR = """
import os, signal, time
from bayes_lssvm.base.progress import tqdm
tqdm(disable=True)  # from here on tqdm's own lock would be one of several processes
told, tell = os.pipe()
child = os.fork()
if child == 0:
    tqdm.get_lock().acquire()
    os.write(tell, b".")
    time.sleep(60)
os.read(told, 1)
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
signal.alarm(2)
print(*tqdm(range(3), disable=True))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_killed_child_leaves_its_parent_the_bar():
    words = [sys.executable, "-c", CHILD_KILLED_AT_A_BAR]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == "0 1 2\n", done.stderr
