"""Every page of the gallery in Chromium: what a reader of a phone or a screen, by day or by night, would trip over."""

from __future__ import annotations

import pytest

from reports.command.gallery import FOLDER
from tests.reports.browser import CHROMIUM, Browser

PAGES = sorted(FOLDER.glob("*.html"))

# Contrast by WCAG 2 of every piece of text against the colours behind it, with all parts of the page unfolded. Colours
# that let others through are laid over them; the paper of a page that has none of its own is the browser's.
PROBE = """
(() => {
  document.querySelectorAll("details").forEach(part => { part.open = true; });
  const root = document.documentElement;
  const numbers = text => { const n = text.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
  const linear = v => v <= 10.3 ? v / 3294.6 : ((v / 255 + 0.055) / 1.055) ** 2.4;
  const luminance = c => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
  const behind = element => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(numbers(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), DARK ? [18, 18, 18] : [255, 255, 255]);
  };
  const faint = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let read = 0;
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    const words = texts.currentNode.textContent.trim();
    if (!words || !element.getClientRects().length || element.closest("script, style")) continue;
    const style = getComputedStyle(element);
    const ground = behind(element);
    const letters = over(numbers(element instanceof SVGElement ? style.fill : style.color), ground);
    const [low, high] = [luminance(letters), luminance(ground)].sort((a, b) => a - b);
    const contrast = (high + 0.05) / (low + 0.05);
    read += 1;
    if (contrast < 4.5) faint.push(`${contrast.toFixed(2)}: ${words.slice(0, 40)}`);
  }
  const wide = [...document.querySelectorAll("body *")].filter(
    e => !e.closest(".scroll") && e.getBoundingClientRect().right > root.clientWidth + 1
  ).map(e => e.outerHTML.slice(0, 80));
  const broken = [...document.images].filter(i => i.getAttribute("src") && !i.naturalWidth).length;
  // figures are drawn on white paper, which a dark screen turns
  const glaring = [...document.images].filter(i => (getComputedStyle(i).filter === "none") === DARK).length;
  return {read, faint, wide, broken, glaring, scroll: root.scrollWidth - root.clientWidth};
})()
"""


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_every_page_of_the_gallery(width, dark, tmp_path):
    assert PAGES
    with Browser(tmp_path / "profile") as browser:
        for path in PAGES:
            browser.open(path.as_uri(), width, dark=dark)
            found = browser.run(PROBE.replace("DARK", "true" if dark else "false"))
            assert found["read"] > 50, path.name
            assert (found["faint"], found["wide"], found["broken"], found["scroll"]) == ([], [], 0, 0), path.name
            assert found["glaring"] == 0, path.name
            assert browser.complaints == [], path.name
            assert all(address.startswith(("file:", "data:", "about:")) for address in browser.requests), path.name


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_the_probe_finds_what_is_wrong(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        "<body style='background:#fff'><p style='color:#999'>faint</p><p style='color:#111'>clear</p>"
        "<p style='color:#fff;background:#0008'>through</p><div style='width:4000px'>wide</div><img src='no.png'>",
        encoding="utf-8",
    )
    with Browser(tmp_path / "profile") as browser:
        browser.open(page.as_uri())
        found = browser.run(PROBE.replace("DARK", "false"))
    assert found["faint"] == ["2.85: faint", "4.47: through"]
    assert (found["read"], found["broken"], len(found["wide"])) == (4, 1, 1)
    assert found["scroll"] > 0
