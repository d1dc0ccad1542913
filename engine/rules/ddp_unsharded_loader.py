"""Every rank reads the whole data set."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.distributed import knows_rank
from engine.rules.facts.identity import identities
from engine.rules.remedies.loaders import set_up, split_among_ranks
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace, Value
from engine.trace.events import Event, Forward, Iterate, LoaderBuilt, Prepare, Seed, Wrapped


@rule("PF502", "ddp-unsharded-loader", "error", "Every rank trains on the whole data set")
def check(trace: Trace) -> Iterator[Draft]:
    prepared = identities(*(value for p in trace.of(Prepare) for value in (*p.objects, *p.results)))
    for built in trace.of(LoaderBuilt):
        loader = built.loader
        sampler = loader.keyword("sampler", "batch_sampler")
        if not built.complete or (sampler is not None and not _none(sampler) and not _draws_from_all(sampler)):
            continue
        if not identities(loader).isdisjoint(prepared) or _sharded(loader):
            continue
        used = _trains_distributed(trace, loader)
        if used is None or any(seed.rank_dependent for seed in trace.of(Seed)):
            continue
        iterate, wrapped = used
        yield Draft(
            built.place,
            "Each process reads this whole loader: nothing splits the data by rank, so an epoch sees every "
            "sample once per "
            "process. Use a `DistributedSampler`"
            + (" or `setup_dataloaders`." if isinstance(wrapped, Prepare) else "."),
            (
                Step(wrapped.place, "the model is trained by several processes"),
                Step(iterate.subject.place, "read here"),
            ),
            fix=set_up(built, wrapped) if isinstance(wrapped, Prepare) else split_among_ranks(built, iterate),
        )


_WHOLE = frozenset(f"torch.utils.data.{name}" for name in ("RandomSampler", "WeightedRandomSampler"))


def _draws_from_all(sampler: Value) -> bool:
    """A sampler of torch that knows nothing of ranks, over data that knows nothing of them either."""
    return all(option.made_by in _WHOLE for option in sampler.options()) and not any(
        knows_rank(part) for part in sampler.ancestors(limit=60)
    )


def _none(value: Value | None) -> bool:
    return value is not None and value.is_constant and value.constant is None


def _sharded(loader: Value) -> bool:
    """Whether the data may already be split: by rank, or by something that was not followed."""
    shuffle = loader.keyword("shuffle", "2")
    data = loader.keyword("dataset", "0")
    if data is None or any(knows_rank(part) for part in data.ancestors(limit=200)):
        return True
    if shuffle is not None and shuffle.constant is True:
        return False
    if loader.keyword("sampler") is not None and not _none(loader.keyword("sampler")):
        return False
    cls = data.origin.cls
    if cls is None or cls.family != "iterable-dataset":
        return True
    return any(knows_rank(value) for value in data.keywords.values()) or cls.mentions_rank


def _trains_distributed(trace: Trace, loader: Value) -> tuple[Iterate, Event] | None:
    wanted = identities(loader)
    for iterate in trace.of(Iterate):
        if iterate.iterates is None or not iterate.subject.trains or iterate.guarded("rank"):
            continue
        source = {id(part.origin) for part in iterate.iterates.ancestors(limit=30)} | identities(iterate.iterates)
        if wanted.isdisjoint(source):
            continue
        for forward in trace.within(iterate.subject, Forward):
            wrapped = _wrapped(trace, forward.module)
            if wrapped is not None:
                return iterate, wrapped
    return None


def _wrapped(trace: Trace, module: Value) -> Event | None:
    known = identities(module)
    for event in trace.of(Wrapped, Prepare):
        if (
            isinstance(event, Wrapped)
            and event.how in ("ddp", "fsdp")
            and not known.isdisjoint(identities(event.wrapper))
        ):
            return event
        if (
            isinstance(event, Prepare)
            and event.library == "fabric"
            and not known.isdisjoint(identities(*event.results))
        ):
            return event
    return None
