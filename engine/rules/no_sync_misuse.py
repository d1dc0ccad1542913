"""Gradient reduction of micro-batches is not skipped where it was meant to be."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import same
from engine.rules.remedies.frameworks import into_context
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import Backward, Forward


@rule("PF504", "no-sync-misuse", "warning", "no_sync does not cover the forward pass")
def check(trace: Trace) -> Iterator[Draft]:
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
