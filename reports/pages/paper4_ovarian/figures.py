"""ROC curves of the pipeline's models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from reports.draw.style import BLUE, GREEN, GREY, VERMILION, new_figure
from reports.frame.page import Picture
from validation.harness import StudyResult
from validation.papers.paper4.ovarian import SETS, of_set
from validation.papers.paper4.ovarian_pipeline import SELECTED
from validation.papers.paper4.roc import FALSE_POSITIVE_RATES

from .sentences import mean

LOOKS = {
    "LR": (GREEN, (0, (1, 1.2))),
    "LS-SVM lin": (BLUE, (0, (5, 2))),
    "LS-SVM RBF": (VERMILION, "-"),
    "LS-SVM RBF, pruned": (GREY, (0, (3, 1, 1, 1))),
}
CORNER = {"wbc": (0.2, 0.8), "pid": (1.0, 0.0)}
"""Right and lower end of the ROC figure's axes: where the curves are."""


def roc_picture(result: StudyResult, sets: Sequence[str]) -> Picture:
    """Mean ROC curves, one panel a data set."""
    with new_figure(4.6 * len(sets), 4.6) as figure:
        panels: Sequence[Axes] = figure.subplots(1, len(sets), squeeze=False)[0]
        for panel, name in zip(panels, sets, strict=True):
            _curves(panel, of_set(result, name), *CORNER[name])
            panel.set_title(SETS[name], loc="left")
        panels[0].set_ylabel("sensitivity")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    means = {name: {m: mean(of_set(result, name), m, "auc") for m in SELECTED} for name in sets}
    listed = [f"{SETS[name]}: {', '.join(f'{m} {auc:.4f}' for m, auc in own.items())}" for name, own in means.items()]
    zoomed = [SETS[name] for name in sets if CORNER[name][0] < 1.0]
    note = f" For {', '.join(zoomed)} the upper left corner is enlarged." if zoomed else ""
    return Picture(
        "roc",
        figure,
        f"Mean ROC curves. AUC: {'; '.join(listed)}.",
        "Mean ROC curves over randomisations, on the inputs selected by the evidence. The band spans one standard "
        f"deviation of the RBF LS-SVM's sensitivity on each side.{note} The higher a curve, the better; where curves "
        "lie on each other the models rank the cases alike.",
    )


def _curves(panel: Axes, values: Sequence[Any], right: float, low: float) -> None:
    for model, (colour, dashes) in LOOKS.items():
        curves = np.array([v["models"][model]["curve"] for v in values])
        middle = curves.mean(axis=0)
        width = 2.2 if model == "LS-SVM RBF" else 1.6
        panel.plot(FALSE_POSITIVE_RATES, middle, color=colour, linestyle=dashes, linewidth=width, label=model)
        if model == "LS-SVM RBF" and len(curves) > 1:
            sd = curves.std(axis=0, ddof=1)
            panel.fill_between(
                FALSE_POSITIVE_RATES, middle - sd, np.minimum(middle + sd, 1.0), color=colour, alpha=0.15, linewidth=0
            )
    if right == 1.0:
        panel.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
    panel.xaxis.set_major_locator(MaxNLocator(5))
    panel.yaxis.set_major_locator(MaxNLocator(5))
    panel.set(xlim=(0.0, right), ylim=(low, 1.0 + 0.01 * (1.0 - low)), xlabel="1 − specificity")
