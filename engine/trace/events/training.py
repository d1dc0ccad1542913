"""What one step of training is made of: passes, losses, gradients, and what updates parameters from them."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.trace.events.event import Event
from engine.trace.places import Place
from engine.trace.values import Value


@dataclass(eq=False, slots=True)
class Forward(Event):
    """A module is called (or one of its own computing methods: `method` is then its name)."""

    module: Value = None  # type: ignore[assignment]
    inputs: tuple[Value, ...] = ()
    keywords: dict[str, Value] = field(default_factory=dict)
    output: Value = None  # type: ignore[assignment]
    method: str = "__call__"
    #: `train`, `eval`, `mixed` (paths differ), or "" where nothing set it in what was seen.
    mode: str = ""
    mode_set_at: Place | None = None
    #: Called as `ddp.module(...)`: past its distributed wrapper.
    bypasses: Value | None = None


@dataclass(eq=False, slots=True)
class LossCall(Event):
    """`kind` is the functional name: cross_entropy, nll_loss, binary_cross_entropy, binary_cross_entropy_with_logits,
    kl_div, mse_loss, ... `input.activation` tells what was applied to it. `made_at` where a loss module was built.
    `alternative`: one of several different losses, by the path taken."""

    kind: str = ""
    input: Value | None = None
    target: Value | None = None
    keywords: dict[str, Value] = field(default_factory=dict)
    output: Value = None  # type: ignore[assignment]
    made_at: Place | None = None
    alternative: bool = False


@dataclass(eq=False, slots=True)
class Backward(Event):
    """`via`: `tensor`, `scaler` (scaled loss), `accelerator`, `fabric`, `lightning`, `deepspeed`, `trainer`."""

    loss: Value = None  # type: ignore[assignment]
    via: str = "tensor"
    through: Value | None = None
    retain_graph: bool | None = False
    create_graph: bool | None = False
    gradient: Value | None = None
    #: The span of the loss expression.
    loss_place: Place | None = None


@dataclass(eq=False, slots=True)
class AutogradGrad(Event):
    output: Value | None = None
    inputs: Value | None = None
    create_graph: bool | None = False
    retain_graph: bool | None = False


@dataclass(eq=False, slots=True)
class OptimizerCreated(Event):
    """`optimizer.made_by` names the class; `optimizer.of` the modules; `optimizer.keywords` the arguments."""

    optimizer: Value = None  # type: ignore[assignment]
    parameters: Value | None = None


@dataclass(eq=False, slots=True)
class OptimizerStep(Event):
    """`via`: `direct`, `scaler`, `engine` (DeepSpeed). `closure` if one is passed."""

    optimizer: Value = None  # type: ignore[assignment]
    via: str = "direct"
    scaler: Value | None = None
    closure: Value | None = None


@dataclass(eq=False, slots=True)
class ZeroGrad(Event):
    """Gradients cleared: of an optimizer, a module, or (`how` = "grad") by setting or zeroing `.grad` itself."""

    target: Value = None  # type: ignore[assignment]
    how: str = "zero_grad"


@dataclass(eq=False, slots=True)
class ClipGradients(Event):
    """`of`: the modules or optimizers whose parameters are clipped. `how`: `norm`, `value`, or a framework's name."""

    parameters: Value | None = None
    of: tuple[Value, ...] = ()
    limit: Value | None = None
    how: str = "norm"
    #: A limit of infinity only measures the norm.
    measures_only: bool = False


@dataclass(eq=False, slots=True)
class Unscale(Event):
    scaler: Value = None  # type: ignore[assignment]
    optimizer: Value | None = None


@dataclass(eq=False, slots=True)
class ScalerCreated(Event):
    scaler: Value = None  # type: ignore[assignment]
    enabled: bool | None = True


@dataclass(eq=False, slots=True)
class ScalerStep(Event):
    """Accompanied by an OptimizerStep with via=`scaler`."""

    scaler: Value = None  # type: ignore[assignment]
    optimizer: Value | None = None


@dataclass(eq=False, slots=True)
class ScalerUpdate(Event):
    scaler: Value = None  # type: ignore[assignment]


@dataclass(eq=False, slots=True)
class SchedulerCreated(Event):
    scheduler: Value = None  # type: ignore[assignment]
    optimizer: Value | None = None


@dataclass(eq=False, slots=True)
class SchedulerStep(Event):
    scheduler: Value = None  # type: ignore[assignment]
    arguments: tuple[Value, ...] = ()


@dataclass(eq=False, slots=True)
class Divided(Event):
    """`a / b`, `a * b`, `.div(b)`, `.mul(b)` where the left side may carry a graph: accumulation scaling shows here."""

    value: Value = None  # type: ignore[assignment]
    by: Value | None = None
    by_text: str = ""
    output: Value = None  # type: ignore[assignment]
    operator: str = "/"
