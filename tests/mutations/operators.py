"""Small faults to put into a formula, one at a time, read from the syntax tree of a source text."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

SWAPPED = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.Pow: "*", ast.BitAnd: "|", ast.BitOr: "&"}
NEGATED = {ast.Lt: ">=", ast.GtE: "<", ast.Gt: "<=", ast.LtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
PAIRS = (("maximum", "minimum"), ("max", "min"), ("sum", "mean"), ("argmax", "argmin"), ("any", "all"))
OTHERS = {**dict(PAIRS), **{b: a for a, b in PAIRS}, "logaddexp": "maximum"}
ARGUMENTS = {"log": "2.0 * ({})", "log1p": "2.0 * ({})", "exp": "-({})", "expm1": "-({})", "expit": "-({})"}
DROPPED = ("sqrt", "abs")
NO_FORMULA = (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom, ast.AnnAssign)


class Mutant(NamedTuple):
    """A fault: the bytes from `start` to `end` of a file become `after`."""

    path: str
    function: str
    line: int
    last_line: int
    text: str
    start: int
    end: int
    operator: str
    before: str
    after: str
    nth: int = 1  # of the faults of its function that read the same

    @property
    def key(self) -> str:
        """What names it, and no other, however the lines above it move."""
        words = f"{self.path}::{self.function}: {' '.join(self.before.split())} → {' '.join(self.after.split())}"
        return words if self.nth == 1 else f"{words} (number {self.nth})"

    @property
    def line_key(self) -> str:
        """The same for all faults of its line."""
        return f"{self.path}::{self.function}: {self.text}"

    def apply(self, source: bytes) -> bytes:
        """The source with the fault."""
        return source[: self.start] + self.after.encode() + source[self.end :]


def mutants_of(source: str, path: str) -> list[Mutant]:
    """Every fault that the operators can put into a source text, in the order of the text."""
    encoded, lines = source.encode(), source.splitlines()
    starts = [0]
    for line in encoded.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def text(node: ast.AST) -> str:
        return encoded[span(node)[0] : span(node)[1]].decode()

    def span(node: ast.AST) -> tuple[int, int]:
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    def visit(node: ast.AST, parent: ast.AST | None, function: str) -> Iterator[Mutant]:
        if isinstance(node, NO_FORMULA):
            if isinstance(node, ast.AnnAssign) and node.value is not None:
                yield from visit(node.value, node, function)
            return
        if guards_rounding(node) or (isinstance(node, ast.Call) and text(node.func) == "tqdm"):
            return
        for operator, after in faults(node, parent, text):
            place = (node.lineno, node.end_lineno, lines[node.lineno - 1].strip(), *span(node))
            yield Mutant(path, function, *place, operator, text(node), after)
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            function = f"{function}.{node.name}" if function else node.name
        for name, child in children(node):
            if name not in ("annotation", "returns", "decorator_list", "bases"):
                yield from visit(child, node, function)

    found = sorted(visit(ast.parse(source), None, ""), key=lambda m: (m.start, m.end, m.after))
    same: Counter[str] = Counter()
    for i, mutant in enumerate(found):
        same[mutant.key] += 1
        found[i] = mutant._replace(nth=same[mutant.key])
    return found


def children(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """The children of a node with the names of their fields."""
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield name, child


def faults(node: ast.AST, parent: ast.AST | None, text) -> Iterator[tuple[str, str]]:
    """The name of an operator, and what it puts in the place of a node."""
    if isinstance(node, ast.BinOp):
        yield from of_binary(node, text)
    elif isinstance(node, ast.Constant):
        yield from of_constant(node, parent)
    elif isinstance(node, ast.Compare):
        yield from of_comparison(node, text)
    elif isinstance(node, ast.UnaryOp):
        yield from of_sign(node, parent, text)
    elif isinstance(node, ast.Call):
        yield from of_call(node, text)
    elif isinstance(node, ast.BoolOp):
        word = " or " if isinstance(node.op, ast.And) else " and "
        yield "and, or", f"({word.join(f'({text(value)})' for value in node.values)})"
    elif isinstance(node, ast.IfExp) and not is_none_test(node.test):
        yield "branches swapped", f"({text(node.orelse)} if {text(node.test)} else {text(node.body)})"
    elif isinstance(node, ast.Tuple) and isinstance(parent, ast.Return) and len(node.elts) > 1:
        first, second, *rest = (text(element) for element in node.elts)
        if not first.startswith("*") and not second.startswith("*"):
            yield "return swapped", f"({', '.join([second, first, *rest])})"


def of_binary(node: ast.BinOp, text) -> Iterator[tuple[str, str]]:
    sides = (node.left, node.right)
    words = (ast.JoinedStr, ast.List, ast.Tuple, ast.Set, ast.Dict)
    if any(isinstance(side, words) or is_text(side) for side in sides) or type(node.op) not in SWAPPED:
        return
    left, right = text(node.left), text(node.right)
    yield "operator", f"(({left}) {SWAPPED[type(node.op)]} ({right}))"
    if isinstance(node.op, ast.Add | ast.Sub):
        yield "term dropped", f"({left})"
        yield "term dropped", f"(-({right}))" if isinstance(node.op, ast.Sub) else f"({right})"


def of_constant(node: ast.Constant, parent: ast.AST | None) -> Iterator[tuple[str, str]]:
    if type(node.value) not in (int, float) or not isinstance(parent, ast.BinOp | ast.Compare):
        return
    if isinstance(node.value, int):
        yield "constant", repr(node.value + 1)
    else:
        yield "constant", repr(2.0 * node.value if node.value else 1.0)


def of_comparison(node: ast.Compare, text) -> Iterator[tuple[str, str]]:
    if len(node.ops) > 1 or type(node.ops[0]) not in NEGATED or is_text(node.left) or is_text(node.comparators[0]):
        return
    yield "comparison", f"(({text(node.left)}) {NEGATED[type(node.ops[0])]} ({text(node.comparators[0])}))"


def of_sign(node: ast.UnaryOp, parent: ast.AST | None, text) -> Iterator[tuple[str, str]]:
    if isinstance(node.op, ast.Not):
        yield "not dropped", f"({text(node.operand)})"
    elif isinstance(node.op, ast.USub) and not isinstance(parent, ast.Subscript | ast.Slice | ast.keyword | ast.Tuple):
        yield "sign", f"({text(node.operand)})"


def of_call(node: ast.Call, text) -> Iterator[tuple[str, str]]:
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    owner = text(node.func)[: len(text(node.func)) - len(called)]
    rest = text(node)[len(text(node.func)) :]
    if called in OTHERS and not (called == "sum" and not owner):
        yield "function", f"{owner}{OTHERS[called]}{rest}"
    if called in ARGUMENTS and len(node.args) == 1 and not node.keywords:
        yield "argument", f"{text(node.func)}({ARGUMENTS[called].format(text(node.args[0]))})"
    if called in DROPPED and len(node.args) == 1:
        yield "function dropped", f"({text(node.args[0])})"


def is_text(node: ast.AST) -> bool:
    """Whether a node is a constant that is no number."""
    return isinstance(node, ast.Constant) and type(node.value) not in (int, float)


def guards_rounding(node: ast.AST) -> bool:
    """Whether a node is a tolerance: a number below 1e-5, or one times something. That is no formula."""
    if isinstance(node, ast.BinOp):
        plain = isinstance(node.left, ast.Constant) or isinstance(node.op, ast.Mult | ast.Div)  # 1.0 - 1e-16
        return plain and (guards_rounding(node.left) or guards_rounding(node.right))
    return isinstance(node, ast.Constant) and isinstance(node.value, float) and 0.0 < node.value < 1e-5


def is_none_test(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Is | ast.IsNot)
