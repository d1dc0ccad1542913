"""A model is evaluated in training mode."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.evaluation import evaluation_loop, forwards_by_place, trains_nothing
from engine.rules.facts.identity import same
from engine.rules.facts.layers import has_mode_layers
from engine.rules.remedies.modes import evaluation_mode
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace, Value
from engine.trace.events import Forward, FunctionCall, LossCall, MethodCall, Store

_LOOPS = frozenset({"loader", "iterable", "comprehension"})


@rule("PF302", "validation-without-eval", "error", "A model is evaluated while it is in training mode")
def check(trace: Trace) -> Iterator[Draft]:
    for forwards in forwards_by_place(trace):
        if any(forward.mode == "eval" for forward in forwards) or not all(map(trains_nothing, forwards)):
            continue
        for forward in forwards:
            loop = evaluation_loop(forward)
            if loop is None or loop.kind not in _LOOPS or forward.grad is not False or not _used(trace, forward):
                continue
            layers = has_mode_layers(forward.module)
            explicit = forward.mode == "train" and forward.mode_set_at is not None
            trained = _trained(trace, forward)
            if layers is False or not trained or not (explicit or (layers and not forward.mode)):
                continue
            evidence = [Step(forward.mode_set_at, "put into training mode here")] if forward.mode_set_at else []
            evidence += [Step(trained.place, "the same model is trained here"), Step(loop.place, "the evaluation loop")]
            yield Draft(
                forward.place,
                "This evaluation pass runs the model in training mode: dropout stays active and batch norm uses and "
                "updates batch statistics, so the figures are off. No `eval()` was found on this path.",
                tuple(evidence),
                fix=evaluation_mode(forward, loop),
            )
            break


def _used(trace: Trace, forward: Forward) -> bool:
    """Whether anything is made of the output: a pass without use renews batch statistics."""
    output = forward.output
    if output.uses or forward.loop is None:
        return bool(output.uses)
    for event in trace.within(forward.loop, FunctionCall, LossCall, MethodCall, Store):
        given: tuple[Value | None, ...] = ()
        if isinstance(event, LossCall):
            given = (event.input, event.target)
        elif isinstance(event, Store):
            given = (event.value,)
        elif isinstance(event, (FunctionCall, MethodCall)):
            given = event.arguments
        if any(value is output for value in given):
            return True
    return False


def _trained(trace: Trace, forward: Forward) -> Forward | None:
    return next(
        (
            other
            for other in trace.of(Forward)
            if other.output.feeds_backward
            and (other.place, other.stack) != (forward.place, forward.stack)
            and same(other.module, forward.module)
        ),
        None,
    )
