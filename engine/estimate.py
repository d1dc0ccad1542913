"""`preflight estimate`: the peak memory of a training, inference or generation script, as a range with its reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from engine.findings import (
    EstimateReport,
    ModelSummary,
    Setting,
    Target,
)
from engine.memory.cells import notes_in_cells, settings_in_cells
from engine.memory.choosing import Runs, judged_on, largest_offered
from engine.memory.configuration import PRECISION_WORDS, locate, locate_word
from engine.memory.evidence import EAGER, LIBRARY_STEP, age_note, class_of, doubtful, unmodelled
from engine.memory.launch import CannotLaunch, plan
from engine.memory.occupancy import RETURNED, memory_of, target_of, within
from engine.memory.overrides import checked, shown
from engine.memory.savings import Found, rank_savings
from engine.memory.shadow import Launch, Outcome, shadow_run
from hardware_catalog import Gpu, Rental, UnknownGPU, cheapest_rental, find_gpu, names_no_gpu, usable_bytes

if TYPE_CHECKING:
    from engine.project import Project

DEFAULT_GPU = "a100-80gb"
"""Whose kernels and workspaces are taken where no GPU is named."""

AUTO = "auto"
"""What stands among the GPUs for the cheapest device for rent that the run fits."""

NO_MODEL = "no model was called"

Task = Literal["train", "inference", "generate", "unknown"]
Confidence = Literal["high", "medium", "low", "unknown"]
FetchConfig = Callable[[str], Mapping[str, Any] | None]


def estimate(
    project: Project,
    script: str,
    *,
    gpus: Sequence[str] = (),
    overrides: Mapping[str, str] | None = None,
    fetch_config: FetchConfig | None = None,
    savings: bool = True,
    seconds: float = 60.0,
) -> EstimateReport:
    """Follow `script` in `project` and report its peak on one device.

    Among `gpus`, `auto` stands for the cheapest device for rent that the run fits. `overrides` are `--set key=value`
    pairs; `fetch_config(name)` may supply a model's configuration that is not in the catalogue. Raises UnknownGPU for a
    GPU name that the catalogue lacks and ValueError for an override that is none; everything else becomes a note.
    """
    devices = [find_gpu(name) for name in gpus if name != AUTO and not names_no_gpu(name)]
    notes: list[str] = []
    overrides = checked(overrides or {})
    try:
        project, launch = prepared(project, script, overrides)
    except CannotLaunch as problem:
        return EstimateReport(targets=_unknown_targets(devices), notes=(str(problem),))
    named = devices
    first = devices[0] if devices else find_gpu(DEFAULT_GPU)
    if not devices:
        notes.append(f"no GPU was named: kernels and workspaces are those of {first.name}")

    def play(gpu: Gpu) -> Outcome:
        return shadow_run(
            project,
            with_note(launch, age_note(gpu) if named else None),
            architecture=gpu.kernels,
            overrides=overrides,
            seconds=seconds,
            fetch_config=fetch_config,
        )

    runs = Runs(first.kernels, play(first), play)
    if AUTO in gpus:
        devices, note = _with_cheapest(project, launch, runs, devices, first, overrides)
        notes = [note]
        first = devices[0] if devices else first
    return report(
        project,
        launch,
        runs,
        devices,
        first,
        notes,
        overrides,
        to_save_for=[gpu for gpu in devices if gpu in named] or devices[:1],
        savings=savings,
        seconds=seconds,
        fetch_config=fetch_config,
    )


def prepared(project: Project, script: str, overrides: Mapping[str, str]) -> tuple[Project, Launch]:
    """How a script is launched under (checked) overrides, and the project with the sources that were written for it.

    Raises CannotLaunch.
    """
    launch = plan(project, script)
    if "world_size" in overrides:
        launch = _with_world_size(launch, int(overrides["world_size"]))
    return project.with_files(launch.sources), launch


def _with_cheapest(
    project: Project,
    launch: Launch,
    runs: Runs,
    devices: Sequence[Gpu],
    first: Gpu,
    overrides: Mapping[str, str],
) -> tuple[list[Gpu], str]:
    """The devices with the cheapest that the run fits, and what is said of it. Where none is enough, the largest stand
    there instead: what they lack is what there is to save."""
    run = runs.on(first)
    if not run.complete:
        return [*devices], "which device it fits is not known"
    rental = runs.cheapest_that_fits(evidence_of(project, launch, run, overrides))
    if rental is None:
        largest = [gpu for gpu in largest_offered() if gpu not in devices]
        told = "no device with a published price surely holds it; the largest stand here with what is missing on each"
        return [*devices, *largest], told
    number = f"{rental.instances} × " if rental.instances > 1 else ""
    told = (
        f"the cheapest device for rent that it fits: {rental.gpu.name}, {number}{rental.instance.id} at "
        f"${rental.usd_per_hour:,.2f} an hour{_share(rental)} ({rental.instance.price_date or 'undated'})"
    )
    return [*devices] if rental.gpu in devices else [*devices, rental.gpu], told


def _share(rental: Rental) -> str:
    """What each device of the run costs, where the whole instances cost something else."""
    if rental.devices_rented == 1:
        return ""
    return f" for {rental.devices_rented} GPUs, ${rental.usd_per_device_hour:,.2f} for each that the run uses"


def evidence_of(project: Project, launch: Launch, run: Outcome, overrides: Mapping[str, str]) -> str:
    """The class of evidence that a finished run rests on: it decides how wide its range is."""
    settings, _ = shown(configuration(project, launch, run), overrides)
    sharding = settings.get("sharding")
    return class_of(confidence_of(run), run.notes, sharding.value if sharding is not None else None)


def priced(target: Target, devices: int) -> Target:
    """The target with the cheapest published price of as many devices as the run uses."""
    rental = cheapest_rental(find_gpu(target.gpu), max(1, devices))
    if rental is None:
        return target
    return target.model_copy(
        update={
            "usd_per_hour": round(rental.usd_per_hour, 4),
            "instance": rental.instance.id,
            "gpus_rented": rental.devices_rented,
            "usd_per_gpu_hour": round(rental.usd_per_device_hour, 4),
            "price_date": rental.instance.price_date,
        }
    )


def with_note(launch: Launch, note: str | None) -> Launch:
    """The launch with something more to say."""
    from dataclasses import replace

    return launch if note is None else replace(launch, notes=(*launch.notes, note))


def _with_world_size(launch: Launch, size: int) -> Launch:
    from dataclasses import replace

    return replace(launch, world_size=size)


def _unknown_targets(devices: Sequence[Gpu]) -> tuple[Target, ...]:
    return tuple(Target(gpu=gpu.id, usable_bytes=usable_bytes(gpu), verdict="unknown") for gpu in devices)


def report(
    project: Project,
    launch: Launch,
    runs: Runs,
    devices: Sequence[Gpu],
    first: Gpu,
    notes: Sequence[str],
    overrides: Mapping[str, str],
    *,
    to_save_for: Sequence[Gpu],
    savings: bool,
    seconds: float,
    fetch_config: FetchConfig | None = None,
) -> EstimateReport:
    """The report of finished shadow runs: the peak on `first`, a verdict on each of `devices` by the run of its own
    kernels, and the savings that make it fit on `to_save_for`."""
    run = runs.on(first)
    seen = run.observations
    said = [*notes, *run.notes]
    model = ModelSummary(
        name=seen.model_name,
        parameters=seen.parameters,
        trainable_parameters=seen.trainable,
        evidence=seen.evidence,  # type: ignore[arg-type]
    )
    settings, unfollowed = shown(settings_in_cells(project, configuration(project, launch, run)), overrides)
    said += unfollowed
    if not run.complete:
        why = run.problem or _why_nothing_ran(run)
        nothing_ran = _why_nothing_ran(run)
        if run.problem and seen.parameters is None and nothing_ran != NO_MODEL:
            why = f"{run.problem} ({nothing_ran})"
        if why == NO_MODEL:
            why += "; the script to name is the one that starts the training, the inference or the generation"
        return EstimateReport(
            task=task_of(run),
            model=model,
            configuration=settings,
            targets=_unknown_targets(devices),
            notes=notes_in_cells(project, launch.script, (f"the program could not be followed: {why}", *said)),
        )
    if run.problem is not None:
        said.append(f"the run was followed until {run.problem}")
    confidence = confidence_of(run)
    sharding = settings.get("sharding")
    evidence = class_of(confidence, run.notes, sharding.value if sharding is not None else None)
    memory = memory_of(run, first, run.world_size, evidence)
    targets = tuple(
        priced(target_of(runs.judging(gpu), gpu, run.world_size, evidence), run.world_size) for gpu in devices
    )
    found = (
        rank_savings(
            project, launch, run, memory, to_save_for, first, overrides, seconds=seconds, fetch_config=fetch_config
        )
        if savings
        else Found((), None)
    )
    bounded = within(memory, first) if devices else memory
    if bounded != memory:
        said.append(RETURNED.format(kept=memory.occupied.expected / (1 << 30), gpu=first.name))
    return EstimateReport(
        task=task_of(run),
        model=model,
        configuration=settings,
        memory=bounded,
        targets=targets,
        savings=judged_on(found.savings, run, devices, evidence),
        smaller=found.smaller,
        confidence=confidence,
        notes=notes_in_cells(project, launch.script, dict.fromkeys(said)),
    )


def _why_nothing_ran(run: Outcome) -> str:
    seen = run.observations
    missing = [note for note in run.notes if "catalogue" in note]
    reasons = [*missing, *(note for note in run.notes if "passed over" in note or "not modelled" in note)]
    if seen.backwards and not seen.steps:
        return "no optimizer step was reached" + (f" ({reasons[0]})" if reasons else "")
    if seen.saw_nothing:
        return "the size of its data is not known"
    if not seen.model_calls:
        return NO_MODEL + (f" ({reasons[0]})" if reasons else "")
    return reasons[0] if reasons else "no steady state was reached"


def task_of(run: Outcome) -> Task:
    """What the program does with its model."""
    seen = run.observations
    if seen.steps or seen.backwards:
        return "train"
    if seen.generated:
        return "generate"
    return "inference" if seen.model_calls else "unknown"


def confidence_of(run: Outcome) -> Confidence:
    """How much of what the peak depends on was read rather than assumed."""
    if run.problem is not None:
        return "low"
    doubts = [note for note in run.notes if doubtful(note)]
    unknown = [note for note in run.notes if unmodelled(note) or note in (LIBRARY_STEP, EAGER)]
    if len(doubts) > 1:
        return "low"
    return "medium" if doubts or unknown else "high"


def configuration(project: Project, launch: Launch, run: Outcome) -> dict[str, Setting]:
    """Every value of interest, with the place it was read from."""
    seen = run.observations
    # The values of a program that was written for the launch are those of the settings that it was written from.
    # The script says how it trains more often than what it imports, which may be made for many scripts.
    python_files = [
        path
        for path in dict.fromkeys((launch.script, *run.files))
        if path.endswith((".py", ".ipynb")) and path not in launch.sources
    ]
    others = [] if launch.sources else [*launch.read, *run.read]
    declared = dict(seen.declared)
    values: dict[str, Any] = {
        "batch_size": declared.pop("batch_size", seen.batch_size),
        "sequence_length": seen.sequence_length,
        "image_size": seen.image_size,
        "max_new_tokens": None,
        **declared,
        "world_size": run.world_size,
    }
    if seen.steps:
        values.setdefault("accumulation_steps", seen.accumulation_steps)
    settings = {
        key: locate(project, python_files, others, key, value) for key, value in values.items() if value is not None
    }
    if seen.precision is not None:
        settings["precision"] = locate_word(
            project, [*python_files, *others], seen.precision, PRECISION_WORDS.get(seen.precision, seen.precision)
        )
    if seen.optimizer is not None:
        name = seen.optimizer.split("+")[0]
        named = locate_word(project, [*python_files, *others], seen.optimizer, rf"\b{name}\b|{name}\(")
        settings["optimizer"] = (
            named
            if named.line is not None
            else locate_word(project, [*python_files, *others], seen.optimizer, r"optim\w*\s*[:=]")
        )
    if seen.steps:
        words = r"checkpoint"
        settings["gradient_checkpointing"] = (
            locate_word(project, [*python_files, *others], True, words)
            if seen.gradient_checkpointing
            else Setting(value=False, assumed=True)
        )
    if seen.attention is not None:
        settings["attention"] = locate_word(
            project, python_files, seen.attention, r"attn_implementation|scaled_dot_product_attention"
        )
    for key, (path, line) in launch.places.items():
        if key in settings:
            settings[key] = Setting(value=settings[key].value, path=path, line=line)
    return settings


__all__ = ["UnknownGPU", "estimate"]
