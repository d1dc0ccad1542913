"""Activation checkpointing that cuts the graph."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.text import replace, source_of
from engine.rules.rule import Draft, rule
from engine.trace import Trace
from engine.trace.events import CheckpointCall


@rule("PF107", "checkpointing-misuse", "error", "Reentrant checkpointing over inputs without gradients")
def check(trace: Trace) -> Iterator[Draft]:
    for call in trace.first_per_place(trace.of(CheckpointCall)):
        if call.use_reentrant is not True or not call.inputs or call.grad is not True:
            continue
        if any(value.carries_graph is not False for value in call.inputs):
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
