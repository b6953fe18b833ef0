"""Words for Bayes factors, as far as the computation decides them (Kass and Raftery, 1995).

Of 2 log B: 0–2 not worth more than a bare mention, 2–6 positive, 6–10 strong, above 10 very strong.
"""

from __future__ import annotations

import numpy as np

UNDECIDED = "not decided by this computation"


def kass_raftery(log_bayes_factor: float) -> str:
    """Kass and Raftery's words for the strength of evidence of |log B|."""
    twice = 2.0 * abs(log_bayes_factor)
    if twice < 2.0:
        return "not worth more than a bare mention"
    if twice < 6.0:
        return "positive"
    return "strong" if twice <= 10.0 else "very strong"


def worded(log_bayes_factor: float, error: float) -> str:
    """The words, or that |log B| is smaller than its error; an error that is not known (nan) is not asked."""
    return UNDECIDED if np.isfinite(error) and abs(log_bayes_factor) < error else kass_raftery(log_bayes_factor)
