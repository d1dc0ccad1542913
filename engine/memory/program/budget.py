"""Limits of a shadow run: steps, seconds, and the size of any one value that the program builds."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sized

MAX_ELEMENTS = 4_000_000
"""Longest list, tuple, string or integer (in bits) that a program may build in one operation."""

_CHECK_EVERY = 512


class OutOfBudget(BaseException):
    """The program asked for more steps, time or room than a shadow run grants; not catchable by the program."""


class StopRun(BaseException):
    """The run has shown what it is run for (enough optimizer steps); unwinds the whole program."""


class Budget:
    """Counts interpreted steps, and every few hundred of them looks at the processor time spent.

    The clock on the wall would let a busy machine decide what an estimate says.
    """

    __slots__ = ("_deadline", "_left", "_until_check")

    def __init__(self, steps: int = 60_000_000, seconds: float = 60.0) -> None:
        self._left = steps
        self._deadline = time.process_time() + seconds
        self._until_check = _CHECK_EVERY

    def step(self) -> None:
        """Charge one step; raises OutOfBudget at the limit."""
        self._until_check -= 1
        if self._until_check <= 0:
            self._until_check = _CHECK_EVERY
            self._left -= _CHECK_EVERY
            if self._left <= 0:
                raise OutOfBudget("the program takes more steps than a shadow run grants")
            if time.process_time() > self._deadline:
                raise OutOfBudget("the program takes longer than a shadow run grants")

    def seconds_left(self) -> float:
        """Seconds of processor time until the deadline."""
        return self._deadline - time.process_time()

    def metered(self, items: Iterable[object]) -> Iterator[object]:
        """The same items, each charged as a step, and no more than MAX_ELEMENTS of them."""
        for count, item in enumerate(items):
            self.step()
            if count >= MAX_ELEMENTS:
                raise OutOfBudget("an iteration builds more elements than a shadow run grants")
            yield item

    def bounded(self, items: Iterable[object]) -> Iterable[object]:
        """`items` itself where it is a built container of modest size, else metered."""
        if isinstance(items, (list, tuple, set, frozenset, dict, str, bytes)):
            return items
        if isinstance(items, range) and len_within(items, MAX_ELEMENTS):
            return items
        return self.metered(items)


def len_within(items: Sized, limit: int) -> bool:
    """Whether `items` has at most `limit` elements (a range longer than a machine word has not)."""
    try:
        return len(items) <= limit
    except OverflowError:
        return False
