"""A distributed sampler that shuffles the same way in every epoch."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.identity import identities
from engine.rules.remedies.loaders import epoch_told
from engine.rules.rule import Draft, rule
from engine.trace import Step, Trace, Value
from engine.trace.events import FrameworkTrainer, Iterate, LoaderBuilt, Prepare, SamplerBuilt, SetEpoch

_SAMPLER = "DistributedSampler"


@rule("PF501", "sampler-without-set-epoch", "error", "A distributed sampler never learns the epoch")
def check(trace: Trace) -> Iterator[Draft]:
    if any(True for _ in trace.of(FrameworkTrainer)) or any(True for _ in trace.of(Prepare)):
        return
    told = [event.target for event in trace.of(SetEpoch)]
    for built in trace.of(SamplerBuilt):
        sampler = built.sampler
        if not sampler.made_by.endswith(_SAMPLER) or not built.complete or _ordered(sampler):
            continue
        loaders = [event.loader for event in trace.of(LoaderBuilt) if _reads_with(event.loader, sampler)]
        if any(_told(target, sampler, loaders) for target in told):
            continue
        epoch = next((i for i in trace.of(Iterate) if _iterates(i, loaders) and i.loops and i.subject.trains), None)
        if epoch is None:
            continue
        around = epoch.loops[-1]
        # The number is at hand where the data is read; a `while` has none to hand on.
        yield Draft(
            around.place.start if around.kind == "while" else epoch.subject.place.start,
            "The sampler of this data shuffles with its epoch number, and no `set_epoch()` was found: every "
            "epoch visits the data in the same order. Call `sampler.set_epoch(epoch)` at the start of each epoch.",
            (
                Step(built.place, "the sampler"),
                Step(around.place, "the epochs"),
            ),
            fix=epoch_told(built, epoch, around),
        )


def _ordered(sampler: Value) -> bool:
    shuffle = sampler.keyword("shuffle", "3")
    return shuffle is not None and shuffle.constant is not True


def _reads_with(loader: Value, sampler: Value) -> bool:
    used = loader.keyword("sampler", "batch_sampler")
    if used is None:
        return False
    return id(sampler) in {id(part) for part in used.ancestors(limit=50)} | identities(used) or any(
        id(sampler) in identities(argument) for argument in (*used.keywords.values(), *used.attributes.values())
    )


def _told(target: Value | None, sampler: Value, loaders: list[Value]) -> bool:
    if target is None or (not target.made_by and target.callee is None and target.member_of is None):
        return True
    if not identities(target).isdisjoint(identities(sampler, *loaders)):
        return True
    owner = target.callee or target.member_of
    return owner is not None and (owner.member_of is None or not identities(owner).isdisjoint(identities(*loaders)))


def _iterates(iterate: Iterate, loaders: list[Value]) -> bool:
    value = iterate.iterates
    if value is None:
        return False
    wanted = identities(*loaders)
    return not wanted.isdisjoint(identities(value)) or any(
        id(part.origin) in wanted or _wraps(part, wanted) for part in value.ancestors(limit=30)
    )


def _wraps(value: Value, loaders: frozenset[int]) -> bool:
    """Whether an object of the project is iterated that holds one of these loaders."""
    if value.cls is None or value.cls.method("__iter__") is None:
        return False
    return not loaders.isdisjoint(identities(*value.attributes.values()))
