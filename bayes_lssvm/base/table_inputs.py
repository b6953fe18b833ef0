"""From a table as people have it to the inputs of a model: what each column is, and what is done to it.

Every column is looked at before anything is refused, so that all that is wrong is said at once, with what to type.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .encoding import Column, Encoding, first_text, missing_sentence, refuse_too_large
from .number_text import COMMA, POINT, NumberColumn, is_missing, number_column, table_decimal
from .tables import Table
from .text import InputError, listed, quoted, typed
from .typing import Array

MIN_ROWS = 3
_DECIMALS = {"point": POINT, "comma": COMMA, None: None}
_YES_NO = (
    *(("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("off", "on")),
    *(("nein", "ja"), ("non", "oui"), ("no", "sí"), ("no", "si")),
)
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ]\d{1,2}:\d{2}.*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2}(\d{2})?([T ]+\d{1,2}:\d{2}.*)?"
    r"|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?",
    re.ASCII,
)
_LOOKS_LIKE_ID = re.compile(
    r"(?i:(^|[^a-z])(id|idx|index|no|nr|key|uuid|guid|code))$|[a-z](Id|ID|No|Nr)$|^(id|ID|Id)[_ ]?"
)
_MANY, _MOST_CATEGORIES = 20, 50
_FEW_ROWS = 5  # a rarer category has no column of its own where there are rows enough


class Options(NamedTuple):
    """What the user says about a table.

    Attributes
    ----------
    ignore : sequence of str
        Columns that are neither read nor checked.
    categories : sequence of str
        Columns whose values are categories even if they look like numbers.
    impute : "median", "drop" or None
        What becomes of missing values.
    decimal : "point", "comma" or None
        Decides about cells such as 1,234.
    """

    ignore: Sequence[str] = ()
    categories: Sequence[str] = ()
    impute: str | None = None
    decimal: str | None = None


class Prepared(NamedTuple):
    """A table that can be learnt from.

    Attributes
    ----------
    table : Table
        The rows that are used.
    encoding : Encoding
    X : array of shape (N, d)
    decimal : "." or "," or None
        The convention of the table, for its target.
    steps : dict of str to str
        What was done to each column that is not the target.
    notes, warnings : tuple of str
    """

    table: Table
    encoding: Encoding
    X: Array
    decimal: str | None
    steps: dict[str, str]
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


class _Look(NamedTuple):
    """What a look at a column found: how to read it, or why it is left out, and what to tell."""

    column: Column | None
    step: str
    warning: str = ""


def prepare(table: Table, target: str, options: Options, *, aside: Sequence[str] = ()) -> Prepared:
    """Inputs of a table, from all columns but the target, those to ignore and those put `aside` for another use."""
    table.find(target)
    left_out = {table.names[table.find(name)] for name in options.ignore}
    if target in left_out:
        raise InputError(f"the target {quoted(target)} cannot be ignored as well.")
    for name in options.categories:
        table.find(name)
    names = [name for name in table.names if name not in (target, *aside) and name not in left_out]
    if not names:
        raise InputError(f"{table.source} has no input column besides the target {quoted(target)}.")
    if len(table.rows) < MIN_ROWS:
        raise InputError(
            f"{table.source} has {len(table.rows)} row{'s' * (len(table.rows) > 1)}; at least {MIN_ROWS} are needed."
        )
    read = {name: number_column(table.column(name)) for name in (*names, target)}
    decimal = _DECIMALS[options.decimal] or table_decimal(read.values())
    looks = _looks(table, names, read, options, decimal, [target, *aside])
    used = [look.column for look in looks.values() if look.column is not None]
    if not used:
        said = " ".join(look.warning or look.step for look in looks.values())
        raise InputError(f"{table.source} has no column left to learn from. {said}")
    encoding = Encoding(tuple(used), fills=options.impute == "median")
    if len(set(encoding.inputs)) < len(encoding.inputs):
        repeated = [name for name, count in Counter(encoding.inputs).items() if count > 1]
        raise InputError(f"{table.source}: two columns become the input {quoted(repeated[0])}; rename one of them.")
    gone = {name: "left out, as asked for" for name in table.names if name in left_out}
    table, note = _complete(table, used, [target, *aside], read[target].numeric, options.impute)
    encoded = encoding.encode(table, fill=True)
    steps = gone | {name: look.step + _gaps(encoded.filled.get(name, 0)) for name, look in looks.items()}
    warnings = tuple(look.warning for look in looks.values() if look.warning)
    return Prepared(table, encoding, encoded.X, decimal, steps, (*table.dropped, *note), warnings)


def _gaps(count: int) -> str:
    return f"; {count} missing value{'s' * (count > 1)} filled in" if count else ""


def _looks(
    table: Table,
    names: Sequence[str],
    read: dict[str, NumberColumn],
    options: Options,
    decimal: str | None,
    others: Sequence[str],
) -> dict[str, _Look]:
    """A look at each column; all that cannot be read are refused together, and gaps in the others with them."""
    found: dict[str, _Look] = {}
    problems = []
    for name in names:
        try:
            found[name] = _look(table, name, read[name], name in options.categories, decimal)
        except InputError as error:
            problems.append((name, *error.sentences))
    if not problems:
        return found
    sentences = [sentence for _, *said in problems for sentence in said]
    if len(problems) > 1:
        every = " ".join(typed(name) for name, *_ in problems)
        sentences.append(f"To go on without these {len(problems)} columns, add --ignore {every}.")
    if options.impute is None:
        used = [look.column for look in found.values() if look.column is not None]
        try:
            _complete(table, used, others, read[others[0]].numeric, None)
        except InputError as error:
            sentences += error.sentences
    raise InputError(*sentences)


def _look(table: Table, name: str, numbers: NumberColumn, forced: bool, decimal: str | None) -> _Look:
    cells = table.column(name)
    if numbers.numeric and not forced:
        return _number(table, name, numbers, decimal)
    present = [cell for cell in cells if not is_missing(cell)]
    if not present:
        said = f"column {quoted(name)} has no value at all, and is left out."
        return _Look(None, "left out: it has no value", said)
    if not forced:
        _refuse_dates(table, name, present)
        _refuse_mixture(table, name, present)
    return _categories(name, present, forced)


def _number(table: Table, name: str, numbers: NumberColumn, decimal: str | None) -> _Look:
    found = numbers.read(decimal)
    if found is None:
        cell = next(cell for cell, value in numbers.readings[POINT].items() if value != numbers.readings[COMMA][cell])
        point, comma = numbers.readings[POINT][cell], numbers.readings[COMMA][cell]
        raise InputError(
            f"{table.source}, column {quoted(name)}: {quoted(cell)} may be {point:.10g} or {comma:.10g}. Say which "
            "with --decimal point or --decimal comma."
        )
    convention, values = found
    refuse_too_large(table, name, values)
    cells = [cell for cell in table.column(name) if cell in values]
    column = Column(name, decimal=convention, fill=float(np.median([values[cell] for cell in cells])))
    plain = _plain(values)
    changed = next((cell for cell in cells if cell not in plain), None)
    how = "a number" if changed is None else f"a number ({changed} is read as {values[changed]:.10g})"
    whole = len(set(values.values())) == len(cells) and all(value.is_integer() for value in values.values())
    if whole and len(cells) > _MANY and _LOOKS_LIKE_ID.search(name):
        said = (
            f"column {quoted(name)} has a different whole number in each row and looks like an identifier, which "
            f"cannot help with new rows; leave it out with --ignore {typed(name)}."
        )
        return _Look(column, how, said)
    return _Look(column, how)


def _plain(values: dict[str, float]) -> set[str]:
    """Cells that Python reads as the same number."""

    def same(cell: str, value: float) -> bool:
        try:
            return float(cell) == value
        except ValueError:
            return False

    return {cell for cell, value in values.items() if same(cell, value)}


def _refuse_dates(table: Table, name: str, present: Sequence[str]) -> None:
    if all(map(_DATE.fullmatch, present)):
        raise InputError(
            f"{table.source}, column {quoted(name)} holds dates or times such as {quoted(present[0])}, which "
            "cannot be used directly: convert them to numbers first (days since a date, the month, the hour), or "
            f"leave the column out with --ignore {typed(name)}."
        )


def _refuse_mixture(table: Table, name: str, present: Sequence[str]) -> None:
    """Refuse text in a column of numbers: a mistake in one cell shall not make categories of them all."""
    readable = sum(number_column([cell]).numeric for cell in present)
    if 2 * readable < len(present) or not readable:
        return
    place, cell = first_text(table, name)
    if readable == len(present):  # each by itself
        ways = listed(map(quoted, dict.fromkeys(present)), 3)
        raise InputError(
            f"{place}: the numbers of this column are written in more than one way ({ways}); write them all the "
            f"same way, with a decimal point, or leave the column out with --ignore {typed(name)}."
        )
    raise InputError(
        f"{place}: {quoted(cell)} is text, but most cells of this column are numbers. Correct it; or, if the values "
        f"are categories, add --categories {typed(name)}; or leave the column out with --ignore {typed(name)}."
    )


def _categories(name: str, present: Sequence[str], forced: bool) -> _Look:
    folded = {cell.casefold() for cell in present}
    for pair in _YES_NO:
        if not forced and len(folded) == 2 and folded == set(pair):
            most = Counter(cell.casefold() for cell in present).most_common(1)[0][0]
            return _Look(Column(name, "yes/no", pair, fill=most), f"{pair[1]} is 1 and {pair[0]} is 0")
    counts = Counter(present)
    if len(counts) == 1:
        said = f"column {quoted(name)} is {quoted(present[0])} in every row, and is left out."
        return _Look(None, "left out: it has one value", said)
    unique = len(counts) == len(present) or (len(counts) > _MANY and 2 * len(counts) > len(present))
    if unique and not forced:
        said = (
            f"column {quoted(name)} has {len(counts)} different text values in {len(present)} rows and looks like "
            "an identifier or a free-text remark; it is left out. If the values are categories, add --categories "
            f"{typed(name)}."
        )
        return _Look(None, "left out: it looks like an identifier", said)
    least = max(2, min(_FEW_ROWS, len(present) // 20))
    kept = [c for c, count in counts.most_common(_MOST_CATEGORIES) if count >= least or len(counts) == 2 or forced]
    if not kept:
        said = f"column {quoted(name)} has no category with {least} rows or more, and is left out."
        return _Look(None, "left out: its categories are too rare", said)
    column = Column(name, "categories", tuple(sorted(kept)), tuple(sorted(set(counts) - set(kept))), fill=kept[0])
    rare = (
        f"; {listed(map(quoted, column.rare), 3)}: too rare, so zero in every one of these columns"
        if column.rare
        else ""
    )
    shown = listed(map(quoted, column.categories), 6)
    if column.is_switch:
        return _Look(column, f"{column.categories[1]} is 1 and {column.categories[0]} is 0")
    return _Look(column, f"one column of 0 and 1 for each of {len(kept)} categories ({shown}){rare}")


# --- missing values --------------------------------------------------------------------------------------------------


def _complete(
    table: Table, used: Sequence[Column], others: Sequence[str], numeric_target: bool, impute: str | None
) -> tuple[Table, tuple[str, ...]]:
    """The rows that are used, and a note on those that are not.

    Missing values are refused unless `impute` says what to do; a row without a target teaches nothing in any case.
    """
    gaps = {column.name: column.missing(table.column(column.name)) for column in used}
    targets = {name: [is_missing(c, among_numbers=numeric_target) for c in table.column(name)] for name in others}
    counts = {name: sum(flags) for name, flags in (gaps | targets).items() if any(flags)}
    if not counts:
        return table, ()
    spoilt = gaps | targets if impute != "median" else targets
    whole = [not any(flags) for flags in zip(*spoilt.values(), strict=True)]
    if impute is None:
        raise InputError(missing_sentence(table, counts) + _advice(table, counts, whole.count(False), list(targets)))
    if whole.count(True) < MIN_ROWS:
        raise InputError(
            f"{missing_sentence(table, counts)} Only {whole.count(True)} of {len(whole)} rows are complete; add "
            f"--impute median, or leave the emptiest columns out with --ignore {_emptiest(counts, others)}."
        )
    note = []
    if False in whole:
        what = "without a target" if impute == "median" else "with missing values"
        note.append(missing_note(whole.count(False), whole.count(True), what))
    filled = {name: counts[name] for name in gaps if name in counts} if impute == "median" else {}
    if filled:
        where = listed((f"{quoted(name)} ({count})" for name, count in filled.items()), 20)
        note.append(f"missing values were filled in with the median or the most frequent category: {where}.")
    return table.only(whole), tuple(note)


def _advice(table: Table, counts: dict[str, int], spoilt: int, targets: Sequence[str]) -> str:
    """What to type about missing values."""
    rows = f"the {spoilt} row{'s' * (spoilt > 1)} that {'have' if spoilt > 1 else 'has'} them"
    if set(counts) <= set(targets):
        return f" Add --impute drop to leave out {rows}."
    every = all(count == len(table.rows) for count in counts.values())
    drop = "" if spoilt == len(table.rows) or every else f", --impute drop to leave out {rows}"
    inputs = [name for name in counts if name not in targets]
    columns = "that column" if len(inputs) == 1 else "those columns"
    # a row without a target teaches nothing, whatever is done about the inputs
    also = " Rows without a target are left out in each case." if len(inputs) < len(counts) else ""
    return (
        f" Add --impute median to fill them in (the median of numbers, the most frequent category of texts){drop}, "
        f"or --ignore {_emptiest(counts, targets)} to leave {columns} out.{also}"
    )


def _emptiest(counts: dict[str, int], targets: Sequence[str]) -> str:
    return " ".join(typed(name) for name, _ in Counter(counts).most_common() if name not in targets)


def missing_note(left_out: int, remain: int, what: str = "with missing values") -> str:
    """What is said about rows that were left out."""
    counted = f"1 row {what} was" if left_out == 1 else f"{left_out} rows {what} were"
    return f"{counted} left out; {remain} remain."
