"""`replay`: the reviews that a repository's last merges would have had."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.diff import revision_diff
from engine.findings import ReviewReport
from engine.kept import MemoryStore, Store
from engine.project import Project
from engine.project.sources import RevisionNotFound, resolve_revision, run_git
from engine.review import review
from engine.settings import load_settings


@dataclass(frozen=True)
class Replayed:
    """One merge: what would have been said of it."""

    commit: str
    subject: str
    committed: int
    """When, in seconds since 1970."""
    files: int
    errors: int
    warnings: int
    notes: int
    fixed: int
    comments: int
    conclusion: str
    rules: tuple[str, ...]
    base_bytes: int | None
    head_bytes: int | None

    def as_json(self) -> dict[str, object]:
        """For machines."""
        return asdict(self)


WEEK_SECONDS = 7 * 24 * 3600


@dataclass(frozen=True)
class PerWeek:
    """What a replay comes to for each week of the time that its merges span."""

    weeks: float
    merges: float
    comments: float
    failures: float
    """Merges whose check would have failed."""


def per_week(rows: Sequence[Replayed]) -> PerWeek | None:
    """The rates of a replay; None where its merges span less than a day, which says nothing of a week."""
    if len(rows) < 2:
        return None
    moments = [row.committed for row in rows]
    span = max(moments) - min(moments)
    if span < WEEK_SECONDS / 7:
        return None
    # Between n merges there are n - 1 intervals: the span is made a whole number of them.
    weeks = span / WEEK_SECONDS * len(rows) / (len(rows) - 1)
    failures = sum(row.conclusion == "failure" for row in rows)
    return PerWeek(weeks, len(rows) / weeks, sum(row.comments for row in rows) / weeks, failures / weeks)


def replay(
    repository: Path, revision: str, last: int, *, memory: bool = False, store: Store | None = None
) -> Iterator[Replayed]:
    """The last merges, newest first. Where history has no merges (squashed pull requests), the last commits.

    What is analysed once is kept in `store` for the merges that come after, most of which share most files.

    Raises RevisionNotFound.
    """
    store = store if store is not None else MemoryStore()
    for commit, parent, committed, subject in _merges(repository, resolve_revision(repository, revision), last):
        base = Project.from_revision(repository, parent)
        head = Project.from_revision(repository, commit)
        changed = revision_diff(repository, parent, commit)
        settings = load_settings(base).settings
        settings = settings.model_copy(update={"memory": memory})
        report = review(base, head, changed=changed, settings=settings, store=store)
        yield _row(commit, subject, committed, len(changed), report)


def _merges(repository: Path, start: str, last: int) -> list[tuple[str, str, int, str]]:
    """Commit, first parent, time and subject of each."""
    for kind in ("--merges", "--no-merges"):
        form = "--format=%H%x00%P%x00%ct%x00%s"
        log = run_git(repository, "log", "--first-parent", kind, f"--max-count={last}", form, start, "--")
        rows = [line.split("\0", 3) for line in log.decode("utf-8", "replace").split("\n") if line]
        found = [(commit, parents.split()[0], int(when), subject) for commit, parents, when, subject in rows if parents]
        if found:
            return found
    raise RevisionNotFound(f"{repository} has no history to replay")


def _row(commit: str, subject: str, committed: int, files: int, report: ReviewReport) -> Replayed:
    counts = Counter(finding.severity for finding in report.introduced)
    sides = (report.memory.base, report.memory.head)
    base, head = (side.memory.occupied.expected if side and side.memory else None for side in sides)
    return Replayed(
        commit=commit,
        subject=subject,
        committed=committed,
        files=files,
        errors=counts["error"],
        warnings=counts["warning"],
        notes=counts["note"],
        fixed=len(report.fixed),
        comments=len(report.review_comments),
        conclusion=report.conclusion,
        rules=tuple(sorted({finding.name for finding in report.introduced})),
        base_bytes=base,
        head_bytes=head,
    )
