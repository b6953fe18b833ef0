"""Every public name has a page of the reference with an example; tests/contracts/test_architecture.py runs them all."""

from __future__ import annotations

import inspect
import re
import runpy

import pytest

from tests.contracts.imports import ROOT

PUBLIC = [n for n in runpy.run_path(str(ROOT / "docs" / "_ext" / "surface.py"))["public_names"]() if n.is_code]


@pytest.mark.parametrize("public", PUBLIC, ids=lambda public: public.path)
def test_a_public_name_has_a_summary_and_an_example_that_uses_it(public):
    text = inspect.getdoc(public.value) or ""
    summary, _, rest = text.partition("\n\n")
    assert summary.endswith("."), f"{public.path} needs a sentence"
    assert re.search(r"^Examples\n-+$", rest, re.MULTILINE), f"{public.path} needs a section Examples"
    assert ">>> " in rest


def test_the_surface_is_that_of_the_package():
    import bayes_lssvm

    found = {public.name for public in PUBLIC}
    assert {name for name in bayes_lssvm.__all__ if inspect.isclass(getattr(bayes_lssvm, name))} <= found
