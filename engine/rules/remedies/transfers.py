"""Copies to the device: kept where they are thrown away, made once where they repeat."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from engine import fixes
from engine.findings import Fix
from engine.fixes.locating import first_line, last_line, statement_at
from engine.project import Module
from engine.rules.facts.text import in_file
from engine.rules.remedies.syntax import around, call_at, dotted, names_bound, names_read, reads, scope_at
from engine.rules.rule import FixMaker
from engine.trace import Loop, Place
from engine.trace.events import Transfer


def assigned(transfer: Transfer) -> FixMaker:
    """`x.to(device)` becomes `x = x.to(device)`, together with neighbours that throw away the same copy.

    For a module among them that changes nothing: it returns itself.
    """

    def build(module: Module) -> Fix | None:
        located = statement_at(module, transfer.place.line)
        own = _copied(located.node) if located is not None else None
        if located is None or own is None:
            return None
        first = last = located.position
        while first > 0 and _same_copy(module, located.block[first - 1], own):
            first -= 1
        while last + 1 < len(located.block) and _same_copy(module, located.block[last + 1], own):
            last += 1
        made = [_assignment(module, node) for node in located.block[first : last + 1]]
        return fixes.combine(module, *made, description="Keep what `.to()` returns.")

    return in_file(transfer.place, build)


def _copied(node: ast.stmt) -> ast.Call | None:
    """The call `x.to(...)` that a statement consists of."""
    call = node.value if isinstance(node, ast.Expr) else None
    plain = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and dotted(call.func.value)
    return call if isinstance(call, ast.Call) and plain else None


def _same_copy(module: Module, node: ast.stmt, own: ast.Call) -> bool:
    call = _copied(node)
    if call is None:
        return False
    return _tail(module, call) == _tail(module, own)


def _tail(module: Module, call: ast.Call) -> str:
    """A call's text without what it is called on: `.to(device)`."""
    assert isinstance(call.func, ast.Attribute)
    return module.source(call).removeprefix(module.source(call.func.value))


def _assignment(module: Module, node: ast.stmt) -> Fix | None:
    call = _copied(node)
    if call is None or not isinstance(call.func, ast.Attribute):
        return None
    code = f"{module.source(call.func.value)} = {module.source(call)}"
    return fixes.replace_statement(module, first_line(node), code, safe=True)


def moved_once(transfer: Transfer, others: Sequence[Transfer], loop: Loop) -> FixMaker:
    """What does not change is copied before the loop, under its own name, and read from there in the loop.

    All that the loop copies so move together. Nothing outside of the loop may read the name afterwards.
    """

    def build(module: Module) -> Fix | None:
        outer = _outermost(module, loop.place, transfer.place)
        if outer is None:
            return None
        wanted = {other.place for other in (transfer, *others) if other.place.path == module.path}
        inside = [place for place in sorted(wanted) if first_line(outer) <= place.line <= last_line(outer)]
        lines: dict[str, str] = {}
        replaced: list[Fix | None] = []
        for place in inside:
            call = call_at(module, place)
            name = dotted(call.func.value) if call is not None and isinstance(call.func, ast.Attribute) else ""
            if call is None or not name.isidentifier() or not _only_copied(module, outer, name, call):
                if place == transfer.place:
                    return None
                continue
            lines[name] = f"{name} = {module.source(call)}"
            span = module.span(call)
            replaced.append(fixes.replace_expression(module, span, name, safe=True))
        above = fixes.insert_statement_before(module, first_line(outer), "\n".join(lines.values()), safe=True)
        return fixes.combine(module, above, *replaced, description="Copy it to the device once, before the loop.")

    return in_file(transfer.place, build)


def _outermost(module: Module, loop: Place, place: Place) -> ast.stmt | None:
    """The outermost loop of the function that holds the training loop and does not bind what is copied."""
    if loop.path != module.path or not loop.line <= place.line <= loop.end_line:
        return None
    call = call_at(module, place)
    found: ast.stmt | None = None
    for located in around(module, loop.line):
        if isinstance(located.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            break
        if isinstance(located.node, ast.For | ast.While):
            if call is None or names_read(call) & names_bound(located.node):
                break
            found = located.node
    return found


def _only_copied(module: Module, loop: ast.stmt, name: str, call: ast.Call) -> bool:
    """Whether the loop reads the name only to copy it in this way, and nothing reads it after the loop."""
    text = module.source(call)
    calls = {
        id(node.func.value)
        for node in ast.walk(loop)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and module.source(node) == text
    }
    copies = [node for node in reads(loop, name) if id(node) in calls]
    later = [node for node in reads(scope_at(module, loop.lineno), name) if node.lineno > last_line(loop)]
    return len(reads(loop, name)) == len(copies) == 1 and not later
