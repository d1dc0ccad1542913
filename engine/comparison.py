"""One script on many devices: a run for each generation of kernels, a verdict for each device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import ConfigDict, Field

from engine.estimate import configuration, evidence_of, prepared, priced, task_of, with_note
from engine.findings import Contract, Setting, Target, Verdict
from engine.memory.evidence import age_note
from engine.memory.launch import CannotLaunch
from engine.memory.occupancy import target_of
from engine.memory.overrides import checked, shown
from engine.memory.shadow import Launch, Outcome, shadow_run
from hardware_catalog import Gpu, bf16_tflops, memory_bandwidth_gb_s, usable_bytes

if TYPE_CHECKING:
    from engine.project import Project


class ComparedDevice(Target):
    """One device as an estimate judges it, and what it is like otherwise."""

    memory_bandwidth_gb_s: float | None = None
    bf16_tflops: float | None = None


class Comparison(Contract):
    """Answer of `preflight compare`: the devices that hold the run first, the cheapest of them first."""

    schema_version: Literal[1] = Field(default=1, alias="schema")
    script: str
    task: str = "unknown"
    configuration: Mapping[str, Setting] = Field(default_factory=dict)
    devices: tuple[ComparedDevice, ...] = ()
    notes: tuple[str, ...] = ()

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, serialize_by_alias=True)


_ORDER: Mapping[Verdict, int] = {"fits": 0, "borderline": 1, "unknown": 2, "does-not-fit": 3}


def compare_devices(
    project: Project,
    script: str,
    gpus: Sequence[Gpu],
    overrides: Mapping[str, str] | None = None,
    *,
    seconds: float = 60.0,
) -> Comparison:
    """The verdict of `script` on each of `gpus`. Raises ValueError for an override that is none."""
    asked = checked(overrides or {})
    try:
        project, launch = prepared(project, script, asked)
    except CannotLaunch as problem:
        unknown = tuple(_described(gpu, None, 1) for gpu in gpus)
        return Comparison(script=script, devices=tuple(sorted(unknown, key=_rank)), notes=(str(problem),))
    runs: dict[str, Outcome] = {}
    for gpu in gpus:
        if gpu.kernels not in runs:
            aged = with_note(launch, age_note(gpu))
            runs[gpu.kernels] = shadow_run(project, aged, architecture=gpu.kernels, overrides=asked, seconds=seconds)
    first = next(iter(runs.values()))
    settings, notes = shown(configuration(project, launch, first), asked)
    if not first.complete:
        notes.insert(0, f"the program could not be followed: {first.problem or 'no whole step was reached'}")
    devices = [_judged(project, launch, runs[gpu.kernels], gpu, asked) for gpu in gpus]
    return Comparison(
        script=script,
        task=task_of(first),
        configuration=settings,
        devices=tuple(sorted(devices, key=_rank)),
        notes=tuple(dict.fromkeys([*notes, *(note for run in runs.values() for note in run.notes)])),
    )


def _judged(project: Project, launch: Launch, run: Outcome, gpu: Gpu, overrides: Mapping[str, str]) -> ComparedDevice:
    if not run.complete:
        return _described(gpu, None, run.world_size)
    evidence = evidence_of(project, launch, run, overrides)
    return _described(gpu, target_of(run, gpu, run.world_size, evidence), run.world_size)


def _described(gpu: Gpu, judged: Target | None, devices: int) -> ComparedDevice:
    """A device with what the catalogue says of it; without a judgement its verdict is unknown."""
    unknown = Target(gpu=gpu.id, usable_bytes=usable_bytes(gpu), verdict="unknown")
    target = priced(judged or unknown, devices)
    return ComparedDevice(
        **target.model_dump(),
        memory_bandwidth_gb_s=memory_bandwidth_gb_s(gpu),
        bf16_tflops=bf16_tflops(gpu),
    )


def _rank(device: ComparedDevice) -> tuple[int, bool, float, int, str]:
    """Where it fits, then the cheapest; those without a price last, the smallest of them first."""
    price = device.usd_per_hour
    return (_ORDER[device.verdict], price is None, price or 0.0, device.usable_bytes, device.gpu)
