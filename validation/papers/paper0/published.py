"""Paper 0 (Van Gestel et al., Neural Computation 14, 2002), Table 1, as printed: means and standard deviations in %.

Marks are those of the same table in paper 4 (lecture notes, "UCI Benchmarking results"), where boldface survives: "not
different" from the best at the 5 % level (the best included), or "" for a figure that is. The last three rows of the
table are averages, average ranks and the probabilities of a sign test against LS-SVM (CV10).
"""

from __future__ import annotations

from typing import NamedTuple

from ..table import Published

SOURCE = "Paper 0, Table 1"
COLUMNS = (
    "LS-SVM (BayM)",
    "LS-SVM (Bay)",
    "LS-SVM (CV10)",
    "SVM (CV10)",
    "GP (Bay)",
    "GP_b (Bay)",
    "GP (CV10)",
)
BEST_OVERALL = "LS-SVM (CV10)"
"""The column with the best average performance, against which the sign test is made."""


class Sizes(NamedTuple):
    """Inputs, training rows and test rows of a data set."""

    inputs: int
    n_train: int
    n_test: int


SIZES: dict[str, Sizes] = {
    "bld": Sizes(6, 230, 115),
    "cra": Sizes(6, 133, 67),
    "gcr": Sizes(20, 666, 334),
    "hea": Sizes(13, 180, 90),
    "ion": Sizes(33, 234, 117),
    "pid": Sizes(8, 512, 256),
    "rsy": Sizes(2, 250, 1000),
    "snr": Sizes(60, 138, 70),
    "tit": Sizes(3, 1467, 734),
    "wbc": Sizes(9, 455, 228),
}

# mean, standard deviation, in bold
_PRINTED: dict[str, tuple[tuple[float, float, bool], ...]] = {
    "bld": (
        (69.4, 2.9, True),
        (69.4, 3.1, True),
        (69.4, 3.4, True),
        (69.2, 3.5, True),
        (69.2, 2.7, True),
        (68.9, 3.3, True),
        (69.7, 4.0, True),
    ),
    "cra": (
        (96.7, 1.5, True),
        (96.7, 1.5, True),
        (96.9, 1.6, True),
        (95.1, 3.2, True),
        (96.4, 2.5, True),
        (94.8, 3.2, False),
        (96.9, 2.4, True),
    ),
    "gcr": (
        (73.1, 3.8, False),
        (73.5, 3.9, False),
        (75.6, 1.8, True),
        (74.9, 1.7, False),
        (76.2, 1.4, True),
        (75.9, 1.7, True),
        (75.4, 2.0, True),
    ),
    "hea": (
        (83.6, 5.1, True),
        (83.2, 5.2, True),
        (84.3, 5.3, True),
        (83.4, 4.4, True),
        (83.1, 5.5, True),
        (83.7, 4.9, True),
        (84.1, 5.2, True),
    ),
    "ion": (
        (95.6, 0.9, False),
        (96.2, 1.0, True),
        (95.6, 2.0, True),
        (95.4, 1.7, False),
        (91.0, 2.3, False),
        (94.4, 1.9, False),
        (92.4, 2.4, False),
    ),
    "pid": (
        (77.3, 3.1, True),
        (77.5, 2.8, True),
        (77.3, 3.0, True),
        (76.9, 2.9, True),
        (77.6, 2.9, True),
        (77.5, 2.7, True),
        (77.2, 3.0, True),
    ),
    "rsy": (
        (90.2, 0.7, True),
        (90.2, 0.6, True),
        (89.6, 1.1, False),
        (89.7, 0.8, True),
        (90.2, 0.7, True),
        (90.1, 0.8, True),
        (89.9, 0.8, True),
    ),
    "snr": (
        (76.7, 5.6, False),
        (78.0, 5.2, True),
        (77.9, 4.2, True),
        (76.3, 5.3, False),
        (78.6, 4.9, True),
        (75.7, 6.1, True),
        (76.6, 7.2, True),
    ),
    "tit": (
        (78.8, 1.1, True),
        (78.7, 1.1, True),
        (78.7, 1.1, True),
        (78.7, 1.1, True),
        (78.5, 1.0, True),
        (77.2, 1.9, False),
        (78.7, 1.2, True),
    ),
    "wbc": (
        (95.9, 0.6, False),
        (95.7, 0.5, False),
        (96.2, 0.7, True),
        (96.2, 0.8, True),
        (95.8, 0.7, False),
        (93.7, 2.0, False),
        (96.5, 0.7, True),
    ),
}

TABLE_1: dict[tuple[str, str], Published] = {
    (row, column): Published(mean, sd, "sd", "not different" if bold else "")
    for row, cells in _PRINTED.items()
    for column, (mean, sd, bold) in zip(COLUMNS, cells, strict=True)
}
AVERAGES = dict(zip(COLUMNS, (83.7, 83.9, 84.1, 83.6, 83.7, 83.2, 83.7), strict=True))
AVERAGE_RANKS = dict(zip(COLUMNS, (2.3, 2.5, 2.5, 3.8, 3.2, 4.2, 2.6), strict=True))
SIGN_TEST = dict(zip(COLUMNS, (1.000, 0.754, 1.000, 0.344, 0.754, 0.344, 0.508), strict=True))
AVERAGES_NOT_DIFFERENT = frozenset(COLUMNS) - {"SVM (CV10)", "GP_b (Bay)"}
"""Columns whose average performance is in boldface: the Wilcoxon test finds them not different from the best."""
