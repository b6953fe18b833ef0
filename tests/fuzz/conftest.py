"""How many cases: a slice in the normal tests, thousands by `make fuzz` (BAYES_LSSVM_FUZZ multiplies each slice)."""

from __future__ import annotations

import os

import pytest

FACTOR = float(os.environ.get("BAYES_LSSVM_FUZZ", "1"))
FULL = 25.0  # the factor of `make fuzz`
SEED = int(os.environ.get("BAYES_LSSVM_FUZZ_SEED", "0"))


@pytest.fixture(scope="session")
def cases():
    """The seeds of a slice of `n` cases, which another BAYES_LSSVM_FUZZ_SEED moves elsewhere.

    `make fuzz` has `full` of them, or 25 slices.
    """

    def seeds(n: int, full: int | None = None) -> range:
        many = n * FACTOR if full is None or FACTOR == 1 else full * FACTOR / FULL
        return range(SEED, SEED + max(1, round(many)))

    return seeds
