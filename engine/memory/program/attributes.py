"""Reading and writing attributes of values, within what the interpreted program may touch.

The program's own objects are host objects, so the host's introspection must stay out of reach: special names are let
through only where they are listed, modules and classes of the engine cannot be changed, and string formatting never
follows attributes on its own.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from types import GeneratorType, MethodType, ModuleType
from typing import Any

from engine.memory.program.budget import OutOfBudget
from engine.memory.program.namespaces import Namespace
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

_INTROSPECTION = ("gi_", "cr_", "ag_", "f_", "tb_", "co_")
_WIDE_FORMAT = re.compile(r"\d{5,}")


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


def render(value: Any, spec: str) -> str:
    """`format(value, spec)` with bounded widths; a value that cannot be rendered so is rendered plainly."""
    if _WIDE_FORMAT.search(spec):
        raise OutOfBudget("a format specification is too wide")
    unformatted: Any = object.__format__
    if spec and type(value).__format__ is unformatted:
        return str(value)
    return format(value, spec)


def _format_method(text: str) -> Any:
    def formatted(*args: Any, **kwargs: Any) -> str:
        return _SafeFormatter().vformat(text, args, kwargs)

    return formatted


def _format_map_method(text: str) -> Any:
    def formatted(mapping: Mapping[str, Any]) -> str:
        return _SafeFormatter().vformat(text, (), mapping)

    return formatted


def percent(text: str, values: Any) -> Any:
    """`text % values` with bounded widths."""
    if _WIDE_FORMAT.search(text):
        raise OutOfBudget("a format specification is too wide")
    return text % values


def read(value: Any, name: str) -> Any:
    """`value.name`, or AttributeError where the program may not read it."""
    if name[:2] == "__" and name[-2:] == "__":
        return _read_special(value, name)
    if name[:10] == "preflight_":
        raise AttributeError(name)
    if name in ("format", "format_map"):
        if isinstance(value, str):
            return (_format_method if name == "format" else _format_map_method)(value)
        if isinstance(value, type) and issubclass(value, str):
            return lambda text, *args, **kwargs: _SafeFormatter().vformat(text, args, kwargs)
    if isinstance(value, GeneratorType) and name.startswith(_INTROSPECTION):
        raise AttributeError(name)
    if value is type and name in ("mro",):
        raise AttributeError(name)
    found = getattr(value, name)
    if isinstance(found, ModuleType):
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
    if name == "__annotations__":
        return dict(getattr(value, "__annotations__", {}))
    if value is type and name not in ("__name__", "__new__", "__init__", "__call__", "__class__"):
        raise AttributeError(name)
    return getattr(value, name)


def read_plain(value: Any, name: str) -> Any:
    """`object.__getattribute__(value, name)`."""
    if name[:2] == "__":
        return _read_special(value, name)
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


def write(value: Any, name: str, item: Any) -> None:
    """`value.name = item`. The engine's own classes cannot be changed by a program."""
    if isinstance(value, Unknown):
        return
    if isinstance(value, type) and not is_program_class(value):
        raise AttributeError(f"{value.__name__}.{name} cannot be replaced in a shadow run")
    if name[:10] == "preflight_":
        raise AttributeError(name)
    if name == "__class__" and not (is_program_class(item) and is_program_object(value)):
        raise AttributeError(name)
    setattr(value, name, item)


def remove(value: Any, name: str) -> None:
    """`del value.name`."""
    if isinstance(value, Unknown):
        return
    if isinstance(value, type) and not is_program_class(value):
        raise AttributeError(name)
    delattr(value, name)
