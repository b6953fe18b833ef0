"""Log loss of the two forms of probabilities of fixed-size models, on sets that no study compares models on.

`python -m benchmarks.class_probabilities [--names TEXT ...] [--splits 2]`: half of the rows to train on, 200 landmarks,
beside a logistic regression on as many Nyström features with our width. Sets of the IDA and KEEL repositories are read
below the folder that BAYES_LSSVM_DATA names; letter, magic, penbased and USPS are left out, since the study of many
rows reports them.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, make_classification, make_moons
from sklearn.model_selection import train_test_split

from bayes_lssvm import FixedSizeLSSVC
from bayes_lssvm.base.typing import AnyArray, Array
from bayes_lssvm.datasets import make_ringnorm, make_waveform
from validation.harness.keel import keel_folder, read_keel
from validation.studies.many_rows.rivals import RIVALS, SMALLEST, Problem

LANDMARKS = 200
FORMS = ("loo", "logistic")
MADE = ((2, 0.7), (2, 1.0), (3, 0.8), (5, 1.0), (8, 1.2))
"""Classes, and how far apart they are."""


def sets() -> Iterator[tuple[str, Array, AnyArray]]:
    """Names, inputs and numbers of the classes."""
    folder = keel_folder()
    if folder is not None:
        for path in sorted(folder.parent.glob("ida_*.npz")):
            with np.load(path) as file:
                yield path.stem, file["X"].astype(float), (file["y"] > 0).astype(int)
        yield from ((_name(path), *read_keel(path)) for path in sorted(folder.glob("*.csv.gz")) if _is_free(path))
    yield ("digits", *load_digits(return_X_y=True))
    for number, (classes, apart) in enumerate(MADE):
        found = make_classification(
            8000,
            15,
            n_informative=8,
            n_redundant=2,
            n_classes=classes,
            n_clusters_per_class=2,
            class_sep=apart,
            flip_y=0.03,
            random_state=50 + number,
        )
        yield (f"made, {classes} classes, {apart}", *found)
    yield ("moons", *make_moons(8000, noise=0.35, random_state=3))
    for name, make, seed in (("waveform", make_waveform, 77), ("ringnorm", make_ringnorm, 78)):
        X, y = make(12_000, seed=seed)
        yield f"{name}, made", X, (y > 0).astype(int)
    rng = np.random.default_rng(9)
    X = np.exp(0.6 * rng.normal(size=(12_000, 8)))
    f = np.log(X[:, 0] * X[:, 1]) - 0.7 * np.log(X[:, 2]) ** 2 + 0.4 + 0.5 * X[:, 3] * rng.logistic(size=12_000)
    yield "skewed inputs, made", X, (f > 0).astype(int)
    X = rng.normal(size=(12_000, 10))
    f = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) - 0.8 + 0.4 * rng.logistic(size=12_000)
    yield "product, made", X, (f > 0).astype(int)


def _name(path: Path) -> str:
    return path.name.removesuffix(".csv.gz")


def _is_free(path: Path) -> bool:
    return not path.name.startswith("large_")


def losses(P: Array, y: AnyArray) -> Array:
    """Of classes that are numbered from 0."""
    P = np.clip(P, SMALLEST, None)
    return np.asarray(np.log(P.sum(axis=1)) - np.log(P[np.arange(len(y)), y]))


def compared(X: Array, y: AnyArray, seed: int) -> tuple[Array, Array]:
    """Losses on the other half of both forms, of shape (2, n), and of the logistic regression."""
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
    centre, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 0.0, scale, 1.0)
    X, X_new = (X - centre) / scale, (X_new - centre) / scale
    models = [
        FixedSizeLSSVC("rbf", n_landmarks=LANDMARKS, moderation=form, standardise=False).fit(X, y) for form in FORMS
    ]
    sigma = float(np.exp(models[0].kernel_.log_params[0]))
    peer = RIVALS["logistic"].predict(Problem(X, y, X_new, min(LANDMARKS, len(X)), sigma, seed))
    ours = np.stack([losses(model.predict_proba(X_new), y_new) for model in models])
    return ours, losses(peer, y_new)


def main(argv: list[str] | None = None) -> int:
    """A line for each set."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.class_probabilities", description=__doc__)
    parser.add_argument("--names", nargs="+", default=[""], metavar="TEXT", help="sets with one of these in their name")
    parser.add_argument("--splits", type=int, default=2)
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    print(f"{'set':32} {'rows':>6} {'classes':>7}  {'loo':>7} {'logistic':>8} {'difference':>19}  {'regression':>10}")
    for name, X, y in sets():
        if np.bincount(y).min() < 8 or not any(part in name for part in options.names):
            continue
        found = [compared(X, y, seed) for seed in range(options.splits)]
        loo, logistic = np.mean([ours.mean(axis=1) for ours, _ in found], axis=0)
        error = np.mean([(ours[1] - ours[0]).std() / np.sqrt(ours.shape[1]) for ours, _ in found])
        peer = np.mean([own.mean() for _, own in found])
        print(
            f"{name:32} {len(y) // 2:6} {y.max() + 1:7}  {loo:7.4f} {logistic:8.4f} "
            f"{logistic - loo:+9.4f} ± {error:.4f}  {peer:10.4f}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
