"""Section 7.1 of paper 0 by `python -m reports`, and the study behind it: printed, drawn and written."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.metrics import brier_score_loss, log_loss

from bayes_lssvm import BayesianLSSVC, datasets
from bayes_lssvm.base.files import write_bytes
from bayes_lssvm.kernels import RBF
from bayes_lssvm.levels.level3 import evidence_of
from reports.__main__ import main
from reports.draw.style import as_png, new_figure
from reports.frame.html import as_html, draw
from reports.frame.page import aligned
from reports.pages import page_of
from reports.pages.section_7_1 import main_table
from reports.pages.section_7_1.figures import figure_evidence
from reports.pages.section_7_1.hero import GAP, NOISE, hero, sinc_fit
from reports.pages.section_7_1.sentences import findings
from validation.harness import load_data, run
from validation.registry import get_study
from validation.studies.section_7_1 import Printed, evidence_curve, from_record, probability_map, study

PICTURES = ("figure_2", "figure_3", "evidence")


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """One run of the whole program: exit status, folder, stdout, stderr."""
    folder = tmp_path_factory.mktemp("report") / "made" / "by the program"
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(["--study", "section-7-1", "--output", str(folder)])
    return status, folder, out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def coarse():
    """The study with few points on its curves and its map; the designs are the same."""
    return study(n_wide=5, n_near=21, n_map=(31, 21))


@pytest.fixture(scope="module")
def toy(tmp_path_factory):
    """The same through the harness."""
    folder = tmp_path_factory.mktemp("section-7-1")
    return run(get_study("section-7-1"), load_data("ripley"), size="toy", folder=folder, progress=False)


@pytest.fixture(scope="module")
def classifier():
    data = datasets.load("ripley")
    return BayesianLSSVC("rbf", occam=False, moderation="class").fit(*data.Xy), *data.test_Xy


def cells(text, label):
    """The numbers of the printed row that begins with the label."""
    (line,) = [line for line in text.splitlines() if line.strip().startswith(label)]
    return re.split(r"\s{2,}", line.strip())[1:]


class Page(HTMLParser):
    """What a page would load, and its images."""

    def __init__(self, text):
        super().__init__()
        self.loads, self.images, self.tags, self.styles = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.loads += [v for name, v in attrs if name in {"src", "href", "srcset", "data", "poster", "action"}]
        self.styles += [v for name, v in attrs if name == "style"]
        if tag == "img":
            self.images.append(dict(attrs))


# --- the printed report


def test_program_succeeds_quietly_and_ends_with_the_path_of_the_page(report):
    status, folder, out, err = report
    assert (status, err) == (0, "")
    last = out.splitlines()[-1]
    assert Path(last).samefile(folder / "index.html")


def test_output_fits_100_columns(report):
    text = report[2].splitlines()[:-1]  # the last line is a path of any length
    assert max(map(len, text)) <= 100


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("σ_MP", ["1.3110", "1.3111", "1.3283"]),
        ("μ_MP", ["–", "1.6676", "1.6391"]),
        ("ζ_MP", ["–", "2.7413", "2.7379"]),
        ("sign of the latent output (2.22)", ["90.6", "90.6", "90.7"]),
        ("moderated output (3.17)", ["90.6", "90.6", "90.7"]),
        ("ignoring its class priors", ["90.9", "90.9", "90.95"]),
        ("using P(−1) = 0.75", ["92.5", "92.5", "92.5"]),
    ],
)
def test_printed_table_of_section_7_1(report, label, expected):
    table = report[2].split("moderated output  ")[0]  # the first of the two tables
    assert cells(table, label) == expected


def test_verdict_says_which_criterion_gives_the_papers_width(report):
    text = " ".join(report[2].split())
    assert "its kernel width comes from the evidence without the Occam factor, not from the formula" in text
    assert "1.3111 without the Occam factor" in text
    assert "from 90.9 to 92.5 %" in text


# --- the verdict is computed


@pytest.mark.parametrize(
    ("sigma", "said"),
    [
        (1.3110, "and not, as the text says, of the formula (5.3)"),
        (1.3283, "the printed value, as the text says"),
        (1.2, "Neither criterion reproduces the printed value"),
    ],
)
def test_verdict_on_the_width_follows_the_numbers(coarse, sigma, said):
    assert said in findings(replace(coarse, printed=Printed(sigma=sigma)))[0]


def test_verdict_on_accuracies_follows_the_numbers(coarse):
    assert "by the formula (5.3) 90.7 % right by both rules (1 test point more than printed)" in findings(coarse)[1]
    worse = replace(coarse, without_occam=replace(coarse.without_occam, accuracy_moderated=0.896))
    assert (
        "90.6 % right by the sign of z and 89.6 % by the moderated output (10 test points fewer" in findings(worse)[1]
    )


def test_verdict_on_priors_follows_the_numbers(coarse):
    assert findings(coarse)[2].endswith("raises the accuracy from 90.9 to 92.5 %, without refitting, as printed.")
    worse = replace(coarse, without_occam=replace(coarse.without_occam, unbalanced_using=0.8))
    assert "lowers the accuracy from 90.9 to 80.0 %" in findings(worse)[2]
    assert "not what the paper prints" in findings(worse)[2]


# --- the study against other ways to the same numbers


def test_unbalanced_accuracy_equals_the_weighted_one(coarse, classifier):
    model, X, labels = classifier
    positive, weights = labels == 1, np.where(labels == 1, 1, 3)
    for prior, found in (
        ({0: 0.5, 1: 0.5}, coarse.without_occam.unbalanced_ignoring),
        ({0: 0.75, 1: 0.25}, coarse.without_occam.unbalanced_using),
    ):
        correct = (model.predict_proba(X, class_prior=prior)[:, 1] > 0.5) == positive
        assert found == pytest.approx(np.average(correct, weights=weights), abs=1e-12)
    assert coarse.n_unbalanced == weights.sum()


def test_scores_equal_scikit_learns(coarse, classifier):
    model, X, labels = classifier
    fitted = {
        moderation: BayesianLSSVC(model.kernel_, refine=False, prior="flat", moderation=moderation).fit(
            model.standardiser_.mean + model.X_fit_ * model.standardiser_.scale, model.y_fit_
        )
        for moderation in ("class", "target", "softmax")
    }
    for score in coarse.without_occam.scores:
        p = fitted[score.moderation].predict_proba(X)[:, 1]
        assert score.log_loss == pytest.approx(log_loss(labels, p), rel=1e-9)
        assert score.brier == pytest.approx(brier_score_loss(labels, p), rel=1e-9)


def test_evidence_curve_equals_the_spectrums_and_5_2_is_5_3_up_to_a_constant(coarse, ripley_standardised):
    X, y = ripley_standardised
    sigma = np.array([0.3, 1.3110, 5.0])
    curve = evidence_curve(X, y, sigma)
    direct = [evidence_of(RBF(s)(X), y) for s in sigma]
    np.testing.assert_allclose(curve.without_occam, [e.log_evidence_without_occam for e in direct], rtol=1e-9)
    np.testing.assert_allclose(curve.with_occam, [e.log_evidence for e in direct], rtol=1e-9)
    constant = curve.with_occam - [e.log_eq_5_3 for e in direct]
    np.testing.assert_allclose(constant, constant[0], rtol=0, atol=1e-8)


def test_curve_near_the_maxima_peaks_at_the_designs(coarse):
    near, step = coarse.near, coarse.near.sigma[1] - coarse.near.sigma[0]
    assert near.sigma[near.without_occam.argmax()] == pytest.approx(coarse.without_occam.sigma, abs=step)
    assert near.sigma[near.with_occam.argmax()] == pytest.approx(coarse.eq_5_3.sigma, abs=step)
    # no point of either curve beats the refined width
    assert near.without_occam.max() <= coarse.without_occam.log_evidence_without_occam + 1e-8
    assert near.with_occam.max() <= coarse.eq_5_3.log_evidence + 1e-8


def test_map_has_the_paper_s_axes_and_holds_what_its_captions_say(coarse, classifier):
    s = coarse.surface
    assert (s.x1[0], s.x1[-1], s.x2[0], s.x2[-1]) == (-1.5, 1.5, -0.5, 1.5)
    corners = s.probability[np.ix_([0, -1], [0, -1])]
    assert s.probability.max() > 0.99
    assert s.probability.min() < 0.01
    assert np.all((corners > 0.4) & (corners < 0.5))  # "levels off a little below ½"
    assert s.latent_std[0, 0] > 2 * s.latent_std[10, 15]  # the error bar grows away from the data
    one = probability_map(classifier[0], s.x1[3:4], s.x2[7:8])  # rows are x2, columns x1
    assert one.probability[0, 0] == pytest.approx(s.probability[7, 3], rel=1e-9)


# --- the files


def test_json_holds_the_numbers_and_their_provenance(report, coarse):
    written = json.loads((report[1] / "ripley.json").read_text(encoding="utf-8"))
    assert (written["study"], written["failed"]) == ("section-7-1", [])
    record = written["cells"][0]["values"]
    first, second = record["designs"]
    assert (first["criterion"], second["criterion"]) == ("without Occam", "eq 5.3")
    assert round(first["sigma"], 4) == 1.3111
    assert round(second["sigma"], 4) == 1.3283
    assert first["hessian"]["log_mu"] == pytest.approx(coarse.without_occam.hessian.log_mu, rel=1e-9)
    assert record["printed"]["sigma"] == 1.3110
    assert len(record["evidence_curve"]["wide"]["sigma"]) == len(record["evidence_curve"]["wide"]["with_occam"]) > 50
    assert written["provenance"]["data_sha256"] == load_data("ripley").sha256 == written["data"]["sha256"]
    assert {"bayes-lssvm", "python", "numpy", "scipy"} <= set(written["provenance"]["versions"])
    assert written["cells"][0]["settings"]["prior_sd"] == 3.0


def test_the_record_holds_the_whole_study(coarse, toy):
    (finished,) = toy.cells
    again = from_record(finished.values)
    assert again.designs == coarse.designs
    assert again.printed == coarse.printed
    for curve in ("wide", "near", "surface"):
        for name, values in vars(getattr(coarse, curve)).items():
            np.testing.assert_array_equal(getattr(getattr(again, curve), name), values)
    np.testing.assert_array_equal(again.X, coarse.X)
    np.testing.assert_array_equal(again.y, coarse.y)
    assert (again.n_test, again.n_unbalanced, again.prior_sd) == (1000, 2000, 3.0)


def test_page_loads_nothing_from_outside(report):
    text = (report[1] / "ripley.html").read_text(encoding="utf-8")
    page = Page(text)
    assert page.loads
    own = ("data:", "#", "index.html", "ripley.json", "figures/ripley/")
    assert all(address.startswith(own) for address in page.loads)
    assert not {"script", "iframe", "object", "embed"} & set(page.tags)
    without_images = re.sub(r"data:[a-z/]+;(charset=utf-8;)?base64,[A-Za-z0-9+/=]+", "", text)
    assert not re.search(r"https?://|url\(|@import", without_images)
    assert 'name="viewport"' in text


def test_page_embeds_the_written_figures_with_alt_texts(report):
    folder = report[1]
    page = Page((folder / "ripley.html").read_text(encoding="utf-8"))
    assert len(page.images) == len(PICTURES) == 3
    for image, picture in zip(page.images, PICTURES, strict=True):
        assert len(image["alt"]) > 40
        content = (folder / "figures" / "ripley" / f"{picture}.png").read_bytes()
        assert base64.b64decode(image["src"].removeprefix("data:image/png;base64,")) == content
        with Image.open(io.BytesIO(content)) as drawn:
            assert (int(image["width"]), int(image["height"])) == drawn.size


def test_page_shows_every_number_of_the_printed_table(report, coarse):
    text = (report[1] / "ripley.html").read_text(encoding="utf-8")
    for number in ("1.3110", "1.3111", "1.3283", "90.95", "92.5", "−250.8733", "0.3829", "0.2371"):
        assert f"<td>{number}</td>" in text


def test_page_escapes_text(toy):
    versions = {"bayes-lssvm": "<script>alert(1)</script>"}
    page = page_of(replace(toy, provenance={**toy.provenance, "versions": versions}))
    text = as_html(page, draw(page, dpi=20), command="make <b>it</b>", record="ripley.json")
    assert "<script>" not in text
    assert "make &lt;b&gt;it&lt;/b&gt;" in text
    assert "&lt;script&gt;" in text


@pytest.mark.parametrize("name", PICTURES)
def test_figures_are_pictures(report, name):
    with Image.open(report[1] / "figures" / "ripley" / f"{name}.png") as image:
        assert image.format == "PNG"
        assert min(image.size) >= 500
        ink = np.asarray(image.convert("L")) < 250
        colours = image.convert("RGB").getcolors(maxcolors=2**16)
    assert ink.mean() > 0.03
    assert len(colours) > 50


def test_a_figure_is_the_same_file_each_time(coarse):
    assert as_png(figure_evidence(coarse), dpi=40) == as_png(figure_evidence(coarse), dpi=40)


def test_text_can_be_made_without_drawing(coarse):
    assert cells(aligned(main_table(coarse)), "γ_eff") == ["–", "17.82", "17.62"]


# --- what goes wrong


def test_output_that_is_a_file_gets_a_sentence(tmp_path, capsys):
    taken = tmp_path / "taken"
    taken.write_text("mine")
    assert main(["--output", str(taken)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"could not be written to {taken}" in captured.err
    assert taken.read_text() == "mine"


def test_failed_write_leaves_nothing_behind(tmp_path):
    (tmp_path / "name").mkdir()  # a folder cannot be replaced by a file
    with pytest.raises(OSError):
        write_bytes(tmp_path / "name", b"content")
    assert [p.name for p in tmp_path.iterdir()] == ["name"]


# --- README's figure


def test_sinc_error_bars_grow_in_the_gap_and_cover_the_truth():
    fit = sinc_fit()
    assert not np.any((fit.x > GAP[0]) & (fit.x < GAP[1]))
    inside = (fit.grid > GAP[0] + 1) & (fit.grid < GAP[1] - 1)
    dense = (fit.grid > -9) & (fit.grid < GAP[0] - 1)
    assert fit.latent_std[inside].min() > 1.2 * np.median(fit.latent_std[dense])
    assert fit.latent_std[inside].max() > 2 * np.median(fit.latent_std[dense])
    within = np.abs(fit.mean - np.sinc(fit.grid / np.pi)) < 2 * fit.latent_std
    assert np.mean(within[inside | dense]) > 0.9
    assert fit.noise == pytest.approx(NOISE, rel=0.24)  # three standard errors of 80 points, √(1/160) each


def test_hero_is_drawn(coarse):
    with Image.open(io.BytesIO(as_png(hero(coarse, sinc_fit()), dpi=60))) as image:
        assert image.width > 700


def test_labels_without_room_make_a_figure_taller_instead_of_a_warning():

    with new_figure(3.0, 1.0) as figure:
        for axes in figure.subplots(6, 1):
            axes.set_title("two\nlines")
    png = as_png(figure)  # warnings are errors here
    assert png.startswith(b"\x89PNG")
    assert figure.get_figheight() > 1.0
