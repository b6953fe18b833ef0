"""Where a result comes from: data, versions, settings."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from .._version import __version__
from .typing import AnyArray


def data_hash(*arrays: AnyArray) -> str:
    """SHA-256 over shapes, types and values of the arrays."""
    digest = hashlib.sha256()
    for array in arrays:
        block = np.ascontiguousarray(array)
        if block.dtype.hasobject:
            block = block.astype(str)
        digest.update(f"{block.shape}{block.dtype.str}".encode())
        digest.update(block.tobytes())
    return digest.hexdigest()


def provenance(*, settings: dict[str, Any], data: tuple[AnyArray, ...]) -> dict[str, Any]:
    """A record of data, versions and settings that travels with a result."""
    return {
        "data_sha256": data_hash(*data),
        "shapes": [list(np.shape(a)) for a in data],
        "settings": {
            name: value if isinstance(value, str | int | float | bool) else repr(value)
            for name, value in settings.items()
        },
        "versions": {
            "bayes_lssvm": __version__,
            "python": platform.python_version(),
            **{name: _version(name) for name in ("numpy", "scipy", "scikit-learn")},
        },
    }


@cache
def _version(package: str) -> str:
    """From its metadata: a study's processes have no need of scikit-learn itself, which takes seconds to import."""
    return version(package)
