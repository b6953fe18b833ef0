"""The public surface: names are found when they are asked for, whatever was imported before."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import bayes_lssvm

ROOT = Path(__file__).parents[1]
SLOW_TO_IMPORT = ("numpy", "scipy", "sklearn")


def fresh(code: str) -> str:
    """What a new interpreter prints."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_import_alone_loads_nothing_slow():
    loaded = fresh("import sys, bayes_lssvm; print(*{name.split('.')[0] for name in sys.modules})").split()
    assert not set(SLOW_TO_IMPORT) & set(loaded)


WAYS = (
    "import bayes_lssvm.trust",
    "from bayes_lssvm.trust import LIMITS",
    "from bayes_lssvm import trust",
    "import bayes_lssvm; bayes_lssvm.trust",
    "from importlib import import_module; import_module('bayes_lssvm.trust')",
)


def test_trust_is_the_function_whatever_was_imported_before():
    """One interpreter for all ways, which forgets our own modules in between: NumPy and its like load slowly."""
    code = f"""
import sys
for way in {WAYS!r}:
    for name in [name for name in sys.modules if name.partition(".")[0] == "bayes_lssvm"]:
        del sys.modules[name]
    exec(way, {{}})
    import bayes_lssvm
    from bayes_lssvm import trust
    from bayes_lssvm.trust import LIMITS, trust as function
    assert trust is function is bayes_lssvm.trust, (way, trust)
    print(type(trust).__name__, type(sys.modules["bayes_lssvm.trust"]).__name__)
"""
    assert fresh(code).splitlines() == ["function module"] * len(WAYS)


def test_every_public_name_is_listed_and_found():
    assert set(bayes_lssvm.__all__) <= set(dir(bayes_lssvm))
    assert all(getattr(bayes_lssvm, name) is not None for name in bayes_lssvm.__all__)
    assert bayes_lssvm.priors.Normal().sd == 3.0
    assert bayes_lssvm.estimators.BayesianLSSVC is bayes_lssvm.BayesianLSSVC


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'LSSVX'"):
        bayes_lssvm.LSSVX  # noqa: B018
    with pytest.raises(ImportError):
        from bayes_lssvm import LSSVX  # noqa: F401
