"""What pages open with: badges derived from numbers, sentences that can be counted, words that are explained."""

from __future__ import annotations

import base64
import json
import re
from importlib import import_module
from pathlib import Path

import pytest

from reports.command.gallery import FOLDER
from reports.frame.answer import MOST_WORDS, STATES, Answer, count_words, graded, worst
from reports.frame.glossary import WORDS, entries
from reports.frame.html import TEMPLATES, as_csv, explained
from reports.frame.page import Row, Table
from reports.pages import (
    agreement,
    explorer,
    many_rows,
    multiclass_calibration,
    paper2_usps,
    papers,
    predictive_scores,
    psis_loo,
)
from reports.pages.bayes_factors import sentences as bayes_factors
from reports.pages.calibration import sentences as calibration
from reports.pages.error_bars import bars as error_bars
from reports.pages.factor_calibration import sentences as factor_calibration
from reports.pages.field import sentences as field
from reports.pages.laplace_reference import sentences as laplace_reference
from reports.pages.map_of_trust import sentences as map_of_trust
from reports.pages.moderated_output import sentences as moderated_output
from reports.pages.paper4_dax import sentences as paper4_dax
from reports.pages.paper4_ovarian import sentences as paper4_ovarian
from reports.pages.prior_sensitivity import sentences as prior_sensitivity
from reports.pages.section_7_1 import sentences as section_7_1

HOLDS, CARE, FAILS = STATES
evidence = import_module("reports.pages.evidence.ladder")  # the package has a function of that name

# arguments that hold, that hold with care, and that fail, on either side of each limit where there is one
BADGES = {
    explorer: [((0.5,), (1.0,), (1.01,))],
    section_7_1: [((0.0004, 0.02, True), (0.02, 0.0004, True), (0.0004, 0.02, False)), (None, None, (0.1, 0.1, True))],
    error_bars: [((16, 16), (15, 16), (7, 16)), (None, (8, 16), (0, 16))],
    evidence: [((0.1, 0.5), (0.11, 0.5), (1.01, 0.2)), (None, (0.0, 0.51), (0.0, 1.01)), (None, (1.0, 1.0), None)],
    bayes_factors: [((True, 0, 0.9), (True, 1, 0.9), (True, 0, 1.1)), (None, (False, 0, 0.1), (False, 3, 2.0))],
    moderated_output: [((0.05,), (0.051,), (0.151,)), (None, (0.15,), (float("nan"),))],
    map_of_trust: [((90, 100), (89, 100), (0, 100)), (None, (1, 100), None)],
    calibration: [((0, 0.88), (1, 0.75), (1, 0.74)), ((0, 0.5), None, None)],
    prior_sensitivity: [((0.0, "probability"), (0.1, "probability"), (0.9, "probability"))],
    agreement: [((10, 10), (9, 10), (8, 10))],
    predictive_scores: [(([],), ([0.02],), ([0.01, 0.03],))],
    multiclass_calibration: [((4, 4), (2, 4), (1, 4))],
    field: [((0, 9, 10), (0, 8, 10), (1, 10, 10))],
    laplace_reference: [((0, 0), (3, 0), (3, 1))],
    psis_loo: [(([1.0, -1.0], [False, True]), ([0.2, -3.0], [False, True]), ([2.0, -3.0], [False, True]))],
    many_rows: [((2, 2, 5, 10), (1, 2, 5, 10), (1, 2, 4, 10)), (None, (2, 2, 4, 10), None)],
    factor_calibration: [((True, True), (True, False), (False, False)), (None, None, (False, True))],
    papers: [((2, 80), (8, 80), (9, 80)), (None, (0, 0), None)],
    paper2_usps: [((2, 2), (1, 2), (0, 2))],
    paper4_dax: [((0.3, 0.1), (0.15, 0.1), (-0.1, 0.01)), (None, None, (0.0, 0.1))],
    paper4_ovarian: [((4, 0, 4), (3, 1, 4), (0, 4, 4)), (None, (0, 0, 4), None)],
}
CASES = [
    (module, state, arguments)
    for module, rows in BADGES.items()
    for row in rows
    for state, arguments in zip(STATES, row, strict=True)
    if arguments is not None
]


@pytest.mark.parametrize(("module", "state", "arguments"), CASES)
def test_a_badge_follows_from_its_numbers(module, state, arguments):
    assert module.badge(*arguments) == state


@pytest.mark.parametrize("module", BADGES)
def test_every_page_states_the_rule_of_its_badge(module):
    for word in STATES:
        assert word in module.RULE.lower()


def test_grades_have_two_limits_and_what_is_no_number_fails():
    assert [graded(v, 1.0, 2.0) for v in (0.5, 1.0, 1.5, 2.0, 2.5, float("nan"))] == [
        HOLDS, HOLDS, CARE, CARE, FAILS, FAILS,
    ]  # fmt: skip
    assert worst(HOLDS, CARE) == CARE
    assert worst(FAILS, CARE, HOLDS) == FAILS


def test_an_answer_that_is_too_long_is_refused():
    assert count_words("σ = 1.3 and 90 % of it") == 8
    Answer(HOLDS, "word " * MOST_WORDS, ("a", "b", "c"))
    with pytest.raises(ValueError, match="at most 25 words and at most 3 points, but got 26 words and 0 points"):
        Answer(HOLDS, "word " * (MOST_WORDS + 1))
    with pytest.raises(ValueError, match="but got 1 words and 4 points"):
        Answer(HOLDS, "word", tuple("abcd"))


RECORDS = sorted(path.name for path in FOLDER.glob("*.json"))


@pytest.mark.parametrize("name", RECORDS)
def test_pages_of_the_gallery_answer_in_one_line(name):
    record = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    assert 5 <= count_words(record["verdict"]) <= MOST_WORDS
    assert record["verdict"].endswith(".")
    assert len(record["points"]) <= 3
    assert all(count_words(point) <= 30 for point in record["points"])
    assert record["badge"] in STATES
    assert record["thumbnail"].startswith("data:image/png;base64,")
    text = (FOLDER / record["file"]).read_text(encoding="utf-8")
    assert text.count('class="verdict"') == 1
    shown = "<canvas" if "<canvas" in text else "<figure>"  # the explorer moves
    assert text.index('class="verdict"') < text.index(shown) < text.index('id="key-table"') < text.index('class="part"')


def test_the_gallery_shows_every_state_and_links_all_its_pages():
    index = (FOLDER / "index.html").read_text(encoding="utf-8")
    for name in RECORDS:
        assert f'href="{name.removesuffix(".json")}.html"' in index
    for state in STATES:
        assert f'<span class="badge {state.replace(" ", "-")}"><span' in index


# --- words -----------------------------------------------------------------------------------------------------------


def test_the_first_place_of_a_word_is_a_link_to_its_meaning():
    text = str(explained("MOC beats ECOC; MOC again, `MOC` never, γ_eff < 5.2 and the evidence (5.2)."))
    assert text.count("<a ") == text.count("</a>") == 5
    assert 'title="minimal output coding' in text
    assert "again, <code>MOC</code> never" not in text.split("<a")[0]
    assert "&lt; 5.2 and" in text  # a number is no equation
    assert 'title="paper 0, eq. 5.2' in text
    assert "γ<sub>eff</sub></a>" in text
    words = [word for _, word, _ in entries(text)]
    assert sorted(words) == sorted(["MOC", "ECOC", "γ_eff", "evidence", "(5.2)"])


@pytest.mark.parametrize("word", ["bld", "MOC", "BayM", "(5.2)", "(5.3)", "NUTS", "ECE", "nats", "CV10", "GP_b"])
def test_code_words_have_a_meaning(word):
    assert f'title="{WORDS[word].split("√")[0][:12]}' in str(explained(f"with {word}, here")).replace("&#39;", "'")


def test_words_inside_other_words_are_left_alone():
    for text in ("Bayesian", "ARXIV", "bld2", "log_sigma", "γ_effective", "σ_logμ|D"):
        assert "<a " not in str(explained(text)), text


@pytest.mark.parametrize("old", ["taken for", "sure by", "rung", "to stand against", "equal medians", " held "])
def test_pages_of_the_gallery_are_in_plain_words(old):
    for name in RECORDS:
        record = json.loads((FOLDER / name).read_text(encoding="utf-8"))
        said = [record["verdict"], *record["points"], *record["findings"], record["introduction"]]
        assert not [sentence for sentence in said if old in sentence], name


# --- tables and colours ----------------------------------------------------------------------------------------------


def test_a_table_is_a_csv_file_too():
    table = Table("T", ("", "a, b"), (Row("Head"), Row("  x", ("−1.5 ± 0.1",))))
    head, _, content = as_csv(table).partition("base64,")
    assert head == "data:text/csv;charset=utf-8;"
    assert base64.b64decode(content).decode() == ',"a, b"\nHead\nx,-1.5 ± 0.1\n'


def luminance(colour):
    """Relative luminance of "#rrggbb" by WCAG 2."""
    parts = [int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def palettes():
    """The colours of the pages: light, and dark over them."""
    css = (TEMPLATES / "base.html.j2").read_text(encoding="utf-8")
    blocks = re.findall(r":root \{(.*?)\}", css, re.DOTALL)[:2]
    light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in blocks)
    return {"light": light, "dark": {**light, **dark}}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_have_the_contrast_that_wcag_asks_for(scheme):
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    found = palettes()[scheme]
    pairs = [(text, ground) for text in ("ink", "soft", "link", "bad") for ground in ("paper", "tint")]
    pairs += [(state, ground) for state in ("holds", "care", "fails") for ground in ("paper", f"{state}-tint")]
    pairs += [("ink", f"{state}-tint") for state in ("holds", "care", "fails")] + [("bad", "bad-tint")]
    for text, ground in pairs:
        assert contrast(found[text], found[ground]) >= 4.5, (text, ground)
    assert contrast(found["focus"], found["paper"]) >= 3.0


def test_squares_of_a_mosaic_can_be_read():
    """White marks on colours of their own, in both schemes; squares that were not computed have the pages' colours."""
    css = (TEMPLATES / "base.html.j2").read_text(encoding="utf-8")
    grounds = re.findall(r"mosaic-key span\)\.\w+ \{ background: (#[0-9a-f]{6}); color: #fff; \}", css)
    assert len(grounds) == 3
    for ground in grounds:
        assert contrast("#ffffff", ground) >= 4.5, ground


def explorer_palettes():
    """The colours of the explorer: light, and the two places that make it dark."""
    css = (Path(explorer.__file__).parent / "explorer.css").read_text(encoding="utf-8")
    blocks = re.findall(r"\.explorer \{ (--x-ink.*?)\}", css, re.DOTALL)
    light, by_scheme, by_choice = (dict(re.findall(r"--x-([\w-]+): (#[0-9a-f]{6})", block)) for block in blocks)
    return {"light": light, "dark, by scheme": by_scheme, "dark, by choice": by_choice}


@pytest.mark.parametrize("scheme", ["light", "dark, by scheme", "dark, by choice"])
def test_colours_of_the_explorer_have_the_contrast_that_wcag_asks_for(scheme):
    """4.5 for letters; 3 for lines and bars, which its tables name beside each other (WCAG 2, 1.4.11)."""
    found = explorer_palettes()[scheme]
    for text in ("ink", "soft"):
        for ground in ("panel", "faint"):
            assert contrast(found[text], found[ground]) >= 4.5, (text, ground)
    assert contrast(found["panel"], found["ink"]) >= 4.5  # the button that is pressed
    for line in ("exact", "mackay", "hessian", "laplace", "importance", "gain"):
        assert contrast(found[line], found["panel"]) >= 3.0, line
