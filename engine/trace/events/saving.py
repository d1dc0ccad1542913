"""Checkpoints on disk: written, read, put into objects, let go of."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.trace.events.event import Event
from engine.trace.values import Value


@dataclass(eq=False, slots=True)
class Save(Event):
    """`how`: `torch.save`, `fabric.save`, `save_pretrained` (with its `keywords`) ..."""

    value: Value | None = None
    target: Value | None = None
    how: str = "torch.save"
    keywords: dict[str, Value] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Load(Event):
    source: Value | None = None
    map_location: Value | None = None
    result: Value | None = None
    how: str = "torch.load"


@dataclass(eq=False, slots=True)
class LoadStateDict(Event):
    target: Value = None  # type: ignore[assignment]
    state: Value | None = None


@dataclass(eq=False, slots=True)
class Released(Event):
    """The last name for what was loaded is deleted or given another value."""

    value: Value = None  # type: ignore[assignment]
