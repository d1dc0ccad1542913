"""What changes of configuration would save: each one another shadow run, ranked by what it saves for what it costs.

`options` holds the changes, `search` chooses which to play alone and together, and `engine.memory.adjustments` makes
them in a running program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from engine.findings import Memory
from engine.garbage import rarely_collected
from engine.memory.adjustments import changes_of
from engine.memory.configuration import find_literal
from engine.memory.savings.options import Option
from engine.memory.savings.search import Found, Search
from engine.memory.shadow import Launch, Outcome, shadow_run
from engine.memory.splicing.plays import Spliced

if TYPE_CHECKING:
    from engine.memory.program.machine import Interpreter
    from engine.project import Project
    from hardware_catalog import Gpu


def rank_savings(
    project: Project,
    launch: Launch,
    run: Outcome,
    memory: Memory,
    devices: Sequence[Gpu],
    first: Gpu,
    overrides: Mapping[str, str],
    *,
    seconds: float,
    fetch_config: Callable[[str], Mapping[str, Any] | None] | None = None,
) -> Found:
    """The savings of each option that applies to `run`, the best for its cost first. Takes about `seconds` of
    processor time at most."""
    play = player(project, launch, run, first, overrides, seconds=seconds, fetch_config=fetch_config)
    with rarely_collected():
        return Search(run, memory, devices, first, play, seconds=seconds).go()


def player(
    project: Project,
    launch: Launch,
    run: Outcome,
    first: Gpu,
    overrides: Mapping[str, str],
    *,
    seconds: float,
    fetch_config: Callable[[str], Mapping[str, Any] | None] | None = None,
    watch: Callable[[Interpreter], None] | None = None,
) -> Callable[[Option], Outcome | None]:
    """Return what plays `run` again under an option, and gives None where the change had no effect or failed.

    `watch` sees each interpreter before it starts.
    """
    seen = run.observations

    def played(
        asked: Mapping[str, str],
        adjust: Callable[[Interpreter], None] | None,
        made_with: int | None = None,
        *,
        expandable: bool = False,
    ) -> Outcome:
        return shadow_run(
            project,
            launch,
            architecture=first.kernels,
            overrides=asked,
            adjust=adjust,
            seconds=seconds,
            fetch_config=fetch_config,
            expandable_segments=expandable,
            made_with=made_with,
        )

    spliced = Spliced(run, overrides, played) if watch is None else None

    def play(option: Option) -> Outcome | None:
        literals = _half_batch(project, run) if "half-batch" in option.changes else {}
        if literals is None:
            return None
        asked = dict(overrides)
        if "half-batch" in option.changes:
            asked["batch_size"] = str((seen.batch_size or 0) // 2)
        if "sdpa" in option.changes:
            asked["attention"] = "sdpa"
        if "half-sequence" in option.changes:
            asked["sequence_length"] = str((seen.sequence_length or 0) // 2)
        adjust = _adjustment(option.changes, literals, watch)
        outcome = spliced.outcome(option.changes, asked, adjust) if spliced is not None else None
        if outcome is None:
            outcome = played(asked, adjust, expandable="expandable-segments" in option.changes)
        if not _took_effect(option, run, outcome):
            return None
        return _accumulating(outcome) if "half-batch" in option.changes else outcome

    return play


def _took_effect(option: Option, run: Outcome, outcome: Outcome) -> bool:
    before, after = run.observations, outcome.observations
    if not outcome.complete or outcome.problem is not None:
        return False
    if "half-batch" in option.changes and after.batch_size == before.batch_size:
        return False
    return "half-sequence" not in option.changes or after.sequence_length == (before.sequence_length or 0) // 2


def _accumulating(outcome: Outcome) -> Outcome:
    """A step with several micro-batches: gradients stay alive from one backward pass to the next forward pass."""
    seen = outcome.observations
    if not seen.steps:
        return outcome
    size = 2 if (seen.precision or "").startswith("pure-") else 4
    missing = size * (seen.trainable or 0) - outcome.categories.get("gradients", 0)
    return replace(outcome, reserved=outcome.reserved + max(0, missing))


def _half_batch(project: Project, run: Outcome) -> dict[tuple[str, int, int], int] | None:
    """The literal of the batch size and its half; {} where no literal is found (loaders still take the override)."""
    size = run.observations.batch_size
    if not size or size < 2:
        return None
    place = find_literal(project, [path for path in run.files if path.endswith(".py")], "batch_size", size)
    if place is None or place.node is None:
        return {}
    return {(place.path, place.node.lineno, place.node.col_offset): size // 2}


def _adjustment(
    changes: tuple[str, ...],
    literals: dict[tuple[str, int, int], int],
    watch: Callable[[Interpreter], None] | None,
) -> Callable[[Interpreter], None]:
    def adjust(interpreter: Interpreter) -> None:
        if watch is not None:
            watch(interpreter)
        interpreter.state["changes"] = changes_of(interpreter) | frozenset(changes)
        interpreter.literals.update(literals)
        interpreter.device.gradient_buckets_as_views = "bucket-views" in changes

    return adjust


__all__ = ["Found", "player", "rank_savings"]
