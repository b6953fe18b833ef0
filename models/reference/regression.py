"""Linear regressions: y ~ Normal(Xβ, σ²), with β and σ flat or under weak priors.

Twenty-seven of the references are of this kind; they differ in the columns of X. A flat prior has density one, on β
and on σ > 0. Their evidence is known to rounding: `models.reference.exact`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.distributions import constraints

from bayes_lssvm.base.typing import Array
from models.reference.files import Data

Design = Callable[[Data], tuple[Array, Array]]


@dataclass(frozen=True)
class LinearRegression:
    """The program with sites beta of shape (d,) and sigma; call it with X of shape (N, d) and y of shape (N,).

    Parameters
    ----------
    coefficient_sd : float or None
        Standard deviation of the normal prior of each coefficient; None is flat.
    noise : "flat", "half-cauchy" or "half-normal"
    noise_scale : float
        Of the last two.
    """

    coefficient_sd: float | None = None
    noise: str = "flat"
    noise_scale: float = 1.0

    def __call__(self, X: jax.Array, y: jax.Array) -> None:
        """The generative program."""
        d = X.shape[1]
        flat = dist.ImproperUniform(constraints.real_vector, (), (d,))
        sd = self.coefficient_sd
        beta = numpyro.sample("beta", flat if sd is None else dist.Normal(0.0, sd).expand([d]).to_event(1))
        sigma = numpyro.sample("sigma", self.noise_prior())
        numpyro.sample("y", dist.Normal(X @ beta, sigma).to_event(1), obs=y)

    def noise_prior(self) -> dist.Distribution:
        """The distribution of σ."""
        if self.noise == "flat":
            return dist.ImproperUniform(constraints.positive, (), ())
        return {"half-cauchy": dist.HalfCauchy, "half-normal": dist.HalfNormal}[self.noise](self.noise_scale)


FLAT = LinearRegression()
CAUCHY = LinearRegression(noise="half-cauchy", noise_scale=2.5)
NORMAL = LinearRegression(coefficient_sd=10.0, noise="half-normal", noise_scale=10.0)


def _columns(*columns: Array) -> Array:
    """A column of ones and these."""
    return np.column_stack([np.ones(len(columns[0])), *columns])


def _interaction(data: Data, *, hs: float = 0.0, iq: float = 0.0, scale: tuple[float, float] = (1.0, 1.0)) -> Array:
    """1, high school, IQ and their product, moved to the given origin."""
    a, b = (data["mom_hs"] - hs) / scale[0], (data["mom_iq"] - iq) / scale[1]
    return _columns(a, b, a * b)


def _standardised(data: Data) -> Array:
    hs, iq = data["mom_hs"], data["mom_iq"]
    scale = (2.0 * float(np.std(hs, ddof=1)), 2.0 * float(np.std(iq, ddof=1)))
    return _interaction(data, hs=float(hs.mean()), iq=float(iq.mean()), scale=scale)


def _nes(data: Data) -> tuple[Array, Array]:
    ages = [(data["age_discrete"] == k).astype(float) for k in (2, 3, 4)]
    further = [data[name] for name in ("educ1", "gender", "income")]
    return _columns(data["real_ideo"], data["race_adj"], *ages, *further), data["partyid7"]


def _mesquite(data: Data) -> Array:
    """The measures of a bush, of shape (5, N)."""
    return np.array([data[name] for name in ("diam1", "diam2", "canopy_height", "total_height", "density")])


def _log_volume(data: Data) -> Array:
    return np.log(data["diam1"] * data["diam2"] * data["canopy_height"])


def _log_area(data: Data) -> Array:
    return np.log(data["diam1"] * data["diam2"])


DESIGNS: dict[str, tuple[LinearRegression, Design]] = {
    "earnings-earn_height": (FLAT, lambda d: (_columns(d["height"]), d["earn"])),
    "earnings-log10earn_height": (FLAT, lambda d: (_columns(d["height"]), np.log10(d["earn"]))),
    "earnings-logearn_height": (FLAT, lambda d: (_columns(d["height"]), np.log(d["earn"]))),
    "earnings-logearn_height_male": (FLAT, lambda d: (_columns(d["height"], d["male"]), np.log(d["earn"]))),
    "earnings-logearn_interaction": (
        FLAT,
        lambda d: (_columns(d["height"], d["male"], d["height"] * d["male"]), np.log(d["earn"])),
    ),
    "earnings-logearn_logheight_male": (
        FLAT,
        lambda d: (_columns(np.log(d["height"]), d["male"]), np.log(d["earn"])),
    ),
    "kidiq-kidscore_momhs": (CAUCHY, lambda d: (_columns(d["mom_hs"]), d["kid_score"])),
    "kidiq-kidscore_momiq": (CAUCHY, lambda d: (_columns(d["mom_iq"]), d["kid_score"])),
    "kidiq-kidscore_momhsiq": (CAUCHY, lambda d: (_columns(d["mom_hs"], d["mom_iq"]), d["kid_score"])),
    "kidiq-kidscore_interaction": (CAUCHY, lambda d: (_interaction(d), d["kid_score"])),
    "kidiq_with_mom_work-kidscore_interaction_c": (
        FLAT,
        lambda d: (_interaction(d, hs=d["mom_hs"].mean(), iq=d["mom_iq"].mean()), d["kid_score"]),
    ),
    "kidiq_with_mom_work-kidscore_interaction_c2": (
        FLAT,
        lambda d: (_interaction(d, hs=0.5, iq=100.0), d["kid_score"]),
    ),
    "kidiq_with_mom_work-kidscore_interaction_z": (FLAT, lambda d: (_standardised(d), d["kid_score"])),
    "kidiq_with_mom_work-kidscore_mom_work": (
        FLAT,
        lambda d: (_columns(*((d["mom_work"] == k).astype(float) for k in (2, 3, 4))), d["kid_score"]),
    ),
    "mesquite-mesquite": (FLAT, lambda d: (_columns(*_mesquite(d), d["group"]), d["weight"])),
    "mesquite-logmesquite": (FLAT, lambda d: (_columns(*np.log(_mesquite(d)), d["group"]), np.log(d["weight"]))),
    "mesquite-logmesquite_logvolume": (FLAT, lambda d: (_columns(_log_volume(d)), np.log(d["weight"]))),
    "mesquite-logmesquite_logva": (
        FLAT,
        lambda d: (_columns(_log_volume(d), _log_area(d), d["group"]), np.log(d["weight"])),
    ),
    "mesquite-logmesquite_logvash": (
        FLAT,
        lambda d: (
            _columns(
                _log_volume(d), _log_area(d), np.log(d["diam1"] / d["diam2"]), np.log(d["total_height"]), d["group"]
            ),
            np.log(d["weight"]),
        ),
    ),
    **{f"nes{year}-nes": (FLAT, _nes) for year in (1972, 1976, 1980, 1984, 1988, 1992, 2000)},
    "sblrc-blr": (NORMAL, lambda d: (d["X"], d["y"])),
}
"""Each regression by its name: the program, and X and y from the data."""
