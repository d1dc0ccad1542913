"""One shadow run: a script interpreted on shadow tensors for one kind of device, and what its peak was made of."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engine.confinement import confined, released
from engine.garbage import rarely_collected
from engine.memory.adjustments import asked_for
from engine.memory.libraries import library_module
from engine.memory.long_run import Batches
from engine.memory.observations import Observations, Watcher
from engine.memory.program.budget import Budget, OutOfBudget
from engine.memory.program.machine import Interpreter
from engine.memory.splicing.tape import Recorder, Tape
from engine.memory.tensors import Machine
from engine.project import UnreadableFile

if TYPE_CHECKING:
    from engine.project import Project

LEAST_RECORDED = 4 << 20
"""Bytes of the smallest block that is recorded where only large ones are asked about."""
STACK_BYTES = 512 * 1024 * 1024
"""Stack of the interpreting thread (address space; pages are used as needed)."""


@dataclass(frozen=True)
class Launch:
    """How a program is started: the script, its arguments and environment, and the processes side by side."""

    script: str
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    world_size: int = 1
    places: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    search_paths: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    state: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    """Programs written for this launch, by path."""
    declared: Mapping[str, Any] = field(default_factory=dict)
    """Values of the configuration that the settings say and the run may not show."""
    read: tuple[str, ...] = ()
    """Files that this launch was read from: its launch script, its configuration."""

    @property
    def by_launcher(self) -> bool:
        """Whether a launcher starts the processes and sets their ranks."""
        return self.world_size > 1 or self.state.get("torchrun") not in (None, "python", "python3")


@dataclass(frozen=True)
class Outcome:
    """What a shadow run showed; bytes on one device. `problem` says why it did not get to its end, if so."""

    allocated: int
    reserved: int
    categories: Mapping[str, int]
    observations: Observations
    notes: tuple[str, ...]
    problem: str | None
    faults: int = 0
    files: tuple[str, ...] = ()
    """Sources that were run, in the order of their import; the script comes last."""
    read: tuple[str, ...] = ()
    """Other files of the project that the program read."""
    world_size: int = 1
    depths: frozenset[int] = frozenset()
    """How many equal blocks its published models have; empty where the program asks how much memory there is."""
    tape: Tape | None = None
    """What it asked of the allocator, of a run with fewer blocks."""

    @property
    def complete(self) -> bool:
        """Whether a model was run and, in training, a whole step was seen after the first."""
        seen = self.observations
        if not seen.parameters or seen.saw_nothing:
            return False
        if seen.steps >= 2 or (seen.steps == 1 and self.problem is None):
            return True
        idle = seen.steps == 0 and seen.backwards == 0
        return idle and seen.model_calls > 0 and self.problem is None and not self.faults


def shadow_run(
    project: Project,
    launch: Launch,
    *,
    architecture: str = "sm80",
    overrides: Mapping[str, str] | None = None,
    adjust: Callable[[Interpreter], None] | None = None,
    seconds: float = 60.0,
    fetch_config: Callable[[str], Mapping[str, Any] | None] | None = None,
    expandable_segments: bool = False,
    made_with: int | None = None,
) -> Outcome:
    """Interpret `launch` and report its peak. Never raises for what the program does.

    With `made_with`, published models are made with so many of their equal blocks, and the outcome has the tape.
    """
    box: list[Outcome | BaseException] = []

    def work() -> None:
        try:
            box.append(
                _run(
                    project,
                    launch,
                    architecture,
                    dict(overrides or {}),
                    adjust,
                    seconds,
                    fetch_config,
                    expandable_segments,
                    made_with,
                )
            )
        except BaseException as problem:
            box.append(problem)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, 40_000))
    before = threading.stack_size(STACK_BYTES)
    try:
        thread = threading.Thread(target=work, name="shadow-run")
        with rarely_collected():
            thread.start()
            thread.join()
    finally:
        threading.stack_size(before)
        sys.setrecursionlimit(limit)
    result = box[0]
    if isinstance(result, BaseException):
        raise result
    return result


def _run(
    project: Project,
    launch: Launch,
    architecture: str,
    overrides: dict[str, str],
    adjust: Callable[[Interpreter], None] | None,
    seconds: float,
    fetch_config: Callable[[str], Mapping[str, Any] | None] | None,
    expandable_segments: bool,
    made_with: int | None = None,
) -> Outcome:
    project = project.with_files(launch.sources)
    ranks = {"LOCAL_RANK": "0", "RANK": "0", "WORLD_SIZE": str(launch.world_size)}
    interpreter = Interpreter(
        project,
        library_module,
        arguments=launch.arguments,
        environment={**ranks, **launch.environment} if launch.by_launcher else launch.environment,
        demanded={} if launch.by_launcher else ranks,
        budget=Budget(seconds=seconds),
        search_paths=launch.search_paths,
    )
    interpreter.entry = launch.script
    interpreter.state.update(launch.state)
    interpreter.state["declared"] = dict(launch.declared)
    interpreter.state["overrides"] = overrides
    interpreter.state["changes"] = asked_for(overrides)
    interpreter.state["fetch_config"] = released(fetch_config) if fetch_config is not None else None
    problem: str | None = None
    with Machine(arch=architecture, world_size=launch.world_size, expandable_segments=expandable_segments) as machine:
        interpreter.device = machine
        if made_with is not None:
            machine.made_with, machine.allocator = made_with, Recorder()
        watcher = Watcher(interpreter, machine)
        machine.on_step = watcher.on_step
        machine.on_backward = watcher.on_backward
        machine.on_call = watcher.on_call
        if adjust is not None:
            adjust(interpreter)
        batches = _batches(interpreter, watcher)
        try:
            with confined():
                interpreter.run_main(launch.script)
        except OutOfBudget as stop:
            problem = str(stop)
        except UnreadableFile as unreadable:
            problem = f"{unreadable.path} {unreadable}"
        except Exception as raised:
            where = getattr(raised, "preflight_place", launch.script)
            problem = f"{where}: {type(raised).__name__}: {raised}"
            raised.__traceback__ = None
        peak = machine.allocator.peak()
        activity = interpreter.activity
        if activity.first_step is not None:
            # A program that ends before its steps repeat has no other step than the first.
            peak = peak.or_higher(activity.first_step)
        outcome = Outcome(
            allocated=peak.allocated,
            reserved=peak.reserved + (batches.growth() if batches is not None else 0),
            categories=peak.categories,
            observations=watcher.finish(),
            notes=(*launch.notes, *interpreter.notes, *machine.notes),
            problem=problem,
            faults=len(interpreter.faults),
            world_size=machine.world_size,
            depths=frozenset()
            if machine.counters_read or activity.first_step is not None
            else frozenset(machine.depths),
            tape=machine.allocator.tape if isinstance(machine.allocator, Recorder) else None,
            read=tuple(dict.fromkeys(interpreter.state.get("files read", ()))),
            files=(
                *tuple(key.removeprefix("file:") for key in interpreter.modules if key.startswith("file:")),
                launch.script,
            ),
        )
        interpreter.modules.clear()
    return outcome


def _batches(interpreter: Interpreter, watcher: Watcher) -> Batches | None:
    """Watch the batches of a run whose lengths differ; None where they are alike or the segments grow themselves."""
    parts = interpreter.state.get("parts of the longest batch")
    allocator = interpreter.device.allocator
    if not parts or allocator.expandable_segments:
        return None
    if allocator.events is None:
        allocator.events = []
        allocator.least_recorded = LEAST_RECORDED
    batches = Batches(allocator.events, tuple(parts))

    def on_call(moment: str, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        batches.on_call()
        watcher.on_call(moment, module, args, kwargs)

    def on_backward(moment: str) -> None:
        watcher.on_backward(moment)
        batches.on_backward(moment)

    interpreter.device.on_call = on_call
    interpreter.device.on_backward = on_backward
    return batches
