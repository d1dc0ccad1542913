"""Libraries whose decorators and annotations change nothing about what runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.memory.program.namespaces import Namespace

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter


class _Annotation:
    """A tensor annotation such as `Float[Tensor, "b n"]`."""

    def __class_getitem__(cls, item: Any) -> Any:
        return cls


def _identity(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and not kwargs and callable(args[0]):
        return args[0]
    return lambda function: function


class Version:
    """`packaging.version.Version`, enough to compare releases."""

    def __init__(self, text: Any) -> None:
        numbers = []
        for part in str(text).split("+")[0].split("."):
            digits = "".join(character for character in part if character.isdigit())
            numbers.append(int(digits) if digits else 0)
        self.release = tuple(numbers)
        self.major, self.minor = (*self.release, 0, 0)[:2]

    def __lt__(self, other: Any) -> bool:
        return self.release < as_version(other).release

    def __le__(self, other: Any) -> bool:
        return self.release <= as_version(other).release

    def __gt__(self, other: Any) -> bool:
        return self.release > as_version(other).release

    def __ge__(self, other: Any) -> bool:
        return self.release >= as_version(other).release

    def __eq__(self, other: object) -> bool:
        return self.release == as_version(other).release

    def __hash__(self) -> int:
        return hash(self.release)


def as_version(value: Any) -> Version:
    """A version from its text."""
    return value if isinstance(value, Version) else Version(value)


def provide(interpreter: Interpreter, dotted: str) -> Any:
    """A module of one of these libraries."""
    top = dotted.split(".")[0]
    if top == "packaging":
        version = Namespace("packaging.version", {"parse": as_version, "Version": Version})
        return version if dotted.endswith("version") else Namespace("packaging", {"version": version})
    if top == "frozendict":
        return Namespace(dotted, {"frozendict": dict, "deepfreeze": lambda value: value})
    if top == "beartype":
        return Namespace(
            dotted, {"beartype": _identity}, missing=lambda name: None if name.startswith("__") else _Annotation
        )
    return Namespace(
        dotted,
        {},
        missing=lambda name: _identity if name in ("jaxtyped", "patch_typeguard", "typechecked") else _Annotation,
    )
