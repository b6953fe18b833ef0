"""Faults of the system and of unusual data, said in sentences."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

from bayes_lssvm.cli import output
from bayes_lssvm.marginal.rules.level2 import GammaRows
from bayes_lssvm.marginal.rules.transport import ExactConditional
from bayes_lssvm.priors import Normal
from reports import __main__ as reports


@pytest.fixture
def line(tmp_path):
    """A table without noise: level 2 interpolates, and the Hessian there is not negative definite."""
    x = np.random.default_rng(0).normal(size=12)
    path = tmp_path / "line.csv"
    path.write_text("x,y\n" + "\n".join(f"{v!r},{2 * v!r}" for v in x.tolist()))
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX")
def test_a_pipe_or_a_device_is_no_table(run, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        code, out, err = run("fit", path, "--target", "y")
        assert (code, out) == (2, "")
        assert f"cannot read {str(path)!r}: it is a pipe or a device" in err


@pytest.mark.skipif(not os.path.exists("/proc/version"), reason="Linux")
def test_a_file_of_the_kernel_is_not_opened(run):
    """Reading some of them waits for ever; all say that they have no bytes."""
    code, out, err = run("fit", "/proc/version", "--target", "y")
    assert (code, out) == (2, "")
    assert "is empty" in err


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX")
def test_a_pipe_or_a_device_is_no_model(run, line, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        code, out, err = run("predict", path, line)
        assert (code, out) == (2, "")
        assert "is not a model file" in err


def test_an_error_bar_that_does_not_exist_is_said_to(run, line):
    code, out, _ = run("fit", line, "--target", "y", "--kernel", "linear")
    assert code == 0
    assert "not defined (Hessian)" in out
    assert "nan" not in out


def test_a_read_only_folder_is_a_sentence(run, line, tmp_path, monkeypatch):
    def refuse(path, *_):
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr(output, "write_bytes", refuse)
    code, _, err = run(
        "select", line, "--target", "y", "--kernel", "linear", "--direction", "forward", "--out", tmp_path / "o.csv"
    )
    assert code == 2
    assert "Read-only file system." in err
    assert "Errno" not in err


def test_a_read_only_folder_of_reports_is_a_sentence(capsys, monkeypatch):
    def refuse(_):
        raise OSError(30, "Read-only file system", "output")

    monkeypatch.setattr(reports, "make_plan", refuse)
    assert reports.main([]) == 1
    assert capsys.readouterr().err == "The report cannot be made: Read-only file system 'output'.\n"


def test_draws_between_very_different_kernels_do_not_overflow():
    """A cubic through log q_1 of kernels that differ by hundreds of nats overshoots; warnings are errors here."""
    u = np.linspace(-5.0, 5.0, 21)
    near, far = (
        ExactConditional(10, GammaRows(u, -0.5 * u**2, np.full(21, q)), Normal(0, 3), Normal(0, 3))
        for q in (0.0, 600.0)
    )
    draws = ExactConditional.blend((near, far), np.tile([-1.0, 2.0], (4, 1)), np.full((4, 2), 0.5))
    assert np.isfinite(draws).all()
