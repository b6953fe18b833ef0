"""Does integrating the hyperparameters out improve class probabilities? Plug-in against fully Bayesian classifiers.

Each randomisation splits a data set 2/3 to 1/3 within classes (Ripley's data have their own test set); both
classifiers see the same rows. Scores of the test part are the binary ones of `validation.harness.scores`.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split
from tqdm.auto import tqdm

from bayes_lssvm import BayesianLSSVC, BayesLSSVMWarning, FullyBayesianLSSVC, datasets
from bayes_lssvm.base.typing import AnyArray, Array
from validation.harness.scores import BinaryScores, binary_scores, paired_gain

SETS = ("ripley", "hea", "pid")


class Comparison(NamedTuple):
    """Mean scores of one classifier on one data set, with the standard error of the log score's paired difference."""

    data: str
    method: str
    n_splits: int
    scores: BinaryScores
    log_score_gain: float
    gain_error: float


def splits(name: str, n_splits: int, seed: int) -> list[tuple[Array, AnyArray, Array, AnyArray]]:
    """Training inputs and labels, test inputs and labels, labels 0 and 1."""
    data = datasets.load(name)
    X, labels = data.Xy
    second = np.unique(labels)[1]
    y = (labels == second).astype(int)
    if data.test_data is not None:
        X_test, test = data.test_Xy
        return [(X, y, X_test, (test == second).astype(int))]
    found = []
    for k in range(n_splits):
        rows, held_out = train_test_split(np.arange(len(y)), test_size=1 / 3, stratify=y, random_state=seed + k)
        found.append((X[rows], y[rows], X[held_out], y[held_out]))
    return found


def compare(names: Sequence[str] = SETS, *, n_splits: int = 10, seed: int = 0) -> list[Comparison]:
    """Both classifiers on each data set."""
    makers: dict[str, Any] = {"plug-in": BayesianLSSVC, "fully Bayesian": FullyBayesianLSSVC}
    result = []
    for name in names:
        found: dict[str, list[BinaryScores]] = {method: [] for method in makers}
        for X, y, X_test, y_test in tqdm(splits(name, n_splits, seed), desc=name, disable=None, leave=False):
            for method, maker in makers.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", BayesLSSVMWarning)
                    model = maker().fit(X, y)
                found[method].append(binary_scores(model.predict_proba(X_test)[:, 1], y_test))
        gain = paired_gain(*([s.log_score for s in found[method]] for method in ("fully Bayesian", "plug-in")))
        for method, scores in found.items():
            mean = BinaryScores(*np.mean(scores, axis=0).tolist())
            own = gain.mean if method == "fully Bayesian" else 0.0
            result.append(Comparison(name, method, len(scores), mean, own, gain.error))
    return result


def table(rows: Sequence[Comparison]) -> str:
    """The comparison as a Markdown table."""
    lines = ["| data | classifier | splits | accuracy | log score | Brier | ECE | gain in log score |"]
    lines.append("| --- " * 8 + "|")
    for row in rows:
        s = row.scores
        gain = "" if row.method == "plug-in" else f"{row.log_score_gain:+.4f} ± {row.gain_error:.4f}"
        lines.append(
            f"| {row.data} | {row.method} | {row.n_splits} | {s.accuracy:.3f} | {s.log_score:.4f} | {s.brier:.4f} | "
            f"{s.calibration_error:.4f} | {gain} |"
        )
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> None:
    """`python -m validation.studies.predictive_scores`: print the table."""
    parser = argparse.ArgumentParser(prog="python -m validation.studies.predictive_scores", description=main.__doc__)
    parser.add_argument("names", nargs="*", default=list(SETS), help="data sets")
    parser.add_argument("--splits", type=int, default=10, help="randomisations (default 10)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(argv)
    print(table(compare(options.names, n_splits=options.splits, seed=options.seed)))


if __name__ == "__main__":
    main()
