"""Memory that is freed stays with the process where the environment says that it goes back at once."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import gc, resource, time
from contextlib import nullcontext
import numpy as np
from bayes_lssvm.base import memory

def faults(keeping):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    with keeping():
        for _ in range(50):
            np.ones(200_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

plain, kept = faults(nullcontext), faults(memory.freed_memory_kept)
memory._Keeping.end.join()
print(plain, kept, faults(nullcontext), memory._Keeping.count)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the setting is of GNU's C library")
def test_pages_are_not_given_anew_for_every_array():
    environment = os.environ | {"MALLOC_TRIM_THRESHOLD_": "65536"}
    run = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment)
    plain, kept, after, count = map(int, run.stdout.split())
    assert plain > 50 * 300  # 390 pages each
    assert kept < plain / 10
    assert after > plain / 2  # the setting is as it was
    assert count == 0
