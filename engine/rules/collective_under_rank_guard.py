"""A collective that only some ranks reach."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.rule import Draft, rule
from engine.trace import Guard, Step, Trace
from engine.trace.events import Collective

_POINT_TO_POINT = frozenset({"send", "recv", "isend", "irecv", "batch_isend_irecv"})


@rule("PF505", "collective-under-rank-guard", "error", "A collective is reached by some ranks only")
def check(trace: Trace) -> Iterator[Draft]:
    collectives = list(trace.of(Collective))
    for collective in trace.first_per_place(collectives):
        guard = collective.guarded("rank")
        if guard is None or collective.name in _POINT_TO_POINT:
            continue
        if any(_answers(other, collective, guard) for other in collectives):
            continue
        yield Draft(
            collective.place,
            f"Only ranks for which `{guard.text}` is {guard.holds} reach this `{collective.name}`: it waits for "
            "all of them, "
            "so the run hangs.",
            (Step(guard.place, "the condition on the rank"),),
        )


def _answers(other: Collective, collective: Collective, guard: Guard) -> bool:
    """A collective that the other ranks reach instead."""
    if other.name != collective.name or other.root is not collective.root:
        return False
    theirs = other.guarded("rank")
    return theirs is not None and (guard.excludes(theirs) or (theirs.text != guard.text and "rank" in theirs.kinds))
