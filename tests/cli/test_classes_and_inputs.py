"""The command line with more than two classes, with leave-one-out criteria, and `select`."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from bayes_lssvm import BayesianLSSVC, EvidenceSelector, datasets
from bayes_lssvm.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    for name in ("wine", "iris", "heart"):
        assert main(["datasets", name, "--csv", str(folder / f"{name}.csv")]) == 0
    return folder


@pytest.fixture(scope="module")
def wine():
    return datasets.load("wine")


WINE = ("--target", "cultivar", "--task", "classification", "--kernel", "linear")


@pytest.mark.parametrize("settings", [{}, {"coding": "ecoc"}, {"coding": "ova", "decoding": "hamming"}])
def test_more_classes_are_fitted_saved_and_predicted(settings, run, folder, wine, tmp_path):
    words = [word for name, value in settings.items() for word in (f"--{name}", value)]
    model_file = tmp_path / "model.npz"
    code, out, _ = run("fit", folder / "wine.csv", *WINE, *words, "--out", model_file)
    assert code == 0
    assert "classes 0 (59 rows), 1 (71 rows), 2 (48 rows)" in out
    assert "3 binary members" in out
    model = BayesianLSSVC("linear", **settings).fit(*wine.Xy)
    assert f"{model.log_evidence_:.3f}, the sum over the members" in out
    code, out, _ = run("predict", model_file, folder / "wine.csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert [int(row["label"]) for row in rows] == model.predict(wine.data).tolist()
    assert ("P(2)" in rows[0]) == (settings.get("decoding") is None)
    if "P(2)" in rows[0]:
        found = np.array([[float(row[f"P({c})"]) for c in range(3)] for row in rows])
        np.testing.assert_allclose(found, model.predict_proba(wine.data), rtol=1e-9, atol=1e-300)


def test_priors_and_costs_have_a_number_for_each_class(run, folder, wine, tmp_path):
    model_file = tmp_path / "model.npz"
    assert run("fit", folder / "wine.csv", *WINE, "--class-prior", "2=0.5,0=0.2,1=0.3", "--out", model_file)[0] == 0
    model = BayesianLSSVC("linear").fit(*wine.Xy)
    _, out, _ = run("predict", model_file, folder / "wine.csv", "--costs", "1,1,50", "--json")
    found = json.loads(out)
    prior = [0.2, 0.3, 0.5]
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(wine.data, class_prior=prior), atol=1e-12)
    costs = [[0, 1, 1], [1, 0, 1], [50, 50, 0]]
    assert found["labels"] == model.predict(wine.data, class_prior=prior, costs=costs).tolist()
    code, _, err = run("predict", model_file, folder / "wine.csv", "--costs", "1,5")
    assert (code, "is not 3 numbers" in err) == (2, True)
    code, _, err = run("predict", model_file, folder / "wine.csv", "--class-prior", "0.2,0.2,0.2")
    assert (code, "sum to one" in err) == (2, True)


def test_json_has_every_member(run, folder, wine):
    _, out, _ = run("fit", folder / "wine.csv", *WINE, "--json")
    found = json.loads(out)
    model = BayesianLSSVC("linear").fit(*wine.Xy)
    assert np.array(found["code_book"]).shape == (3, 3)
    assert [m["mu"] for m in found["members"]] == pytest.approx([m.mu_ for m in model.members_])
    assert (found["members"][0]["positive"], found["members"][0]["negative"]) == ([1], [0])
    assert found["log_evidence"] == pytest.approx(model.log_evidence_)


REFUSED = {
    "coding of two": (["fit", "{heart}", "--target", "heart_disease", "--coding", "ova"], "more than two classes"),
    "coding of a number": (["fit", "{wine}", "--target", "ash", "--decoding", "bayes"], "is for classification"),
    "prior without probabilities": (
        ["fit", "{wine}", *WINE, "--decoding", "loss", "--class-prior", "0.2,0.3,0.5"],
        "gives no probabilities",
    ),
    "coupling": (["fit", "{wine}", *WINE, "--decoding", "coupling", "--coding", "ova"], "--coding ovo"),
    "criterion and kernel": (
        ["fit", "{heart}", "--target", "heart_disease", "--criterion", "press-laplace"],
        'needs kernel="ard"',
    ),
    "criterion without search": (
        ["fit", "{heart}", "--target", "heart_disease", "--criterion", "press", "--no-refine"],
        "nothing to do",
    ),
    "maximised of three": (
        ["compare", "{wine}", *WINE[:4], "--kernel-parameters", "maximised"],
        "--kernel-parameters maximised is for two classes",
    ),
    "an integral without its Occam factor": (
        ["compare", "{wine}", *WINE[:4], "--no-occam"],
        "--no-occam is for --kernel-parameters maximised",
    ),
    "a prior of maximised parameters": (
        ["compare", "{heart}", "--target", "heart_disease", "--kernel-parameters", "maximised", "--prior-sensitivity"],
        "--prior-sensitivity needs kernel parameters with a prior",
    ),
    "select of three": (["select", "{wine}", *WINE[:4]], "this command is for two classes"),
    "select by other scales": (
        ["select", "{heart}", "--target", "heart_disease", "--direction", "ard", "--kernel", "rbf"],
        "ranks by the scales",
    ),
    "a price below zero": (["select", "{heart}", "--target", "heart_disease", "--price", "-1"], "not a number ≥ 0"),
    "labels without end": (
        ["fit", "{wine}", "--target", "proline", "--task", "classification"],
        "too many to be classes",
    ),
}


@pytest.mark.parametrize(("words", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_work_gets_a_sentence(words, sentence, run, folder):
    names = {name: folder / f"{name}.csv" for name in ("wine", "heart")}
    code, out, err = run(*(str(word).format(**names) for word in words))
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("error: ")
    assert sentence in err


def test_text_labels_need_no_task(run, folder, tmp_path):
    lines = (folder / "iris.csv").read_text().splitlines()
    named = [lines[0]] + [f"{line.rsplit(',', 1)[0]},type {line[-1]}" for line in lines[1:]]
    (tmp_path / "iris.csv").write_text("\n".join(named))
    target = lines[0].rsplit(",", 1)[1]
    code, out, err = run("fit", tmp_path / "iris.csv", "--target", target, "--kernel", "linear", "--coding", "moc")
    assert code == 0, err
    assert "moc, 2 binary members" in out
    code, _, err = run("fit", folder / "iris.csv", "--target", target, "--kernel", "linear")
    assert (code, "use --task classification" in err) == (0, True)


def test_a_criterion_and_relevances_are_shown(run, tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 5))
    y = np.sin(1.5 * X[:, 0]) + 0.7 * X[:, 1] + 0.4 * rng.normal(size=90) > 0
    lines = ["a,b,c,d,e,side"] + [
        ",".join(map(repr, row)) + f",{label}" for row, label in zip(X.tolist(), y, strict=True)
    ]
    path = tmp_path / "data.csv"
    path.write_text("\n".join(lines))
    words = ("fit", path, "--target", "side", "--kernel", "ard", "--criterion", "press-laplace")
    code, out, _ = run(*words)
    assert code == 0
    model = BayesianLSSVC("ard", criterion="press-laplace").fit(X, y)
    best = "abcde"[int(np.argmax(model.relevance_))]
    assert f"relevance 1/s²     {best} {model.relevance_.max():.3g}, " in out
    assert "(by press-laplace, with γ)" in out
    found = json.loads(run(*words, "--json")[1])
    assert found["criterion"] == "press-laplace"
    assert found["selected"] == ["abcde"[i] for i in model.selected_]
    assert list(found["relevance"].values()) == pytest.approx(model.relevance_.tolist())


def test_select_is_the_selector(run, folder, tmp_path):
    heart = datasets.load("heart")
    words = (
        "select",
        folder / "heart.csv",
        "--target",
        "heart_disease",
        "--direction",
        "forward",
        "--kernel",
        "linear",
    )
    _, out, _ = run(*words, "--json")
    found = json.loads(out)
    selector = EvidenceSelector("forward", kernel="linear").fit(*heart.Xy)
    names = [heart.feature_names[i] for i in selector.selected_]
    assert found["selected"] == names
    assert [step["log_evidence"] for step in found["steps"]] == pytest.approx(
        [step.log_evidence for step in selector.path_.steps]
    )
    code, out, _ = run(*words, "--out", tmp_path / "selected.csv")
    assert code == 0
    assert f"selected  {', '.join(names)}" in out
    with (tmp_path / "selected.csv").open() as stream:
        rows = list(csv.reader(stream))
    assert rows[0] == [*names, "heart_disease"]
    assert len(rows) == 271
    expected = heart.data[:, selector.selected_]
    np.testing.assert_array_equal(np.array([row[:-1] for row in rows[1:]], dtype=float), expected)
