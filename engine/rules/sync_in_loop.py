"""The host waits for the device in each training step."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.findings import Severity
from engine.rules.rule import Draft, rule
from engine.trace import Container, Loop, Step, Trace, Value
from engine.trace.events import (
    Backward,
    DeviceSync,
    Forward,
    FunctionCall,
    InPlaceUpdate,
    MethodCall,
    Report,
    TensorCreated,
    Transfer,
)

_CACHE = frozenset({"empty_cache", "gc"})
_READS = frozenset({"item", "float", "int", "bool", "tolist", "numpy", "cpu", "print", "format"})


@rule("PF801", "sync-in-loop", "warning", "Each training step waits for the device")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _written_back(trace)
    outputs = {id(forward.output) for forward in trace.of(Forward) if forward.grad is not False}
    noted: set[int] = set()
    # A counter that starts at zero makes the first of many turns one that reports.
    seldom = {(sync.place, sync.stack) for sync in trace.of(DeviceSync) if _seldom(sync)}
    for sync in trace.of(DeviceSync):
        loop = _training_loop(sync)
        if loop is None or (sync.place, sync.stack) in seldom:
            continue
        if sync.how in _CACHE:
            if sync.how == "empty_cache":
                yield Draft(
                    sync.place,
                    "Emptying the allocator's cache in each step makes the next step allocate from the driver again "
                    "and waits for the device; it frees nothing that the step could not reuse.",
                    (Step(loop.place, "the training loop"),),
                )
            continue
        if sync.how == "synchronize" and not _timed(trace, loop):
            yield Draft(
                sync.place,
                "This waits for the device in each step, and nothing here measures time: the host can not queue the "
                "next step meanwhile. Leave it out.",
                (Step(loop.place, "the training loop"),),
                severity="note",
            )
        if sync.how not in _READS or sync.value is None:
            continue
        if not any(id(value) in outputs for value in sync.value.ancestors(limit=400)):
            yield from _of_gradients(trace, sync, loop)
            continue
        severity, how = _weight(trace, sync, loop)
        if severity is None or (severity == "note" and id(loop) in noted):
            continue
        if severity == "note":
            noted.add(id(loop))
        yield Draft(
            sync.place,
            f"{how}: the host waits for the device here in each step. Keep a detached tensor on the device and read it "
            "once per logging interval.",
            (Step(loop.place, "the training loop"), Step(sync.value.place, "made on the device here")),
            severity=severity,
        )


def _of_gradients(trace: Trace, sync: DeviceSync, loop: Loop) -> Iterator[Draft]:
    """A number of each parameter's gradient, in a loop over the parameters."""
    made_from = list(sync.value.ancestors(limit=20)) if sync.value is not None else []
    gradient = next((part for part in made_from if part.op == "grad"), None)
    over = sync.loops[-1] if sync.loops[-1] is not loop else None
    if gradient is None or over is None or over.kind == "literal" or sync.how not in ("item", "float", "tolist"):
        return
    if not any(backward.index < sync.index for backward in trace.within(loop, Backward)) or not _on_device(trace, sync):
        return
    yield Draft(
        sync.place,
        "A number is read from the device for every parameter: the host waits that often in each step. Stack the norms "
        "and read one tensor, or let `clip_grad_norm_` compute the total.",
        (Step(loop.place, "the training loop"), Step(over.place, "once for each parameter")),
    )


def _written_back(trace: Trace) -> Iterator[Draft]:
    """A number that is read from the device, only to be stored in a tensor there."""
    there = {id(created.output) for created in trace.of(TensorCreated) if created.device_given}
    for update in trace.first_per_place(trace.of(InPlaceUpdate)):
        if update.how != "item" or update.loop is None or update.loop.kind == "literal":
            continue
        held = next((option for option in update.target.options() if id(option) in there), None)
        if held is None or held.device.startswith("cpu"):
            continue
        read = [option for operand in update.operands for option in operand.options() if option.op in ("item", "float")]
        source = next(
            (option.parents[0] for option in read if option.parents and option.parents[0].role == "tensor"), None
        )
        if source is not None and not source.device.startswith("cpu"):
            yield Draft(
                update.place,
                "A number is read from the device and written into a tensor that is on the device: the host waits in "
                "each iteration for nothing. Store the detached tensor itself.",
                (Step(held.place, "a tensor on the device"),),
                severity="note",
            )


def _training_loop(sync: DeviceSync) -> Loop | None:
    return next((loop for loop in sync.loops if loop.innermost_training), None)


def _seldom(sync: DeviceSync) -> bool:
    loop = _training_loop(sync)
    return loop is not None and any(
        guard.kinds & {"modulo", "debug", "except", "rank"}
        for guard in sync.guards
        if guard.place.path != loop.place.path or guard.place >= loop.place
    )


def _by_name(nested: Loop, training: Loop) -> bool:
    """A loop over the entries of a dictionary, or over what was there before the step: a few losses, metrics or levels
    of features, and not the samples of a batch."""
    over = nested.iterates
    if over is None:
        return False
    if over.op == "items" or isinstance(over, Container):
        return True
    counted = over.parents[0] if over.op == "enumerate" and over.parents else over
    return all(_of_the_model(option, training) or _made_before(option, training) for option in counted.options())


def _of_the_model(value: Value, training: Loop) -> bool:
    """An attribute of an object that no data of this loop made: a setting, or the strides of a detector."""
    return value.op == "attribute" and not any(
        part.op in _FROM_DATA and training in part.loops for part in value.ancestors(limit=20)
    )


_FROM_DATA = frozenset({"data-element", "forward-result", "call", "method-call"})


def _made_before(value: Value, training: Loop) -> bool:
    return value.role == "tensor" and value.op != "parameter-of-function" and training not in value.loops


def _timed(trace: Trace, loop: Loop) -> bool:
    """Whether the loop measures time, or records memory or a profile."""
    called = [call.name for call in trace.within(loop, FunctionCall)]
    called += [call.method for call in trace.within(loop, MethodCall)]
    return any(_MEASURES.search(name) for name in called)


_MEASURES = re.compile(r"time|perf_counter|elapsed|record|profil|nvtx|memory_|tic$|toc$|start$|stop$", re.IGNORECASE)


def _weight(trace: Trace, sync: DeviceSync, loop: Loop) -> tuple[Severity | None, str]:
    """How bad it is: once per sample is worse than once per step for a line of log."""
    inner = sync.loops[sync.loops.index(loop) + 1 :]
    per_element = [nested for nested in inner if nested.kind != "literal" and not _by_name(nested, loop)]
    if per_element and sync.how not in ("item", "float", "int", "tolist"):
        return None, ""
    if per_element:
        computing = any(True for _ in trace.within(per_element[-1], Forward))
        if computing or not _on_device(trace, sync):
            return None, ""
        return "warning", "A value is read from the device for every element of the batch"
    if sync.how == "numpy":
        return None, ""
    if sync.how in ("print", "format") and sync.value is not None and sync.value.role != "tensor":
        return None, ""
    if sync.how in ("item", "float", "print", "format") and _reported_each_step(trace, sync):
        return "note", "The value is reported in each step"
    if sync.how in ("item", "float", "int", "tolist"):
        return "note", "A number is read from the device"
    if sync.how == "bool" and sync.value is not None and sync.value.role == "tensor":
        return "note", "A condition asks for a value on the device"
    return None, ""


def _reported_each_step(trace: Trace, sync: DeviceSync) -> bool:
    return any(
        report.how in ("print", "progress")
        and report.place.path == sync.place.path
        and report.place.line <= sync.place.line <= max(report.place.end_line, report.place.line)
        for report in trace.of(Report)
    )


def _on_device(trace: Trace, sync: DeviceSync) -> bool:
    """Whether the same code moves data to a GPU."""
    moved = (t for t in trace.family(sync, Transfer) if t.how != "cpu" and not t.device.startswith("cpu"))
    return any(True for _ in moved)
