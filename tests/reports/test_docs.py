"""The pictures of README and docs: each is drawn by a function, lies in docs/figures and is shown on a page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image

from reports.docs import DPI, FIGURES, FOLDER, main
from reports.draw.style import as_png

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CHEAP = (
    "figure_1",
    "ellipsoid",
    "selection_path",
    "code_books",
    "how_good_error_bars",
    "how_good_evidence",
    "how_good_bayes_factors",
)


def shown():
    """Names of the pictures in docs/figures that a page shows."""
    addresses = [(page, a) for page in PAGES for a in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page.read_text("utf-8"))]
    return {path.stem for page, a in addresses if (path := (page.parent / a).resolve()).parent == FOLDER}


def test_every_picture_is_drawn_here_and_shown_on_a_page():
    there = {path.stem for path in FOLDER.glob("*.png")}
    assert there == set(FIGURES)
    assert there == shown()


@pytest.mark.parametrize("name", FIGURES)
def test_pictures_are_large_enough_to_read_and_small_to_load(name):
    path = FOLDER / f"{name}.png"
    with Image.open(path) as image:
        assert min(image.size) >= 400
    assert path.stat().st_size < 200_000


@pytest.mark.parametrize("name", CHEAP)
def test_a_picture_is_drawn_as_large_as_it_is_stored(name, tmp_path, capsys):
    assert main([name, "--output", str(tmp_path)]) == 0
    assert [path.stem for path in tmp_path.iterdir()] == [name]
    assert f"{name}.png" in capsys.readouterr().out
    with Image.open(tmp_path / f"{name}.png") as new, Image.open(FOLDER / f"{name}.png") as old:
        assert new.size == old.size


def test_a_picture_that_does_not_exist_is_refused(tmp_path, capsys):
    assert main(["code_books", "figure_9", "--output", str(tmp_path / "new")]) == 1
    assert "There is no picture 'figure_9'. The pictures are hero, " in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_a_picture_is_the_same_file_each_time():
    draw = FIGURES["code_books"]
    assert as_png(draw(), dpi=DPI) == as_png(draw(), dpi=DPI)
