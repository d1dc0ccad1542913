"""Data and chance: loaders, samplers, what loops run over, seeds and what is drawn."""

from __future__ import annotations

from dataclasses import dataclass

from engine.trace.events.event import Event
from engine.trace.places import Loop
from engine.trace.values import Value


@dataclass(eq=False, slots=True)
class LoaderBuilt(Event):
    """`loader.keywords` holds DataLoader's arguments under their own names, positional ones too. `complete` is False
    where `**kwargs` of unknown content are passed."""

    loader: Value = None  # type: ignore[assignment]
    complete: bool = True


@dataclass(eq=False, slots=True)
class SamplerBuilt(Event):
    sampler: Value = None  # type: ignore[assignment]
    complete: bool = True


@dataclass(eq=False, slots=True)
class SetEpoch(Event):
    target: Value = None  # type: ignore[assignment]


@dataclass(eq=False, slots=True)
class Iterate(Event):
    """A loop starts: what it runs over. Stands before the loop's own events, outside of the loop."""

    subject: Loop = None  # type: ignore[assignment]
    iterates: Value | None = None


@dataclass(eq=False, slots=True)
class Seed(Event):
    """`what`: subset of {torch, cuda, numpy, random}."""

    what: frozenset[str] = frozenset()
    value: Value | None = None
    #: Whether the seed depends on the rank (True), does not (False), or is unknown.
    rank_dependent: bool | None = None
    how: str = ""


@dataclass(eq=False, slots=True)
class RandomCall(Event):
    """Randomness drawn: `source` is torch, numpy or random. Parameter initialisation of modules counts (`name` =
    `init`). `generator` when one is passed."""

    source: str = "torch"
    name: str = ""
    generator: Value | None = None
