"""How much memory there is: what is free, within the limits of control groups, not what the machine has in total."""

from __future__ import annotations

import os
import tracemalloc

import pytest

from bayes_lssvm.base import memory

GIB = 2**30


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with 8 GiB free; `limit(path, most, used, cached)` puts a control group there."""
    (tmp_path / "meminfo").write_text("MemTotal:       67108864 kB\nMemFree: 1 kB\nMemAvailable:    8388608 kB\n")
    (tmp_path / "own").write_text("0::/user/job\n")
    monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(memory, "_OWN_GROUP", tmp_path / "own")
    monkeypatch.setattr(memory, "_GROUPS", tmp_path / "groups")

    def limit(path: str, most: object, used: int, cached: int = 0, files=("memory.max", "memory.current")) -> None:
        group = tmp_path / "groups" / path
        group.mkdir(parents=True, exist_ok=True)
        for name, value in zip(files, (most, used), strict=True):
            (group / name).write_text(f"{value}\n")
        words = "inactive_file" if files[0] == "memory.max" else "total_inactive_file"
        (group / "memory.stat").write_text(f"anon 7\n{words} {cached}\n")

    return limit


def test_what_is_free_counts_and_not_what_there_is(machine):
    assert memory.available_bytes() == 8 * GIB


def test_a_limit_leaves_what_is_not_used_yet(machine):
    machine("user/job", 4 * GIB, 3 * GIB, cached=GIB // 2)
    assert memory.available_bytes() == GIB + GIB // 2


def test_a_limit_of_a_group_around_counts_too(machine):
    machine("user/job", "max", 0)
    machine("user", 3 * GIB, GIB)
    assert memory.available_bytes() == 2 * GIB


def test_a_limit_of_the_first_version_counts(machine, tmp_path):
    (tmp_path / "own").write_text("7:cpu:/x\n5:memory:/job\n")
    machine("memory/job", 2 * GIB, GIB, files=("memory.limit_in_bytes", "memory.usage_in_bytes"))
    assert memory.available_bytes() == GIB


def test_more_used_than_allowed_leaves_nothing(machine):
    machine("user/job", GIB, 2 * GIB)
    assert memory.available_bytes() == 0


def test_a_system_that_does_not_tell_of_free_memory_tells_of_all(machine, tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 5 kB\n")
    assert memory.available_bytes() == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def test_a_piece_is_freed_for_the_c_library_to_learn_from_and_nothing_is_held():
    def traced(n):
        tracemalloc.start()
        memory.keep_freed_matrices(n)
        now, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return now, peak

    now, peak = traced(500)
    assert peak > 2 * 8 * 500**2 > 1000 * now
    assert traced(5000)[1] < 10_000  # beyond what it can learn
