"""Bridge sampling written a second time, from its equations: every number of an estimate, to rounding.

Of the library only the effective number of draws is used, which has tests against ArviZ and closed forms of its own.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.special import logsumexp

from bayes_lssvm.sampling.bridge import (
    _combine,
    _concerns,
    _fixed_point,
    _Half,
    _location_and_scale,
    _shared_by_warps,
    _values,
    bridge,
    effective_sample_size,
)


def log_density(x):
    """Skew in one direction, correlated, and not normalised."""
    return -0.5 * (x[:, 0] ** 2 + (x[:, 1:] - 0.3 * x[:, :1] ** 2).sum(axis=1) ** 2 + (x**2).sum(axis=1)) + 1.7


def draws_of(seed, chains=3, n=81, d=3, rho=0.5):
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((chains, n, d))
    for i in range(1, n):
        noise[:, i] = rho * noise[:, i - 1] + np.sqrt(1 - rho**2) * noise[:, i]
    return noise * np.array([1.0, 0.7, 0.5])[:d] + 0.1


def normal_log_density(x):
    return -0.5 * (x**2).sum(axis=1)


def half(fitted, kept, rng, warp, n_proposals, log_density=log_density):
    """log Z of one half with the parts of its error: the fixed point by bisection of its own equation."""
    d = kept.shape[-1]
    flat = fitted.reshape(-1, d)
    m, L = flat.mean(axis=0), np.linalg.cholesky(np.cov(flat.T).reshape(d, d))
    x = kept.reshape(-1, d)
    proposed = m + rng.standard_normal((n_proposals or len(x), d)) @ L.T
    gaussian = stats.multivariate_normal(m, L @ L.T)

    def log_l(points):
        values = log_density(points)
        if warp == "III":
            values = logsumexp([values, log_density(2.0 * m - points)], axis=0) - np.log(2.0)
        return values - gaussian.logpdf(points).reshape(values.shape)

    a, b = log_l(x), log_l(proposed)
    effective = float(len(x))
    for _ in range(2):
        s1, s2 = effective / (effective + len(b)), len(b) / (effective + len(b))

        def terms(log_z, s1=s1, s2=s2):
            f1 = np.exp(b) / (s1 * np.exp(b) + s2 * np.exp(log_z))
            f2 = np.exp(log_z) / (s1 * np.exp(a) + s2 * np.exp(log_z))
            return f1, f2

        log_z = brentq(lambda v: np.log(np.mean(terms(v)[0]) / np.mean(terms(v)[1])), -30.0, 30.0, xtol=1e-13)
        f1, f2 = terms(log_z)
        effective = min(effective_sample_size(f2.reshape(kept.shape[:2])), float(len(x)))
    return {
        "log_z": log_z,
        "post": np.var(f2) / (effective * np.mean(f2) ** 2),
        "proposal": np.var(f1) / (len(b) * np.mean(f1) ** 2),
        "slope": np.mean(f2 * (1.0 - s2 * f2)) / np.mean(f2),
        "effective": effective,
        "overlap": np.mean(f1),
    }


def shared(chains, warp):
    """k/(n_a n_b) for the k numbers of L, and d/(n'_a n'_b) for those of the mean where no reflection cancels it."""
    d = chains.shape[-1]
    flat = chains.reshape(-1, d)
    L = np.linalg.cholesky(np.cov(flat.T).reshape(d, d))
    z = np.linalg.solve(L, (flat - flat.mean(axis=0)).T).T.reshape(chains.shape)
    middle = chains.shape[1] // 2

    def effective(values):  # all coordinates are chains of one quantity
        series = np.concatenate([values[..., k] for k in range(d)])
        return effective_sample_size(series[np.argsort(np.tile(np.arange(len(values)), d), kind="stable")]) / d

    parts = z[:, :middle], z[:, middle:]
    found = d * (d + 1) / 2.0 / (effective(parts[0] ** 2) * effective(parts[1] ** 2))
    return found + (d / (effective(parts[0]) * effective(parts[1])) if warp == "none" else 0.0)


@pytest.mark.parametrize(
    ("warp", "swap", "n_proposals", "d"),
    [("III", True, None, 3), ("none", True, None, 3), ("III", False, 150, 2), ("none", True, 60, 1)],
)
def test_an_estimate_in_all_its_parts(warp, swap, n_proposals, d):
    chains = draws_of(d, d=d)
    rng = np.random.default_rng(9)
    first, second = chains[:, :40], chains[:, 40:]
    halves = [half(first, second, rng, warp, n_proposals)]
    if swap:
        halves.append(half(second, first, rng, warp, n_proposals))
    options = {"warp": warp, "swap_halves": swap, "n_proposals": n_proposals, "tolerance": 1e-13}
    found = bridge(chains, log_density, seed=np.random.default_rng(9), **options)
    assert found.log_z == pytest.approx(np.mean([h["log_z"] for h in halves]), abs=1e-9)
    own = [h["post"] + h["proposal"] for h in halves]
    variance, apart = own[0], 0.0
    if swap:
        both = halves[0]["slope"] * halves[1]["slope"] * shared(chains, warp)
        both = min(both, np.sqrt(halves[0]["post"] * halves[1]["post"]))
        variance = (own[0] + own[1] + 2.0 * both) / 4.0
        apart = (halves[1]["log_z"] - halves[0]["log_z"]) / np.sqrt(own[0] + own[1])
    assert found.standard_error == pytest.approx(np.sqrt(variance), rel=1e-7)
    assert found.diagnostics["halves_apart"] == pytest.approx(apart, abs=1e-6)
    assert found.diagnostics["log_z_of_halves"] == pytest.approx([h["log_z"] for h in halves], abs=1e-9)
    assert found.diagnostics["effective_draws"] == pytest.approx(min(h["effective"] for h in halves))
    assert found.diagnostics["effective_draws_of_halves"] == pytest.approx([h["effective"] for h in halves])
    assert found.diagnostics["overlap"] == pytest.approx(min(h["overlap"] for h in halves))
    assert (found.diagnostics["dim"], found.diagnostics["draws"]) == (d, 243)


def test_what_halves_share_is_no_more_than_their_own_errors():
    """Few draws of a Gaussian: the formula for the shared part exceeds what it is a part of."""
    chains = np.random.default_rng(16).standard_normal((2, 30, 6))
    rng = np.random.default_rng(3)
    parts = (chains[:, :15], chains[:, 15:])
    halves = [half(*pair, rng, "III", None, normal_log_density) for pair in (parts, parts[::-1])]
    limit = np.sqrt(halves[0]["post"] * halves[1]["post"])
    assert halves[0]["slope"] * halves[1]["slope"] * shared(chains, "III") > 1.1 * limit
    found = bridge(chains, normal_log_density, seed=np.random.default_rng(3))
    variance = (sum(h["post"] + h["proposal"] for h in halves) + 2.0 * limit) / 4.0
    assert found.standard_error == pytest.approx(np.sqrt(variance), rel=1e-6)


def test_both_halves_have_to_reach_their_fixed_points():
    for seed in range(4):
        chains = draws_of(seed)
        needed = bridge(chains, log_density, seed=seed).iterations
        assert not bridge(chains, log_density, seed=seed, max_iterations=needed - 1).converged
        assert bridge(chains, log_density, seed=seed, max_iterations=needed).converged


def test_antithetic_draws_are_worth_no_more_than_a_bound():
    signs = np.where(np.arange(500) % 2 == 0, 1.0, -1.0)
    values = signs + 1e-3 * np.random.default_rng(6).standard_normal((4, 500))
    assert effective_sample_size(values) == pytest.approx(2000 * np.log10(2000))


def test_the_least_number_of_draws():
    """20 in a half and twice as many as a covariance has degrees of freedom; 4 of each chain."""
    normal = stats.norm.logpdf

    def density(x):
        return normal(x).sum(axis=1)

    rng = np.random.default_rng(4)
    for chains, n, d in ((1, 40, 1), (5, 8, 1), (1, 48, 11)):
        assert np.isfinite(bridge(rng.standard_normal((chains, n, d)), density, seed=0).log_z)
    for chains, n, d in ((1, 38, 1), (6, 7, 1), (1, 46, 11)):
        with pytest.raises(ValueError, match="Too few draws"):
            bridge(rng.standard_normal((chains, n, d)), density, seed=0)


def test_one_draw_outside_the_support_is_enough_to_refuse():
    draws = np.abs(np.random.default_rng(5).standard_normal((4, 100, 1)))
    draws[2, 50] = -1.0

    def density(x):
        return np.where(x[:, 0] > 0.0, -0.5 * x[:, 0] ** 2, -np.inf)

    with pytest.raises(ValueError, match="not finite at 1 of 200 draws"):
        bridge(draws, density, seed=0)


def test_few_draws_give_blocks_of_the_covariance_whatever_the_units():
    """With fewer draws than entries of a covariance only what is clearly correlated stays so."""
    d, n = 10, 50  # 45 entries above the diagonal, 55 with it
    rng = np.random.default_rng(4)
    draws = rng.standard_normal((1, n, d))
    draws[..., 1] = draws[..., 0] + 0.1 * draws[..., 1]
    units = 10.0 ** np.linspace(-3.0, 3.0, d)
    mean, factor = _location_and_scale(draws)
    again, scaled = _location_and_scale(draws * units)
    np.testing.assert_allclose(again, mean * units, rtol=1e-10)
    np.testing.assert_allclose(scaled, factor * units[:, None], rtol=1e-9, atol=0.0)
    whole = np.cov(draws[0].T)
    blocks = factor @ factor.T
    assert np.count_nonzero(blocks) == d + 2
    assert blocks[0, 1] == pytest.approx(whole[0, 1])
    np.testing.assert_allclose(np.diag(blocks), np.diag(whole))
    many = _location_and_scale(rng.standard_normal((1, 56, d)))[1]
    assert np.count_nonzero(many) == d * (d + 1) // 2


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("share", [0.97, 1.03])
def test_what_counts_as_correlated(share, sign):
    """A sample correlation of exactly a little less or more than 2√(log d / n)."""
    d, n = 10, 50
    z = np.random.default_rng(5).standard_normal((n, d))
    z -= z.mean(axis=0)
    z = np.linalg.qr(z)[0]  # no sample correlation at all
    r = sign * share * 2.0 * np.sqrt(np.log(d) / n)
    z[:, 1] = r * z[:, 0] + np.sqrt(1.0 - r**2) * z[:, 1]
    blocks = (lambda L: L @ L.T)(_location_and_scale(z[None])[1])
    assert np.corrcoef(z.T)[0, 1] == pytest.approx(r)
    assert blocks[0, 1] == pytest.approx(r / (n - 1) if share > 1.0 else 0.0, abs=1e-12)
    assert np.abs(blocks[2:, :2]).max() < 1e-12


def by_hand(values):
    """Effective number of draws by sums over lags, of pieces of half a chain each."""
    half = values.shape[1] // 2
    pieces = [chain[part] for part in (slice(0, half), slice(-half, None)) for chain in values]
    n = half
    centred = [piece - piece.mean() for piece in pieces]
    covariance = [np.mean([c[: n - t] @ c[t:] / n for c in centred]) for t in range(n)]
    total = covariance[0] + np.var([piece.mean() for piece in pieces], ddof=1)
    rho = [1.0, *(1.0 - (covariance[0] - c) / total for c in covariance[1:])]
    pairs = []
    for t in range(n // 2):
        pair = rho[2 * t] + rho[2 * t + 1]
        if pair <= 0.0:
            break
        pairs.append(min([pair, *pairs[-1:]]))
    return values.size / max(2.0 * sum(pairs) - 1.0, 1.0 / np.log10(values.size))


@pytest.mark.parametrize("n", [43, 41, 40, 200])
@pytest.mark.parametrize("kind", ["white", "slow", "apart", "alternating", "drift"])
def test_effective_numbers_by_sums_over_lags(n, kind):
    """Chains that disagree keep every pair positive to the last lag."""
    rng = np.random.default_rng(7)
    noise = rng.standard_normal((3, n))
    slow = np.array([np.convolve(chain, 0.9 ** np.arange(30))[:n] for chain in noise])
    signs = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    values = {
        "white": noise,
        "slow": slow,
        "apart": noise + 5.0 * np.arange(3)[:, None],
        "alternating": noise + 0.5 * signs,
        "drift": 0.1 * noise + np.linspace(0.0, 4.0, n),
    }[kind]
    assert effective_sample_size(values) == pytest.approx(by_hand(values), rel=1e-9)


@pytest.mark.parametrize("level", [-40.0, -3.0, 0.0, 3.0, 500.0])
def test_the_fixed_point_of_given_terms(level):
    """Terms of poor overlap and of good: the root of what the two sums are, at the effective number found before."""
    rng = np.random.default_rng(8)
    log_l, log_l_proposal = level + rng.normal(size=(2, 100)), level - 4.0 + rng.normal(size=150)
    found = _fixed_point(log_l, log_l_proposal, 1000, 1e-12)
    assert found.converged

    def root(effective):
        s1, s2 = effective / (effective + 150.0), 150.0 / (effective + 150.0)

        def gap(log_z):
            f1 = np.exp(log_l_proposal - log_z) / (s1 * np.exp(log_l_proposal - log_z) + s2)
            f2 = 1.0 / (s1 * np.exp(log_l - log_z) + s2)
            return np.log(np.mean(f1)) - np.log(np.mean(f2))

        log_z = brentq(gap, level - 30.0, level + 30.0, xtol=1e-13)
        return log_z, 1.0 / (s1 * np.exp(log_l - log_z) + s2)

    _, f2 = root(200.0)
    effective = min(effective_sample_size(f2), 200.0)
    log_z, f2 = root(effective)
    assert found.log_z == pytest.approx(log_z, abs=1e-9)
    assert found.effective == pytest.approx(min(effective_sample_size(f2), 200.0), rel=1e-6)
    s1, s2 = effective / (effective + 150.0), 150.0 / (effective + 150.0)
    f1 = 1.0 / (s1 + s2 * np.exp(log_z - log_l_proposal))
    assert found.overlap == pytest.approx(np.mean(f1), rel=1e-6)
    assert found.v_proposal == pytest.approx(np.var(f1) / np.mean(f1) ** 2 / 150.0, rel=1e-6)
    assert found.v_post == pytest.approx(np.var(f2) / np.mean(f2) ** 2 / found.effective, rel=1e-6)
    # how the sum over the posterior falls as all its terms rise
    ends = [np.log(np.mean(1.0 / (s1 * np.exp(log_l + h - log_z) + s2))) for h in (1e-5, -1e-5)]
    assert found.slope == pytest.approx((ends[1] - ends[0]) / 2e-5, rel=1e-6)
    few = _fixed_point(log_l, log_l_proposal, 2, 1e-12)
    assert (few.iterations, few.converged) == (2, False)


@pytest.mark.parametrize("warp", ["III", "none"])
@pytest.mark.parametrize(("d", "n"), [(1, 81), (3, 200), (4, 301)])
def test_what_both_halves_share_before_it_is_bounded(d, n, warp):
    chains = draws_of(10 + d, d=3, n=n)[..., [0, 1, 2, 0]][..., :d]
    if d == 4:
        chains = chains + 0.3 * np.random.default_rng(0).standard_normal(chains.shape)
    assert _shared_by_warps(chains, warp) == pytest.approx(shared(chains, warp), rel=1e-9)


def test_nothing_to_bridge_is_said_so_and_hardly_anything_is_not():
    with pytest.raises(ValueError, match="nothing to bridge"):
        _fixed_point(np.zeros((2, 9)), np.full(9, -np.inf), 10, 1e-9)
    some = np.append(np.full(8, -np.inf), 0.0)
    assert np.isfinite(_fixed_point(np.zeros((2, 9)), some, 1000, 1e-9).log_z)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_one_value_that_is_none_is_enough_to_refuse(wrong):
    x = np.zeros((40, 2))
    values = np.where(np.arange(40) == 17, wrong, -1.0)
    for drawn, words in ((True, "not finite at 1 of 40 draws"), (False, "NaN or \\+inf at points near the draws")):
        with pytest.raises(ValueError, match=words):
            _values(lambda _: values, x, drawn=drawn)
    outside = np.where(np.arange(40) == 17, -np.inf, -1.0)
    assert np.array_equal(_values(lambda _: outside, x, drawn=False), outside)


def half_of(**own):
    """A half whose numbers nothing is wrong with, but for those that are given."""
    usual = {
        "log_z": 1.0,
        "v_post": 0.01,
        "v_proposal": 0.02,
        "slope": 0.5,
        "effective": 300.0,
        "overlap": 0.6,
        "iterations": 5,
        "converged": True,
    }
    return _Half(**{**usual, **own})


def test_the_worse_of_two_halves_is_told():
    chains = np.random.default_rng(2).standard_normal((2, 400, 2))
    a = half_of(log_z=1.0, effective=250.0, overlap=0.7, iterations=4)
    b = half_of(log_z=1.4, effective=310.0, overlap=0.5, iterations=9, v_post=0.03)
    for halves in ([a, b], [b, a]):
        found = _combine(halves, chains, "III")
        assert found.log_z == pytest.approx(1.2)
        assert found.iterations == 9
        assert found.converged
        told = found.diagnostics
        assert (told["effective_draws"], told["overlap"]) == (250.0, 0.5)
        assert told["effective_draws_of_halves"] == tuple(h.effective for h in halves)
        assert told["log_z_of_halves"] == tuple(h.log_z for h in halves)
        assert abs(told["halves_apart"]) == pytest.approx(0.4 / np.sqrt(0.03 + 0.05))
        assert np.sign(told["halves_apart"]) == np.sign(halves[1].log_z - halves[0].log_z)
        assert (told["dim"], told["draws"]) == (2, 800)
        # what both share, ½·½·3/(n_a n_b) of some 400 squares each, is next to nothing
        assert found.standard_error**2 == pytest.approx(0.25 * (0.03 + 0.05), rel=1e-3)
    alone = _combine([a], chains, "III")
    assert (alone.log_z, alone.diagnostics["halves_apart"]) == (1.0, 0.0)
    assert alone.standard_error == pytest.approx(np.sqrt(0.03))
    assert not _combine([a, half_of(converged=False)], chains, "III").converged


@pytest.mark.parametrize(
    ("own", "converged", "error", "words"),
    [
        ({}, True, 0.1, None),
        ({}, False, 0.1, "before its fixed point"),
        ({"effective_draws": 100.0}, True, 0.1, None),
        ({"effective_draws": 99.4}, True, 0.1, "only 99 effective draws"),
        ({"overlap": 0.1}, True, 0.1, None),
        ({"overlap": 0.099}, True, 0.1, "hardly overlap \\(0.099\\)"),
        ({"overlap": 0.15}, True, 0.1, None),
        ({"halves_apart": 4.0}, True, 0.1, None),
        ({"halves_apart": 4.1}, True, 0.1, "4.1 standard errors apart"),
        ({"halves_apart": -4.6}, True, 0.1, "4.6 standard errors apart"),
        ({}, True, 0.3, None),
        ({}, True, 0.31, "too large for its linear formula"),
    ],
)
def test_what_is_a_doubt_and_what_is_none(own, converged, error, words):
    usual = {"effective_draws": 500.0, "overlap": 0.9, "halves_apart": 0.5}
    found = _concerns({**usual, **own}, converged, error)
    if words is None:
        assert found == ()
    else:
        (sentence,) = found
        assert re.search(words, sentence)


def test_a_singular_covariance_and_stuck_draws_are_told_apart():
    rng = np.random.default_rng(4)
    draws = rng.standard_normal((2, 100, 3))
    draws[..., 2] = draws[..., 0]
    with pytest.raises(ValueError, match="singular"):
        bridge(draws, normal_log_density, seed=0)
    draws[..., 2] = 7.0
    with pytest.raises(ValueError, match="do not vary in dimension 2"):
        bridge(draws, normal_log_density, seed=0)
    small = bridge(1e-3 * rng.standard_normal((2, 100, 3)), lambda x: normal_log_density(1e3 * x), seed=0)
    assert small.log_z == pytest.approx(1.5 * np.log(2.0 * np.pi) - 3.0 * np.log(1e3), abs=0.1)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_one_draw_that_is_no_number_is_enough_to_refuse(wrong):
    draws = np.random.default_rng(6).standard_normal((3, 60, 2))
    draws[1, 17, 1] = wrong
    with pytest.raises(ValueError, match="1 of the draws' values are NaN or infinite"):
        bridge(draws, normal_log_density, seed=0)


def test_shapes_of_draws():
    draws = np.random.default_rng(6).standard_normal((3, 60, 2))
    for wrong in (draws[0, :, 0], draws[None], draws[..., :0]):
        with pytest.raises(ValueError, match="must have shape"):
            bridge(wrong, normal_log_density, seed=0)
    one = bridge(draws[..., :1], normal_log_density, seed=0)
    assert one.log_z == pytest.approx(0.5 * np.log(2.0 * np.pi), abs=0.05)
    with pytest.raises(ValueError, match="n_proposals must be at least 20, got 19"):
        bridge(draws, normal_log_density, seed=0, n_proposals=19)
    assert np.isfinite(bridge(draws, normal_log_density, seed=0, n_proposals=20).log_z)
