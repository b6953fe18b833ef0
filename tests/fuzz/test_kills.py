"""Kill −9 at random moments: nothing finished is lost or done again, no file is broken, no process is left behind."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import FACTOR

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="forks, and looks into /proc")


def figures(what: str, seeds: range) -> dict[str, int]:
    words = [sys.executable, "-m", "tests.fuzz.kills", what, str(len(seeds)), str(seeds[0])]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(done.stdout)
    print(what, found)
    assert found.pop("kills") == len(seeds)
    return found


def test_kills_of_a_study_cost_no_finished_cell(cases):
    found = figures("study", cases(4, full=200))
    assert (found["lost"], found["repeated"], found["rubbish"]) == (0, 0, 0), found


def test_kills_of_out_leave_the_old_model_or_the_new_one(cases):
    found = figures("model", cases(4, full=200))
    assert (found["broken"], found["rubbish"]) == (0, 0), found


@pytest.mark.skipif(FACTOR == 1, reason="tests/multiclass/test_multiclass.py has members that are found again")
def test_kills_cost_no_member_that_is_kept(cases):
    found = figures("members", cases(1, full=200))
    assert (found["lost"], found["repeated"], found["rubbish"]) == (0, 0, 0), found


@pytest.mark.skipif(FACTOR == 1, reason="one such kill is in tests/validation/harness/test_sharing.py")
def test_kills_leave_no_worker_behind(cases):
    found = figures("workers", cases(1, full=25))
    assert found["orphans"] == 0, found
