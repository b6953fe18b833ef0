"""The public names of the library, in the order of the reference: what has a page, and an example that runs."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass

# A name that several modules offer is documented at the first one.
MODULES = (
    "bayes_lssvm",
    "bayes_lssvm.estimators",
    "bayes_lssvm.kernels",
    "bayes_lssvm.priors",
    "bayes_lssvm.marginal",
    "bayes_lssvm.trust",
    "bayes_lssvm.multiclass",
    "bayes_lssvm.kernel_search",
    "bayes_lssvm.evidence",
    "bayes_lssvm.datasets",
    "bayes_lssvm.files",
)


@dataclass(frozen=True)
class Public:
    """A public name: where users import it from, and what it is."""

    module: str
    name: str
    value: object

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def is_code(self) -> bool:
        """Whether it is a class or a function; constants and modules are described on the page of their module."""
        return inspect.isclass(self.value) or inspect.isroutine(self.value)

    @property
    def is_message(self) -> bool:
        """Whether it is an error or a warning."""
        return isinstance(self.value, type) and issubclass(self.value, BaseException)


def public_names() -> list[Public]:
    """Every name of every `__all__`, once."""
    found: list[Public] = []
    seen: set[int] = set()
    for module in MODULES:
        loaded = importlib.import_module(module)
        for name in sorted(loaded.__all__, key=str.lower):
            public = Public(module, name, getattr(loaded, name))
            if inspect.ismodule(public.value) or name.startswith("__") or (public.is_code and id(public.value) in seen):
                continue
            seen.add(id(public.value))
            found.append(public)
    return found
