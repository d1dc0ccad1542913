"""Several processes: groups, devices, collectives, and the wrappers that share gradients."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.trace.events.event import Event
from engine.trace.values import Value


@dataclass(eq=False, slots=True)
class ProcessGroupInit(Event):
    """`how`: `init_process_group`, `accelerator`, `fabric`, `deepspeed` ...; `backend` where it is constant."""

    how: str = "init_process_group"
    backend: str = ""
    backend_value: Value | None = None


@dataclass(eq=False, slots=True)
class SetDevice(Event):
    device: Value | None = None


@dataclass(eq=False, slots=True)
class Collective(Event):
    """`name`: all_reduce, barrier, gather_for_metrics ...; `library`: torch, accelerate, fabric, lightning, horovod."""

    name: str = ""
    values: tuple[Value, ...] = ()
    keywords: dict[str, Value] = field(default_factory=dict)
    result: Value | None = None
    library: str = "torch"


@dataclass(eq=False, slots=True)
class Wrapped(Event):
    """`how`: `ddp`, `fsdp`, `data-parallel`, `compile`, `fabric`."""

    how: str = "ddp"
    module: Value = None  # type: ignore[assignment]
    wrapper: Value = None  # type: ignore[assignment]


@dataclass(eq=False, slots=True)
class ThroughWrapper(Event):
    """A method of a project's class is asked of a wrapper around it, which hands nothing on. `certain` unless on
    another path the receiver is no wrapper."""

    wrapper: Value = None  # type: ignore[assignment]
    name: str = ""
    certain: bool = True
