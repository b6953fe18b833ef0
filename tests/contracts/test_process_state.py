"""No call of the library changes what is the whole process's: filters of warnings, environment, seeds, threads."""

from __future__ import annotations

import ast
import os
import random
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from bayes_lssvm import BayesianLSSVC, BayesianLSSVR, FullyBayesianLSSVR, NoSignalWarning, marginalise, trust
from bayes_lssvm.base import turns
from bayes_lssvm.base.errors import heard, warn

PACKAGE = Path(__file__).parents[2] / "bayes_lssvm"
RNG = np.random.default_rng(1)
X = RNG.normal(size=(16, 2))
Z = X[:, 0] + 0.3 * RNG.normal(size=16)
CALLS = {
    "trust": lambda: trust(X, Z > 0, kernel="linear", progress=False),
    "fit": lambda: BayesianLSSVC("linear").fit(X, Z > 0).predict_proba(X),
    "three classes": lambda: BayesianLSSVC("linear").fit(X, np.digitize(Z, (-0.5, 0.5))).predict(X),
    "a number": lambda: BayesianLSSVR("linear").fit(X, Z).predict(X),
    "marginalise": lambda: marginalise(X, Z, kernel="linear", progress=False, standardise=False).predict(X),
    "fully Bayesian": lambda: FullyBayesianLSSVR("linear", method="importance").fit(X, Z).predict(X),
}


def state_of_the_process():
    """All of it that a careless library changes."""
    return {
        "warnings": list(warnings.filters),
        "showwarning": warnings.showwarning,
        "environment": dict(os.environ),
        "numpy errors": np.geterr(),
        "numpy seed": np.random.get_state()[1].tolist(),  # noqa: NPY002
        "python seed": random.getstate(),
        "recursion": sys.getrecursionlimit(),
        "threads": sorted((p["filepath"], p["num_threads"]) for p in threadpool_info() if p["user_api"] == "blas"),
    }


@pytest.mark.filterwarnings("ignore::bayes_lssvm.BayesLSSVMWarning")
def test_a_pool_of_threads_leaves_the_process_as_it_was():
    for call in CALLS.values():
        call()  # imports what it needs
    before, interval = state_of_the_process(), sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(call) for _ in range(3) for call in CALLS.values()]:
                done.result()
    finally:
        sys.setswitchinterval(interval)
    after = state_of_the_process()
    for name, value in before.items():
        assert after[name] == value, name
    noise = np.random.default_rng(0).normal(size=(2, 40))
    with pytest.warns(NoSignalWarning):  # who warned before, warns still
        BayesianLSSVR("linear").fit(noise[0][:, None], noise[1])


@pytest.mark.filterwarnings("ignore::bayes_lssvm.BayesLSSVMWarning")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_filters_of_warnings_are_changed_by_one_thread_at_a_time(call, monkeypatch):
    """What other packages change and put back, they do in turn; this library changes nothing."""
    entered, enter = [], warnings.catch_warnings.__enter__

    def watched(self):
        entered.append((sys._getframe(1).f_code.co_filename, turns._TURN.lock._is_owned()))
        return enter(self)

    monkeypatch.setattr(warnings.catch_warnings, "__enter__", watched)
    call()
    assert entered, "scikit-learn looks at the inputs"
    assert not [name for name, in_turn in entered if not in_turn]


def test_what_is_heard_in_one_thread_is_said_in_another():
    with heard() as said, ThreadPoolExecutor(1) as pool:
        warn("here", UserWarning)
        with pytest.warns(UserWarning, match="there"):
            pool.submit(warn, "there", UserWarning).result()
    assert [message for message, _ in said] == ["here"]


OF_THE_PROCESS = {"catch_warnings", "simplefilter", "filterwarnings", "seterr", "seterrcall", "setrecursionlimit"}
OF_THE_PROCESS |= {"set_num_threads", "putenv", "setlocale", "chdir", "umask", "threadpool_limits", "field_size_limit"}


def changes(source: str) -> list[str]:
    """Calls in a source text that change something of the whole process."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name.split(".")[-1] in OF_THE_PROCESS or name in ("np.random.seed", "random.seed", "jax.config.update"):
                found.append(name)
        if isinstance(node, ast.Assign | ast.Delete):
            found += [ast.unparse(t) for t in node.targets if "os.environ" in ast.unparse(t)]
    return found


def test_the_reader_finds_each_kind():
    source = "with warnings.catch_warnings(): np.seterr(all='raise')\nos.environ['A'] = '1'\nnp.random.seed(1)"
    assert len(changes(source)) == 4
    assert not changes("with np.errstate(all='ignore'): os.environ.get('A')")


ALLOWED = {
    "cli/spoken.py": {"warnings.catch_warnings", "warnings.simplefilter"},  # the program runs one command
    # what has no other way than the whole process: for the time of a call, counted, and put back after the last one
    "base/threads.py": {"library.set_num_threads"},  # tests/base/test_threads.py
    "sampling/compiled.py": {"jax.config.update"},  # tests/sampling/test_compiled.py
}


def test_no_source_of_the_library_changes_the_process():
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        found = set(changes(path.read_text("utf-8")))
        assert found <= ALLOWED.get(name, set()), (path, found)
