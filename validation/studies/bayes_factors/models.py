"""The models that are compared.

Parameters of a kernel are σ of RBF, the scale of a polynomial and the factor a of a part of a sum; all of them have the
prior of `validation.ladder` on every rung.
"""

from __future__ import annotations

from dataclasses import dataclass

from bayes_lssvm.kernels import RBF, Kernel, Linear, Polynomial, Scaled


@dataclass(frozen=True)
class Model:
    """A kernel with a name.

    Attributes
    ----------
    name : str
        In keys of cells.
    label : str
        For readers.
    kernel : Kernel
        Its parameters are integrated out, so that their values do not matter.
    degree : int or None
        Of the polynomial whose explicit features span the model; None where there are none.
    """

    name: str
    label: str
    kernel: Kernel
    degree: int | None = None

    @property
    def free(self) -> int:
        """How many parameters of the kernel are integrated out."""
        return int(self.kernel.log_params.size)


MODELS: dict[str, Model] = {
    model.name: model
    for model in (
        Model("linear", "linear", Linear(), degree=1),
        Model("poly2", "polynomial 2", Polynomial(2, 1.0), degree=2),
        Model("poly3", "polynomial 3", Polynomial(3, 1.0), degree=3),
        Model("rbf", "RBF", RBF(1.0)),
        Model("linear-rbf", "linear + RBF", Linear() + RBF(1.0)),
        Model("scaled-rbf", "a·linear + RBF", Scaled(1.0, Linear()) + RBF(1.0)),
        Model("poly2-rbf", "polynomial 2 + RBF", Polynomial(2, 1.0) + RBF(1.0)),
    )
}
"""By name, in the order of pages."""
