"""Activation checkpointing that cuts the graph."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.text import replace, source_of
from engine.rules.rule import Draft, rule
from engine.trace import Trace
from engine.trace.events import CheckpointCall, Forward


@rule("PF107", "checkpointing-misuse", "error", "Reentrant checkpointing over inputs without gradients")
def check(trace: Trace) -> Iterator[Draft]:
    frozen = {
        id(f.output)
        for f in trace.of(Forward)
        if f.module.origin.requires_grad is False and f.output.carries_graph is not True
    }
    for call in trace.of(CheckpointCall):
        if call.use_reentrant is not True or not call.inputs or call.grad is not True:
            continue
        if not all(value.carries_graph is False or id(value) in frozen for value in call.inputs):
            continue
        text = source_of(trace.project, call.place)
        fixed = text.replace("use_reentrant=True", "use_reentrant=False")
        yield Draft(
            call.place,
            "Reentrant checkpointing records a graph only if one of its inputs requires gradients, and none "
            "does here: the "
            "parameters inside get none. Pass `use_reentrant=False`.",
            fix=replace(call.place, fixed, "Use the non-reentrant variant") if fixed != text else None,
        )
