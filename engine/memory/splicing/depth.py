"""From the tapes of a model with two and with three of its equal blocks to that of the model with all of them.

The tape of the deeper model is that of the shallower with a stretch put in wherever the program goes through the
blocks once: forward, backward, over the parameters, over their gradients. A further block puts each stretch in once
more. Which block of memory a stretch gives back is told by its place among the equal ones that live then, counted from
the newest or from the oldest, whichever the two tapes agree upon. Where they agree upon neither there is no such tape.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from engine.memory.splicing.tape import ALLOCATE, EMPTY, RECATEGORISE, RELEASE, RESET, Asked, Tape
from hardware_catalog.allocator import Allocator, Block

_WINDOWS = (64, 16, 4, 1)
"""What has to follow a stretch alike on both tapes, in events: the longest that still finds one."""


class Event(NamedTuple):
    """One event of the deeper tape. `place` finds its block among the live ones of `kind`: from the newest where it is
    negative, from the oldest where not; `growth` is what each further block of the model adds to its bytes."""

    what: int
    kind: int
    number_of_bytes: int
    category: int
    becomes: int
    place: int
    growth: int
    step: int = 0
    """What each further repetition adds to the place."""


@dataclass(frozen=True)
class Depth:
    """The events of the deeper tape, and the stretches in it that one more block repeats: (first, behind the last)."""

    events: Sequence[Event]
    stretches: Sequence[tuple[int, int]]

    def play(self, allocator: Allocator, more: int) -> None:
        """Ask everything of `allocator` for a model with `more` further blocks."""
        live: dict[int, list[Block]] = defaultdict(list)
        position = 0
        for first, behind in self.stretches:
            _play(self.events[position:behind], allocator, live, more)
            stretch = self.events[first:behind]
            for repetition in range(1, more + 1):
                _play(stretch, allocator, live, more, repetition)
            position = behind
        _play(self.events[position:], allocator, live, more)


def _play(
    events: Sequence[Event], allocator: Allocator, live: dict[int, list[Block]], more: int, repetition: int = 0
) -> None:
    allocate, release = allocator.allocate, allocator.release
    for what, kind, number_of_bytes, category, becomes, place, growth, step in events:
        if what == ALLOCATE:
            live[kind].append(allocate(number_of_bytes + more * growth, category))
        elif what == RELEASE:
            release(live[kind].pop(place + repetition * step))
        elif what == RECATEGORISE:
            block = live[kind].pop(place + repetition * step)
            live[becomes].append(block)
            allocator.recategorise(block, category)
        elif what == RESET:
            allocator.reset_peak()
        elif what == EMPTY:
            allocator.empty_cache()


class _Kinds:
    """Numbers what is asked, alike on both tapes; what is of a size that the other tape never has stands for any."""

    def __init__(self, shallow: Tape, deep: Tape) -> None:
        sizes = [{asked[1] for asked in tape.asked if asked[0] == ALLOCATE} for tape in (shallow, deep)]
        self._growing = sizes[0] ^ sizes[1]
        self._numbers: dict[Asked, int] = {}

    def __call__(self, asked: Asked) -> int:
        if asked[1] in self._growing:
            asked = (asked[0], -1, asked[2], asked[3])
        return self._numbers.setdefault(asked, len(self._numbers))


def _stretches(shallow: list[int], deep: list[int]) -> list[tuple[int, int]] | None:
    """Where the deeper tape has more than the shallower one, each a repetition of what stands before it; else None."""
    found: list[tuple[int, int]] = []
    i = j = 0
    while True:
        while i < len(shallow) and j < len(deep) and shallow[i] == deep[j]:
            i, j = i + 1, j + 1
        if i == len(shallow) and j == len(deep):
            return found
        length = _length(shallow, i, deep, j)
        if length is None:
            return None
        found.append((j, j + length))
        j += length


def _length(shallow: list[int], i: int, deep: list[int], j: int) -> int | None:
    most = min(j, (len(deep) - j) - (len(shallow) - i))
    for window in _WINDOWS:
        after = shallow[i : i + window]
        for length in range(1, most + 1):
            behind = j + length
            if deep[j] != deep[j - length] or deep[behind : behind + window] != after:
                continue
            if deep[j:behind] == deep[j - length : j]:
                return length
    return None


def _places(tape: Tape, kinds: _Kinds) -> list[tuple[int, int]]:
    """Of each event's block the place among the live ones of its kind: from the oldest, and from the newest."""
    live: dict[int, list[int]] = {}
    found: list[tuple[int, int]] = []
    for (what, size, category, becomes), block in zip(tape.asked, tape.blocks, strict=True):
        if what == ALLOCATE:
            live.setdefault(kinds((ALLOCATE, size, category, category)), []).append(block)
        elif what in (RELEASE, RECATEGORISE):
            alike = live[kinds((ALLOCATE, size, category, category))]
            place = alike.index(block)
            found.append((place, place - len(alike)))
            del alike[place]
            if what == RECATEGORISE:
                live.setdefault(kinds((ALLOCATE, size, becomes, becomes)), []).append(block)
            continue
        found.append((0, 0))
    return found


def _agreed(one: tuple[int, int], other: tuple[int, int]) -> int | None:
    """The place that is the same in both, from the newest if it can be."""
    if one[1] == other[1]:
        return one[1]
    return one[0] if one[0] == other[0] else None


class _Pair:
    """The two tapes side by side."""

    def __init__(self, shallow: Tape, deep: Tape) -> None:
        self.kinds = _Kinds(shallow, deep)
        self.shallow, self.deep = shallow, deep
        self.few = [self.kinds(asked) for asked in shallow.asked]
        self.more = [self.kinds(asked) for asked in deep.asked]
        self.few_places = _places(shallow, self.kinds)
        self.more_places = _places(deep, self.kinds)

    def stretches(self) -> list[tuple[int, int]] | None:
        """Where the deeper tape has more, so that what both have gives the same blocks back; None where that is not.

        What is repeated can be cut anywhere: the last block may give back in another order than those before it, so a
        cut that pairs it with one of them is moved up to before the first event that differs.
        """
        found = _stretches(self.few, self.more)
        if found is None:
            return None
        moved: list[tuple[int, int]] = []
        ahead = least = 0
        for first, behind in found:
            length, i = behind - first, first - ahead
            differing = next(
                (k for k in range(length, 0, -1) if self._differs(i - k, first - k)),
                0,
            )
            if first - differing < least:
                return None
            moved.append((first - differing, behind - differing))
            ahead, least = ahead + length, behind - differing
        return moved

    def _differs(self, i: int, j: int) -> bool:
        return i >= 0 and _agreed(self.few_places[i], self.more_places[j]) is None

    def repeated_place(self, j: int, length: int) -> tuple[int, int] | None:
        """The place of an event in a stretch, and what each further repetition adds to it: as in the repetition before
        it or behind it, or else as much further from the oldest as the last two times."""
        for other in (j - length, j + length):
            if 0 <= other < len(self.more) and self.more[other] == self.more[j]:
                place = _agreed(self.more_places[other], self.more_places[j])
                if place is not None:
                    return place, 0
        if j >= 2 * length and self.more[j] == self.more[j - length] == self.more[j - 2 * length]:
            first, second, third = (self.more_places[j - k * length][0] for k in (2, 1, 0))
            if third - second == second - first > 0:
                return third, third - second
        return None

    def event(self, j: int, i: int | None, place: int, step: int = 0) -> Event:
        """Event `j` of the deeper tape, which is event `i` of the shallower one if that has it."""
        what, size, category, becomes = self.deep.asked[j]
        kind = self.kinds((ALLOCATE, size, category, category))
        growth = 0 if i is None else size - self.shallow.asked[i][1]
        return Event(what, kind, size, becomes, self.kinds((ALLOCATE, size, becomes, becomes)), place, growth, step)


def depth_of(shallow: Tape, deep: Tape) -> Depth | None:
    """How the tape grows with the depth of the model; `deep` has one block more. None where it can not be told."""
    pair = _Pair(shallow, deep)
    stretches = pair.stretches()
    if stretches is None:
        return None
    events: list[Event] = []
    i = 0
    for (first, behind), following in zip([(0, 0), *stretches], [*stretches, (len(deep.asked), 0)], strict=True):
        for j in range(first, behind):
            repeated = pair.repeated_place(j, behind - first)
            if repeated is None:
                return None
            events.append(pair.event(j, None, *repeated))
        for j in range(behind, following[0]):
            place = _agreed(pair.few_places[i], pair.more_places[j])
            if place is None:
                return None
            events.append(pair.event(j, i, place))
            i += 1
    return Depth(events, stretches)
