"""An evaluation loop records an autograd graph that nothing uses."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.evaluation import (
    call_in_loop,
    evaluation_loop,
    forwards_by_place,
    frozen,
    inputs_want_gradients,
    trains_nothing,
)
from engine.rules.facts.retention import kept_graphs
from engine.rules.remedies.modes import without_gradients
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import Forward, GradModeChange


@rule("PF301", "eval-without-no-grad", "warning", "An evaluation loop runs the model with gradients recorded")
def check(trace: Trace) -> Iterator[Draft]:
    reported = set()
    calls = {forward.place for forward in trace.of(Forward)}
    retaining = {loop.place for store in kept_graphs(trace) for loop in store.loops}
    for forwards in forwards_by_place(trace):
        if not all(trains_nothing(forward) for forward in forwards):
            continue
        for forward in forwards:
            loop = evaluation_loop(forward)
            if loop is None or loop.place in retaining or not _records(forward) or calls & set(forward.stack):
                continue
            if (id(loop), id(forward.module)) in reported or loop.place in reported:
                continue
            reported |= {(id(loop), id(forward.module)), loop.place}
            evidence = [Step(loop.place, "the loop around it: no backward in it")]
            if forward.mode_set_at is not None:
                evidence.insert(0, Step(forward.mode_set_at, "put into evaluation mode here; that leaves autograd on"))
            evidence += [Step(place, "called from here, with gradients on") for place in forward.stack[-1:]]
            evidence += [
                Step(change.place, "called without `with`: its effect ends here")
                for change in trace.family(forward, GradModeChange)
                if change.discarded
            ][:1]
            yield Draft(
                call_in_loop(forward, loop),
                "This evaluation pass records an autograd graph that no backward uses: activations of each batch are "
                "held for it. Run the loop under `torch.no_grad()` or `torch.inference_mode()`.",
                tuple(evidence),
                fix=without_gradients(trace, call_in_loop(forward, loop), loop),
            )


def _records(forward: Forward) -> bool:
    return (
        forward.grad is True
        and forward.mode == "eval"
        and forward.output.carries_graph is not False
        and not frozen(forward.module)
        and not inputs_want_gradients(forward)
    )
