"""Data and reference draws of posteriordb, read from the folder `posteriordb` below the one `BAYES_LSSVM_DATA` names.

    posteriordb/data/<data>.json.zip       what a Stan program's data block takes
    posteriordb/draws/<name>.json.zip      ten chains of 1000 draws, thinned until they are all but independent
    posteriordb/stan/<model>.stan          the specification

(Magnusson et al. 2025, posteriordb: testing, benchmarking and developing Bayesian inference algorithms.) A parameter
"theta[2]" of the draws is an element of the array "theta", counted from one as Stan does.
"""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from bayes_lssvm.base.typing import Array

ENVIRONMENT = "BAYES_LSSVM_DATA"
FOLDER = "posteriordb"

Data = dict[str, Any]
Draws = dict[str, Array]


def reference_folder() -> Path | None:
    """Where the files of posteriordb are, if anywhere."""
    root = os.environ.get(ENVIRONMENT)
    folder = Path(root).expanduser() / FOLDER if root else None
    return folder if folder is not None and folder.is_dir() else None


def read_data(name: str) -> Data:
    """The data of a posterior "<data>-<model>": arrays for lists, numbers as they are."""
    content = _read("data", name.partition("-")[0])
    return {key: np.asarray(value, dtype=float) if isinstance(value, list) else value for key, value in content.items()}


def read_draws(name: str) -> Draws:
    """Reference draws {parameter: array of shape (chains, draws, …)}."""
    chains = _read("draws", name)
    scalars = {key: np.array([chain[key] for chain in chains], dtype=float) for key in chains[0]}
    found: dict[str, list[Array]] = {}
    for key, values in scalars.items():  # elements stand in order, and no reference has a matrix
        found.setdefault(key.partition("[")[0], []).append(values)
    vectors = {key.partition("[")[0] for key in scalars if "[" in key}
    return {key: np.stack(parts, axis=-1) if key in vectors else parts[0] for key, parts in found.items()}


def file_hash(name: str) -> str:
    """SHA-256 over the files of data and draws of a posterior."""
    paths = (_path("data", name.partition("-")[0]), _path("draws", name))
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def _read(kind: str, name: str) -> Any:
    with zipfile.ZipFile(_path(kind, name)) as archive:
        return json.loads(archive.read(f"{name}.json"))


def _path(kind: str, name: str) -> Path:
    folder = reference_folder()
    if folder is None:
        raise FileNotFoundError(
            f"The reference posterior {name!r} needs the files of posteriordb: set {ENVIRONMENT} to a folder that "
            f"holds {FOLDER}/data and {FOLDER}/draws."
        )
    path = folder / kind / f"{name}.json.zip"
    if not path.is_file():
        raise FileNotFoundError(f"The folder {folder} has no file {kind}/{name}.json.zip.")
    return path
