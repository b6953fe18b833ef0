"""A cell of Table II or III, and the order of the classes, which paper 2 does not print.

Minimal output coding depends on this order: two bits set three or four classes apart by two of their three
dichotomies, so there are three different codes. The tables take the order of `paper2.data`; the other two codes are
scored beside it, on the same parts. More classes have too many orders to try: where a cell's settings ask for
`drawn_orders`, that many are drawn at random, the same ones for every part.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

import numpy as np

from bayes_lssvm.base.typing import AnyArray
from validation.harness import Cell, CellResult, StudyResult

from .algorithms import Fitted, scored
from .data import Parts, parts
from .draws import other_draws

# Entry i is the place of class i in the code book. Each order leaves out another dichotomy than the sorted one does.
MOC_ORDERS: dict[int, tuple[tuple[int, ...], ...]] = {3: ((1, 0, 2), (2, 1, 0)), 4: ((0, 1, 3, 2), (0, 3, 2, 1))}
_SEED = 20021115  # of drawn orders


def design(fit: Callable[..., Fitted], decodings: Collection[str], cell: Cell, data: None) -> CellResult:
    """A cell: design on the training part, decode in all ways, score on the test part."""
    s = cell.settings
    part = parts(s["data"], s["randomisation"])
    designed = partial(fit, seed=cell.seed, kernel=s["kernel"], coding=s["coding"])
    fit = partial(designed, part.X_train, part.y_train)
    fitted = fit()
    decoded = fitted.predict(part.X_test)
    values: dict[str, Any] = dict(scored(decoded, part.y_test, part.classes))
    if s["coding"] == "moc":
        tried = orders_of(len(part.names), s.get("drawn_orders", 0))
        values["orders"] = other_orders(part, lambda order: fit(order=order), decodings, tried)
    if count := s.get("other_draws", 0):
        values["draws"] = other_draws(s["data"], s["randomisation"], count, designed, decodings)
    unseen = [name for number, name in enumerate(part.names) if number not in part.y_train]
    left_out = [*unseen, *(part.names[number] for number in fitted.left_out)]
    return CellResult({**values, "ties": decoded.ties, "left_out": left_out, **fitted.facts})


def orders_of(n_classes: int, drawn: int) -> tuple[tuple[int, ...], ...]:
    """Other orders than the sorted one: all that give another code, or beyond four classes as many as are drawn."""
    if n_classes in MOC_ORDERS:
        return MOC_ORDERS[n_classes]
    rng = np.random.default_rng([_SEED, n_classes])
    return tuple(tuple(rng.permutation(n_classes).tolist()) for _ in range(drawn))


def other_orders(
    part: Parts,
    fit: Callable[[AnyArray], Fitted],
    decodings: Collection[str],
    orders: Collection[tuple[int, ...]],
) -> list[dict[str, Any]]:
    """Accuracies of minimal output coding by other orders of the classes.

    Empty where the training part lacks a class.

    Parameters
    ----------
    part : Parts
    fit : callable
        Designs a classifier on the training part with the classes at these places.
    decodings : collection of str
        Whose accuracies are wanted.
    orders : collection of tuple of int
        As `orders_of` has them.
    """
    if len(np.unique(part.y_train)) < len(part.names):
        return []
    found = []
    for order in orders:
        scores = scored(fit(np.array(order)).predict(part.X_test), part.y_test, part.classes)
        accuracies = {decoding: scores[decoding]["accuracy"] for decoding in decodings}
        found.append({"order": [part.names[order.index(place)] for place in range(len(order))], **accuracies})
    return found


def moc_orders(result: StudyResult, name: str, kernel: str, decodings: Collection[str]) -> dict[str, dict[str, float]]:
    """Mean accuracies of minimal output coding by order and decoding; empty where no other order was tried."""
    found: dict[str, list[dict[str, Any]]] = {}
    for finished in result.cells:
        s = finished.cell.settings
        if (s["data"], s["kernel"]) == (name, kernel):
            for other in finished.values.get("orders", ()):
                found.setdefault(", ".join(other["order"]), []).append(other)
    return {
        order: {decoding: float(np.mean([one[decoding] for one in ones])) for decoding in decodings}
        for order, ones in found.items()
    }
