"""Tensors and other values: created, kept, changed in place, cut from their graph, moved, waited for."""

from __future__ import annotations

from dataclasses import dataclass

from engine.trace.events.event import Event
from engine.trace.places import Loop, Place
from engine.trace.values import Value


@dataclass(eq=False, slots=True)
class TensorCreated(Event):
    """torch.tensor/zeros/randn/...: `name` the function, `device` if given."""

    name: str = ""
    output: Value = None  # type: ignore[assignment]
    arguments: tuple[Value, ...] = ()
    device_given: bool = False


@dataclass(eq=False, slots=True)
class Store(Event):
    """A value is kept.

    `how`: `append` (and extend, add, insert, update of containers), `accumulate` (`a += v`, `a = a + v`), `attribute`,
    `item`. `value` is what is added, `container` what it goes into (None for plain variables), `target` its text.
    `crossing`: loops that the container (or accumulator) outlives. `previous`: what the accumulator held before.
    `inplace` is True for `a += v` where a is a tensor.
    """

    value: Value = None  # type: ignore[assignment]
    how: str = "append"
    container: Value | None = None
    target: str = ""
    crossing: tuple[Loop, ...] = ()
    previous: Value | None = None
    result: Value | None = None
    attribute: str = ""
    #: The span of the expression that is stored.
    value_place: Place | None = None
    inplace: bool = False


@dataclass(eq=False, slots=True)
class InPlaceUpdate(Event):
    """A tensor is changed in place by a method (`name_`), an augmented assignment (`+=`) or an item assignment."""

    target: Value = None  # type: ignore[assignment]
    how: str = ""
    operands: tuple[Value, ...] = ()
    text: str = ""


@dataclass(eq=False, slots=True)
class Rebound(Event):
    """A name for a parameter is rebound (`p = p - lr * p.grad`): the parameter itself does not change.

    A loop variable over parameters, or a tensor that was made with `requires_grad=True`."""

    target: Value = None  # type: ignore[assignment]
    value: Value = None  # type: ignore[assignment]


@dataclass(eq=False, slots=True)
class Detach(Event):
    """The graph ends here: detach, .data, numpy(), item(), torch.tensor(t), Variable(t.data), argmax ..."""

    value: Value = None  # type: ignore[assignment]
    output: Value = None  # type: ignore[assignment]
    how: str = "detach"


@dataclass(eq=False, slots=True)
class GradModeChange(Event):
    """A grad-mode context entered (`how` names it), or called as a function without `with` (`discarded`), or named in a
    `with` without being called (`uncalled`)."""

    enabled: bool | None = None
    how: str = ""
    discarded: bool = False
    uncalled: bool = False


@dataclass(eq=False, slots=True)
class DeviceSync(Event):
    """The host waits for the device. `how`: `item`, `cpu`, `numpy`, `tolist`, `float`, `int`, `bool` (a tensor as a
    condition), `print`, `format`, `synchronize`, `empty_cache`, `gc`, `nonzero`."""

    how: str = ""
    value: Value | None = None


@dataclass(eq=False, slots=True)
class Transfer(Event):
    """`.to/.cuda/.cpu`. `device` is the destination if known ("cuda", "cpu", "" unknown)."""

    value: Value = None  # type: ignore[assignment]
    result: Value | None = None
    how: str = "to"
    device: str = ""
    #: What names the destination, where something does.
    destination: Value | None = None
    non_blocking: bool | None = False
    discarded: bool = False
