"""Modules: defined, created, switched between modes, recomputed in backward, and the layers that behave by mode."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.trace.events.event import Event
from engine.trace.places import Place
from engine.trace.values import ClassValue, Value


@dataclass(eq=False, slots=True)
class ModuleDefined(Event):
    """A class of the project that is an nn.Module, with what its methods assign to self.

    `unregistered`: attributes that hold modules (`module`), parameters (`parameter`) or plain tensors (`tensor`) where
    nn.Module does not see them, with the place of the assignment."""

    cls: ClassValue = None  # type: ignore[assignment]
    instance: Value = None  # type: ignore[assignment]
    registered: dict[str, Value] = field(default_factory=dict)
    unregistered: tuple[tuple[str, str, Value, Place], ...] = ()


@dataclass(eq=False, slots=True)
class ModuleCreated(Event):
    """A torch.nn or project module is constructed. `inside_forward` when that happens in a module's forward."""

    module: Value = None  # type: ignore[assignment]
    inside_forward: bool = False


@dataclass(eq=False, slots=True)
class ModeChange(Event):
    """`mode`: `train`, `eval`, or `restored`/"" where given at run time (`net.train(was)`)."""

    module: Value = None  # type: ignore[assignment]
    mode: str = ""


@dataclass(eq=False, slots=True)
class Activation(Event):
    """`kind`: softmax, log_softmax, sigmoid, logsigmoid, relu ...; `dim` if constant, `dim_given` if passed."""

    kind: str = ""
    input: Value | None = None
    output: Value = None  # type: ignore[assignment]
    dim: int | None = None
    dim_given: bool = False
    made_at: Place | None = None


@dataclass(eq=False, slots=True)
class FunctionalDropout(Event):
    """`training` is the argument if passed. `kind`: dropout, dropout2d, scaled_dot_product_attention, alpha_dropout."""

    kind: str = "dropout"
    input: Value | None = None
    training: Value | None = None
    probability: Value | None = None
    in_module: Value | None = None


@dataclass(eq=False, slots=True)
class CheckpointCall(Event):
    """torch.utils.checkpoint. `function` is what is recomputed."""

    target: Value | None = None
    inputs: tuple[Value, ...] = ()
    use_reentrant: bool | None = None


@dataclass(eq=False, slots=True)
class CheckpointingEnabled(Event):
    """`gradient_checkpointing_enable()` on a model."""

    module: Value = None  # type: ignore[assignment]
    enabled: bool = True


@dataclass(eq=False, slots=True)
class HookRegistered(Event):
    """`register_post_accumulate_grad_hook` and relatives: `function` is called by autograd."""

    name: str = ""
    target: Value | None = None
    function_value: Value | None = None


@dataclass(eq=False, slots=True)
class RequiresGradChange(Event):
    """`x.requires_grad = v`, `x.requires_grad_(v)` on a tensor, parameter or module."""

    target: Value = None  # type: ignore[assignment]
    enabled: bool | None = None
