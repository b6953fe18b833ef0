"""What is known of differences from paper 1's Table 2 beyond what the cells themselves tell.

Each sentence was written after the differences were seen, and rests on the test that it names; no setting was changed
for it.
"""

from __future__ import annotations

from functools import partial

from ..table import known_reason

_WHY: dict[tuple[str, str], str] = {
    # tests/validation/papers/test_paper1.py::test_on_splice_a_descent_stalls_on_its_way_to_the_flat_limit
    ("splice", "ARD LSSVM-BR"): (
        "Criterion 15 has no lower bound. In one partition the choice is a descent that stalls on its way to the flat "
        "limit, with 8.7 % errors; the minima inside have a higher criterion, less PRESS and 5.8 % errors. The rest "
        "of the difference is not explained."
    ),
}

why = partial(known_reason, _WHY)
"""A sentence on a row and a column, or nothing."""
