"""A collective that only some ranks reach."""

from __future__ import annotations

from collections.abc import Iterator

from engine.rules.rule import Draft, rule
from engine.trace import Guard, Step, Trace
from engine.trace.events import Collective, FunctionCall

_POINT_TO_POINT = frozenset({"send", "recv", "isend", "irecv", "batch_isend_irecv"})


@rule("PF505", "collective-under-rank-guard", "error", "A collective is reached by some ranks only")
def check(trace: Trace) -> Iterator[Draft]:
    yield from _sharded_state(trace)
    yield from _of_unequal_length(trace)
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
            severity="note" if collective.name == "save_state" and _named(collective) else None,
        )


def _named(save: Collective) -> bool:
    """Whether `save_state` is given its folder: it then gathers only where a plugin shards the model, and else each
    process writes its own random state. Accelerate names the folder itself only after waiting for all processes."""
    given = save.values[0] if save.values else save.keywords.get("output_dir")
    return given is not None and not (given.is_constant and given.constant is None)


_SHARDED = frozenset({"state_dict_type", "full_optim_state_dict", "optim_state_dict", "summon_full_params"})


def _sharded_state(trace: Trace) -> Iterator[Draft]:
    """FSDP's state, which all ranks gather together, asked for by one."""
    for call in trace.of(FunctionCall):
        guard = call.guarded("rank")
        owner, _, name = call.name.rpartition(".")
        if guard is None or not owner.endswith("FullyShardedDataParallel") or name not in _SHARDED:
            continue
        yield Draft(
            call.place,
            f"Only ranks for which `{guard.text}` is {guard.holds} reach this, and a sharded model's full state "
            "is gathered by all of them together: the run hangs. Gather on every rank, and guard the write alone.",
            (Step(guard.place, "the condition on the rank"),),
        )


def _of_unequal_length(trace: Trace) -> Iterator[Draft]:
    """What a mask picks has another length on each rank, and `all_gather` takes equal ones."""
    for collective in trace.of(Collective):
        if collective.name not in ("all_gather", "all_gather_into_tensor") or collective.library != "torch":
            continue
        given = collective.values[1] if len(collective.values) > 1 else None
        picked = given
        for _ in range(6):
            if picked is None or picked.keywords.get("mask") is not None or picked.op in _PICKS or not picked.parents:
                break
            picked = picked.parents[0] if picked.op in _KEEPS_LENGTH else None
        if picked is None or not (picked.keywords.get("mask") or picked.op in _PICKS):
            continue
        yield Draft(
            collective.place,
            "How many elements are picked differs from rank to rank, and `all_gather` needs tensors of one shape: it "
            "hangs or returns garbage. Exchange the lengths and pad, or use `all_gather_object`.",
            (Step(picked.place, "picked here"),),
        )


_PICKS = frozenset({"masked_select", "nonzero", "unique"})
_KEEPS_LENGTH = frozenset({"contiguous", "float", "to", "cuda", "detach", "clone", "long", "squeeze", "unsqueeze"})


def _answers(other: Collective, collective: Collective, guard: Guard) -> bool:
    """A collective that the other ranks reach instead."""
    if other.name != collective.name or other.root is not collective.root:
        return False
    theirs = other.guarded("rank")
    return theirs is not None and (guard.excludes(theirs) or (theirs.text != guard.text and "rank" in theirs.kinds))
