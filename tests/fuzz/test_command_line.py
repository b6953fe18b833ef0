"""Tables of all sorts through the command line, in this process: an answer, or one sentence and exit code 2."""

from __future__ import annotations

import json
import math
import random
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayes_lssvm.cli import main

from .conftest import ENOUGH, FACTOR

CELLS = (
    "",
    "NA",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "1e-320",
    "1_000",
    "0x1f",
    "1,5",
    "é",
    '"',
    "'",
    "\t",
    "\0",
    "٣",
    "-",
    "=1",
)
NAMES = ("a", "b", "label", "y y", "é", "a", "", "1", "=x", "\x1b[31m", "x" * 300)
KERNELS = ("linear", "linear", "linear", "rbf:sigma=1", "poly2", "rbf", "ard", "mlp", "linear+rbf")


def table(dice: random.Random) -> str:
    """Rows of numbers with a target, then spoilt in a few places, or in none."""
    n, d = dice.randrange(0, 14), dice.randrange(1, 4)
    scale = 10.0 ** dice.choice((-12, -3, 0, 0, 0, 6, 12))
    names = [dice.choice(NAMES) if dice.random() < 0.1 else f"x{i}" for i in range(d)] + ["y"]
    rows = [[f"{scale * dice.gauss(0, 1):.6g}" for _ in range(d)] for _ in range(n)]
    if dice.random() < 0.3:  # rows that repeat, or a column that does not vary
        rows = [dice.choice(rows) for _ in rows] if dice.random() < 0.5 else [["1", *row[1:]] for row in rows]
    labels = dice.choice((("0", "1"), ("ja", "nein"), ("a", "b", "c"), ("1",), None))
    rows = [[*row, dice.choice(labels) if labels else f"{dice.gauss(0, scale):.5g}"] for row in rows]
    for _ in range(dice.choice((0, 0, 1, 2)) if rows else 0):
        row = dice.choice(rows)
        row[dice.randrange(len(row))] = dice.choice(CELLS)
    if rows and dice.random() < 0.1:
        dice.choice(rows).append("7")
    separator = dice.choice((",", ",", ",", ";", "\t", "|"))
    lines = [separator.join(cells) for cells in [names, *rows]]
    return dice.choice(("", "", "", "\ufeff", "\n")) + dice.choice(("\n", "\n", "\r\n")).join(lines)


def spoilt(raw: bytes, dice: random.Random) -> bytes:
    """The bytes, at times cut, flipped or in another encoding."""
    kind = dice.random()
    if kind < 0.05 and raw:
        return raw[: dice.randrange(len(raw))]
    if kind < 0.1 and raw:
        at = dice.randrange(len(raw))
        return raw[:at] + bytes([dice.randrange(256)]) + raw[at + 1 :]
    return raw.decode().encode("utf-16") if kind < 0.12 else raw


def words(dice: random.Random, path: str, folder) -> list[str]:
    command = dice.choice(("fit", "fit", "fit", "compare", "select", "trust", "marginalise"))
    options = [command, path, "--target", dice.choice(("y", "y", "y", "y", "x0", "nothing"))]
    if dice.random() < 0.3:
        options += ["--task", dice.choice(("classification", "regression"))]
    if command == "compare":
        options += ["--kernels", "linear", dice.choice(("poly2", "rbf:sigma=1"))]
        return [*options, "--no-refine"] if dice.random() < 0.7 else options
    if command != "select":
        options += ["--kernel", dice.choice(KERNELS)]
    if command == "fit":
        options += dice.choice(([], ["--no-refine"], ["--json"], ["--out", str(folder / "model.npz")]))
        options += ["--criterion", dice.choice(("press", "press-br", "loo"))] if dice.random() < 0.1 else []
    if command == "marginalise":
        options += dice.choice(([], ["--json"], ["--method", dice.choice(("laplace", "mackay", "importance"))]))
    return options


def outcome(arguments, capsys) -> tuple[int, str, str]:
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def check(arguments, code, out, err) -> None:
    assert code in (0, 2), arguments
    assert "Traceback" not in err, arguments
    assert "Warning:" not in err, arguments
    if code:
        assert not out, arguments
        last = err.strip().splitlines()[-1]
        assert last.startswith("error: "), arguments
        assert last.endswith((".", "?", ")")), (arguments, last)
    else:
        assert not re.search(r"\bnan\b", out.lower()), (arguments, out)
        if "--json" in arguments:
            json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_any_table_gets_an_answer_or_a_sentence(cases, capsys, tmp_path):
    answered = 0
    for seed in cases(40, full=5000):
        dice = random.Random(seed)
        path = tmp_path / "table.csv"
        path.write_bytes(spoilt(table(dice).encode(), dice))
        arguments = words(dice, str(path), tmp_path)
        code, out, err = outcome(arguments, capsys)
        check([seed, *arguments], code, out, err)
        answered += code == 0
        if code == 0 and "--out" in arguments and dice.random() < 0.5:
            predict = ["predict", str(tmp_path / "model.npz"), str(path)]
            check([seed, *predict], *outcome(predict, capsys))
    assert answered or len(cases(40, full=5000)) < 2 * ENOUGH  # most tables are refused


@settings(
    max_examples=math.ceil(25 * FACTOR),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(content=st.text(max_size=120) | st.binary(max_size=60))
def test_any_bytes_get_a_sentence(content, capsys, tmp_path):
    path = tmp_path / "any.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    arguments = ["fit", str(path), "--target", "y", "--kernel", "linear"]
    check(arguments, *outcome(arguments, capsys))
