"""The evidence against a parameter of the kernel, μ and ζ at their best for each of its values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.errors import quiet
from ..base.typing import Array
from ..kernels import Kernel
from ..levels.level3 import evidence_of
from .canvas import BLUE, GREEN, GREY, VERMILION, Display, legend_above

_STYLES = ((BLUE, "-"), (VERMILION, "--"), (GREEN, ":"))


class EvidenceDisplay(Display):
    """Log evidence along one parameter of the kernel, from a third to three times its fitted value or as given.

    Attributes
    ----------
    values : array of shape (n,)
        Of the parameter.
    curves : dict of str to array of shape (n,)
        Log evidences: what the fit maximises, with MacKay's Occam factor (5.2), and without one.
    fitted : float
    ax_, figure_, lines_

    Examples
    --------
    >>> from bayes_lssvm import BayesianLSSVR, EvidenceDisplay
    >>> model = BayesianLSSVR().fit([[0.0], [1.0], [2.0], [3.0], [4.0]], [0.1, 0.9, 1.0, 0.2, -0.8])
    >>> display = EvidenceDisplay.from_estimator(model, values=[1.0, 2.0], plot=False)
    >>> [curve.shape for curve in display.curves.values()]
    [(2,), (2,), (2,)]
    """

    def __init__(self, parameter: str, values: Array, curves: dict[str, Array], fitted: float) -> None:
        self.parameter, self.values, self.curves, self.fitted = parameter, values, curves, fitted

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        parameter: int | str = 0,
        values: Any = None,
        n_points: int = 41,
        ax: Any = None,
        plot: bool = True,
        **options: Any,
    ) -> EvidenceDisplay:
        """The evidence of a fitted `BayesianLSSVC` of two classes or `BayesianLSSVR`.

        Parameters
        ----------
        parameter : int or str
            Of the kernel, by its place or name.
        values : array, optional
            Where to look; by default `n_points` from a fifth to five times the fitted value. Each costs one reduction
            of the kernel matrix, which takes O(N³).
        """
        if getattr(estimator, "multiclass_", None) is not None:
            raise ValueError("The evidence is drawn for one binary model: give one of members_.")
        kernel: Kernel = estimator.kernel_
        names = kernel.param_names
        if not names:
            raise ValueError(f"{kernel!s} has no parameters along which to draw the evidence.")
        place = names.index(parameter) if isinstance(parameter, str) else parameter
        logs = np.asarray(kernel.log_params)
        fitted = float(np.exp(logs[place]))
        at = fitted * np.geomspace(0.2, 5.0, n_points) if values is None else np.asarray(values, dtype=float)
        kernels = [_with(kernel, place, float(np.log(value))) for value in at]
        display = cls(names[place], at, _curves(estimator, kernels), fitted)
        return display.plot(ax, **options) if plot else display

    @property
    def label(self) -> str:
        """The parameter in words."""
        return {"sigma": "kernel width σ"}.get(self.parameter, f"kernel parameter {self.parameter}")

    def plot(self, ax: Any = None, *, depth: float = 15.0, **options: Any) -> EvidenceDisplay:
        """Draw on `ax`, or on axes of its own, each curve from its maximum down to `depth` nats; options go to `plot`.

        The curves have different constants, which say nothing about the parameter; `curves` has them.
        """
        ax = self._on(ax)
        self.lines_ = []
        from_top = {name: curve - np.nanmax(curve) for name, curve in self.curves.items()}
        for (name, curve), (color, style) in zip(from_top.items(), _STYLES, strict=False):
            self.lines_ += ax.plot(self.values, curve, style, color=color, label=name, **options)
        ax.axvline(self.fitted, color=GREY, lw=0.8)
        low = max(-depth, min(float(np.nanmin(curve)) for curve in from_top.values()))
        ax.set_ylim(1.05 * low if low < 0.0 else -1.0, -0.05 * low)
        ax.set(
            xscale="log",
            xlabel=f"{self.label} (fitted: {self.fitted:.3g})",
            ylabel="log evidence from its maximum (nats)",
        )
        ax.xaxis.set_major_locator(_ticks(self.values))
        ax.xaxis.set_major_formatter("{x:g}")
        ax.xaxis.set_minor_formatter("")
        legend_above(ax)
        return self


def _ticks(values: Array) -> Any:
    from matplotlib.ticker import LogLocator

    few = float(values.max() / values.min()) > 100.0
    return LogLocator(subs=(1.0,) if few else (1.0, 2.0, 5.0))


def _with(kernel: Kernel, place: int, value: float) -> Kernel:
    logs = np.array(kernel.log_params, dtype=float)
    logs[place] = value
    return kernel.with_log_params(logs)


def _curves(model: Any, kernels: list[Kernel]) -> dict[str, Array]:
    X, y, weights = model.X_fit_, model.y_fit_, model.weights_
    with quiet():
        levels = [evidence_of(kernel(X), y, prior_sd=model.prior_sd, weights=weights) for kernel in kernels]
        own = [model.criterion_at(kernel) for kernel in kernels] if model.has_prior else []
    curves = {"with the prior (what the fit maximises)": np.array(own)} if own else {}
    curves["with MacKay's Occam factor (5.2)"] = np.array([level.log_evidence for level in levels])
    curves["without an Occam factor"] = np.array([level.log_evidence_without_occam for level in levels])
    return curves
