"""The clipped parameters are not those that are stepped."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import identities, modules_behind
from engine.rules.facts.training import step_scopes
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import ClipGradients, OptimizerStep


@rule("PF213", "clip-wrong-parameters", "error", "Gradients of another model are clipped")
def check(trace: Trace) -> Iterator[Draft]:
    for scope in step_scopes(trace):
        steps = [event for event in scope.of(OptimizerStep) if isinstance(event, OptimizerStep)]
        for clip in scope.of(ClipGradients):
            assert isinstance(clip, ClipGradients)
            following = [step for step in steps if step.index > clip.index]
            if not clip.of or clip.measures_only or not following:
                continue
            clipped = identities(*clip.of)
            held = [modules_behind(step.optimizer) for step in steps]
            if not all(held) or any(not clipped.isdisjoint(modules) for modules in held):
                continue
            if any(_related(module, step) for module in clip.of for step in steps):
                continue
            yield Draft(
                clip.place,
                "These parameters belong to a model that no optimizer of this loop steps; the gradients that "
                "are stepped "
                "are not clipped.",
                (Step(following[0].place, "steps on other parameters"),),
            )


def _related(module: object, step: OptimizerStep) -> bool:
    """Whether one is a part of the other."""
    held = modules_behind(step.optimizer)
    value = module
    for _ in range(8):
        if value is None:
            break
        if id(value.origin) in held:  # type: ignore[attr-defined]
            return True
        value = value.member_of  # type: ignore[attr-defined]
    for part in step.optimizer.origin.of:
        inner: object = part
        for _ in range(8):
            if inner is None:
                break
            if inner is module:
                return True
            inner = inner.member_of  # type: ignore[attr-defined]
    return False
