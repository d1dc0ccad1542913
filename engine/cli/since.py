"""`check --since REV`: only what the work tree introduces over a revision of its git repository."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.changes import compare
from engine.check import enabled_rules
from engine.cli.usage import Selection, WrongUse
from engine.diff import work_tree_diff
from engine.findings import CheckReport, FileCounts
from engine.project import Project
from engine.project.module import split_cell
from engine.project.sources import RevisionNotFound, resolve_revision, run_git

if TYPE_CHECKING:
    from engine.kept.store import Store
    from engine.settings import Settings


def repository_around(selection: Selection) -> Selection:
    """The same paths in the whole repository that they belong to. Raises WrongUse where there is none."""
    try:
        top = Path(
            run_git(selection.root, "rev-parse", "--show-toplevel").decode("utf-8", "surrogateescape").rstrip("\n")
        )
    except RevisionNotFound as problem:
        raise WrongUse(f"--since compares with a revision, but {selection.root} is in no git repository") from problem
    below = selection.root.relative_to(top.resolve())
    return Selection(top, Project.from_folder(top), tuple((below / path).as_posix() for path in selection.paths))


def introduced_since(
    selection: Selection,
    revision: str,
    settings: Settings,
    select: Sequence[str],
    ignore: Sequence[str],
    store: Store | None,
) -> CheckReport:
    """What the work tree has in the selected paths that the point where it left `revision` did not have.

    Raises UnknownRule, and WrongUse for a revision that is not there.
    """
    names = {(rule.code, rule.name) for rule in enabled_rules(settings, select, ignore)}
    top = selection.root
    try:
        start = _branching_point(top, revision)
        base = Project.from_revision(top, start)
        changed = work_tree_diff(top, start)
        listed = run_git(top, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
    except RevisionNotFound as problem:
        raise WrongUse(str(problem)) from problem
    ours = set(listed.decode("utf-8", "surrogateescape").split("\0"))
    changes = compare(base, selection.project, changed, settings, store)
    wanted = [path.rstrip("/") for path in selection.paths]

    def asked_for(path: str) -> bool:
        file = split_cell(path)[0]
        return file in ours and any(each in (".", file) or file.startswith(f"{each}/") for each in wanted)

    return CheckReport(
        findings=tuple(
            finding
            for finding in changes.introduced
            if asked_for(finding.path) and (finding.rule, finding.name) in names
        ),
        files=FileCounts(
            read=sum(asked_for(path) for path in changes.roots),
            failed=tuple(failed for failed in changes.failed if asked_for(failed.path)),
        ),
    )


def _branching_point(top: Path, revision: str) -> str:
    """The last common commit with a branch, as pull requests count; the revision itself where histories never met."""
    commit = resolve_revision(top, revision)
    try:
        return run_git(top, "merge-base", commit, "HEAD").decode("ascii").split()[0]
    except RevisionNotFound:
        return commit
