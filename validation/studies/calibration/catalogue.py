"""Methods by name, for the command line and the reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .methods import ClosedForm, Draws, Laplace, Method, Quadrature
from .samplers import Marginalised, Program
from .simulation import Setting


def _draws(method: str) -> Callable[[Setting], Method]:
    def make(s: Setting) -> Method:
        return Draws(Marginalised(s.kernel, s.prior, s.fixed_kernel, method=method), s.kernel)

    return make


METHODS: dict[str, Callable[[Setting], Method]] = {
    "quadrature": lambda s: Quadrature(s.kernel, s.prior, s.fixed_kernel),
    "laplace": lambda s: Laplace(s.kernel, s.prior, s.fixed_kernel),
    "hessian": lambda s: ClosedForm("hessian", s.kernel, s.prior, s.fixed_kernel),
    "mackay": lambda s: ClosedForm("mackay", s.kernel, s.prior, s.fixed_kernel),
    "sample": _draws("quadrature"),
    "importance": _draws("importance"),
    "nuts": _draws("nuts"),
    "program": lambda s: Draws(Program(s.kernel, s.prior, s.fixed_kernel), s.kernel),
}


def methods_of(setting: Setting, names: Sequence[str]) -> dict[str, Method]:
    """The named methods for a setting: the inference has the simulation's kernel and prior."""
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise ValueError(f"Methods are {', '.join(METHODS)}; got {', '.join(unknown)}.")
    return {name: METHODS[name](setting) for name in names}
