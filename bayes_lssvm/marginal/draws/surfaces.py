"""The surfaces of a density: the box in which its posterior is, and log_det and q_1 interpolated there.

The box holds every point whose density, with log μ integrated out, is within 22 nats of the maximum; what is left
outside is less than 1e-8 of the mass. It ends earlier where γ cannot be computed in double precision or the kernel's
parameter leaves its bounds, and the density there is reported as the tail.
"""

from __future__ import annotations

from types import TracebackType
from typing import NamedTuple, Self

import numpy as np
from scipy.interpolate import make_interp_spline

from ...base.progress import tqdm
from ...base.typing import Array
from ...linalg.reduction import Reduction, largest_log_gamma
from ...priors import LogPrior
from ..density import Density
from ..log_mu import LogMu, support_of_log_gamma
from ..rules.level2 import Level2Integral, integrate
from .interpolant import FixedKernel, OneParameter, barycentric_rows, lobatto_nodes

_DEPTH = 22.0
_STEP = 0.5  # of the scan: no second mode of this width escapes
_LEAST_INSIDE = 5
_INSET = 1e-6  # share of the range
_MATTERS = 12.0  # nats below the maximum beyond which an error has no effect
_TOLERANCE = 1e-6
_U_STEP = 0.1
_LEAST_CELLS = 64
_FIRST_LEVEL, _LAST_LEVEL = 16, 512


def range_of_log_gamma(reduction: Reduction, parts: tuple[LogPrior, ...]) -> tuple[float, float, float]:
    """Lower end, upper end and tail of log γ for one kernel."""
    integral = integrate(reduction, parts[0], parts[1])
    rows = integral.rows
    u, values = rows.log_gamma, rows.log_density
    inside = np.flatnonzero(values > values.max() - _DEPTH)
    first, last = max(inside[0] - 1, 0), min(inside[-1] + 1, len(u) - 1)
    return float(u[first]), float(u[last]), integral.tail


class _Scanned(NamedTuple):
    reduction: Reduction
    integral: Level2Integral
    log_prior: float

    @property
    def log_density(self) -> float:
        return self.integral.log_z + self.log_prior

    @property
    def rows(self) -> Array:
        """Log density along log γ."""
        return np.asarray(self.integral.rows.log_density + self.log_prior)


class KernelScan:
    """Kernels along θ, close enough to each other where the posterior is; a bar counts the reductions."""

    def __init__(self, density: Density, *, progress: bool) -> None:
        self.density = density
        self.n_reductions = 0
        self._found: dict[float, _Scanned] = {}
        self._bar = tqdm(desc="kernels tabulated", unit="", disable=None if progress else True, leave=False)
        bounds, support = density.kernel.log_bounds(density.X)[0], density.parts[2].support
        self._ends = max(float(bounds[0]), support[0]), min(float(bounds[1]), support[1])
        self._cut = bounds[0] > support[0], bounds[1] < support[1]  # by the kernel's bounds, not by the prior
        if self._ends[0] >= self._ends[1]:
            raise ValueError(
                f"The prior of the kernel's log parameter lies between {support[0]:.3g} and {support[1]:.3g}, but "
                f"{density.kernel!s} is searched between {bounds[0]:.3g} and {bounds[1]:.3g} on these data; choose a "
                "prior that overlaps with that."
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.close()

    @property
    def thetas(self) -> list[float]:
        """The scanned log parameters in ascending order."""
        return sorted(self._found)

    def reduction(self, theta: float) -> Reduction:
        """The reduced matrix of the kernel with this log parameter."""
        if theta in self._found:
            return self._found[theta].reduction
        self.n_reductions += 1
        self._bar.update()
        return self.density.reduction(self.density.kernel.with_log_params(np.array([theta])))

    def range(self) -> tuple[Array, Array, float]:
        """Corners (u, θ) of the box, and the tail."""
        low, high = self._ends
        finite = np.isfinite(self.density.parts[2].log_density(np.array([low, high])))
        # a prior that vanishes at its edge has no log there
        low, high = np.where(finite, [low, high], [low + _INSET * (high - low), high - _INSET * (high - low)])
        self._add(np.linspace(low, high, int(np.ceil((high - low) / _STEP)) + 1))
        while (inside := np.flatnonzero(self._depths() < _DEPTH)).size < _LEAST_INSIDE:
            if inside.size == 0:
                raise ValueError(
                    f"The posterior density of {self.density.kernel!s} is not finite for any log parameter between "
                    f"{low:.3g} and {high:.3g}; the prior excludes all of them, or the data are too extreme."
                )
            thetas = np.array(self.thetas)
            cells = sorted({i for k in inside for i in (k - 1, k) if 0 <= i < len(thetas) - 1})
            self._add(0.5 * (thetas[cells] + thetas[np.array(cells) + 1]))
        theta = self._range_of_theta()
        u_low, u_high, tail = self._range_of_u(*theta)
        ends = [float(np.exp(-depth)) for depth, cut in zip(self._depths()[[0, -1]], self._cut, strict=True) if cut]
        tail = max([tail, self._missing(), *ends])
        return np.array([u_low, theta[0]]), np.array([u_high, theta[1]]), tail

    def _missing(self) -> float:
        """What may lie beyond γ_max at the kernels that matter, over the integral."""
        depths = self._depths()
        shares = np.where(depths < _DEPTH, np.exp(-depths), 0.0)
        tails = np.array([min(self._found[t].integral.tail, 1e300) for t in self.thetas])
        return float(np.sum(shares * tails) / np.sum(shares))

    def _add(self, thetas: Array) -> None:
        parts = self.density.parts
        self._bar.total = self.n_reductions + len(thetas)  # for its estimate, of what is known to come
        for theta in map(float, thetas):
            reduction = self.reduction(theta)
            own = float(parts[2].log_density(np.array(theta)))
            self._found[theta] = _Scanned(reduction, integrate(reduction, parts[0], parts[1]), own)

    def _depths(self) -> Array:
        """Nats below the best kernel, in the order of `thetas`."""
        values = np.array([self._found[t].log_density for t in self.thetas])
        best = values.max()
        return np.asarray(best - values) if np.isfinite(best) else np.full(len(values), np.inf)

    def _range_of_theta(self) -> tuple[float, float]:
        """Where straight lines between the scanned densities reach the depth."""
        thetas, depths = np.array(self.thetas), self._depths()
        first, last = np.flatnonzero(depths < _DEPTH)[[0, -1]]
        before, after = max(first - 1, 0), min(last + 1, len(thetas) - 1)
        low = np.interp(-_DEPTH, -depths[[before, first]], thetas[[before, first]]) if before < first else thetas[0]
        high = np.interp(_DEPTH, depths[[last, after]], thetas[[last, after]]) if after > last else thetas[-1]
        return float(low), float(high)

    def _range_of_u(self, low: float, high: float) -> tuple[float, float, float]:
        """Range of log γ for all kernels between, and the tail above it."""
        near = [k for theta, k in self._found.items() if low - _STEP <= theta <= high + _STEP]
        top = max(float(k.rows.max()) for k in near)
        spans = [k.integral.rows.log_gamma[k.rows > top - _DEPTH] for k in near]
        edges = support_of_log_gamma(*self.density.parts[:2])
        first = max(min(s.min() for s in spans if len(s)) - _STEP, edges[0])
        last = min(max(s.max() for s in spans if len(s)) + _STEP, edges[1])
        limit = min(largest_log_gamma(k.reduction) for k in near)
        if last <= limit:
            return float(first), float(last), 0.0
        kept = max(float(k.rows[k.integral.rows.log_gamma <= limit].max(initial=-np.inf)) for k in near)
        cut = max(float(np.interp(limit, k.integral.rows.log_gamma, k.rows)) for k in near)
        return float(first), limit, float(np.exp(min(cut - kept, 0.0)))


def fixed_kernel_surface(density: Density) -> FixedKernel:
    """The surface of the density's kernel at its present parameters."""
    reduction = density.reduction(density.kernel)
    low, high, tail = range_of_log_gamma(reduction, density.parts)
    return FixedKernel(reduction, np.array([low]), np.array([high]), tail)


def one_parameter_surface(density: Density, *, progress: bool = False) -> OneParameter:
    """The surface of the density's kernel, whose one parameter is free."""
    with KernelScan(density, progress=progress) as scan:
        low, high, tail = scan.range()
        u = np.linspace(low[0], high[0], max(int(np.ceil((high[0] - low[0]) / _U_STEP)), _LEAST_CELLS) + 1)
        between = np.array([t for t in scan.thetas if low[1] < t < high[1]])
        exact = _log_density(density, u, between, np.stack([_row(scan.reduction(t), u) for t in between]))
        matters = exact > exact.max() - _MATTERS
        level, found, error = _FIRST_LEVEL // 2, dict[float, Array](), np.inf
        while error > _TOLERANCE and level < _LAST_LEVEL:
            level *= 2
            nodes = lobatto_nodes(low[1], high[1], level)
            for theta in map(float, nodes):
                if theta not in found:
                    found[theta] = _row(scan.reduction(theta), u)
            rows = np.stack([found[float(t)] for t in nodes])  # [J, 2, U]
            guess = _log_density(density, u, between, np.tensordot(barycentric_rows(nodes, between), rows, axes=1))
            error = float(np.max(np.abs(guess - exact)[matters]))
    return OneParameter(
        n=len(density.y),
        log_constant=scan.reduction(scan.thetas[0]).log_constant,
        low=low,
        high=high,
        tail=tail,
        n_reductions=scan.n_reductions,
        error=error,
        nodes=nodes,
        spline=make_interp_spline(u, rows.transpose(2, 1, 0), k=5),
    )


def _row(reduction: Reduction, u: Array) -> Array:
    """log_det and log q_1 along u, of shape (2, U)."""
    log_det, q1 = reduction.values(np.exp(u))
    return np.stack([log_det, np.log(q1)])


def _log_density(density: Density, u: Array, thetas: Array, rows: Array) -> Array:
    """Log density of (u, θ), of shape (T, U), from log_det and log q_1 in rows of shape (T, 2, U)."""
    parts = density.parts
    log_det, q1 = rows[:, 0].ravel(), np.exp(rows[:, 1]).ravel()
    # constants do not matter: densities of one interpolant are compared
    integral = LogMu(len(density.y), np.tile(u, len(thetas)), log_det, q1, parts[0], parts[1]).log_integral()
    return np.asarray(integral.reshape(len(thetas), -1) + parts[2].log_density(thetas)[:, None])
