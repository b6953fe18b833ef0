"""The catalogue: every set by name, its aliases, and the answer to a name that is not there."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from . import _generated, _specs_binary, _specs_external, _specs_multiclass
from ._types import Origin, Spec

SPECS: Final[Mapping[str, Spec]] = MappingProxyType(
    {
        spec.name: spec
        for module in (_specs_binary, _specs_multiclass, _generated, _specs_external)
        for spec in module.SPECS
    }
)

ALIASES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ripley": "rsy",
        "synth": "rsy",
        "crabs": "cra",
        "titanic": "tit",
        "bupa": "bld",
        "liver": "bld",
        "german": "gcr",
        "german_credit": "gcr",
        "heart": "hea",
        "ionosphere": "ion",
        "pima": "pid",
        "sonar": "snr",
        "wisconsin": "wbc",
        "balance": "bal",
        "balance_scale": "bal",
        "glass": "gla",
        "vehicle": "veh",
        "soybean": "ssd",
        "dax": "eustockmarkets",
        "iri": "iris",
        "win": "wine",
        "spirals": "two_spirals",
        "nth": "new_thyroid",
        "der": "dermatology",
        "banana": "ida_banana",
        "flare_solar": "ida_flare_solar",
        "image": "ida_image",
        "splice": "ida_splice",
    }
)


class Entry(NamedTuple):
    """One line of the catalogue.

    Examples
    --------
    >>> from bayes_lssvm import datasets
    >>> entry = datasets.available()[0]
    >>> entry.name, entry.rows, entry.inputs, entry.classes
    ('rsy', 250, 2, 2)
    """

    name: str
    """What to pass to `load`."""
    title: str
    """What it is, in one line."""
    rows: int
    """Rows of `data`; the default of a generator."""
    inputs: int
    """Columns of `data`, with default options."""
    classes: int
    """Number of classes, 0 without a target."""
    origin: Origin
    """Where it comes from: shipped, scikit-learn, generated or external."""
    options: tuple[str, ...]
    """Keyword options that `load` takes for it."""


class Catalogue(tuple[Entry, ...]):
    """The entries, in a fixed order; prints as a table.

    Examples
    --------
    >>> from bayes_lssvm import datasets
    >>> [entry.name for entry in datasets.available() if entry.origin == "scikit-learn"]
    ['iris', 'wine']
    """

    __slots__ = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names alone."""
        return tuple(entry.name for entry in self)

    def __repr__(self) -> str:
        lines = [f"{'name':<18} {'rows × inputs':<13} {'classes':>7}  {'origin':<12}  title"]
        for e in self:
            lines.append(f"{e.name:<18} {f'{e.rows} × {e.inputs}':<13} {e.classes:>7}  {e.origin:<12}  {e.title}")
        return "\n".join(lines)


def available() -> Catalogue:
    """Every set that `load` knows, with its shape and where it comes from.

    Returns
    -------
    Catalogue
        A tuple of `Entry`, which prints as a table; ``available().names`` are the names.

    Examples
    --------
    >>> from bayes_lssvm import datasets
    >>> datasets.available().names[:3]
    ('rsy', 'cra', 'tit')
    """
    return Catalogue(Entry(s.name, s.title, *s.shape, len(s.classes), s.origin, s.options) for s in SPECS.values())


def find(name: str) -> Spec:
    """The record of a set, by its name or an alias, whatever the case and with ``-`` or a space for ``_``.

    Examples
    --------
    >>> from bayes_lssvm import datasets
    >>> datasets.find("ripley").title
    "Ripley's synthetic two-class problem in the plane"
    """
    key = name.strip().lower().replace("-", "_").replace(" ", "_")
    key = ALIASES.get(key, key)
    if key in SPECS:
        return SPECS[key]
    close = difflib.get_close_matches(key, [*SPECS, *ALIASES], n=3)
    hint = f" Did you mean {' or '.join(map(repr, close))}?" if close else ""
    raise ValueError(f"no data set is called {name!r}.{hint} The names are: {', '.join(SPECS)}.")


def check_options(spec: Spec, options: Mapping[str, object]) -> None:
    """Refuse an option that the set does not have, before any work starts."""
    unknown = [option for option in options if option not in spec.options]
    if unknown:
        has = f"its options are {', '.join(spec.options)}" if spec.options else "it has no options"
        raise TypeError(f"data set {spec.name!r} has no option {', '.join(map(repr, unknown))}: {has}")
