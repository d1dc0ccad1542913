"""The builtin functions that a program sees: pure ones, bounded where one call could run away."""

from __future__ import annotations

import builtins as host
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from engine.memory.program.attributes import plain_name, read, remove, variables, write
from engine.memory.program.budget import MAX_ELEMENTS, OutOfBudget
from engine.memory.program.evaluation import evaluator
from engine.memory.program.files import open_file
from engine.memory.program.formatting import render
from engine.memory.program.namespaces import Namespace
from engine.memory.program.operators import power
from engine.memory.program.unknown import Unknown

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

_PLAIN = [
    "abs",
    "all",
    "any",
    "bool",
    "bytes",
    "callable",
    "chr",
    "classmethod",
    "complex",
    "dict",
    "divmod",
    "float",
    "frozenset",
    "hash",
    "id",
    "int",
    "issubclass",
    "len",
    "list",
    "max",
    "min",
    "next",
    "object",
    "ord",
    "property",
    "range",
    "repr",
    "round",
    "set",
    "slice",
    "sorted",
    "staticmethod",
    "str",
    "sum",
    "super",
    "tuple",
    "type",
    "True",
    "False",
    "None",
    "Ellipsis",
    "NotImplemented",
    "ascii",
    "bin",
    "hex",
    "oct",
]


def _exceptions() -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(host).items()
        if isinstance(value, type) and issubclass(value, BaseException) and not name.startswith("_")
    }


def make_builtins(interpreter: Interpreter) -> dict[str, Any]:
    """Builtins for one run."""
    budget = interpreter.budget
    table: dict[str, Any] = {name: getattr(host, name) for name in _PLAIN}
    table.update(_exceptions())

    def bounded_result(function: Any) -> Any:
        def apply(items: Any = (), *args: Any, **kwargs: Any) -> Any:
            if isinstance(items, Unknown):
                return items
            if hasattr(items, "__iter__") or hasattr(items, "__getitem__"):
                items = budget.bounded(items) if not hasattr(items, "keys") else items
            return function(items, *args, **kwargs)

        apply.__name__ = function.__name__
        return apply

    for name in ("all", "any", "sorted", "sum"):
        table[name] = bounded_result(table[name])

    def pick(function: Any) -> Any:
        def apply(*args: Any, **kwargs: Any) -> Any:
            if any(isinstance(arg, Unknown) for arg in args):
                return next(arg for arg in args if isinstance(arg, Unknown))
            return function(budget.bounded(args[0]), **kwargs) if len(args) == 1 else function(*args, **kwargs)

        return apply

    table["max"], table["min"] = pick(max), pick(min)

    def length(value: Any) -> Any:
        return value if isinstance(value, Unknown) else len(value)

    def get_attribute(value: Any, name: str, *default: Any) -> Any:
        try:
            return read(value, name)
        except AttributeError:
            if default:
                return default[0]
            raise

    def has_attribute(value: Any, name: str) -> bool:
        try:
            found = read(value, name)
        except AttributeError:
            return False
        return not (isinstance(found, Unknown) and isinstance(value, Namespace))

    def enumerated(items: Any, start: int = 0) -> Iterator[Any]:
        iterator = iter(items)
        del items
        index = start
        while True:
            budget.step()
            try:
                yield index, next(iterator)
            except StopIteration:
                return
            index += 1

    def zipped(*items: Any, strict: bool = False) -> Iterator[Any]:
        iterators = [iter(item) for item in items]
        del items
        while iterators:
            budget.step()
            try:
                yield tuple([next(iterator) for iterator in iterators])
            except StopIteration:
                return

    def mapped(function: Any, *items: Any) -> Iterator[Any]:
        iterators = [iter(item) for item in items]
        del items
        while True:
            budget.step()
            try:
                values = [next(iterator) for iterator in iterators]
            except StopIteration:
                return
            yield interpreter.call(function, values, {})

    def filtered(function: Any, items: Any) -> Iterator[Any]:
        for item in items:
            budget.step()
            if item if function is None else interpreter.call(function, [item], {}):
                yield item

    def instance_of(value: Any, kinds: Any) -> bool:
        options = kinds if isinstance(kinds, tuple) else (kinds,)
        for kind in options:
            if isinstance(kind, tuple):
                if instance_of(value, kind):
                    return True
            elif isinstance(kind, Unknown) or kind is None:
                continue
            elif isinstance(value, kind):
                return True
        return False

    def make_iterator(value: Any, *sentinel: Any) -> Any:
        if sentinel:
            raise TypeError("iter() with a sentinel is not interpreted")
        return iter(value)

    def reverse(items: Any) -> Any:
        return items if isinstance(items, Unknown) else reversed(items)

    def print_nothing(*values: Any, **options: Any) -> None:
        return None

    def names_of(*values: Any) -> list[str]:
        if not values:
            return sorted(interpreter.stack[-1][1].locals)
        value = values[0]
        if isinstance(value, Namespace):
            return sorted(value.special("__dict__"))
        return [name for name in dir(value) if not name.startswith("__")]

    def own_variables(*values: Any) -> Any:
        return variables(values[0]) if values else interpreter.stack[-1][1].locals

    def set_attribute(value: Any, name: str, item: Any) -> None:
        write(value, name, item)

    def global_variables() -> Any:
        return interpreter.stack[-1][1].globals

    def local_variables() -> Any:
        return dict(interpreter.stack[-1][1].locals)

    def refuse(name: str) -> Any:
        def refused(*args: Any, **kwargs: Any) -> Unknown:
            interpreter.note(f"{':'.join(map(str, interpreter.place()))}: {name}() is not run")
            return Unknown(f"{name}() is not run")

        return refused

    def import_by_name(name: str, *args: Any, **kwargs: Any) -> Any:
        return interpreter.import_module(plain_name(name), interpreter.place()[0], False, whole=False)

    def make_bytes(value: Any = b"", *args: Any) -> bytes:
        if isinstance(value, int) and value > MAX_ELEMENTS:
            raise OutOfBudget("a bytes object is longer than a shadow run grants")
        return bytes(value, *args)

    table.update(
        {
            "len": length,
            "getattr": get_attribute,
            "hasattr": has_attribute,
            "setattr": set_attribute,
            "delattr": remove,
            "enumerate": enumerated,
            "zip": zipped,
            "map": mapped,
            "filter": filtered,
            "isinstance": instance_of,
            "iter": make_iterator,
            "reversed": reverse,
            "print": print_nothing,
            "dir": names_of,
            "vars": own_variables,
            "globals": global_variables,
            "locals": local_variables,
            "pow": power,
            "format": lambda value, spec="": render(value, spec),
            "open": lambda path, mode="r", *args, **kwargs: open_file(interpreter, path, mode),
            "input": lambda *args: "",
            "bytes": make_bytes,
            "bytearray": refuse("bytearray"),
            "memoryview": refuse("memoryview"),
            "eval": evaluator(interpreter),
            "exec": refuse("exec"),
            "compile": refuse("compile"),
            "__import__": import_by_name,
            "breakpoint": print_nothing,
            "exit": print_nothing,
            "quit": print_nothing,
            "__debug__": True,
        }
    )
    return table
