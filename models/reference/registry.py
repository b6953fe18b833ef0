"""The reference posteriors by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from models.log_density import Program
from models.reference import dynamics, exact, hidden_markov, regression, series, small
from models.reference.files import Data, Draws, read_data, read_draws


def _same(draws: Draws) -> Draws:
    return draws


@dataclass(frozen=True)
class Reference:
    """A posterior of posteriordb as a program of ours.

    Attributes
    ----------
    name : str
        "<data>-<model>", as posteriordb has it.
    family : str
    program : callable
        A NumPyro program. Every parameter of the reference is a site of it, under the same name.
    arguments : callable
        From the data of the Stan program to the program's arguments.
    sites : callable
        From draws of the reference's parameters to draws of the latent sites.
    exact : callable or None
        From the program's arguments to its log evidence, where that is known to rounding.
    """

    name: str
    family: str
    program: Program
    arguments: Callable[[Data], tuple[Any, ...]]
    sites: Callable[[Draws], Draws] = _same
    exact: Callable[..., float] | None = None

    def args(self) -> tuple[Any, ...]:
        """What the program is called with, from the files."""
        return self.arguments(read_data(self.name))

    def draws(self) -> Draws:
        """Reference draws of the parameters, of shape (10, 1000, …)."""
        return read_draws(self.name)

    def site_draws(self) -> Draws:
        """Reference draws of the latent sites."""
        return self.sites(self.draws())


_OTHERS = (
    Reference("arK-arK", "time series", series.autoregression, series.lags, exact=exact.autoregression),
    Reference("arma-arma11", "time series", series.arma11, lambda d: (d["y"],)),
    Reference("hmm_example-hmm_example", "hidden Markov", hidden_markov.normal_states, lambda d: (d["y"],)),
    Reference(
        "bball_drive_event_0-hmm_drive_0",
        "hidden Markov",
        hidden_markov.drive_exponential,
        lambda d: (d["u"], d["v"], d["alpha"]),
    ),
    Reference(
        "bball_drive_event_1-hmm_drive_1",
        "hidden Markov",
        hidden_markov.drive_normal,
        lambda d: (d["u"], d["v"], d["alpha"], d["tau"], d["rho"]),
    ),
    Reference(
        "hudson_lynx_hare-lotka_volterra",
        "differential equation",
        dynamics.lotka_volterra,
        dynamics.measured_populations,
    ),
    Reference(
        "one_comp_mm_elim_abs-one_comp_mm_elim_abs",
        "differential equation",
        dynamics.one_compartment,
        dynamics.measured_concentrations,
    ),
    Reference(
        "eight_schools-eight_schools_noncentered",
        "hierarchical",
        small.eight_schools,
        lambda d: (d["y"], d["sigma"]),
        small.schools_sites,
        exact.eight_schools,
    ),
    Reference("gp_pois_regr-gp_regr", "Gaussian process", small.gp_regression, lambda d: (d["x"], d["y"])),
)

REFERENCES: dict[str, Reference] = {
    **{
        name: Reference(name, "regression", program, design, exact=partial(exact.regression, program))
        for name, (program, design) in regression.DESIGNS.items()
    },
    **{reference.name: reference for reference in _OTHERS},
}
"""Name to reference."""
