"""Log odds by logistic regression on the features of the sums: what squared errors of labels ±1 leave out.

Evidence and kernel are those of the LS-SVM. On its features f(x) = vᵀφ(x) + c with v ~ Normal(0, 1/ν) and the
likelihood Π p(t_i | f_i) of a Bernoulli variable, t in {0, 1}, is fitted by Newton's method. With p the probabilities
at (v₀, c₀) and h = p(1 − p), the log likelihood is to second order

    const − ½ Σ h_i (f_i − ŷ_i)²,      ŷ_i = f_i⁰ + (t_i − p_i)/h_i,

a regression with noise of known precisions h_i: a pass keeps Σhφφᵀ, Σhφ, Σh and Σ(t − p)φ, Σ(t − p), sums that can be
merged as those of the LS-SVM. ν is at each step where the evidence of this regression with the prior of μ is largest
(Laplace's method at the mode, MacKay 1992): with C = UΛUᵀ about the weighted mean and q = UᵀΣhφ̃ŷ,

    log p(ν) = ½ m log ν − ½ Σ log(λ + ν) + ½ Σ q²/(λ + ν) + log prior.

The rows that stand for all are enough to come near; where there are more, a pass over all of them is one step. A row
left out moves its own log odds, by the same regression and exactly, from f to f − (t − p)s/(1 − hs) with
s = φ̃ᵀ(C + ν)⁻¹φ̃ + 1/Σh.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize_scalar
from scipy.special import expit

from ..base.typing import AnyArray, Array
from ..priors import HyperPrior, LogPrior
from .blocks import ROWS, Shard
from .design import Design
from .features import FeatureMap, in_blocks
from .passes import Encoding, Runner
from .posterior import FixedSizePosterior
from .statistics import add_squares, some_rows

_LABELS_TO_LOG_ODDS = 2.0  # f is about 2z where the classes meet, so that ν is about μ/4
_STEPS, _PASSES = 40, 6
_SETTLED, _SETTLED_A_ROW = 1e-4, 1e-5  # nats that the last step gained: on the sample, and on a row of a pass
_RANGE = 3.0  # of log ν in a step
_HALVINGS = 30
_NUMBERS = 2**24  # that the sums of one pass hold; the bits of a code take turns where they need more
Posteriors = list[tuple[tuple[int, ...], FixedSizePosterior]]


class Point(NamedTuple):
    """A bit's v of shape (m,), c and ν."""

    v: Array
    c: float
    nu: float


class Spread(NamedTuple):
    """(C + ν)⁻¹ as U and 1/(λ + ν), with the weighted mean of the features and Σh."""

    vectors: Array
    inverse: Array
    mean: Array
    mass: float

    def of(self, phi: Array) -> Array:
        """Variance of f for rows with features of shape (n, m), within their span."""
        return np.asarray(np.square((phi - self.mean) @ self.vectors) @ self.inverse + 1.0 / self.mass)


@dataclass(frozen=True)
class Curvature:
    """Sums over rows at one point for each of B bits.

    Attributes
    ----------
    squares, sums, masses : arrays of shape (B, m, m), (B, m) and (B,)
        Σhφφᵀ (the lower triangle), Σhφ and Σh.
    slopes, biases : arrays of shape (B, m) and (B,)
        Σ(t − p)φ and Σ(t − p).
    log_likelihood : array of shape (B,)
    """

    squares: Array
    sums: Array
    masses: Array
    slopes: Array
    biases: Array
    log_likelihood: Array

    @classmethod
    def empty(cls, bits: int, m: int) -> Curvature:
        """No rows yet."""
        many, one = np.zeros((bits, m)), np.zeros(bits)
        return cls(np.zeros((bits, m, m)), many, one, many.copy(), one.copy(), one.copy())

    def add(self, bit: int, phi: Array, t: Array, f: Array, rows: Array) -> None:
        """Rows of a bit with features of shape (n, m), t in {0, 1}, log odds f and numbers of rows."""
        p = expit(f)
        h, r = rows * p * expit(-f), rows * (t - p)
        add_squares(self.squares[bit], phi * np.sqrt(h)[:, None])
        self.sums[bit] += h @ phi
        self.masses[bit] += float(h.sum())
        self.slopes[bit] += r @ phi
        self.biases[bit] += float(r.sum())
        self.log_likelihood[bit] += _log_likelihood(t, f, rows)

    def merge(self, other: Curvature) -> Curvature:
        """The sums of both sets of rows."""
        return Curvature(
            self.squares + other.squares,
            self.sums + other.sums,
            self.masses + other.masses,
            self.slopes + other.slopes,
            self.biases + other.biases,
            self.log_likelihood + other.log_likelihood,
        )

    def step(self, bit: int, at: Point, prior: LogPrior) -> tuple[Point, Spread, float]:
        """Newton's step of a bit from the point of the sums, what belongs to it, and the nats that it promises."""
        S = np.tril(self.squares[bit], -1)
        S = S + S.T + np.diag(np.diag(self.squares[bit]))
        mass, total = max(float(self.masses[bit]), np.finfo(float).tiny), self.sums[bit]
        cross = S @ at.v + total * at.c + self.slopes[bit]  # Σhφŷ
        target = float(total @ at.v) + mass * at.c + float(self.biases[bit])  # Σhŷ
        mean = total / mass
        lam, U = eigh(S - mass * np.outer(mean, mean), driver="evd", check_finite=False)
        lam, q = np.maximum(lam, 0.0), (cross - mean * target) @ U
        nu = _most_probable(lam, q, at.nu, prior)
        v = U @ (q / (lam + nu))
        c = float(target / mass - mean @ v)
        dv, dc = v - at.v, c - at.c
        gain = 0.5 * float(dv @ S @ dv + 2.0 * dc * (total @ dv) + mass * dc**2 + nu * (dv @ dv))
        return Point(v, c, nu), Spread(U, 1.0 / (lam + nu), mean, mass), gain


def _most_probable(lam: Array, q: Array, nu: float, prior: LogPrior) -> float:
    """ν at the largest of its density near the last one."""
    shift = 2.0 * float(np.log(_LABELS_TO_LOG_ODDS))

    def cost(x: float) -> float:
        away = lam + np.exp(x)
        density = 0.5 * (len(lam) * x - np.log(away).sum() + (q**2 / away).sum())
        return -float(density + prior.log_density(np.array(x + shift)))

    here, (low, high) = float(np.log(nu)), prior.support
    bounds = max(here - _RANGE, low - shift), min(here + _RANGE, high - shift)
    if not bounds[0] < bounds[1]:
        return nu
    return float(np.exp(minimize_scalar(cost, bounds=bounds, method="bounded", options={"xatol": 1e-6}).x))


def _log_likelihood(t: Array, f: Array, rows: Array) -> float:
    return float(rows @ (t * f - np.logaddexp(0.0, f)))


@dataclass(frozen=True)
class Linearise:
    """The pass that sums at a point of each of B bits.

    Attributes
    ----------
    features, encoding : FeatureMap and Encoding
    code : array of shape (C, B)
    v, c : arrays of shape (B, m) and (B,)
    rows_of_weight : float
        For how many rows the weight one counts.
    """

    features: FeatureMap
    encoding: Encoding
    code: Array
    v: Array
    c: Array
    rows_of_weight: float

    def __call__(self, shard: Shard) -> Curvature:
        """The sums of a shard."""
        found = Curvature.empty(len(self.c), self.features.size)
        room = self.features.room(ROWS)
        for X, y, weights in shard.blocks(len(self.encoding.standardiser.mean)):
            inputs, labels = self.encoding(X, y, shard.name)
            phi = self.features(inputs, room)
            rows = self.rows_of_weight * (np.ones(len(X)) if weights is None else weights)
            for bit, signs in enumerate(self.code[labels].T):
                part = np.flatnonzero(signs)
                own = phi if len(part) == len(phi) else some_rows(phi, part)
                f = own @ self.v[bit] + self.c[bit]
                found.add(bit, own, (signs[part] > 0).astype(float), f, rows[part])
        return found


@dataclass(frozen=True)
class LogisticPart:
    """Log odds of each bit.

    Attributes
    ----------
    v, c, nu : arrays of shape (L, m), (L,) and (L,)
    left_out : array of shape (k, L)
        Of the rows of the sample, each by the model without it; zero where a bit does not care.
    n_passes : int
        Passes over all rows that they took.
    """

    v: Array
    c: Array
    nu: Array
    left_out: Array
    n_passes: int = 0

    def __call__(self, phi: Array) -> Array:
        """F for rows with features of shape (n, m), of shape (n, L)."""
        return phi @ self.v.T + self.c


class _Sample(NamedTuple):
    """The rows that stand for all: features of shape (k, m), codes of shape (k, L), and numbers of rows."""

    phi: Array
    codes: Array
    rows: Array

    def of_bit(self, bit: int) -> tuple[AnyArray, Array, Array, Array]:
        """Numbers of the rows that take part, their features, t, and numbers of rows."""
        part = np.flatnonzero(self.codes[:, bit])
        own = self.phi if len(part) == len(self.phi) else self.phi[part]
        return part, own, (self.codes[part, bit] > 0).astype(float), self.rows[part]


def fit_logistic(
    design: Design, posteriors: Posteriors, priors: list[HyperPrior], runner: Runner | None = None
) -> LogisticPart:
    """The logistic part of a design, from the weights of its LS-SVMs.

    With a runner the steps go on over all rows, where the sample does not hold them; without, the sample is all there
    is.
    """
    look, code = design.look, design.code
    assert code is not None
    inputs, labels = design.encoding(look.X, look.y, "the sample")
    rows_of_weight = 1.0 if look.whole else look.n / look.mass
    phi = np.vstack([phi for _, phi in in_blocks(design.features, inputs)])
    sample = _Sample(phi, code[labels], rows_of_weight * look.weights)
    starts = {bit: _start(posterior, k) for bits, posterior in posteriors for k, bit in enumerate(bits)}
    bits = range(code.shape[1])
    found = [_on_sample(sample, bit, starts[bit], priors[bit].mu) for bit in bits]
    passes = 0
    if runner is not None and look.n > len(look.X):
        together = max(1, _NUMBERS // phi.shape[1] ** 2)
        for first in range(0, len(bits), together):
            group = list(bits[first : first + together])
            near = [found[bit] for bit in group]
            v, c, _ = _stacked(near)
            work = Linearise(design.features, design.encoding, code[:, group], v, c, rows_of_weight)
            near, more = _on_all_rows(work, near, [priors[bit].mu for bit in group], runner, look.n)
            found[first : first + together], passes = near, passes + more
    left_out = np.zeros(sample.codes.shape)
    for bit, (point, spread) in enumerate(found):
        part, own, t, rows = sample.of_bit(bit)
        left_out[part, bit] = _left_out(own, t, np.ones_like(rows) if look.whole else rows, point, spread)
    return LogisticPart(*_stacked(found), left_out, passes)


def _stacked(found: list[tuple[Point, Spread]]) -> tuple[Array, Array, Array]:
    """V, c and ν of all bits."""
    v, c, nu = zip(*(point for point, _ in found), strict=True)
    return np.stack(v), np.array(c), np.array(nu)


def _start(posterior: FixedSizePosterior, k: int) -> Point:
    a = _LABELS_TO_LOG_ODDS
    return Point(a * posterior.w[:, k], a * float(posterior.b[k]), float(posterior.mu[k]) / a**2)


def _left_out(phi: Array, t: Array, rows: Array, point: Point, spread: Spread) -> Array:
    f = phi @ point.v + point.c
    p, s = expit(f), spread.of(phi)
    freedom = np.maximum(1.0 - rows * p * expit(-f) * s, np.finfo(float).eps)
    return np.asarray(f - rows * (t - p) * s / freedom)


def _on_sample(sample: _Sample, bit: int, at: Point, prior: LogPrior) -> tuple[Point, Spread]:
    """Newton's method with step halving."""
    _, phi, t, rows = sample.of_bit(bit)
    for _ in range(_STEPS):
        f = phi @ at.v + at.c
        sums = Curvature.empty(1, phi.shape[1])
        sums.add(0, phi, t, f, rows)
        to, spread, gain = sums.step(0, at, prior)
        df, size = phi @ (to.v - at.v) + to.c - at.c, 1.0

        def cost(size: float, at: Point = at, to: Point = to, f: Array = f, df: Array = df) -> float:
            v = at.v + size * (to.v - at.v)
            return 0.5 * to.nu * float(v @ v) - _log_likelihood(t, f + size * df, rows)

        now = cost(0.0)
        for _ in range(_HALVINGS):
            if cost(size) <= now + 1e-9 * abs(now):
                break
            size *= 0.5
        at = Point(at.v + size * (to.v - at.v), at.c + size * (to.c - at.c), to.nu)
        if gain < _SETTLED and size == 1.0:
            break
    return at, spread


def _on_all_rows(
    work: Linearise, found: list[tuple[Point, Spread]], priors: list[LogPrior], runner: Runner, n: int
) -> tuple[list[tuple[Point, Spread]], int]:
    """A step of each bit of a group a pass, from where the sample has led, and the number of passes."""
    before: list[tuple[Point, float] | None] = [None] * len(found)
    passes = 0
    while passes < _PASSES:
        passes += 1
        v, c, _ = _stacked(found)
        sums = runner(replace(work, v=v, c=c), Curvature.merge, "log odds")
        gains = []
        for k, (point, spread) in enumerate(found):
            cost, last = -float(sums.log_likelihood[k]), before[k]
            if last is not None and _penalised(point, cost, point.nu) > _penalised(*last, point.nu) + _SETTLED:
                old = last[0]  # the step went too far, and is halved
                found[k] = Point(0.5 * (old.v + point.v), 0.5 * (old.c + point.c), point.nu), spread
                gains.append(np.inf)
                continue
            before[k] = point, cost
            to, spread, gain = sums.step(k, point, priors[k])
            found[k] = to, spread
            gains.append(gain)
        if max(gains) < _SETTLED + _SETTLED_A_ROW * n:
            break
    return found, passes


def _penalised(point: Point, cost: float, nu: float) -> float:
    """Minus the log density of a point with this ν, from minus its log likelihood."""
    return 0.5 * nu * float(point.v @ point.v) + cost
