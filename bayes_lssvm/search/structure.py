"""Structures of kernels: sums of products of base kernels, and the moves from one structure to the next.

A structure is a sum of terms, each a product of base kernels, each term but the first with a factor: what a sum of
sums and products can be brought to, as products distribute over sums. The moves are those of Duvenaud et al. (2013),
"Structure discovery in nonparametric regression through compositional kernel search": a term more, a factor more in a
term, another base in the place of one; and a base less, so that what turns out idle can go again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..base.typing import Array
from ..kernels import Kernel, Linear, OnInputs, Periodic, Product, Scaled, Sum, as_kernel

__all__ = ["Base", "Move", "Part", "Structure", "bare", "bases_of", "moves"]

_SAME = 2  # times that a linear base may be in one term
_APART, _FARTHEST = 0.02, 6.0  # standard deviations, of an origin from others and from the mean


@dataclass(frozen=True)
class Base:
    """A kernel that structures are made of.

    Attributes
    ----------
    name : str
    kernel : Kernel
        At parameters of a usual size.
    in_products : tuple of Kernel
        What it can be inside a product: a linear kernel has an origin there.
    """

    name: str
    kernel: Kernel
    in_products: tuple[Kernel, ...]


class Part(NamedTuple):
    """A base within a structure, at its present parameters."""

    base: Base
    kernel: Kernel


@dataclass(frozen=True)
class Structure:
    """A sum of products of base kernels.

    Attributes
    ----------
    terms : tuple of tuples of Part
    factors : tuple of float
        Of the terms; the first is 1, as μ scales the whole.
    """

    terms: tuple[tuple[Part, ...], ...]
    factors: tuple[float, ...]

    @property
    def key(self) -> tuple[tuple[str, ...], ...]:
        """The names, in an order that does not depend on how the structure came about."""
        return tuple(sorted(tuple(sorted(part.base.name for part in term)) for term in self.terms))

    @property
    def size(self) -> int:
        """Number of bases."""
        return sum(map(len, self.terms))

    @property
    def kernel(self) -> Kernel:
        """The kernel at the present parameters."""
        kernels = []
        for i, (term, factor) in enumerate(zip(self.terms, self.factors, strict=True)):
            whole = term[0].kernel if len(term) == 1 else Product(tuple(part.kernel for part in term))
            kernels.append(Scaled(factor, whole) if i else whole)
        return kernels[0] if len(kernels) == 1 else Sum(tuple(kernels))

    def with_log_params(self, log_params: Array) -> Structure:
        """The same structure with other parameters, in the order of those of `kernel`."""
        terms, factors, start = [], [], 0
        for i, term in enumerate(self.terms):
            factors.append(float(np.exp(log_params[start])) if i else 1.0)
            start += i > 0
            parts = []
            for part in term:
                stop = start + part.kernel.log_params.size
                parts.append(part._replace(kernel=part.kernel.with_log_params(log_params[start:stop])))
                start = stop
            terms.append(tuple(parts))
        return Structure(tuple(terms), tuple(factors))

    def place(self, at: tuple[int, int]) -> slice:
        """Where the log parameters of a part stand among those of `kernel`."""
        start = 0
        for i, term in enumerate(self.terms):
            start += i > 0
            for j, part in enumerate(term):
                stop = start + part.kernel.log_params.size
                if (i, j) == at:
                    return slice(start, stop)
                start = stop
        raise IndexError(at)

    def usual(self) -> Structure:
        """The structure at parameters of a usual size; origins stay."""
        terms = tuple(
            tuple(part._replace(kernel=part.kernel.with_log_params(part.base.kernel.log_params)) for part in term)
            for term in self.terms
        )
        return Structure(terms, (1.0,) * len(terms))

    def __str__(self) -> str:
        return " + ".join(" * ".join(term) for term in self.key)


@dataclass(frozen=True)
class Move:
    """One way on from a structure.

    Attributes
    ----------
    word : str
        "start", "add", "multiply", "replace" or "remove".
    variants : tuple of Structure
        Alternatives that differ in the origin of a linear kernel.
    fresh : pair of int or None
        Term and place of the part that is new.
    """

    word: str
    variants: tuple[Structure, ...]
    fresh: tuple[int, int] | None

    @property
    def key(self) -> tuple[tuple[str, ...], ...]:
        """Of the structure that it leads to."""
        return self.variants[0].key


def moves(structure: Structure | None, bases: Sequence[Base]) -> Iterator[Move]:
    """All moves from a structure (from nothing: to each base alone) that lead to a sensible one."""
    if structure is None:
        for base in bases:
            yield Move("start", (Structure(((Part(base, base.kernel),),), (1.0,)),), (0, 0))
        return
    for move in _moves(structure, bases):
        if all(_sensible(variant) for variant in move.variants):
            yield move


def _moves(structure: Structure, bases: Sequence[Base]) -> Iterator[Move]:
    terms, count = structure.terms, len(structure.terms)
    for base in bases:
        new = Part(base, base.kernel)
        yield Move("add", (Structure((*terms, (new,)), (*structure.factors, 1.0)),), (count, 0))
        for i, term in enumerate(terms):
            yield _changed("multiply", structure, i, (*term, new), len(term))
            for j, part in enumerate(term):
                if part.base.name != base.name:
                    yield _changed("replace", structure, i, (*term[:j], new, *term[j + 1 :]), j)
    for i, term in enumerate(terms):
        if count > 1:
            rest = structure.factors[:i] + structure.factors[i + 1 :]
            yield Move("remove", (Structure(terms[:i] + terms[i + 1 :], (1.0, *rest[1:])),), None)
        for j in range(len(term) if len(term) > 1 else 0):
            yield replace(_changed("remove", structure, i, term[:j] + term[j + 1 :], None), fresh=None)


def _changed(word: str, structure: Structure, i: int, term: tuple[Part, ...], fresh: int | None) -> Move:
    """The move to another term i; origins of a linear kernel in it are variants."""
    if len(term) == 1:
        term = (term[0]._replace(kernel=term[0].base.kernel.with_log_params(term[0].kernel.log_params)),)
    open_to = [j for j, part in enumerate(term) if len(part.base.in_products) > 1 and len(term) > 1]
    if fresh in open_to:
        open_to = [fresh]
    elif len(term) > _SAME:
        open_to = []  # the origin was found when the term had two parts
    at = open_to[0] if open_to else 0
    options = term[at].base.in_products if open_to else (term[at].kernel,)
    variants = []
    for kernel in options:
        parts = (*term[:at], term[at]._replace(kernel=kernel), *term[at + 1 :])
        variants.append(replace(structure, terms=(*structure.terms[:i], parts, *structure.terms[i + 1 :])))
    return Move(word, tuple(variants), None if fresh is None else (i, fresh))


def _sensible(structure: Structure) -> bool:
    """Whether no smaller structure says the same: a Gaussian squared is one, and a linear kernel twice is one."""
    for names, term in zip(structure.key, sorted(structure.terms, key=_names), strict=True):
        for part in term:
            allowed = _SAME if isinstance(bare(part.kernel), Linear) else 1
            if names.count(part.base.name) > allowed:
                return False
    linear = [_names(term) for term in structure.terms if all(isinstance(bare(p.kernel), Linear) for p in term)]
    return len(set(linear)) == len(linear)


def _names(term: tuple[Part, ...]) -> tuple[str, ...]:
    return tuple(sorted(part.base.name for part in term))


def bare(kernel: Kernel) -> Kernel:
    """The kernel itself, where it is of some inputs only."""
    return kernel.kernel if isinstance(kernel, OnInputs) else kernel


def bases_of(kernels: Sequence[Kernel | str], X: Array, zero: Array) -> list[Base]:
    """The bases: names stand for a kernel of all inputs and, of several, for one of each; kernels for themselves.

    Parameters
    ----------
    kernels : sequence of kernels or names
    X : array of shape (N, d)
        Standardised.
    zero : array of shape (d,)
        Where inputs that are zero stand in X.
    """
    width, found = X.shape[1], []
    for spec in kernels:
        name, kernel = spec if isinstance(spec, str) else str(spec), as_kernel(spec, width)
        if width == 1 or not isinstance(spec, str):
            found.append(Base(name, kernel, _in_products(kernel, X, zero)))
            continue
        if not isinstance(kernel, Periodic):  # what repeats does so along one input
            found.append(Base(name, kernel, _in_products(kernel, X, zero)))
        for c in range(width):
            of_one = as_kernel(spec, 1)
            options = tuple(OnInputs(k, (c,)) for k in _in_products(of_one, X[:, [c]], zero[[c]]))
            found.append(Base(f"{name}[{c}]", OnInputs(of_one, (c,)), options))
    return found


def _in_products(kernel: Kernel, X: Array, zero: Array) -> tuple[Kernel, ...]:
    """A linear kernel from the mean, from either end of the inputs, and from where they are zero, if that is apart."""
    if not isinstance(kernel, Linear) or kernel.origin:
        return (kernel,)
    low, high = X.min(axis=0), X.max(axis=0)
    origins = [np.zeros(len(zero)), low, high]
    if all(np.abs(zero - origin).max() > _APART for origin in origins) and np.abs(zero).max() < _FARTHEST:
        origins.append(zero)
    return tuple(Linear(tuple(origin.tolist()) if origin.any() else ()) for origin in origins)
