"""A search that does not depend on the order of rows and columns: its data in canonical order, its result back."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..base.canonical import CanonicalOrder, canonical_order
from ..base.typing import AnyArray, Array
from ..kernels import Kernel
from ..priors import HyperPrior

__all__ = ["OrderedSearch"]


@dataclass(frozen=True)
class OrderedSearch:
    """Data and kernels of a family as a search sees them (`base.canonical`), and kernels as the caller does.

    Attributes
    ----------
    order : CanonicalOrder
    parameters : array of int of shape (P,)
        The kernel's parameters in the order of the columns that they belong to.
    """

    order: CanonicalOrder
    parameters: AnyArray

    @classmethod
    def of(cls, X: Array, y: Array, kernel: Kernel, weights: Array | None = None) -> OrderedSearch:
        """For inputs X of shape (N, d), targets y of shape (N,) and a kernel."""
        order = canonical_order(X, y, weights)
        if kernel.moved(order.columns) is None:
            order = order._replace(columns=np.arange(X.shape[1]), alike=())
        return cls(order, kernel.parameters_of(order.columns))

    def there(self, kernel: Kernel) -> Kernel:
        """A kernel of the caller's columns as one of the columns in order."""
        return kernel.moved(self.order.columns) or kernel

    def back(self, kernel: Kernel) -> Kernel:
        """A kernel of the columns in order as one of the caller's."""
        return kernel.moved(np.argsort(self.order.columns)) or kernel

    @property
    def places(self) -> AnyArray:
        """Where the caller's parameters stand, of shape (P,)."""
        return np.argsort(self.parameters)

    def prior(self, prior: HyperPrior | None) -> HyperPrior | None:
        """A prior whose parts follow the parameters."""
        if prior is None or not isinstance(prior.kernel, tuple):
            return prior
        parts = prior.components(len(self.parameters))[2:]
        return replace(prior, kernel=tuple(parts[i] for i in self.parameters.tolist()))
