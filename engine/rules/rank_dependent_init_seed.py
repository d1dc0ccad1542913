"""A sharded model is initialised from a different seed on each rank."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.facts.distributed import sharded_by_framework
from engine.rules.facts.identity import identities
from engine.rules.rule import Draft, rule
from engine.trace import Place, Step, Trace, Value
from engine.trace.events import Collective, LoadStateDict, ModuleCreated, Prepare, Seed, Wrapped


@rule("PF605", "rank-dependent-init-seed", "warning", "Ranks initialise the parts of one sharded model differently")
def check(trace: Trace) -> Iterator[Draft]:
    for sharded, wrapped in (*_sharded(trace), *_averaged(trace)):
        made = next((m for m in trace.of(ModuleCreated) if id(m.module.origin) in identities(sharded)), None)
        if made is None or made.module.has_parameters is not True or _loaded(trace, sharded):
            continue
        seed = next((s for s in trace.before(made, Seed) if "torch" in s.what), None)
        if seed is None or seed.rank_dependent is not True:
            continue
        yield Draft(
            seed.place,
            "The model is initialised after this seed, which differs from rank to rank, and its parts or gradients "
            "are then put together as if all had the same. Seed alike while the model is made, and by rank afterwards.",
            (Step(made.place, "initialised here"), Step(wrapped, "put together here")),
        )


def _sharded(trace: Trace) -> Iterator[tuple[Value, Place]]:
    """Modules whose parameters are sharded as they stand on each rank, and where."""
    for wrapped in trace.of(Wrapped):
        synchronised = wrapped.wrapper.keywords.get("sync_module_states")
        if wrapped.how == "fsdp" and (synchronised is None or synchronised.constant is False):
            yield wrapped.module, wrapped.place
    for prepare in trace.of(Prepare):
        for value in prepare.objects:
            if any(option.role == "module" and sharded_by_framework(option) for option in value.options()):
                yield value, prepare.place


def _averaged(trace: Trace) -> Iterator[tuple[Value, Place]]:
    """Modules whose gradients are averaged by hand, with nothing that gives all ranks the same weights."""
    if any(c.name.startswith("broadcast") for c in trace.of(Collective)) or any(True for _ in trace.of(Wrapped)):
        return
    for collective in trace.of(Collective):
        given = collective.values[0] if collective.values else None
        if collective.name != "all_reduce" or given is None or given.op != "grad":
            continue
        for module in given.of or tuple(m for part in given.parents for m in part.of):
            yield module, collective.place


def _loaded(trace: Trace, module: Value) -> bool:
    """Whether the initial weights are replaced by loaded ones."""
    return any(not identities(load.target).isdisjoint(identities(module)) for load in trace.of(LoadStateDict))
