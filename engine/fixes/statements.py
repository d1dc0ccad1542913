"""Fixes that add, move or remove whole statements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from engine.findings import Fix
from engine.fixes.locating import (
    COMPOUND,
    Located,
    alone_on_its_lines,
    blocks,
    first_line,
    indentation,
    last_line,
    statement_at,
)
from engine.fixes.making import edit_at, edit_over, made
from engine.project import Module

if TYPE_CHECKING:
    from engine.fixes.tree import StatementTree


def insert_statement_before(
    module: Module, line: int, code: str, *, safe: bool = False, description: str | None = None
) -> Fix | None:
    """Puts `code` on a line of its own before the statement that covers `line`, indented like it."""
    located = _movable(module, line)
    if located is None:
        return None
    told = description or f"Add `{_flat(code)}` before `{_flat(module.lines[first_line(located.node) - 1])}`."
    return _changed(
        module, told, safe, [located.node], lambda tree: tree.insert_before(located.node, tree.parsed(code))
    )


def insert_statement_after(
    module: Module, line: int, code: str, *, safe: bool = False, description: str | None = None
) -> Fix | None:
    """Puts `code` on a line of its own after the statement that covers `line`, indented like it."""
    located = _movable(module, line)
    if located is None:
        return None
    told = description or f"Add `{_flat(code)}` after `{_flat(module.source(located.node))}`."
    return _changed(module, told, safe, [located.node], lambda tree: tree.insert_after(located.node, tree.parsed(code)))


def insert_first_in_body(
    module: Module, line: int, code: str, *, safe: bool = False, description: str | None = None
) -> Fix | None:
    """Puts `code` first in the body of the loop, `with`, `if`, function or class whose header covers `line`."""
    located = statement_at(module, line, COMPOUND)
    body = next(blocks(located.node), None) if located is not None else None
    if located is None or body is None:
        return None
    target = body[0]
    docstring = isinstance(target, ast.Expr) and isinstance(target.value, ast.Constant) and len(body) > 1
    if docstring and isinstance(located.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        target = body[1]
    inside = Located(target, body, body.index(target), located.node)
    if not alone_on_its_lines(module, inside) or first_line(target) <= located.node.lineno:
        return None
    told = description or f"Add `{_flat(code)}` before `{_flat(module.lines[first_line(target) - 1])}`."
    return _changed(module, told, safe, [target], lambda tree: tree.insert_before(target, tree.parsed(code)))


def replace_statement(
    module: Module, line: int, code: str, *, safe: bool = False, description: str | None = None
) -> Fix | None:
    """The statement that covers `line` becomes `code`; comments behind it stay."""
    located = statement_at(module, line)
    if located is None or next(blocks(located.node), None) is not None:
        return None
    told = description or f"Replace the statement by `{_flat(code)}`."
    pad = indentation(module, first_line(located.node))
    text = "\n".join(pad + part if part.strip() else part for part in code.split("\n")).removeprefix(pad)
    return made(module, told, safe, [edit_over(module.span(located.node), text)])


def remove_statement(module: Module, line: int, *, safe: bool = False, description: str | None = None) -> Fix | None:
    """Removes the statement that covers `line` with its comments; the last one of a block becomes `pass`."""
    located = _movable(module, line)
    if located is None:
        return None
    told = description or f"Remove `{_flat(module.source(located.node))}`."
    return _changed(module, told, safe, [located.node], lambda tree: tree.remove(located.node))


def swap_statements(
    module: Module, first: int, second: int, *, safe: bool = False, description: str | None = None
) -> Fix | None:
    """Exchanges two statements of one block; what stands between them stays between them."""
    one, other = _movable(module, first), _movable(module, second)
    if one is None or other is None or one.block is not other.block or one.position == other.position:
        return None
    if one.position > other.position:
        one, other = other, one
    upper, lower = one.node, other.node
    told = description or f"Run `{_flat(module.source(lower))}` before `{_flat(module.source(upper))}`."
    return _changed(module, told, safe, [upper, lower], lambda tree: tree.exchange(upper, lower))


def move_statement_before(
    module: Module, line: int, other_line: int, *, safe: bool = False, description: str | None = None
) -> Fix | None:
    """Moves the statement that covers `line`, with its comments, before the one that covers `other_line`."""
    moved, target = _movable(module, line), _movable(module, other_line)
    if moved is None or target is None or _holds(moved.node, target.node):
        return None
    told = description or f"Move `{_flat(module.source(moved.node))}` before `{_flat(_head(module, target.node))}`."
    return _changed(
        module,
        told,
        safe,
        [moved.node, target.node],
        lambda tree: tree.insert_before(target.node, [tree.take(moved.node)]),
    )


def move_statement_after(
    module: Module, line: int, other_line: int, *, safe: bool = False, description: str | None = None
) -> Fix | None:
    """Moves the statement that covers `line`, with its comments, after the one that covers `other_line`."""
    moved, target = _movable(module, line), _movable(module, other_line)
    if moved is None or target is None or _holds(moved.node, target.node):
        return None
    told = description or f"Move `{_flat(module.source(moved.node))}` after `{_flat(_head(module, target.node))}`."
    return _changed(
        module,
        told,
        safe,
        [moved.node, target.node],
        lambda tree: tree.insert_after(target.node, [tree.take(moved.node)]),
    )


def wrap_with(
    module: Module, first: int, last: int, context: str, *, safe: bool = False, description: str | None = None
) -> Fix | None:
    """Puts the statements of one block from line `first` to line `last` into `with context:`."""
    start, end = statement_at(module, first), statement_at(module, last)
    if start is None or end is None:
        return None
    if start.block is not end.block:
        # `last` may stand inside the statement that `first` begins, and the other way round.
        outer = max((start, end), key=lambda s: last_line(s.node) - first_line(s.node))
        if not first_line(outer.node) <= first <= last <= last_line(outer.node):
            return None
        start = end = outer
    nodes = start.block[start.position : end.position + 1]
    told = description or f"Run this under `{context}`."
    return _changed(module, told, safe, nodes, lambda tree: tree.wrap(nodes, context))


def add_decorator(
    module: Module, line: int, decorator: str, *, safe: bool = False, description: str | None = None
) -> Fix | None:
    """Puts a decorator directly above the `def` of the function whose header covers `line`."""
    located = statement_at(module, line, (ast.FunctionDef, ast.AsyncFunctionDef))
    if located is None or not isinstance(located.node, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    at = located.node.lineno
    told = description or f"Decorate `{located.node.name}` with `{decorator}`."
    return made(module, told, safe, [edit_at(at, 1, f"{indentation(module, at)}{decorator}\n")])


def _changed(
    module: Module, told: str, safe: bool, nodes: Sequence[ast.stmt], change: Callable[[StatementTree], None]
) -> Fix | None:
    # LibCST takes longer to load than most files take to check: only a fix that moves statements pays for it.
    from engine.fixes.tree import rewritten

    return made(module, told, safe, rewritten(module, nodes, change))


def _holds(outer: ast.stmt, inner: ast.stmt) -> bool:
    """Whether a statement is or contains another: it can not be moved into itself."""
    return any(node is inner for node in ast.walk(outer))


def _head(module: Module, node: ast.stmt) -> str:
    """A compound statement's first line, any other statement whole."""
    compound = next(blocks(node), None) is not None
    return module.lines[node.lineno - 1] if compound else module.source(node)


def _movable(module: Module, line: int) -> Located | None:
    located = statement_at(module, line)
    return located if located is not None and alone_on_its_lines(module, located) else None


def _flat(code: str) -> str:
    flat = " ".join(code.split())
    return flat if len(flat) <= 60 else f"{flat[:57]}..."
