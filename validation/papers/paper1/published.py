"""Figures that Cawley and Talbot (2007) print: Table 1 (the sets) and Table 2 (error rates), and what section 3 says.

Journal of Machine Learning Research 8, 841–861, "Preventing over-fitting during model selection via Bayesian
regularisation of the hyper-parameters". Table 2 has the mean error rate on test data in % over 100 partitions (20 for
image and splice) ± the standard error of that mean. Its columns are, for the spherical RBF kernel and then for the
elliptical one, LS-SVM by PRESS, LS-SVM by PRESS with Bayesian regularisation, and the Gaussian process classifier by
expectation propagation.
"""

from __future__ import annotations

from typing import NamedTuple

from ..table import Published

COLUMNS = ("RBF LSSVM", "RBF LSSVM-BR", "RBF EP-GPC", "ARD LSSVM", "ARD LSSVM-BR", "ARD EP-GPC")


class Benchmark(NamedTuple):
    """A set of Table 1.

    Attributes
    ----------
    name : str
        As the catalogue of data sets has it, without "ida_".
    title : str
        As Table 2 has it.
    n_train, n_test, partitions, inputs : int
        Training and testing patterns, replications, input features.
    """

    name: str
    title: str
    n_train: int
    n_test: int
    partitions: int
    inputs: int


TABLE_1 = (
    Benchmark("banana", "Banana", 400, 4900, 100, 2),
    Benchmark("breast_cancer", "Breast cancer", 200, 77, 100, 9),
    Benchmark("diabetis", "Diabetes", 468, 300, 100, 8),
    Benchmark("flare_solar", "Flare solar", 666, 400, 100, 9),
    Benchmark("german", "German", 700, 300, 100, 20),
    Benchmark("heart", "Heart", 170, 100, 100, 13),
    Benchmark("image", "Image", 1300, 1010, 20, 18),
    Benchmark("ringnorm", "Ringnorm", 400, 7000, 100, 20),
    Benchmark("splice", "Splice", 1000, 2175, 20, 60),
    Benchmark("thyroid", "Thyroid", 140, 75, 100, 5),
    Benchmark("titanic", "Titanic", 150, 2051, 100, 3),
    Benchmark("twonorm", "Twonorm", 400, 7000, 100, 20),
    Benchmark("waveform", "Waveform", 400, 4600, 100, 21),
)

# mean, standard error, for each of COLUMNS
_TABLE_2 = {
    "banana": (10.60, 0.052, 10.59, 0.050, 10.41, 0.046, 10.79, 0.072, 10.73, 0.070, 10.46, 0.049),
    "breast_cancer": (26.73, 0.466, 27.08, 0.494, 26.52, 0.489, 29.08, 0.415, 27.81, 0.432, 27.97, 0.493),
    "diabetis": (23.34, 0.166, 23.14, 0.166, 23.28, 0.182, 24.35, 0.194, 23.42, 0.177, 23.86, 0.193),
    "flare_solar": (34.22, 0.169, 34.07, 0.171, 34.20, 0.175, 34.39, 0.194, 33.61, 0.151, 33.58, 0.182),
    "german": (23.55, 0.216, 23.59, 0.216, 23.36, 0.211, 26.10, 0.261, 23.88, 0.217, 23.77, 0.221),
    "heart": (16.64, 0.358, 16.19, 0.348, 16.65, 0.287, 23.65, 0.355, 17.68, 0.623, 19.68, 0.366),
    "image": (3.00, 0.158, 2.90, 0.154, 2.80, 0.123, 1.96, 0.115, 2.00, 0.113, 2.16, 0.068),
    "ringnorm": (1.61, 0.015, 1.61, 0.015, 4.41, 0.064, 2.11, 0.040, 1.98, 0.026, 8.58, 0.096),
    "splice": (10.97, 0.158, 10.91, 0.154, 11.61, 0.181, 5.86, 0.179, 5.14, 0.145, 7.07, 0.765),
    "thyroid": (4.68, 0.232, 4.63, 0.218, 4.36, 0.217, 4.68, 0.199, 4.71, 0.214, 4.24, 0.218),
    "titanic": (22.47, 0.085, 22.59, 0.120, 22.64, 0.134, 22.58, 0.108, 22.86, 0.199, 22.73, 0.134),
    "twonorm": (2.84, 0.021, 2.84, 0.021, 3.06, 0.034, 5.18, 0.072, 4.53, 0.077, 4.02, 0.068),
    "waveform": (9.79, 0.045, 9.78, 0.044, 10.10, 0.047, 13.56, 0.141, 11.48, 0.177, 11.34, 0.195),
}

TABLE_2: dict[tuple[str, str], Published] = {
    (b.name, column): Published(figures[2 * i], figures[2 * i + 1], "se", randomisations=b.partitions)
    for b in TABLE_1
    for figures in (_TABLE_2[b.name],)
    for i, column in enumerate(COLUMNS)
}
"""(name of the set, column) to the printed figure."""

SIGNIFICANCE = 1.64
"""The z-score that section 3 takes for 95 % significance."""

SECTION_3: dict[tuple[str, str], tuple[str, ...]] = {
    ("RBF LSSVM", "RBF LSSVM-BR"): (),
    ("ARD LSSVM", "ARD LSSVM-BR"): (
        *("breast_cancer", "diabetis", "flare_solar", "german", "heart"),
        *("ringnorm", "splice", "twonorm", "waveform"),
    ),
    ("ARD LSSVM-BR", "ARD LSSVM"): (),
    ("ARD LSSVM", "RBF LSSVM"): (
        *("banana", "breast_cancer", "diabetis", "german", "heart", "ringnorm", "twonorm", "waveform"),
    ),
    ("RBF LSSVM", "ARD LSSVM"): ("image", "splice"),
    ("RBF LSSVM-BR", "RBF EP-GPC"): ("banana",),
    ("RBF EP-GPC", "RBF LSSVM-BR"): ("ringnorm", "splice", "twonorm", "waveform"),
    ("ARD LSSVM-BR", "ARD EP-GPC"): ("banana", "twonorm"),
    ("ARD EP-GPC", "ARD LSSVM-BR"): ("diabetis", "heart", "ringnorm", "splice"),
}
"""Sets on which section 3 calls the second column significantly better than the first."""
