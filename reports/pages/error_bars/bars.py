"""The study's cells put side by side, problem by problem, and what they say in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from scipy.stats import norm

from reports.frame.answer import Answer, State
from reports.frame.words import many, number
from validation.harness import FinishedCell, StudyResult

SYMBOLS = {"log_mu": "log μ", "log_zeta": "log ζ", "log_sigma": "log σ"}
PROGRAMS = {"collapsed": "collapsed NUTS", "weight-space": "weight-space NUTS", "gp": "GP NUTS"}
KINDS = {"mean": "mean", "sd": "standard deviation", "correlation": "correlation"}
CLOSE = 0.25  # an error bar is called off where it differs from the exact one by more than this share
NO_LIMIT = 10.0  # times the exact error bar: no use to say how many times
_ENDLESS = {"log_mu": "without signal", "log_zeta": "without noise", "log_sigma": "with such data"}
"""Where √(2/(γ_eff − 1)) and √(2/(N − γ_eff)) grow without end."""
STANDARD_ERRORS = 3.0
CHANCE = 0.0027  # of a figure to be beyond three standard errors


@dataclass(frozen=True)
class Bars:
    """Error bars of one problem by every method.

    Attributes
    ----------
    name, label : str
    exact, mackay, hessian : dict
        "mean", "sd" and "correlation", each by parameter (or pair of parameters).
    density : dict
        The exact density on a grid.
    n_modes : int
        Of the posterior.
    sampled : dict
        Finished cells by program.
    """

    name: str
    label: str
    exact: dict[str, Any]
    mackay: dict[str, Any]
    hessian: dict[str, Any]
    density: dict[str, Any]
    n_modes: int
    sampled: dict[str, FinishedCell]

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the log parameters."""
        return tuple(self.exact["sd"])

    def ratio(self, method: str, parameter: str) -> float:
        """An error bar relative to the exact one; infinite where the method has none."""
        value = getattr(self, method)["sd"][parameter]
        return float("inf") if value is None else value / float(self.exact["sd"][parameter])


class SampledNumber(NamedTuple):
    """A sampled number beside the exact one."""

    problem: str
    program: str
    kind: str
    quantity: str
    value: float
    error: float
    exact: float
    z: float

    def __str__(self) -> str:
        names = " and ".join(SYMBOLS[name] for name in self.quantity.split())
        return (
            f"the {KINDS[self.kind]} of {names} by {PROGRAMS[self.program]} for {self.problem} "
            f"({self.value:.3f} ± {self.error:.3f}, exact {self.exact:.3f}: {abs(self.z):.1f} standard errors)"
        ).replace("-0", "−0")


def computed(result: StudyResult) -> Iterator[FinishedCell]:
    """The cells that have numbers."""
    return (cell for cell in result.cells if cell.error is None)


def assemble(result: StudyResult) -> tuple[Bars, ...]:
    """One entry for each problem, in the study's order."""
    found = []
    for cell in computed(result):
        if cell.cell.settings["program"] != "closed-forms":
            continue
        problem = cell.cell.settings["problem"]
        exact = result[f"{problem['name']}.quadrature"].values
        sampled = {
            c.cell.settings["program"]: c
            for c in sampled_cells(result)
            if c.cell.settings["problem"]["name"] == problem["name"]
        }
        found.append(
            Bars(
                problem["name"],
                problem["label"],
                exact,
                cell.values["mackay"],
                cell.values["hessian"],
                exact["density"],
                int(cell.values["n_modes"]),
                sampled,
            )
        )
    return tuple(found)


def sampled_cells(result: StudyResult) -> Iterator[FinishedCell]:
    """The cells of samplers that have numbers."""
    return (cell for cell in computed(result) if cell.cell.settings["program"] in PROGRAMS)


def sampled_figures(result: StudyResult) -> tuple[SampledNumber, ...]:
    """Every sampled number of the study."""
    return tuple(
        SampledNumber(
            cell.cell.settings["problem"]["label"],
            cell.cell.settings["program"],
            kind,
            quantity,
            value,
            cell.values["errors"][kind][quantity],
            cell.values["exact"][kind][quantity],
            cell.values["z"][kind][quantity],
        )
        for cell in sampled_cells(result)
        for kind in KINDS
        for quantity, value in cell.values[kind].items()
        if cell.values["z"][kind][quantity] is not None
    )


# --- words -----------------------------------------------------------------------------------------------------------

RULE = (
    f"Counts the error bars of log μ and log ζ by MacKay's formula that are within {100 * CLOSE:.0f} % of the exact "
    "ones. Holds where all are, with care where at least half are, fails otherwise."
)


def badge(right: int, of: int) -> State:
    """From the number of error bars that are close to the exact ones."""
    if right == of:
        return "holds"
    return "with care" if 2 * right >= of else "fails"


def answer(result: StudyResult) -> Answer:
    """Are MacKay's error bars right?"""
    bars = assemble(result)
    of = 2 * len(bars)
    right = {m: of - sum(len(off(bars, m, p)) for p in ("log_mu", "log_zeta")) for m in ("mackay", "hessian")}
    points = [f"The Hessian, which needs no integration either, gets {right['hessian']} of {of} right."]
    if wrong := off(bars, "mackay", "log_mu"):
        points.insert(
            0, f"MacKay's error bar of log μ is wrong for these kernels: {'; '.join(b.label for b in wrong)}."
        )
    figures = sampled_figures(result)
    if figures:
        beyond = sum(abs(f.z) > STANDARD_ERRORS for f in figures)
        points.append(
            f"Sampling confirms the exact numbers: {len(figures) - beyond} of {len(figures)} sampled numbers are "
            f"within {STANDARD_ERRORS:g} standard errors."
        )
    return Answer(
        badge(right["mackay"], of),
        f"MacKay's formula gets {right['mackay']} of {many(of, 'error bar')} of the hyperparameters right to within "
        f"{100 * CLOSE:.0f} %.",
        tuple(points),
        RULE,
    )


def findings(result: StudyResult) -> tuple[str, ...]:
    """All that the numbers say; every clause depends on them."""
    bars = assemble(result)
    return (
        _widths_sentence(bars, "mackay", "MacKay's error bars"),
        _widths_sentence(bars, "hessian", "The Hessian's error bars"),
        _correlations_sentence(bars),
        _sampling_sentence(result),
        *_modes_sentences(bars),
    )


def off(bars: tuple[Bars, ...], method: str, parameter: str) -> tuple[Bars, ...]:
    """The problems where a method's error bar differs from the exact one by more than a quarter."""
    return tuple(b for b in bars if parameter in b.parameters and abs(b.ratio(method, parameter) - 1.0) > CLOSE)


def _widths_sentence(bars: tuple[Bars, ...], method: str, subject: str) -> str:
    said = []
    for parameter, symbol in SYMBOLS.items():
        having = [b for b in bars if parameter in b.parameters]
        if not having:
            continue
        count = f"all {len(having)} kernels" if len(having) > 1 else having[0].label
        if wrong := off(bars, method, parameter):
            if 1 < len(having) != len(wrong):
                count = f"{len(wrong)} of {len(having)} kernels"
            listed = "; ".join(f"{b.label} ({_difference(b, method, parameter)})" for b in wrong)
            said.append(f"{subject} of {symbol} are off by more than {100 * CLOSE:.0f} % for {count}: {listed}.")
        else:
            worst = max(abs(b.ratio(method, parameter) - 1.0) for b in having)
            of = "Those" if said else subject
            said.append(
                f"{of} of {symbol} are within {100 * CLOSE:.0f} % of the exact ones for {count} (at worst "
                f"{100 * worst:.0f} % off)."
            )
    return " ".join(said)


def _difference(bars: Bars, method: str, parameter: str) -> str:
    ratio = bars.ratio(method, parameter)
    exact = f"{bars.exact['sd'][parameter]:.3f}"
    if ratio > NO_LIMIT:
        endless = f"{_ENDLESS[parameter]} the formula has no upper limit"
        return f"more than {NO_LIMIT:g} times too wide, exact {exact}: {endless}"
    value = getattr(bars, method)["sd"][parameter]
    return f"{value:.3f} against {exact}, {100 * abs(ratio - 1.0):.0f} % too {'wide' if ratio > 1.0 else 'narrow'}"


def _correlations_sentence(bars: tuple[Bars, ...]) -> str:
    largest = max(
        ((value, pair, b) for b in bars for pair, value in b.exact["correlation"].items()), key=lambda x: abs(x[0])
    )
    value, pair, where = largest
    names = " and ".join(SYMBOLS[name] for name in pair.split())
    said = (
        "MacKay treats log μ and log ζ as uncorrelated; the largest exact correlation is "
        f"{number(value, '+.2f')}, of {names} for {where.label}"
    )
    by_hessian = where.hessian["correlation"][pair]
    return said + (f" ({number(by_hessian, '+.2f')} by the Hessian)." if by_hessian is not None else ".")


def _sampling_sentence(result: StudyResult) -> str:
    figures = sampled_figures(result)
    if not figures:
        return "Nothing was sampled here, so the exact error bars are not confirmed by another method."
    beyond = [f for f in figures if abs(f.z) > STANDARD_ERRORS]
    programs = ", ".join(PROGRAMS[p] for p in PROGRAMS if any(f.program == p for f in figures))
    counted = f"sampled numbers (means, standard deviations and correlations by {programs})"
    failed = {key for key, _ in result.failed} & {c.cell.key for c in sampled_cells(result)}
    doubt = f" The chains of {', '.join(sorted(failed))} failed a check: do not rely on them." if failed else ""
    if not beyond:
        worst = max(abs(f.z) for f in figures)
        return (
            f"All {len(figures)} {counted} are within {STANDARD_ERRORS:g} Monte-Carlo standard errors of quadrature; "
            f"the farthest is {worst:.1f} away.{doubt}"
        )
    listed = "; ".join(str(f) for f in sorted(beyond, key=lambda f: -abs(f.z)))
    return (
        f"{len(beyond)} of {len(figures)} {counted} {'is' if len(beyond) == 1 else 'are'} more than "
        f"{STANDARD_ERRORS:g} Monte-Carlo standard errors from quadrature, where chance alone would put about "
        f"{len(figures) * CHANCE:.1f}: {listed}. {chance(max(abs(f.z) for f in beyond), len(figures))}{doubt}"
    )


def chance(worst: float, count: int) -> str:
    """Whether the farthest of so many figures, in standard errors, is more than luck can explain."""
    limit = float(norm.isf(0.025 / count))
    said = f"The farthest of {count} figures is below {limit:.1f} with 95 % probability"
    return f"{said}: this is {'no more than chance explains' if worst <= limit else 'more than chance explains'}."


def _modes_sentences(bars: tuple[Bars, ...]) -> tuple[str, ...]:
    several = [b for b in bars if b.n_modes > 1]
    if not several:
        return ()
    listed = ", ".join(f"{b.label} ({b.n_modes})" for b in several)
    return (f"More than one mode: {listed}. A formula that looks at one mode misses the spread between them.",)
