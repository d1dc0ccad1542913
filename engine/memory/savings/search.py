"""Which changes to play, alone and together, and which of them to recommend."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from engine.findings import ByteRange, Memory, Saving, SmallerDevice, Verdict
from engine.memory.occupancy import outside_bytes, verdict_of
from engine.memory.savings.options import OPTIONS, Option, together
from engine.memory.shadow import Outcome
from hardware_catalog import Gpu, next_smaller, usable_bytes

MIN_SHARE = 0.003
"""Options that save less than this share of what is occupied are not worth a line."""
MOST_TOGETHER = 3
"""Changes in one proposal: more than three at once are a new training set-up."""
MOST_PLAYED = 3
"""Sets of one size that are played for one device."""
BEST_PAIRS = 2
"""Pairs that are played where nothing has to be saved."""

Play = Callable[[Option], "Outcome | None"]


@dataclass(frozen=True)
class Trial:
    """A change that was played; bytes on one device. `members` are the options that it consists of."""

    members: tuple[Option, ...]
    option: Option
    outcome: Outcome
    occupied: int

    @property
    def price(self) -> float:
        return self.option.price


@dataclass(frozen=True)
class Found:
    """What a search found: the savings in their order, and what the next smaller device would need."""

    savings: tuple[Saving, ...]
    smaller: SmallerDevice | None


def applies(option: Option, run: Outcome) -> bool:
    """Whether a change can be made to a run."""
    several = run.world_size > 1 or not option.several_ranks
    return several and option.applies(run.observations)


def worth_playing(option: Option, run: Outcome, memory: Memory) -> bool:
    """Whether a change can be made to a run and may save something worth a line."""
    if not applies(option, run):
        return False
    return option.at_most is None or option.at_most(run) >= MIN_SHARE * memory.occupied.expected


def scaled(whole: ByteRange, occupied: int) -> ByteRange:
    """The range of a whole run, scaled to the bytes that a change leaves occupied."""
    scale = occupied / max(1, whole.expected)
    return ByteRange(low=int(whole.low * scale), expected=occupied, high=int(whole.high * scale))


class Search:
    """Plays options on one run. `play` gives the run under an option, None where the change had no effect or failed."""

    def __init__(
        self, run: Outcome, memory: Memory, devices: Sequence[Gpu], first: Gpu, play: Play, *, seconds: float
    ) -> None:
        self._run = run
        self._memory = memory
        self._devices = devices
        self._first = first
        self._play = play
        self._deadline = time.process_time() + seconds
        self._trials: dict[tuple[str, ...], Trial | None] = {}
        self._inert: set[str] = set()

    def go(self) -> Found:
        """Play what can matter, and rank it."""
        for option in OPTIONS:
            if self._worth_playing(option):
                self._try((option,))
        needed = [gpu for gpu in self._devices if self._verdict(self._memory.occupied.expected, gpu) != "fits"]
        recommended = self._smallest_set(needed) if needed else None
        if recommended is None:
            for members in self._best_pairs():
                self._try(members)
        return Found(tuple(self._ranked(recommended)), self._smaller())

    # ---- what is played

    def _worth_playing(self, option: Option) -> bool:
        return worth_playing(option, self._run, self._memory)

    def _applies(self, option: Option) -> bool:
        return applies(option, self._run)

    def _try(self, members: tuple[Option, ...]) -> Trial | None:
        option = together(members)
        if option is None:
            return None
        if option.changes not in self._trials:
            outcome = self._play(option) if time.process_time() < self._deadline else None
            trial = None
            if outcome is None:
                self._inert.update(option.changes if len(members) == 1 else ())
            else:
                occupied = outcome.reserved + outside_bytes(self._first, self._run.world_size)
                if self._without_one(members) - occupied >= MIN_SHARE * self._memory.occupied.expected:
                    trial = Trial(members, option, outcome, occupied)
            self._trials[option.changes] = trial
        return self._trials[option.changes]

    def _without_one(self, members: tuple[Option, ...]) -> int:
        """What is occupied under the best part of a set: each of its changes has to save something of its own."""
        chosen = {change for option in members for change in option.changes}
        parts = [
            trial.occupied
            for trial in self._trials.values()
            if trial is not None and set(trial.option.changes) < chosen
        ]
        return min(parts, default=self._memory.occupied.expected)

    def _extensions(self, trial: Trial) -> Iterator[tuple[int, Option]]:
        """The options that can be added to a trial, each with the most that it can save then.

        What saves nothing alone may save much once another change has moved the peak, so the bound is that of the
        trial's own peak.
        """
        for option in OPTIONS:
            if together((*trial.members, option)) is None or not self._applies(option):
                continue
            if not self._inert.isdisjoint(option.changes):
                continue
            alone = self._trials.get(option.changes)
            if option.at_most is not None:
                yield option.at_most(trial.outcome), option
            elif alone is not None:
                yield self._memory.occupied.expected - alone.occupied, option

    def _best_pairs(self) -> list[tuple[Option, ...]]:
        """Pairs that may save most for their price: the best change with others that save something alone."""
        ranked = self._by_worth()
        if not ranked:
            return []
        best = ranked[0]
        found = [
            (bound / (1 + best.price + option.price), (*best.members, option))
            for bound, option in self._extensions(best)
            if bound >= MIN_SHARE * self._memory.occupied.expected and self._trials.get(option.changes) is not None
        ]
        found.sort(key=lambda pair: -pair[0])
        return [members for _, members in found[:BEST_PAIRS]]

    def _smallest_set(self, devices: Sequence[Gpu]) -> Trial | None:
        """The fewest changes that make the run fit all of `devices`, the cheapest among equals."""
        for size in range(1, MOST_TOGETHER + 1):
            if size > 1:
                self._play_towards(size, devices)
            fitting = [
                trial
                for trial in self._trials.values()
                if trial is not None
                and len(trial.members) == size
                and all(self._verdict(trial.occupied, gpu) == "fits" for gpu in devices)
            ]
            if fitting:
                return min(fitting, key=lambda trial: (trial.price, trial.occupied))
        return None

    def _play_towards(self, size: int, devices: Sequence[Gpu]) -> None:
        """Play sets of `size` that may fit, the cheapest first, until one does."""
        room = min(usable_bytes(gpu) for gpu in devices)
        hopeful = []
        for trial in self._trials.values():
            if trial is None or len(trial.members) != size - 1:
                continue
            missing = self._range(trial.occupied).high - room
            hopeful += [
                (trial.price + option.price, (*trial.members, option))
                for bound, option in self._extensions(trial)
                if bound >= missing and frozenset((*trial.option.changes, *option.changes)) not in self._sets()
            ]
        seen: set[frozenset[str]] = set()
        for _, members in sorted(hopeful, key=lambda entry: entry[0]):
            changes = frozenset(change for option in members for change in option.changes)
            if changes in seen:
                continue
            seen.add(changes)
            trial = self._try(members)
            if trial is not None and all(self._verdict(trial.occupied, gpu) == "fits" for gpu in devices):
                return
            if len(seen) == MOST_PLAYED:
                return

    def _sets(self) -> set[frozenset[str]]:
        return {frozenset(changes) for changes in self._trials}

    # ---- what is said

    def _range(self, occupied: int) -> ByteRange:
        return scaled(self._memory.occupied, occupied)

    def _verdict(self, occupied: int, gpu: Gpu) -> Verdict:
        return verdict_of(self._range(occupied), usable_bytes(gpu))

    def _by_worth(self) -> list[Trial]:
        """What was played, by the bytes that it saves against its price."""
        whole = self._memory.occupied.expected
        trials = [trial for trial in self._trials.values() if trial is not None]
        return sorted(trials, key=lambda trial: -(whole - trial.occupied) / (1 + trial.price))

    def _ranked(self, recommended: Trial | None) -> list[Saving]:
        whole = self._memory.occupied.expected
        trials = self._by_worth()
        if recommended is not None:
            trials.remove(recommended)
            trials.insert(0, recommended)
        return [
            Saving(
                change=trial.option.change,
                saves_bytes=whole - trial.occupied,
                occupied_bytes=trial.occupied,
                cost=trial.option.cost,
                verdict={gpu.id: self._verdict(trial.occupied, gpu) for gpu in self._devices},
                recommended=trial is recommended,
            )
            for trial in trials
        ]

    def _smaller(self) -> SmallerDevice | None:
        gpu = next_smaller(min(self._devices or [self._first], key=usable_bytes))
        if gpu is None:
            return None
        if self._verdict(self._memory.occupied.expected, gpu) == "fits":
            return SmallerDevice(gpu=gpu.id, usable_bytes=usable_bytes(gpu), verdict="fits")
        trial = self._smallest_set([gpu])
        if trial is None:
            verdict = self._verdict(self._memory.occupied.expected, gpu)
            return SmallerDevice(gpu=gpu.id, usable_bytes=usable_bytes(gpu), verdict=verdict)
        return SmallerDevice(
            gpu=gpu.id,
            usable_bytes=usable_bytes(gpu),
            verdict="fits",
            change=trial.option.change,
            cost=trial.option.cost,
        )
