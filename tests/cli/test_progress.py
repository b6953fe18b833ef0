"""On a terminal, long work has a bar with an estimate of the time that is left."""

from __future__ import annotations

import os
import re
import struct
import sys
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX terminals")
ROOT = Path(__file__).parents[2]
LEFT = re.compile(r"\[\d\d:\d\d<\d\d:\d\d")


def on_terminal(code: str, *arguments: str, watch=lambda shown: None) -> str:
    """What a program shows on a terminal of 100 columns; `watch` sees it as it comes."""
    import fcntl
    import pty
    import subprocess
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    words = [sys.executable, "-c", code, *arguments]
    process = subprocess.Popen(words, cwd=ROOT, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while True:
        try:
            piece = os.read(ours, 2**16)
        except OSError:  # how Linux says that nobody is at the other end any more
            break
        if not piece:
            break
        shown += piece
        watch(shown.decode(errors="replace"))
    os.close(ours)
    assert process.wait() == 0, shown
    return shown.decode()


COMMAND = "import sys; from bayes_lssvm.cli import main; sys.exit(main(sys.argv[1:]))"


INTEGRALS = {
    "quadrature": ["marginalise"],
    "ccd": ["marginalise", "--kernel", "ard", "--method", "ccd"],
    "lattice": ["compare", "--kernels", "ard", "linear"],
}


SLOW = {"ccd": pytest.mark.slow, "lattice": pytest.mark.slow}


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, ())) for name in INTEGRALS])
def test_integrals_over_kernels_have_an_estimate(name, tmp_path):
    x = np.random.default_rng(0).normal(size=(120, 3))
    path = tmp_path / "table.csv"
    path.write_text("a,b,y\n" + "\n".join(f"{a},{b},{a - b + c}" for a, b, c in x.tolist()))
    command, *more = INTEGRALS[name]
    shown = on_terminal(COMMAND, command, str(path), "--target", "y", *more)
    bars = [line for line in re.split(r"[\r\n]", shown) if "kernels integrated" in line]
    assert any(LEFT.search(line) for line in bars), shown


STUDY = """
import sys
from pathlib import Path
from tests.validation.harness.logged import Logged
from validation.harness import run
folder = Path(sys.argv[1])
study = Logged(str(folder / "log"), keys=("slow",), wait_for=str(folder / "gate"), waiting=("slow",))
run(study, None, size="toy", folder=folder / "store", jobs=1)
"""


def test_the_clock_of_a_study_goes_on_while_a_cell_is_computed(tmp_path):
    """The cell waits until the clock has been seen to move, in vain if it does not."""

    def watch(shown: str) -> None:
        if len(set(re.findall(r"0/1 \[(\d\d:\d\d)<", shown))) > 2:
            (tmp_path / "gate").touch()

    assert "1/1" in on_terminal(STUDY, str(tmp_path), watch=watch)
