"""What a run occupies on a device, as ranges with their parts, and whether that fits."""

from __future__ import annotations

from collections.abc import Mapping

from engine.findings import Breakdown, ByteRange, Memory, Target, Verdict
from engine.memory.interval import around
from engine.memory.shadow import Outcome
from hardware_catalog import MIB, Gpu, context_range, nccl_range, usable_bytes

CATEGORY_FIELDS: Mapping[str, str] = {
    "parameters": "parameters",
    "buffers": "parameters",
    "gradients": "gradients",
    "optimizer": "optimizer",
    "kv_cache": "kv_cache",
    "inputs": "activations",
    "activations": "activations",
    "communication": "communication",
}
"""Allocator categories by field of the breakdown; all others are temporaries."""


def outside_bytes(gpu: Gpu, world_size: int) -> int:
    """What the device holds beside the allocator's blocks: its context and NCCL's buffers."""
    return (context_range(gpu).expected + nccl_range(world_size).expected) * MIB


def memory_of(run: Outcome, gpu: Gpu, world_size: int, evidence: str) -> Memory:
    """Ranges and breakdown on one device."""
    context, nccl = context_range(gpu), nccl_range(world_size)
    fields: dict[str, int] = {}
    for category, size in run.categories.items():
        name = CATEGORY_FIELDS.get(category, "temporaries")
        fields[name] = fields.get(name, 0) + size
    fields["temporaries"] = fields.get("temporaries", 0) + run.allocated - sum(fields.values())
    if fields["temporaries"] < 0:
        # Block rounding is counted in the categories: take it back where it is largest.
        largest = max(fields, key=lambda name: fields[name])
        fields[largest] += fields["temporaries"]
        fields["temporaries"] = 0
    fields["allocator_slack"] = run.reserved - run.allocated
    fields["device_context"] = context.expected * MIB
    fields["communication"] = fields.get("communication", 0) + nccl.expected * MIB
    reserved = around(run.reserved, f"reserved-{evidence}")
    occupied = ByteRange(
        low=reserved.low + (context.low + nccl.low) * MIB,
        expected=run.reserved + outside_bytes(gpu, world_size),
        high=reserved.high + (context.high + nccl.high) * MIB,
    )
    return Memory(
        allocated=around(run.allocated, f"allocated-{evidence}"),
        reserved=reserved,
        occupied=occupied,
        breakdown=Breakdown(**fields),
    )


RETURNED = (
    "the allocator would keep {kept:.1f} GiB on a larger device; on {gpu} it gives cached blocks back and asks again"
)
"""The note of a run whose live bytes fit and whose cached blocks do not."""


def within(memory: Memory, gpu: Gpu) -> Memory:
    """What is reserved on a device that holds what is live and not all that the allocator would keep.

    It returns cached blocks before it fails (release_cached_blocks in CUDACachingAllocator.cpp), so that no counter
    shows more than the device has. The upper end of the range stays: how much must be returned makes it a close fit.
    """
    surplus = memory.occupied.expected - usable_bytes(gpu)
    if not 0 < surplus <= memory.breakdown.allocator_slack:
        return memory
    slack = memory.breakdown.allocator_slack - surplus
    return memory.model_copy(
        update={
            "reserved": _lowered(memory.reserved, surplus, slack),
            "occupied": _lowered(memory.occupied, surplus, slack),
            "breakdown": memory.breakdown.model_copy(update={"allocator_slack": slack}),
        }
    )


def _lowered(quantity: ByteRange, surplus: int, slack: int) -> ByteRange:
    expected = quantity.expected - surplus
    # The request that fails may be as large as all that is cached: the counter then stays below by as much.
    return ByteRange(low=min(quantity.low, expected - slack), expected=expected, high=quantity.high)


def verdict_of(occupied: ByteRange, usable: int) -> Verdict:
    """Compare a range with what a device leaves."""
    if occupied.high <= usable:
        return "fits"
    return "does-not-fit" if occupied.low > usable else "borderline"


NEEDS_LESS = "needs less than this"
"""Ends the notes of the libraries on means of saving that the shadow run does not play."""


def target_of(run: Outcome, gpu: Gpu, world_size: int, evidence: str) -> Target:
    """Whether a run fits one device."""
    memory = memory_of(run, gpu, world_size, evidence)
    usable = usable_bytes(gpu)
    verdict = verdict_of(memory.occupied, usable)
    if verdict == "does-not-fit":
        # The allocator gives cached blocks back before it fails: what must fit is what is allocated.
        floor = memory.allocated.low + context_range(gpu).low * MIB + nccl_range(world_size).low * MIB
        if floor <= usable:
            verdict = "borderline"
    if verdict != "fits" and any(NEEDS_LESS in note for note in run.notes):
        # What is shown is an upper bound: it can prove that a run fits, never that it does not.
        verdict = "unknown"
    return Target(gpu=gpu.id, usable_bytes=usable, verdict=verdict, occupied=memory.occupied)
