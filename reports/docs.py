"""Every picture of README and docs: `python -m reports.docs` (or `make figures`) draws them into docs/figures.

Pictures of findings are drawn from the records of the gallery, which hold the studies at full size; all others are
computed anew, in seconds, but for calibration's two, whose 4000 simulated sets take two minutes.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from bayes_lssvm.base.files import write_bytes
from reports.command import gallery
from reports.draw.costs import figure_costs, latest
from reports.draw.intervals import figure_intervals, figure_outputs
from reports.draw.kernels import documented_search, figure_kernel_search, figure_kernels
from reports.draw.multiclass import figure_code_books, figure_three_classes, three_class_plane
from reports.draw.noise import figure_learned_noise, figure_outliers, figure_weights
from reports.draw.papers import figure_1, figure_ellipsoid
from reports.draw.selection import documented_path, figure_selection_path
from reports.draw.style import as_png
from reports.frame.write import read_result
from reports.pages import page_of
from reports.pages.calibration.figures import figure_coverage, figure_ecdf
from reports.pages.error_bars.bars import assemble
from reports.pages.error_bars.figures import forest
from reports.pages.section_7_1.figures import figure_2, figure_evidence
from reports.pages.section_7_1.hero import hero, sinc_fit
from validation.studies.calibration import SCENARIOS, Results, evaluate, methods_of
from validation.studies.section_7_1 import RipleyStudy, study

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "figures"
DPI = 110


@functools.cache
def _ripley() -> RipleyStudy:
    return study()


@functools.cache
def _calibration(scenario: str) -> dict[str, Results]:
    chosen = SCENARIOS[scenario]
    return evaluate(chosen.setting, methods_of(chosen.setting, chosen.methods), n_sets=chosen.n_sets)


def _of_gallery(record: str, picture: str) -> Figure:
    """A picture of the gallery's page of that name."""
    page = page_of(read_result(gallery.FOLDER / f"{record}.json"))
    return next(found.figure for found in page.pictures if found.name == picture)


def _error_bars() -> Figure:
    """Without the rest of its page, which shows draws, and the gallery keeps none."""
    return forest(assemble(read_result(gallery.FOLDER / "error-bars-ripley.json")))


def _coverage() -> Figure:
    return figure_coverage({name: _calibration(name) for name in ("known_20", "known_100")})


FIGURES: dict[str, Callable[[], Figure]] = {
    "hero": lambda: hero(_ripley(), sinc_fit()),
    "figure_1": figure_1,
    "figure_2": lambda: figure_2(_ripley()),
    "evidence": lambda: figure_evidence(_ripley()),
    "selection_path": lambda: figure_selection_path(documented_path()),
    "kernels": figure_kernels,
    "kernel_search": lambda: figure_kernel_search(documented_search()),
    "ellipsoid": figure_ellipsoid,
    "weights": figure_weights,
    "learned_noise": figure_learned_noise,
    "outliers": figure_outliers,
    "code_books": figure_code_books,
    "three_classes": lambda: figure_three_classes(three_class_plane()),
    "intervals": figure_intervals,
    "outputs": figure_outputs,
    "calibration_ecdf": lambda: figure_ecdf(_calibration("known_20")),
    "calibration_coverage": _coverage,
    "how_good_error_bars": _error_bars,
    "how_good_evidence": lambda: _of_gallery("evidence-ripley", "curves"),
    "how_good_bayes_factors": lambda: _of_gallery("bayes-factors-ripley", "bayes_factors"),
    "how_good_moderated": lambda: _of_gallery("moderated-output-ripley", "differences"),
    "explorer": lambda: _of_gallery("explorer-ripley", "three_widths"),
    "how_good_map": lambda: _of_gallery("map-of-trust", "map"),
    "field": lambda: _of_gallery("field", "ratios"),
    "costs": lambda: figure_costs(latest()),
}
"""By the name of the file, without its ending."""


def main(argv: list[str] | None = None) -> int:
    """Draw the pictures that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m reports.docs", description="Draw the pictures of README and docs.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"all by default: {', '.join(FIGURES)}")
    parser.add_argument("--output", type=Path, default=FOLDER, help="folder to write to (default: docs/figures)")
    options = parser.parse_args(argv)
    unknown = [name for name in options.names if name not in FIGURES]
    if unknown:
        print(f"There is no picture {unknown[0]!r}. The pictures are {', '.join(FIGURES)}.", file=sys.stderr)
        return 1
    options.output.mkdir(parents=True, exist_ok=True)
    for name in options.names or FIGURES:
        path = write_bytes(options.output / f"{name}.png", as_png(FIGURES[name](), dpi=DPI))
        print(f"{path} ({path.stat().st_size / 1000:.0f} kB)", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
