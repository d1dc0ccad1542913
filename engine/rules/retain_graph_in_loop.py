"""A graph is retained that nothing walks again."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.remedies.detaching import graph_freed
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import AutogradGrad, Backward, Forward


@rule("PF105", "retain-graph-in-loop", "warning", "retain_graph=True on the only backward of a step")
def check(trace: Trace) -> Iterator[Draft]:
    for backward in trace.of(Backward):
        loop = next((loop for loop in reversed(backward.loops) if loop.innermost_training), None)
        if backward.retain_graph is not True or backward.create_graph is not False or loop is None:
            continue
        others = [
            b
            for b in trace.within(loop, Backward)
            if b.place != backward.place and not b.excludes(backward) and _shares(b, backward)
        ]
        if others or any(True for _ in trace.within(loop, AutogradGrad)) or backward.loop is not loop:
            continue
        if _reaches_back(trace, backward):
            continue
        yield Draft(
            backward.place,
            "`retain_graph=True` on the only backward of a step keeps its saved activations alive until the "
            "next one, and "
            "nothing walks the graph again.",
            (Step(loop.place, "no other backward in this loop"),),
            fix=graph_freed(trace, backward),
        )


def _shares(other: Backward, backward: Backward) -> bool:
    """Whether another loss is made of what this graph computes, detached or not; in doubt it is."""
    own = {id(value) for value in backward.loss.graph_ancestors() if value.role != "parameter"}
    return not own or any(id(value) in own for value in other.loss.ancestors())


def _reaches_back(trace: Trace, backward: Backward) -> bool:
    """Whether the loss reaches into earlier iterations, or into a graph that was made before the loop."""
    loop = backward.loop
    outputs = {id(forward.output) for forward in trace.of(Forward)}
    for value in backward.loss.graph_ancestors():
        if value.role == "parameter":
            continue
        if trace.carried(value, backward) or (id(value) in outputs and loop not in value.loops):
            return True
    return False
