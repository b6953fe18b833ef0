"""Why an entry of paper 2's tables differs: what the paper leaves open is tried, and what it gives is said.

Three things that the paper does not print change its figures: the order of the classes, on which minimal output coding
depends, what becomes of ties in Hamming decoding, which it says for 1vsA alone, and the rows of led, which come from
random numbers. Cells hold the scores for the other choices, so a sentence here rests on the same randomisations as the
entry, and but for other rows on the same members.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from validation.harness import StudyResult

from ..table import Published, Reason
from .data import scores_of
from .table2_published import Key

SUPPORT = "tests/validation/papers/test_reasons.py::test_what_paper_2_leaves_open_gives_its_figures"
DRAWS = "tests/validation/papers/test_reasons.py::test_ours_is_an_unlucky_draw_of_led"
_FEW = 3  # orders: more are a sample, whose spread is told
RULES = {"hamming-strict": "counted as wrong", "hamming-first": "given to the first of the tied classes"}


def reason(
    result: StudyResult,
    key: Key,
    printed: Published,
    orders: Mapping[str, Mapping[str, float]],
    otherwise: Reason,
    draws: Sequence[Mapping[str, float]] = (),
) -> Reason:
    """Sentences on an entry that differs by more than two of the paper's standard deviations.

    Parameters
    ----------
    result : StudyResult
    key : tuple of str
        Data set, kernel, decoding, coding.
    printed : Published
    orders : mapping
        Mean accuracies of minimal output coding by other orders of the classes and by decoding; may be empty.
    otherwise : Reason
        What is known where neither the order nor ties account for the difference.
    draws : sequence of mapping
        Mean accuracies of minimal output coding on other draws of a generated set, by decoding; may be empty.
    """
    _, _, decoding, coding = key
    found = []
    if coding == "moc" and draws and (drawn := _draws([scores[decoding] for scores in draws], printed)).reproduces:
        return Reason(drawn.sentence, DRAWS)
    if coding == "moc" and orders:
        found.append(_order(decoding, printed, orders))
    if decoding == "hamming" and (ties := _ties(result, key, printed)) is not None:
        found.append(ties)
    if decoding == "hinge" and (loss := _loss(result, key, printed)) is not None:
        found.append(loss)
    sentences = [one.sentence for one in found]
    if any(one.reproduces for one in found):
        return Reason(" ".join(sentences), SUPPORT)
    return Reason(" ".join([*sentences, otherwise.sentence]), otherwise.test)


class _Tried(NamedTuple):
    """What another choice gives, and whether that is within two of the paper's standard deviations."""

    sentence: str
    reproduces: bool


def _within(value: float, printed: Published) -> bool:
    return printed.spread is not None and abs(value - printed.mean) <= 2.0 * printed.spread


def _order(decoding: str, printed: Published, orders: Mapping[str, Mapping[str, float]]) -> _Tried:
    accuracies = [scores[decoding] for scores in orders.values()]
    if len(accuracies) > _FEW:
        return _of_sample(accuracies, printed)
    name, nearest = min(
        ((order, scores[decoding]) for order, scores in orders.items()), key=lambda one: abs(one[1] - printed.mean)
    )
    if _within(nearest, printed):
        words = f"as {name} it is {nearest:.1f} %."
        said = f"Reproduced with another order of the classes, which the paper does not print: {words}"
        return _Tried(said, True)
    words = f"the nearest, {name}, has {nearest:.1f} %."
    return _Tried(f"Another order of the classes does not reproduce it: {words}", False)


def _of_sample(accuracies: Sequence[float], printed: Published) -> _Tried:
    """The spread over drawn orders. That the best of many comes near says little: the figure has to lie among them."""
    low, high = min(accuracies), max(accuracies)
    spread = (
        f"over {len(accuracies)} orders of the classes drawn at random, which the paper does not print, it is "
        f"{low:.1f} to {high:.1f} %, with a median of {np.median(accuracies):.1f}"
    )
    if low <= printed.mean <= high:
        return _Tried(f"The paper's {printed.mean:.1f} is among other orders' figures: {spread}.", True)
    beyond = f"the paper's {printed.mean:.1f} is {'above' if printed.mean > high else 'below'} them"
    return _Tried(f"Other orders do not account for it: {spread}; {beyond}.", False)


def _draws(accuracies: Sequence[float], printed: Published) -> _Tried:
    """The spread over other draws of the rows. They account for the difference if half of them have the figure."""
    near = sum(_within(value, printed) for value in accuracies)
    spread = (
        f"on {len(accuracies)} other draws it is {min(accuracies):.1f} to {max(accuracies):.1f} %, with a median of "
        f"{np.median(accuracies):.1f}, and within two of the paper's standard deviations on {near}"
    )
    return _Tried(
        "The rows are random numbers, and the paper's are another draw of them; ours is a hard one. By the same "
        f"design {spread}.",
        2 * near >= len(accuracies),
    )


def _ties(result: StudyResult, key: Key, printed: Published) -> _Tried | None:
    """What another rule for ties gives; None where it is no nearer."""
    name, kernel, _, coding = key
    ours = float(np.mean(scores_of(result, name, kernel, coding, "hamming", "accuracy")))
    means = {rule: float(np.mean(scores_of(result, name, kernel, coding, rule, "accuracy"))) for rule in RULES}
    rule = min(means, key=lambda one: abs(means[one] - printed.mean))
    if abs(means[rule] - printed.mean) >= abs(ours - printed.mean) - 0.05:
        return None
    words = f"with rows whose classes tie {RULES[rule]}, it is {means[rule]:.1f} %."
    if not _within(means[rule], printed):
        return _Tried(f"Another rule for ties brings it nearer: {words}", False)
    said = "which the paper states for 1vsA alone"
    if coding == "ova":
        said = "although the paper says that the largest output decides"
    return _Tried(f"Reproduced with another rule for ties, {said}: {words}", True)


def _loss(result: StudyResult, key: Key, printed: Published) -> _Tried | None:
    """What the squared loss gives in place of the hinge loss; None where it does not reproduce the figure."""
    name, kernel, _, coding = key
    squared = float(np.mean(scores_of(result, name, kernel, coding, "loss", "accuracy")))
    if not _within(squared, printed):
        return None
    sentence = f"Reproduced with the squared loss in place of the hinge loss; the paper names none: {squared:.1f} %."
    return _Tried(sentence, True)
