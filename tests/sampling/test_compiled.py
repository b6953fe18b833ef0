"""Compiled programs on disk: where, for how long, and never against what the program or the user has set."""

from __future__ import annotations

import os
import threading

import jax
import jax.numpy as jnp
import pytest

from bayes_lssvm.sampling import compiled
from bayes_lssvm.sampling.compiled import CACHE, kept_programs

SETTINGS = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")


def settings():
    return [getattr(jax.config, name) for name in SETTINGS]


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv(CACHE, str(tmp_path))
    return tmp_path


def test_a_program_is_kept_in_the_folder_and_settings_are_as_before_after_the_call(folder, monkeypatch):
    monkeypatch.setitem(compiled._SETTINGS, "jax_persistent_cache_min_compile_time_secs", 0.0)
    before = settings()
    with kept_programs():
        assert str(folder) in jax.config.jax_compilation_cache_dir
        jax.jit(lambda x: jnp.sin(x) @ jnp.cos(x) + 20.26)(jnp.arange(7.0)).block_until_ready()
    assert settings() == before
    kept = [path for path in folder.rglob("*") if path.is_file() and path.name.startswith("jit_")]
    assert kept
    jax.jit(lambda x: jnp.sin(x) @ jnp.cos(x) + 20.27)(jnp.arange(7.0)).block_until_ready()
    assert len([path for path in folder.rglob("*") if path.is_file() and path.name.startswith("jit_")]) == len(kept)


def test_calls_that_overlap_put_settings_back_at_the_last_one(folder):
    before, first, second = settings(), kept_programs(), kept_programs()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert settings() != before
    second.__exit__(None, None, None)
    assert settings() == before


def test_settings_are_as_before_after_an_error(folder):
    before = settings()
    with pytest.raises(KeyError), kept_programs():
        raise KeyError
    assert settings() == before
    assert compiled._calls == 0


def test_a_folder_that_the_program_has_named_stays_in_use(folder, tmp_path):
    jax.config.update("jax_compilation_cache_dir", str(tmp_path / "own"))
    try:
        with kept_programs():
            assert jax.config.jax_compilation_cache_dir == str(tmp_path / "own")
        assert jax.config.jax_compilation_cache_dir == str(tmp_path / "own")
    finally:
        jax.config.update("jax_compilation_cache_dir", None)


@pytest.mark.parametrize("word", ["off", "0", " Off ", ""])
def test_the_environment_can_switch_it_off(monkeypatch, word):
    monkeypatch.setenv(CACHE, word)
    before = settings()
    with kept_programs():
        assert settings() == before


def test_where_nothing_can_be_kept_the_call_goes_on(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(CACHE, str(tmp_path / "file"))
    before = settings()
    with kept_programs():
        assert settings() == before


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners of files on this system")
def test_a_folder_that_others_can_write_to_is_not_used(folder):
    with kept_programs():
        used = jax.config.jax_compilation_cache_dir
    os.chmod(used, 0o777)
    with kept_programs():
        assert jax.config.jax_compilation_cache_dir is None


def test_by_default_it_is_in_the_users_cache_and_nobody_elses(monkeypatch, tmp_path):
    monkeypatch.delenv(CACHE, raising=False)
    monkeypatch.setattr(compiled, "_user_cache", lambda: tmp_path)
    found = compiled._folder()
    assert found is not None
    assert found.is_relative_to(tmp_path / "bayes-lssvm")
    assert not found.stat().st_mode & 0o022


def test_many_threads_leave_the_settings_as_they_were(folder):
    before = settings()

    def work():
        for _ in range(10):
            with kept_programs():
                pass

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert settings() == before
