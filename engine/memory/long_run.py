"""What the allocator comes to reserve in a long run whose batches differ in length.

A shadow run plays a few batches. In a real one hundreds follow, each of another length: a longer batch finds no free
block that is large enough, a shorter one splits those that are, and what is reserved grows far beyond what is live.
The large blocks of one batch are enough to follow that: how their sizes grow with its length shows in two batches, and
replayed alone through the allocator they cost little. Published fine-tunings of Qwen by ms-swift reserve nine to
thirteen times their float32 logits, where three times is live; this replay gives ten.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from hardware_catalog.allocator import CATEGORY_INDEX, Allocator, Event

BATCHES = 100
"""Batches of the run that is replayed; most of what is ever reserved is by then."""
ORDERS = 9
"""Orders of lengths that are tried; the median counts. Fewer where a batch has many large blocks, but FEWEST_ORDERS."""
FEWEST_ORDERS = 3
MOST_PIECES = 20 * ORDERS
"""Allocations and releases of a batch times the orders that are tried."""
SHARE = 4
"""Blocks of at least this part of the largest are replayed."""
POWERS = (0, 1, 2)
"""How a block may grow with the length: not at all as dequantised weights, as activations, as eager attention."""
TOLERANCE = 0.05
"""How far two batches' blocks may be from such growth."""
_CATEGORY = CATEGORY_INDEX["temporaries"]


@dataclass(frozen=True)
class Piece:
    """An allocation of a batch, or the release of one (0 bytes). `power` is that of the length it grows with."""

    name: int
    number_of_bytes: int
    power: int = 1


@dataclass
class Batches:
    """The events of a run, and where its batches start and end among them."""

    events: list[Event]
    parts: tuple[float, ...]
    """Lengths of successive batches as parts of the longest, from the first again after the last."""
    starts: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)

    def on_call(self) -> None:
        """To be told of calls of modules: the first after a backward pass starts a batch."""
        if len(self.starts) == len(self.ends):
            self.starts.append(len(self.events))

    def on_backward(self, moment: str) -> None:
        """To be told of backward passes: one ends a batch."""
        if moment == "end" and len(self.starts) > len(self.ends):
            self.ends.append(len(self.events))

    def growth(self) -> int:
        """Bytes that a long run reserves beyond this one; 0 where batches do not repeat."""
        played = [self.parts[number % len(self.parts)] for number in range(len(self.ends))]
        if max(self.parts) not in played:
            return 0
        longest = played.index(max(self.parts))
        whole = self._pieces(longest)
        for number in range(1, len(played)):
            pieces = _scaled(whole, self._pieces(number), played[number] / played[longest])
            if pieces and number != longest:
                orders = max(FEWEST_ORDERS, min(ORDERS, MOST_PIECES // len(pieces)))
                long_run = median(_reserved(pieces, _drawn(seed)) for seed in range(orders))
                return max(0, int(long_run) - _reserved(pieces, played))
        return 0

    def _pieces(self, number: int) -> list[Piece]:
        """The large allocations of one batch and their releases, in order; what outlives it is released at its end."""
        events = self.events[self.starts[number] : self.ends[number]]
        least = max((event.number_of_bytes for event in events), default=0) / SHARE
        found: list[Piece] = []
        live: dict[int, int] = {}
        moved = -1
        for index, event in enumerate(events):
            size, place = event.number_of_bytes, event.position
            if index == moved:
                continue
            if size >= least > 0:
                live[place] = len(found)
                found.append(Piece(live[place], size))
            elif size < 0 and place in live:
                following = events[index + 1] if index + 1 < len(events) else None
                if following and (following.position, following.allocated) == (place, event.allocated):
                    # The block only changes its category.
                    moved = index + 1
                    continue
                found.append(Piece(live.pop(place), 0))
        return [*found, *(Piece(name, 0) for name in live.values())]


def _scaled(whole: Sequence[Piece], part: Sequence[Piece], ratio: float) -> list[Piece]:
    """The pieces of the longest batch with the powers they grow with; [] where the two batches are not alike."""
    outlines = [[(piece.name, piece.number_of_bytes > 0) for piece in pieces] for pieces in (whole, part)]
    if ratio == 1.0 or outlines[0] != outlines[1]:
        return []
    pieces = []
    for piece, other in zip(whole, part, strict=True):
        seen = other.number_of_bytes / piece.number_of_bytes if piece.number_of_bytes else 1.0
        power = min(POWERS, key=lambda power: abs(seen - ratio**power))
        if abs(seen - ratio**power) > TOLERANCE:
            return []
        pieces.append(Piece(piece.name, piece.number_of_bytes, power))
    return pieces if any(piece.power for piece in pieces) else []


def _drawn(seed: int) -> list[float]:
    order = random.Random(seed)
    return [order.random() for _ in range(BATCHES)]


def _reserved(pieces: Sequence[Piece], parts: Sequence[float]) -> int:
    """What the allocator reserves for batches of these lengths, of their large blocks alone."""
    allocator = Allocator()
    for part in parts:
        live = {}
        for piece in pieces:
            if piece.number_of_bytes:
                size = int(piece.number_of_bytes * part**piece.power)
                live[piece.name] = allocator.allocate(size, _CATEGORY)
            else:
                allocator.release(live.pop(piece.name))
    return allocator.reserved
