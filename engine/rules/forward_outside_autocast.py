"""The expensive pass runs outside autocast, only the loss inside."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.order import parted
from engine.rules.remedies.frameworks import into_context
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import Backward, Event, Forward, FunctionCall, LossCall


@rule("PF803", "forward-outside-autocast", "warning", "The forward pass is outside of autocast")
def check(trace: Trace) -> Iterator[Draft]:
    forwards = {id(f.output): f for f in trace.of(Forward) if f.module.has_parameters is not False}
    losses = {id(loss.output): loss for loss in trace.of(LossCall)}
    # An unknown criterion, called on what a network returned.
    criteria: dict[int, Event] = {
        id(call.result): call for call in trace.of(FunctionCall) if not call.name and call.autocast is not False
    }
    if not criteria and not any(loss.autocast is not False for loss in losses.values()):
        return
    for backward in trace.of(Backward):
        chain = list(backward.loss.graph_ancestors())
        passes = [forwards[id(value)] for value in chain if id(value) in forwards]
        computed = [losses[id(value)] for value in chain if id(value) in losses]
        inside: list[Event] = [loss for loss in computed if loss.autocast is not False]
        if not computed and id(backward.loss) in criteria:
            inside = [criteria[id(backward.loss)]]
        outside = [forward for forward in passes if forward.autocast is False]
        if not inside or not outside or len(outside) != len(passes):
            continue
        context = inside[0].context("autocast")
        if context is None:
            continue
        yield Draft(
            parted(outside[0], inside[0]),
            "The model runs in float32 here: autocast is entered only afterwards, for the loss. Put the forward "
            "pass inside.",
            (Step(context.place, "autocast begins here"), Step(inside[0].place, "only this is inside")),
            fix=into_context(outside[0], context.place) if len(outside) == 1 else None,
        )
