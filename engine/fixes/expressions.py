"""Fixes inside one expression."""

from __future__ import annotations

import ast

from engine.findings import Edit, Fix
from engine.fixes.locating import (
    binds_tighter_than_division,
    expression_at,
    is_parenthesised,
    is_primary,
)
from engine.fixes.making import Span, edit_at, edit_over, made
from engine.project import Module


def append_method_call(
    module: Module, place: Span, method: str, *, safe: bool = False, description: str | None = None
) -> Fix | None:
    """`expression` becomes `expression.method()`, with parentheses where they are needed."""
    node = expression_at(module, place)
    if node is None:
        return None
    source = module.source(node)
    told = description or f"Call `.{method}()` on `{_short(source)}`."
    return made(module, told, safe, _suffix(module, node, f".{method}()", is_primary(node)))


def divide(
    module: Module, place: Span, divisor: str, *, safe: bool = False, description: str | None = None
) -> Fix | None:
    """`expression` becomes `expression / divisor`; `divisor` is code that needs no parentheses, or brings them."""
    node = expression_at(module, place)
    if node is None:
        return None
    told = description or f"Divide `{_short(module.source(node))}` by `{divisor}`."
    return made(module, told, safe, _suffix(module, node, f" / {divisor}", binds_tighter_than_division(node)))


def _suffix(module: Module, node: ast.expr, suffix: str, bare: bool) -> list[Edit]:
    span = module.span(node)
    if bare:
        return [edit_at(span.end_line, span.end_column, suffix)]
    if is_parenthesised(module, node):
        rest = module.lines[span.end_line - 1][span.end_column - 1 :]
        gap = len(rest) - len(rest.lstrip())
        return [edit_at(span.end_line, span.end_column + gap + 1, suffix)]
    return [edit_at(span.line, span.column, "("), edit_at(span.end_line, span.end_column, f"){suffix}")]


def replace_expression(
    module: Module, place: Span, code: str, *, safe: bool = False, description: str | None = None
) -> Fix | None:
    """The expression at the place becomes `code`."""
    node = expression_at(module, place)
    if node is None:
        return None
    told = description or f"Replace `{_short(module.source(node))}` by `{_short(code)}`."
    return made(module, told, safe, [edit_over(module.span(node), code)])


def replace_span(
    module: Module, place: Span, code: str, *, safe: bool = False, description: str | None = None
) -> Fix | None:
    """What stands at a place becomes `code`, such as `name=value` in a call."""
    return made(module, description or f"Write `{_short(code)}`.", safe, [edit_over(place, code)])


def unwrap_call(module: Module, place: Span, *, safe: bool = False, description: str | None = None) -> Fix | None:
    """`f(x, ...)` becomes `x`; a method call `x.f(...)` becomes `x` as well, when `f` is called on a value.

    A call such as `F.softmax(x)` or `torch.softmax(x)` and `nn.Softmax(-1)(x)` keeps its first argument.
    """
    call = expression_at(module, place, ast.Call)
    if not isinstance(call, ast.Call):
        return None
    inner = _subject(call)
    if inner is None:
        return None
    code = module.source(inner)
    if not is_primary(inner) and not is_parenthesised(module, call):
        code = f"({code})"
    told = description or f"Take `{_short(module.source(inner))}` as it is, without `{_short(_callee(module, call))}`."
    return made(module, told, safe, [edit_over(module.span(call), code)])


_NAMESPACES = frozenset({"F", "torch", "functional", "nn", "nnf", "numpy", "np", "special", "tf"})


def _subject(call: ast.Call) -> ast.expr | None:
    """What a call works on: its first argument, or the value whose method it is."""
    function = call.func
    if isinstance(function, ast.Attribute):
        owner = function.value
        named = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
        plain = not call.args or not isinstance(call.args[0], ast.Name | ast.Attribute | ast.Call | ast.Subscript)
        if named not in _NAMESPACES and named != "self" and plain:
            return owner
    if call.args and not isinstance(call.args[0], ast.Starred):
        return call.args[0]
    first = next((keyword for keyword in call.keywords if keyword.arg == "input"), None)
    return first.value if first else None


def _callee(module: Module, call: ast.Call) -> str:
    return module.source(call.func)


def add_keyword(
    module: Module, place: Span, name: str, code: str, *, safe: bool = False, description: str | None = None
) -> Fix | None:
    """A call gets `name=code`; where it has that keyword, its value is replaced. None if `**kwargs` may hold it."""
    call = expression_at(module, place, ast.Call)
    if not isinstance(call, ast.Call):
        return None
    told = description or f"Pass `{name}={code}`."
    for keyword in call.keywords:
        if keyword.arg == name:
            return made(module, told, safe, [edit_over(module.span(keyword.value), code)])
    if any(keyword.arg is None for keyword in call.keywords):
        return None
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    if not arguments:
        end = module.span(call)
        return made(module, told, safe, [edit_at(end.end_line, end.end_column - 1, f"{name}={code}")])
    last = max((module.span(argument) for argument in arguments), key=lambda s: (s.end_line, s.end_column))
    alone = len(arguments) == 1 and isinstance(arguments[0], ast.GeneratorExp)
    if alone:
        return None
    line, column = _past_parentheses(module, last.end_line, last.end_column, module.span(call))
    return made(module, told, safe, [edit_at(line, column, f", {name}={code}")])


def _past_parentheses(module: Module, line: int, column: int, call: Span) -> tuple[int, int]:
    """Steps over closing parentheses of the last argument itself, up to the call's own."""
    text = module.lines[line - 1]
    depth = 0
    if line != call.end_line:
        rest = text[column - 1 :]
        while rest.startswith(")"):
            rest, column = rest[1:], column + 1
        return line, column
    for character in text[column - 1 : call.end_column - 1]:
        if character == ")":
            depth += 1
    while depth > 1 and text[column - 1 : column] == ")":
        column, depth = column + 1, depth - 1
    return line, column


def replace_call_argument(
    module: Module, place: Span, argument: int | str, code: str, *, safe: bool = False, description: str | None = None
) -> Fix | None:
    """The argument of a call, by position or keyword name, becomes `code`."""
    call = expression_at(module, place, ast.Call)
    if not isinstance(call, ast.Call):
        return None
    value: ast.expr | None = None
    if isinstance(argument, int):
        if argument < len(call.args) and not any(isinstance(a, ast.Starred) for a in call.args[: argument + 1]):
            value = call.args[argument]
    else:
        value = next((keyword.value for keyword in call.keywords if keyword.arg == argument), None)
    if value is None:
        return None
    told = description or f"Pass `{_short(code)}` instead of `{_short(module.source(value))}`."
    return made(module, told, safe, [edit_over(module.span(value), code)])


def call_decorator(module: Module, place: Span, *, safe: bool = False, description: str | None = None) -> Fix | None:
    """`@torch.no_grad` becomes `@torch.no_grad()`; also for a callable that was named and not called."""
    node = expression_at(module, place)
    if not isinstance(node, ast.Name | ast.Attribute):
        return None
    span = module.span(node)
    told = description or f"Call `{_short(module.source(node))}`."
    return made(module, told, safe, [edit_at(span.end_line, span.end_column, "()")])


def _short(code: str) -> str:
    flat = " ".join(code.split())
    return flat if len(flat) <= 60 else f"{flat[:57]}..."
