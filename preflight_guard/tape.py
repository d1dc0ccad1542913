"""The allocations and releases of a rehearsed step, in order, and what the caching allocator makes of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hardware_catalog.allocator import CATEGORY_INDEX, Allocator, Block, CapacityError


@dataclass
class Tape:
    """One event an entry: the number of a storage, and its bytes when it comes or 0 when it goes."""

    events: list[tuple[int, int]] = field(default_factory=list)
    categories: dict[int, str] = field(default_factory=dict)
    """What a storage turned out to be: a gradient is known as one only when it is stored."""
    steady_from: int = 0
    """Where the last step begins: by then the gradients were cleared once and the optimizer's state exists."""

    def came(self, number: int, number_of_bytes: int, category: str) -> None:
        """A storage was allocated."""
        self.categories[number] = category
        self.events.append((number, number_of_bytes))

    def went(self, number: int) -> None:
        """A storage was released."""
        self.events.append((number, 0))

    def begin_steady(self) -> None:
        """What follows is a steady step."""
        self.steady_from = len(self.events)


@dataclass(frozen=True)
class Peaks:
    """Bytes at the peaks of a replay; `steady_*` those of the last step alone."""

    allocated: int
    reserved: int
    steady_allocated: int
    steady_reserved: int
    categories: Mapping[str, int]
    """Bytes by category at the steady step's allocated peak."""


@dataclass(frozen=True)
class AllocatorSettings:
    """What PYTORCH_CUDA_ALLOC_CONF says that changes how much is reserved; sizes in bytes."""

    expandable_segments: bool = False
    max_split_size: int | None = None


def allocator_settings(environment: Mapping[str, str]) -> AllocatorSettings:
    """Read PYTORCH_ALLOC_CONF, or the name it had before."""
    text = environment.get("PYTORCH_ALLOC_CONF") or environment.get("PYTORCH_CUDA_ALLOC_CONF") or ""
    options = dict(part.split(":", 1) for part in text.replace(" ", "").split(",") if ":" in part)
    split = options.get("max_split_size_mb", "")
    return AllocatorSettings(
        expandable_segments=options.get("expandable_segments", "").lower() == "true",
        max_split_size=int(split) << 20 if split.isdigit() else None,
    )


def replay(tape: Tape, settings: AllocatorSettings, *, held: Sequence[int] = (), capacity: int | None = None) -> Peaks:
    """Play the tape through the allocator's model, after blocks of `held` bytes that stay.

    Raises CapacityError where the sequence does not run within `capacity` bytes of segments.
    """
    allocator = Allocator(
        capacity, expandable_segments=settings.expandable_segments, max_split_size=settings.max_split_size
    )
    for size in held:
        allocator.allocate(size, CATEGORY_INDEX["other"])
    live: dict[int, Block] = {}
    whole = 0, 0
    for position, (number, size) in enumerate(tape.events):
        if position == tape.steady_from:
            whole = allocator.peak_allocated, allocator.peak_reserved
            allocator.reset_peak()
        if size:
            live[number] = allocator.allocate(size, CATEGORY_INDEX[tape.categories[number]])
        else:
            allocator.release(live.pop(number))
    return Peaks(
        allocated=max(whole[0], allocator.peak_allocated),
        reserved=max(whole[1], allocator.peak_reserved),
        steady_allocated=allocator.peak_allocated,
        steady_reserved=allocator.peak_reserved,
        categories={name: size for name, size in allocator.peak_categories().items() if size},
    )


def runs_within(capacity: int, tape: Tape, settings: AllocatorSettings, held: Sequence[int] = ()) -> bool:
    """Whether the sequence runs on a device that leaves `capacity` bytes for segments."""
    try:
        replay(tape, settings, held=held, capacity=capacity)
    except CapacityError:
        return False
    return True
