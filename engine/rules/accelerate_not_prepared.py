"""An object takes part in training past Accelerate's prepare."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.distributed import knows_rank
from engine.rules.facts.identity import identities
from engine.rules.remedies.frameworks import also_prepared
from engine.rules.rule import Draft, rule
from engine.trace import Container, FunctionValue, Step, Trace, Value
from engine.trace.events import Backward, Collective, Event, Iterate, LoaderBuilt, OptimizerStep, Prepare, Transfer


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
    yield from _left_out_loaders(trace, prepares, known)
    for step in trace.of(OptimizerStep):
        if not identities(step.optimizer).isdisjoint(known) or step.via == "engine":
            continue
        handed = next((p for p in prepares if _reaches(p, step)), None)
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


def _reaches(prepare: Prepare, event: Event) -> bool:
    """Whether an event is in the same script or class as the hand-over."""
    return prepare.root is event.root or (prepare.root.owner is not None and prepare.root.owner is event.root.owner)


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


def _left_out_loaders(trace: Trace, prepares: list[Prepare], known: frozenset[int]) -> Iterator[Draft]:
    """A DataLoader that the prepared model trains on, and that no process has a share of."""
    for built in trace.of(LoaderBuilt):
        loader = built.loader
        if not identities(loader).isdisjoint(known) or not built.complete or _split(loader):
            continue
        for iterate in trace.of(Iterate):
            if iterate.iterates is None or iterate.guarded("rank"):
                continue
            if not any(part is loader for part in iterate.iterates.ancestors(limit=30)):
                continue
            handed = next((p for p in prepares if _reaches(p, iterate)), None)
            if not iterate.subject.trains:
                yield from _evaluated_by_all(trace, built, iterate, handed)
                continue
            through = next((b for b in trace.within(iterate.subject, Backward) if b.via == "accelerator"), None)
            if handed is None or through is None:
                continue
            if handed.root is not built.root and _placed_by_hand(trace, loader):
                # Data of this process, handed to one call of a step, and not the data set that processes share.
                continue
            yield Draft(
                built.place,
                "Training reads this loader, and it did not go through `prepare`: every process reads all of it, "
                "and its batches stay on the host.",
                (Step(handed.place, "prepared here, without it"), Step(iterate.subject.place, "read here")),
            )
            break


def _evaluated_by_all(trace: Trace, built: LoaderBuilt, iterate: Iterate, handed: Prepare | None) -> Iterator[Draft]:
    """An evaluation whose outputs are gathered from processes that all read the whole data."""
    gathered = next((c for c in trace.within(iterate.subject, Collective) if "gather" in c.name), None)
    if handed is not None and gathered is not None and gathered.library.startswith("accelerat"):
        yield Draft(
            built.place,
            "The outputs on this loader are gathered from all processes, and it did not go through `prepare`: every "
            "process reads all of it, so each sample counts once for each process.",
            (Step(iterate.subject.place, "read here"), Step(gathered.place, "gathered here")),
        )


def _placed_by_hand(trace: Trace, loader: Value) -> bool:
    """Whether the data were put together in the function that reads them, and the collate function moves batches."""
    collate, dataset = loader.keyword("collate_fn"), loader.keyword("dataset")
    if not isinstance(collate, FunctionValue) or dataset is None or dataset.place.path != loader.place.path:
        return False
    made_here = dataset.op in ("construct", "call", "method-call", "library-call", "literal")
    moves = any(transfer.function == collate.qualified for transfer in trace.of(Transfer))
    # A collate function that was written in the body reads the names of that body.
    return made_here and moves and not dataset.is_constant


def _split(loader: Value) -> bool:
    """Whether the loader may be split by rank already."""
    parts = [loader.keyword(name) for name in ("sampler", "batch_sampler", "dataset")]
    made = [part for value in parts if value is not None for part in value.ancestors(limit=60)]
    return any(knows_rank(part) or "Distributed" in part.made_by for part in made) or any(
        part.origin.cls is not None and part.origin.cls.mentions_rank for part in made
    )


def _generator(value: Value) -> bool:
    return isinstance(value, Container) and value.shape_name == "generator"
