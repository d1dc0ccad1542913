"""Names of torch that do nothing here: they exist, and no memory depends on them."""

from __future__ import annotations

from types import ModuleType
from typing import Any


class Namespace(ModuleType):
    """One module of the tree."""


def namespace_of(name: str, entries: dict[str, Any]) -> Namespace:
    out = Namespace(name)
    for key, value in entries.items():
        setattr(out, key, value)
    return out


def nothing(*args: Any, **kwargs: Any) -> None:
    return None


def always(value: Any) -> Any:
    return lambda *args, **kwargs: value


def first(x: Any = None, *args: Any, **kwargs: Any) -> Any:
    return x


class Inert:
    """An object of which nothing matters: profilers, streams, events, work handles."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        return None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: object) -> None:
        return None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return args[0] if args and callable(args[0]) else self

    def elapsed_time(self, *args: Any) -> float:
        return 1.0

    def __float__(self) -> float:
        return 1.0


class Flag:
    """``torch.backends.*``: assignable switches that do not change memory here."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def is_available(self) -> bool:
        return bool(self.__dict__.get("available", True))

    is_built = is_available

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return nothing
