"""How often Python looks for garbage that refers to itself."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_NEW_OBJECTS = 200_000
"""Objects made between two looks, in place of 700: some 20 MB, and the look costs a hundredth of making them."""


@contextmanager
def rarely_collected() -> Iterator[None]:
    """For code whose objects nearly all live until its end: looking for garbage at Python's own pace takes a quarter of
    the time of an analysis and frees next to nothing."""
    before = gc.get_threshold()
    gc.set_threshold(max(before[0], _NEW_OBJECTS) if before[0] else 0, 50, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


__all__ = ["rarely_collected"]
