"""How many cases: a slice in the normal tests, thousands by `make fuzz` (BAYES_LSSVM_FUZZ multiplies each slice)."""

from __future__ import annotations

import os

import pytest

FACTOR = float(os.environ.get("BAYES_LSSVM_FUZZ", "1"))
SEED = int(os.environ.get("BAYES_LSSVM_FUZZ_SEED", "0"))


@pytest.fixture(scope="session")
def cases():
    """The seeds of a slice of `n` cases, which another BAYES_LSSVM_FUZZ_SEED moves elsewhere."""
    return lambda n: range(SEED, SEED + max(1, int(n * FACTOR)))
