"""The cheapest device for rent that a run fits."""

from __future__ import annotations

from collections.abc import Callable

from engine.memory.occupancy import target_of
from engine.memory.shadow import Outcome
from hardware_catalog import Gpu, Rental, cheapest_that


def cheapest_that_fits(
    run: Outcome, kernels: str, evidence: str, again: Callable[[Gpu], Outcome]
) -> tuple[Rental, Outcome] | None:
    """The cheapest rental that the run fits, with the run on its kernels; None where no device for rent is enough.

    `run` was played with `kernels`. A device of another generation that would hold it is asked with a run of its own,
    which `again` plays: attention and workspaces differ.
    """
    runs = {kernels: run}

    def fits(gpu: Gpu) -> bool:
        if target_of(run, gpu, run.world_size, evidence).verdict != "fits":
            return False
        if gpu.kernels not in runs:
            runs[gpu.kernels] = again(gpu)
        own = runs[gpu.kernels]
        return own.complete and target_of(own, gpu, own.world_size, evidence).verdict == "fits"

    rental = cheapest_that(fits, max(1, run.world_size))
    return None if rental is None else (rental, runs[rental.gpu.kernels])
