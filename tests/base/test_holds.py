"""Files that living processes hold: what kill −9 leaves is told from what is being written, and work is shared."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bayes_lssvm.base import files
from bayes_lssvm.base.files import write_atomically, write_bytes
from bayes_lssvm.base.holds import Claims, hold, remove_abandoned

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX locks")
ROOT = Path(__file__).parents[2]

STUCK = """
import sys, time
from pathlib import Path
from bayes_lssvm.base.files import write_atomically
from bayes_lssvm.base.holds import Claims
folder = Path(sys.argv[1])

def write(stream):
    stream.write(b"half")
    stream.flush()
    print("ready", flush=True)
    time.sleep(1e6)

with Claims(folder, ["cell"]) as claims:
    assert list(claims) == ["cell"]
    write_atomically(folder / "cell.json", write)
"""


@pytest.fixture
def stuck(tmp_path):
    """A process that has claimed a cell and is in the middle of writing it."""
    with subprocess.Popen([sys.executable, "-c", STUCK, tmp_path], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        yield process
        process.kill()


def endings(folder: Path) -> list[str]:
    return sorted(path.suffix for path in folder.iterdir())


def test_what_a_killed_process_leaves_is_removed_and_what_a_living_one_holds_is_not(stuck, tmp_path):
    remove_abandoned(tmp_path)
    write_bytes(tmp_path / "cell.json", b"other")
    assert endings(tmp_path) == [".json", ".lock", ".part"]
    assert not list(Claims(tmp_path, ["cell"]))
    os.kill(stuck.pid, signal.SIGKILL)
    stuck.wait()
    assert endings(tmp_path) == [".json", ".lock", ".part"]
    with Claims(tmp_path, ["cell"]) as claims:
        assert list(claims) == ["cell"]
        write_bytes(tmp_path / "cell.json", b"whole")
        assert endings(tmp_path) == [".json", ".lock"]
    assert endings(tmp_path) == [".json"]
    assert (tmp_path / "cell.json").read_bytes() == b"whole"


def test_a_folder_is_cleaned_of_all_that_was_abandoned(stuck, tmp_path):
    other = tmp_path / ".mine.part.txt"
    other.touch()
    stuck.kill()
    stuck.wait()
    remove_abandoned(tmp_path)
    assert list(tmp_path.iterdir()) == [other]


def test_each_item_is_claimed_once(tmp_path):
    names = [f"item-{i}" for i in range(5)]
    with Claims(tmp_path, names) as one, Claims(tmp_path, names) as two:
        ours, theirs = iter(one), iter(two)
        taken = [next(ours), next(theirs), next(theirs), next(ours)]
        assert taken == names[:4]
        one.done(names[0])
        assert next(theirs) == names[4]
        assert list(one) == []
        assert one.left == names[1:]
        assert list(two) == [names[0]]  # its file is looked for by whoever claims it next
    assert not list(tmp_path.iterdir())


def test_a_file_that_was_removed_while_it_was_waited_for_is_not_held(tmp_path, monkeypatch):
    """Who opens a file just before its holder removes it must not believe to hold the file of that name."""
    path, first, opened = tmp_path / ".x.lock", hold(tmp_path / ".x.lock"), []
    real = os.open

    def late(*arguments):
        descriptor = real(*arguments)
        if not opened:
            opened.append(descriptor)
            path.unlink()
            first.close()
        return descriptor

    monkeypatch.setattr(os, "open", late)
    with hold(path) as second:
        assert os.path.samestat(os.fstat(second.fileno()), path.stat())
        assert hold(path) is None


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    calls = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(descriptor):
        content = os.fstat(descriptor).st_size if os.path.isfile(f"/dev/fd/{descriptor}") else "folder"
        calls.append(("fsync", content))
        fsync(descriptor)

    def noted_replace(part, path):
        calls.append("replace")
        replace(part, path)

    monkeypatch.setattr(files.os, "fsync", noted_fsync)
    monkeypatch.setattr(files.os, "replace", noted_replace)
    write_bytes(tmp_path / "x", b"12345")
    assert calls == [("fsync", 5), "replace", ("fsync", "folder")]


def test_a_write_that_fails_leaves_everything_as_it_was(tmp_path):
    write_bytes(tmp_path / "x", b"old")

    def fail(stream):
        stream.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write_atomically(tmp_path / "x", fail)
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_bytes() == b"old"
