"""A training script draws random numbers from a generator that nothing seeds."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.remedies.seeding import seeded_alike
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace
from engine.trace.events import Backward, Event, FrameworkTrainer, LoaderBuilt, ModuleCreated, RandomCall, Seed

_WITH_WEIGHTS = ("Linear", "Conv1d", "Conv2d", "Conv3d", "Embedding", "LSTM", "GRU", "RNN", "ConvTranspose2d")


@rule("PF601", "unseeded-randomness", "note", "A training script draws from a generator that is never seeded")
def check(trace: Trace) -> Iterator[Draft]:
    if any(True for _ in trace.of(FrameworkTrainer)):
        return
    seeds = list(trace.of(Seed))
    trained = {id(backward.root): backward for backward in trace.of(Backward)}
    reported: set[tuple[int, str]] = set()
    for call in trace.of(RandomCall, LoaderBuilt, ModuleCreated):
        source = _source(call)
        backward = trained.get(id(call.root))
        key = (id(call.root), source or "")
        if call.root.kind != "script" or backward is None or source is None or key in reported:
            continue
        reported.add(key)
        if any(source in seed.what for seed in seeds):
            continue
        other = [Step(seed.place, f"this seeds only {', '.join(sorted(seed.what))}") for seed in seeds[:1]]
        yield Draft(
            call.place,
            f"The first draw from {_named(source)}'s generator, which nothing seeds: two runs of this script differ.",
            (*other, Step(backward.place, "training depends on it")),
            fix=seeded_alike(source, call.place, [seed for seed in seeds if seed.root is call.root]),
        )


def _source(event: Event) -> str | None:
    """The global generator that an event draws from."""
    if isinstance(event, RandomCall):
        return event.source if event.generator is None else None
    if isinstance(event, LoaderBuilt):
        shuffle = event.loader.keyword("shuffle", "2")
        return (
            "torch"
            if shuffle is not None and shuffle.constant is True and "generator" not in event.loader.keywords
            else None
        )
    if isinstance(event, ModuleCreated):
        own = event.module.made_by.startswith("torch.nn.") and event.module.made_by.endswith(_WITH_WEIGHTS)
        return "torch" if own else None
    return None


def _named(source: str) -> str:
    return {"torch": "torch", "numpy": "NumPy", "random": "Python"}.get(source, source)
