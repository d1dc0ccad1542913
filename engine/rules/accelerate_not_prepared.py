"""An object takes part in training past Accelerate's prepare."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import identities
from engine.rules.remedies.frameworks import also_prepared
from engine.rules.rule import Draft, rule
from engine.trace import Container, Step, Trace, Value
from engine.trace.events import Backward, LoaderBuilt, OptimizerStep, Prepare


@rule("PF211", "accelerate-not-prepared", "error", "An optimizer or loader was left out of accelerator.prepare")
def check(trace: Trace) -> Iterator[Draft]:
    prepares = [prepare for prepare in trace.of(Prepare) if prepare.library == "accelerate"]
    if not prepares:
        return
    known: frozenset[int] = frozenset()
    for prepare in prepares:
        known |= identities(*prepare.objects, *prepare.results)
        if any(_opaque(value) for value in prepare.objects):
            return
    yield from _hidden_loaders(trace, prepares)
    for step in trace.of(OptimizerStep):
        if not identities(step.optimizer).isdisjoint(known) or step.via == "engine":
            continue
        handed = next((p for p in prepares if p.root is step.root or p.root.owner is not None is step.root.owner), None)
        through = [b for b in trace.family(step, Backward) if b.via == "accelerator"]
        if handed is None or not through or handed.index > step.index:
            continue
        yield Draft(
            step.place,
            "This optimizer did not go through `prepare`: with accumulation it steps on every micro-batch, and "
            "with fp16 "
            "on gradients that are still scaled.",
            (Step(handed.place, "prepared here, without the optimizer"), Step(through[0].place, "the backward")),
            fix=also_prepared(handed, step),
        )


def _opaque(value: Value) -> bool:
    """A star argument or list of unknown content."""
    return isinstance(value, Container) and value.open and not _generator(value)


def _hidden_loaders(trace: Trace, prepares: list[Prepare]) -> Iterator[Draft]:
    """A loader wrapped into a generator before it is prepared is not a loader any more."""
    loaders = identities(*(built.loader for built in trace.of(LoaderBuilt)))
    for prepare in trace.first_per_place(prepares):
        for value in prepare.objects:
            for option in value.options():
                inside = [part for part in option.ancestors(limit=60) if part is not option and id(part) in loaders]
                if (option.role == "loader" and id(option) in loaders) or not inside or not _generator(option):
                    continue
                yield Draft(
                    prepare.place,
                    "The loader is wrapped in a generator before `prepare`, which then can not shard it: every process "
                    "reads all data. Prepare the loader, then wrap it.",
                    (Step(inside[0].place, "the loader"), Step(option.place, "wrapped here")),
                )


def _generator(value: Value) -> bool:
    return isinstance(value, Container) and value.shape_name == "generator"
