"""The page of paper 2's Table III: SVMs by coding and decoding."""

from __future__ import annotations

from reports.frame.page import Page
from validation.harness import StudyResult
from validation.papers.paper2.table3 import DECODINGS, table

from .paper2_codings import coding_page

INTRODUCTION = (
    "Table III of paper 2 (Van Gestel et al., 2002) is its Table II with support vector machines in place of "
    "LS-SVMs, and loss function decoding in place of Bayesian decoding, on the same ten data sets. This page "
    "computes it again, with scikit-learn's SVM and the library's codings and decodings."
)
METHODS = (
    "C and, for the RBF kernel, σ of every member come from 10-fold cross-validation on its own training points. "
    "The paper does not print its candidates. Here C is one of 0.01, 0.1, 1, 10 for the linear kernel; for RBF σ "
    "is one of ½, 1, 2, 4 times √d at C = 10, and then C one of 1, 10, 100 at that σ. Among equally good ones the "
    "largest σ and the smallest C are taken. A class with fewer than ten points in a member has as many folds as "
    "points; with a single one nothing can be held out, and C = 10 and σ = 2√d are taken.",
    "Loss function decoding takes the class with the smallest sum of hinge losses max(0, 1 − c z) over the bits, a "
    "don't care counting as c = 0 (Allwein et al., 2000).",
    "Randomisations, order of the classes and code books are those of our Table II, so the two tables are paired. "
    "The rule for ties and what becomes of classes that a training part lacks are the same.",
    "The rows of led are random numbers, so that the paper has another draw of them. Where its figures differ, the "
    "same members are designed and tested on other draws too, and with other orders of its ten classes.",
)


def page(result: StudyResult) -> Page:
    """Table III with everything that belongs to it."""
    return coding_page(
        result, table(result), DECODINGS, second="Loss function", introduction=INTRODUCTION, methods=METHODS
    )
