"""Outcomes of a program under changes, told from two runs of a few blocks each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from engine.memory.shadow import Outcome
from engine.memory.splicing.depth import Depth, depth_of
from hardware_catalog.allocator import Allocator, Peak

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter

FEW = 2
"""Blocks of the shallower of the two runs; the deeper has one that has a block on either side."""
LEAST = 16
"""Blocks from which on two small runs cost less than the whole one."""
UNEVEN = frozenset({"zero-1"})
"""Changes that deal the parameters out, so that no block is treated as the next."""
EXPANDABLE = "expandable-segments"

Run = Callable[[Mapping[str, str], "Callable[[Interpreter], None] | None", int], Outcome]


@dataclass(frozen=True)
class _Told:
    """How the tape grows with the blocks, and the outcomes of the two runs that it was told from."""

    depth: Depth
    blocks: int
    """Of the deeper one."""
    shallow: Outcome
    deep: Outcome
    peaks: dict[tuple[int, bool], Peak | None] = field(default_factory=dict)
    """Of the whole model, by its further blocks and whether segments expand; None where the tape is not followed."""

    def _peak(self, more: int, expandable: bool) -> Peak | None:
        allocator = Allocator(expandable_segments=expandable)
        try:
            self.depth.play(allocator, more)
        except LookupError:
            return None
        return allocator.peak()

    def outcome(self, blocks: int, *, expandable: bool) -> Outcome | None:
        """Of the model with all of its blocks; None where the tape is not what it seemed."""
        more = blocks - self.blocks
        if (more, expandable) not in self.peaks:
            self.peaks[more, expandable] = self._peak(more, expandable)
        peak = self.peaks[more, expandable]
        if peak is None:
            return None
        few, seen = self.shallow.observations, self.deep.observations
        whole = replace(
            seen,
            parameters=_further(few.parameters, seen.parameters, more),
            trainable=_further(few.trainable, seen.trainable, more),
        )
        return replace(
            self.deep,
            allocated=peak.allocated,
            reserved=peak.reserved,
            categories=peak.categories,
            observations=whole,
            tape=None,
        )


def _further(few: int | None, one_more: int | None, more: int) -> int | None:
    return None if few is None or one_more is None else one_more + more * (one_more - few)


class Spliced:
    """Tells outcomes of changes to `whole`, a finished run. `run` plays the program with some overrides, an
    adjustment and so many blocks."""

    def __init__(self, whole: Outcome, overrides: Mapping[str, str], run: Run) -> None:
        self._whole = whole
        self._run = run
        self._kept: dict[tuple[object, ...], _Told | None] = {}
        self._blocks = next(iter(whole.depths)) if len(whole.depths) == 1 else 0
        self._overrides = dict(overrides)
        self._proven: bool | None = None

    def outcome(
        self,
        changes: tuple[str, ...],
        overrides: Mapping[str, str],
        adjust: Callable[[Interpreter], None] | None,
    ) -> Outcome | None:
        """The outcome under a change; None where only a whole run can tell it."""
        if self._blocks < LEAST or self._whole.world_size > 1 or not UNEVEN.isdisjoint(changes):
            return None
        if self._proven is None:
            self._proven = self._is_told()
        if not self._proven:
            return None
        told = self._told(tuple(change for change in changes if change != EXPANDABLE), overrides, adjust)
        return None if told is None else told.outcome(self._blocks, expandable=EXPANDABLE in changes)

    def _is_told(self) -> bool:
        """Whether the unchanged run is told to the byte."""
        told = self._told((), self._overrides, None)
        found = None if told is None else told.outcome(self._blocks, expandable=False)
        return found is not None and _figures(found) == _figures(self._whole)

    def _told(
        self,
        changes: tuple[str, ...],
        overrides: Mapping[str, str],
        adjust: Callable[[Interpreter], None] | None,
    ) -> _Told | None:
        key = (changes, tuple(sorted(overrides.items())))
        if key not in self._kept:
            self._kept[key] = self._tell(overrides, adjust if changes else None)
        return self._kept[key]

    def _tell(self, overrides: Mapping[str, str], adjust: Callable[[Interpreter], None] | None) -> _Told | None:
        shallow = self._run(overrides, adjust, FEW)
        # Where the first block is not treated as the others, it takes two more of these.
        for blocks in (FEW + 1, FEW + 2):
            deep = self._run(overrides, adjust, blocks)
            if not _comparable(shallow, deep):
                return None
            told = self._told_from(shallow, deep, blocks)
            if told is not None:
                return told
            shallow = deep
        return None

    def _told_from(self, shallow: Outcome, deep: Outcome, blocks: int) -> _Told | None:
        for told in self._kept.values():
            if told is not None and told.shallow.tape == shallow.tape and told.deep.tape == deep.tape:
                return _Told(told.depth, blocks, shallow, deep, told.peaks)
        if shallow.tape is None or deep.tape is None:
            return None
        depth = depth_of(shallow.tape, deep.tape)
        return None if depth is None else _Told(depth, blocks, shallow, deep)


def _comparable(shallow: Outcome, deep: Outcome) -> bool:
    finished = all(run.complete and run.problem is None and run.depths for run in (shallow, deep))
    return finished and shallow.notes == deep.notes


def _figures(run: Outcome) -> tuple[object, ...]:
    return run.allocated, run.reserved, run.categories, run.observations


__all__ = ["Spliced"]
