"""A value that carries a graph outlives the loop iteration that made it."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import reported_at
from engine.rules.facts.retention import kept_graphs
from engine.rules.facts.text import append
from engine.rules.rule import Draft, FixMaker, rule
from engine.trace import Step, Trace
from engine.trace.events import Store

_WHY = "so the autograd graph of every iteration stays in memory"


@rule("PF101", "retained-graph", "error", "A tensor is kept across iterations with its autograd graph")
def check(trace: Trace) -> Iterator[Draft]:
    for store in kept_graphs(trace):
        where = f" in `{store.target}`" if store.target else ""
        verb = "adds to a running total" if store.how == "accumulate" else "keeps a tensor"
        place = reported_at(store, store.value)
        evidence = [Step(store.value.place, "made here, with gradients recorded")]
        if place != store.place:
            evidence.append(Step(store.place, "kept here"))
        evidence += [Step(loop.place, "the loop that it outlives") for loop in store.crossing[-1:]]
        yield Draft(
            place,
            f"This {verb}{where} that still carries its graph, {_WHY}; keep `.detach()` of it instead.",
            tuple(evidence),
            fix=_fix(store) if place == store.place else None,
        )


def _fix(store: Store) -> FixMaker | None:
    if store.value_place is None:
        return None
    return append(store.value_place, ".detach()", "Keep the value without its graph")
