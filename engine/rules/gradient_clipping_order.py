"""Gradients are clipped at a moment when it does not do what is meant."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import identities, modules_behind, same
from engine.rules.facts.order import by_iteration, nearest_before
from engine.rules.facts.training import StepScope, clears, modulo_guard, step_scopes
from engine.rules.remedies.order import clip_before_step
from engine.rules.remedies.stepping import unscaled
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import Backward, ClipGradients, Event, OptimizerStep, Unscale, ZeroGrad


@rule("PF204", "gradient-clipping-order", "error", "Gradients are clipped at the wrong moment")
def check(trace: Trace) -> Iterator[Draft]:
    for scope in (*step_scopes(trace), *_plain_functions(trace)):
        for events in by_iteration(scope.events, scope.loop)[:1]:
            for clip in events:
                if isinstance(clip, ClipGradients) and not clip.measures_only and _belongs(clip, scope):
                    yield from _scaled(events, clip, scope)
                    yield from _late(events, clip, scope)
                    yield from _each_micro_batch(events, clip, scope)


def _plain_functions(trace: Trace) -> Iterator[StepScope]:
    """Steps without a loop around them in what was seen: one pass of their function."""
    for step in trace.of(OptimizerStep):
        if trace.step_loop(step) is None and step.via != "engine":
            family: Iterator[Event] = trace.family(step)
            yield StepScope(step, None, tuple(event for event in family if event.root is step.root))


def _belongs(clip: ClipGradients, scope: StepScope) -> bool:
    if clip.excludes(scope.step):
        return False
    held = modules_behind(scope.step.optimizer)
    clipped = identities(*clip.of)
    return not held or not clipped or not held.isdisjoint(clipped) or same(clip.parameters, scope.step.optimizer)


def _scaled(events: list[Event], clip: ClipGradients, scope: StepScope) -> Iterator[Draft]:
    step = scope.step
    if step.via != "scaler" or clip.index > step.index:
        return
    backward = nearest_before(events, clip, Backward)
    if not isinstance(backward, Backward) or backward.via != "scaler":
        return
    between = [e for e in events if isinstance(e, Unscale) and backward.index < e.index < clip.index]
    if any(not unscale.excludes(clip) and not _now_and_then(unscale, clip, step) for unscale in between):
        return
    yield Draft(
        clip.place if not clip.stack or clip.function == step.function else clip.stack[-1],
        "These gradients are still multiplied by the loss scale: the clipping threshold is compared with scaled norms. "
        "Call `scaler.unscale_(optimizer)` before clipping.",
        (Step(backward.place, "the scaled loss is back-propagated here"), Step(step.place, "unscaled only here")),
        fix=unscaled(clip, step) if clip.function == step.function else None,
    )


def _now_and_then(unscale: Unscale, clip: ClipGradients, step: OptimizerStep) -> bool:
    """Whether gradients are unscaled once in some iterations only, and clipped and stepped in each."""
    guard = unscale.guarded("modulo")
    return guard is not None and guard not in clip.guards and guard not in step.guards


def _late(events: list[Event], clip: ClipGradients, scope: StepScope) -> Iterator[Draft]:
    step = scope.step
    inside = [e for e in events if isinstance(e, (Backward, ClipGradients, ZeroGrad))]
    if any(
        isinstance(e, ClipGradients) and e is not clip and e.index < step.index and not e.measures_only for e in inside
    ):
        return
    backward = nearest_before(events, clip, Backward)
    if clip.index > step.index and backward is not None and backward.index < step.index:
        yield Draft(
            clip.place,
            "Clipping comes after the optimizer's step: the step has used the unclipped gradients.",
            (Step(step.place, "the step"), Step(backward.place, "the backward that it uses")),
            fix=clip_before_step(clip, step),
        )
    first = next((e for e in inside if isinstance(e, Backward)), None)
    if first is not None and clip.index < first.index < step.index and not clip.loops[len(first.loops) :]:
        yield Draft(
            clip.place,
            "Clipping comes before the backward that makes the gradients: the step uses them unclipped.",
            (Step(first.place, "the backward"), Step(step.place, "the step")),
            fix=clip_before_step(clip, step),
        )


def _each_micro_batch(events: list[Event], clip: ClipGradients, scope: StepScope) -> Iterator[Draft]:
    guard = modulo_guard(scope.step, scope.loop)
    if guard is None or guard in clip.guards or clip.index > scope.step.index or clip.guarded("modulo"):
        return
    zeros = [e for e in events if isinstance(e, ZeroGrad) and clears(e, scope.step.optimizer)]
    if not zeros or not all(guard in zero.guards for zero in zeros):
        return
    yield Draft(
        clip.place,
        "Clipping after each micro-batch also shrinks what earlier ones have accumulated; clip once, before the step.",
        (Step(guard.place, "the step is taken only when this holds"), Step(scope.step.place, "the step")),
        fix=clip_before_step(clip, scope.step),
    )
