"""Outputs of the network are brought to NumPy in each training step."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import DeviceSync, Forward


@rule("PF805", "numpy-round-trip", "warning", "Outputs are copied to NumPy in each training step")
def check(trace: Trace) -> Iterator[Draft]:
    outputs = {id(forward.output): forward for forward in trace.of(Forward) if forward.grad is not False}
    for sync in trace.of(DeviceSync):
        loop = next((loop for loop in sync.loops if loop.innermost_training), None)
        if sync.how != "numpy" or sync.value is None or loop is None:
            continue
        if any(guard.kinds & {"modulo", "debug", "except", "rank"} for guard in sync.guards):
            continue
        made = next((part for part in sync.value.ancestors(limit=400) if id(part) in outputs), None)
        if made is None or not made.feeds_backward:
            continue
        yield Draft(
            sync.place,
            "The outputs are copied to NumPy in each step: the host waits for the device, and the GPU has "
            "nothing queued "
            "meanwhile. Compute this with tensors on the device and read it once per logging interval.",
            (Step(outputs[id(made)].place, "computed on the device"), Step(loop.place, "the training loop")),
        )
