"""The CUDA caching allocator, simulated (c10/cuda/CUDACachingAllocator.cpp with one stream).

All figures are bytes. Requests are rounded to 512; requests up to 1 MiB are served from 2 MiB segments, up to 10 MiB
from 20 MiB segments, larger ones from segments rounded to 2 MiB; best fit, split and coalesced as the original does.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping
from dataclasses import dataclass

MIB = 1 << 20
BLOCK_ROUNDING = 512
SMALL_REQUEST = MIB
SMALL_SEGMENT = 2 * MIB
LARGE_REQUEST = 10 * MIB
LARGE_SEGMENT = 20 * MIB
LARGE_ROUNDING = 2 * MIB

CATEGORIES = (
    "parameters",
    "buffers",
    "gradients",
    "optimizer",
    "inputs",
    "activations",
    "temporaries",
    "kv_cache",
    "communication",
    "workspace",
    "other",
)
CATEGORY_INDEX: Mapping[str, int] = {name: index for index, name in enumerate(CATEGORIES)}


class CapacityError(RuntimeError):
    """The simulated device is full: the sequence of allocations does not run at this capacity."""

    def __init__(self, requested: int, reserved: int, capacity: int) -> None:
        super().__init__(f"CUDA out of memory: {requested} bytes requested, {reserved} of {capacity} bytes reserved")
        self.requested = requested


@dataclass(frozen=True)
class Event:
    """One allocation (positive bytes) or release (negative), in order."""

    number_of_bytes: int
    category: str
    label: str
    allocated: int
    reserved: int
    position: int


@dataclass(frozen=True)
class Peak:
    """The highest bytes of a measuring window, and what the allocated ones were by category."""

    allocated: int
    reserved: int
    categories: Mapping[str, int]

    def or_higher(self, other: Peak) -> Peak:
        """The higher of two windows that were measured one after the other."""
        reserved = max(self.reserved, other.reserved)
        higher = other if other.allocated > self.allocated else self
        return Peak(higher.allocated, reserved, higher.categories)


class Block:
    """A piece of a segment; neighbours are linked so that free ones coalesce."""

    __slots__ = ("category", "following", "free", "pool", "position", "previous", "requested", "size")

    def __init__(self, position: int, size: int, pool: int) -> None:
        self.position = position
        self.size = size
        self.pool = pool
        self.previous: Block | None = None
        self.following: Block | None = None
        self.free = False
        self.category = 0
        self.requested = 0


class Allocator:
    """Live and reserved bytes of one device, with their peaks and the categories at the allocated peak."""

    def __init__(
        self,
        capacity: int | None = None,
        expandable_segments: bool = False,
        max_split_size: int | None = None,
        record: bool = False,
    ) -> None:
        self.capacity = capacity
        self.expandable_segments = expandable_segments
        self.max_split_size = max_split_size
        # Free blocks of each pool by size and position, which no two of them share.
        self._free: tuple[list[tuple[int, int, Block]], list[tuple[int, int, Block]]] = ([], [])
        self._tails: list[Block | None] = [None, None]
        self._next_position = 1 << 40
        self.allocated = 0
        self.reserved = 0
        self.requested = 0
        self.peak_allocated = 0
        self.peak_reserved = 0
        self.peak_label = ""
        self.retries = 0
        self.live = [0] * len(CATEGORIES)
        self._peak_live = list(self.live)
        self._peak_pending = False
        self.label = ""
        self.events: list[Event] | None = [] if record else None
        self.least_recorded = 0

    # ------------------------------------------------------------------------------------------ peaks

    def reset_peak(self) -> None:
        """Start a new measuring window at the present state (``reset_peak_memory_stats``)."""
        self.peak_allocated = self.allocated
        self.peak_reserved = self.reserved
        self._peak_live = list(self.live)
        self._peak_pending = False
        self.peak_label = self.label

    def _settle_peak(self) -> None:
        # Between two releases live bytes only grow, so the state just before a release is the state at the peak.
        self._peak_live = list(self.live)
        self._peak_pending = False

    def peak(self) -> Peak:
        """The peak of the window so far."""
        return Peak(self.peak_allocated, self.peak_reserved, self.peak_categories())

    def peak_categories(self) -> dict[str, int]:
        """Bytes by category at the allocated peak of the window; they add up to ``peak_allocated``."""
        live = self.live if self._peak_pending else self._peak_live
        return {name: live[index] for name, index in CATEGORY_INDEX.items()}

    def categories(self) -> dict[str, int]:
        """Live bytes by category now."""
        return {name: self.live[index] for name, index in CATEGORY_INDEX.items()}

    def recategorise(self, block: Block, category: int) -> None:
        """Book a live block under another category."""
        if block.category != category:
            if self._peak_pending:
                self._settle_peak()
            self.live[block.category] -= block.size
            self.live[category] += block.size
            if self.events is not None:
                self._book(block, -block.requested)
            block.category = category
            if self.events is not None:
                self._book(block, block.requested)

    def _book(self, block: Block, number_of_bytes: int) -> None:
        # A block that changes its category leaves one curve of the timeline and enters another.
        assert self.events is not None
        if abs(number_of_bytes) < self.least_recorded:
            return
        name = CATEGORIES[block.category]
        event = Event(number_of_bytes, name, self.label, self.allocated, self.reserved, block.position)
        self.events.append(event)

    # ------------------------------------------------------------------------------------- allocation

    def allocate(self, number_of_bytes: int, category: int) -> Block:
        """A block of at least ``number_of_bytes``; raises CapacityError where the device is full."""
        size = 512 if number_of_bytes < 512 else (number_of_bytes + 511) & ~511
        pool = 0 if size <= SMALL_REQUEST else 1
        free = self._free[pool]
        index = bisect_left(free, (size,))
        block: Block | None = None
        if index < len(free):
            block = free[index][2]
            limit = self.max_split_size
            if limit is not None and block.size >= limit and (size < limit or block.size >= size + LARGE_SEGMENT):
                block = None
            else:
                del free[index]
                block.free = False
        if block is None:
            block = self._new_segment(size, pool)
        rest = block.size - size
        if rest and (
            (rest >= 512)
            if (pool == 0 or self.expandable_segments)
            else (rest > SMALL_REQUEST and (self.max_split_size is None or size < self.max_split_size))
        ):
            remainder = Block(block.position + size, rest, pool)
            remainder.previous, remainder.following = block, block.following
            if block.following is not None:
                block.following.previous = remainder
            elif self._tails[pool] is block:
                self._tails[pool] = remainder
            block.following = remainder
            block.size = size
            remainder.free = True
            insort(free, (rest, remainder.position, remainder))
        block.category = category
        block.requested = number_of_bytes
        size = block.size
        self.live[category] += size
        self.requested += number_of_bytes
        allocated = self.allocated = self.allocated + size
        if allocated > self.peak_allocated:
            self.peak_allocated = allocated
            self._peak_pending = True
            self.peak_label = self.label
        if self.events is not None:
            self._book(block, number_of_bytes)
        return block

    def release(self, block: Block) -> None:
        """Give a block back; it coalesces with its free neighbours."""
        if self._peak_pending:
            self._settle_peak()
        size = block.size
        self.allocated -= size
        self.requested -= block.requested
        self.live[block.category] -= size
        if self.events is not None:
            self._book(block, -block.requested)
        other = block.previous
        if other is not None and other.free:
            self._remove(other)
            block.position = other.position
            block.size += other.size
            block.previous = other.previous
            if other.previous is not None:
                other.previous.following = block
        other = block.following
        if other is not None and other.free:
            self._remove(other)
            block.size += other.size
            block.following = other.following
            if other.following is not None:
                other.following.previous = block
            elif self._tails[block.pool] is other:
                self._tails[block.pool] = block
        self._insert(block)

    def transient(self, *sizes: int) -> None:
        """Workspaces that a kernel allocates and frees inside one operator."""
        category = CATEGORY_INDEX["workspace"]
        held = [self.allocate(size, category) for size in sizes if size > 0]
        for block in reversed(held):
            self.release(block)

    def empty_cache(self) -> int:
        """Return unused whole segments to the device; the bytes returned."""
        returned = 0
        for pool in (0, 1):
            for _, _, block in list(self._free[pool]):
                if block.previous is None and block.following is None:
                    self._remove(block)
                    if self._tails[pool] is block:
                        self._tails[pool] = None
                    returned += block.size
                elif self.expandable_segments:
                    page = SMALL_SEGMENT if pool == 0 else LARGE_SEGMENT
                    if block is self._tails[pool] and block.size >= page:
                        unmapped = block.size // page * page
                        self._remove(block)
                        block.size -= unmapped
                        returned += unmapped
                        if block.size:
                            self._insert(block)
                        else:
                            previous = block.previous
                            self._tails[pool] = previous
                            if previous is not None:
                                previous.following = None
        self.reserved -= returned
        return returned

    def _insert(self, block: Block) -> None:
        block.free = True
        insort(self._free[block.pool], (block.size, block.position, block))

    def _remove(self, block: Block) -> None:
        free = self._free[block.pool]
        del free[bisect_left(free, (block.size, block.position))]
        block.free = False

    def _reserve(self, size: int) -> None:
        if self.capacity is not None and self.reserved + size > self.capacity:
            self.retries += 1
            self.empty_cache()
            if self.reserved + size > self.capacity:
                raise CapacityError(size, self.reserved, self.capacity)
        self.reserved += size
        if self.reserved > self.peak_reserved:
            self.peak_reserved = self.reserved

    def _new_segment(self, size: int, pool: int) -> Block:
        if self.expandable_segments:
            return self._extend(size, pool)
        if pool == 0:
            segment = SMALL_SEGMENT
        elif size < LARGE_REQUEST:
            segment = LARGE_SEGMENT
        else:
            segment = (size + LARGE_ROUNDING - 1) // LARGE_ROUNDING * LARGE_ROUNDING
        self._reserve(segment)
        block = Block(self._next_position, segment, pool)
        self._next_position += segment
        return block

    def _extend(self, size: int, pool: int) -> Block:
        # With expandable segments a pool is one address range whose tail is mapped page by page.
        page = SMALL_SEGMENT if pool == 0 else LARGE_SEGMENT
        tail = self._tails[pool]
        if tail is not None and tail.free:
            growth = (size - tail.size + page - 1) // page * page
            self._reserve(growth)
            if tail.free and self._tails[pool] is tail:
                self._remove(tail)
                tail.size += growth
                return tail
            return self._extend(size, pool)
        growth = (size + page - 1) // page * page
        self._reserve(growth)
        block = Block((1 << 50) * (pool + 1) if tail is None else tail.position + tail.size, growth, pool)
        block.previous = tail
        if tail is not None:
            tail.following = block
        self._tails[pool] = block
        return block
