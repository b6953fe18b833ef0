"""Tables of the map: from which N on the closed forms hold, and how often things go wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from bayes_lssvm.base.typing import AnyArray
from bayes_lssvm.trust import LIMITS
from reports.frame.page import Row, Table

from .sentences import ratio_words
from .spots import METHODS, NATS, Share, Spot, thresholds


def key_table(problems: dict[str, list[Spot]]) -> Table:
    """From which N on, for each problem and ratio."""
    shares: tuple[Share, ...] = (
        *((lambda s, method=method: s.within(method)) for method in METHODS),
        lambda s: s.trusted,
    )
    rows: list[Row] = []
    for name, own in problems.items():
        found = [thresholds(own, share) for share in shares]
        rows.append(Row(name))
        rows += [
            Row("  " + ratio_words(snr), tuple("–" if one[snr] is None else f"{one[snr]}" for one in found))
            for snr in found[0]
        ]
    header = ("signal-to-noise", *(f"{said}, {NATS:g} nats" for said in METHODS.values()), "every check good")
    note = (
        "The smallest number of points N from which 90 % of the sets are that good; a dash where even the largest "
        "N is not enough. “Every check” means the checks of `bayes_lssvm.trust`: evidence (5.2), MacKay's error "
        "bars, k̂, modes, tails and predictions."
    )
    return Table("How many points the closed forms need", header, tuple(rows), note)


def failure_table(problems: dict[str, list[Spot]]) -> Table:
    """How often each thing goes wrong, by N."""
    limits = LIMITS["k_hat"][0], LIMITS["tail mass"][0], LIMITS["regression"][0]
    rows: list[Row] = []
    for name, own in problems.items():
        rows.append(Row(name))
        for n in sorted({s.n for s in own}):
            here = [s for s in own if s.n == n]
            clear = [s for s in here if s.snr >= 1.0]
            cells = (
                _percent([s for s in here if s.snr == 0.0], lambda s: s.column("no_mode") == 1.0),
                _percent(clear, lambda s: s.column("no_mode") == 1.0),
                _percent(here, lambda s: s.column("n_modes") >= 2.0),
                _percent(here, lambda s: s.column("k_hat") > limits[0]),
                _percent(here, lambda s: s.column("tail_mass") > limits[1]),
                _percent(clear, lambda s: s.column("change") > limits[2]),
            )
            rows.append(Row(f"  N = {n}", cells))
    header = (
        "share of sets with …",
        "no mode, no signal",
        "no mode, ratio ≥ 1",
        "two modes",
        f"k̂ > {limits[0]:g}",
        f"tails > {100 * limits[1]:.0f} %",
        f"prediction moved > {limits[2]:g} sd, ratio ≥ 1",
    )
    return Table("How often things go wrong", header, tuple(rows), "Percentages over all ratios where none is named.")


def _percent(spots: Sequence[Spot], bad: Callable[[Spot], AnyArray]) -> str:
    return f"{100 * np.mean(np.concatenate([bad(s) for s in spots])):.0f}" if spots else "–"
