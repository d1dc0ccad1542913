"""After the run: what unknown objects are, by how they were used."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from engine.frameworks.trainers import NOT_MODELS
from engine.trace import events as ev
from engine.trace.events import Event
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


def _values_of(value: Value) -> tuple[Value, ...]:
    return (value, *(o for o in value.options() if o is not value))


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


def infer(trace: Trace, values: list[Value]) -> None:
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


def number_steps(trace: Trace) -> None:
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
