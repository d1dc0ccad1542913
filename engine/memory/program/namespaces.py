"""Module objects that a program sees: its own modules, and the models of libraries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from engine.memory.program.unknown import NEWEST, Unknown


class Namespace:
    """A module. Names that it lacks are looked up once through `missing`, and are Unknown where that has none."""

    def __init__(
        self,
        name: str,
        members: dict[str, Any] | None = None,
        *,
        missing: Callable[[str], Any] | None = None,
        strict: bool = False,
    ) -> None:
        self.__dict__["_preflight_name"] = name
        self.__dict__["_preflight_members"] = {} if members is None else members
        self.__dict__["_preflight_missing"] = missing
        self.__dict__["_preflight_strict"] = strict

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_preflight_") or name in ("special", "__class__", "__dict__"):
            return object.__getattribute__(self, name)
        own = object.__getattribute__(self, "__dict__")
        members = own["_preflight_members"]
        if name in members:
            return members[name]
        missing = own["_preflight_missing"]
        if missing is not None:
            found = missing(name)
            if found is not None:
                members[name] = found
                return found
        if name.startswith("__") or own["_preflight_strict"]:
            raise AttributeError(f"module {own['_preflight_name']!r} has no attribute {name!r}")
        return Unknown(f"{own['_preflight_name']}.{name} is not modelled")

    def __setattr__(self, name: str, value: Any) -> None:
        self._preflight_members[name] = value

    def __delattr__(self, name: str) -> None:
        self._preflight_members.pop(name, None)

    def __repr__(self) -> str:
        return f"<module {self._preflight_name!r}>"

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("'module' object is not iterable")

    def special(self, name: str) -> Any:
        """A special attribute of a module."""
        if name == "__dict__":
            return self._preflight_members
        if name == "__name__":
            return self._preflight_members.get("__name__", self._preflight_name)
        if name == "__class__":
            return Namespace
        if name in self._preflight_members:
            return self._preflight_members[name]
        if name == "__version__":
            return NEWEST
        raise AttributeError(name)
