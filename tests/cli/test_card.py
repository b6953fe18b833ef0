"""The model card and figures: what they hold, that they need no network, and what is refused before the work."""

from __future__ import annotations

import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from bayes_lssvm import load
from bayes_lssvm.cli import choices, fit, main
from bayes_lssvm.cli.card import LeftOut, _auc, _short
from bayes_lssvm.displays.choosing import DISPLAYS
from tests.cli.test_your_files import churn, written

VOID = {"meta", "br", "path", "use", "rect", "image"}


class Page(HTMLParser):
    """Text of a page, its open tags, and every address in it."""

    def __init__(self, text):
        super().__init__()
        self.text, self.open, self.addresses, self.ids = "", [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.open += [] if tag in VOID else [tag]
        found = dict(attributes)
        self.addresses += [v for k, v in attributes if k in ("src", "href", "xlink:href") and v]
        self.ids += [found["id"]] if "id" in found else []

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attributes):
        self.addresses += [v for k, v in attributes if k in ("src", "href", "xlink:href") and v]

    def handle_data(self, data):
        self.text += data


def checked(path):
    """The page, whole and without a need for the network."""
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert not page.open
    assert all(address.startswith(("#", "data:")) for address in page.addresses)
    assert "url(http" not in text
    assert len(set(page.ids)) == len(page.ids)  # figures do not share names
    assert "nan" not in re.findall(r"\bnan\b", page.text.lower())
    return page


@pytest.fixture
def card(run, tmp_path):
    def make(table, *options):
        code, out, err = run("fit", table, *options, "--no-refine", "--report", tmp_path / "card.html")
        assert code == 0, err
        assert f"model card written to {tmp_path / 'card.html'}" in out
        return checked(tmp_path / "card.html")

    return make


def test_from_a_file_with_text_gaps_and_few_positives_to_a_card(card, tmp_path):
    table = churn(tmp_path / "churn.csv", n=100)
    page = card(table, "--target", "gone", "--impute", "median", "--out", tmp_path / "model.npz")
    for words in (
        "How good is it?",
        "Area under the ROC curve",
        "Confusion matrix",
        "Which columns matter?",
        "Can it be trusted?",
        "no (86, 86.0%), yes (14, 14.0%)",
        "one column of 0 and 1 for each of 3 categories",
        "missing values filled in",
        "left out: it looks like an identifier",
        "RBF(sigma=",
        "predicted P(yes), row left out",
        "bayes-lssvm predict",
        "model.encoding_.read(",
        "data_sha256",
    ):
        assert words in page.text
    model = load(tmp_path / "model.npz")
    assert f"{model.log_evidence_:.2f} nats" in page.text
    lead = page.text.split("How good")[0].strip().splitlines()[-1]
    assert len(lead.split()) <= 25


def test_a_regression_with_outliers_names_them(card, tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 2))
    y = 3.0 * x[:, 0] + 0.1 * rng.normal(size=60)
    y[7] += 30.0
    rows = [[f"{a:.4f}", f"{b:.4f}", f"{t:.4f}"] for (a, b), t in zip(x, y, strict=True)]
    page = card(written(tmp_path / "t.csv", ["a", "b", "t"], rows), "--target", "t", "--kernel", "linear")
    assert "1 row lies more than 3 standard deviations" in page.text
    assert "Targets within 90% intervals" in page.text
    assert "prediction, row left out" in page.text
    assert re.search(r"\b8\b", page.text)  # the eighth row


def test_several_classes_and_large_tables(card, tmp_path):
    rng = np.random.default_rng(1)
    rows = [[f"{rng.normal(2 * (i % 3)):.3f}", f"{rng.normal():.3f}", "abc"[i % 3]] for i in range(60)]
    table = written(tmp_path / "t.csv", ["x1", "x2", "kind"], rows)
    page = card(table, "--target", "kind")
    assert "3 binary models" in page.text
    assert "It gets" in page.text
    page = card(table, "--target", "kind", "--landmarks", "20")
    assert "not been checked on left-out rows" in page.text


def test_a_hostile_table_stays_text(card, tmp_path):
    evil = "<script>alert(1)</script>"
    rows = [[i, i % 3, (evil, "</svg><b>")[i % 2]] for i in range(20)]
    page = card(written(tmp_path / "t.csv", [f"{evil}x", "$\\frac{$", "y"], rows), "--target", "y")
    assert evil in page.text
    assert "script" not in page.open


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--report", "-"], "needs a file name"),
        (["--report", "no/such/card.html"], "there is no folder"),
        (["--report", "same", "--out", "same"], "name the same file"),
    ],
)
def test_a_card_that_cannot_be_written_is_refused_before_the_work(options, words, run, tmp_path, monkeypatch):
    monkeypatch.setattr(fit, "read_training", lambda *_, **__: pytest.fail("the work started"))
    code, out, err = run("fit", tmp_path / "t.csv", "--target", "y", *options)
    assert (code, out) == (2, "")
    assert words in err


def test_without_matplotlib_it_is_a_sentence(run, tmp_path, monkeypatch):
    monkeypatch.setattr("bayes_lssvm.cli.figures.find_spec", lambda name: None)
    code, _, err = run("fit", tmp_path / "t.csv", "--target", "y", "--report", tmp_path / "c.html")
    assert (code, 'pip install "bayes-lssvm[plots]"' in err) == (2, True)


def test_the_area_under_the_curve_is_scikit_learns():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 80)
    p = np.round(rng.random(80), 1)  # with ties
    found = LeftOut(np.column_stack([1 - p, p]), labels, None)
    assert _auc(found) == pytest.approx(roc_auc_score(labels, p), rel=1e-12)


@pytest.mark.parametrize(
    ("value", "text"), [(1550582.3, "1,550,582"), (0.01234, "0.01234"), (1e-9, "1e-09"), (0.0, "0")]
)
def test_numbers_of_the_card(value, text):
    assert _short(value) == text


# plot


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plot")
    table = churn(folder / "churn.csv", n=60)
    rows = [[f"{i / 7:.3f}", f"{np.sin(i / 7):.4f}"] for i in range(30)]
    line = written(folder / "line.csv", ["x", "t"], rows)
    held = ["--no-refine", "--out"]
    assert main(["fit", str(table), "--target", "gone", "--impute", "median", *held, str(folder / "c.npz")]) == 0
    assert main(["fit", str(line), "--target", "t", *held, str(folder / "r.npz")]) == 0
    return folder


def test_the_kinds_are_those_of_the_displays():
    assert tuple(DISPLAYS) == choices.FIGURES


@pytest.mark.parametrize(
    ("model", "options", "kind"),
    [
        ("c", [], "reliability"),
        ("c", ["--kind", "relevance"], "relevance"),
        ("c", ["--kind", "evidence", "--parameter", "sigma"], "evidence"),
        ("c", ["--kind", "surface", "--features", "age", "active"], "surface"),
        ("c", ["--kind", "reliability", "--data", "churn.csv", "--target", "gone", "--left-out"], "reliability"),
        ("r", [], "surface"),
        ("r", ["--kind", "left-out"], "left-out"),
        ("r", ["--kind", "hyperposterior"], "hyperposterior"),
    ],
)
def test_figures_of_saved_models(model, options, kind, models, run, tmp_path, monkeypatch):
    monkeypatch.chdir(models)
    for suffix, start in ((".png", b"\x89PNG"), (".svg", b"<?xml")):
        out = tmp_path / f"figure{suffix}"
        code, said, err = run("plot", f"{model}.npz", *options, "--out", out)
        assert (code, said) == (0, f"{kind} drawn to {out}\n"), err
        assert out.read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["c.npz", "--out", "x.gif"], "must say the format: .png, .svg, .pdf"),
        (["c.npz", "--out", "-"], "needs a file name"),
        (["c.npz", "--kind", "left-out", "--out", "x.png"], "no left-out predictions of real targets"),
        (["c.npz", "--kind", "surface", "--out", "x.png"], "There are 5 inputs: choose one or two"),
        (["c.npz", "--kind", "evidence", "--parameter", "nu", "--out", "x.png"], "no parameter 'nu'; it has sigma"),
        (["r.npz", "--features", "x", "--kind", "evidence", "--out", "x.png"], "is for --kind surface"),
        (["c.npz", "--kind", "reliability", "--data", "churn.csv", "--out", "x.png"], "give --target COLUMN"),
        (["c.npz", "--target", "gone", "--out", "x.png"], "give --data too"),
        (["c.npz", "--data", "churn.csv", "--target", "plan", "--out", "x.png"], "labels that the model does not know"),
        (["nothing.npz", "--out", "x.png"], "there is no file"),
    ],
)
def test_figures_that_cannot_be_drawn(options, words, models, run, monkeypatch):
    monkeypatch.chdir(models)
    code, out, err = run("plot", *options)
    assert (code, out) == (2, "")
    assert words in err
    assert not (models / "x.png").exists()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium")
@pytest.mark.parametrize("width", [390, 1280])
def test_the_card_fits_its_window(card, tmp_path, width):
    card(churn(tmp_path / "churn.csv", n=100), "--target", "gone", "--impute", "median")
    script = "<script>document.title = document.documentElement.scrollWidth + ' of ' + innerWidth</script>"
    text = (tmp_path / "card.html").read_text(encoding="utf-8").replace("</body>", f"{script}</body>")
    (tmp_path / "measured.html").write_text(text, encoding="utf-8")
    frame = f'<iframe id="f" src="measured.html" style="width:{width}px;height:900px"></iframe>'
    frame += "<script>onload = () => document.title = document.getElementById('f').contentDocument.title</script>"
    (tmp_path / "frame.html").write_text(frame, encoding="utf-8")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    command += ["--virtual-time-budget=3000", "--dump-dom", (tmp_path / "frame.html").as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r"<title>(\d+) of (\d+)", done.stdout)
    assert found, done.stdout[:500]
    assert int(found[1]) <= int(found[2])
