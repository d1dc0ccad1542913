"""`review`: what a change introduces and fixes, and what it does to peak memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.changes import Changes, compare
from engine.deletions import explained
from engine.diff import FileDiff, by_head_path
from engine.entry_scripts import entry_scripts, touched_paths
from engine.findings import Conclusion, EstimateReport, MemoryChange, ReviewReport
from engine.kept import Store
from engine.kept.estimates import recalled_or
from engine.presentation.comments import check_annotations, review_comments
from engine.presentation.summary import summary_markdown
from engine.project import Project
from engine.settings import Settings, load_settings

FetchConfig = Callable[[str], Mapping[str, Any] | None]
"""Looks up a published model configuration by name; the engine itself has no network."""

ESTIMATE_SECONDS = 20.0
"""Budget of one estimate in a review."""
ESTIMATES_SECONDS = 60.0
"""Budget of all estimates of one side."""


def review(
    base: Project,
    head: Project,
    *,
    changed: Sequence[FileDiff],
    settings: Settings | None = None,
    gpus: Sequence[str] = (),
    fetch_config: FetchConfig | None = None,
    store: Store | None = None,
    most_comments: int | None = None,
) -> ReviewReport:
    """Everything the bot says of a change. Without `settings` those of the base hold, `gpus` come on top of theirs.

    `most_comments` is for callers that choose among the comments themselves; otherwise the settings' cap holds.
    Results are taken from `store` where all that they were made from is the same, and kept there.
    """
    if settings is None:
        settings = load_settings(base).settings
    changes = compare(base, head, changed, settings, store)
    programs: Sequence[MemoryChange] = ()
    if settings.memory:
        programs = _programs(base, head, changed, changes, settings, gpus, fetch_config, store)
    memory = max(programs, key=_weight, default=MemoryChange())
    diffs = by_head_path(changed)
    found, causes = explained(changes.introduced, base, head, changed, changes.roots, settings, store)
    introduced = tuple(found)
    limit = settings.max_comments if most_comments is None else most_comments
    return ReviewReport(
        introduced=introduced,
        fixed=tuple(changes.fixed),
        existing=len(changes.existing),
        memory=memory,
        entry_points=tuple(programs),
        summary_markdown=summary_markdown(
            introduced, changes.fixed, len(changes.existing), memory, changes.failed, programs
        ),
        review_comments=tuple(review_comments(introduced, head, diffs, limit, causes)),
        annotations=tuple(check_annotations(introduced, head)),
        conclusion=conclude(changes, settings),
        failed=tuple(changes.failed),
    )


def conclude(changes: Changes, settings: Settings) -> Conclusion:
    """The check run's conclusion; see `Settings.conclude`."""
    return settings.conclude([finding.severity for finding in changes.introduced], incomplete=bool(changes.failed))


def _programs(
    base: Project,
    head: Project,
    changed: Sequence[FileDiff],
    changes: Changes,
    settings: Settings,
    gpus: Sequence[str],
    fetch_config: FetchConfig | None,
    store: Store | None,
) -> Sequence[MemoryChange]:
    """Estimates of both sides of every entry point that the change can affect, each against its own targets."""
    to_base = {diff.head_path: diff.base_path for diff in changed}
    scripts = entry_scripts(head, touched_paths(diff.head_path for diff in changed), changes.roots, settings)
    seconds = min(ESTIMATE_SECONDS, ESTIMATES_SECONDS / max(1, len(scripts)))
    found: list[MemoryChange] = []
    for script in scripts:
        point = settings.entry_point(script)
        asked = _Asked(
            tuple(dict.fromkeys([*gpus, *point.gpus])),
            {"world_size": str(point.world_size)} if point.world_size is not None else {},
            seconds,
        )
        before = to_base.get(script, script)
        after = _estimate(head, script, asked, fetch_config, store, savings=True)
        was = None
        if before is not None and base.exists(before):
            was = _estimate(base, before, asked, fetch_config, store, savings=False)
        found.append(MemoryChange(script=script, base=was, head=after))
    return found


@dataclass(frozen=True)
class _Asked:
    """Against which devices, with which settings, and for how many seconds at most a program is estimated."""

    gpus: tuple[str, ...]
    overrides: Mapping[str, str]
    seconds: float


def _estimate(
    project: Project,
    script: str,
    asked: _Asked,
    fetch_config: FetchConfig | None,
    store: Store | None,
    *,
    savings: bool,
) -> EstimateReport:
    """An estimate; a script that the estimator cannot take gives one without figures, and the findings still arrive."""
    from engine.estimate import estimate

    def made(view: Project) -> EstimateReport:
        return estimate(
            view,
            script,
            gpus=asked.gpus,
            overrides=asked.overrides,
            fetch_config=fetch_config,
            savings=savings,
            seconds=asked.seconds,
        )

    try:
        if store is None or fetch_config is not None:
            return made(project)
        depends = (*asked.gpus, *(f"{key}={value}" for key, value in asked.overrides.items()), f"savings {savings}")
        return recalled_or(made, project, script, depends, store, asked.seconds)
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as problem:
        return EstimateReport(notes=(f"The estimate of {script} stopped: {type(problem).__name__}",))


def _weight(change: MemoryChange) -> tuple[int, int]:
    """Scripts with figures before those without, then by how much the peak moves, then by its size."""
    after = change.head.memory if change.head is not None else None
    before = change.base.memory if change.base is not None else None
    if after is None:
        return (0, 0)
    if before is None:
        return (1, after.occupied.expected)
    return (2, abs(after.occupied.expected - before.occupied.expected))


__all__ = ["FetchConfig", "conclude", "review"]
