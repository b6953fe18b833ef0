"""Kill −9 at random moments, and what is left: a program of its own, as it forks.

    python -m tests.fuzz.kills study|model|members|workers KILLS SEED

A study whose cells are stored one by one, a model file that is written again and again, members of a classifier that
are kept in a folder, a study with worker processes.
Each prints its figures as JSON: how often it was killed at work, and what should never be found.
"""

from __future__ import annotations

import io
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import redirect_stdout
from functools import partial
from pathlib import Path

import numpy as np

from bayes_lssvm import BayesianLSSVC, BayesianLSSVR, ModelFileError, NoSignalWarning, load, save
from bayes_lssvm.base.arviz import datatree
from bayes_lssvm.cli import main as command_line
from tests.validation.harness.logged import Logged, computed, lines
from validation.harness import CellResult, run, stored

PATIENCE = 10.0  # seconds after which a process whose parent was killed is an orphan
LEFT_BEHIND = (".part", ".lock")


def started(action: Callable[[], object]) -> int:
    """Do something in a process of its own, quietly; returns its number."""
    pid = os.fork()
    if pid == 0:
        try:
            with redirect_stdout(io.StringIO()):
                action()
        finally:
            os._exit(0)
    return pid


def killed(action: Callable[[], object], seconds: float) -> bool:
    """Kill an action after some seconds; returns whether it had not ended by then."""
    pid = started(action)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])


def duration(action: Callable[[], object]) -> float:
    """Seconds that an action takes when it is left alone."""
    began = time.perf_counter()
    os.waitpid(started(action), 0)
    return time.perf_counter() - began


# --- a study ---------------------------------------------------------------------------------------------------------


class Drawing(Logged):
    """Numbers of a cell's seed, every third cell with draws."""

    def compute(self, cell, data):
        super().compute(cell, data)
        rng = np.random.default_rng(ord(cell.key))
        draws = {"posterior": {"x": rng.normal(size=(2, 500))}}
        return CellResult({"x": rng.normal(size=50)}, draws=datatree(draws) if ord(cell.key) % 3 == 0 else None)


def of_study(kills: int, seed: int, root: Path) -> Counter[str]:
    """Finished cells must stay, be whole, and never be computed again; the last run leaves nothing but cells."""
    dice, found = random.Random(seed), Counter(kills=0, runs=0, lost=0, repeated=0, rubbish=0)
    study = Drawing(str(root / "log"))
    options = {"size": "toy", "progress": False}
    undisturbed = run(study, None, folder=root / "undisturbed", **options)
    expected = {f.cell.key: f.values for f in undisturbed.cells}
    takes = duration(partial(run, study, None, folder=root / "timed", **options))
    while found["kills"] < kills:
        study = Drawing(str(root / f"log-{found['runs']}"))
        folder, before = root / f"store-{found['runs']}", {}
        go_on = partial(run, study, None, folder=folder, **options)
        found["runs"] += 1
        while len(before) < len(expected) and found["kills"] < kills:
            counts = computed(study)
            found["kills"] += killed(go_on, dice.random() * takes)
            now = stored(study, size="toy", folder=folder)
            cells = {} if now is None else {f.cell.key: f.values for f in now.cells}
            found["lost"] += sum(cells.get(key) != expected[key] for key in before)
            found["repeated"] += sum((computed(study) - counts)[key] for key in before)
            before = cells
        last = go_on()
        found["lost"] += {f.cell.key: f.values for f in last.cells} != expected
        if _left_in(folder):  # by a child of the killed process, which may outlive it for a moment
            time.sleep(1.0)
            go_on()
        found["rubbish"] += _left_in(folder)
    return found


def _left_in(folder: Path) -> int:
    return sum(path.suffix in LEFT_BEHIND for path in folder.rglob(".*"))


# --- a model file ----------------------------------------------------------------------------------------------------


def of_model(kills: int, seed: int, root: Path) -> Counter[str]:
    """`fit --out` over a file that is there: it is the old model or the new one, never anything else."""
    dice, found = random.Random(seed), Counter(kills=0, broken=0, rubbish=0, new=0)
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(40, 2))
    table, model = root / "table.csv", root / "model.npz"
    y = x[:, 0] + 0.1 * rng.normal(size=40)
    table.write_text("a,b,y\n" + "\n".join(f"{a!r},{b!r},{c!r}" for a, b, c in np.column_stack([x, y]).tolist()))
    words = ["fit", str(table), "--target", "y", "--kernel", "linear", "--out", str(model)]
    fit = partial(command_line, words)
    takes = duration(fit)
    new = load(model).predict(x[:3])
    other = BayesianLSSVR("linear").fit(x, y[::-1])
    old = other.predict(x[:3])
    while found["kills"] < kills:
        save(other, model)
        found["kills"] += killed(fit, dice.random() * takes)
        try:
            now = load(model).predict(x[:3])
        except (ModelFileError, OSError):
            found["broken"] += 1
            continue
        is_new = bool(np.array_equal(now, new))
        found["new"] += is_new
        found["broken"] += not is_new and not np.array_equal(now, old)
    save(other, model)
    found["rubbish"] += sum(path.suffix in LEFT_BEHIND for path in root.rglob(".*"))
    return found


# --- members in a folder ---------------------------------------------------------------------------------------------


def of_members(kills: int, seed: int, root: Path) -> Counter[str]:
    """`BayesianLSSVC(folder=…)`: members that are kept stay as they are, and the whole is what it would have been."""
    dice, found = random.Random(seed), Counter(kills=0, runs=0, lost=0, repeated=0, rubbish=0)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(60, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=60), (-0.8, 0.0, 0.8))

    def fit(folder: Path) -> list[float]:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a damaged member would be a warning
            warnings.simplefilter("ignore", NoSignalWarning)  # about the data, which some seeds give to two classes
            return BayesianLSSVC("poly2", folder=folder).fit(X, y).predict_proba(X[:3]).ravel().tolist()

    def kept(folder: Path) -> dict[str, tuple[int, int]]:
        return {p.name: (p.stat().st_ino, p.stat().st_mtime_ns) for p in folder.glob("*.npz")}

    expected, members = fit(root / "undisturbed"), len(kept(root / "undisturbed"))
    takes = duration(partial(fit, root / "timed"))
    while found["kills"] < kills:
        folder, before = root / f"folder-{found['runs']}", {}
        found["runs"] += 1
        while len(before) < members and found["kills"] < kills:
            found["kills"] += killed(partial(fit, folder), dice.random() * takes)
            now = kept(folder)
            found["lost"] += len(before.keys() - now.keys())
            found["repeated"] += sum(now.get(name, own) != own for name, own in before.items())
            before = now
        found["lost"] += fit(folder) != expected
        found["rubbish"] += _left_in(folder)
    return found


# --- worker processes ------------------------------------------------------------------------------------------------


def of_workers(kills: int, seed: int, root: Path) -> Counter[str]:
    """A study in two worker processes, killed at any moment from its start on: ten seconds later none of it is left."""
    dice, found = random.Random(seed), Counter(kills=0, with_workers=0, orphans=0)
    for k in range(kills):
        study = Logged(str(root / f"log-{k}"), wait_for=str(root / "never"), waiting=tuple("cdef"))
        code = (
            "from tests.validation.harness.logged import Logged\nfrom validation.harness import run\n"
            f"run({study!r}, None, size='toy', folder={str(root / f'store-{k}')!r}, jobs=2, progress=False)\n"
        )
        with open(os.devnull, "w") as nowhere:
            process = subprocess.Popen(
                [sys.executable, "-c", code], stdout=nowhere, stderr=nowhere, start_new_session=True
            )
        if dice.random() < 0.5:  # at work, or on the way there
            while not lines(study) and process.poll() is None:
                time.sleep(0.05)
        time.sleep(dice.random() * 3.0)
        found["with_workers"] += len(of_session(process.pid)) > 1
        process.kill()
        process.wait()
        found["kills"] += 1
        end = time.monotonic() + PATIENCE
        while of_session(process.pid) and time.monotonic() < end:
            time.sleep(0.1)
        found["orphans"] += len(of_session(process.pid))
    return found


def of_session(leader: int) -> list[int]:
    """Living processes of a session."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, session = path.read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue
        if int(session) == leader and state != "Z":
            found.append(int(path.parent.name))
    return found


CAMPAIGNS = {"study": of_study, "model": of_model, "members": of_members, "workers": of_workers}

if __name__ == "__main__":
    what, count, first = sys.argv[1:]
    warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
    with tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(CAMPAIGNS[what](int(count), int(first), Path(scratch))))
