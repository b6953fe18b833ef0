"""Data and models that many tests share."""

from __future__ import annotations

import os

import numpy as np
import pytest

from bayes_lssvm import datasets

os.environ["BAYES_LSSVM_CACHE"] = "off"  # tests compile for themselves, and leave nothing in a user's cache


@pytest.fixture(scope="session")
def ripley():
    """Ripley's data with labels ±1: X, y, X_test, y_test."""
    data = datasets.load("ripley")
    signs = [np.where(np.asarray(t) == 1, 1.0, -1.0) for t in (data.target, data.test_target)]
    return data.data, signs[0], data.test_data, signs[1]


@pytest.fixture(scope="session")
def ripley_standardised(ripley):
    """Ripley's training inputs with zero mean and unit N − 1 variance, and labels ±1."""
    X, y, _, _ = ripley
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), y
