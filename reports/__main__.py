"""`python -m reports`: section 7.1 of paper 0 on Ripley's data, as a table, three figures and one HTML page."""

from __future__ import annotations

import argparse
import base64
import io
import json
import re
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jinja2 import Environment
from markupsafe import Markup, escape
from matplotlib.figure import Figure
from tqdm import tqdm

from bayes_lssvm._files import write_bytes
from reports.figures import as_png, figure_2, figure_3, figure_evidence
from validation.ripley import STAGES, Design, RipleyStudy, study, verdict

WIDTH = 98
TITLE = "Section 7.1: the LS-SVM classifier on Ripley's data"
INTRODUCTION = (
    "An LS-SVM with RBF kernel, designed by the evidence framework on 250 training points and judged on 1000 test "
    "points, beside the numbers that Van Gestel et al. (2002) print. σ maximises the evidence with level 2 at its "
    "maximum, once without the Occam factor and once by eq 5.3, which has it."
)


class Row(NamedTuple):
    """One line of the table: a heading where it has no cells."""

    label: str
    cells: tuple[str, ...] = ()


class Picture(NamedTuple):
    """A figure of the page: its file, how it is drawn, and what it says to those who see it and those who do not."""

    file: str
    draw: Callable[[RipleyStudy], Figure]
    alt: str
    caption: str


PICTURES = (
    Picture(
        "figure_2.png",
        figure_2,
        "Contour map of the probability of class +1 over the two inputs, with the 250 training points. A red region of "
        "high probability above, a blue one of low probability below, and a wavy 0.5 contour between them.",
        "Figure 2. The heavy line is P = 0.5, the decision. Contours crowd together where the classes meet and spread "
        "out where training points end: far from them the colours fade, because the classifier no longer knows.",
    ),
    Picture(
        "figure_3.png",
        figure_3,
        "The same probability as a surface above the two inputs: a plateau near 1, a basin near 0, a steep wall "
        "between them, and a flat rim a little below one half all around.",
        "Figure 3. The same as a surface. The wall between plateau and basin is steep where data are dense; the rim, "
        "away from all data, levels off a little below ½ and not at 0 or 1.",
    ),
    Picture(
        "evidence.png",
        figure_evidence,
        "Two plots of log evidence against the kernel width. Left, over all widths: two single-peaked curves. Right, "
        "enlarged: the curve without Occam factor peaks on the line that marks the paper's value, the other one to the "
        "right of it.",
        "Evidence along σ. Left: both criteria have one broad maximum. Right, enlarged: the dotted line, the paper's "
        "σ, stands on the maximum of the curve without the Occam factor; eq 5.3 peaks further right, and the "
        "difference is worth a few thousandths of a nat.",
    ),
)


def main_table(result: RipleyStudy) -> list[Row]:
    """The rows of section 7.1: what the paper prints, the design without Occam factor, the design by eq 5.3."""
    printed, width = result.printed, f"prior widths {result.prior_sd:g}"

    def row(label: str, value: Callable[[Design], float], form: str, paper: float | None = None) -> Row:
        cells = ["–" if paper is None else format(paper, form), *(format(value(d), form) for d in result.designs)]
        return Row("  " + label, tuple(cell.replace("-", "−") for cell in cells))

    def share(label: str, value: Callable[[Design], float], paper: float) -> Row:
        # a share of 2000 points can end on half a tenth: show what is there, and no trailing zero
        cells = [f"{100 * v:.2f}".removesuffix("0") for v in (paper, *(value(d) for d in result.designs))]
        return Row("  " + label, tuple(cells))

    return [
        Row("Hyperparameters"),
        row("σ_MP, kernel width", lambda d: d.sigma, ".4f", printed.sigma),
        row("μ_MP, precision of the weights", lambda d: d.mu, ".4f"),
        row("ζ_MP, precision of the noise", lambda d: d.zeta, ".4f"),
        row("γ_MP = ζ_MP / μ_MP", lambda d: d.gamma, ".4f"),
        row("γ_eff, effective number of parameters", lambda d: d.gamma_eff, ".2f"),
        row("ζ_*, precision around the class centres", lambda d: d.zeta_star, ".4f"),
        Row("Error bars"),
        row("of log μ, MacKay's formula", lambda d: d.mackay.log_mu, ".4f"),
        row("of log μ, exact Hessian", lambda d: d.hessian.log_mu, ".4f"),
        row("of log ζ, MacKay's formula", lambda d: d.mackay.log_zeta, ".4f"),
        row("of log ζ, exact Hessian", lambda d: d.hessian.log_zeta, ".4f"),
        Row("Evidence (nats)"),
        row("log p(D | μ_MP, ζ_MP, σ)", lambda d: d.log_evidence_without_occam, ".4f"),
        row(f"log Occam factor, MacKay ({width})", lambda d: d.log_occam_factor, ".4f"),
        row(f"log Occam factor, Hessian ({width})", lambda d: d.log_occam_factor_hessian, ".4f"),
        row("log evidence by 5.2 (MacKay)", lambda d: d.log_evidence, ".4f"),
        row("log of eq 5.3 (relative)", lambda d: d.log_eq_5_3, ".4f"),
        Row(f"Test set, {result.n_test} points (% correct)"),
        share("sign of the latent output (2.22)", lambda d: d.accuracy_sign, printed.accuracy),
        share("moderated output (3.17)", lambda d: d.accuracy_moderated, printed.accuracy),
        Row(f"Unbalanced test set, {result.n_unbalanced} points (% correct)"),
        share("ignoring its class priors", lambda d: d.unbalanced_ignoring, printed.unbalanced_ignoring),
        share("using P(−1) = 0.75, P(+1) = 0.25", lambda d: d.unbalanced_using, printed.unbalanced_using),
    ]


MAIN_HEADER = ("", "paper", "without Occam", "eq 5.3")
SCORE_HEADER = ("moderated output", "log loss", "Brier", "% correct")
SCORE_NAMES = {
    "class": "class centres (paper 0, 3.17)",
    "target": "targets ±1 (paper 2, eq 11)",
    "softmax": "logistic (MacKay)",
}


def score_table(result: RipleyStudy) -> list[Row]:
    """Log loss, Brier score and accuracy of the three moderated outputs on the test set, for both designs."""
    rows = []
    for design in result.designs:
        rows.append(Row(f"σ_MP = {design.sigma:.4f} ({design.criterion})"))
        for s in design.scores:
            cells = (f"{s.log_loss:.4f}", f"{s.brier:.4f}", f"{100 * s.accuracy:.1f}")
            rows.append(Row("  " + SCORE_NAMES[s.moderation], cells))
    return [*rows, Row("For comparison"), Row("  always ½", (f"{np.log(2):.4f}", f"{0.25:.4f}", "–"))]


def as_text(result: RipleyStudy) -> str:
    """The tables and the verdict for a terminal, at most 98 columns wide."""
    parts = [
        TITLE,
        textwrap.fill(INTRODUCTION, WIDTH),
        _aligned(MAIN_HEADER, main_table(result)),
        _aligned(SCORE_HEADER, score_table(result)),
        *(textwrap.fill(paragraph, WIDTH) for paragraph in verdict(result)),
    ]
    return "\n\n".join(parts)


def _aligned(header: tuple[str, ...], rows: list[Row]) -> str:
    lines = [header, *((row.label, *row.cells) for row in rows)]
    widths = [max(len(line[i]) for line in lines if i < len(line)) for i in range(len(header))]

    def joined(line: tuple[str, ...]) -> str:
        numbers = [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=False)]
        return "  ".join([line[0].ljust(widths[0]), *numbers]).rstrip()

    return "\n".join([joined(header), "  ".join("-" * width for width in widths), *map(joined, lines[1:])])


def _subscripts(text: str) -> Markup:
    """Escaped text with the symbols' indices set low (μ_MP, γ_eff, ζ_*) and numbers kept with their % sign."""
    lowered = re.sub(r"(?<=[μζγσ])_(MP|eff|\*)", r"<sub>\1</sub>", str(escape(text)))
    return Markup(lowered.replace(" %", "&nbsp;%"))


PAGE = """{% macro table(name, header, rows) -%}
<div class="scroll" tabindex="0" role="region" aria-label="{{ name }}">
<table>
<thead><tr>{% for cell in header %}<th scope="col">{{ cell }}</th>{% endfor %}</tr></thead>
<tbody>
{% for row in rows %}{% if row.cells %}<tr><th scope="row">{{ row.label.strip() | symbols }}</th>
{%- for cell in row.cells %}<td>{{ cell }}</td>{% endfor %}</tr>
{% else %}<tr><th class="group" colspan="{{ header | length }}" scope="colgroup">{{ row.label | symbols }}</th></tr>
{% endif %}{% endfor %}</tbody>
</table>
</div>
{%- endmacro -%}
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{{ title }}</title>
<link rel="icon" href="data:,">
<style>
:root { color-scheme: light; --ink: #1b1b1b; --soft: #555; --line: #d5d5d5; --paper: #fff; --tint: #f4f6f8; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 3rem; max-width: 60rem; color: var(--ink); background: var(--paper);
       font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
h1 { font-size: clamp(1.4rem, 5vw, 2rem); line-height: 1.2; margin: 0 0 .6rem; }
h2 { font-size: 1.25rem; margin: 2.2rem 0 .6rem; }
.verdict { background: var(--tint); border-left: .3rem solid #0072b2; padding: .6rem 1rem; }
.verdict p { margin: .5rem 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .95rem; }
th, td { padding: .3rem .5rem; text-align: right; border-bottom: 1px solid var(--line);
         font-variant-numeric: tabular-nums; }
th:first-child { text-align: left; }
tbody th { font-weight: normal; }
td, thead th { white-space: nowrap; }
thead th, tbody th.group { font-weight: 600; }
tbody th.group { padding-top: .9rem; text-align: left; }
figure { margin: 1.5rem 0; }
img { display: block; width: 100%; height: auto; border: 1px solid var(--line); }
figcaption, .note { color: var(--soft); font-size: .95rem; margin-top: .4rem; }
code { font-size: .9em; overflow-wrap: anywhere; }
sub { line-height: 0; }
@media (max-width: 34rem) { table { font-size: .82rem; } th, td { padding: .25rem .3rem; }
  thead th { white-space: normal; vertical-align: bottom; }
  figure img { width: 36rem; max-width: none; } }
</style>
</head>
<body>
<main>
<h1>{{ title }}</h1>
<p>{{ introduction }}</p>
<section class="verdict" aria-label="Verdict">
{% for paragraph in verdict %}<p>{{ paragraph | symbols }}</p>
{% endfor %}</section>
<h2>The numbers of section 7.1</h2>
{{ table("Numbers of section 7.1", main_header, main_rows) }}
<p class="note">A dash marks what the paper does not print.</p>
{% for picture in pictures %}<figure>
<div class="scroll" tabindex="0" role="region" aria-label="{{ picture.file }}">
<img src="data:image/png;base64,{{ picture.data }}" alt="{{ picture.alt }}"
 width="{{ picture.size[0] }}" height="{{ picture.size[1] }}"></div>
<figcaption>{{ picture.caption }}</figcaption>
</figure>
{% endfor %}<h2>How good are the probabilities?</h2>
{{ table("Scores of the moderated outputs", score_header, score_rows) }}
<p class="note">On the test set; smaller log loss (nats a point) and Brier score are better.</p>
<h2>Where this comes from</h2>
<p class="note">{{ versions }}. SHA-256 of the data: <code>{{ provenance.data_sha256 }}</code>.
All numbers are in <code>ripley.json</code> beside this page. <code>make report</code> makes it anew.</p>
</main>
</body>
</html>
"""


def as_page(result: RipleyStudy, images: dict[str, bytes]) -> str:
    """The page, with its figures inside: it loads nothing."""
    environment = Environment(autoescape=True)
    environment.filters["symbols"] = _subscripts
    pictures = [
        {
            "file": p.file,
            "data": base64.b64encode(images[p.file]).decode("ascii"),
            "alt": p.alt,
            "caption": p.caption,
            # width and height stand in every PNG's first chunk, after eight bytes of signature and eight of chunk head
            "size": [int.from_bytes(images[p.file][i : i + 4], "big") for i in (16, 20)],
        }
        for p in PICTURES
    ]
    return environment.from_string(PAGE).render(
        title=TITLE,
        introduction=INTRODUCTION,
        verdict=verdict(result),
        main_header=MAIN_HEADER,
        main_rows=main_table(result),
        pictures=pictures,
        score_header=SCORE_HEADER,
        score_rows=score_table(result),
        provenance=result.provenance,
        versions=", ".join(f"{name} {number}" for name, number in result.provenance["versions"].items()),
    )


def make_report(output: Path) -> Path:
    """Compute, print, draw and write everything into a folder; returns the page's path."""
    output.mkdir(parents=True, exist_ok=True)
    with tqdm(
        total=len(STAGES) + len(PICTURES), disable=None, leave=False, bar_format="{l_bar}{bar}| {n}/{total}"
    ) as bar:

        def begin(stage: str) -> None:
            bar.set_description(stage)
            bar.update()

        result = study(on_stage=begin)
        images: dict[str, bytes] = {}
        for picture in PICTURES:
            begin(picture.file)
            images[picture.file] = as_png(picture.draw(result))
    for name, content in images.items():
        write_bytes(output / name, content)
    record = json.dumps(result.record(), indent=2, ensure_ascii=False, allow_nan=False)
    write_bytes(output / "ripley.json", record.encode())
    page = write_bytes(output / "index.html", as_page(result, images).encode())
    print(as_text(result), end="\n\n")
    return page


def main(argv: list[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m reports", description="Section 7.1 of paper 0 on Ripley's data.")
    parser.add_argument("--output", type=Path, default=Path("output"), help="folder to write to (default: output)")
    output: Path = parser.parse_args(argv).output
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without Greek letters still gets its table
    try:
        page = make_report(output)
    except OSError as error:
        print(f"The report could not be written to {output}: {error.strerror or error}.", file=sys.stderr)
        return 1
    print(f"Table, figures 2 and 3 and the evidence are in\n{page.resolve()}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
