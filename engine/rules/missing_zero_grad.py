"""Gradients of one iteration are still there in the next."""

from __future__ import annotations

import re
from collections.abc import Iterator

from engine.rules.facts.identity import identities, same
from engine.rules.facts.text import source_of
from engine.rules.facts.training import StepScope, backwards_before, called_steps, clears, step_scopes
from engine.rules.remedies.stepping import cleared
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace, Value
from engine.trace.events import FunctionCall, HookRegistered, ModuleCreated, OptimizerStep, ZeroGrad


@rule("PF201", "missing-zero-grad", "error", "An optimizer steps in a loop and nothing clears its gradients")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _one_of_two(trace)
    for scope in step_scopes(trace):
        step = scope.step
        yield from _skipped(trace, scope)
        if step.closure is not None or _cleared(scope) or _unclear(trace, scope):
            continue
        backwards = backwards_before(scope)
        if not backwards:
            continue
        backward = backwards[0]
        evidence = [Step(step.place, "the optimizer steps on what has been added up so far")]
        if scope.loop is not None:
            outside = [z for z in trace.of(ZeroGrad) if scope.loop not in z.loops and same(z.target, step.optimizer)]
            evidence.append(Step(scope.loop.place, "the loop: nothing in it clears the gradients of this optimizer"))
            evidence += [Step(z.place, "cleared here, outside of that loop") for z in outside[:1]]
        text = source_of(trace.project, step.optimizer.place) or step.optimizer.name
        name = step.optimizer.name or text
        yield Draft(
            backward.place,
            "This backward adds to the gradients of earlier iterations: no `zero_grad()` for "
            f"{f'`{name}`' if name else 'this optimizer'} was found on this path, so each step uses their running sum.",
            tuple(evidence),
            fix=cleared(scope),
        )


def _one_of_two(trace: Trace) -> Iterator[Draft]:
    """A function that takes a step with each of two optimizers, and clears the gradients of one of them only."""
    for scope in called_steps(trace):
        step = scope.step
        own = [z for z in trace.family(step, ZeroGrad) if isinstance(z, ZeroGrad)]
        other = next(
            (z for z in own if z.root is step.root and z.how == "zero_grad" and z.target.role == "optimizer"), None
        )
        if step.closure is not None or other is None or any(clears(zero, step.optimizer) for zero in own):
            continue
        stepped = any(
            event is not step and isinstance(event, OptimizerStep) and same(event.optimizer, other.target)
            for event in scope.of(OptimizerStep)
        )
        before = [b for b in backwards_before(scope) if b.index < step.index]
        if not stepped or not before or _unclear(trace, scope):
            continue
        yield Draft(
            before[0].place,
            "This step's gradients add to those of the call before: the function clears the gradients of its other "
            f"optimizer, and no `zero_grad()` was found for `{step.optimizer.name}`.",
            (Step(other.place, "the other optimizer is cleared here"), Step(step.place, "steps on the running sum")),
            fix=cleared(scope),
        )


def _skipped(trace: Trace, scope: StepScope) -> Iterator[Draft]:
    """Cleared only together with a step that a look at the loss may skip, after the backward."""
    zeros = [
        zero
        for zero in scope.of(ZeroGrad)
        if isinstance(zero, ZeroGrad) and clears(zero, scope.step.optimizer) and not zero.excludes(scope.step)
    ]
    for backward in backwards_before(scope)[:1]:
        spoken = source_of(trace.project, backward.loss_place or backward.place)
        # The object that holds both the loss and the counters of a window says nothing.
        names = set(re.findall(r"\b[a-zA-Z_]\w*\b", spoken)) - {"self", "cls"}
        for guard in scope.step.guards:
            if guard.kinds or guard in backward.guards or not zeros or not all(guard in zero.guards for zero in zeros):
                continue
            if names.isdisjoint(re.findall(r"(?<![.\w])[a-zA-Z_]\w*\b", guard.text)):
                continue
            yield Draft(
                backward.place,
                "When the check of the loss skips the step, it skips `zero_grad()` as well: what this backward has "
                "computed, infinite or not, is added to the next gradients. Clear them on both paths.",
                (Step(guard.place, "the check"), Step(zeros[0].place, "cleared only where it passes")),
                severity="warning",
            )
            return


def _cleared(scope: StepScope) -> bool:
    return any(
        not zero.excludes(scope.step) and clears(zero, scope.step.optimizer)
        for zero in scope.of(ZeroGrad)
        if isinstance(zero, ZeroGrad)
    )


def _unclear(trace: Trace, scope: StepScope) -> bool:
    """Whether something that was not followed may clear the gradients, or they are new in each iteration."""
    optimizer = scope.step.optimizer
    if any(True for _ in trace.family(scope.step, HookRegistered)):
        return True
    for event in scope.of(FunctionCall, ModuleCreated):
        if isinstance(event, FunctionCall) and not event.name and _hands_on(event, optimizer):
            return True
    held = [module for option in optimizer.options() for module in option.origin.of]
    return scope.loop is not None and any(scope.loop in module.origin.loops for module in held)


def _hands_on(event: FunctionCall, optimizer: Value) -> bool:
    """Whether an unknown function is given the optimizer, or an object that holds it."""
    known = identities(optimizer)
    return any(not known.isdisjoint(identities(value, *value.origin.attributes.values())) for value in event.arguments)
