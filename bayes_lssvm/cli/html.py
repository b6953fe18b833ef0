"""A small writer of self-contained HTML pages: no template engine, no network, light and dark, screen and print."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

_STYLE = """
:root { color-scheme: light dark; --back: #ffffff; --text: #1b1f24; --soft: #57606a; --line: #d0d7de; --panel: #f6f8fa;
  --good: #1a7f37; --doubtful: #7d4e00; --bad: #b3261e; --none: #57606a; }
@media (prefers-color-scheme: dark) { :root { --back: #0f1419; --text: #e6edf3; --soft: #9da7b3; --line: #30363d;
  --panel: #171c23; --good: #4ac26b; --doubtful: #e3b341; --bad: #ff8a80; --none: #9da7b3; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 1.2rem 1rem 3rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: .4rem 0 .6rem; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 2rem 0 .5rem; padding-top: .6rem; border-top: 1px solid var(--line); }
p { margin: .5rem 0; }
.lead { font-size: 1.05rem; }
.soft, figcaption { color: var(--soft); font-size: .9rem; }
.badge { display: inline-block; border: 1.5px solid currentColor; border-radius: 1rem; padding: .05rem .7rem;
  font-weight: 600; font-size: .9rem; }
.good { color: var(--good); } .doubtful { color: var(--doubtful); }
.bad { color: var(--bad); } .none { color: var(--none); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: left; padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number { white-space: nowrap; }
td:first-child { overflow-wrap: break-word; min-width: 6rem; }
.wide + .wide { margin-top: 1.2rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 21rem), 1fr)); gap: 1.2rem; }
figure { margin: .6rem 0; } figure svg { width: 100%; height: auto; max-width: 30rem; display: block; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: .4rem; padding: .7rem .9rem;
  overflow-x: auto; font-size: .86rem; line-height: 1.45; }
summary { cursor: pointer; color: var(--soft); }
@media print { body { background: #fff; color: #000; } details > * { display: block; } figure { break-inside: avoid; } }
"""


class Badge(NamedTuple):
    """A word with the colour of its kind: "good", "doubtful", "bad" or "none"."""

    kind: str
    word: str


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of plain text."""
    return f"<p{_class(kind)}>{escape(text)}</p>"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[int] = ()) -> str:
    """A table of plain text; columns of `numbers` are flush right."""

    def line(cells: Sequence[str], tag: str) -> str:
        return "".join(
            f"<{tag}{_class('number' if i in numbers else '')}>{escape(c)}</{tag}>" for i, c in enumerate(cells)
        )

    head = f"<thead><tr>{line(header, 'th')}</tr></thead>" if header else ""
    body = "".join(f"<tr>{line(row, 'td')}</tr>\n" for row in rows)
    return f'<div class="wide"><table>{head}<tbody>{body}</tbody></table></div>'


def bullets(items: Sequence[str]) -> str:
    """A list of sentences."""
    return "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in items) + "</ul>"


def code(text: str) -> str:
    """Lines to copy."""
    return f"<pre><code>{escape(text)}</code></pre>"


def folded(summary: str, content: str) -> str:
    """Content that opens at a click."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>"


def figures(drawn: Sequence[tuple[str, str]]) -> str:
    """SVG pictures with their captions, side by side where there is room."""
    each = "".join(f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>" for svg, caption in drawn)
    return f'<div class="figures">{each}</div>'


def section(title: str, *parts: str) -> str:
    """A heading and what stands below it."""
    return f"<section><h2>{escape(title)}</h2>\n" + "\n".join(part for part in parts if part) + "\n</section>"


def page(title: str, badge: Badge, lead: str, sections: Sequence[str], *, also: str = "") -> str:
    """The whole page; `also` is a quieter line below the first sentence."""
    top = f'<span class="badge {badge.kind}">{escape(badge.word)}</span>'
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n<body><main>\n"
        f"<h1>{escape(title)}</h1>\n<p>{top}</p>\n{paragraph(lead, 'lead')}\n"
        + (f"{paragraph(also, 'soft')}\n" if also else "")
        + "\n".join(sections)
        + "\n</main></body></html>\n"
    )


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
