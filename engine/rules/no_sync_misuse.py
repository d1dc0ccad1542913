"""Gradient reduction of micro-batches is not skipped where it was meant to be."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import same
from engine.rules.facts.training import StepScope, backwards_before, clears, modulo_guard, step_scopes
from engine.rules.remedies.frameworks import into_context
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import Backward, Forward, ZeroGrad


@rule("PF504", "no-sync-misuse", "warning", "no_sync does not cover the forward pass")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _never_skipped(trace)
    forwards = {id(forward.output): forward for forward in trace.of(Forward)}
    for backward in trace.of(Backward):
        context = backward.context("no_sync")
        if context is None:
            continue
        passes = [forwards[id(v)] for v in backward.loss.ancestors() if id(v) in forwards]
        model = [f for f in passes if context.value is None or same(f.module, context.value)]
        outside = [f for f in model if f.context("no_sync") is None]
        if not outside or len(outside) != len(model):
            continue
        yield Draft(
            context.place,
            "`no_sync()` covers only the backward: DDP decides in its forward whether to reduce, so gradients "
            "are still "
            "all-reduced for every micro-batch. Put the forward pass inside as well.",
            (Step(outside[0].place, "the forward pass, outside"), Step(backward.place, "the backward")),
            fix=into_context(outside[0], context.place) if len(outside) == 1 else None,
        )


def _never_skipped(trace: Trace) -> Iterator[Draft]:
    """Gradients are accumulated over micro-batches, and DDP reduces them after each."""
    if any(event.context("no_sync") is not None for event in trace.of(Backward)):
        return
    for scope in step_scopes(trace):
        guard = modulo_guard(scope.step, scope.loop)
        if guard is None:
            yield from _inner_loop(scope)
            continue
        zeros = [z for z in scope.of(ZeroGrad) if isinstance(z, ZeroGrad) and clears(z, scope.step.optimizer)]
        if not zeros or not all(guard in zero.guards for zero in zeros):
            continue
        for backward in backwards_before(scope)[:1]:
            if guard in backward.guards or backward.via not in ("tensor", "scaler"):
                continue
            made_from = {id(value) for value in backward.loss.ancestors()}
            through = next(
                (f for f in scope.of(Forward) if isinstance(f, Forward) and id(f.output) in made_from and _ddp(f)), None
            )
            if through is not None and "require_backward_grad_sync" not in through.module.attributes:
                yield Draft(
                    backward.place,
                    "Gradients are summed over several micro-batches, and DDP reduces them over all ranks after each "
                    "of these: put all but the last under `no_sync()`.",
                    (Step(through.module.place, "wrapped here"), Step(guard.place, "steps when this holds")),
                    severity="note",
                )
                return


def _inner_loop(scope: StepScope) -> Iterator[Draft]:
    """An inner loop back-propagates micro-batches, and the optimizer steps after it."""
    for backward in backwards_before(scope)[:1]:
        inner = backward.loops[len(scope.step.loops) :]
        if scope.loop not in backward.loops or len(inner) != 1 or inner[0].kind not in ("range", "iterable", "loader"):
            continue
        if backward.via not in ("tensor", "scaler") or inner[0].count == 1 or backward.index > scope.step.index:
            continue
        cleared = [z for z in scope.of(ZeroGrad) if isinstance(z, ZeroGrad) and clears(z, scope.step.optimizer)]
        if not cleared or any(inner[0] in zero.loops for zero in cleared):
            continue
        made_from = {id(value) for value in backward.loss.ancestors()}
        through = next(
            (f for f in scope.of(Forward) if isinstance(f, Forward) and id(f.output) in made_from and _ddp(f)), None
        )
        if through is None or inner[0] not in through.loops or _switches(through):
            continue
        yield Draft(
            backward.place,
            "Gradients are summed over several micro-batches, and DDP reduces them over all ranks after each of "
            "these: put all but the last under `no_sync()`.",
            (Step(through.module.place, "wrapped here"), Step(scope.step.place, "steps after all of them")),
            severity="note",
        )
        return


def _switches(forward: Forward) -> bool:
    return any("require_backward_grad_sync" in option.attributes for option in forward.module.options())


def _ddp(forward: Forward) -> bool:
    return any(option.wrapping == "ddp" for option in forward.module.options())
