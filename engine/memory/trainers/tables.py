"""How a trainer's table reads: option names to what a run needs, each with its default and its spelling."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from engine.memory.trainers.options import Given, Options, scalar
from engine.memory.trainers.recipes import Recipe

NONE = Given(None)


@dataclass(frozen=True)
class Field:
    """One thing that a run needs: its option names (the first that is given counts), default and meaning."""

    names: tuple[str, ...]
    default: Any = None
    meaning: Callable[[Any], Any] = scalar


class CannotRead(ValueError):
    """The settings do not say what a run needs; the message says what is missing."""


class Settings:
    """The options of one run seen through a trainer's table; remembers the places of what was read."""

    def __init__(self, table: Mapping[str, Field], options: Options) -> None:
        self.table, self.options = table, options
        self.places: dict[str, tuple[str, int]] = {}

    def __getitem__(self, key: str) -> Any:
        entry = self.table[key]
        found = self.options.first(entry.names)
        if found is None:
            return entry.default
        self.place(key, found)
        try:
            return entry.meaning(found.value)
        except CannotRead as problem:
            raise CannotRead(f"{entry.names[0]}: {problem}") from problem

    def place(self, key: str, given: Given | None) -> None:
        """Remember where a key's value stands."""
        if given is not None and given.path is not None and given.line is not None:
            self.places[key] = (given.path, given.line)

    def at(self, key: str, *names: str) -> None:
        """The place of `key` is that of the first of these options."""
        self.place(key, self.options.first(names))

    def required(self, key: str, trainer: str) -> Any:
        """A value without which nothing can be said."""
        value = self[key]
        if value in (None, ""):
            raise CannotRead(f"{trainer}: {' or '.join(self.table[key].names)} is not given")
        return value


class Reader(Protocol):
    """Makes the recipe of a run from its options."""

    def __call__(self, options: Options, processes: int) -> Recipe: ...


@dataclass(frozen=True)
class Trainer:
    """One trainer: how its command line is spelled, which files are its configuration, and how they read."""

    name: str
    program: str
    """The program that plays its recipes: `transformers`, `loop` or `cogvideox`."""
    read: Callable[[str, Options, int], Recipe]
    """(action, options, processes) to a recipe. The action is what the command names: `finetune_lora`, `sft` ..."""
    commands: Sequence[tuple[str, ...]] = ()
    """Beginnings of command lines: words, `*` for the action. Modules after -m and script names count alike."""
    positional: Sequence[str] = ()
    files: Sequence[str] = ("config",)
    """Options that name a configuration file; `positional` ones may."""
    keys: Sequence[tuple[str, ...]] = ()
    """Names that only this trainer's configuration files have together."""
    counts: Sequence[str] = field(default=())
    """Options with the number of processes."""


def truth(value: Any) -> bool:
    """A flag however it is spelled."""
    value = scalar(value)
    if isinstance(value, str):
        return value.lower() in ("yes", "y", "on", "1", "auto")
    return bool(value)


def integer(value: Any) -> int | None:
    """A whole number, None where none is given. What is no number raises CannotRead: a size is never made up."""
    found = scalar(value)
    if found in (None, "", "auto", "None"):
        return None
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        raise CannotRead(f"{str(value)[:60]} is not a number")
    return int(found)


def text(value: Any) -> str | None:
    """A text, None where there is none."""
    return None if value in (None, "", "null", "None", "none") else str(value)


def names(value: Any) -> tuple[str, ...]:
    """A list of names: a list, or a text with commas or blanks."""
    value = scalar(value)
    if value is None:
        return ()
    parts = value if isinstance(value, list) else str(value).replace(",", " ").split()
    return tuple(str(part).strip() for part in parts if str(part).strip())


DTYPES: Mapping[str, str] = {
    "bf16": "bfloat16",
    "bfloat16": "bfloat16",
    "torch.bfloat16": "bfloat16",
    "fp16": "float16",
    "float16": "float16",
    "torch.float16": "float16",
    "half": "float16",
    "fp32": "float32",
    "float32": "float32",
    "torch.float32": "float32",
    "float": "float32",
}
"""Spellings of dtypes."""


def dtype(value: Any) -> str | None:
    """torch's name of a dtype, None where it is not one."""
    return DTYPES.get(str(value).lower())
