"""Modules of the standard library: pure ones by a list of names, the others as small models."""

from __future__ import annotations

import abc
import base64
import bisect
import collections
import collections.abc
import colorsys
import contextlib
import copy
import dataclasses
import datetime
import decimal
import difflib
import enum
import fnmatch
import fractions
import functools
import hashlib
import heapq
import inspect
import itertools
import keyword
import math
import numbers
import operator
import pprint
import re
import statistics
import string
import struct
import sys
import textwrap
import types
import typing
import uuid
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine.memory.program.namespaces import Namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

_WHOLE: dict[str, Any] = {
    "base64": base64,
    "bisect": bisect,
    "collections.abc": collections.abc,
    "colorsys": colorsys,
    "decimal": decimal,
    "fractions": fractions,
    "hashlib": hashlib,
    "heapq": heapq,
    "keyword": keyword,
    "numbers": numbers,
    "statistics": statistics,
    "textwrap": textwrap,
    "difflib": difflib,
    "fnmatch": fnmatch,
}
"""Modules whose public names are pure functions and classes."""
_UNBOUNDED = frozenset(
    {
        "pbkdf2_hmac", "scrypt", "file_digest", "getcontext", "setcontext", "localcontext", "Context", "DefaultContext",
        "BasicContext", "ExtendedContext",
    }
)  # fmt: skip
"""Names of them that read files, change state of the host, or run as long as an argument says."""

_PARTS: dict[str, tuple[Any, str]] = {
    "abc": (abc, "ABC ABCMeta abstractmethod abstractproperty abstractclassmethod abstractstaticmethod"),
    "collections": (
        collections,
        "OrderedDict defaultdict deque Counter namedtuple ChainMap UserDict UserList UserString",
    ),
    "copy": (copy, "copy deepcopy Error"),
    "datetime": (datetime, "timedelta date time timezone"),
    "enum": (enum, "Enum IntEnum Flag IntFlag StrEnum auto unique EnumMeta EnumType member nonmember"),
    "functools": (functools, "partialmethod reduce cmp_to_key total_ordering cached_property"),
    "itertools": (
        itertools,
        "chain combinations combinations_with_replacement permutations product accumulate groupby starmap takewhile "
        "dropwhile zip_longest compress filterfalse tee islice pairwise batched",
    ),
    "math": (
        math,
        "acos acosh asin asinh atan atan2 atanh ceil copysign cos cosh degrees dist e erf erfc exp expm1 fabs floor fmod "  # noqa: E501
        "frexp fsum gamma gcd hypot inf isclose isfinite isinf isnan isqrt lcm ldexp lgamma log log10 log1p log2 modf nan pi "  # noqa: E501
        "pow prod radians remainder sin sinh sqrt tan tanh tau trunc cbrt exp2",
    ),
    "operator": (
        operator,
        "add sub mul truediv floordiv mod neg pos abs eq ne lt le gt ge not_ truth is_ is_not and_ or_ xor invert contains "  # noqa: E501
        "getitem itemgetter concat index matmul countOf setitem delitem iadd imul isub",
    ),
    "pprint": (pprint, "pformat"),
    "re": (
        re,
        "compile match fullmatch search sub subn split findall finditer escape IGNORECASE I MULTILINE M DOTALL S VERBOSE X "  # noqa: E501
        "ASCII A Pattern Match error",
    ),
    "string": (
        string,
        "ascii_letters ascii_lowercase ascii_uppercase digits hexdigits octdigits punctuation printable whitespace",
    ),
    "struct": (struct, "calcsize"),
    "types": (types, "SimpleNamespace MappingProxyType GeneratorType NoneType MethodType"),
    "typing": (
        typing,
        "Any AnyStr Callable ClassVar Final Generic Literal Optional Protocol Tuple Type TypeVar Union AbstractSet "
        "ByteString Container ContextManager Hashable ItemsView Iterable Iterator KeysView Mapping MappingView "
        "MutableMapping MutableSequence MutableSet Sequence Sized ValuesView Awaitable AsyncIterator AsyncIterable "
        "Coroutine Collection AsyncGenerator AsyncContextManager Reversible SupportsAbs SupportsBytes SupportsFloat "
        "SupportsIndex SupportsInt SupportsRound ChainMap Counter Deque Dict DefaultDict List OrderedDict Set FrozenSet "  # noqa: E501
        "NamedTuple TypedDict Generator BinaryIO IO Match Pattern TextIO Annotated assert_never cast final get_args "
        "get_origin is_typeddict LiteralString Never NewType no_type_check NoReturn NotRequired overload ParamSpec "
        "ParamSpecArgs ParamSpecKwargs Required runtime_checkable Self Text TYPE_CHECKING TypeAlias TypeGuard Concatenate "  # noqa: E501
        "Unpack TypeVarTuple dataclass_transform override",
    ),
    "uuid": (uuid, "UUID"),
    "weakref": (weakref, "ref proxy WeakKeyDictionary WeakValueDictionary WeakSet"),
    "contextlib": (contextlib, "nullcontext suppress ExitStack AbstractContextManager closing ContextDecorator"),
    "dataclasses": (
        dataclasses,
        "field fields asdict astuple replace is_dataclass MISSING KW_ONLY FrozenInstanceError Field InitVar",
    ),
    "inspect": (inspect, "isclass Parameter"),
}

Model = Callable[["Interpreter"], Namespace]


def standard_module(interpreter: Interpreter, name: str) -> Namespace | None:
    """The model of a standard module, or None where there is none."""
    from engine.memory.program.stdlib_models import MODELS

    if name == "typing_extensions":
        name = "typing"
    members: dict[str, Any] = {}
    if name in _WHOLE:
        module = _WHOLE[name]
        members = {
            key: getattr(module, key)
            for key in getattr(module, "__all__", None) or [name for name in vars(module) if name[0] != "_"]
            if key not in _UNBOUNDED and not isinstance(getattr(module, key), types.ModuleType)
        }
    elif name in _PARTS:
        module, names = _PARTS[name]
        members = {key: getattr(module, key) for key in names.split() if hasattr(module, key)}
    elif name not in MODELS:
        return None
    namespace = Namespace(name, members)
    if name in MODELS:
        members.update(MODELS[name](interpreter))
    if name == "collections":
        members["abc"] = standard_module(interpreter, "collections.abc")
    return namespace


def rest_of_the_standard_library(name: str) -> Namespace | None:
    """A module that has no model: importing it is no event, and what it holds is Unknown."""
    return Namespace(name) if name.partition(".")[0] in sys.stdlib_module_names else None
