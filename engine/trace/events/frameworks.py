"""Training frameworks: what they prepare, which loops and methods are theirs, what they report."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.trace.events.event import Event
from engine.trace.values import ClassValue, Value


@dataclass(eq=False, slots=True)
class Prepare(Event):
    """accelerate's prepare or fabric's setup: what was passed, and the framework object."""

    framework: Value = None  # type: ignore[assignment]
    objects: tuple[Value, ...] = ()
    results: tuple[Value, ...] = ()
    library: str = "accelerate"


@dataclass(eq=False, slots=True)
class FrameworkTrainer(Event):
    """A trainer that owns the loop is built or run. `library`: lightning, transformers, trl, ignite, composer, timm.
    `what`: `built`, `arguments` (TrainingArguments), `fit`, `train`, `validate`, `test`, `predict`."""

    library: str = ""
    what: str = "built"
    trainer: Value = None  # type: ignore[assignment]
    keywords: dict[str, Value] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class FrameworkHook(Event):
    """The start of a method of the project that a framework's own loop calls: `compute_loss` of a Hugging Face Trainer.

    `cls` defines it; `parameters` holds what the framework passes, by name."""

    name: str = ""
    cls: ClassValue = None  # type: ignore[assignment]
    parameters: dict[str, Value] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class MetricUpdate(Event):
    """torchmetrics/evaluate objects: `how` is update, add_batch, compute, forward, reset."""

    metric: Value = None  # type: ignore[assignment]
    values: tuple[Value, ...] = ()
    how: str = "update"


@dataclass(eq=False, slots=True)
class Report(Event):
    """A value leaves for a person: print, logger, progress bar, writer.add_scalar, wandb.log, self.log.

    `through`: the framework object that reports, from its main process only (fabric, accelerator)."""

    how: str = "print"
    values: tuple[Value, ...] = ()
    keywords: dict[str, Value] = field(default_factory=dict)
    through: Value | None = None
