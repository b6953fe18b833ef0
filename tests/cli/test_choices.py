"""The choices of the options: those of the library, and read without it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bayes_lssvm.cli import choices
from bayes_lssvm.estimators.choice import CRITERIA
from bayes_lssvm.estimators.comparing import KERNEL_PARAMETERS
from bayes_lssvm.estimators.noise import NOISES
from bayes_lssvm.estimators.selector import DIRECTIONS
from bayes_lssvm.kernels import KERNEL_NAMES
from bayes_lssvm.levels.moderation import MODERATIONS
from bayes_lssvm.marginal.marginalise import METHODS
from bayes_lssvm.multiclass import CODINGS, DECODINGS
from bayes_lssvm.selection.input_sets import KERNELS

ROOT = Path(__file__).parents[2]


def test_the_choices_are_those_of_the_library():
    assert choices.KERNEL_NAMES == KERNEL_NAMES
    assert choices.CRITERIA == CRITERIA
    assert choices.CODINGS == CODINGS
    assert choices.KERNEL_PARAMETERS == KERNEL_PARAMETERS
    assert choices.DECODINGS == DECODINGS
    assert choices.MODERATIONS == MODERATIONS
    assert choices.DIRECTIONS == DIRECTIONS
    assert choices.NOISES == NOISES
    assert choices.SELECTION_KERNELS == KERNELS
    assert tuple(METHODS) == choices.METHODS


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["--help"], 0), (["fit", "--help"], 0), (["--version"], 0), (["fit"], 2), (["trust", "a.csv", "--seed", "x"], 2)],
)
def test_help_and_mistakes_in_the_arguments_load_nothing_slow(arguments, code):
    program = f"""
import sys
from bayes_lssvm.cli import main
code = main({arguments!r})
slow = {{"numpy", "scipy", "sklearn"}} & set(sys.modules)
sys.exit(99 if slow else code)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
