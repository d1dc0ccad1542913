"""A value that the shadow run cannot know. It answers to everything, stays unknown, and says why."""

from __future__ import annotations

from collections.abc import Iterator

NEWEST = "9999.0"
"""The version of what is not modelled: programs that ask want to know whether it is new enough."""


class Unknown:
    """Result of anything that is not modelled. Branches on it are not taken; iterating it yields one Unknown."""

    __slots__ = ("reason",)

    reason: str

    def __init__(self, reason: str) -> None:
        object.__setattr__(self, "reason", reason)

    def __getattr__(self, name: str) -> object:
        if name == "__version__":
            return NEWEST
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return self

    def __setattr__(self, name: str, value: object) -> None:
        return None

    def __delattr__(self, name: str) -> None:
        return None

    def __call__(self, *args: object, **kwargs: object) -> object:
        # A decorator that is not known is taken to return what it decorates.
        if (
            len(args) == 1
            and not kwargs
            and (isinstance(args[0], type) or getattr(args[0], "is_program_function", False))
        ):
            return args[0]
        return self

    def __iter__(self) -> Iterator[object]:
        yield self

    def __next__(self) -> object:
        return self

    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        return 1

    def __contains__(self, item: object) -> bool:
        return False

    def __enter__(self) -> object:
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def __getitem__(self, key: object) -> object:
        return self

    def __setitem__(self, key: object, value: object) -> None:
        return None

    def __delitem__(self, key: object) -> None:
        return None

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<unknown: {self.reason}>"

    def __str__(self) -> str:
        return "unknown"

    def __format__(self, spec: str) -> str:
        return "unknown"

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        # A class that inherits from something unknown keeps what it defines itself.
        return ()


def _operator(self: Unknown, *others: object) -> object:
    return self


for _name in [
    "add",
    "radd",
    "sub",
    "rsub",
    "mul",
    "rmul",
    "truediv",
    "rtruediv",
    "floordiv",
    "rfloordiv",
    "mod",
    "rmod",
    "pow",
    "rpow",
    "matmul",
    "rmatmul",
    "and",
    "rand",
    "or",
    "ror",
    "xor",
    "rxor",
    "lshift",
    "rlshift",
    "rshift",
    "rrshift",
    "neg",
    "pos",
    "abs",
    "invert",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
    "iadd",
    "isub",
    "imul",
    "itruediv",
]:
    setattr(Unknown, f"__{_name}__", _operator)


def find_unknown(values: object, depth: int = 2) -> Unknown | None:
    """The first Unknown among the values or, to a small depth, inside their containers."""
    if isinstance(values, Unknown):
        return values
    if depth and isinstance(values, (list, tuple)):
        for value in values[:16]:
            found = find_unknown(value, depth - 1)
            if found is not None:
                return found
    if depth and isinstance(values, dict):
        for value in list(values.values())[:16]:
            found = find_unknown(value, depth - 1)
            if found is not None:
                return found
    return None
