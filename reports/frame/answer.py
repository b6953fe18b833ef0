"""What a page opens with: a badge, one sentence that a colleague could repeat, and at most three short points.

A badge is derived from numbers, never written by hand: "holds" where the claim of the page stands as it is, "with care"
where it stands within limits that the sentence names, "fails" where it does not. Each page states its rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

State = Literal["holds", "with care", "fails"]
STATES: tuple[State, ...] = get_args(State)
"""The good one first."""
SIGNS: dict[State, str] = {"holds": "✓", "with care": "!", "fails": "✗"}
"""Beside the word and the colour, so that a badge can be read without colours."""
MOST_WORDS, MOST_POINTS = 25, 3


@dataclass(frozen=True)
class Answer:
    """The answer of a page.

    Attributes
    ----------
    badge : "holds", "with care" or "fails"
    verdict : str
        One sentence of at most 25 words, computed from the numbers.
    points : tuple of str
        At most three, short.
    rule : str
        How the badge follows from the numbers.
    """

    badge: State
    verdict: str
    points: tuple[str, ...] = ()
    rule: str = ""

    def __post_init__(self) -> None:
        if count_words(self.verdict) > MOST_WORDS or len(self.points) > MOST_POINTS:
            raise ValueError(
                f"A page opens with one sentence of at most {MOST_WORDS} words and at most {MOST_POINTS} points, but "
                f"got {count_words(self.verdict)} words and {len(self.points)} points: {self.verdict!r}. Move the "
                "rest to the page's findings."
            )


def graded(value: float, holds: float, care: float) -> State:
    """The badge of a number that should be small: "holds" up to one limit, "with care" up to a second one."""
    if value <= holds:
        return "holds"
    return "with care" if value <= care else "fails"  # what is not a number fails


def worst(*states: State) -> State:
    """The worst of several badges."""
    return max(states, key=STATES.index)


def count_words(sentence: str) -> int:
    """Words between spaces: "σ = 1.3" has three, and so does "90 % of"."""
    return len(sentence.split())
