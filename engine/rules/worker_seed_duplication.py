"""Every loader worker draws the same random numbers."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace, Value
from engine.trace.events import FunctionCall, LoaderBuilt, MethodCall, RandomCall

_GENERATORS = ("numpy.random.default_rng", "numpy.random.RandomState", "random.Random", "torch.Generator")


@rule("PF604", "worker-seed-duplication", "error", "Loader workers share one random stream")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _seeded_alike(trace)
    for built in trace.of(LoaderBuilt):
        workers = built.loader.keyword("num_workers", "5")
        data = built.loader.keyword("dataset", "0")
        if data is None or data.origin.cls is None or workers is None or not workers.constant:
            continue
        if built.loader.keyword("worker_init_fn") is not None:
            continue
        yield from _of_a_file(trace, built, data)
        for name, generator in data.origin.attributes.items():
            if not generator.made_by.startswith(_GENERATORS):
                continue
            drawn = _drawn(trace, generator)
            if drawn is None:
                continue
            yield Draft(
                generator.place,
                f"`self.{name}` is copied into every loader worker with the same state, so workers draw the "
                "same numbers. "
                "Make the generator in the worker, from its seed.",
                (Step(drawn.place, "drawn from here, in the worker"), Step(built.place, "several workers")),
            )


def _of_a_file(trace: Trace, built: LoaderBuilt, data: Value) -> Iterator[Draft]:
    """A generator that a file makes when it is imported, and that the samples of a data set are drawn with."""
    own = list(data.origin.cls.lineage()) if data.origin.cls is not None else []
    at_import = {id(call.result) for call in trace.of(FunctionCall) if call.root.kind == "script" and not call.stack}
    for call in trace.of(MethodCall):
        made = call.receiver
        owner = call.root.owner.cls if call.root.owner is not None else None
        if id(made) not in at_import or not made.made_by.startswith(_GENERATORS[:3]) or not _in_worker(call):
            continue
        if not any(owner is base for base in own):
            continue
        yield Draft(
            made.place,
            f"`{made.name}` is copied into every loader worker with the same state, so workers draw the same numbers. "
            "Make the generator in the worker, from its seed.",
            (Step(call.place, "drawn from here, in the worker"), Step(built.place, "several workers")),
        )
        return


def _seeded_alike(trace: Trace) -> Iterator[Draft]:
    """A stream that each worker makes from a generator with one constant seed."""
    for built in trace.of(LoaderBuilt):
        workers = built.loader.keyword("num_workers", "5")
        data = built.loader.keyword("dataset", "0")
        cls = data.origin.cls if data is not None else None
        if cls is None or cls.family != "iterable-dataset" or cls.mentions_rank:
            continue
        if workers is None or not isinstance(workers.constant, int) or workers.constant < _SEVERAL:
            continue
        for draw in trace.of(RandomCall):
            seed = draw.generator.keyword("seed") if draw.generator is not None else None
            if seed is None or not seed.is_constant or draw.function != f"{cls.name}.__iter__":
                continue
            yield Draft(
                built.place,
                "Each worker plays this stream from the start, with the same seed: every sample arrives once for each "
                "of them. Take the worker's number from `get_worker_info()` into the seed.",
                (Step(seed.place, "the same in every worker"), Step(draw.place, "drawn from here")),
            )
            break


_SEVERAL = 2


def _drawn(trace: Trace, generator: Value) -> MethodCall | None:
    for call in trace.of(MethodCall):
        if call.receiver.place == generator.place and _in_worker(call):
            return call
    return None


def _in_worker(call: MethodCall) -> bool:
    """Whether a method that makes samples draws, or one that such a method calls."""
    names = (call.function, call.root.name)
    return any(name.rpartition(".")[2] in ("__getitem__", "__iter__", "__getitems__") for name in names)
