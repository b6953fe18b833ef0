"""CONTRIBUTING is true: its tree is the tree, the files it sends people to exist, and its example runs."""

from __future__ import annotations

import re
import sys
from types import ModuleType

import pytest

from reports.frame.write import write_page
from tests.contracts.imports import ROOT
from validation.harness import load_data, run

TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def code_blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


@pytest.fixture
def example(monkeypatch):
    """The study and the page of the example, each a module of its own."""
    made = []
    for name, code in zip(("effective_size", "effective_size_page"), code_blocks(), strict=True):
        module = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        exec(compile(code, f"CONTRIBUTING.md ({name})", "exec"), vars(module))
        made.append(module)
    return made


def test_the_example_is_a_study_with_its_page(example, tmp_path):
    study, pages = example
    data = load_data("ripley")
    result = run(study.STUDY, data, size="toy", folder=tmp_path / "cells", jobs=1, progress=False)
    assert [f.cell.settings["n"] for f in result.cells] == [125, 250]
    assert result.cells[-1].values["gamma_eff"] == pytest.approx(17.8, abs=0.1)
    page = pages.page(result)
    assert page.answer.verdict.endswith(f"to {result.cells[-1].values['gamma_eff']:.1f}.")
    assert page.badge == "holds"
    html = write_page(page, tmp_path, command="python -m reports --study effective-size").read_text("utf-8")
    assert page.answer.verdict.split("γ")[0] in html
    again = run(study.STUDY, data, size="toy", folder=tmp_path / "cells", jobs=1, progress=False)
    assert again.cells == result.cells  # found, not computed


def test_the_example_fits_on_a_screen():
    assert sum(len(block.splitlines()) for block in code_blocks()) <= 60


def test_every_file_that_is_named_exists():
    table = TEXT.partition("## Where do I add")[2].partition("\n## ")[0]
    named = re.findall(r"`([\w/]+\.(?:py|md))`", table)
    assert len(named) > 5
    for path in named:
        assert (ROOT / path).is_file() or (ROOT / "bayes_lssvm" / path).is_file(), path


def test_the_tree_shows_every_room():
    tree = TEXT.partition("```text\n")[2].partition("```")[0]
    for top in ("bayes_lssvm", "validation", "reports"):
        for folder in (ROOT / top).iterdir():
            if (folder / "__init__.py").is_file():
                assert f"{folder.name}/" in tree, f"{top}/{folder.name}"
