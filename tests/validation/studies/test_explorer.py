"""The study behind the explorer: every number of a width against dense linear algebra, grids and the estimators."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import cho_factor, cho_solve, helmert
from scipy.stats import norm

from bayes_lssvm import BayesianLSSVC, BayesianLSSVR
from bayes_lssvm.kernels import RBF
from validation.harness import load_data
from validation.ladder import PRIOR, spread_rows
from validation.registry import get_study
from validation.studies.explorer import LEVELS, PARTS, RADIUS, RUNGS, SUBTOTAL, unpack
from validation.studies.explorer.packed import grid_points, pack

STUDY = get_study("explorer")


def log_evidence(K, y, mu, zeta):
    """Log p(D | μ, ζ) by the N × N covariance, with p(b) = 1 integrated out."""
    factor = cho_factor(K / mu + np.eye(len(y)) / zeta, lower=True)
    a, b = cho_solve(factor, y), cho_solve(factor, np.ones(len(y)))
    square = y @ a - (a.sum()) ** 2 / b.sum()
    log_det = 2.0 * np.log(np.diag(factor[0])).sum()
    return -0.5 * (square + log_det + np.log(b.sum()) + (len(y) - 1) * np.log(2.0 * np.pi))


@pytest.fixture(scope="module")
def ripley():
    return load_data("ripley")


@pytest.fixture(scope="module")
def found(ripley):
    """Cells at toy size: the data, a narrow width and the best one, with the rows and the kernel matrix of each."""
    X, y = spread_rows(ripley.X, ripley.y, 40)
    cells = STUDY.cells(ripley, "toy")
    chosen = {cell.key: STUDY.compute(cell, ripley) for cell in cells if cell.key in ("data", "sigma-01", "sigma-02")}
    return X, y, chosen


@pytest.fixture(params=["sigma-01", "sigma-02"])
def node(request, found):
    X, y, chosen = found
    result = chosen[request.param]
    return X, y, RBF(result.values["sigma"])(X), result


def test_widths_are_equally_spaced_about_the_best_one(ripley):
    for size, count in (("toy", 5), ("quick", 41), ("full", 61)):
        cells = STUDY.cells(ripley, size)
        sigma = np.array([cell.settings["sigma"] for cell in cells[1:]])
        assert cells[0].key == "data"
        assert len(sigma) == count
        np.testing.assert_allclose(np.diff(np.log(sigma)), np.log(64.0) / (count - 1), atol=2e-3)
        assert len({cell.seed for cell in cells}) == len(cells)


def test_data_with_other_than_two_inputs_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match=r"map over two inputs, and hea has 13 \(.*, …\)\. Give a file with two"):
        STUDY.cells(load_data("hea"), "toy")


def test_every_check_holds(node):
    *_, result = node
    assert [check.name for check in result.checks] == ["quadrature error", "parts add up", "posterior in the window"]
    assert all(check.passed for check in result.checks)


def test_parts_are_those_of_dense_linear_algebra(node):
    _, y, K, result = node
    parts, mu, zeta = result.values["parts"], result.values["mu"], result.values["zeta"]
    n, gamma = len(y), zeta / mu
    # level 1 as the papers' linear system: [0 1ᵀ; 1 Ω + I/γ] [b; α] = [0; y]
    system = np.block([[np.zeros((1, 1)), np.ones((1, n))], [np.ones((n, 1)), K + np.eye(n) / gamma]])
    b, *alpha = np.linalg.solve(system, np.append(0.0, y))
    errors = y - K @ np.array(alpha) - b
    centred = np.eye(n) - 1.0 / n
    assert parts["fit"] == pytest.approx(norm.logpdf(errors, scale=zeta**-0.5).sum(), abs=1e-9)
    assert parts["size"] == pytest.approx(-0.5 * mu * np.array(alpha) @ K @ np.array(alpha), abs=1e-9)
    volume = -0.5 * np.linalg.slogdet(np.eye(n) + gamma * centred @ K @ centred)[1]
    assert parts["volume"] == pytest.approx(volume, abs=1e-9)
    assert parts["bias"] == pytest.approx(0.5 * np.log(2.0 * np.pi / (n * zeta)), abs=1e-12)
    subtotal = sum(parts[name] for name in SUBTOTAL)
    assert subtotal == pytest.approx(log_evidence(K, y, mu, zeta), abs=1e-9)
    assert subtotal == pytest.approx(result.values["best_fit"], abs=1e-9)


def test_parts_add_up_and_the_occam_factors_are_those_of_5_2(node):
    *_, result = node
    values, parts = result.values, result.values["parts"]
    assert tuple(parts) == PARTS
    assert sum(parts.values()) == pytest.approx(values["log_evidence"]["quadrature"], abs=1e-9)
    bars = np.sqrt(2.0 / np.array([values["gamma_eff"] - 1.0, values["n"] - values["gamma_eff"]]))
    np.testing.assert_allclose([parts["mu"], parts["zeta"]], np.minimum(np.log(bars / 3.0), 0.0), atol=1e-9)
    mackay = values["best_fit"] + parts["mu"] + parts["zeta"]
    assert mackay == pytest.approx(values["log_evidence"]["mackay"], abs=1e-9)
    assert set(values["log_evidence"]) == set(RUNGS)


def test_the_grid_is_the_exact_posterior(node):
    _, y, K, result = node
    shown = result.values["posterior"]
    grid = unpack(shown["log_density"])
    points = grid_points(shown["window"], len(grid))
    exact = [log_evidence(K, y, *np.exp(p)) + norm.logpdf(p, scale=3.0).sum() for p in points[::7]]
    exact = np.array(exact) - result.values["log_evidence"]["quadrature"]
    half_step = 0.5 * (shown["log_density"]["high"] - shown["log_density"]["low"]) / 65535
    floor = shown["log_density"]["low"]
    np.testing.assert_allclose(grid.ravel()[::7], np.maximum(exact, floor), atol=1.01 * half_step + 1e-8)


def test_contours_hold_their_shares_and_ellipses_what_they_say(node):
    _, y, K, result = node
    shown, rng = result.values["posterior"], np.random.default_rng(0)
    left, right, bottom, top = shown["window"]
    # by uniform draws over the window, which know no grid
    points = rng.uniform([left, bottom], [right, top], size=(6000, 2))
    basis = helmert(len(y))  # of the complement of the constant vector
    eigenvalues, vectors = np.linalg.eigh(basis @ K @ basis.T)
    variance = np.clip(eigenvalues, 0.0, None) / np.exp(points[:, :1]) + np.exp(-points[:, 1:])
    density = norm.logpdf(vectors.T @ basis @ y, scale=np.sqrt(variance)).sum(axis=1) - 0.5 * np.log(len(y))
    density += norm.logpdf(points, scale=3.0).sum(axis=1) - result.values["log_evidence"]["quadrature"]
    weights = np.exp(density)
    assert weights.mean() * (right - left) * (top - bottom) == pytest.approx(shown["mass"], abs=0.06)
    for share, level in zip(LEVELS, shown["levels"], strict=True):
        assert np.average(density > level, weights=weights) == pytest.approx(share, abs=0.03)
    for name, (mu, zeta, *sd, correlation) in shown["gaussians"].items():
        covariance = np.outer(sd, sd) * np.array([[1.0, correlation], [correlation, 1.0]])
        off = points - [mu, zeta]
        inside = np.einsum("ni,ni->n", off, np.linalg.solve(covariance, off.T).T) <= RADIUS**2
        assert np.average(inside, weights=weights) == pytest.approx(shown["covered"][name], abs=0.03)
    assert {"mackay", "hessian", "laplace"} == set(shown["gaussians"])


def test_the_map_is_what_the_classifier_predicts(node, found):
    X, y, _, result = node
    window, plane = found[2]["data"].values["window"], result.values["plane"]
    model = BayesianLSSVC(RBF(result.values["sigma"]), refine=False, prior=PRIOR, standardise=False).fit(X, y)
    wanted = model.predict_proba(grid_points(window, plane["shape"][0]))[:, 1]
    np.testing.assert_allclose(unpack(plane).ravel(), wanted, atol=0.5 / 255 + 1e-9)
    assert window[0] < X[:, 0].min() < X[:, 0].max() < window[1]
    assert window[2] < X[:, 1].min() < X[:, 1].max() < window[3]
    wrong = np.mean(np.sign(model.left_out_log_odds()) != y)
    assert result.values["leave_one_out"]["error"] == pytest.approx(wrong)
    assert -np.log(2.0) < result.values["leave_one_out"]["log_score"] < 0.0


def test_real_targets_have_a_map_of_means(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 2))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=30)
    path = tmp_path / "real.csv"
    rows = [f"{a!r},{b!r},{t!r}" for (a, b), t in zip(X.tolist(), y.tolist(), strict=True)]
    path.write_text("\n".join(["a,b,y", *rows]))
    data = load_data(path, target="y")
    cell = STUDY.cells(data, "toy")[3]
    values = STUDY.compute(cell, data).values
    model = BayesianLSSVR(RBF(cell.settings["sigma"]), refine=False, prior=PRIOR, standardise=False)
    window = STUDY.compute(STUDY.cells(data, "toy")[0], data).values["window"]
    wanted = model.fit(data.X, data.y).predict(grid_points(window, values["plane"]["shape"][0]))
    np.testing.assert_allclose(unpack(values["plane"]).ravel(), np.clip(wanted, -2.5, 2.5), atol=2.5 / 255 + 1e-9)
    assert values["leave_one_out"] is None


@pytest.mark.parametrize("n_bytes", [1, 2])
def test_packed_grids_come_back_to_half_a_step(n_bytes):
    values = np.random.default_rng(n_bytes).uniform(-3.0, 5.0, size=(4, 6))
    packed = pack(values, -2.0, 4.0, n_bytes)
    step = 6.0 / (256**n_bytes - 1)
    np.testing.assert_allclose(unpack(packed), np.clip(values, -2.0, 4.0), atol=0.5 * step + 1e-12)
    assert unpack(packed).shape == (4, 6)
