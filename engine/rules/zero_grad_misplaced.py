"""Gradients are cleared before they were used."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import identities, modules_behind, same
from engine.rules.facts.order import by_iteration, nearest_before
from engine.rules.facts.training import StepScope, backwards_before, called_steps, modulo_guard, step_scopes
from engine.rules.remedies.order import clear_after_step
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import Backward, Event, Forward, OptimizerStep, ZeroGrad


@rule("PF206", "zero-grad-misplaced", "error", "Gradients are cleared before the optimizer has used them")
def check(trace: Trace) -> Iterator[Draft]:
    for scope in step_scopes(trace):
        for events in by_iteration(scope.events, scope.loop)[:1]:
            for zero in events:
                if (
                    isinstance(zero, ZeroGrad)
                    and _certainly_clears(trace, zero, scope)
                    and not zero.excludes(scope.step)
                ):
                    yield from _erased(trace, events, zero, scope)
                    yield from _micro_batch(trace, zero, scope)
                    yield from _accumulate_context(trace, events, zero, scope)
    for scope in called_steps(trace):
        for zero in scope.events:
            if isinstance(zero, ZeroGrad) and same(zero.target, scope.step.optimizer) and not zero.excludes(scope.step):
                yield from _erased(trace, list(scope.events), zero, scope)


def _certainly_clears(trace: Trace, zero: ZeroGrad, scope: StepScope) -> bool:
    step = scope.step
    if same(zero.target, step.optimizer):
        return True
    if not modules_behind(step.optimizer) and len({id(s.optimizer) for s in trace.family(step, OptimizerStep)}) == 1:
        # Nothing tells what the only optimizer holds: the one model that all losses come from.
        made = [value for b in backwards_before(scope) for value in b.loss.graph_ancestors()]
        outputs = {id(value) for value in made}
        models = [f.module for f in scope.of(Forward) if isinstance(f, Forward) and id(f.output) in outputs]
        learning = [model for model in models if model.has_parameters is not False]
        return bool(learning) and all(same(model, zero.target) for model in learning)
    return not modules_behind(step.optimizer).isdisjoint(identities(zero.target))


def _erased(trace: Trace, events: list[Event], zero: ZeroGrad, scope: StepScope) -> Iterator[Draft]:
    step = scope.step
    if zero.index > step.index:
        return
    backward = nearest_before(events, zero, Backward)
    if backward is None or modulo_guard(zero, scope.loop):
        return
    for other in events:
        if isinstance(other, (Backward, OptimizerStep)) and zero.index < other.index < step.index:
            return
        if isinstance(other, OptimizerStep) and backward.index < other.index < zero.index:
            return
    yield Draft(
        zero.place,
        "Gradients are cleared between the backward and the step: the optimizer sees none of them.",
        (Step(backward.place, "computed here"), Step(step.place, "used only here")),
        fix=clear_after_step(trace, zero, step),
    )


def _micro_batch(trace: Trace, zero: ZeroGrad, scope: StepScope) -> Iterator[Draft]:
    guard = modulo_guard(scope.step, scope.loop)
    if guard is None or zero.guarded("modulo") or scope.loop not in zero.loops or zero.loop is not scope.step.loop:
        return
    backwards = [b for b in backwards_before(scope) if guard not in b.guards]
    if not backwards:
        return
    yield Draft(
        zero.place,
        "Gradients are cleared in each iteration while the optimizer steps only every "
        f"{f'`{guard.divisor}`' if guard.divisor else 'n'} iterations: only the last micro-batch counts.",
        (Step(guard.place, "steps only when this holds"), Step(backwards[0].place, "the backward of each micro-batch")),
        fix=clear_after_step(trace, zero, scope.step),
    )


def _accumulate_context(trace: Trace, events: list[Event], zero: ZeroGrad, scope: StepScope) -> Iterator[Draft]:
    context = zero.context("accumulate")
    if context is None and zero.target.prepared is not None:
        # What `accumulate` decides for this iteration holds on after its block.
        entered = (event.context("accumulate") for event in events if event.index < zero.index)
        context = next((block for block in entered if block is not None), None)
    if context is None or zero.index > scope.step.index or zero.guarded("modulo"):
        return
    later = [e for e in events if isinstance(e, Backward) and zero.index < e.index < scope.step.index]
    earlier = [e for e in events if isinstance(e, Backward) and e.index < zero.index]
    if not later or earlier:
        return
    yield Draft(
        zero.place,
        "Under `accumulate` the optimizer clears only in the iteration that synchronises: before its backward, that "
        "drops what the earlier micro-batches have accumulated. Clear after the step.",
        (Step(context.place, "accumulating here"), Step(scope.step.place, "the step")),
        fix=clear_after_step(trace, zero, scope.step),
    )
