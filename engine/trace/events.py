"""The typed events of a Trace.

Every event has `place` (innermost), `stack` (the calls that led there, outermost first), `loops` with `iterations`
(loop bodies are played twice, so iteration 1 sees what iteration 0 left behind), `guards`, `contexts`, and the grad
mode and autocast state at that point. An event reached twice stands twice in the trace: rules deduplicate by place.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from engine.trace.places import Context, Guard, Loop, Place, Root
from engine.trace.values import ClassValue, Value


@dataclass(eq=False, slots=True)
class Event:
    place: Place
    root: Root
    index: int = 0
    #: Qualified name of the function it stands in ("" at top level).
    function: str = ""
    stack: tuple[Place, ...] = ()
    loops: tuple[Loop, ...] = ()
    iterations: tuple[int, ...] = ()
    guards: tuple[Guard, ...] = ()
    contexts: tuple[Context, ...] = ()
    #: Grad mode: None where the program decides at run time.
    grad: bool | None = True
    #: Autocast: True, False, or None (decided at run time). `autocast_dtype` is "float16", "bfloat16" or "".
    autocast: bool | None = False
    autocast_dtype: str = ""

    @property
    def loop(self) -> Loop | None:
        """The innermost loop."""
        return self.loops[-1] if self.loops else None

    def context(self, kind: str) -> Context | None:
        return next((c for c in reversed(self.contexts) if c.kind == kind), None)

    def guarded(self, kind: str) -> Guard | None:
        """The innermost guard of that kind (`rank`, `modulo`, `debug`) that holds here."""
        return next((g for g in reversed(self.guards) if kind in g.kinds), None)

    def excludes(self, other: Event) -> bool:
        """Whether both can not happen in one pass."""
        return any(a.excludes(b) for a in self.guards for b in other.guards)

    def named_values(self) -> Iterator[Value]:
        """The values that the event names itself, also those in its tuples and dictionaries."""
        for item in fields(self):
            held = getattr(self, item.name)
            parts = held.values() if isinstance(held, dict) else held if isinstance(held, tuple) else (held,)
            yield from (part for part in parts if isinstance(part, Value))

    def common_loops(self, other: Event) -> tuple[Loop, ...]:
        return tuple(loop for loop in self.loops if loop in other.loops)


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
class ModeChange(Event):
    """`mode`: `train`, `eval`, or `restored`/"" where given at run time (`net.train(was)`)."""

    module: Value = None  # type: ignore[assignment]
    mode: str = ""


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
class Collective(Event):
    """`name`: all_reduce, barrier, gather_for_metrics ...; `library`: torch, accelerate, fabric, lightning, horovod."""

    name: str = ""
    values: tuple[Value, ...] = ()
    keywords: dict[str, Value] = field(default_factory=dict)
    result: Value | None = None
    library: str = "torch"


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
class Wrapped(Event):
    """`how`: `ddp`, `fsdp`, `data-parallel`, `compile`, `fabric`."""

    how: str = "ddp"
    module: Value = None  # type: ignore[assignment]
    wrapper: Value = None  # type: ignore[assignment]


@dataclass(eq=False, slots=True)
class ThroughWrapper(Event):
    """A method of a project's class is asked of a wrapper around it, which hands nothing on."""

    wrapper: Value = None  # type: ignore[assignment]
    name: str = ""


@dataclass(eq=False, slots=True)
class Prepare(Event):
    """accelerate's prepare or fabric's setup: what was passed, and the framework object."""

    framework: Value = None  # type: ignore[assignment]
    objects: tuple[Value, ...] = ()
    results: tuple[Value, ...] = ()
    library: str = "accelerate"


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
class Released(Event):
    """The last name for what was loaded is deleted or given another value."""

    value: Value = None  # type: ignore[assignment]


@dataclass(eq=False, slots=True)
class LoadStateDict(Event):
    target: Value = None  # type: ignore[assignment]
    state: Value | None = None


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
class TensorCreated(Event):
    """torch.tensor/zeros/randn/...: `name` the function, `device` if given."""

    name: str = ""
    output: Value = None  # type: ignore[assignment]
    arguments: tuple[Value, ...] = ()
    device_given: bool = False


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


@dataclass(eq=False, slots=True)
class RequiresGradChange(Event):
    """`x.requires_grad = v`, `x.requires_grad_(v)` on a tensor, parameter or module."""

    target: Value = None  # type: ignore[assignment]
    enabled: bool | None = None


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
class HookRegistered(Event):
    """`register_post_accumulate_grad_hook` and relatives: `function` is called by autograd."""

    name: str = ""
    target: Value | None = None
    function_value: Value | None = None


@dataclass(eq=False, slots=True)
class Referenced(Event):
    """An expression statement that names a method without calling it (`opt.step`, `net.eval`)."""

    receiver: Value = None  # type: ignore[assignment]
    attribute: str = ""


@dataclass(eq=False, slots=True)
class MethodCall(Event):
    """Any other method called on a value that is not followed into the project. `discarded`: result unused."""

    receiver: Value = None  # type: ignore[assignment]
    method: str = ""
    arguments: tuple[Value, ...] = ()
    keywords: dict[str, Value] = field(default_factory=dict)
    result: Value = None  # type: ignore[assignment]
    discarded: bool = False
    #: Train/eval mode of the receiver at that point (for what turns out to be a module).
    mode: str = ""
    mode_set_at: Place | None = None
    bypasses: Value | None = None


@dataclass(eq=False, slots=True)
class FunctionCall(Event):
    """Any other call: of a library function (`name` is its qualified name), or of an unknown callable (`callee`)."""

    name: str = ""
    callee: Value | None = None
    arguments: tuple[Value, ...] = ()
    keywords: dict[str, Value] = field(default_factory=dict)
    result: Value = None  # type: ignore[assignment]
    discarded: bool = False
    #: Train/eval mode of the receiver at that point (for what turns out to be a module).
    mode: str = ""
    mode_set_at: Place | None = None
    bypasses: Value | None = None


@dataclass(eq=False, slots=True)
class Return(Event):
    """A function returns; `value` what (None for bare returns)."""

    value: Value | None = None


@dataclass(eq=False, slots=True)
class Divided(Event):
    """`a / b`, `a * b`, `.div(b)`, `.mul(b)` where the left side may carry a graph: accumulation scaling shows here."""

    value: Value = None  # type: ignore[assignment]
    by: Value | None = None
    by_text: str = ""
    output: Value = None  # type: ignore[assignment]
    operator: str = "/"


AnyEvent = Any
