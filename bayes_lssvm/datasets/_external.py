"""Sets that are not shipped: read from the folder that ``BAYES_LSSVM_DATA`` names, or fetched from OpenML.

File formats, by the extension of the file:

- ``ida_<name>.npz``: `X`, `y` (±1), `train` and `test` (partitions × row numbers, possibly empty);
- ``usps.npz``: `X_train`, `y_train`, `X_test`, `y_test`, grey values as int16 thousandths;
- ``*.csv.gz``: a header, then one row a case, the class last, missing cells empty.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from ._codings import encode
from ._shipped import read_table
from ._types import Dataset, FloatArray, Spec, labels

ENVIRONMENT: Final = "BAYES_LSSVM_DATA"


def load_external(spec: Spec, *, openml: bool = False, drop_missing: bool = False) -> Dataset:
    """Read a set that is not shipped.

    Parameters
    ----------
    spec : Spec
        The set.
    openml : bool
        Whether to fetch it from OpenML through scikit-learn instead of reading the user's folder.
    drop_missing : bool
        Whether to leave out rows with missing inputs.

    Returns
    -------
    Dataset
    """
    if openml:
        found = _fetch_openml(spec)
    else:
        path = _locate(spec)
        found = _from_table(spec, path) if path.suffix == ".gz" else _from_npz(spec, path)
    return _complete_cases(found) if drop_missing else found


def _locate(spec: Spec) -> Path:
    folder = os.environ.get(ENVIRONMENT)
    if folder:
        path = Path(folder).expanduser() / spec.file
        if path.is_file():
            return path
        problem = f"the folder that {ENVIRONMENT} names ({folder}) has no such file"
    else:
        problem = f"the environment variable {ENVIRONMENT} is not set"
    advice = f"Set {ENVIRONMENT} to a folder that holds {spec.file}"
    if spec.openml is not None:
        advice += f", or pass openml=True to fetch OpenML's {_openml_name(spec)} when online"
    raise FileNotFoundError(
        f"{spec.name!r} is not shipped with this library, and {problem}. {advice}. Source: {spec.source}."
    )


def _from_table(spec: Spec, path: Path) -> Dataset:
    with path.open("rb") as stream:
        rows = read_table(stream)
    width = len(spec.feature_names) + 1
    if any(len(row) != width for row in rows):
        raise ValueError(f"{path} is not the {spec.name} table: every row must have {width} cells")
    data = encode(spec.name, spec.feature_names, rows)
    _check_shape(spec, data, str(path))
    return spec.dataset(data, labels([row[-1] for row in rows]))


def _from_npz(spec: Spec, path: Path) -> Dataset:
    # Pickled objects could run code: refuse them.
    with np.load(path, allow_pickle=False) as archive:
        arrays = {key: archive[key] for key in archive.files}
    wanted = ("X_train", "y_train", "X_test", "y_test") if spec.test_rows else ("X", "y", "train", "test")
    if missing := [key for key in wanted if key not in arrays]:
        raise ValueError(f"{path} lacks the arrays {', '.join(missing)}: it is not the {spec.name} file")
    if spec.test_rows:
        data = arrays["X_train"] / 1000.0
        _check_shape(spec, data, str(path))
        return spec.dataset(
            data,
            arrays["y_train"].astype(np.int64),
            test_data=arrays["X_test"] / 1000.0,
            test_target=arrays["y_test"].astype(np.int64),
        )
    data = arrays["X"].astype(np.float64)
    _check_shape(spec, data, str(path))
    splits = tuple(
        (train.astype(np.intp), test.astype(np.intp))
        for train, test in zip(arrays["train"], arrays["test"], strict=True)
    )
    return spec.dataset(data, arrays["y"].astype(np.int64), splits=splits)


def _fetch_openml(spec: Spec) -> Dataset:
    if spec.openml is None:
        raise ValueError(
            f"no OpenML copy of {spec.name!r} is known: "
            f"set {ENVIRONMENT} to a folder that holds {spec.file} and leave openml out"
        )
    import sklearn.datasets

    key: dict[str, Any] = {"data_id": spec.openml}
    if isinstance(spec.openml, str):
        key = {"name": spec.openml, "version": 1}
    # The liac-arff parser needs no pandas, which this library does not depend on.
    bunch = sklearn.datasets.fetch_openml(**key, as_frame=False, parser="liac-arff")
    data = np.array(bunch.data, dtype=np.float64)
    _check_shape(spec, data, f"OpenML's {_openml_name(spec)}")
    target = labels([str(label) for label in bunch.target])
    classes = tuple(np.unique(target).tolist())
    # OpenML may label the classes otherwise than the benchmark does: then its labels are all that is known.
    names = spec.target_names if classes == spec.classes else tuple(map(str, classes))
    return spec.dataset(
        data,
        target,
        feature_names=tuple(map(str, bunch.feature_names)),
        classes=classes,
        target_names=names,
        source=f"OpenML, {_openml_name(spec)}; originally {spec.source}",
        description=f"{spec.description}\nThis copy: OpenML, {_openml_name(spec)}",
    )


def _openml_name(spec: Spec) -> str:
    return f"data set {spec.openml}" if isinstance(spec.openml, int) else f"data set named {spec.openml!r}"


def _check_shape(spec: Spec, data: FloatArray, where: str) -> None:
    if data.shape != spec.shape:
        raise ValueError(f"{where} holds {data.shape} inputs where {spec.name!r} has {spec.shape}: a different set?")


def _complete_cases(found: Dataset) -> Dataset:
    keep = ~np.isnan(found.data).any(axis=1)
    assert found.target is not None
    return replace(found, data=found.data[keep], target=found.target[keep])
