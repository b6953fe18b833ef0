"""The data sets of the papers, under their short names.

>>> from bayes_lssvm import datasets
>>> ripley = datasets.load("rsy")
>>> ripley
Dataset('rsy', 250 × 2, 2 classes, 1000 test rows)
>>> X, y = ripley.Xy
>>> X_test, y_test = ripley.test_Xy

``available()`` prints the list, ``load(name).description`` says where a set comes from, what its columns mean
and how to cite it. Small sets are shipped; iris and wine come from scikit-learn; five problems are generated
from a seed; the rest is read from the folder that the environment variable ``BAYES_LSSVM_DATA`` names.
"""

from __future__ import annotations

from typing import Any

from ._external import load_external
from ._generated import load_generated
from ._generators import make_led, make_ringnorm, make_two_spirals, make_twonorm, make_waveform
from ._registry import ALIASES, Catalogue, Entry, available, check_options, find
from ._shipped import load_shipped, load_sklearn
from ._types import Dataset, Spec

__all__ = [
    "ALIASES",
    "Catalogue",
    "Dataset",
    "Entry",
    "Spec",
    "available",
    "find",
    "load",
    "make_led",
    "make_ringnorm",
    "make_two_spirals",
    "make_twonorm",
    "make_waveform",
]


def load(name: str, **options: Any) -> Dataset:
    """Load a data set by its short name or an alias.

    Parameters
    ----------
    name : str
        One of ``available().names``, or a friendly alias such as "ripley" or "pima".
    **options
        What this set allows: ``coding="onehot"`` for gcr, ``columns=35`` for ssd, ``openml=True`` for the
        sets that are not shipped, ``drop_missing=True`` for dermatology, and the arguments of the generators.

    Returns
    -------
    Dataset
        Fresh arrays at every call.

    Raises
    ------
    ValueError
        If no set has this name; the message lists close matches and all names.
    TypeError
        If the set has no such option.
    FileNotFoundError
        If the set is not shipped and its file is not found; the message says what to do.

    Examples
    --------
    >>> from bayes_lssvm import datasets
    >>> datasets.load("ripley")
    Dataset('rsy', 250 × 2, 2 classes, 1000 test rows)
    """
    spec = find(name)
    check_options(spec, options)
    if spec.origin == "shipped":
        return load_shipped(spec, **options)
    if spec.origin == "scikit-learn":
        return load_sklearn(spec)
    if spec.origin == "generated":
        return load_generated(spec, **options)
    return load_external(spec, **options)
