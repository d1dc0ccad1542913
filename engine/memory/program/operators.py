"""Operators of the language, with bounds on what one operation may build."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from engine.memory.program.budget import MAX_ELEMENTS, OutOfBudget, len_within
from engine.memory.program.formatting import percent
from engine.memory.program.unknown import Unknown

_SEQUENCES = (list, tuple, str, bytes)


def _bounded_multiply(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        if left.bit_length() + right.bit_length() > 100_000:
            raise OutOfBudget("an integer grows beyond what a shadow run grants")
    elif isinstance(left, _SEQUENCES) and isinstance(right, int):
        if len(left) * right > MAX_ELEMENTS:
            raise OutOfBudget("a repeated sequence is longer than a shadow run grants")
    elif isinstance(right, _SEQUENCES) and isinstance(left, int) and len(right) * left > MAX_ELEMENTS:
        raise OutOfBudget("a repeated sequence is longer than a shadow run grants")
    return left * right


def _bounded_add(left: Any, right: Any) -> Any:
    if isinstance(left, _SEQUENCES) and isinstance(right, _SEQUENCES) and len(left) + len(right) > MAX_ELEMENTS:
        raise OutOfBudget("a concatenation is longer than a shadow run grants")
    return left + right


def _bounded_iadd(left: Any, right: Any) -> Any:
    if isinstance(left, list) and hasattr(right, "__len__") and len(left) + len(right) > MAX_ELEMENTS:
        raise OutOfBudget("a list grows beyond what a shadow run grants")
    if isinstance(left, _SEQUENCES) and not isinstance(left, list):
        return _bounded_add(left, right)
    left += right
    return left


def _bounded_imul(left: Any, right: Any) -> Any:
    if isinstance(left, (int, *_SEQUENCES)):
        return _bounded_multiply(left, right)
    left *= right
    return left


def power(left: Any, right: Any, modulus: Any = None) -> Any:
    """`pow` with a bound on the size of an integer result."""
    whole = modulus is None and isinstance(left, int) and isinstance(right, int)
    if whole and right > 0 and left.bit_length() * right > 100_000:
        raise OutOfBudget("an integer grows beyond what a shadow run grants")
    return pow(left, right) if modulus is None else pow(left, right, modulus)


def _shift(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int) and right > 100_000:
        raise OutOfBudget("an integer grows beyond what a shadow run grants")
    return left << right


def _modulo(left: Any, right: Any) -> Any:
    return percent(left, right) if isinstance(left, str) else left % right


BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: _bounded_add,
    ast.Sub: operator.sub,
    ast.Mult: _bounded_multiply,
    ast.MatMult: operator.matmul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: _modulo,
    ast.Pow: power,
    ast.LShift: _shift,
    ast.RShift: operator.rshift,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.BitAnd: operator.and_,
}

IN_PLACE: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: _bounded_iadd,
    ast.Sub: operator.isub,
    ast.Mult: _bounded_imul,
    ast.MatMult: operator.imatmul,
    ast.Div: operator.itruediv,
    ast.FloorDiv: operator.ifloordiv,
    ast.Mod: _modulo,
    ast.Pow: power,
    ast.LShift: _shift,
    ast.RShift: operator.irshift,
    ast.BitOr: operator.ior,
    ast.BitXor: operator.ixor,
    ast.BitAnd: operator.iand,
}

UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}


def _is_in(item: Any, container: Any) -> bool:
    if isinstance(container, range) and not isinstance(item, int) and not len_within(container, MAX_ELEMENTS):
        raise OutOfBudget("a range is longer than a shadow run searches")
    return item in container


def _contains(item: Any, container: Any) -> Any:
    return container if isinstance(container, Unknown) else _is_in(item, container)


def _lacks(item: Any, container: Any) -> Any:
    return container if isinstance(container, Unknown) else not _is_in(item, container)


COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: _contains,
    ast.NotIn: _lacks,
}


BY_NAME: dict[str, Callable[..., Any]] = {
    "add": _bounded_add,
    "concat": _bounded_add,
    "iadd": _bounded_iadd,
    "imul": _bounded_imul,
    "lshift": _shift,
    "mod": _modulo,
    "mul": _bounded_multiply,
    "pow": power,
}
"""Functions of `operator` that could build something large."""
