"""Runs that share a folder, runs that are killed, and clusters that are lost: real processes throughout."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from validation.harness import run

from .logged import Logged, computed, lines, wait_until

ROOT = Path(__file__).parents[3]


@contextmanager
def running(study: Logged, folder: Path, jobs: int = 1):
    """Another process that runs a study; killed at the end if it is still there."""
    code = (
        "from tests.validation.harness.logged import Logged\nfrom validation.harness import run\n"
        f"found = run({study!r}, None, size='toy', folder={str(folder)!r}, jobs={jobs}, progress=False)\n"
        "print(' '.join(f.values['key'] for f in found.cells))\n"
    )
    # a file and no pipe: workers that outlive their parent would hold a pipe open
    with (folder.parent / f"out-{os.urandom(2).hex()}").open("w+") as out:
        process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=out, stderr=subprocess.STDOUT)
        process.said = lambda: (process.wait(), out.seek(0), out.read().strip())[2]
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGKILL)
            process.wait()


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_two_processes_share_the_cells_of_a_folder(jobs, tmp_path):
    study = Logged(str(tmp_path / "log"), meeting=2 * jobs)
    with running(study, tmp_path / "store", jobs) as one, running(study, tmp_path / "store", jobs) as two:
        assert one.said() == two.said() == "a b c d e f"
    assert computed(study) == dict.fromkeys(study.keys, 1)
    assert {path.suffix for path in (tmp_path / "store").rglob("*.*")} == {".json"}


def test_what_a_killed_process_had_claimed_is_computed_by_the_other(tmp_path):
    gate = tmp_path / "gate"
    study = Logged(str(tmp_path / "log"), keys=tuple("ab"), wait_for=str(gate), waiting=("a",))
    with running(study, tmp_path / "store") as one:
        wait_until(lambda: lines(study))
        with running(study, tmp_path / "store") as two:
            wait_until(lambda: list((tmp_path / "store").rglob("b.json")))
            os.kill(one.pid, signal.SIGKILL)
            wait_until(lambda: computed(study)["a"] == 2)
            gate.touch()
            assert two.said() == "a b"
    assert computed(study) == {"a": 2, "b": 1}
    assert {path.name for path in (tmp_path / "store").rglob("*.*")} == {"a.json", "b.json"}


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_what_a_run_left_that_was_killed_after_its_last_cell_is_removed(tmp_path):
    study = Logged(str(tmp_path / "log"))
    whole = run(study, None, size="toy", folder=tmp_path, progress=False)
    (folder,) = {path.parent for path in tmp_path.rglob("*.json")}
    left = [folder / ".f.lock", folder / ".f.json.0123abcd.part"]
    for path in left:
        path.touch()
    assert run(study, None, size="toy", folder=tmp_path, progress=False).cells == whole.cells
    assert not any(path.exists() for path in left)


def test_workers_end_with_the_process_that_started_them(tmp_path):
    """Both workers are in the middle of a cell that would never end when their parent is killed."""
    study = Logged(str(tmp_path / "log"), wait_for=str(tmp_path / "never"), waiting=tuple("abcdef"))
    with running(study, tmp_path / "store", jobs=2) as process:
        wait_until(lambda: len(lines(study)) == 2)
    workers = [int(pid) for _, pid in lines(study)]
    assert process.pid not in workers
    wait_until(lambda: not any(map(is_alive, workers)), seconds=60)


MEMBERS = """
import os, sys
from pathlib import Path
import numpy as np
from bayes_lssvm.datasets import load
from bayes_lssvm.estimators.binary import BinaryLSSVC
from bayes_lssvm.multiclass.codings import code_book
from bayes_lssvm.multiclass.members import Keeper, fit_members
from tests.validation.harness.logged import wait_until

log = Path(sys.argv[1])

class Noted(BinaryLSSVC):
    def fit(self, X, y):
        with log.open("a") as stream:
            stream.write(f"{os.getpid()}\\n")
        wait_until(lambda: len(set(log.read_text().split())) == 2)
        return super().fit(X, y)

X, y = load("iris").Xy
labels = np.unique(y, return_inverse=True)[1]
kept = {"folder": log.with_name("members"), "keeper": Keeper(lambda member: member._state(), Noted._from_state)}
members, _ = fit_members(Noted("linear"), X, labels, code_book("ovo", 3), **kept)
print([member.log_evidence_ for member in members])
"""


def test_two_processes_share_the_members_of_a_folder(tmp_path):
    """Three members, each fitted once, by processes that wait for each other at their first."""
    words = [sys.executable, "-c", MEMBERS, str(tmp_path / "log")]
    two = [subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE) for _ in range(2)]
    one, other = (process.communicate()[0] for process in two)
    assert one == other
    assert len((tmp_path / "log").read_text().split()) == 3
    assert [path.suffix for path in (tmp_path / "members").iterdir()] == [".npz"] * 3


# --- a cluster that is lost ------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def cluster(port: int, log: Path):
    """A scheduler and one worker, each a process of its own; the scheduler is given."""
    words = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--port", str(port), "--no-dashboard"]
    worker = ["dask_worker", f"tcp://127.0.0.1:{port}", "--nthreads", "1", "--no-nanny", "--no-dashboard"]
    with log.open("a") as out:
        processes = [
            subprocess.Popen(command, cwd=ROOT, stdout=out, stderr=out)
            for command in (words, [*words[:2], f"distributed.cli.{worker[0]}", *worker[1:]])
        ]
    try:
        yield processes[0]
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.slow  # waits for half a minute, as it shall
def test_a_lost_scheduler_is_waited_for_then_a_sentence_and_the_next_run_goes_on(tmp_path, monkeypatch, capfd):
    pytest.importorskip("distributed", reason="the extra dask is not installed")
    port, gate, log = free_port(), tmp_path / "gate", tmp_path / "cluster.log"
    study = Logged(str(tmp_path / "log"), keys=tuple("abcd"), wait_for=str(gate), waiting=("b", "d"))
    options = {"size": "toy", "folder": tmp_path / "store", "progress": False}
    outcome: list[BaseException | object] = []

    def go() -> None:
        try:
            outcome.append(run(study, None, scheduler=f"tcp://127.0.0.1:{port}", **options))
        except BaseException as error:
            outcome.append(error)

    caller = threading.Thread(target=go)
    with cluster(port, log) as first:
        caller.start()
        wait_until(lambda: "b" in computed(study) or outcome)
        first.kill()
    with cluster(port, log) as second:  # the same run goes on when it is back
        wait_until(lambda: computed(study)["b"] == 2 or outcome)
        gate.touch()
        wait_until(lambda: list((tmp_path / "store").rglob("b.json")) or outcome)
        gate.unlink()
        wait_until(lambda: "d" in computed(study) or outcome)
        monkeypatch.setattr("validation.harness.schedule._WAIT", 1.0)
        second.kill()
        caller.join()
    (error,) = outcome
    assert isinstance(error, ConnectionError)
    said = str(error)
    assert said.startswith(f"The connection to the Dask scheduler at 'tcp://127.0.0.1:{port}' was lost, and none answ")
    assert f"3 finished cells are kept in {tmp_path / 'store'}" in said
    assert said.endswith("the same call goes on from there, with a scheduler or without.")
    assert "\n" not in said
    assert "Traceback" not in capfd.readouterr().err
    gate.touch()
    assert [f.values["key"] for f in run(study, None, **options).cells] == list("abcd")
    assert computed(study) == {"a": 1, "b": 2, "c": 1, "d": 2}
