"""Threads of BLAS: lowered while a call runs, put back after the last one, whatever runs at the same time."""

from __future__ import annotations

import os
import threading
from types import SimpleNamespace

import joblib
import numpy as np
import pytest
from sklearn.dummy import DummyClassifier

from bayes_lssvm import BayesianLSSVC, BayesianLSSVR
from bayes_lssvm.base import threads
from bayes_lssvm.base.threads import Workers, at_most, few_threads, in_worker, threads_for, workers_for
from bayes_lssvm.multiclass import code_book
from bayes_lssvm.multiclass.members import fit_members


class Library:
    """A BLAS library that remembers its number of threads."""

    def __init__(self, path, num_threads):
        self.filepath, self.num_threads = path, num_threads

    def set_num_threads(self, number):
        self.num_threads = number


@pytest.fixture
def libraries(monkeypatch):
    both = (Library("numpy", 8), Library("scipy", 4))
    monkeypatch.setattr(threads, "_libraries", lambda: both)
    monkeypatch.setattr(threads, "_limit", threads._Limit())
    monkeypatch.delenv(threads.KEEP, raising=False)
    return both


def numbers(libraries):
    return [library.num_threads for library in libraries]


def test_threads_are_lowered_for_the_call_never_raised_and_put_back_also_after_an_error(libraries):
    with at_most(6):
        assert numbers(libraries) == [6, 4]
        with at_most(1):
            assert numbers(libraries) == [1, 1]
        assert numbers(libraries) == [6, 4]
    assert numbers(libraries) == [8, 4]
    with pytest.raises(KeyError), at_most(2):
        raise KeyError
    assert numbers(libraries) == [8, 4]


def test_calls_that_overlap_without_nesting_put_back_what_was_before_the_first(libraries):
    first, second = at_most(1), at_most(2)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)  # limits that save and restore would leave one thread at the end
    assert numbers(libraries) == [2, 2]
    second.__exit__(None, None, None)
    assert numbers(libraries) == [8, 4]


def test_what_somebody_else_sets_meanwhile_is_left_alone(libraries):
    with at_most(1):
        libraries[0].set_num_threads(3)
    assert numbers(libraries) == [3, 4]


def test_an_environment_variable_leaves_threads_as_they_are(libraries, monkeypatch):
    monkeypatch.setenv(threads.KEEP, "1")
    with at_most(1):
        assert numbers(libraries) == [8, 4]


def test_many_threads_of_a_program_at_once_leave_nothing_behind():
    before = threads.blas_threads()

    def work(number):
        for _ in range(50):
            with at_most(1 + number % 3):
                assert threads.blas_threads() <= 1 + number % 3

    workers = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert threads.blas_threads() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning", "ignore:.*fork.*:RuntimeWarning")
def test_a_child_forked_in_the_middle_of_a_call_has_all_threads_and_its_lock():
    before = threads.blas_threads()
    with at_most(1):
        child = os.fork()
        if child == 0:
            whole = threads.blas_threads() == before
            with at_most(1):
                limited = threads.blas_threads() == 1
            os._exit(0 if whole and limited else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert threads.blas_threads() == before


def test_rows_decide_how_many_threads_a_function_has(libraries):
    @few_threads
    def seen(X, *, option=None):
        return numbers(libraries)

    assert seen(np.ones((100, 2))) == [1, 1]
    assert seen(X=np.ones((5500, 2))) == [5, 4]
    assert seen(None) == [1, 1]
    assert seen.__name__ == "seen"


@pytest.mark.parametrize(
    ("cores", "tasks", "rows", "n_jobs", "expected"),
    [
        (2, 45, 1500, 2, Workers(2, 1)),
        (2, 45, 2500, None, Workers(1, 2)),
        (8, 45, 1500, -1, Workers(8, 1)),
        (8, 3, 4000, -1, Workers(3, 2)),
        (64, 45, 1500, -1, Workers(45, 1)),
        (64, 3, 8000, -1, Workers(3, 8)),
        (64, 3, 400, -1, Workers(3, 1)),
        (64, 1, 400, None, Workers(1, 1)),
    ],
)
def test_processes_and_threads_share_the_cores(monkeypatch, cores, tasks, rows, n_jobs, expected):
    monkeypatch.setattr(threads, "_libraries", lambda: (Library("blas", cores),))
    monkeypatch.setattr(threads.joblib, "cpu_count", lambda: cores)
    monkeypatch.setattr(threads.joblib, "effective_n_jobs", lambda n: {None: 1, -1: cores}.get(n, n))
    found = workers_for(tasks, rows, n_jobs)
    assert found == expected
    assert found.processes * found.blas_threads <= cores


def test_nothing_is_spread_a_second_time_within_a_task_of_joblib():
    assert not in_worker()
    with joblib.parallel_config("threading"):
        found = joblib.Parallel(n_jobs=2)(joblib.delayed(_within)() for _ in range(2))
    assert all(inside and workers.processes == 1 for inside, workers in found)


def _within():
    return in_worker(), workers_for(45, 1000, 2)


def test_nothing_is_spread_a_second_time_on_a_dask_worker(monkeypatch):
    def nobody():
        raise ValueError("No worker found")

    monkeypatch.setitem(threads.sys.modules, "distributed", SimpleNamespace(get_worker=nobody))
    assert not in_worker()
    monkeypatch.setitem(threads.sys.modules, "distributed", SimpleNamespace(get_worker=object))
    assert in_worker()
    assert workers_for(45, 1000, 2).processes == 1


def test_models_say_what_did_the_work():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    assert BayesianLSSVR(refine=False).fit(X, X[:, 0]).workers_ == Workers(1, 1)
    assert BayesianLSSVC(refine=False).fit(X, X[:, 0] > 0).workers_ == Workers(1, 1)
    labels = np.digitize(X[:, 0], [-0.5, 0.5])
    assert BayesianLSSVC(refine=False, n_jobs=1).fit(X, labels).workers_ == Workers(1, 1)
    with joblib.parallel_config("threading"):
        assert BayesianLSSVC(refine=False, n_jobs=8).fit(X, labels).workers_ == Workers(3, 1)


class Noting(DummyClassifier):
    """A member that notes how many threads it could use."""

    def fit(self, X, y):
        self.threads_ = threads.blas_threads()
        return super().fit(X, y)


def test_members_keep_to_their_share_of_the_cores_whatever_the_environment_gives_a_process(libraries):
    rows, labels = np.zeros((6, 1)), np.arange(6) % 3
    members, _ = fit_members(Noting(), rows, labels, code_book("ovo", 3), workers=Workers(1, 2))
    assert [member.threads_ for member in members] == [2, 2, 2]
    assert numbers(libraries) == [8, 4]


def test_one_thread_for_each_1000_rows():
    assert [threads_for(rows) for rows in (0, 999, 1999, 2000, 8000)] == [1, 1, 1, 2, 8]
