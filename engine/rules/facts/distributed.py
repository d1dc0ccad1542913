"""Facts about runs of several processes."""

from __future__ import annotations

from engine.trace import Trace, Value
from engine.trace.events import Event, Prepare, ProcessGroupInit, Wrapped

_DATA_PARALLEL = frozenset({"ddp", "fsdp", "fabric"})


def distributed_by(trace: Trace, event: Event) -> Event | None:
    """What shows that the code around an event runs in several processes: nearest in the same class or script."""
    other: Event
    for other in trace.family(event):
        if isinstance(other, ProcessGroupInit) or (isinstance(other, Wrapped) and other.how in _DATA_PARALLEL):
            return other
    for other in trace.of(ProcessGroupInit, Wrapped):
        if other.place.path == event.place.path and not (
            isinstance(other, Wrapped) and other.how not in _DATA_PARALLEL
        ):
            return other
    return None


def prepared_by(trace: Trace, value: Value) -> Prepare | None:
    """The `prepare` or `setup` that received a value."""
    for prepare in trace.of(Prepare):
        for item in (*prepare.objects, *prepare.results):
            if any(option.origin is value.origin for option in item.options()):
                return prepare
    return None


def sharded_by_framework(module: Value) -> bool:
    """Whether Fabric sets a module up with a strategy that shards its parameters."""
    framework = module.prepared
    strategy = framework.origin.keyword("strategy", "1") if framework is not None else None
    if strategy is None or framework is None or framework.role != "fabric":
        return False
    return any(
        option.made_by.endswith("FSDPStrategy") or str(option.constant).startswith("fsdp")
        for option in strategy.options()
    )


_RANK_CALLS = ("get_rank", "get_node_local_rank", "get_world_size", "get_worker_info", "split_dataset_by_node")


def knows_rank(value: Value) -> bool:
    """Whether a value is the rank or the world size, or was made by something that splits by them."""
    if value.rank:
        return True
    return value.made_by.rpartition(".")[2] in _RANK_CALLS


def from_rank(value: Value | None) -> bool:
    """Whether a value is computed from the rank, or from what its object calls a rank (of a tensor-parallel group)."""
    return value is not None and any(
        part.rank or (part.op in ("attribute", "getattr") and part.name.endswith("rank"))
        for part in value.ancestors(limit=60)
    )
