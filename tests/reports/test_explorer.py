"""The page of the explorer: its numbers, that it is safe and small, and in Chromium that the slider moves it."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from pathlib import Path

import numpy as np
import pytest

from reports.__main__ import main
from reports.command.gallery import FOLDER
from reports.frame.write import read_result, write_page
from reports.pages import page_of
from reports.pages.explorer.payload import payload, stops
from tests.reports.browser import CHROMIUM, Browser
from validation.studies.explorer import PARTS, RUNGS

ROOT = Path(__file__).resolve().parents[2]
PAGE = FOLDER / "explorer-ripley.html"
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")


def numbers_of(path):
    """The JSON inside a page."""
    found = re.search(
        r'<script type="application/json" id="explorer-data">(.*?)</script>', path.read_text("utf-8"), re.S
    )
    return json.loads(found[1])


@pytest.fixture(scope="module")
def numbers():
    return numbers_of(PAGE)


@pytest.fixture(scope="module")
def record():
    return json.loads(PAGE.with_suffix(".json").read_text("utf-8"))


def test_the_page_is_one_small_file_that_loads_nothing():
    text = PAGE.read_text("utf-8")
    assert PAGE.stat().st_size < 3_000_000
    outside = re.sub(r'<script type="application/json".*?</script>', "", text, flags=re.DOTALL)
    assert not re.search(r"""(?:src|href)\s*=\s*["'](?!data:|#|[\w./-]+\.(?:html|json|svg)["'])""", outside)
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|import\(|https?://(?!www\.w3\.org)", outside)


def test_the_policy_runs_the_pages_own_script_and_no_other():
    text = PAGE.read_text("utf-8")
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1])
    assert "default-src 'none'" in policy
    assert re.search(r"script-src ([^;]*)", policy)[1].split() == [f"'sha256-{digest}'"]


def added_up(numbers, tolerance):
    total = sum(np.array(numbers["parts"][name]) for name in PARTS)
    np.testing.assert_allclose(total, numbers["rungs"]["quadrature"], rtol=0.0, atol=tolerance)
    first = sum(np.array(numbers["parts"][name]) for name in numbers["groups"]["first"])
    np.testing.assert_allclose(first, numbers["best_fit"], rtol=0.0, atol=tolerance)


def test_the_parts_of_every_width_add_up_to_the_log_evidence(numbers, record):
    assert len(numbers["sigma"]) == 61
    # a page that was drawn from a rounded record has eight rounded terms below 1000
    digits = record["significant_digits"]
    added_up(numbers, 1e-9 if digits is None else 8 * 0.5 * 10.0 ** (3 - digits))


def test_the_page_has_the_numbers_of_the_cells(numbers, record):
    cells = [cell["values"] for cell in record["cells"][1:]]
    for i, cell in enumerate(cells):  # the record has six digits
        assert numbers["sigma"][i] == cell["sigma"]
        for name in RUNGS:
            assert numbers["rungs"][name][i] == pytest.approx(cell["log_evidence"][name], rel=1e-5)
        assert numbers["posterior"][i]["log_density"]["data"] == cell["posterior"]["log_density"]["data"]
        assert numbers["plane"][i]["data"] == cell["plane"]["data"]
    assert len(numbers["points"]) == record["data"]["n"]


def test_the_buttons_go_to_the_largest_evidence_and_a_factor_of_five_beside_it(numbers):
    where, result = stops(read_result(PAGE.with_suffix(".json"))), numbers["rungs"]["quadrature"]
    assert numbers["best"] == where.best == int(np.argmax(result))
    sigma = numbers["sigma"]
    assert sigma[where.best] / sigma[where.narrow] == pytest.approx(5.0, rel=0.04)
    assert sigma[where.wide] / sigma[where.best] == pytest.approx(5.0, rel=0.04)


def test_names_from_the_data_cannot_leave_their_place(tmp_path):
    rng = np.random.default_rng(5)
    bad = "</script><b onclick=x>"
    rows = [f"{a:.3f},{b:.3f},{bad if a + b > 0 else 'no & $'}" for a, b in rng.normal(size=(24, 2))]
    path = tmp_path / "nasty.csv"
    path.write_text("\n".join([f"{bad},$x_1,y", *rows]))
    words = ["--study", "explorer", "--data", str(path), "--target", "y", "--size", "toy", "--jobs", "1"]
    assert main([*words, "--output", str(tmp_path)]) == 0
    text = (tmp_path / "explorer-nasty.html").read_text("utf-8")
    assert "<b onclick" not in text
    assert text.count("</script>") == 2
    fresh = numbers_of(tmp_path / "explorer-nasty.html")
    assert fresh["features"][0] == bad
    added_up(fresh, 1e-9)


def test_a_page_that_moves_keeps_all_digits(tmp_path):
    page = page_of(read_result(PAGE.with_suffix(".json")))
    write_page(page, tmp_path, command="", dpi=30, pictures=False, digits=3)
    assert json.loads((tmp_path / "explorer-ripley.json").read_text("utf-8"))["significant_digits"] is None
    assert numbers_of(tmp_path / "explorer-ripley.html")["parts"] == payload(page.result)["parts"]


def test_data_with_three_inputs_are_refused_before_any_work(tmp_path, capsys):
    path = tmp_path / "three.csv"
    path.write_text("\n".join(["a,b,c,y", *(f"{i},{i**2 % 7},{i % 3},{i % 2}" for i in range(20))]))
    words = ["--study", "explorer", "--data", str(path), "--target", "y", "--output", str(tmp_path / "out")]
    assert main(words) == 1
    assert "map over two inputs, and three has 3 (a, b, c)" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_rung_without_an_answer_is_left_out(record):
    result = read_result(PAGE.with_suffix(".json"))
    for cell in result.cells[1:4]:
        cell.values["log_evidence"]["laplace"] = None
        del cell.values["posterior"]["gaussians"]["laplace"]
    assert payload(result)["rungs"]["laplace"][:3] == [None, None, None]
    assert page_of(result).live is not None


def test_the_documentation_has_the_numbers_of_the_page(numbers):
    text = (ROOT / "docs" / "findings" / "explorer.md").read_text("utf-8")
    text = re.sub(r"\n +", " ", text).replace("−", "-")
    rows = [list(map(float, re.findall(r"-?\d+\.\d+", line))) for line in text.splitlines() if line.startswith("|  ")]
    where, exact = stops(read_result(PAGE.with_suffix(".json"))), np.array(numbers["rungs"]["quadrature"])
    for i, row in zip(where, rows, strict=True):
        fit = numbers["parts"]["fit"][i]
        wanted = [numbers["sigma"][i], exact[i], fit, exact[i] - fit, numbers["gamma_eff"][i]]
        np.testing.assert_allclose(row, wanted, atol=0.051)
        np.testing.assert_allclose(row[:4], wanted[:4], atol=0.00501)
    off = {name: np.abs(np.array(numbers["rungs"][name]) - exact) for name in ("mackay", "hessian")}
    pattern = r"at most (\d\.\d+) nats .*?, at σ = (\d\.\d+)\. With the exact Hessian .*? up to (\d\.\d) nats"
    said = re.search(pattern, text)
    assert float(said[1]) == pytest.approx(off["mackay"].max(), abs=0.006)
    assert float(said[2]) == pytest.approx(numbers["sigma"][int(off["mackay"].argmax())], abs=0.006)
    assert float(said[3]) == pytest.approx(off["hessian"].max(), abs=0.06)
    assert f"At σ = {numbers['sigma'][-1]:.3g} the formula is {off['mackay'][-1]:.2f} nats off" in text
    assert f"ellipse contains {100 * numbers['posterior'][-1]['covered']['mackay']:.0f} % of the exact" in text


# --- in a browser -----------------------------------------------------------------------------------------------------

SETTLED = "document.getElementById('explorer').dataset.settled === 'true'"
STATE = """(() => {
  const root = document.getElementById('explorer'), text = (s) => root.querySelector(s).textContent;
  const pictures = {};
  for (const canvas of root.querySelectorAll('canvas')) pictures[canvas.dataset.draw] = canvas.toDataURL();
  return { stop: Number(root.dataset.stop), sigma: text('[data-show="sigma"]'), says: text('[data-show="says"]'),
    total: text('[data-part="total"]'), mackay: text('[data-off="mackay"]'), pictures,
    value: root.querySelector('input').getAttribute('aria-valuetext'),
    bar: root.querySelector('[data-bar="fit"] i').style.width,
    wide: document.documentElement.scrollWidth - window.innerWidth };
})()"""


def middle(browser, selector, share=0.5):
    """A place within an element, at a share of its width."""
    browser.run(f"document.querySelector('{selector}').scrollIntoView({{block: 'center'}})")
    place = f"document.querySelector('{selector}').getBoundingClientRect()"
    return browser.run(f"(() => {{ const r = {place}; return [r.left + {share} * r.width, r.top + r.height / 2]; }})()")


def settled(browser, stop=None):
    if stop is not None:
        browser.wait(f"Number(document.getElementById('explorer').dataset.stop) === {stop}")
    browser.wait(SETTLED)
    return browser.run(STATE)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as running:
        yield running


def agrees(state, numbers):
    """The numbers on the screen against those of the stop."""
    i, minus = state["stop"], "−"
    exact, mackay = numbers["rungs"]["quadrature"][i], numbers["rungs"]["mackay"][i]
    assert state["sigma"] == f"σ = {numbers['sigma'][i]:.3g}"
    assert float(state["total"].replace(minus, "-")) == pytest.approx(exact, abs=0.00501)
    assert float(state["mackay"].replace(minus, "-")) == pytest.approx(mackay - exact, abs=0.000501)
    assert f"γeff = {numbers['gamma_eff'][i]:.3g} " in state["says"]
    side = "low" if mackay < exact else "high"
    off = f"{abs(mackay - exact):.2f}"
    assert f"{off} nats too {side}" in state["says"] or (off == "0.00" and "a hundredth of a nat" in state["says"])
    assert f"ellipse contains {100 * numbers['posterior'][i]['covered']['mackay']:.0f} %" in state["says"]
    behind = numbers["rungs"]["quadrature"][numbers["best"]] - exact
    assert ("most probable" in state["says"]) == (behind == 0.0)
    assert ("too narrow" in state["says"]) == (i < numbers["best"] and behind >= 5.0)


@needs_chromium
def test_the_slider_moves_numbers_and_pictures_by_keyboard_mouse_and_touch(browser, numbers):
    browser.open(PAGE.as_uri())
    best = numbers["best"]
    seen = [settled(browser, best)]
    browser.run("document.querySelector('#explorer input').focus()")
    for key, stop in (("ArrowLeft", best - 1), ("ArrowLeft", best - 2), ("End", 60), ("Home", 0)):
        browser.press(key)
        seen.append(settled(browser, stop))
    browser.click(*middle(browser, "#explorer [data-stop]:last-child"))
    seen.append(settled(browser, stops(read_result(PAGE.with_suffix(".json"))).wide))
    browser.click(*middle(browser, '#explorer [data-draw="evidence"]', 0.3))
    seen.append(settled(browser))
    browser.tap(*middle(browser, "#explorer input", 0.75))
    seen.append(settled(browser))
    assert 40 <= seen[-1]["stop"] <= 50
    assert len({state["stop"] for state in seen}) == len(seen)
    for name in ("evidence", "posterior", "plane"):
        assert len({state["pictures"][name] for state in seen}) == len(seen), name
    assert len({state["bar"] for state in seen}) == len(seen)
    for state in seen:
        agrees(state, numbers)
        assert state["value"].startswith(state["sigma"] + ", log evidence −")
    assert browser.complaints == []
    assert all(url == PAGE.as_uri() or url.startswith("data:") for url in browser.requests)


@needs_chromium
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits_the_screen_in_light_and_dark(browser, width, dark):
    browser.open(PAGE.as_uri() + "#sigma=0.27", width, 900, dark=dark)
    state = settled(browser)
    assert state["sigma"] == "σ = 0.27"
    assert state["wide"] <= 0
    panel = browser.run("getComputedStyle(document.querySelector('#explorer .panel')).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", panel)[:3])) < 380) == dark
    assert browser.complaints == []


@needs_chromium
def test_without_scripts_there_is_a_figure(browser):
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.call("Page.navigate", url=PAGE.as_uri())
        text = PAGE.read_text("utf-8")
        assert "The slider needs JavaScript." in re.search(r"<noscript>(.*?)</noscript>", text, re.DOTALL)[1]
        assert re.search(r'<img src="data:image/png;base64,[^"]+" alt="Log evidence against', text)
    finally:
        browser.call("Emulation.setScriptExecutionDisabled", value=False)
