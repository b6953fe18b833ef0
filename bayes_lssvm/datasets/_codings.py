"""How text-coded inputs become numbers.

Two levels become 0/1, ordered levels consecutive numbers in their order. German credit has levels with and
without an order. There every code reads ``A<attribute><level>``, and the number used is ``<level>``:
A11…A14 → 1…4, A30…A34 → 0…4, A410 → 10. Statlog's own numeric file codes the ordered attributes so, and the
IDA benchmark all twenty (but it takes A410 as 410 beside 40…49, far from the other levels). The paper does
not print its coding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

import numpy as np

from ._types import FloatArray

Codes: TypeAlias = Mapping[str, float]

# Keyed by the set's name, then by the column's. The Titanic numbers are those of the IDA benchmark.
CODINGS: Final[Mapping[str, Mapping[str, Codes]]] = MappingProxyType(
    {
        "cra": {"species": {"B": 0.0, "O": 1.0}},
        "tit": {
            "class": {"1st": 1.0, "2nd": 2.0, "3rd": 3.0, "Crew": 4.0},
            "age": {"Adult": 0.0, "Child": 1.0},
            "sex": {"Female": 0.0, "Male": 1.0},
        },
    }
)
BOOLEANS: Final[Codes] = MappingProxyType({"False": 0.0, "True": 1.0})

GERMAN_LEVELS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType(
    {
        "status": {
            "A11": "balance below 0 DM",
            "A12": "0 to 200 DM",
            "A13": "200 DM or more",
            "A14": "no checking account",
        },
        "credit_history": {
            "A30": "no credits taken, or all paid back duly",
            "A31": "all credits at this bank paid back duly",
            "A32": "existing credits paid back duly till now",
            "A33": "delay in the past",
            "A34": "critical account",
        },
        "purpose": {
            "A40": "new car",
            "A41": "used car",
            "A42": "furniture",
            "A43": "radio or television",
            "A44": "domestic appliances",
            "A45": "repairs",
            "A46": "education",
            "A48": "retraining",
            "A49": "business",
            "A410": "others",
        },
        "savings": {
            "A61": "below 100 DM",
            "A62": "100 to 500 DM",
            "A63": "500 to 1000 DM",
            "A64": "1000 DM or more",
            "A65": "unknown or none",
        },
        "employment_since": {
            "A71": "unemployed",
            "A72": "below 1 year",
            "A73": "1 to 4 years",
            "A74": "4 to 7 years",
            "A75": "7 years or more",
        },
        "personal_status_sex": {
            "A91": "male, divorced or separated",
            "A92": "female, divorced, separated or married",
            "A93": "male, single",
            "A94": "male, married or widowed",
        },
        "other_debtors": {"A101": "none", "A102": "co-applicant", "A103": "guarantor"},
        "property": {
            "A121": "real estate",
            "A122": "building society savings or life insurance",
            "A123": "car or other",
            "A124": "unknown or none",
        },
        "other_instalment_plans": {"A141": "bank", "A142": "stores", "A143": "none"},
        "housing": {"A151": "rent", "A152": "own", "A153": "free"},
        "job": {
            "A171": "unemployed, or unskilled non-resident",
            "A172": "unskilled resident",
            "A173": "skilled",
            "A174": "management, self-employed or highly qualified",
        },
        "telephone": {"A191": "none", "A192": "yes"},
        "foreign_worker": {"A202": "no", "A201": "yes"},
    }
)


def german_codes(column: str) -> Codes:
    """Numbers for the levels of one German credit column: 0/1 for two levels, the level's own number else."""
    levels = tuple(GERMAN_LEVELS[column])
    if len(levels) == 2:
        return {levels[0]: 0.0, levels[1]: 1.0}
    # The attribute's number is what all codes of a column share; A410 shows why it is not the first digit.
    prefix = len(min(levels, key=len)) - 1
    return {code: float(code[prefix:]) for code in levels}


def german_text() -> str:
    """The level meanings and their numbers, for the description."""
    columns = []
    for column, levels in GERMAN_LEVELS.items():
        codes = german_codes(column)
        text = "; ".join(f"{codes[code]:g} = {meaning}" for code, meaning in levels.items())
        columns.append(f"{column} ({text})")
    return ", ".join(columns)


def encode(name: str, feature_names: Sequence[str], rows: Sequence[Sequence[str]]) -> FloatArray:
    """Read the cells of a set as numbers, by its documented coding where they are text.

    Parameters
    ----------
    name : str
        The set, which selects the coding.
    feature_names : sequence of d str
        The columns.
    rows : sequence of N sequences of d str
        The cells; an empty cell is missing and becomes NaN.

    Returns
    -------
    ndarray of shape (N, d)
    """
    out = np.empty((len(rows), len(feature_names)))  # [N, d]
    for j, column in enumerate(feature_names):
        if name == "gcr" and column in GERMAN_LEVELS:
            codes = german_codes(column)
        else:
            codes = CODINGS.get(name, {}).get(column, BOOLEANS)
        out[:, j] = [_number(row[j], codes) for row in rows]
    return out


def german_onehot(feature_names: Sequence[str], rows: Sequence[Sequence[str]]) -> tuple[FloatArray, tuple[str, ...]]:
    """German credit with one 0/1 column per level wherever a column has more than two."""
    columns: list[FloatArray] = []
    names: list[str] = []
    for j, name in enumerate(feature_names):
        cells = [row[j] for row in rows]
        levels = GERMAN_LEVELS.get(name, {})
        if len(levels) > 2:
            columns += [np.array([float(cell == code) for cell in cells]) for code in levels]
            names += [f"{name}={code}" for code in levels]
        else:
            codes = german_codes(name) if levels else BOOLEANS
            columns.append(np.array([_number(cell, codes) for cell in cells]))
            names.append(name)
    return np.column_stack(columns), tuple(names)


def _number(cell: str, codes: Codes) -> float:
    if cell in codes:
        return codes[cell]
    return float(cell) if cell else np.nan
