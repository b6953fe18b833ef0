"""What the model says over one or two inputs: class probabilities, or the mean of a target with its error bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..base.typing import AnyArray, Array
from .canvas import BLUE, CYCLE, Display, input_names, legend_above, plain_predictions, training_inputs

_LEVELS = np.linspace(0.0, 1.0, 11)


class DecisionSurfaceDisplay(Display):
    """The model over one or two inputs, the others held at their medians, with the training rows.

    Attributes
    ----------
    grid : tuple of arrays
        Coordinates of one or two inputs.
    response : array of shape (n,), (n, n) or (n, n, M)
        P(last class) of two classes, probabilities of more, or the mean of a target.
    std : array or None
        Standard deviations of a target over one input.
    ax_, figure_, surface_

    Examples
    --------
    >>> from bayes_lssvm import BayesianLSSVC, DecisionSurfaceDisplay
    >>> from bayes_lssvm.datasets import load
    >>> X, y = load("ripley").Xy
    >>> model = BayesianLSSVC(refine=False).fit(X, y)
    >>> DecisionSurfaceDisplay.from_estimator(model, grid_resolution=20, plot=False).response.shape
    (20, 20)
    """

    def __init__(
        self,
        names: tuple[str, ...],
        grid: tuple[Array, ...],
        response: Array,
        *,
        std: Array | None = None,
        classes: tuple[Any, ...] = (),
        points: Array | None = None,
        targets: AnyArray | None = None,
    ) -> None:
        self.names, self.grid, self.response, self.std = names, grid, response, std
        self.classes, self.points, self.targets = classes, points, targets

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,
        *,
        features: Sequence[int | str] | None = None,
        grid_resolution: int = 100,
        ax: Any = None,
        plot: bool = True,
        **options: Any,
    ) -> DecisionSurfaceDisplay:
        """The surface of a fitted model.

        Parameters
        ----------
        X, y : arrays, optional
            Rows to show, which also give the ranges; the training rows where the model has kept them.
        features : one or two of the inputs, by place or name
            All of them by default, if there are no more than two.
        """
        names = input_names(estimator)
        chosen = _chosen(names, features)
        rows = training_inputs(estimator) if X is None else np.asarray(X, dtype=float)
        if rows is None:
            raise ValueError("This model has not kept its training rows: give X, rows over whose range to draw.")
        targets = np.asarray(y) if y is not None else _own_targets(estimator) if X is None else None
        grid = tuple(_range(rows[:, i], grid_resolution) for i in chosen)
        mesh = np.meshgrid(*grid)
        table = np.tile(np.median(rows, axis=0), (mesh[0].size, 1))
        for i, values in zip(chosen, mesh, strict=True):
            table[:, i] = values.ravel()
        found = plain_predictions(estimator, table)
        classes = tuple(estimator.classes_.tolist()) if hasattr(estimator, "classes_") else ()
        response = found if len(classes) > 2 else found[:, -1:]
        display = cls(
            tuple(names[i] for i in chosen),
            grid,
            response.reshape(*mesh[0].shape, -1).squeeze(),
            std=_std(estimator, table) if len(chosen) == 1 and not classes else None,
            classes=classes,
            points=rows[:, list(chosen)],
            targets=targets,
        )
        return display.plot(ax, **options) if plot else display

    def plot(self, ax: Any = None, *, points: bool = True, **options: Any) -> DecisionSurfaceDisplay:
        """Draw on `ax`, or on axes of its own; options go to `contourf`, or to `plot` for one input."""
        ax = self._on(ax)
        if len(self.names) == 1:
            self._curve(ax, points, options)
        elif len(self.classes) > 2:
            self._regions(ax)
        else:
            self._map(ax, options)
        if len(self.names) == 2:
            if points and self.points is not None:
                self._scatter(ax)
            ax.set(xlabel=self.names[0], ylabel=self.names[1])
        return self

    def _map(self, ax: Any, options: dict[str, Any]) -> None:
        style = (
            {"cmap": "RdBu_r", "levels": _LEVELS, "alpha": 0.8} if self.classes else {"cmap": "viridis", "levels": 12}
        )
        self.surface_ = ax.contourf(*self.grid, self.response, **(style | options))
        label = f"P({self.classes[-1]})" if self.classes else "mean of the target"
        ax.figure.colorbar(self.surface_, ax=ax, label=label)
        if self.classes and self.response.min() < 0.5 < self.response.max():
            ax.contour(*self.grid, self.response, levels=[0.5], colors="black", linewidths=1.2)

    def _regions(self, ax: Any) -> None:
        """Each place in the colour of the most probable class, paler where it is less sure."""
        from matplotlib.colors import to_rgb

        colours = np.array([to_rgb(CYCLE[k % len(CYCLE)]) for k in range(len(self.classes))])
        best = self.response.argmax(axis=-1)
        sure = self.response.max(axis=-1)[..., None]
        floor = 1.0 / len(self.classes)
        share = 0.15 + 0.6 * (sure - floor) / (1.0 - floor)
        image = 1.0 - share * (1.0 - colours[best])
        (x, y) = self.grid
        self.surface_ = ax.imshow(
            image, origin="lower", extent=(x[0], x[-1], y[0], y[-1]), aspect="auto", interpolation="bilinear"
        )

    def _scatter(self, ax: Any) -> None:
        assert self.points is not None
        size = {"s": 14, "edgecolors": "white", "linewidths": 0.5}
        if not self.classes or self.targets is None:
            ax.scatter(*self.points.T, color="black", **(size | {"s": 8}))
            return
        for k, label in enumerate(self.classes):
            rows = self.targets == label
            ax.scatter(*self.points[rows].T, color=CYCLE[k % len(CYCLE)], label=str(label), **size)
        legend_above(ax, min(len(self.classes), 4))

    def _curve(self, ax: Any, points: bool, options: dict[str, Any]) -> None:
        (x,) = self.grid
        if len(self.classes) > 2:
            for k, label in enumerate(self.classes):
                ax.plot(x, self.response[:, k], color=CYCLE[k % len(CYCLE)], label=f"P({label})", **options)
            ax.legend(frameon=False)
        else:
            self.surface_ = ax.plot(x, self.response, **({"color": BLUE} | options))[0]
        if self.std is not None:
            band = (self.response - 2 * self.std, self.response + 2 * self.std)
            ax.fill_between(x, *band, color=BLUE, alpha=0.15, lw=0, label="± 2 sd of a new target")
        if points and self.points is not None and self.targets is not None and not self.classes:
            ax.plot(self.points[:, 0], self.targets, ".", color="black", ms=4)
        what = f"P({self.classes[-1]})" if len(self.classes) == 2 else "probability" if self.classes else "target"
        ax.set(xlabel=self.names[0], ylabel=what)


def _chosen(names: tuple[str, ...], features: Sequence[int | str] | None) -> tuple[int, ...]:
    if features is None:
        if len(names) > 2:
            raise ValueError(
                f"There are {len(names)} inputs: choose one or two with features=, by place or name, such as "
                f"features=({names[0]!r}, {names[1]!r})."
            )
        return tuple(range(len(names)))
    unknown = [f for f in features if (f not in names if isinstance(f, str) else not 0 <= f < len(names))]
    if unknown or not 1 <= len(features) <= 2:
        raise ValueError(f"features must be one or two of the inputs {', '.join(names[:20])}; got {tuple(features)!r}.")
    return tuple(names.index(f) if isinstance(f, str) else int(f) for f in features)


def _range(values: Array, resolution: int) -> Array:
    margin = 0.05 * float(np.ptp(values)) or 1.0
    return np.linspace(float(values.min()) - margin, float(values.max()) + margin, resolution)


def _own_targets(model: Any) -> AnyArray | None:
    targets = getattr(model, "y_fit_", None)
    if targets is None or not hasattr(model, "classes_"):
        return targets
    return np.asarray(model.classes_[(targets > 0).astype(int)])


def _std(model: Any, table: Array) -> Array:
    names = model.__dict__.pop("feature_names_in_", None)
    try:
        return np.asarray(model.predict(table, return_std=True)[1])
    finally:
        if names is not None:
            model.feature_names_in_ = names
