"""One call: the program's functions directly, everything else through checks of size and of unknown arguments."""

from __future__ import annotations

import re
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType
from typing import TYPE_CHECKING, Any

from engine.memory.program.budget import MAX_ELEMENTS, OutOfBudget, len_within
from engine.memory.program.functions import Function
from engine.memory.program.regular_expressions import check_search
from engine.memory.program.unknown import find_unknown

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

_BUILT_IN: frozenset[Any] = frozenset({BuiltinFunctionType, MethodDescriptorType, type(re.compile("").match)})
_PADDING = frozenset({"ljust", "rjust", "center", "zfill", "expandtabs"})
_CONTAINERS: frozenset[Any] = frozenset({list, tuple, set, frozenset, dict})
_CONSUMERS = frozenset(
    {
        "difference", "difference_update", "extend", "extendleft", "fmean", "fromkeys", "fsum", "geometric_mean",
        "harmonic_mean", "intersection", "intersection_update", "isdisjoint", "issubset", "issuperset", "join", "mean",
        "median", "mode", "multimode", "nlargest", "nsmallest", "prod", "pstdev", "pvariance", "reduce", "stdev",
        "subtract", "symmetric_difference", "symmetric_difference_update", "union", "update", "variance", "writelines",
    }
)  # fmt: skip
"""Functions of the standard library that read all of an argument without a step of the program between."""
_SIZED = (list, tuple, dict, set, frozenset, str, bytes, int, float, bool, type(None))


def call(interpreter: Interpreter, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`function(*args, **kwargs)`; `args` may be emptied."""
    kind = type(function)
    if kind is Function:
        return function.invoke(args, kwargs)
    if kind is MethodType:
        inner = function.__func__
        if type(inner) is Function:
            args.insert(0, function.__self__)
            return inner.invoke(args, kwargs)
    elif kind in _BUILT_IN:
        _check_builtin(interpreter, function, args)
    elif kind is FunctionType and function.__module__ in ("statistics", "heapq", "functools"):
        if function.__name__ in _CONSUMERS:
            _meter(interpreter, args)
    elif kind is FunctionType and function.__module__ == "re":
        check_search(args[0] if args else kwargs.get("pattern"), [*args[1:], *kwargs.values()])
    elif kind is type and function in _CONTAINERS:
        if args:
            args[0] = args[0] if hasattr(args[0], "keys") else interpreter.budget.bounded(args[0])
    elif function is type:
        return make_type(interpreter, args, kwargs)
    elif function is super and not args:
        return interpreter.zero_argument_super()
    elif isinstance(function, type):
        if function.__module__ in ("collections", "fractions", "decimal"):
            _check_made(interpreter, function, args)
        interpreter.making(function)
    try:
        return function(*args, **kwargs)
    except Exception as problem:
        unknown = find_unknown(args) or find_unknown(kwargs)
        if unknown is None or isinstance(problem, (StopIteration, KeyError)):
            raise
        return unknown


def make_type(interpreter: Interpreter, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """`type(x)` or `type(name, bases, namespace)`."""
    if len(args) == 1:
        return type(args[0])
    name, bases, namespace = args
    return interpreter.make_class(str(name), tuple(bases), dict(namespace), kwargs)


def _check_builtin(interpreter: Interpreter, function: Any, args: list[Any]) -> None:
    owner = getattr(function, "__self__", None)
    name = function.__name__
    if isinstance(owner, (str, bytes)):
        if name in _PADDING and args and isinstance(args[0], int) and args[0] > 100_000:
            raise OutOfBudget("a string is padded beyond what a shadow run grants")
        if name == "replace" and len(args) > 1 and (len(owner) + 1) * max(1, len(args[1])) > 4 * MAX_ELEMENTS:
            raise OutOfBudget("a string grows beyond what a shadow run grants")
    grown = len(owner) if isinstance(owner, list) and name == "extend" else 0
    if grown and args and isinstance(args[0], (list, tuple)) and grown + len(args[0]) > MAX_ELEMENTS:
        raise OutOfBudget("a list grows beyond what a shadow run grants")
    if isinstance(owner, re.Pattern):
        check_search(owner, args)
    elif isinstance(owner, range) and not len_within(owner, MAX_ELEMENTS) and name in ("count", "index"):
        raise OutOfBudget("a range is longer than a shadow run searches")
    elif owner is not None and name in _CONSUMERS:
        _meter(interpreter, args)


def _meter(interpreter: Interpreter, args: list[Any]) -> None:
    for index, value in enumerate(args):
        if isinstance(value, (*_SIZED, type)) or hasattr(value, "keys"):
            continue
        if hasattr(value, "__iter__"):
            args[index] = interpreter.budget.bounded(value)


def _check_made(interpreter: Interpreter, kind: type, args: list[Any]) -> None:
    """Before an instance of a standard class is made of `args`."""
    if kind.__module__ in ("fractions", "decimal"):
        exponents = [re.search(r"[eE]\+?([0-9_]{5,})", arg) for arg in args if isinstance(arg, str)]
        if any(exponents):
            raise OutOfBudget("a number grows beyond what a shadow run grants")
    elif kind.__module__ == "collections":
        _meter(interpreter, args)
