"""Reading and writing attributes of values, within what the interpreted program may touch.

The program's own objects are host objects, so the host's introspection must stay out of reach: special names are let
through only where they are listed, private names of the standard library are not, modules, functions and classes of the
engine cannot be changed, and string formatting never follows attributes on its own.
"""

from __future__ import annotations

import argparse
import configparser
import functools
import inspect
import string
from collections.abc import Mapping, Sequence
from types import (
    BuiltinFunctionType,
    FunctionType,
    GeneratorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    SimpleNamespace,
    WrapperDescriptorType,
)
from typing import Any
from weakref import WeakKeyDictionary

from engine.memory.program.formatting import render
from engine.memory.program.namespaces import Namespace
from engine.memory.program.operators import BY_NAME
from engine.memory.program.unknown import Unknown

_OPERATORS = (
    "add radd iadd sub rsub isub mul rmul imul truediv rtruediv itruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul "  # noqa: E501
    "imatmul and rand iand or ror ior xor rxor lshift rshift neg pos abs invert lt le gt ge eq ne bool int float complex "  # noqa: E501
    "index round hash len length_hint iter next reversed contains getitem setitem delitem missing call enter exit str repr "  # noqa: E501
    "format get set delete set_name init new del post_init init_subclass class_getitem getattr setattr delattr getattribute "  # noqa: E501
    "class name qualname doc module annotations dict file version all path members enum_members dataclass_fields match_args slots "  # noqa: E501
    "bases mro base instancecheck subclasscheck prepare await aiter anext aenter aexit deepcopy copy signature wrapped func self "  # noqa: E501
    "getstate setstate torch_function fspath main cause context orig_class args origin parameters isabstractmethod "
    "abstractmethods total required_keys optional_keys"
)
ALLOWED_SPECIAL = frozenset(f"__{name}__" for name in _OPERATORS.split())
"""Special names that a program may read. Those that lead into the host (globals, code, subclasses ...) are missing."""

_PRIVATE_INTERFACE = frozenset(
    {
        "_asdict", "_field_defaults", "_fields", "_generate_next_value_", "_ignore_", "_make", "_member_map_",
        "_member_names_", "_missing_", "_name_", "_order_", "_replace", "_value2member_map_", "_value_",
    }
)  # fmt: skip
"""Names of the standard library that are documented although they start with an underscore."""
_RECORDS: tuple[type, ...] = (SimpleNamespace, argparse.Namespace)
"""Standard classes whose instances hold nothing but what the program stored."""
_OUT_OF_REACH = frozenset({configparser.RawConfigParser.read, inspect.Signature.from_callable.__func__})  # type: ignore[attr-defined]
"""Public functions of the standard library that open files or evaluate text."""
_PICKLING = frozenset({"__reduce__", "__reduce_ex__", "__del__"})
"""Methods through which copying would set attributes unseen, or which run when nobody looks."""
_GROWABLE = (int, str, bytes, list, tuple)
_GROWING: Mapping[str, str] = {
    "__mul__": "mul", "__rmul__": "mul", "__imul__": "imul", "__pow__": "pow", "__lshift__": "lshift", "__mod__": "mod",
    "__add__": "add", "__iadd__": "iadd", "__format__": "format",
}  # fmt: skip
"""Special methods of plain values that could build something large."""
_FIXED: tuple[type, ...] = (
    FunctionType, BuiltinFunctionType, MethodType, ModuleType, MethodWrapperType, WrapperDescriptorType, property,
)  # fmt: skip
_INTROSPECTION = ("gi_", "cr_", "ag_", "f_", "tb_", "co_")


def is_program_class(value: object) -> bool:
    """Whether a class that the interpreted program defined."""
    return isinstance(value, type) and value.__dict__.get("__preflight_program__", False) is True


def is_program_object(value: object) -> bool:
    """Whether an instance of a class that the interpreted program defined, or a plain record."""
    return any(is_program_class(base) for base in type(value).__mro__) or bool(
        getattr(type(value), "open_record", False)
    )


class _SafeFormatter(string.Formatter):
    """`str.format` whose fields go through `read`, with bounded widths."""

    def get_field(self, field_name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        first, rest = string._string.formatter_field_name_split(field_name)  # type: ignore[attr-defined]
        value = self.get_value(first, args, kwargs)
        for is_attribute, key in rest:
            value = read(value, key) if is_attribute else value[key]
        return value, first

    def format_field(self, value: Any, format_spec: str) -> str:
        return render(value, format_spec)


def _format_method(text: str) -> Any:
    def formatted(*args: Any, **kwargs: Any) -> str:
        return _SafeFormatter().vformat(text, args, kwargs)

    return formatted


def _format_map_method(text: str) -> Any:
    def formatted(mapping: Mapping[str, Any]) -> str:
        return _SafeFormatter().vformat(text, (), mapping)

    return formatted


_hidden: WeakKeyDictionary[type, dict[str, bool]] = WeakKeyDictionary()
"""Answers of `_is_hidden`; a class of a program is not kept alive by them."""


def _is_hidden(kind: type, name: str) -> bool:
    """Whether a private name of this class is the standard library's or nobody's, and so not the program's to read."""
    answers = _hidden.setdefault(kind, {})
    if name not in answers:
        answers[name] = _looks_hidden(kind, name)
    return answers[name]


def _looks_hidden(kind: type, name: str) -> bool:
    for base in kind.__mro__:
        if name in base.__dict__:
            return not (is_program_class(base) or base.__module__.startswith("engine."))
    return not (issubclass(kind, _RECORDS) or kind.__module__.startswith("engine.")) and not is_program_class(kind)


def _check_private(value: Any, name: str) -> None:
    """Raises AttributeError for a private name that is not the program's to read."""
    if name in _PRIVATE_INTERFACE:
        return
    kind = type(value)
    if kind is super:
        kind = super.__self_class__.__get__(value)  # type: ignore[attr-defined]
    elif isinstance(value, Namespace):
        if name.startswith("_preflight_"):
            raise AttributeError(name)
        return
    elif isinstance(value, type) and any(name in base.__dict__ for base in value.__mro__):
        kind = value
    if _is_hidden(kind, name):
        raise AttributeError(name)


def plain_name(name: Any) -> str:
    """A name as a plain string: what a program's subclass of `str` says of itself does not count."""
    if type(name) is str:
        return name
    if not isinstance(name, str):
        raise TypeError("attribute name must be string")
    return str.__str__(name)


def read(value: Any, name: str) -> Any:
    """`value.name`, or AttributeError where the program may not read it."""
    if type(name) is not str:
        name = plain_name(name)
    if name[:1] == "_":
        if name[:2] == "__" and name[-2:] == "__":
            return _read_special(value, name)
        _check_private(value, name)
    elif name[:10] == "preflight_":
        raise AttributeError(name)
    elif name in ("format", "format_map"):
        if isinstance(value, str):
            return (_format_method if name == "format" else _format_map_method)(value)
        if isinstance(value, type) and issubclass(value, str):
            return lambda text, *args, **kwargs: _SafeFormatter().vformat(text, args, kwargs)
    elif (isinstance(value, GeneratorType) and name.startswith(_INTROSPECTION)) or (value is type and name == "mro"):
        raise AttributeError(name)
    elif name == "obj" and isinstance(value, AttributeError):
        # What lacked the attribute may be an object of the engine.
        raise AttributeError(name)
    found = getattr(value, name)
    kind = type(found)
    if kind is MethodType or kind is FunctionType:
        function = found.__func__ if kind is MethodType else found
        if type(function) is FunctionType and function in _OUT_OF_REACH:
            raise AttributeError(name)
    elif isinstance(found, ModuleType):
        raise AttributeError(name)
    return found


def _read_special(value: Any, name: str) -> Any:
    if name not in ALLOWED_SPECIAL:
        if is_program_object(value) and name in getattr(value, "__dict__", {}):
            return value.__dict__[name]
        raise AttributeError(name)
    if isinstance(value, Namespace):
        return value.special(name)
    if name == "__dict__":
        return variables(value)
    if name in ("__self__", "__func__") and not (
        isinstance(value, MethodType) and getattr(value.__func__, "is_program_function", False)
    ):
        raise AttributeError(name)
    if name == "__getattribute__":
        return (
            (lambda target, key: read_plain(target, key))
            if isinstance(value, type)
            else (lambda key: read_plain(value, key))
        )
    if name in ("__setattr__", "__delattr__"):
        return _checked_setter(value, name)
    if name == "__annotations__":
        return dict(getattr(value, "__annotations__", {}))
    if name in ("__mro__", "__bases__") and isinstance(value, type):
        # Where the engine's class narrows one of the standard library, the wide one stays out of reach.
        return tuple(base for base in getattr(value, name) if base is object or not _is_narrowed(value, base))
    if name == "__base__" and isinstance(value, type):
        return object if _is_narrowed(value, value.__base__) else value.__base__
    if name in _GROWING and isinstance(value, _GROWABLE) and not is_program_object(value):
        return functools.partial(_grow, value, _GROWING[name])
    if value is type and name not in ("__name__", "__new__", "__init__", "__call__", "__class__"):
        raise AttributeError(name)
    return getattr(value, name)


def _grow(value: Any, operator: str, *others: Any) -> Any:
    """`value.__mul__(...)` and the like with the bounds that the operators have."""
    if operator == "format":
        return render(value, *others)
    return BY_NAME[operator](value, *others)


def _is_narrowed(kind: type, base: type | None) -> bool:
    """Whether `base` lies behind a class of the engine in the order of `kind`'s bases."""
    if base is None or base.__module__.startswith("engine.") or is_program_class(base):
        return False
    return any(other.__module__.startswith("engine.") and issubclass(other, base) for other in kind.__mro__)


def _checked_setter(value: Any, name: str) -> Any:
    """`value.__setattr__` or `__delattr__` that changes only what `write` and `remove` would."""
    found = getattr(value, name)
    bound = not isinstance(value, type)
    target = super.__self__.__get__(value) if type(value) is super else value  # type: ignore[attr-defined]

    def change(*args: Any) -> None:
        changed, key, *item = (target, *args) if bound else args
        key = plain_name(key)
        check_writable(changed, key, *item)
        found(*([key, *item] if bound else [changed, key, *item]))

    return change


def read_plain(value: Any, name: str) -> Any:
    """`object.__getattribute__(value, name)`."""
    name = plain_name(name)
    if name[:2] == "__" and name[-2:] == "__":
        return _read_special(value, name)
    if name[:10] == "preflight_":
        raise AttributeError(name)
    if name[:1] == "_":
        _check_private(value, name)
    return object.__getattribute__(value, name)


def variables(value: Any) -> Any:
    """`vars(value)`: the attributes of a program's object, class or module."""
    if isinstance(value, Namespace):
        return value.special("__dict__")
    if is_program_class(value):
        return {k: v for k, v in value.__dict__.items() if k in ALLOWED_SPECIAL or not k.startswith("__")}
    if isinstance(value, (type, ModuleType)) or not hasattr(value, "__dict__"):
        raise TypeError("vars() argument must have __dict__ attribute")
    own: dict[str, Any] = value.__dict__
    if any(name.startswith("preflight_") for name in own):
        return {name: item for name, item in own.items() if not name.startswith("preflight_")}
    return own


def _is_namedtuple_default(value: Any, name: str, item: Any) -> bool:
    """`Point.__new__.__defaults__ = (None,) * 2`: the function belongs to the one class."""
    if name != "__defaults__" or type(item) is not tuple or type(value) is not FunctionType:
        return False
    return value.__name__ == "__new__" and value.__module__.startswith("namedtuple_")


def check_writable(value: Any, name: str, item: Any = None) -> None:
    """Raises AttributeError where the program may not set or delete an attribute: the engine's own things stay."""
    if isinstance(value, type) and not is_program_class(value):
        raise AttributeError(f"{value.__name__}.{name} cannot be replaced in a shadow run")
    if isinstance(value, _FIXED) and not _is_namedtuple_default(value, name, item):
        raise AttributeError(f"{name} cannot be set")
    if name[:10] == "preflight_" or name in ("__preflight_program__", "__dataclass_fields__") or name in _PICKLING:
        raise AttributeError(name)
    if name == "__class__" and not (is_program_class(item) and is_program_object(value)):
        raise AttributeError(name)
    if name[:1] == "_" and not (name[:2] == "__" and name[-2:] == "__"):
        _check_private_write(value, name)


def _check_private_write(value: Any, name: str) -> None:
    if isinstance(value, Namespace):
        if name.startswith("_preflight_"):
            raise AttributeError(name)
    elif not is_program_object(value) and not isinstance(value, type) and _is_hidden(type(value), name):
        raise AttributeError(name)


def write(value: Any, name: str, item: Any) -> None:
    """`value.name = item`. The engine's own classes cannot be changed by a program."""
    if isinstance(value, Unknown):
        return
    name = plain_name(name)
    check_writable(value, name, item)
    setattr(value, name, item)


def remove(value: Any, name: str) -> None:
    """`del value.name`."""
    if isinstance(value, Unknown):
        return
    name = plain_name(name)
    check_writable(value, name)
    delattr(value, name)
