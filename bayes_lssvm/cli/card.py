"""The model card: what a model was fitted to, what it found, how far it can be trusted, and how to use it.

Everything about quality is on left-out rows: each row is predicted by the model of the others, in closed form.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

from .._version import __version__
from ..base.errors import quiet
from ..base.grades import Grade, worst
from ..base.text import listed, quoted
from ..base.typing import Array
from ..displays.evidence import EvidenceDisplay
from ..displays.left_out import LeftOutDisplay
from ..displays.relevance import RelevanceDisplay
from ..displays.reliability import ReliabilityDisplay
from ..displays.surface import DecisionSurfaceDisplay
from ..estimators.grades import TrustReport, calibration_grades
from ..estimators.left_out import left_out_probabilities
from ..levels.calibration import Calibration, calibration
from ..trust import VERDICTS, trust
from . import html
from .figures import as_svg
from .training import Training
from .verdicts import badge, closed_forms, interval_grades, on_closed_forms

_MOST_EVIDENCE_ROWS = 700  # beyond, the curve of the evidence would take longer than the fit
_SHOWN_CLASSES, _FAR, _SHOWN_FAR, _SHOWN_REASONS = 12, 3.0, 8, 4


class LeftOut(NamedTuple):
    """How well left-out rows of classes are predicted."""

    probabilities: Array
    labels: Any
    found: Calibration

    @property
    def accuracy(self) -> float:
        return float(np.mean(self.probabilities.argmax(axis=1) == self.labels))


class Quality(NamedTuple):
    """What left-out rows say: the sentence that a colleague could repeat, grades, parts of the section, figures."""

    lead: str
    grades: tuple[Grade, ...]
    parts: list[str]
    drawn: list[tuple[str, str]]


def model_card(model: Any, training: Training, args: argparse.Namespace, warnings: Sequence[str]) -> str:
    """The page. For a model of fixed size the parts that need all rows at once are left out."""
    training = training.with_weight()  # the rows that the model has seen
    exact = hasattr(model, "X_fit_") or getattr(model, "multiclass_", None) is not None
    with quiet():
        left_out = _left_out(model, training) if exact and training.task == "classification" else None
        unchecked = _unchecked(training, exact)
        report = None if unchecked else _trusted(model, training)
        found = _quality(model, training, left_out, exact)
        relevance = RelevanceDisplay.from_estimator(model, training.X, method="change", plot=False)
        sections = [
            html.section("How good is it?", *found.parts, html.figures(found.drawn) if found.drawn else ""),
            _relevance(relevance, training),
            _trust_section(report, found.grades, unchecked),
            _data(training, warnings),
            _model(model, training, args),
            _use(model, training, args),
            _provenance(model, args),
        ]
    title = f"{training.target}: a model of {training.source}"
    return html.page(title, badge(found.grades), found.lead, sections, also=on_closed_forms(report))


# --- quality ---------------------------------------------------------------------------------------------------------


def _left_out(model: Any, training: Training) -> LeftOut | None:
    if model.moderation != "loo" or not hasattr(model, "predict_proba"):
        return None
    X, y = training.X, training.y
    if training.weights is not None:
        X, y = X[training.weights > 0.0], y[training.weights > 0.0]
    P = left_out_probabilities(model, X, y)
    labels = np.searchsorted(model.classes_, y)
    twins = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    return LeftOut(P, labels, calibration(P, labels, twins))


def _quality(model: Any, training: Training, left_out: LeftOut | None, exact: bool) -> Quality:
    if training.task == "regression" and exact:
        found = _regression(model, training)
    elif left_out is not None:
        found = _classification(model, left_out)
    else:
        why = "Leave-one-out has no closed form for fixed-size models and for the papers' forms of the probabilities."
        parts = [html.paragraph(f"{why} Check it on rows that it has not seen: bayes-lssvm predict.")]
        lead = f"A model of {len(training.X)} rows for {training.target}; it has not been checked on left-out rows."
        found = Quality(lead, (), parts, [])
    drawn = found.drawn
    if len(training.inputs) <= 2:
        surface = DecisionSurfaceDisplay.from_estimator(model, training.X, training.y, plot=False)
        caption = "What the model predicts over its inputs, with the training rows."
        drawn.append((_svg(surface, "surface", caption, square=True), caption))
    kernel = getattr(model, "kernel_", None)
    if exact and kernel is not None and kernel.log_params.size and len(training.X) <= _MOST_EVIDENCE_ROWS:
        display = EvidenceDisplay.from_estimator(model, n_points=31, plot=False)
        caption = (
            f"The evidence as a function of the {display.label}: the fit takes its maximum, and a narrow peak "
            "means that the choice is certain."
        )
        drawn.append((_svg(display, "evidence", caption), caption))
    return found


def _classification(model: Any, left_out: LeftOut) -> Quality:
    drawn: list[tuple[str, str]] = []
    classes, found = model.classes_.tolist(), left_out.found
    counts = np.bincount(left_out.labels, minlength=len(classes))
    common = int(counts.argmax())
    score, reliability = calibration_grades(found, classes)
    rows = [
        (
            "Right decisions",
            f"{left_out.accuracy:.1%}",
            f"always predicting {classes[common]}: {counts[common] / counts.sum():.1%}",
        ),
        ("Log score", f"{found.gain:+.3f} ± {found.gain_error:.3f} nats per row", "class frequencies: 0"),
    ]
    if len(classes) == 2:
        rows.append(("Area under the ROC curve", f"{_auc(left_out):.3f}", "guessing: 0.5"))
    predicted = left_out.probabilities.argmax(axis=1)
    confusion = [
        (str(label), *(str(int(np.sum((left_out.labels == i) & (predicted == j)))) for j in range(len(classes))))
        for i, label in enumerate(classes)
    ]
    parts = [
        html.paragraph(
            "Each row is predicted by a model fitted to all the other rows, so no row helps to predict itself.", "soft"
        ),
        html.table(("of left-out rows", "this model", "without a model"), rows),
        html.paragraph(f"{score.sentence} {reliability.sentence}"),
    ]
    if len(classes) <= _SHOWN_CLASSES:
        title = "Confusion matrix: true classes in rows, decisions in columns"
        shown = html.table(("", *map(str, classes)), confusion, numbers=range(1, len(classes) + 1))
        parts.append(html.folded(title, shown))
    if found.groups:
        column = found.groups[0].label
        display = ReliabilityDisplay(found.groups, label=classes[column], left_out=True)
        caption = f"Predicted and observed frequencies of {classes[column]}; a bar is one standard deviation."
        drawn.append((_svg(display, "reliability", caption), caption))
    how = {"good": "its probabilities are calibrated", "doubtful": "its probabilities are nearly calibrated"}
    tells = (
        f"It tells {classes[1]} from {classes[0]} in {_auc(left_out):.0%} of left-out pairs (guessing: 50%)"
        if len(classes) == 2
        else f"It gets {left_out.accuracy:.0%} of left-out rows right (without it: {counts[common] / counts.sum():.0%})"
    )
    lead = f"{tells}; {how.get(reliability.level, 'its probabilities need care')}."
    return Quality(lead, (score, reliability), parts, drawn)


def _auc(left_out: LeftOut) -> float:
    """P(a row of the second class has the larger probability of it), ties halved: the rank-sum statistic."""
    p, positive = left_out.probabilities[:, 1], left_out.labels == 1
    _, place, count = np.unique(p, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - 0.5 * (count - 1))[place]
    n1, n0 = int(positive.sum()), int((~positive).sum())
    return float((ranks[positive].sum() - n1 * (n1 + 1) / 2) / (n1 * n0))


def _regression(model: Any, training: Training) -> Quality:
    display = LeftOutDisplay.from_estimator(model, plot=False)
    errors = display.y_true - display.y_pred
    rmse, spread = float(np.sqrt(np.mean(errors**2))), float(display.y_true.std(ddof=1))
    share = 1.0 - float(np.sum(errors**2) / np.sum((display.y_true - display.y_true.mean()) ** 2))
    rows = [
        ("Root mean square error", _short(rmse), f"predicting the mean: {_short(spread)}"),
        ("Share of the variance explained", f"{share:.1%}", "predicting the mean: 0%"),
        *(
            (f"Targets within {p:.0%} intervals", f"{display.coverage(p):.1%}", f"aim: {p:.0%}")
            for p in (0.5, 0.9, 0.99)
        ),
    ]
    parts = [
        html.paragraph(
            "Each row is predicted by a model fitted to all the other rows, so no row helps to predict itself.", "soft"
        ),
        html.table(("of left-out rows", "this model", "to compare with"), rows),
    ]
    far = np.flatnonzero(np.abs(display.deviates) > _FAR)
    if len(far):
        worst = far[np.argsort(-np.abs(display.deviates[far]))][:_SHOWN_FAR]
        listed_rows = [
            (str(i + 1), _short(display.y_true[i]), _short(display.y_pred[i]), f"{display.deviates[i]:+.1f}")
            for i in worst.tolist()
        ]
        many = len(far) > 1
        parts += [
            html.paragraph(
                f"{len(far)} row{'s' * many} {'lie' if many else 'lies'} more than {_FAR:g} standard deviations "
                "from the prediction: look at them before you use the model. They also widen the intervals of all "
                "other rows."
            ),
            html.table(("row used", "target", "prediction", "standard deviations"), listed_rows, numbers=(1, 2, 3)),
        ]
    caption = "Targets against predictions of left-out rows; a bar is the 90% interval."
    drawn = [(_svg(display, "left-out", caption), caption)]
    lead = (
        f"The model explains {share:.0%} of the variance of {training.target} in left-out rows; "
        f"{display.coverage(0.9):.0%} of them lie within their 90% intervals."
    )
    return Quality(lead, interval_grades(display), parts, drawn)


def _short(value: float) -> str:
    """A number of four digits or so, thousands in groups."""
    size = abs(float(value))
    if not 1e-3 <= size < 1e9:
        return f"{value:.4g}"
    return f"{value:,.{max(0, 3 - int(np.floor(np.log10(size))))}f}"


def _svg(display: Any, name: str, alt: str, *, square: bool = False) -> str:
    return as_svg(display.plot, name, escape(alt, quote=True), square=square)


# --- the other sections ----------------------------------------------------------------------------------------------


def _relevance(display: RelevanceDisplay, training: Training) -> str:
    unit = "class probabilities" if training.task == "classification" else f"predictions of {training.target}"
    said = (
        f"How much {unit} change on average when a column is held at its mean. This shows what the model uses, not "
        "what causes what."
    )
    if not display.values.max() > 0.0:
        said = "None: predictions do not depend on any column."
        return html.section("Which columns matter?", html.paragraph(said))
    caption = f"{display.names[display.order[0]]} matters most to the model."
    return html.section(
        "Which columns matter?", html.paragraph(said), html.figures([(_svg(display, "relevance", caption), caption)])
    )


def _unchecked(training: Training, exact: bool) -> str:
    """Why `trust` has nothing to say of a model; empty where it has."""
    return "" if exact else "The checks are for models that keep all rows."


def _trusted(model: Any, training: Training) -> TrustReport:
    return trust(
        training.X,
        training.y,
        sample_weight=training.weights,
        kernel=model.kernel,
        fixed_kernel=not model.refine,
        task=training.task,
        seed=model.random_state,
        progress=False,
    )


def _trust_section(report: TrustReport | None, grades: Sequence[Grade], unchecked: str) -> str:
    """Left-out rows first, since they decide; the closed forms after them."""
    title, own = "Can it be trusted?", [(grade.name, grade.level, grade.sentence) for grade in grades]
    if report is None:
        return html.section(title, html.paragraph(unchecked))
    forms = closed_forms(report)
    level = worst(forms)
    why = [grade.sentence for grade in forms if grade.level in ("doubtful", "bad")]
    rows = [*own, *((grade.name, grade.level, grade.sentence) for grade in forms)]
    return html.section(
        title,
        html.table(("on left-out rows", "grade", "what was found"), own) if own else "",
        html.paragraph(
            "A second question is whether the closed forms of the evidence framework hold on these data. Its evidence "
            "and its error bars of the hyperparameters approximate integrals; here they are compared with the exact "
            f"ones ({report.rows})."
        ),
        html.paragraph(VERDICTS[level]) if VERDICTS[level] else html.bullets([grade.sentence for grade in forms]),
        html.bullets(why[:_SHOWN_REASONS]) if why else "",
        html.folded("All checks", html.table(("check", "grade", "what was found"), rows)),
    )


def _data(training: Training, warnings: Sequence[str]) -> str:
    rows = [(name, step) for name, step in training.steps.items()]
    if training.task == "classification":
        shares = (f"{label} ({count}, {count / len(training.y):.1%})" for label, count in training.counts.items())
        target = "classes " + listed(shares, 20)
    else:
        target = f"numbers from {_short(training.y.min())} to {_short(training.y.max())}"
    facts = [
        ("file", training.source),
        ("rows used", str(len(training.X))),
        ("inputs", str(len(training.inputs))),
        ("target", f"{training.target}: {target}"),
    ]
    said = "".join(html.paragraph(f"Warning: {sentence}") for sentence in warnings)
    columns = html.table(("column", "what was done"), rows)
    shown = columns if len(rows) <= 20 else html.folded(f"All {len(rows)} columns", columns)
    return html.section("Data", html.table((), facts), shown, said)


def _model(model: Any, training: Training, args: argparse.Namespace) -> str:
    facts: list[tuple[str, str]] = [("kind", f"{training.task} by {type(model).__name__}")]
    if hasattr(model, "level3_"):
        level3, level2 = model.level3_, model.level3_.level2
        facts += [
            ("kernel", f"{model.kernel_!s} on standardised inputs"),
            ("weight precision μ", f"{level2.mu:.4g}"),
            ("noise precision ζ", f"{level2.zeta:.4g}"),
            ("effective number of parameters", f"{level2.gamma_eff:.4g} of {level2.n} rows"),
            ("log evidence", f"{model.log_evidence_:.2f} nats"),
            ("log evidence with MacKay's Occam factor (5.2)", f"{level3.log_evidence:.2f} nats"),
        ]
    else:
        members, own = model.members_, getattr(model, "kernel_", None)
        kernel = f"such as {members[0].kernel_!s}" if own is None else f"with the kernel {own!s}"
        facts += [
            ("members", f"{len(members)} binary models, {kernel} on standardised inputs"),
            ("log evidence", f"{model.log_evidence_:.2f} nats, all members together"),
        ]
    criterion = "the evidence" if args.criterion == "evidence" else args.criterion
    facts.append(("kernel parameters", f"chosen by {criterion}" if args.refine else "as given"))
    return html.section("Model", html.table((), facts))


def _use(model: Any, training: Training, args: argparse.Namespace) -> str:
    file = args.out or "model.npz"
    saved = [] if args.out else [html.paragraph("The model was not saved; fit with --out model.npz to use it.")]
    method = "predict_proba(X)" if training.task == "classification" else "predict(X, return_std=True)"
    commands = f"bayes-lssvm predict {quoted(file)} new.csv --out predictions.csv"
    python = (
        f"import bayes_lssvm\n\nmodel = bayes_lssvm.load({file!r})\n"
        f'X = model.encoding_.read("new.csv")  # the same columns, in any order\nmodel.{method}'
    )
    return html.section("How to use it", *saved, html.code(commands), html.code(python))


def _provenance(model: Any, args: argparse.Namespace) -> str:
    found = model.provenance_
    facts = [("bayes-lssvm", __version__), ("seed", str(args.seed))]
    facts += [(str(key), str(value)) for key, value in found.items() if isinstance(value, str | int | float)]
    packages = found.get("versions", {})
    if isinstance(packages, dict):
        facts += [(str(name), str(version)) for name, version in packages.items()]
    return html.section(
        "Where it comes from", html.folded("Versions, seed and hash of the data", html.table((), facts))
    )
