"""Ripley's set reduced, at a width where J4 has one minimum and at one where it has two."""

from __future__ import annotations

import pytest

from bayes_lssvm.kernels import RBF
from bayes_lssvm.linalg.spectrum import CentredSpectrum


@pytest.fixture(scope="module")
def ripley_wide(ripley_standardised):
    """Ripley with σ = 10, where J4 has two minima."""
    X, y = ripley_standardised
    return CentredSpectrum.from_kernel_matrix(RBF(10.0)(X), y)


@pytest.fixture(scope="module")
def ripley_best(ripley_standardised):
    """Ripley with the σ of section 7.1, where it has one."""
    X, y = ripley_standardised
    return CentredSpectrum.from_kernel_matrix(RBF(1.3111)(X), y)
