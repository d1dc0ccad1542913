"""A value that carries a graph outlives the loop iteration that made it."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import distinct, reported_at
from engine.rules.facts.text import append
from engine.rules.facts.training import lightning_step
from engine.rules.rule import Draft, FixMaker, rule
from engine.trace import Container, Step, Trace
from engine.trace.events import Store

_WHY = "so the autograd graph of every iteration stays in memory"


@rule("PF101", "retained-graph", "error", "A tensor is kept across iterations with its autograd graph")
def check(trace: Trace) -> Iterator[Draft]:
    for store in distinct(trace.of(Store)):
        assert isinstance(store, Store)
        if store.grad is False or not _keeps_graph(store) or _consumed(store):
            continue
        if not store.crossing and not _outlives_framework_step(store):
            continue
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


def _keeps_graph(store: Store) -> bool:
    return store.value is not None and store.value.carries_graph is True


def _consumed(store: Store) -> bool:
    """Whether a later backward needs the graph that is kept."""
    kept = [store.result, store.container]
    if any(value is not None and (value.feeds_backward or value.feeds_autograd_grad) for value in kept):
        return True
    return isinstance(store.container, Container) and store.container.bounded and not store.stack


def _outlives_framework_step(store: Store) -> bool:
    held = isinstance(store.container, Container) and bool(store.container.held_as)
    training = store.function.rpartition(".")[2] == "training_step"
    return held and training and lightning_step(store)


def _fix(store: Store) -> FixMaker | None:
    if store.value_place is None:
        return None
    return append(store.value_place, ".detach()", "Keep the value without its graph")
