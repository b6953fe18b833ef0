"""The small languages of the options: kernels, one number for each class, and priors.

kernel   term, or terms with +, *, numbers and brackets; a term is name, name[inputs], name:key=value,key=value
         rbf   rbf:sigma=1.3   poly:degree=2,scale=4   ard:scales=1/0.5/2   linear+rbf:sigma=2
         linear*rbf   linear[0]+0.5*periodic[1]:period=2   (linear+rbf)*periodic
classes  two numbers in the order of the classes, or label=number for both
         0.3,0.7   no=0.3,yes=0.7
prior    name, or name:number,number with all numbers in their order, or name:key=number,key=number
         normal   normal:0,3   normal:sd=3   box:-10,10   box:low=-10,high=10   flat
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import fields
from math import isfinite
from typing import Any

from ..base.number_text import is_number
from ..base.text import InputError, listed, quoted
from ..kernels import KERNEL_NAMES, Kernel, OnInputs, as_kernel, kernel_from_dict
from ..priors import Box, Flat, HyperPrior, LogPrior, Normal

# What stands between terms; the plus of 1e+3 does not.
_SIGN = re.compile(r"((?<![0-9.][eE])\+|[*()])")
# What a name stands for, and how it is written.
_PRIORS: dict[str, tuple[type[Normal | Box | Flat], str]] = {
    "normal": (Normal, "normal, normal:0,3 or normal:mean=0,sd=3"),
    "box": (Box, "box:-10,10 or box:low=-10,high=10"),
    "flat": (Flat, "flat"),
}


def parse_kernel(text: str, n_features: int) -> tuple[Kernel, bool]:
    """The kernel that the text names for inputs of this width, and whether the text gave parameters."""
    tokens = [piece.strip() for piece in _SIGN.split(text) if piece.strip()]
    kernel, rest = _parse_sum(tokens, n_features, text)
    if rest:
        raise InputError(f"kernel {quoted(text)}: {quoted(rest[0])} was found where + or * or the end was expected.")
    if isinstance(kernel, float):
        raise InputError(f"kernel {quoted(text)}: a number alone is not a kernel.")
    return kernel, ":" in text or any(is_number(token) for token in tokens)


def _parse_sum(tokens: list[str], n_features: int, text: str) -> tuple[Kernel | float, list[str]]:
    """The sum at the beginning of the tokens, and the tokens after it."""
    total, rest = _parse_product(tokens, n_features, text)
    while rest and rest[0] == "+":
        term, rest = _parse_product(rest[1:], n_features, text)
        if isinstance(total, float) or isinstance(term, float):
            raise InputError(f"kernel {quoted(text)}: a number can multiply a kernel, not be added to one.")
        total = total + term
    return total, rest


def _parse_product(tokens: list[str], n_features: int, text: str) -> tuple[Kernel | float, list[str]]:
    total, rest = _parse_factor(tokens, n_features, text)
    while rest and rest[0] == "*":
        factor, rest = _parse_factor(rest[1:], n_features, text)
        try:
            total = total * factor
        except ValueError as error:
            raise InputError(f"kernel {quoted(text)}: {error}") from None
    return total, rest


def _parse_factor(tokens: list[str], n_features: int, text: str) -> tuple[Kernel | float, list[str]]:
    if not tokens or tokens[0] in ("+", "*", ")"):
        raise InputError(
            f"there is no kernel named {quoted(text)}: a term is missing. The names are {', '.join(KERNEL_NAMES)}."
        )
    first, rest = tokens[0], tokens[1:]
    if first == "(":
        inner, rest = _parse_sum(rest, n_features, text)
        if not rest or rest[0] != ")":
            raise InputError(f"kernel {quoted(text)}: a bracket is not closed.")
        return inner, rest[1:]
    if is_number(first):
        return float(first), rest
    return _parse_term(first, n_features), rest


def _parse_term(term: str, n_features: int) -> Kernel:
    head, colon, settings = (piece.strip() for piece in term.partition(":"))
    name, bracket, inputs = head.partition("[")
    if bracket:
        columns = _parse_inputs(term, inputs, n_features)
        return OnInputs(_parse_term(f"{name}{colon}{settings}", len(columns)), columns)
    if name.lower() not in KERNEL_NAMES:
        close = difflib.get_close_matches(name.lower(), KERNEL_NAMES, n=2)
        hint = f" Did you mean {' or '.join(close)}?" if close else ""
        raise InputError(f"there is no kernel named {quoted(name)}.{hint} The names are {', '.join(KERNEL_NAMES)}.")
    kernel = as_kernel(name, n_features)
    if not colon:
        return kernel
    spec = kernel.to_dict()
    known = [key for key in spec if key != "kind"]
    for key in ({"degree"} if name.lower() in ("poly2", "poly3") else {"nu"}) & set(known):
        known.remove(key)  # the name has it
    changes: dict[str, Any] = {}
    for setting in settings.split(","):
        key, equals, value = (piece.strip() for piece in setting.partition("="))
        if not equals or key not in known or key in changes:
            has = f"its parameters are {', '.join(known)}" if known else "it has no parameters"
            raise InputError(
                f"kernel {quoted(term)}: {quoted(setting)} is not a parameter given once as key=number; {has}."
            )
        changes[key] = _parse_value(term, key, value)
    try:
        changed = kernel_from_dict(spec | changes)
        changed.check_width(n_features)
    except ValueError as error:
        raise InputError(f"kernel {quoted(term)}: {error}") from None
    return changed


def _parse_inputs(term: str, text: str, n_features: int) -> tuple[int, ...]:
    """Columns from what stands between "[" and the end of the name, such as "0/2]"."""
    numbers = text.removesuffix("]").split("/")
    columns = tuple(int(number) for number in numbers if number.strip().isdecimal())
    good = text.endswith("]") and len(columns) == len(numbers) == len(set(columns)) and max(columns) < n_features
    if not good:
        raise InputError(
            f"kernel {quoted(term)}: inputs are numbers from 0 to {n_features - 1} between brackets, such as [0] or "
            "[0/2]."
        )
    return columns


def _parse_value(term: str, key: str, value: str) -> float | tuple[float, ...]:
    numbers = value.split("/") if key == "scales" else [value]
    for number in numbers:
        if not (is_number(number.strip()) and isfinite(float(number))):
            raise InputError(f"kernel {quoted(term)}: the value {quoted(number)} of {key} is not a finite number.")
    return tuple(float(number) for number in numbers) if key == "scales" else float(value)


def parse_by_class(text: str | None, option: str, classes: Sequence[Any]) -> list[float] | None:
    """One number for each class, in the order of `classes`, from "0.3,0.7" or "no=0.3,yes=0.7"."""
    if text is None:
        return None
    pieces = [piece.strip() for piece in text.split(",")]
    labels = [str(label) for label in classes]
    # A label may have = in it, a number cannot: the last one divides.
    pairs = [tuple(part.strip() for part in piece.rpartition("=")) for piece in pieces]
    numbers = [number for _, _, number in pairs]
    named = [label for label, equals, _ in pairs if equals]
    if len(numbers) != len(labels) or not all(map(is_number, numbers)) or len(named) not in (0, len(labels)):
        count = "two" if len(labels) == 2 else str(len(labels))
        raise InputError(
            f"{option} {quoted(text)} is not {count} numbers, neither in the order {listed(labels, 20)} nor by name, "
            f"such as {labels[0]}=0.3,{labels[1]}=0.7{',…' * (len(labels) > 2)}."
        )
    if named and sorted(named) != sorted(labels):
        raise InputError(
            f"{option} names {listed(map(quoted, named), 5)}, but the classes are {', '.join(map(quoted, labels))}."
        )
    by_label = dict(zip(named or labels, map(float, numbers), strict=True))
    return [by_label[label] for label in labels]


def class_prior_from(text: str | None, classes: Sequence[Any]) -> dict[Any, float] | None:
    """P(y) by label, from the text of --class-prior."""
    values = parse_by_class(text, "--class-prior", classes)
    if values is None:
        return None
    if not (min(values) > 0 and abs(sum(values) - 1.0) < 1e-6):
        raise InputError(f"--class-prior {quoted(text or '')} must be positive probabilities that sum to one.")
    return dict(zip(classes, values, strict=True))


def costs_from(text: str | None, classes: Sequence[Any]) -> list[list[float]] | None:
    """Matrix of costs, nothing for right decisions, from the cost of mistaking a member of each class."""
    values = parse_by_class(text, "--costs", classes)
    if values is None:
        return None
    if not (min(values) > 0 and max(values) < float("inf")):
        raise InputError(f"--costs {quoted(text or '')} must be positive finite numbers.")
    return [[0.0 if i == j else cost for j in range(len(values))] for i, cost in enumerate(values)]


def parse_prior(text: str) -> LogPrior:
    """The prior of one log parameter that the text names."""
    name, colon, settings = (piece.strip() for piece in text.partition(":"))
    if name.lower() not in _PRIORS:
        raise InputError(f"there is no prior named {quoted(name)}. The names are {', '.join(_PRIORS)}.")
    kind, forms = _PRIORS[name.lower()]
    keys = [field.name for field in fields(kind)]
    pairs = [tuple(part.strip() for part in piece.rpartition("=")) for piece in settings.split(",")] if colon else []
    named, numbers = [key for key, equals, _ in pairs if equals], [number for _, _, number in pairs]
    by_name, in_order = len(set(named)) == len(pairs), not named and len(pairs) == len(keys)
    if (by_name or in_order) and all(map(is_number, numbers)):
        values = dict(zip(named or keys, map(float, numbers), strict=False))  # none at all: the defaults
        try:
            with suppress(TypeError):  # a key that it does not have, or one without a default left out
                return kind(**values)
        except ValueError as error:
            raise InputError(f"prior {quoted(text)}: {error}") from None
    raise InputError(f"prior {quoted(text)} cannot be read; write {forms}.")


def hyper_prior_from(prior: str, mu: str | None, zeta: str | None, kernel: Sequence[str] | None) -> HyperPrior:
    """The prior of all log parameters, from one text for all and those that differ from it."""
    common = parse_prior(prior)
    own = tuple(parse_prior(text) for text in kernel or ())
    return HyperPrior(
        common if mu is None else parse_prior(mu),
        common if zeta is None else parse_prior(zeta),
        common if not own else own[0] if len(own) == 1 else own,
    )
