"""How many cases: a slice in the normal tests, thousands by `make fuzz` (BAYES_LSSVM_FUZZ multiplies each slice)."""

from __future__ import annotations

import os

import pytest

FACTOR = float(os.environ.get("BAYES_LSSVM_FUZZ", "1"))
FULL = 25.0  # the factor of `make fuzz`
SEED = int(os.environ.get("BAYES_LSSVM_FUZZ_SEED", "0"))
ENOUGH = 20  # cases, of which some have to go each way; a part of a small campaign may have fewer
PARTS = 1 if FACTOR == 1 else 25  # thousands of cases are many tests, which processes share


@pytest.fixture(params=range(PARTS), ids=lambda part: f"part {part + 1} of {PARTS}")
def cases(request):
    """The seeds of a slice of `n` cases, which another BAYES_LSSVM_FUZZ_SEED moves elsewhere.

    `make fuzz` has `full` of them in all its parts together, or 25 slices.
    """

    def seeds(n: int, full: int | None = None) -> range:
        many = n * FACTOR if full is None or FACTOR == 1 else full * FACTOR / FULL
        each = max(1, round(many / PARTS))
        first = SEED + request.param * each
        return range(first, first + each)

    return seeds
