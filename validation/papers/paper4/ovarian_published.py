"""Figures that paper 4 (Suykens, lecture 7) prints for its ovarian tumours, whose data are not public.

They are for context: no figure of other data can be held against them.
"""

from __future__ import annotations

from typing import NamedTuple

SOURCE = "Paper 4, Table 2"
N_TRAIN, N_TEST = 265, 160
RANDOMISATIONS = 30
SELECTED = 10
"""Inputs that forward selection with an RBF kernel took, of 25 (slide 3)."""


class CutOff(NamedTuple):
    """Accuracy, sensitivity and specificity in % at a cut-off."""

    accuracy: float
    sensitivity: float
    specificity: float


class PublishedModel(NamedTuple):
    """A row of Table 2: AUC with its standard deviation over 30 runs, and the figures by cut-off."""

    auc: float
    sd: float
    cut_offs: dict[str, CutOff]


TABLE_2: dict[str, PublishedModel] = {
    "RMI": PublishedModel(0.8882, 0.0284, {"100": CutOff(82.65, 81.73, 83.06), "80": CutOff(81.10, 83.87, 79.85)}),
    "LR1": PublishedModel(0.9397, 0.0209, {"0.5": CutOff(83.29, 89.33, 80.55), "0.4": CutOff(81.94, 91.60, 77.55)}),
    "LS-SVM1 Lin": PublishedModel(
        0.9405, 0.0199, {"0.5": CutOff(84.31, 87.40, 82.91), "0.4": CutOff(82.77, 90.47, 79.27)}
    ),
    "LS-SVM1 RBF": PublishedModel(
        0.9424, 0.0207, {"0.5": CutOff(84.85, 86.53, 84.09), "0.4": CutOff(83.52, 90.00, 80.58)}
    ),
}
"""Risk of malignancy index (its cut-offs are values of the index), logistic regression, LS-SVMs."""
