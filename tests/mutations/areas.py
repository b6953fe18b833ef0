"""What is put to the test: modules by area, the fast tests that are to notice, and faults that change nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent


class Area(NamedTuple):
    """Modules of one concept and the files of tests that are about them."""

    sources: tuple[str, ...]
    tests: tuple[str, ...]


def _in(folder: str, *names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}.py" for name in names)


AREAS = {
    "levels": Area(
        _in("bayes_lssvm/levels", "level1", "level2", "level2_posterior", "level3", "fixed_point")
        + _in("bayes_lssvm/levels", "objective", "solvers", "gaussian_process", "fisher"),
        _in("tests/levels", "test_fisher", "test_fixed_point", "test_gaussian_process", "test_level2", "test_level3")
        + _in("tests/levels", "test_level2_posterior", "test_objective", "test_recomputed", "test_solvers")
        + _in("tests/levels", "test_moderation", "test_weighted", "test_ends_of_searches", "test_digits", "test_level1")
        + _in("tests/contracts", "test_equations", "test_errata", "test_explicit_feature_space", "test_high_precision")
        + _in("tests/press", "test_leave_one_out"),
    ),
    "moderation": Area(
        _in("bayes_lssvm/levels", "moderation", "logistic_map"),
        _in("tests/levels", "test_moderation", "test_ends_of_searches")
        + _in("tests/levels", "test_logistic_map")
        + _in("tests/estimators", "test_calibrated")
        + _in("tests/contracts", "test_equations"),
    ),
    "marginal": Area(
        _in("bayes_lssvm/marginal", "density", "left_out", "log_mu", "predictions")
        + _in("bayes_lssvm/marginal/rules", "kernel", "lattice", "level2", "stretch", "transport", "trapezoid"),
        _in("tests/marginal", "test_recomputed", "test_guards", "test_few_steps", "test_small_n", "test_marginalise")
        + _in("tests/marginal", "test_weights", "test_repeats", "test_errors_recomputed")
        + _in("tests/validation/studies", "test_psis_loo")
        + _in("tests/levels", "test_digits"),
    ),
    "leave-one-out": Area(
        _in("bayes_lssvm/press", "leave_one_out", "curvature", "derivative"),
        _in("tests/press", "test_leave_one_out", "test_press", "test_edges")
        + _in("tests/levels", "test_weighted", "test_digits"),
    ),
    "multiclass": Area(
        _in("bayes_lssvm/multiclass", "codings", "decodings", "objective", "posterior"),
        _in("tests/multiclass", "test_multiclass", "test_recomputed", "test_repeats"),
    ),
    "bridge": Area(
        _in("bayes_lssvm/sampling", "bridge"), _in("tests/sampling", "test_bridge", "test_bridge_recomputed")
    ),
}


def equivalents() -> dict[str, str]:
    """Faults that change no result, by their keys or, all of a line, by the line; each with the reason."""
    return json.loads((HERE / "equivalent.json").read_text("utf-8"))
