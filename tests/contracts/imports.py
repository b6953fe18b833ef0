"""Who imports whom, read from the sources: the edges that the rules of the house are about."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
TOPS = ("bayes_lssvm", "models", "validation", "reports", "benchmarks")


class Edge(NamedTuple):
    """An import of one of our modules: where it stands, what it brings, and whether it is inside a function."""

    source: str
    target: str
    name: str
    line: int
    function: str
    typing_only: bool

    def __str__(self) -> str:
        inside = f" inside {self.function}()" if self.function else ""
        return f"{self.source} (line {self.line}) imports {self.target}{inside}"


@cache
def modules() -> dict[str, Path]:
    """Every module of the repository but the tests, by its dotted name."""
    found = {}
    for path in (path for top in TOPS for path in (ROOT / top).rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@cache
def edges() -> tuple[Edge, ...]:
    """Every import of our modules by our modules."""
    return tuple(
        edge
        for name, path in modules().items()
        for edge in read_edges(path.read_text("utf-8"), name, path.name == "__init__.py", modules())
    )


def read_edges(source: str, name: str, is_package: bool, known: Iterable[str]) -> Iterator[Edge]:
    """The imports of a source text that lead to a known module, `import_module("…")` among them."""
    known = set(known)
    own = name.split(".") if is_package else name.split(".")[:-1]

    def visit(node: ast.AST, function: str, typing_only: bool) -> Iterator[Edge]:
        for child in ast.iter_child_nodes(node):
            inside = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
            checking = typing_only or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test))
            for target, what in imported(child):
                yield Edge(name, target, what, child.lineno, inside, checking)
            yield from visit(child, inside, checking)

    def imported(node: ast.AST) -> Iterator[tuple[str, str]]:
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom):
            base = own[: len(own) - node.level + 1] if node.level else []
            origin = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                whole = f"{origin}.{alias.name}"
                if whole in known or origin in known:
                    yield (whole, "") if whole in known else (origin, alias.name)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if called in ("import_module", "__import__") and node.args[0].value in known:
                yield node.args[0].value, ""

    return visit(ast.parse(source), "", False)


def longest_chain(top: str, found: Iterable[Edge]) -> list[str]:
    """The longest chain of imports that are made when a module of a package is imported; a cycle is an error."""
    graph: dict[str, set[str]] = {}
    for edge in found:
        if not edge.function and not edge.typing_only and f"{edge.target}.".startswith(f"{top}."):
            graph.setdefault(edge.source, set()).add(edge.target)
    chains: dict[str, list[str]] = {}

    def chain(name: str, above: tuple[str, ...]) -> list[str]:
        if name in above:
            raise AssertionError(f"a cycle of imports: {' → '.join((*above[above.index(name) :], name))}")
        if name not in chains:
            below = [chain(target, (*above, name)) for target in sorted(graph.get(name, set()) - {name})]
            chains[name] = [name, *max(below, key=len, default=[])]
        return chains[name]

    return max((chain(name, ()) for name in graph if f"{name}.".startswith(f"{top}.")), key=len)
