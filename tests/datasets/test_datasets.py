"""The data sets: shapes as in the papers' tables, codings, generators as defined, messages that help."""

from __future__ import annotations

import dataclasses
import inspect
import itertools
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.stats import norm

from bayes_lssvm import datasets
from bayes_lssvm.datasets import _codings, _generators, _registry

ROOT = Path(__file__).parents[2]

# Rows, inputs and class counts of the papers' tables (classes in sorted order).
SHIPPED = {
    "rsy": (250, 2, [125, 125]),
    "cra": (200, 6, [100, 100]),
    "tit": (2201, 3, [1490, 711]),
    "bld": (345, 6, [145, 200]),
    "gcr": (1000, 20, [700, 300]),
    "hea": (270, 13, [150, 120]),
    "ion": (351, 33, [126, 225]),
    "pid": (768, 8, [500, 268]),
    "snr": (208, 60, [111, 97]),
    "wbc": (683, 9, [444, 239]),
    "bal": (625, 4, [288, 49, 288]),
    "gla": (214, 9, [70, 76, 17, 13, 9, 29]),
    "veh": (846, 18, [218, 212, 217, 199]),
    "zoo": (101, 16, [4, 20, 13, 8, 41, 10, 5]),
    "ssd": (47, 21, [10, 10, 10, 17]),
    "eustockmarkets": (1860, 4, []),
    "iris": (150, 4, [50, 50, 50]),
    "wine": (178, 13, [59, 71, 48]),
}
GENERATED = ("led", "two_spirals", "twonorm", "ringnorm", "waveform")
IDA = {
    "ida_banana": (5300, 2, 10),
    "ida_breast_cancer": (277, 9, 10),
    "ida_diabetis": (768, 8, 1),
    "ida_flare_solar": (1066, 9, 0),
    "ida_german": (1000, 20, 10),
    "ida_heart": (270, 13, 10),
    "ida_image": (2310, 18, 10),
    "ida_ringnorm": (7400, 20, 10),
    "ida_splice": (3175, 60, 0),
    "ida_thyroid": (215, 5, 0),
    "ida_titanic": (2201, 3, 10),
    "ida_twonorm": (7400, 20, 0),
    "ida_waveform": (5000, 21, 10),
}
EXTERNAL = (*IDA, "usps", "new_thyroid", "dermatology")


def load_external(name: str, **options: object) -> datasets.Dataset:
    folder = os.environ.get("BAYES_LSSVM_DATA")
    file = _registry.find(name).file
    if not folder or not (Path(folder) / file).is_file():
        pytest.skip(f"BAYES_LSSVM_DATA names no folder that holds {file}")
    return datasets.load(name, **options)


def z_scores(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(0)) / X.std(0, ddof=1)


# Catalogue


def test_the_catalogue_lists_every_set_once():
    assert sorted(datasets.available().names) == sorted([*SHIPPED, *GENERATED, *EXTERNAL])


def test_the_catalogue_prints_one_line_a_set():
    catalogue = datasets.available()
    lines = repr(catalogue).splitlines()
    assert len(lines) == len(catalogue) + 1
    assert "Pima Indians diabetes" in repr(catalogue)
    assert {entry.origin for entry in catalogue} == {"shipped", "scikit-learn", "generated", "external"}


@pytest.mark.parametrize("name", [*SHIPPED, *GENERATED, *EXTERNAL])
def test_every_record_is_consistent(name):
    spec = _registry.find(name)
    assert len(spec.feature_names) == len(set(spec.feature_names)) == spec.shape[1]
    assert len(spec.classes) == len(spec.target_names)
    assert bool(spec.classes) == bool(spec.target_name)
    for part in ("source", "citation", "licence", "columns", "paper"):
        assert getattr(spec, part)
        assert getattr(spec, part) in spec.description


@pytest.mark.parametrize("name", [*SHIPPED, *GENERATED, *EXTERNAL])
def test_the_documentation_lists_every_set(name):
    page = (ROOT / "docs" / "reference" / "datasets.md").read_text(encoding="utf-8")
    spec = _registry.find(name)
    rows, inputs = spec.shape
    assert f"| `{name}` | {rows} × {inputs} | {len(spec.classes) or '–'} |" in page
    for part in ("source", "citation", "licence", "columns", "notes"):
        assert getattr(spec, part) in spec.description  # which is where the page sends its reader


def test_aliases_lead_to_sets_and_hide_none():
    for alias, name in _registry.ALIASES.items():
        assert alias not in _registry.SPECS
        assert _registry.find(alias).name == name


def test_names_are_read_forgivingly():
    assert datasets.load("Ripley").name == "rsy"
    assert datasets.load("two-spirals").name == datasets.load(" Two Spirals ").name == "two_spirals"


def test_an_unknown_name_gets_close_matches_and_the_list():
    with pytest.raises(ValueError, match=r"'rippley'.*Did you mean 'ripley'.*eustockmarkets") as caught:
        datasets.load("rippley")
    assert all(name in str(caught.value) for name in datasets.available().names)


def test_an_unknown_option_is_refused():
    with pytest.raises(TypeError, match="'pid' has no option 'coding': it has no options"):
        datasets.load("pid", coding="onehot")
    with pytest.raises(TypeError, match="'led' has no option 'turns': its options are n, seed, noise"):
        datasets.load("led", turns=2)


# Shipped sets and those of scikit-learn


@pytest.mark.parametrize("name", SHIPPED)
def test_shapes_and_class_counts(name):
    rows, inputs, counts = SHIPPED[name]
    found = datasets.load(name)
    assert found.name == name
    assert found.data.shape == (rows, inputs)
    assert found.data.dtype == np.float64
    assert found.data.flags.c_contiguous
    assert np.isfinite(found.data).all()
    assert len(found.feature_names) == inputs
    if counts:
        X, y = found.Xy
        assert len(X) == len(y) == rows
        labels, n = np.unique(y, return_counts=True)
        assert tuple(labels.tolist()) == found.classes
        assert n.tolist() == counts
    else:
        assert found.target is None
        assert found.classes == ()


@pytest.mark.parametrize("name", SHIPPED)
def test_descriptions_name_the_source(name):
    found = datasets.load(name)
    assert found.source in found.description
    assert found.citation in found.description
    assert found.licence in found.description


@pytest.mark.parametrize("name", ["rsy", "iris", "led"])
def test_every_call_gives_fresh_arrays(name):
    first = datasets.load(name)
    before = first.data.copy()
    first.data[:] = np.nan
    assert np.array_equal(datasets.load(name).data, before)


def test_a_dataset_is_frozen_and_prints_short():
    found = datasets.load("rsy")
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.name = "other"
    assert repr(found) == "Dataset('rsy', 250 × 2, 2 classes, 1000 test rows)"
    assert repr(datasets.load("dax")) == "Dataset('eustockmarkets', 1860 × 4, no target)"


def test_ripley_has_its_test_part():
    X, y = datasets.load("rsy").test_Xy
    assert X.shape == (1000, 2)
    assert np.bincount(y).tolist() == [500, 500]
    with pytest.raises(ValueError, match="'pid' has no fixed test part"):
        _ = datasets.load("pid").test_Xy


def test_the_stock_series_has_no_pair_to_unpack():
    with pytest.raises(ValueError, match="'eustockmarkets' has no target"):
        _ = datasets.load("eustockmarkets").Xy


def test_labels_are_those_of_the_source():
    assert datasets.load("hea").classes == (1, 2)
    assert datasets.load("hea").target_names == ("absent", "present")
    assert datasets.load("hea").target.dtype == np.int64
    assert datasets.load("snr").classes == ("M", "R")
    assert datasets.load("gla").classes == (1, 2, 3, 5, 6, 7)


def test_first_rows_are_those_of_the_source():
    german = dict(zip(datasets.load("gcr").feature_names, datasets.load("gcr").data[0], strict=True))
    # A11 6 A34 A43 1169 A65 A75 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192 A201
    assert list(german.values()) == [1, 6, 4, 3, 1169, 5, 5, 4, 3, 1, 4, 1, 67, 3, 2, 2, 3, 1, 1, 1]
    assert datasets.load("cra").data[0].tolist() == [0, 8.1, 6.7, 16.1, 19.0, 7.0]
    assert datasets.load("bld").data[0].tolist() == [85, 92, 45, 27, 31, 0]
    assert datasets.load("zoo").data[0].tolist() == [1, 0, 0, 1, 0, 0, 1, 1, 1, 1, 0, 0, 4, 0, 0, 1]


def test_crab_species_are_two_blocks_of_one_hundred():
    species = datasets.load("cra").data[:, 0]
    assert np.unique(species, return_counts=True)[1].tolist() == [100, 100]
    assert set(species) == {0, 1}


def test_titanic_coding_keeps_the_counts_of_the_report():
    X, y = datasets.load("tit").Xy
    assert np.unique(X[:, 0], return_counts=True)[1].tolist() == [325, 285, 706, 885]
    assert (X[:, 1] == 1).sum() == 109  # children
    assert (X[:, 2] == 0).sum() == 470  # women and girls
    crew_women = (X[:, 0] == 4) & (X[:, 2] == 0)
    assert (y[crew_women] == "Yes").sum() == 20
    assert len(np.unique(X, axis=0)) == 14


def test_balance_scale_obeys_the_law_of_the_lever():
    X, y = datasets.load("bal").Xy
    assert np.array_equal(y, 1 - np.sign(X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3]))


def test_notes_on_duplicates_and_zeros_hold():
    def repeats(name):
        found = datasets.load(name)
        rows = np.column_stack([found.data, np.unique(found.target, return_inverse=True)[1]])
        return len(rows) - len(np.unique(rows, axis=0))

    counts = {name: repeats(name) for name in ("bld", "ion", "gla", "iris", "wbc", "zoo")}
    assert counts == {"bld": 4, "ion": 1, "gla": 1, "iris": 1, "wbc": 234, "zoo": 42}
    zeros = (datasets.load("pid").data == 0).sum(0)
    assert zeros[1:6].tolist() == [5, 35, 227, 374, 11]


def test_german_levels_are_complete_and_counted_from_their_codes():
    assert _codings.german_codes("status") == {"A11": 1, "A12": 2, "A13": 3, "A14": 4}
    assert _codings.german_codes("purpose")["A410"] == 10
    assert _codings.german_codes("other_debtors") == {"A101": 1, "A102": 2, "A103": 3}
    assert _codings.german_codes("foreign_worker") == {"A202": 0, "A201": 1}
    assert sum(map(len, _codings.GERMAN_LEVELS.values())) == 54  # UCI's 56 less A47 and A95, which never occur


def test_german_onehot_carries_the_same_information():
    ordinal, onehot = datasets.load("gcr"), datasets.load("gcr", coding="onehot")
    assert onehot.data.shape == (1000, 59)
    assert len(onehot.feature_names) == len(set(onehot.feature_names)) == 59
    for column, levels in _codings.GERMAN_LEVELS.items():
        if len(levels) > 2:
            block = [i for i, f in enumerate(onehot.feature_names) if f.startswith(f"{column}=")]
            assert (onehot.data[:, block].sum(1) == 1).all()
            numbers = list(_codings.german_codes(column).values())
            assert np.array_equal(onehot.data[:, block] @ numbers, ordinal.data[:, ordinal.feature_names.index(column)])
    with pytest.raises(ValueError, match="'ordinal' or 'onehot'"):
        datasets.load("gcr", coding="dummy")


def test_soybean_drops_just_the_constant_columns():
    few, many = datasets.load("ssd"), datasets.load("ssd", columns=35)
    varying = np.ptp(many.data, axis=0) > 0
    assert np.array_equal(many.data[:, varying], few.data)
    assert tuple(np.array(many.feature_names)[varying]) == few.feature_names
    with pytest.raises(ValueError, match="columns must be 21"):
        datasets.load("ssd", columns=20)


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_names_are_those_of_scikit_learn(name):
    import sklearn.datasets

    theirs = getattr(sklearn.datasets, f"load_{name}")()
    found = datasets.load(name)
    assert found.feature_names == tuple(theirs.feature_names)
    assert found.target_names == tuple(theirs.target_names)
    assert np.array_equal(found.data, theirs.data)


# Generators


@pytest.mark.parametrize("name", GENERATED)
def test_generators_repeat_with_the_seed_and_take_their_options(name):
    make = getattr(datasets, f"make_{name}")
    assert tuple(inspect.signature(make).parameters) == _registry.find(name).options
    options = {"n": 60, "seed": 3} | ({"noise": 0.1} if name == "two_spirals" else {})
    X, y = make(**options)
    again = datasets.load(name, **options)
    assert np.array_equal(X, again.data)
    assert np.array_equal(y, again.target)
    assert not np.array_equal(X, make(**options | {"seed": 4})[0])
    assert np.array_equal(X, make(**options | {"seed": np.random.default_rng(3)})[0])
    assert X.dtype == np.float64
    assert y.dtype == np.int64


@pytest.mark.parametrize("name", GENERATED)
def test_generators_have_the_listed_shape_and_classes(name):
    found = datasets.load(name)
    assert found.data.shape == _registry.find(name).shape
    assert tuple(np.unique(found.target).tolist()) == found.classes


@pytest.mark.parametrize("name", GENERATED)
def test_generators_refuse_nonsense(name):
    with pytest.raises(ValueError, match="n "):
        datasets.load(name, n=0)
    with pytest.raises(ValueError, match="seed"):
        datasets.load(name, seed=None)


def test_led_flips_each_segment_one_time_in_ten():
    X, y = datasets.make_led(40_000, seed=1)
    flipped = _generators.led_segments()[y] != X
    standard_error = np.sqrt(0.1 * 0.9 / len(X))
    assert np.abs(flipped.mean(0) - 0.1).max() < 5 * standard_error
    correlations = np.corrcoef(flipped.T)[np.triu_indices(7, 1)]
    assert np.abs(correlations).max() < 5 / np.sqrt(len(X))
    assert np.abs(np.bincount(y) / len(y) - 0.1).max() < 5 * standard_error
    clean, digits = datasets.make_led(50, seed=1, noise=0)
    assert np.array_equal(clean, _generators.led_segments()[digits])
    with pytest.raises(ValueError, match="probability"):
        datasets.make_led(noise=1.5)


def test_led_has_the_published_bayes_rate():
    displays = np.array(list(itertools.product([False, True], repeat=7)))
    wrong = (displays[:, None, :] != _generators.led_segments()).sum(2)  # [128, 10]
    likelihood = 0.1**wrong * 0.9 ** (7 - wrong)
    assert likelihood.max(1).sum() / 10 == pytest.approx(0.74, abs=0.005)


def test_two_spirals_are_the_classical_points():
    X, y = datasets.make_two_spirals()
    assert X.shape == (194, 2)
    i = np.arange(97)
    radius, angle = 6.5 * (104 - i) / 104, i * np.pi / 16
    first = np.column_stack([radius * np.sin(angle), radius * np.cos(angle)])
    np.testing.assert_allclose(X[y == 1], first, atol=1e-14)
    np.testing.assert_allclose(X[y == -1], -first, atol=1e-14)


def test_two_spirals_are_not_linearly_separable():
    X, y = datasets.make_two_spirals()
    # Separable if and only if some (w, b) has y (w'x + b) >= 1 everywhere.
    rows = -y[:, None] * np.column_stack([X, np.ones(len(X))])
    free = [(None, None)] * 3
    assert linprog(np.zeros(3), A_ub=rows, b_ub=-np.ones(len(X)), bounds=free).status == 2  # infeasible


def test_two_spirals_options():
    X, _ = datasets.make_two_spirals(400, turns=1.5)
    radius = np.hypot(*X.T)
    assert (radius.max(), radius.min()) == pytest.approx((6.5, 0.5))
    noisy, _ = datasets.make_two_spirals(4000, seed=2, noise=0.3)
    exact, _ = datasets.make_two_spirals(4000)
    assert (noisy - exact).std() == pytest.approx(0.3, abs=5 * 0.3 / np.sqrt(2 * 8000))
    for wrong in ({"n": 195}, {"noise": -1}, {"turns": 0}):
        with pytest.raises(ValueError, match="must"):
            datasets.make_two_spirals(**wrong)


def assert_normal(X: np.ndarray, mean: float, variance: float) -> None:
    """Every mean, variance and correlation within five standard errors of the definition."""
    n, d = X.shape
    assert np.abs(X.mean(0) - mean).max() < 5 * np.sqrt(variance / n)
    assert np.abs(X.var(0, ddof=1) / variance - 1).max() < 5 * np.sqrt(2 / n)
    assert np.abs(np.corrcoef(X.T)[np.triu_indices(d, 1)]).max() < 5 / np.sqrt(n)


def test_twonorm_moments_and_bayes_error():
    X, y = datasets.make_twonorm(40_000, seed=5)
    a = 2 / np.sqrt(20)
    assert_normal(X[y == 1], a, 1.0)
    assert_normal(X[y == -1], -a, 1.0)
    bayes = norm.cdf(-2)  # 2.275 %
    error = np.mean(np.sign(X.sum(1)) != y)
    assert abs(error - bayes) < 5 * np.sqrt(bayes * (1 - bayes) / len(y))
    assert abs(np.mean(y)) < 5 / np.sqrt(len(y))


@pytest.mark.parametrize(("a", "bayes"), [(1 / np.sqrt(20), 0.0151), (2 / np.sqrt(20), 0.0124)])
def test_ringnorm_moments_and_bayes_error(a, bayes):
    X, y = datasets.make_ringnorm(40_000, seed=6, a=a)
    assert_normal(X[y == 1], 0.0, 4.0)
    assert_normal(X[y == -1], a, 1.0)
    wide = -(X**2).sum(1) / 8 - 20 * np.log(2)
    narrow = -((X - a) ** 2).sum(1) / 2
    error = np.mean(np.where(wide > narrow, 1, -1) != y)
    assert abs(error - bayes) < 5 * np.sqrt(bayes * (1 - bayes) / len(y))


def test_ringnorm_default_shift():
    assert np.array_equal(datasets.make_ringnorm()[0], datasets.make_ringnorm(a=2 / np.sqrt(20))[0])


def test_waveform_moments():
    X, y = datasets.make_waveform(60_000, seed=7, binary=False)
    h = _generators.base_waves()
    assert h.argmax(1).tolist() == [10, 14, 6]  # peaks at i = 11, 15, 7, counted from one
    for label, (first, second) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = X[y == label]
        # u uniform: mean (h_a + h_b)/2, covariance I + (h_a − h_b)(h_a − h_b)'/12.
        difference = h[first] - h[second]
        covariance = np.eye(21) + np.outer(difference, difference) / 12
        scale = np.sqrt(np.diag(covariance) / len(rows))
        assert (np.abs(rows.mean(0) - (h[first] + h[second]) / 2) < 5 * scale).all()
        variances = np.diag(covariance)
        spread = np.sqrt((np.outer(variances, variances) + covariance**2) / len(rows))
        assert (np.abs(np.cov(rows.T) - covariance) < 5 * spread).all()


def test_waveform_variants():
    X, y = datasets.make_waveform(3000, seed=8, binary=False)
    X_binary, y_binary = datasets.make_waveform(3000, seed=8)
    assert np.array_equal(X, X_binary)
    assert np.array_equal(y_binary == 1, y == 1)
    wide = datasets.load("waveform", n=3000, seed=8, noise_inputs=True, binary=False)
    assert wide.data.shape == (3000, 40)
    assert len(wide.feature_names) == 40
    assert len(wide.target_names) == len(wide.classes) == 3
    assert_normal(wide.data[:, 21:], 0.0, 1.0)


# Sets that are not shipped


@pytest.mark.parametrize("name", EXTERNAL)
def test_without_a_folder_the_message_says_what_to_do(name, monkeypatch, tmp_path):
    file = _registry.find(name).file
    monkeypatch.delenv("BAYES_LSSVM_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=f"is not set. Set BAYES_LSSVM_DATA to a folder that holds {file}"):
        datasets.load(name)
    monkeypatch.setenv("BAYES_LSSVM_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="has no such file") as caught:
        datasets.load(name)
    assert ("openml=True" in str(caught.value)) == (_registry.find(name).openml is not None)


def test_a_wrong_file_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("BAYES_LSSVM_DATA", str(tmp_path))
    np.savez(tmp_path / "ida_heart.npz", X=np.zeros((3, 13)))
    with pytest.raises(ValueError, match="lacks the arrays y, train, test"):
        datasets.load("ida_heart")
    empty = np.zeros((0, 0), dtype=int)
    np.savez(tmp_path / "ida_heart.npz", X=np.zeros((3, 13)), y=np.ones(3), train=empty, test=empty)
    with pytest.raises(ValueError, match="a different set"):
        datasets.load("ida_heart")


def test_pickled_arrays_are_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("BAYES_LSSVM_DATA", str(tmp_path))
    np.savez(tmp_path / "ida_heart.npz", X=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        datasets.load("ida_heart")


def test_npz_files_are_read(monkeypatch, tmp_path):
    monkeypatch.setenv("BAYES_LSSVM_DATA", str(tmp_path))
    rng = np.random.default_rng(0)
    order = np.array([rng.permutation(270) for _ in range(2)], dtype=np.int16)
    y = rng.choice(np.array([-1, 1], dtype=np.int8), 270)
    X = rng.integers(-9, 9, (270, 13), dtype=np.int8)
    np.savez(tmp_path / "ida_heart.npz", X=X, y=y, train=order[:, :170], test=order[:, 170:])
    found = datasets.load("ida_heart")
    assert repr(found) == "Dataset('ida_heart', 270 × 13, 2 classes, 2 splits)"
    assert found.data.dtype == np.float64
    assert [tuple(map(len, split)) for split in found.splits] == [found.split_sizes] * 2
    train, test = found.splits[1]
    assert np.array_equal(found.data[train], X[order[1, :170]])
    assert np.array_equal(found.target[test], y[order[1, 170:]])


class FakeOpenML:
    """Stands in for sklearn.datasets.fetch_openml, which needs a network."""

    def __init__(self, data, target):
        self.data, self.target = data, target

    def __call__(self, **arguments):
        from sklearn.utils import Bunch

        self.arguments = arguments
        names = [f"V{i}" for i in range(self.data.shape[1])]
        return Bunch(data=self.data, target=self.target, feature_names=names)


def test_openml_by_number(monkeypatch):
    fake = FakeOpenML(np.ones((5300, 2)), np.array(["1", "2"] * 2650, dtype=object))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", fake)
    found = datasets.load("banana", openml=True)
    assert fake.arguments == {"data_id": 1460, "as_frame": False, "parser": "liac-arff"}
    assert found.data.shape == (5300, 2)
    assert found.classes == (1, 2)
    assert found.target_names == ("1", "2")
    assert found.feature_names == ("V0", "V1")
    assert found.splits == ()
    assert "OpenML" in found.source
    assert "OpenML" in found.description


def test_openml_by_name_keeps_the_meaning_of_the_classes(monkeypatch):
    data = np.ones((366, 34))
    data[:8, 33] = np.nan
    fake = FakeOpenML(data, np.array([str(1 + i % 6) for i in range(366)], dtype=object))
    monkeypatch.setattr("sklearn.datasets.fetch_openml", fake)
    found = datasets.load("dermatology", openml=True, drop_missing=True)
    assert fake.arguments == {"name": "dermatology", "version": 1, "as_frame": False, "parser": "liac-arff"}
    assert found.data.shape == (358, 34)
    assert found.target_names[0] == "psoriasis"


def test_openml_refuses_what_it_does_not_have(monkeypatch):
    with pytest.raises(ValueError, match="no OpenML copy of 'usps' is known"):
        datasets.load("usps", openml=True)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", FakeOpenML(np.ones((5, 2)), np.array(["1"] * 5)))
    with pytest.raises(ValueError, match="a different set"):
        datasets.load("ida_banana", openml=True)


@pytest.mark.parametrize("name", IDA)
def test_ida_sets(name):
    found = load_external(name)
    rows, inputs, splits = IDA[name]
    assert found.data.shape == (rows, inputs)
    assert np.isfinite(found.data).all()
    assert set(found.target) == {-1, 1}
    assert len(found.splits) == splits
    for train, test in found.splits:
        assert (len(train), len(test)) == found.split_sizes
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(rows))
    assert sum(found.split_sizes) == rows


@pytest.mark.parametrize(
    ("ida", "ours"), [("heart", "hea"), ("diabetis", "pid"), ("titanic", "tit"), ("german", "gcr")]
)
def test_ida_sets_are_z_scored_shipped_ones(ida, ours):
    benchmark, shipped = load_external(f"ida_{ida}"), datasets.load(ours)
    assert benchmark.feature_names == shipped.feature_names
    # The benchmark codes one purpose 410 instead of 10, and counts foreign_worker the other way round.
    columns = [j for j, name in enumerate(shipped.feature_names) if name not in ("purpose", "foreign_worker")]
    ours_sorted = np.sort(z_scores(shipped.data)[:, columns], axis=0)
    np.testing.assert_allclose(np.sort(benchmark.data[:, columns], axis=0), ours_sorted, atol=2e-3)


def test_generators_agree_with_the_benchmark():
    for name, options in (("twonorm", {}), ("ringnorm", {"a": 2 / np.sqrt(20)}), ("waveform", {})):
        benchmark = load_external(f"ida_{name}")
        drawn = datasets.load(name, n=40_000, seed=9, **options)
        X = z_scores(drawn.data)
        for label in (-1, 1):
            theirs, mine = benchmark.data[benchmark.target == label], X[drawn.target == label]
            error = np.sqrt(theirs.var(0) / len(theirs) + mine.var(0) / len(mine))
            assert (np.abs(theirs.mean(0) - mine.mean(0)) < 5 * error).all()
            np.testing.assert_allclose(theirs.std(0), mine.std(0), atol=0.1)


def test_usps():
    found = load_external("usps")
    X_test, y_test = found.test_Xy
    assert found.data.shape == (7291, 256)
    assert X_test.shape == (2007, 256)
    assert set(found.target) == set(y_test) == set(range(10))
    assert (found.data.min(), found.data.max()) == (-1, 1)


def test_new_thyroid():
    X, y = load_external("nth").Xy
    assert X.shape == (215, 5)
    assert np.bincount(y)[1:].tolist() == [150, 35, 30]


def test_dermatology():
    found = load_external("der")
    assert found.data.shape == (366, 34)
    assert np.isnan(found.data).sum() == np.isnan(found.data[:, -1]).sum() == 8
    assert np.bincount(found.target)[1:].tolist() == [112, 61, 72, 49, 52, 20]
    complete = load_external("der", drop_missing=True)
    assert complete.data.shape == (358, 34)
    assert np.isfinite(complete.data).all()
    assert len(complete.target) == 358


# The package


def test_importing_the_data_part_stays_light():
    # A stub stands in for the parent package, whose own imports are its own affair.
    code = (
        "import sys, types; p = types.ModuleType('bayes_lssvm'); p.__path__ = [sys.argv[1]]; "
        "sys.modules['bayes_lssvm'] = p; import bayes_lssvm.datasets as d; d.load('rsy'); d.load('led'); "
        "print([m for m in ('sklearn', 'pandas', 'matplotlib', 'jax', 'scipy') if m in sys.modules])"
    )
    package = str(Path(datasets.__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", code, package], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_it_works_from_a_zip_file(tmp_path):
    import zipfile

    folder = Path(datasets.__file__).parent
    archive = tmp_path / "packed.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("bayes_lssvm/__init__.py", "")
        for path in [*folder.glob("*.py"), *folder.glob("data/*.csv.gz")]:
            packed.write(path, f"bayes_lssvm/datasets/{path.relative_to(folder).as_posix()}")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from bayes_lssvm import datasets; "
        "print(datasets.__file__, datasets.load('rsy'))"
    )
    command = [sys.executable, "-I", "-X", "utf8", "-c", code, str(archive)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, cwd=tmp_path)
    assert done.stdout.startswith(str(archive))
    assert done.stdout.strip().endswith(repr(datasets.load("rsy")))


def test_every_shipped_file_belongs_to_a_set():
    folder = Path(datasets.__file__).parent / "data"
    expected = {n for n in SHIPPED if n not in ("iris", "wine", "rsy", "ssd")}
    expected |= {"rsy_train", "rsy_test", "ssd_21", "ssd_35"}
    assert {path.name for path in folder.iterdir()} == {f"{name}.csv.gz" for name in expected}
