"""How often Python looks for garbage that refers to itself."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_NEW_OBJECTS = 200_000
"""Objects made between two looks, in place of 700: some 20 MB, and the look costs a hundredth of making them."""

OF_AN_ANALYSIS = 10_000_000
"""The same for reading code, where one object in a hundred is garbage: more than the largest packages make."""


@contextmanager
def rarely_collected(new_objects: int = _NEW_OBJECTS) -> Iterator[None]:
    """For code whose objects nearly all live until its end: looking for garbage at Python's own pace takes a quarter of
    the time of an analysis and frees next to nothing."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], new_objects) if before[0] else 0, 50, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


@contextmanager
def left_to_the_end() -> Iterator[None]:
    """For what a process does last: what it leaves behind goes with the process, and nobody looks through it before."""
    with rarely_collected(OF_AN_ANALYSIS):
        yield
        gc.freeze()


__all__ = ["OF_AN_ANALYSIS", "left_to_the_end", "rarely_collected"]
