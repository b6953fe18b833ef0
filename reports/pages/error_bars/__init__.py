"""Page of the study of error bars: how wide the posterior of the hyperparameters is, by formula and in truth."""

from __future__ import annotations

from matplotlib.figure import Figure

from reports.draw.thumbnail import bars as thumbnail_bars
from reports.frame.draws import has_draws, largest_rhat
from reports.frame.page import Page, Picture, Row, Section, Table
from reports.frame.words import number
from reports.pages.independence import independence
from validation.harness import FinishedCell, StudyResult
from validation.sampled import BUDGET

from .bars import (
    CLOSE,
    NO_LIMIT,
    PROGRAMS,
    STANDARD_ERRORS,
    SYMBOLS,
    Bars,
    answer,
    assemble,
    findings,
    sampled_cells,
    sampled_figures,
)
from .figures import arviz_forest, arviz_pair, effective_sizes, energies, forest, pairs, ranks

INTRODUCTION = (
    "How well do the data determine the hyperparameters? MacKay's formula gives error bars of log μ and log ζ without "
    "any integration. They are compared with those of the Hessian, with the exact ones by quadrature and with those of "
    "NUTS, on the same data and under the same priors."
)
_MOST_RANK_PLOTS = 3


def page(result: StudyResult) -> Page:
    """The page."""
    bars = assemble(result)
    return Page(
        answer=answer(result),
        introduction=INTRODUCTION,
        findings=findings(result),
        key_picture=_forest_picture(bars),
        key_table=key_table(bars),
        sections=(
            Section("The shape of the posterior", pictures=(_pairs_picture(bars),)),
            Section(
                "Sampled against exact",
                paragraphs=(
                    "Every sampled mean, standard deviation and correlation is compared with quadrature on the same "
                    "rows, in units of its own Monte-Carlo standard error.",
                ),
                tables=(distance_table(result),),
            ),
            *_rank_section(result),
            independence(),
            *_arviz_section(result, bars),
        ),
        methods=methods(result),
        result=result,
        thumbnail=_thumbnail(bars),
        related=("map-of-trust", "calibration", "evidence"),
    )


def _thumbnail(bars: tuple[Bars, ...]) -> Figure:
    ratios = {_short(b.label): min(b.ratio("mackay", "log_mu"), 2.0) for b in bars[:6]}
    return thumbnail_bars(ratios, "MacKay's error bar over the exact one (1: right)", limit=1.0, form=".2f")


def _short(label: str) -> str:
    return label.replace("polynomial", "poly.").replace("targets permuted", "permuted").partition(" (")[0]


# --- tables ----------------------------------------------------------------------------------------------------------


def key_table(bars: tuple[Bars, ...]) -> Table:
    """Standard deviations by every method, and the correlations."""
    rows = []
    for parameter, symbol in SYMBOLS.items():
        having = [b for b in bars if parameter in b.parameters]
        if having:
            rows.append(Row(f"Standard deviation of {symbol}"))
            rows += [Row("  " + b.label, _sd_cells(b, parameter)) for b in having]
    rows.append(Row("Correlation of log μ and log ζ"))
    rows += [Row("  " + b.label, _correlation_cells(b, "log_mu log_zeta")) for b in bars]
    free = [b for b in bars if "log_sigma" in b.parameters]
    if free:
        rows.append(Row("Correlation of log μ and log σ"))
        rows += [Row("  " + b.label, _correlation_cells(b, "log_mu log_sigma")) for b in free]
    return Table(
        "Error bars of the hyperparameters",
        ("", "MacKay", "Hessian", "exact", "NUTS", "MacKay / exact"),
        tuple(rows),
        "Hessian: of the log posterior at its mode, prior included. NUTS: weights and bias integrated out, with its "
        f"Monte-Carlo standard error. A ratio marked ✗ is off by more than {100 * CLOSE:.0f} %. With σ free, MacKay's "
        "column integrates the evidence (5.2) over σ.",
    )


def _sd_cells(b: Bars, parameter: str) -> tuple[str, ...]:
    ratio = b.ratio("mackay", parameter)
    mark = " ✗" if abs(ratio - 1.0) > CLOSE else ""
    return (
        _width(b.mackay["sd"][parameter], b.exact["sd"][parameter]),
        _width(b.hessian["sd"][parameter], b.exact["sd"][parameter]),
        f"{b.exact['sd'][parameter]:.3f}",
        _sampled(b, "sd", parameter),
        (f"{ratio:.2f}" if ratio <= NO_LIMIT else f"> {NO_LIMIT:g}") + mark,
    )


def _correlation_cells(b: Bars, pair: str) -> tuple[str, ...]:
    found = [number(values["correlation"][pair], "+.3f") for values in (b.mackay, b.hessian, b.exact)]
    return (*found, _sampled(b, "correlation", pair), "–")


def _width(value: float | None, exact: float) -> str:
    if value is None or value > 100.0 * exact:
        return "no limit"
    return f"{value:.3f}"


def _sampled(b: Bars, kind: str, quantity: str) -> str:
    if "collapsed" not in b.sampled:
        return "–"
    values = b.sampled["collapsed"].values
    value = values[kind][quantity]
    shown = number(value, "+.3f") if kind == "correlation" else f"{value:.3f}"
    return f"{shown} ± {values['errors'][kind][quantity]:.3f}"


def distance_table(result: StudyResult) -> Table:
    """The farthest figure of each set of chains."""
    figures = sampled_figures(result)
    rows = []
    for cell in sampled_cells(result):
        settings = cell.cell.settings
        label, program = settings["problem"]["label"], settings["program"]
        own = [f for f in figures if (f.problem, f.program) == (label, program)]
        worst = max(own, key=lambda f: abs(f.z))
        names = ", ".join(SYMBOLS[name] for name in worst.quantity.split())
        rows.append(
            Row(
                f"{label}: {PROGRAMS[program]}",
                (
                    str(cell.values["n_rows"]),
                    f"{cell.values['min_ess']:.0f}",
                    f"{abs(worst.z):.1f}",
                    f"{worst.kind}, {names}",
                    "yes" if all(check.passed for check in cell.checks) else "✗ no",
                ),
            )
        )
    return Table(
        "Distances of sampled numbers from quadrature",
        ("chains", "rows", "least ESS", "farthest (s.e.)", "which", "checks passed"),
        tuple(rows),
        f"Up to {STANDARD_ERRORS:g} standard errors is agreement; among so many figures a larger distance can "
        "arise by chance, and one beyond 4 fails a check.",
    )


# --- pictures --------------------------------------------------------------------------------------------------------


def _forest_picture(bars: tuple[Bars, ...]) -> Picture:
    narrow = [b for b in bars if b.ratio("mackay", "log_mu") < 1.0 - CLOSE]
    alt = (
        "Forest plot: for every kernel, mean and standard deviation of each log hyperparameter by each method, in "
        "units of the exact posterior. MacKay's bar of log μ is clearly shorter than the exact one for "
        f"{len(narrow)} of {len(bars)} kernels."
    )
    caption = (
        "Bars are one standard deviation to either side of the mean (for MacKay and the Hessian: of the mode). "
        "The grey band is the exact one: a bar that fills it is right, a shorter one is too confident, and one "
        "that is shifted is biased. Arrows mark bars that extend beyond the frame."
    )
    return Picture("forest", forest(bars), alt, caption)


def _pairs_picture(bars: tuple[Bars, ...]) -> Picture:
    alt = (
        "Scatter plots of draws of log μ and log ζ (log σ where it is free), one for every kernel, with contours of "
        "the exact density and the ellipses of MacKay's formulas and of the Hessian."
    )
    caption = (
        "Contours and ellipses enclose 39 % and 86 % of their mass, as one and two standard deviations of a "
        "Gaussian in the plane do. Where the solid contours are not ellipses (a one-sided tail, two peaks), no "
        "Gaussian can be right."
    )
    return Picture("pairs", pairs(bars), alt, caption)


def _rank_section(result: StudyResult) -> tuple[Section, ...]:
    cells = rank_cells(result)
    if not cells:
        return ()
    pictures = []
    for cell in cells:
        label = f"{cell.cell.settings['problem']['label']}, {PROGRAMS[cell.cell.settings['program']]}"
        worst = max((c for c in cell.checks if c.name == "R-hat"), key=lambda c: c.value)
        pictures.append(
            Picture(
                f"ranks-{cell.cell.key}",
                ranks(cell),
                f"Rank plots of the chains of {label}: one line for each chain and a grey band around zero.",
                f"{label}. Each line is a chain. Chains that draw from the same distribution all stay within the grey "
                f"band with 99 % probability; the largest R-hat is {worst.value:.4f}.",
            )
        )
    return (Section("Did the chains mix?", pictures=tuple(pictures)),)


def _arviz_section(result: StudyResult, bars: tuple[Bars, ...]) -> tuple[Section, ...]:
    """Forest, pairs, effective sizes and energies by ArviZ, folded."""
    having = [b for b in bars if "collapsed" in b.sampled and has_draws(b.sampled["collapsed"])]
    if not having:
        return ()
    widest = max(having, key=lambda b: len(b.parameters))
    pictures = [
        Picture(
            "arviz-forest",
            arviz_forest(bars),
            "ArviZ's forest plot of the draws of collapsed NUTS, with the bars of MacKay, the Hessian and quadrature.",
            "The upper line of each row is ArviZ's summary of the draws: thick 68 %, thin 95 %. Below it are "
            "MacKay's bar, the Hessian's and the exact one, of one and two standard deviations.",
        ),
        Picture(
            "arviz-pair",
            arviz_pair(widest),
            f"ArviZ's pair plot of the draws of {widest.label}, with ellipses and the contours of the exact density.",
            f"{widest.label}. Dashed: the Hessian's ellipses; dash-dotted: MacKay's; solid: the exact density.",
        ),
    ]
    for cell in rank_cells(result):
        label = f"{cell.cell.settings['problem']['label']}, {PROGRAMS[cell.cell.settings['program']]}"
        pictures.append(
            Picture(
                f"ess-{cell.cell.key}",
                effective_sizes(cell),
                f"Effective sample sizes at the quantiles of each parameter, {label}.",
                f"{label}: effective draws for each quantile. The line marks the 400 that ArviZ recommends.",
            )
        )
        energy = energies(cell)
        if energy is not None:
            pictures.append(
                Picture(
                    f"energy-{cell.cell.key}",
                    energy,
                    f"E-FMI of each chain, and densities of the energy and of its steps, {label}.",
                    f"{label}: where the steps spread less than the energy itself (E-FMI below 0.3), chains are slow.",
                )
            )
    return (Section("The chains by ArviZ", pictures=tuple(pictures)),)


def rank_cells(result: StudyResult) -> tuple[FinishedCell, ...]:
    """The chains with the largest R-hat of each program."""
    worst: dict[str, FinishedCell] = {}
    for cell in filter(has_draws, sampled_cells(result)):
        program = cell.cell.settings["program"]
        if program not in worst or largest_rhat(cell) > largest_rhat(worst[program]):
            worst[program] = cell
    return tuple(worst.values())[:_MOST_RANK_PLOTS]


# --- words -----------------------------------------------------------------------------------------------------------


def methods(result: StudyResult) -> tuple[str, ...]:
    """How the numbers were made."""
    sampled = list(sampled_cells(result))
    lengths = "; ".join(
        f"{words}: 4 chains of {_span(draws)} draws"
        for program, words in PROGRAMS.items()
        if (draws := {c.cell.settings["draws"] for c in sampled if c.cell.settings["program"] == program})
    )
    return (
        "Priors: log μ and log ζ ~ Normal(0, 3), log σ ~ Normal(0, 1) where it is free, the bias flat. Inputs are "
        "standardised. Permuted targets keep the kernel and the class frequencies and destroy the signal (seed 0).",
        "MacKay: σ_logμ|D = √(2/(γ_eff − 1)) and σ_logζ|D = √(2/(N − γ_eff)) at the evidence's mode, without the "
        "prior. Hessian: the inverse of minus the Hessian of the log posterior at its highest mode. Exact: "
        "moments by quadrature, which is refined until its log evidence no longer changes.",
        "Monte-Carlo standard errors come from effective sample sizes: of the mean, of the squared deviations for a "
        "standard deviation, and of its influence function for a correlation."
        + (f" {lengths}, after warm-up." if lengths else ""),
        "Weight-space NUTS samples the weights too. GP NUTS computes a Cholesky factor at every step, and so does "
        "weight space where σ is free: its features are the factor of the kernel matrix at each σ. Chains start near "
        "the modes that they find. NUTS moves the hyperparameters; after each step come jumps between modes and fresh "
        f"weights, accepted by the Metropolis–Hastings rule. {BUDGET}",
    )


def _span(values: set[int]) -> str:
    return f"{min(values)}" if len(values) == 1 else f"{min(values)} to {max(values)}"
