"""The caching allocator's rules."""

from __future__ import annotations

import pytest

from hardware_catalog.allocator import CATEGORY_INDEX, MIB, Allocator, CapacityError

OTHER = CATEGORY_INDEX["other"]


def test_requests_are_rounded_and_served_from_segments() -> None:
    allocator = Allocator()
    allocator.allocate(1, OTHER)
    assert (allocator.allocated, allocator.reserved) == (512, 2 * MIB)
    allocator.allocate(3 * MIB, OTHER)
    assert allocator.reserved == 22 * MIB
    allocator.allocate(11 * MIB, OTHER)
    assert allocator.reserved == 22 * MIB, "the rest of the 20 MiB segment serves it"
    allocator.allocate(21 * MIB, OTHER)
    assert allocator.reserved == 44 * MIB, "large requests are rounded to 2 MiB"


def test_neighbours_coalesce_and_are_reused() -> None:
    allocator = Allocator()
    blocks = [allocator.allocate(5 * MIB, OTHER) for _ in range(4)]
    assert allocator.reserved == 20 * MIB
    for block in (blocks[0], blocks[2], blocks[1], blocks[3]):
        allocator.release(block)
    allocator.allocate(20 * MIB, OTHER)
    assert allocator.reserved == 20 * MIB


def test_a_full_device_flushes_its_cache_before_it_gives_up() -> None:
    allocator = Allocator(capacity=64 * MIB)
    allocator.release(allocator.allocate(40 * MIB, OTHER))
    allocator.allocate(60 * MIB, OTHER)
    assert allocator.retries == 1
    with pytest.raises(CapacityError):
        allocator.allocate(10 * MIB, OTHER)


def test_expandable_segments_grow_page_by_page() -> None:
    allocator = Allocator(expandable_segments=True)
    first = allocator.allocate(30 * MIB, OTHER)
    assert allocator.reserved == 40 * MIB
    allocator.release(first)
    allocator.allocate(50 * MIB, OTHER)
    assert allocator.reserved == 60 * MIB, "the freed range is extended, not left behind"


def test_categories_at_the_peak_add_up() -> None:
    allocator = Allocator()
    kept = allocator.allocate(4 * MIB, CATEGORY_INDEX["parameters"])
    allocator.release(allocator.allocate(8 * MIB, CATEGORY_INDEX["activations"]))
    allocator.recategorise(kept, CATEGORY_INDEX["buffers"])
    at_peak = allocator.peak_categories()
    assert at_peak["parameters"] == 4 * MIB
    assert at_peak["activations"] == 8 * MIB
    assert sum(at_peak.values()) == allocator.peak_allocated
    assert allocator.categories()["buffers"] == 4 * MIB
