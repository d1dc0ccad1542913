"""Finds the node that a place means, and the block that a statement stands in."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.fixes.making import Span
from engine.project import Module


@dataclass(frozen=True)
class Located:
    """A statement, its block, its position in it, and the statement that owns the block (None at top level)."""

    node: ast.stmt
    block: Sequence[ast.stmt]
    position: int
    owner: ast.AST


COMPOUND = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.If,
)
"""Statements with a body of their own."""


def first_line(node: ast.stmt) -> int:
    """The first line of a statement, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def last_line(node: ast.AST) -> int:
    """The last line of a node."""
    end: int | None = getattr(node, "end_lineno", None)
    line: int = getattr(node, "lineno", 1)
    return end or line


def blocks(owner: ast.AST) -> Iterator[Sequence[ast.stmt]]:
    """The lists of statements that a node holds directly."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(owner, name, None)
        if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
            yield block


def statement_at(module: Module, line: int, kinds: tuple[type[ast.stmt], ...] = (ast.stmt,)) -> Located | None:
    """The innermost statement that covers a line, of these kinds."""
    found: Located | None = None
    pending: list[ast.AST] = [module.tree]
    while pending:
        owner = pending.pop()
        for block in blocks(owner):
            for position, node in enumerate(block):
                if first_line(node) <= line <= last_line(node):
                    if isinstance(node, kinds) and (found is None or _narrower(node, found.node)):
                        found = Located(node, block, position, owner)
                    pending.append(node)
        pending += getattr(owner, "handlers", [])
        pending += getattr(owner, "cases", [])
    return found


def _narrower(node: ast.stmt, than: ast.stmt) -> bool:
    return last_line(node) - first_line(node) <= last_line(than) - first_line(than)


def alone_on_its_lines(module: Module, located: Located) -> bool:
    """Whether no other statement shares a line with it: no `;`, no `for x in y: statement`."""
    node = located.node
    head = module.lines[first_line(node) - 1]
    if head[: len(head) - len(head.lstrip())] != head[: module.span(node).column - 1] and not hasattr(
        node, "decorator_list"
    ):
        return False
    neighbours = [other for other in located.block if other is not node]
    return all(last_line(o) < first_line(node) or first_line(o) > last_line(node) for o in neighbours)


def indentation(module: Module, line: int) -> str:
    """The white space that a line starts with."""
    text = module.lines[line - 1]
    return text[: len(text) - len(text.lstrip())]


def expression_at(module: Module, place: Span, kind: type[ast.expr] = ast.expr) -> ast.expr | None:
    """The expression at exactly this place; else the only one of its kind that starts there, or stands inside."""
    starting: list[ast.expr] = []
    inside: list[ast.expr] = []
    for node in ast.walk(module.tree):
        if not isinstance(node, kind) or not hasattr(node, "lineno"):
            continue
        span = module.span(node)
        if (span.line, span.column) == (place.line, place.column):
            if (span.end_line, span.end_column) == (place.end_line, place.end_column):
                return node
            starting.append(node)
        elif (span.line, span.column) >= (place.line, place.column) and (span.end_line, span.end_column) <= (
            place.end_line,
            place.end_column,
        ):
            inside.append(node)
    if starting and (place.end_line, place.end_column) <= (place.line, place.column):
        return starting[0]
    if kind is not ast.expr:
        if len(starting) == 1:
            return starting[0]
        if not starting and len(inside) == 1:
            return inside[0]
    return None


def is_primary(node: ast.expr) -> bool:
    """Whether `.method()` can follow the expression without parentheses."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str)
    return isinstance(node, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.List | ast.Dict | ast.Set)


def binds_tighter_than_division(node: ast.expr) -> bool:
    """Whether `/ n` can follow the expression without parentheses."""
    return is_primary(node) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div | ast.Pow))


def is_parenthesised(module: Module, node: ast.expr) -> bool:
    """Whether parentheses of its own stand directly around a node, which spans do not include."""
    span = module.span(node)
    before = module.lines[span.line - 1][: span.column - 1].rstrip()
    after = module.lines[span.end_line - 1][span.end_column - 1 :].lstrip()
    return before.endswith("(") and after.startswith(")") and not before[:-1].rstrip()[-1:].isidentifier()
