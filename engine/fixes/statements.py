"""Fixes that add, move or remove whole statements."""

from __future__ import annotations

import ast
import io
import tokenize

from engine.findings import Edit, Fix
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


def insert_statement_before(
    module: Module, line: int, code: str, *, safe: bool = False, description: str | None = None
) -> Fix | None:
    """Puts `code` on a line of its own before the statement that covers `line`, indented like it."""
    located = _movable(module, line)
    if located is None:
        return None
    first = first_line(located.node)
    told = description or f"Add `{_flat(code)}` before `{_flat(module.lines[first - 1])}`."
    return made(module, told, safe, [edit_at(first, 1, _indented(code, indentation(module, first)))])


def insert_statement_after(
    module: Module, line: int, code: str, *, safe: bool = False, description: str | None = None
) -> Fix | None:
    """Puts `code` on a line of its own after the statement that covers `line`, indented like it."""
    located = _movable(module, line)
    if located is None:
        return None
    last = last_line(located.node)
    told = description or f"Add `{_flat(code)}` after `{_flat(module.source(located.node))}`."
    return made(
        module, told, safe, [_after(module, last, _indented(code, indentation(module, first_line(located.node))))]
    )


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
    first = first_line(target)
    told = description or f"Add `{_flat(code)}` before `{_flat(module.lines[first - 1])}`."
    return made(module, told, safe, [edit_at(first, 1, _indented(code, indentation(module, first)))])


def replace_statement(
    module: Module, line: int, code: str, *, safe: bool = False, description: str | None = None
) -> Fix | None:
    """The statement that covers `line` becomes `code`; comments behind it stay."""
    located = statement_at(module, line)
    if located is None or next(blocks(located.node), None) is not None:
        return None
    told = description or f"Replace the statement by `{_flat(code)}`."
    pad = indentation(module, first_line(located.node))
    text = _indented(code, pad).removeprefix(pad).removesuffix("\n")
    return made(module, told, safe, [edit_over(module.span(located.node), text)])


def remove_statement(module: Module, line: int, *, safe: bool = False, description: str | None = None) -> Fix | None:
    """Removes the statement that covers `line` with its lines; the last one of a block becomes `pass`."""
    located = _movable(module, line)
    if located is None:
        return None
    told = description or f"Remove `{_flat(module.source(located.node))}`."
    if len(located.block) == 1:
        return made(module, told, safe, [edit_over(module.span(located.node), "pass")])
    return made(module, told, safe, [_over_lines(module, first_line(located.node), last_line(located.node), "")])


def swap_statements(
    module: Module, first: int, second: int, *, safe: bool = False, description: str | None = None
) -> Fix | None:
    """Exchanges two statements of one block; what stands between them stays between them."""
    one, other = _movable(module, first), _movable(module, second)
    if one is None or other is None or one.block is not other.block or one.position == other.position:
        return None
    if one.position > other.position:
        one, other = other, one
    upper, lower = _lines(module, one.node), _lines(module, other.node)
    told = description or f"Run `{_flat(module.source(other.node))}` before `{_flat(module.source(one.node))}`."
    edits = [
        _over_lines(module, first_line(one.node), last_line(one.node), lower),
        _over_lines(module, first_line(other.node), last_line(other.node), upper),
    ]
    return made(module, told, safe, edits)


def move_statement_before(
    module: Module, line: int, other_line: int, *, safe: bool = False, description: str | None = None
) -> Fix | None:
    """Moves the statement that covers `line` before the one that covers `other_line`; both in one block."""
    moved, target = _movable(module, line), _movable(module, other_line)
    if moved is None or target is None or moved.node is target.node or moved.block is not target.block:
        return None
    told = description or f"Move `{_flat(module.source(moved.node))}` before `{_flat(module.source(target.node))}`."
    edits = [
        edit_at(first_line(target.node), 1, _lines(module, moved.node)),
        _over_lines(module, first_line(moved.node), last_line(moved.node), ""),
    ]
    return made(module, told, safe, edits)


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
    if not alone_on_its_lines(module, start) or not alone_on_its_lines(module, end):
        return None
    top, bottom = first_line(start.node), last_line(end.node)
    pad = indentation(module, top)
    untouchable = _inside_strings(module, top, bottom)
    unit = _indent_unit(module)
    lines = [
        line if number in untouchable or not line.strip() else unit + line
        for number, line in enumerate(module.lines[top - 1 : bottom], start=top)
    ]
    text = f"{pad}with {context}:\n" + "\n".join(lines) + "\n"
    told = description or f"Run this under `{context}`."
    return made(module, told, safe, [_over_lines(module, top, bottom, text)])


def add_decorator(
    module: Module, line: int, decorator: str, *, safe: bool = False, description: str | None = None
) -> Fix | None:
    """Puts a decorator directly above the `def` of the function whose header covers `line`."""
    located = statement_at(module, line, (ast.FunctionDef, ast.AsyncFunctionDef))
    if located is None or not isinstance(located.node, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    at = located.node.lineno
    told = description or f"Decorate `{located.node.name}` with `{decorator}`."
    return made(module, told, safe, [edit_at(at, 1, _indented(decorator, indentation(module, at)))])


def _movable(module: Module, line: int) -> Located | None:
    located = statement_at(module, line)
    return located if located is not None and alone_on_its_lines(module, located) else None


def _indented(code: str, pad: str) -> str:
    return "".join(f"{pad}{line}\n" if line.strip() else "\n" for line in code.split("\n"))


def _lines(module: Module, node: ast.stmt) -> str:
    return "\n".join(module.lines[first_line(node) - 1 : last_line(node)]) + "\n"


def _after(module: Module, line: int, text: str) -> Edit:
    return edit_at(line, len(module.lines[line - 1]) + 1, "\n" + text.removesuffix("\n"))


def _over_lines(module: Module, first: int, last: int, text: str) -> Edit:
    """Replaces whole lines; the last line of a file may lack its newline."""
    if last < len(module.lines):
        return Edit(line=first, column=1, end_line=last + 1, end_column=1, text=text)
    end = len(module.lines[last - 1]) + 1
    return Edit(line=first, column=1, end_line=last, end_column=end, text=text.removesuffix("\n"))


def _flat(code: str) -> str:
    flat = " ".join(code.split())
    return flat if len(flat) <= 60 else f"{flat[:57]}..."


def _indent_unit(module: Module) -> str:
    for line in module.lines:
        if line.startswith("\t"):
            return "\t"
        if line.startswith(" ") and line.strip() and not line.lstrip().startswith(("#", '"', "'")):
            width = len(line) - len(line.lstrip())
            return " " * (width if width in (2, 3, 4, 8) else 4)
    return "    "


def _inside_strings(module: Module, first: int, last: int) -> set[int]:
    """Lines that continue a string, whose white space is part of its value."""
    found: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(module.text).readline):
            if token.start[0] > last:
                break
            if token.end[0] > token.start[0] and token.type in _STRING_TOKENS:
                found |= set(range(token.start[0] + 1, token.end[0] + 1))
    except (tokenize.TokenError, SyntaxError):
        # Syntax newer than this interpreter's tokenizer: the fix is dropped if the file no longer parses.
        return found
    return {line for line in found if first <= line <= last}


_STRING_TOKENS = {tokenize.STRING} | {
    getattr(tokenize, name) for name in ("FSTRING_MIDDLE", "TSTRING_MIDDLE") if hasattr(tokenize, name)
}
