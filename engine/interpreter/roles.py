"""After the run: what unknown objects are, by how they were used; events of unknown receivers get their type."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from engine.frameworks.torch_methods import computes
from engine.frameworks.trainers import NOT_MODELS
from engine.trace import events as ev
from engine.trace.events import Event
from engine.trace.places import Loop
from engine.trace.trace import Trace
from engine.trace.values import Choice, Container, FunctionValue, Value

_MODULE_USES = frozenset(
    [
        "parameters",
        "named_parameters",
        "modules",
        "named_modules",
        "children",
        "buffers",
        "eval",
        "train",
        "requires_grad_",
        "state_dict",
        "load_state_dict",
        "zero_grad",
        "half",
        "bfloat16",
        "gradient_checkpointing_enable",
    ]
)
_OPTIMIZER_USES = frozenset(["zero_grad", "param_groups", "add_param_group"])
_SCHEDULER_USES = frozenset(["get_last_lr", "get_lr"])
_ACCELERATOR_USES = frozenset(
    [
        "prepare",
        "unwrap_model",
        "gather_for_metrics",
        "wait_for_everyone",
        "accumulate",
        "sync_gradients",
        "is_main_process",
    ]
)
_FABRIC_USES = frozenset(["clip_gradients", "setup_dataloaders", "no_backward_sync", "setup_module"])
_NOT_FORWARD = frozenset(["init_weights", "config", "log"])


def finish(trace: Trace, values: list[Value]) -> None:
    """Fill in roles, convert events, mark loops and containers. `values` are all values made in the run."""
    _mark_backward(trace)
    for _ in range(2):
        _infer(trace, values)
    _number_steps(trace)
    _convert(trace)
    _loops(trace)
    _crossings(trace)
    _define_modules(trace)
    _doubt_by_candidates(trace)
    for index, event in enumerate(trace.events):
        event.index = index


def _values_of(value: Value) -> tuple[Value, ...]:
    return (value, *(o for o in value.options() if o is not value))


def _mark_backward(trace: Trace) -> None:
    """feeds_backward on everything a loss is made of."""
    for event in trace.events:
        if isinstance(event, ev.Backward):
            for value in event.loss.ancestors(through_detach=False):
                value.feeds_backward = True
            for value in event.loss.ancestors():
                value.feeds_cut_loss = True
            loss = event.loss
            nameless = isinstance(loss, Choice | Container) or loss.op in (
                "parameter-of-function",
                "attribute",
                "unknown",
            )
            if event.via == "tensor" and loss.role is None and not nameless:
                loss.role = "tensor"
        elif isinstance(event, ev.AutogradGrad) and event.output is not None:
            for value in event.output.ancestors(through_detach=False):
                value.feeds_autograd_grad = True
        elif isinstance(event, ev.Return) and event.value is not None and _is_framework_loss(event):
            for value in event.value.ancestors(through_detach=False):
                value.feeds_backward = True
    for event in trace.events:
        if isinstance(event, ev.Forward) and isinstance(event.output, Container):
            # A pass that returns several things trains if any of them does.
            parts = _inside(event.output)
            event.output.feeds_backward |= any(part.feeds_backward for part in parts)
            event.output.feeds_autograd_grad |= any(part.feeds_autograd_grad for part in parts)


def _inside(container: Container, limit: int = 60) -> list[Value]:
    """The elements of a container, and of those in it."""
    found = list(container.elements())
    for value in found:
        if len(found) < limit:
            found += value.elements()
    return found


def _is_framework_loss(event: ev.Return) -> bool:
    """What `training_step` of a LightningModule or `compute_loss` of a HF Trainer returns is the loss."""
    owner = event.root.owner
    if owner is None or owner.cls is None:
        return False
    name = event.function.rsplit(".", 1)[-1]
    return (owner.cls.family == "lightning-module" and name == "training_step") or (
        owner.cls.family == "hf-trainer" and name in ("compute_loss", "training_step")
    )


def _calls(trace: Trace) -> list[Any]:
    return [e for e in trace.events if isinstance(e, ev.FunctionCall | ev.MethodCall)]


def _has_graph_argument(event: Any) -> bool:
    """Whether an argument carries (or may carry) a graph already: the callee is then a loss or a later module.

    What the callee itself made (a state carried from step to step) does not count."""
    callee = event.callee if isinstance(event, ev.FunctionCall) else event.receiver
    for value in (*event.arguments, *event.keywords.values()):
        for ancestor in value.ancestors(through_detach=False, limit=200):
            if ancestor.callee is not None and ancestor.callee is callee:
                continue
            if ancestor.role == "parameter" or (ancestor.requires_grad and not ancestor.detached):
                return True
            if (
                ancestor.op in ("call", "method-call", "forward-result")
                and ancestor.feeds_backward
                and not ancestor.detached
            ) and ancestor.grad is not False:
                return True
    return False


def _takes_objects(event: Any) -> bool:
    """Whether modules or optimizers are passed: the callee is then a function of them."""
    for value in event.arguments:
        for option in _values_of(value):
            if option.role in ("module", "optimizer", "engine") or (
                option.role is None and (option.uses & {"parameters", "eval", "train", "zero_grad"})
            ):
                return True
    return False


def _infer(trace: Trace, values: list[Value]) -> None:
    for value in values:
        if value.role is None and (value.uses or value.attributes) and not isinstance(value, Container):
            _infer_by_uses(value)
    for event in trace.events:
        if isinstance(event, ev.Prepare) or (
            isinstance(event, ev.MethodCall) and event.method == "prepare" and event.receiver.role == "accelerator"
        ):
            for value in event.objects if isinstance(event, ev.Prepare) else event.arguments:
                _infer_prepared(value)
    consumed = _consumed_by_modules(trace)
    for event in _calls(trace):
        if isinstance(event, ev.FunctionCall):
            if event.callee is not None:
                _infer_call(event, consumed)
        elif event.receiver.role not in _KNOWN_ROLES:
            _infer_method_call(event)
    for value in values:
        # Roles have changed: what was worked out about graphs is forgotten.
        value._graph = "unset"


_KNOWN_ROLES = frozenset(
    [
        "optimizer",
        "scheduler",
        "scaler",
        "loader",
        "sampler",
        "dataset",
        "metric",
        "accelerator",
        "fabric",
        "trainer",
        "number",
        "array",
        "string",
        "device",
        "generator",
        "writer",
        "parameters",
        "parameter",
        "distribution",
    ]
)


def _consumed_by_modules(trace: Trace) -> set[int]:
    """Results that known modules take as input: who made them made data, not a graph to be sure of."""
    consumed: set[int] = set()
    for event in trace.events:
        if isinstance(event, ev.Forward):
            if event.module.has_parameters is False:
                continue
            inputs = (*event.inputs, *event.keywords.values())
        elif isinstance(event, ev.FunctionCall) and event.callee is not None and event.callee.role == "module":
            inputs = (*event.arguments, *event.keywords.values())
        else:
            continue
        for value in inputs:
            consumed.update(id(ancestor) for ancestor in value.ancestors(limit=60))
    return consumed


def _infer_call(event: ev.FunctionCall, consumed: set[int]) -> None:
    """What an unknown callable was, from what became of its result."""
    callee, result = event.callee, event.result
    assert callee is not None
    if not (result.feeds_backward or result.feeds_autograd_grad or result.feeds_cut_loss):
        return
    arguments = (*event.arguments, *event.keywords.values())
    if all(a.is_constant or a.role in ("number", "string", "device") for a in arguments):
        return
    if callee.made_by.removesuffix(".from_pretrained").endswith(NOT_MODELS) or _has_graph_argument(event):
        return
    objects = _takes_objects(event)
    if objects:
        for value in event.arguments:
            if value.role is None and value.uses & {"parameters", "eval", "train", "zero_grad"}:
                value.role = "module"
    if id(result) in consumed and callee.role != "module":
        return
    if result.grad is not False:
        result.makes_graph = True
    if callee.role is None and not objects and callee.op in _UNKNOWN_OPS:
        callee.role = "module"


_UNKNOWN_OPS = frozenset(
    [
        "parameter-of-function",
        "attribute",
        "unknown",
        "call",
        "element",
        "data-element",
        "construct",
        "load",
        "library-call",
        "method-call",
        "getitem",
    ]
)


def _infer_method_call(event: ev.MethodCall) -> None:
    """`diffusion.losses(net, x)`: a graph comes from a method that is handed a module, or whose receiver is one."""
    result = event.result
    if not result.feeds_backward or result.grad is False:
        return
    if event.receiver.role in ("module", "engine") or _takes_objects(event):
        result.makes_graph = True


def _infer_prepared(value: Value) -> None:
    """What prepare takes is a model, an optimizer, a scheduler or a loader."""
    if value.role is None and not isinstance(value, Choice | Container | FunctionValue):
        if "for" in value.uses:
            value.role = "loader"
        elif "step" not in value.uses and ("()" in value.uses or value.op != "library-call"):
            value.role = "module"


def _used_as_module(uses: frozenset[str], called: bool) -> bool:
    if "train" in uses and called:
        return True
    if any(use.startswith(("arg:torch.nn.parallel", "arg:torch.nn.DataParallel")) for use in uses):
        return True
    known = uses & _MODULE_USES
    telling = known & {"eval", "parameters", "named_parameters", "modules"}
    return bool(known) and "step" not in uses and (called or len(known) > 1 or bool(telling))


def _infer_by_uses(value: Value) -> None:
    uses = value.uses
    called = "()" in uses
    if "backward(loss)" in uses:
        if uses & _FABRIC_USES:
            value.role = "fabric"
        elif "step" in uses or called:
            value.role = "engine"
        elif uses & _ACCELERATOR_USES or value.attributes.keys() & _ACCELERATOR_USES:
            value.role = "accelerator"
        else:
            value.role = "accelerator" if "prepare" in uses else value.role
        return
    if uses & _FABRIC_USES:
        value.role = "fabric"
    elif "prepare" in uses and (uses | value.attributes.keys()) & _ACCELERATOR_USES - {"prepare"}:
        value.role = "accelerator"
    elif "scale" in uses and ("step" in uses or "update" in uses):
        value.role = "scaler"
    elif "step" in uses and not called and (uses & _OPTIMIZER_USES or "param_groups" in value.attributes):
        value.role = "optimizer"
    elif "step" in uses and uses & _SCHEDULER_USES:
        value.role = "scheduler"
    elif "step(closure)" in uses or "param_groups" in value.attributes:
        value.role = "optimizer"
    elif _used_as_module(uses, called):
        value.role = "module"


def _number_steps(trace: Trace) -> None:
    """Objects with nothing but `.step()`: the first to step after a backward is the optimizer, others are schedulers.

    Known optimizers come first; in a group (root or class) that has one, an object stepped between the same
    backward and the end of the loop body is a scheduler."""
    groups: dict[int, list[Event]] = defaultdict(list)
    for event in trace.events:
        key = id(event.root.owner) if event.root.owner is not None else id(event.root)
        groups[key].append(event)
    for group in groups.values():
        waiting = False
        known = any(
            isinstance(e, ev.OptimizerStep | ev.ScalerStep)
            or (isinstance(e, ev.MethodCall) and e.method == "step" and e.receiver.role == "optimizer")
            for e in group
        )
        backward_in_group = any(isinstance(e, ev.Backward) for e in group)
        for event in group:
            if isinstance(event, ev.Backward):
                waiting = True
            elif isinstance(event, ev.OptimizerStep):
                waiting = False
            elif isinstance(event, ev.MethodCall) and event.method == "step":
                receiver = event.receiver
                if receiver.role == "optimizer":
                    waiting = False
                elif receiver.role is None and not event.arguments and not event.keywords and event.discarded:
                    if "()" in receiver.uses or "reset" in receiver.uses:
                        continue
                    if waiting or (not known and not backward_in_group):
                        receiver.role = "optimizer"
                        waiting = False
                        known = True
                    elif known:
                        receiver.role = "scheduler"
                elif (
                    receiver.role is None
                    and event.discarded
                    and known
                    and not waiting
                    and len(event.arguments) == 1
                    and receiver.uses.isdisjoint({"()", "reset"})
                ):
                    receiver.role = "scheduler"


def _convert(trace: Trace) -> None:
    """Events of receivers that were unknown when they happened."""
    out: list[Event] = []
    for event in trace.events:
        if isinstance(event, ev.MethodCall):
            out.extend(_converted_method(event))
        elif isinstance(event, ev.FunctionCall) and event.callee is not None:
            out.append(_converted_call(event))
        elif isinstance(event, ev.Forward) and event.method not in _PASSES and not _may_compute(event):
            out.append(_asked_only(event))
        elif isinstance(event, ev.Backward) and event.via == "framework":
            role = event.through.role if event.through is not None else None
            event.via = {"accelerator": "accelerator", "fabric": "fabric", "engine": "deepspeed"}.get(
                role or "", "framework"
            )
            out.append(event)
        elif isinstance(event, ev.ModeChange) and event.module.role in ("trainer", "instance", "optimizer"):
            continue
        else:
            out.append(event)
    trace.events[:] = out


def _base(event: Event) -> dict[str, Any]:
    names = ("place", "root", "index", "function", "stack", "loops", "iterations", "guards", "contexts", "grad",
             "autocast", "autocast_dtype")  # fmt: skip
    return {name: getattr(event, name) for name in names}


def _role(value: Value) -> str | None:
    if value.role is None and isinstance(value, Choice):
        roles = {o.role for o in value.choices if not o.is_constant}
        return roles.pop() if len(roles) == 1 else None
    return value.role


def _converted_method(event: ev.MethodCall) -> list[Event]:
    role = _role(event.receiver)
    base = _base(event)
    if event.method == "step":
        if role == "optimizer":
            closure = event.arguments[0] if event.arguments else event.keywords.get("closure")
            return [ev.OptimizerStep(**base, optimizer=event.receiver, closure=closure)]
        if role == "scheduler":
            return [
                ev.SchedulerStep(
                    **base, scheduler=event.receiver, arguments=(*event.arguments, *event.keywords.values())
                )
            ]
        if role == "engine":
            return [ev.OptimizerStep(**base, optimizer=event.receiver, via="engine")]
        if role == "scaler" and event.arguments:
            optimizer = event.arguments[0]
            return [
                ev.ScalerStep(**base, scaler=event.receiver, optimizer=optimizer),
                ev.OptimizerStep(**base, optimizer=optimizer, via="scaler", scaler=event.receiver),
            ]
    if role == "scaler" and event.method == "update":
        return [ev.ScalerUpdate(**base, scaler=event.receiver)]
    if role == "accelerator" and event.method in ("gather", "gather_for_metrics", "reduce", "wait_for_everyone"):
        return [
            ev.Collective(
                **base, name=event.method, values=event.arguments, keywords=event.keywords, result=event.result,
                library="accelerate",
            )
        ]  # fmt: skip
    if role == "fabric" and event.method == "clip_gradients" and event.arguments:
        module = event.arguments[0]
        return [ev.ClipGradients(**base, parameters=module, of=(module,), how="fabric")]
    if role == "accelerator" and event.method == "prepare":
        for value in event.arguments:
            value.prepared = event.receiver
        return [ev.Prepare(**base, framework=event.receiver, objects=event.arguments, results=event.arguments)]
    if event.arguments and all(value.role == "array" for value in event.arguments):
        # A method that is given NumPy arrays computes with those: normalising, clipping, unscaling.
        return [event]
    if role in ("module", "engine") and event.method not in _NOT_FORWARD and event.receiver.op != "super":
        forward = ev.Forward(
            **base, module=event.receiver, inputs=event.arguments, keywords=event.keywords, output=event.result,
            method=event.method, mode=event.mode, mode_set_at=event.mode_set_at, bypasses=event.bypasses,
        )  # fmt: skip
        if not _may_compute(forward):
            return [event]
        event.result.callee = event.receiver
        event.result.op = "call"
        return [forward]
    return [event]


#: Ways to call a module that are passes whatever they are given.
_PASSES = frozenset(["__call__", "forward", "functional_call", "generate"])
_NO_INPUT = frozenset(["module", "optimizer", "scheduler", "loader", "string", "device", "dataset", "parameters"])


def _may_compute(forward: ev.Forward) -> bool:
    """Whether a method of a module of unknown class may be a pass: it is given something that may be a tensor, or a
    backward starts from what it returns."""
    output = forward.output
    if output.feeds_backward or output.feeds_autograd_grad or output.feeds_cut_loss:
        return True
    if not computes(forward.method):
        return False
    return any(_perhaps_tensor(value) for value in (*forward.inputs, *forward.keywords.values()))


def _perhaps_tensor(value: Value) -> bool:
    if isinstance(value, Container):
        return value.open or any(_perhaps_tensor(part) for part in value.elements())
    for option in value.options():
        if not (option.is_constant or option.role in _NO_INPUT or isinstance(option, FunctionValue)):
            return True
    return False


def _asked_only(forward: ev.Forward) -> ev.MethodCall:
    """A method that only describes or changes the module: what it returns is no result of the network."""
    forward.output.op = "method-call"
    return ev.MethodCall(
        **_base(forward), receiver=forward.module, method=forward.method, arguments=forward.inputs,
        keywords=forward.keywords, result=forward.output, mode=forward.mode, mode_set_at=forward.mode_set_at,
        bypasses=forward.bypasses,
    )  # fmt: skip


def _converted_call(event: ev.FunctionCall) -> Event:
    assert event.callee is not None
    if _role(event.callee) not in ("module", "engine"):
        return event
    return ev.Forward(
        **_base(event), module=event.callee, inputs=event.arguments, keywords=event.keywords, output=event.result,
        mode=event.mode, mode_set_at=event.mode_set_at, bypasses=event.bypasses,
    )  # fmt: skip


def _loops(trace: Trace) -> None:
    """Which loops train, and which of them hold the single steps."""
    trains: dict[int, Loop] = {}
    for event in trace.events:
        if isinstance(event, ev.Backward):
            for loop in event.loops:
                loop.trains = True
                trains[id(loop)] = loop
            if event.loops:
                event.loops[-1].innermost_training = True
    for event in trace.events:
        if not isinstance(event, ev.Backward):
            continue
        for position, loop in enumerate(event.loops):
            if any(inner.kind not in ("literal",) for inner in event.loops[position + 1 :]):
                loop.innermost_training = False
            elif all(inner.kind == "literal" for inner in event.loops[position + 1 :]):
                loop.innermost_training = True
    for event in trace.events:
        if isinstance(event, ev.Iterate) and event.iterates is not None:
            loop = event.subject
            if loop.kind == "iterable":
                source = event.iterates
                while source.op in ("enumerate", "tqdm", "passthrough", "zip") and source.parents:
                    source = source.parents[0]
                if source.role == "loader":
                    loop.kind = "loader"
                elif source.role is None and loop.trains and source.op in (
                    "parameter-of-function", "attribute", "call", "unknown", "getitem"):  # fmt: skip
                    source.role = "loader"
                    loop.kind = "loader"


def _crossings(trace: Trace) -> None:
    """Loops that reset a container or accumulator are not crossed by what it holds."""
    for event in trace.events:
        if isinstance(event, ev.Store):
            holders = [
                v for v in (event.container if event.how != "attribute" else None, event.result) if v is not None
            ]
            reset: frozenset[int] = frozenset()
            for holder in holders:
                reset |= holder.reset_in
            if event.how == "attribute":
                reset |= event.value.reset_in
            if event.previous is not None and event.how == "accumulate":
                reset |= event.previous.reset_in
            if reset:
                event.crossing = tuple(loop for loop in event.crossing if id(loop) not in reset)


def _define_modules(trace: Trace) -> None:
    """One ModuleDefined for each class that is a module."""
    stores: dict[int, list[ev.Store]] = defaultdict(list)
    for event in trace.events:
        if isinstance(event, ev.Store) and event.how == "attribute" and event.container is not None:
            stores[id(event.container)].append(event)
    for cls in trace.classes:
        if cls.family not in ("module", "lightning-module"):
            continue
        instance = trace.instances.get(id(cls))
        if instance is None:
            continue
        registered: dict[str, Value] = {}
        outside: list[tuple[str, str, Value, Any]] = []
        for event in stores.get(id(instance), ()):
            value = event.value
            kind = _unregistered_kind(value)
            if kind:
                if not any(name == event.attribute for name, *_ in outside):
                    outside.append((event.attribute, kind, value, event.place))
            elif value.role in ("module", "parameter") or value.buffer:
                registered[event.attribute] = value
        root = next((r for r in trace.roots if r.owner is instance), trace.roots[0])
        trace.events.append(
            ev.ModuleDefined(
                place=cls.place,
                root=root,
                cls=cls,
                instance=instance,
                registered=registered,
                unregistered=tuple(outside),
            )
        )


def _doubt_by_candidates(trace: Trace) -> None:
    """An unknown module may be one of the project's: where such a class returns an element without its graph, the
    same element of the unknown module's result is not known to carry one."""
    candidates: list[tuple[Any, Value]] = []
    for event in trace.events:
        if isinstance(event, ev.Return) and isinstance(event.value, Container) and event.function.endswith(".forward"):
            owner = event.root.owner
            if owner is not None and owner.cls is not None and owner.cls.family == "module":
                method = owner.cls.method("forward")
                if isinstance(method, FunctionValue):
                    candidates.append((method.node.args, event.value))
    if not candidates:
        return
    for event in trace.events:
        if not isinstance(event, ev.Forward) or event.module.origin.cls is not None or event.module.origin.made_by:
            continue
        count = len(event.inputs) + len(event.keywords)
        for spec, returned in candidates:
            names = len(spec.posonlyargs) + len(spec.args) - 1
            if not names - len(spec.defaults) <= count <= names:
                continue
            for position, element in enumerate(returned.elements()):
                taken = event.output.attributes.get(f"[{position}]")
                if taken is not None and element.carries_graph is False:
                    taken._graph = None


def _nested(container: Container) -> list[Value]:
    """The elements of a container and of the plain containers in it."""
    found = list(container.elements())
    for value in found:
        if isinstance(value, Container) and not value.registered and len(found) < 60:
            found += value.elements()
    return found


def _unregistered_kind(value: Value) -> str:
    for option in value.options():
        if isinstance(option, Container) and not option.registered:
            for item in _nested(option):
                if item.role == "module" and item.requires_grad is not False:
                    return "module"
                if item.role == "parameter":
                    return "parameter"
        elif option.op in _COPIES and option.parents and option.parents[0].made_by == "torch.nn.Parameter":
            return "copied-parameter"
        elif option.role == "tensor" and not option.buffer and option.requires_grad and _created(option):
            return "leaf"
        elif option.role == "tensor" and not option.buffer and _created(option):
            return "tensor"
    return ""


#: What gives a tensor that is computed from its operand (`to` only where something changes).
_COPIES = frozenset(["to", "cuda", "half", "double", "bfloat16", "clone", "type"])

#: Operations that only arrange what a creating function made.
_ARRANGES = frozenset(["repeat", "view", "reshape", "unsqueeze", "expand", "permute", "transpose", "flatten", "float"])
_ARRANGES |= {"tril", "triu", "t", "flip", "bool", "long", "int", "clone", "contiguous", "squeeze", "repeat_interleave"}


def _scaled(value: Value) -> bool:
    """A tensor that a number was added to, or that was multiplied by one."""
    rest = value.parents[1:]
    return (
        value.op.startswith("operator")
        and bool(rest)
        and all(part.is_constant or part.role == "number" or part.op == "parameter-of-function" for part in rest)
    )


def _created(value: Value) -> bool:
    """Whether a tensor was created on the host: by a creating function, arranged or not."""
    while value.parents and (value.op in _ARRANGES or _scaled(value)):
        value = value.parents[0]
    from_numbers = value.detached == "copied" and not any(
        part.role == "tensor" or part.op in ("call", "method-call", "load", "library-call")
        for parent in value.parents
        for part in parent.ancestors(limit=20)
    )
    return value.detached == "created" or from_numbers
