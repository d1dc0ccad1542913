"""What a run would occupy under changes of configuration that a person chooses, with its memory over time.

The savings of an estimate are a ranked choice; here any of its changes can be tried together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.estimate import DEFAULT_GPU, confidence_of, configuration, with_note
from engine.explored import Change, Curve, CurveSample, Exploration
from engine.findings import Breakdown, ByteRange, Target
from engine.memory.evidence import age_note, class_of
from engine.memory.launch import CannotLaunch, plan
from engine.memory.occupancy import memory_of, outside_bytes, target_of, verdict_of
from engine.memory.overrides import checked
from engine.memory.savings import player
from engine.memory.savings.options import OPTIONS, Option, together
from engine.memory.savings.search import scaled, worth_playing
from engine.memory.shadow import shadow_run
from engine.memory.timeline import Recorder, samples
from hardware_catalog import find_gpu, names_no_gpu, usable_bytes
from hardware_catalog.allocator import CATEGORIES

if TYPE_CHECKING:
    from engine.project import Project

CURVE_POINTS = 320
"""Samples of a curve: more than a plot on a page can show apart."""


def explore(
    project: Project,
    script: str,
    *,
    gpus: Sequence[str] = (),
    chosen: Sequence[str] = (),
    overrides: Mapping[str, str] | None = None,
    seconds: float = 60.0,
) -> Exploration:
    """Play `script` under the changes with the keys `chosen`, of those that apply to it.

    `overrides` are as for `estimate`. Raises UnknownGPU for a GPU name that the catalogue lacks and ValueError for an
    override that is none.
    """
    overrides = checked(overrides or {})
    devices = [find_gpu(name) for name in gpus if not names_no_gpu(name)]
    first = devices[0] if devices else find_gpu(DEFAULT_GPU)
    try:
        launch = with_note(plan(project, script), age_note(first) if devices else None)
    except CannotLaunch as problem:
        return Exploration(script=script, problem=str(problem))
    if "world_size" in overrides:
        launch = replace(launch, world_size=int(overrides["world_size"]))
    project = project.with_files(launch.sources)
    recorder = Recorder()
    run = shadow_run(project, launch, architecture=first.kernels, overrides=overrides, adjust=recorder, seconds=seconds)
    if not run.complete:
        return Exploration(script=script, problem=run.problem or "no steady state was reached")
    sharding = configuration(project, launch, run).get("sharding")
    evidence = class_of(confidence_of(run), run.notes, sharding.value if sharding is not None else None)
    memory = memory_of(run, first, run.world_size, evidence)
    applicable = {key_of(option): option for option in OPTIONS if worth_playing(option, run, memory)}
    found = Exploration(
        script=script,
        overrides=dict(overrides),
        options=tuple(
            Change(key=key, change=option.change, cost=option.cost, group=option.subject)
            for key, option in applicable.items()
        ),
    )
    outside = outside_bytes(first, run.world_size)
    if not chosen:
        targets = tuple(target_of(run, gpu, run.world_size, evidence) for gpu in devices)
        return _with_figures(found, memory.occupied, memory.breakdown, targets, _curve(recorder, outside))
    option = _combined([applicable[key] for key in chosen if key in applicable])
    found = found.model_copy(update={"chosen": tuple(key for key in applicable if key in chosen)})
    if option is None or not set(chosen) <= set(applicable):
        return found.model_copy(update={"problem": "these changes cannot be made together"})
    recorder = Recorder()
    outcome = player(project, launch, run, first, overrides, seconds=seconds, watch=recorder)(option)
    if outcome is None:
        return found.model_copy(update={"problem": "these changes have no effect here, or could not be followed"})
    occupied = scaled(memory.occupied, outcome.reserved + outside)
    targets = tuple(
        Target(
            gpu=gpu.id,
            usable_bytes=usable_bytes(gpu),
            verdict=verdict_of(occupied, usable_bytes(gpu)),
            occupied=occupied,
        )
        for gpu in devices
    )
    breakdown = memory_of(outcome, first, outcome.world_size, evidence).breakdown
    return _with_figures(found, occupied, breakdown, targets, _curve(recorder, outside))


def key_of(option: Option) -> str:
    """The name of an option in addresses and forms."""
    return "-with-".join(option.changes)


def _combined(options: Sequence[Option]) -> Option | None:
    return together(options) if options else None


def _with_figures(
    found: Exploration, occupied: ByteRange, breakdown: Breakdown, targets: tuple[Target, ...], curve: Curve
) -> Exploration:
    return found.model_copy(update={"occupied": occupied, "breakdown": breakdown, "targets": targets, "curve": curve})


def _curve(recorder: Recorder, outside: int) -> Curve:
    kept = samples(recorder.events, CURVE_POINTS)
    return Curve(
        categories=CATEGORIES,
        samples=tuple(
            CurveSample(index=sample.index, label=sample.label, reserved=sample.reserved, live=sample.live)
            for sample in kept
        ),
        outside=outside,
    )
