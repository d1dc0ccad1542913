"""A training script draws random numbers from a generator that nothing seeds."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import Backward, FrameworkTrainer, RandomCall, Seed


@rule("PF601", "unseeded-randomness", "note", "A training script draws from a generator that is never seeded")
def check(trace: Trace) -> Iterator[Draft]:
    if any(True for _ in trace.of(FrameworkTrainer)):
        return
    seeds = list(trace.of(Seed))
    trained = {id(backward.root): backward for backward in trace.of(Backward)}
    reported: set[tuple[int, str]] = set()
    for call in trace.of(RandomCall):
        backward = trained.get(id(call.root))
        key = (id(call.root), call.source)
        if call.root.kind != "script" or backward is None or call.generator is not None or key in reported:
            continue
        reported.add(key)
        if any(call.source in seed.what for seed in seeds):
            continue
        other = [Step(seed.place, f"this seeds only {', '.join(sorted(seed.what))}") for seed in seeds[:1]]
        yield Draft(
            call.place,
            f"The first draw from {_named(call.source)}'s generator, which nothing seeds: two runs of this "
            "script differ.",
            (*other, Step(backward.place, "training depends on it")),
        )


def _named(source: str) -> str:
    return {"torch": "torch", "numpy": "NumPy", "random": "Python"}.get(source, source)
