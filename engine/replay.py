"""`replay`: the reviews that a repository's last merges would have had."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.diff import revision_diff
from engine.findings import ReviewReport
from engine.project import Project
from engine.project.sources import RevisionNotFound, resolve_revision, run_git
from engine.review import review
from engine.settings import load_settings


@dataclass(frozen=True)
class Replayed:
    """One merge: what would have been said of it."""

    commit: str
    subject: str
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


def replay(repository: Path, revision: str, last: int, *, memory: bool = False) -> Iterator[Replayed]:
    """The last merges, newest first. Where history has no merges (squashed pull requests), the last commits.

    Raises RevisionNotFound.
    """
    for commit, parent, subject in _merges(repository, resolve_revision(repository, revision), last):
        base = Project.from_revision(repository, parent)
        head = Project.from_revision(repository, commit)
        changed = revision_diff(repository, parent, commit)
        settings = load_settings(base).settings
        report = review(base, head, changed=changed, settings=settings.model_copy(update={"memory": memory}))
        yield _row(commit, subject, len(changed), report)


def _merges(repository: Path, start: str, last: int) -> list[tuple[str, str, str]]:
    for kind in ("--merges", "--no-merges"):
        log = run_git(
            repository, "log", "--first-parent", kind, f"--max-count={last}", "--format=%H%x00%P%x00%s", start, "--"
        )
        rows = [line.split("\0") for line in log.decode("utf-8", "replace").split("\n") if line]
        found = [(commit, parents.split()[0], subject) for commit, parents, subject in rows if parents]
        if found:
            return found
    raise RevisionNotFound(f"{repository} has no history to replay")


def _row(commit: str, subject: str, files: int, report: ReviewReport) -> Replayed:
    counts = Counter(finding.severity for finding in report.introduced)
    sides = (report.memory.base, report.memory.head)
    base, head = (side.memory.occupied.expected if side and side.memory else None for side in sides)
    return Replayed(
        commit=commit,
        subject=subject,
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
