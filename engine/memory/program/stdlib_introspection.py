"""Models of standard modules that work on functions and classes; the host's would write or evaluate source text."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine.memory.program.attributes import is_program_class
from engine.memory.program.functions import Function
from engine.memory.program.namespaces import Namespace
from engine.memory.program.unknown import Unknown

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


def make_functools(interpreter: Interpreter) -> dict[str, Any]:
    """`functools`."""

    def wraps(wrapped: Any, *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        def decorate(wrapper: Any) -> Any:
            for name in ("__name__", "__qualname__", "__doc__"):
                with contextlib.suppress(AttributeError, TypeError):
                    setattr(wrapper, name, getattr(wrapped, name))
            if isinstance(wrapper, Function):
                wrapper.__wrapped__ = wrapped  # type: ignore[attr-defined]
            return wrapper

        return decorate

    def lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:
        if callable(maxsize):
            return Cached(maxsize)
        return Cached

    class Cached:
        """A memoised function; calls whose arguments cannot be hashed are simply made."""

        def __init__(self, function: Any) -> None:
            self.function = function
            self.results: dict[Any, Any] = {}

        def __get__(self, instance: Any, owner: Any = None) -> Any:
            return self if instance is None else functools.partial(self, instance)

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            try:
                key = (args, tuple(sorted(kwargs.items())))
                if key in self.results:
                    return self.results[key]
            except TypeError:
                return interpreter.call(self.function, list(args), kwargs)
            self.results[key] = interpreter.call(self.function, list(args), kwargs)
            return self.results[key]

        def cache_clear(self) -> None:
            self.results.clear()

    class Partial:
        """`functools.partial`, with unknown functions passed through."""

        func: Any
        args: tuple[Any, ...]
        keywords: dict[str, Any]

        def __init__(self, function: Any, *args: Any, **kwargs: Any) -> None:
            if isinstance(function, Partial):
                args, kwargs, function = (*function.args, *args), {**function.keywords, **kwargs}, function.func
            self.func, self.args, self.keywords = function, args, kwargs

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            return interpreter.call(self.func, [*self.args, *args], {**self.keywords, **kwargs})

    def singledispatch(function: Any) -> Any:
        """By the class of the first argument. The host's reads annotations by evaluating them."""
        table: dict[type, Any] = {}

        def dispatch(kind: type) -> Any:
            return next((table[base] for base in kind.__mro__ if base in table), function)

        def register(kind: Any, implementation: Any = None) -> Any:
            if implementation is None and isinstance(kind, type):
                return lambda found: register(kind, found)
            if implementation is None:
                raise TypeError("register() takes its class by annotation, which is not interpreted")
            table[kind] = implementation
            return implementation

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return interpreter.call(dispatch(type(args[0])), list(args), kwargs)

        wrapper.register, wrapper.dispatch = register, dispatch  # type: ignore[attr-defined]
        return wrapper

    return {
        "singledispatch": singledispatch,
        "wraps": wraps,
        "lru_cache": lru_cache,
        "cache": Cached,
        "partial": Partial,
        "update_wrapper": lambda w, *a, **k: w,
    }


_SPECIAL_FIELDS: dict[str, Any] = {
    "ClassVar": typing.ClassVar,
    "KW_ONLY": dataclasses.KW_ONLY,
    "InitVar": dataclasses.InitVar,
}
"""Annotations that make something other than a field of a class attribute, where they are text."""


def make_dataclasses(interpreter: Interpreter) -> dict[str, Any]:
    """`dataclasses`."""

    def dataclass(target: Any = None, **options: Any) -> Any:
        def decorate(kind: Any) -> Any:
            if not isinstance(kind, type):
                return kind
            check_field_names(kind)
            name_annotations(kind)
            return dataclasses.dataclass(kind, **options)

        return decorate if target is None else decorate(target)

    def name_annotations(kind: type) -> None:
        # The host would look text up in the module that it takes the class to be from.
        own = kind.__dict__.get("__annotations__", {})  # noqa: RUF063
        for name, text in own.items():
            if isinstance(text, str):
                special = next((value for word, value in _SPECIAL_FIELDS.items() if word in text), typing.Any)
                own[name] = special

    def check_field_names(kind: type) -> None:
        # The host writes source text with these names in it.
        if is_program_class(type(kind)):
            raise TypeError("a dataclass whose metaclass the program defines is not interpreted")
        names: list[Any] = list(kind.__dict__.get("__annotations__", {}))  # noqa: RUF063
        for base in kind.__mro__[1:]:
            fields = base.__dict__.get("__dataclass_fields__", {})
            names += [key for key in fields if fields[key].name != key] + [field.name for field in fields.values()]
        if not all(type(name) is str and name.isidentifier() for name in names):
            raise TypeError("fields must be named by identifiers")

    return {"dataclass": dataclass}


def make_typing(interpreter: Interpreter) -> dict[str, Any]:
    """`typing`."""

    def get_type_hints(target: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        hints: dict[str, Any] = {}
        for base in reversed(getattr(target, "__mro__", (target,))):
            hints.update(vars(base).get("__annotations__", {}) if hasattr(base, "__dict__") else {})
        return hints

    return {
        "get_type_hints": get_type_hints,
        "TYPE_CHECKING": False,
        "overload": lambda function: function,
        "Any": typing.Any,
    }


def make_inspect(interpreter: Interpreter) -> dict[str, Any]:
    """`inspect`."""
    import inspect

    def signature(function: Any, *args: Any, **kwargs: Any) -> Any:
        target = getattr(function, "__func__", function)
        if isinstance(target, type):
            target = target.__init__  # type: ignore[misc]
        if not isinstance(target, Function):
            return (
                inspect.signature(function)
                if callable(function)
                else Unknown("signature of a value that is not callable")
            )
        code = target.preflight_code
        kinds = inspect.Parameter
        parameters = []
        names = code.positional[1:] if target is not function else code.positional
        for name in names:
            index = code.positional.index(name) - (len(code.positional) - len(target.preflight_defaults))
            default = target.preflight_defaults[index] if index >= 0 else kinds.empty
            parameters.append(kinds(name, kinds.POSITIONAL_OR_KEYWORD, default=default))
        if code.variadic:
            parameters.append(kinds(code.variadic, kinds.VAR_POSITIONAL))
        for name in code.keyword_only:
            parameters.append(
                kinds(name, kinds.KEYWORD_ONLY, default=target.preflight_keyword_defaults.get(name, kinds.empty))
            )
        if code.keywords:
            parameters.append(kinds(code.keywords, kinds.VAR_KEYWORD))
        return inspect.Signature(parameters)

    def is_function(value: Any) -> bool:
        return isinstance(value, Function)

    def get_members(value: Any, predicate: Any = None) -> list[tuple[str, Any]]:
        table = (
            value.special("__dict__")
            if isinstance(value, Namespace)
            else {name: getattr(value, name) for name in dir(value)}
        )
        pairs = sorted((name, item) for name, item in table.items() if not name.startswith("__"))
        return [pair for pair in pairs if predicate is None or interpreter.call(predicate, [pair[1]], {})]

    return {
        "signature": signature,
        "isfunction": is_function,
        "getmembers": get_members,
        "ismethod": lambda v: hasattr(v, "__func__"),
    }
