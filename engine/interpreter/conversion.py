"""Events of receivers that were unknown when they happened, once it is known what those are."""

from __future__ import annotations

from typing import Any

from engine.frameworks.torch_methods import computes
from engine.trace import events as ev
from engine.trace.events import Event
from engine.trace.trace import Trace
from engine.trace.values import Choice, Container, FunctionValue, Value

_NOT_FORWARD = frozenset(["init_weights", "config", "log"])


#: Ways to call a module that are passes whatever they are given.
_PASSES = frozenset(["__call__", "forward", "functional_call", "generate"])


_NO_INPUT = frozenset(["module", "optimizer", "scheduler", "loader", "string", "device", "dataset", "parameters"])


def convert(trace: Trace) -> None:
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
