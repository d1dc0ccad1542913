"""The tape of a shadow run: what it asks of the allocator, in order, without asking it."""

from __future__ import annotations

from dataclasses import dataclass, field

from hardware_catalog.allocator import Allocator, Block

ALLOCATE, RELEASE, RECATEGORISE, RESET, EMPTY = range(5)

Asked = tuple[int, int, int, int]
"""What is asked (one of the above), the bytes of its block, the block's category, and the category it is given."""


@dataclass
class Tape:
    """Everything that was asked, and the number of the block that each concerns, in the order of their allocation."""

    asked: list[Asked] = field(default_factory=list)
    blocks: list[int] = field(default_factory=list)

    def add(self, asked: Asked, block: int) -> None:
        self.asked.append(asked)
        self.blocks.append(block)


class Recorder(Allocator):
    """An allocator that writes a tape."""

    def __init__(self) -> None:
        super().__init__()
        self.tape = Tape()
        self._numbers: dict[Block, int] = {}
        self._made = 0

    def allocate(self, number_of_bytes: int, category: int) -> Block:
        """Also written down."""
        block = super().allocate(number_of_bytes, category)
        self._numbers[block] = self._made
        self.tape.add((ALLOCATE, number_of_bytes, category, category), self._made)
        self._made += 1
        return block

    def release(self, block: Block) -> None:
        """Also written down."""
        asked = (RELEASE, block.requested, block.category, block.category)
        self.tape.add(asked, self._numbers.pop(block))
        super().release(block)

    def recategorise(self, block: Block, category: int) -> None:
        """Also written down."""
        if block.category != category:
            self.tape.add((RECATEGORISE, block.requested, block.category, category), self._numbers[block])
        super().recategorise(block, category)

    def reset_peak(self) -> None:
        """Also written down."""
        self.tape.add((RESET, 0, 0, 0), -1)
        super().reset_peak()

    def empty_cache(self) -> int:
        """Also written down."""
        self.tape.add((EMPTY, 0, 0, 0), -1)
        return super().empty_cache()
