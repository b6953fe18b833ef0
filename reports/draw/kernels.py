"""What kernels say of functions: draws from their Gaussian processes, and the path of a search among them."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from bayes_lssvm import KernelSearch, search_kernels
from bayes_lssvm.kernels import RBF, Kernel, Linear, Matern, Periodic, RationalQuadratic

from .style import WIDE, new_figure

KERNELS: dict[str, Kernel] = {
    "Linear()": Linear(),
    "RBF(1)": RBF(1.0),
    "RationalQuadratic(0.5, 0.5)": RationalQuadratic(0.5, 0.5),
    "Matern(0.7, nu=0.5)": Matern(0.7, 0.5),
    "Matern(0.7, nu=1.5)": Matern(0.7, 1.5),
    "Matern(0.7, nu=2.5)": Matern(0.7, 2.5),
    "Periodic(1, 0.8)": Periodic(1.0, 0.8),
    "Periodic(1, 0.8) * RBF(2)": Periodic(1.0, 0.8) * RBF(2.0),
    "Linear() + 0.3 * Periodic(1, 0.8)": Linear() + 0.3 * Periodic(1.0, 0.8),
}


def figure_kernels() -> Figure:
    """Three draws of functions for each kernel."""
    x = np.linspace(-2.0, 2.0, 300)
    with new_figure(9.0, 6.0, settings=WIDE) as figure:
        panels = figure.subplots(3, 3, sharex=True).ravel()
        for panel, (name, kernel) in zip(panels, KERNELS.items(), strict=True):
            K = kernel(x[:, None])
            L = np.linalg.cholesky(K + 1e-9 * np.trace(K) * np.eye(len(x)))
            panel.plot(x, L @ np.random.default_rng(2).normal(size=(len(x), 3)), lw=1.2)
            panel.set_title(name, loc="left", fontsize=9)
        return figure


def documented_search() -> KernelSearch:
    """The search of docs/guide/kernels.md: a trend with a season."""
    rng = np.random.default_rng(0)
    X = np.linspace(0.0, 10.0, 60)[:, None]
    y = 0.4 * X[:, 0] + np.sin(3.0 * X[:, 0]) + 0.1 * rng.normal(size=60)
    return search_kernels(X, y, progress=False)


def figure_kernel_search(found: KernelSearch) -> Figure:
    """The path of a search."""
    with new_figure(7.5, 4.2, settings=WIDE) as figure:
        found.plot(figure.subplots())
        return figure
