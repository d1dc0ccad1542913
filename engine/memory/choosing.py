"""One program on several devices: a run for each generation of kernels, and the cheapest for rent that it fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from engine.findings import Saving
from engine.memory.occupancy import target_of, verdict_of
from engine.memory.savings.search import scaled
from engine.memory.shadow import Outcome
from hardware_catalog import Gpu, Rental, cheapest_that, offered_gpus, usable_bytes

MOST_SHOWN = 3
"""Devices of different sizes that are shown where none is enough."""

Play = Callable[[Gpu], Outcome]


class Runs:
    """A program's run on each generation of kernels that is asked for, each played once: attention and workspaces
    differ."""

    def __init__(self, kernels: str, run: Outcome, play: Play) -> None:
        """`run` was played with `kernels`; `play` plays it on a device of another generation."""
        self._runs = {kernels: run}
        self._run = run
        self._play = play

    def on(self, gpu: Gpu) -> Outcome:
        """The run with this device's kernels."""
        if gpu.kernels not in self._runs:
            self._runs[gpu.kernels] = self._play(gpu)
        return self._runs[gpu.kernels]

    def judging(self, gpu: Gpu) -> Outcome:
        """The run that the device is judged by: that of its own kernels, where it could be followed as far."""
        own = self.on(gpu)
        return own if own.complete else self._run

    def cheapest_that_fits(self, evidence: str) -> Rental | None:
        """The cheapest rental that the run fits; None where no device for rent is enough.

        A device of another generation is asked with a run of its own only if it would hold the first.
        """
        run = self._run

        def fits(gpu: Gpu) -> bool:
            if target_of(run, gpu, run.world_size, evidence).verdict != "fits":
                return False
            own = self.on(gpu)
            return own.complete and target_of(own, gpu, own.world_size, evidence).verdict == "fits"

        return cheapest_that(fits, max(1, run.world_size))


def largest_offered() -> tuple[Gpu, ...]:
    """The largest devices for rent at a known price, one of each size, the largest first."""
    by_size: dict[float, Gpu] = {}
    for gpu in sorted(offered_gpus(), key=usable_bytes, reverse=True):
        by_size.setdefault(gpu.memory_gb, gpu)
    return tuple(by_size.values())[:MOST_SHOWN]


def judged_on(savings: Iterable[Saving], run: Outcome, gpus: Sequence[Gpu], evidence: str) -> tuple[Saving, ...]:
    """The savings with a verdict on each of these devices too."""
    judged = []
    for saving in savings:
        verdicts = dict(saving.verdict)
        for gpu in gpus:
            whole = target_of(run, gpu, run.world_size, evidence).occupied
            if gpu.id not in verdicts and whole is not None:
                verdicts[gpu.id] = verdict_of(scaled(whole, saving.occupied_bytes), usable_bytes(gpu))
        judged.append(saving.model_copy(update={"verdict": verdicts}))
    return tuple(judged)
