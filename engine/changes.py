"""Base against head: which findings a change introduces, which it fixes, and which were there before."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from engine.affected import ImportStatement, affected_files
from engine.check import Analysis, analyse, source_paths
from engine.diff import FileDiff
from engine.findings import FailedFile, Finding
from engine.fingerprints import Context, place_order
from engine.kept import MemoryStore, Store
from engine.project import Project
from engine.project.module import split_cell
from engine.settings import Settings


@dataclass(frozen=True)
class Changes:
    """Findings of both sides, matched. `roots` are the head's files that were analysed."""

    introduced: Sequence[Finding]
    fixed: Sequence[Finding]
    existing: Sequence[Finding]
    failed: Sequence[FailedFile]
    roots: Sequence[str]


@dataclass(frozen=True)
class _Placed:
    finding: Finding
    path: str
    """The path in the head's naming."""
    context: Context


def compare(
    base: Project, head: Project, changed: Sequence[FileDiff], settings: Settings, store: Store | None = None
) -> Changes:
    """Analyses what the change can affect on both sides, and tells new from old. Analyses are kept in `store`.

    A finding is old if the base has one of the same rule at the same code: in the same function, or elsewhere in the
    file, or at the line that the diff maps to it, or moved to another file that the change touches.
    """
    to_head = {diff.base_path: diff.head_path for diff in changed if diff.base_path and diff.head_path}
    to_base = {head_path: base_path for base_path, head_path in to_head.items()}
    # Most files are the same on both sides: their imports are read once.
    known: dict[str, tuple[ImportStatement, ...]] = {}
    head_roots, base_roots = _roots(base, head, changed, settings, to_head, to_base, known)
    store = store if store is not None else MemoryStore()
    after = analyse(head, head_roots, settings=settings, store=store, in_groups=True, known=known)
    before = analyse(base, base_roots, settings=settings, store=store, in_groups=True, known=known)
    renamed = {base_path: head_path for base_path, head_path in to_head.items() if base_path != head_path}
    new, old, existing = _matched(_placed(after, {}), _placed(before, renamed), changed)
    # What another finding speaks for on one side is neither new nor fixed on the other.
    new, _, spoken_for = _matched(new, _silenced(before, renamed), changed)
    existing += spoken_for
    _, old, _ = _matched(_silenced(after, {}), old, changed)
    return Changes(
        introduced=_ordered(new),
        fixed=_ordered(old),
        existing=_ordered(existing),
        failed=_newly_failed(before, after, changed),
        roots=after.roots,
    )


def _newly_failed(before: Analysis, after: Analysis, changed: Sequence[FileDiff]) -> Sequence[FailedFile]:
    """What the change leaves unread: not what it does not touch, and what the base fails at in the same way.

    A rule or a plug-in that does not work on either side is missing from the review, so it is named."""
    touched = {diff.head_path for diff in changed}
    known = before.report.files.failed
    return tuple(
        file for file in after.report.files.failed if file.path in touched or file not in known or not file.is_file
    )


def _roots(
    base: Project,
    head: Project,
    changed: Sequence[FileDiff],
    settings: Settings,
    to_head: dict[str, str],
    to_base: dict[str, str],
    known: dict[str, tuple[ImportStatement, ...]],
) -> tuple[list[str], list[str]]:
    """The files to analyse on either side: the same ones wherever both sides have them."""
    head_sources, base_sources = source_paths(head), source_paths(base)
    in_head, in_base = set(head_sources), set(base_sources)
    head_touched = [diff.head_path for diff in changed if diff.head_path in in_head]
    base_touched = [diff.base_path for diff in changed if diff.base_path in in_base]
    head_roots = affected_files(head, head_touched, head_sources, settings.excludes, known)
    base_roots = affected_files(base, base_touched, base_sources, settings.excludes, known)
    both_head = dict.fromkeys([*head_roots, *(to_head.get(path, path) for path in base_roots)])
    both_base = dict.fromkeys([*base_roots, *(to_base.get(path, path) for path in head_roots)])
    return (
        [path for path in both_head if path in in_head and not settings.excludes(path)],
        [path for path in both_base if path in in_base and not settings.excludes(path)],
    )


def _placed(analysis: Analysis, renamed: dict[str, str]) -> list[_Placed]:
    placed: list[_Placed] = []
    for finding in analysis.report.findings:
        path = split_cell(finding.path)[0]
        context = analysis.contexts.get(finding.fingerprint, Context("", ""))
        placed.append(_Placed(finding, renamed.get(path, path), context))
    return placed


def _silenced(analysis: Analysis, renamed: dict[str, str]) -> list[_Placed]:
    placed: list[_Placed] = []
    for finding, context in analysis.silenced:
        path = split_cell(finding.path)[0]
        placed.append(_Placed(finding, renamed.get(path, path), context))
    return placed


Key = Callable[[_Placed], Hashable]

_KEYS: tuple[Key, ...] = (
    lambda p: (p.finding.rule, p.path, p.context.scope, p.context.statement),
    lambda p: (p.finding.rule, p.path, p.context.statement),
)


def _matched(
    new: list[_Placed], old: list[_Placed], changed: Sequence[FileDiff]
) -> tuple[list[_Placed], list[_Placed], list[_Placed]]:
    """What is only new, what is only old, and the head's side of what is both; surest matches first."""
    existing: list[_Placed] = []
    for key in _KEYS:
        new, old, both = _pair(new, old, lambda a, b, key=key: key(a) == key(b))  # type: ignore[misc]
        existing += both
    diffs = {diff.path: diff for diff in changed}

    def rewritten(after: _Placed, before: _Placed) -> bool:
        diff = diffs.get(after.path)
        same = after.finding.rule == before.finding.rule and after.path == before.path
        return same and diff is not None and diff.same_place(before.finding.line, after.finding.line)

    def moved(after: _Placed, before: _Placed) -> bool:
        same = after.finding.rule == before.finding.rule and after.context.statement == before.context.statement
        return same and after.path in diffs and before.path in diffs

    for test in (rewritten, moved):
        new, old, both = _pair(new, old, test)
        existing += both
    return new, old, existing


def _pair(
    new: Sequence[_Placed], old: Sequence[_Placed], same: Callable[[_Placed, _Placed], bool]
) -> tuple[list[_Placed], list[_Placed], list[_Placed]]:
    left = list(old)
    only_new: list[_Placed] = []
    both: list[_Placed] = []
    for after in new:
        partner = next((before for before in left if same(after, before)), None)
        if partner is None:
            only_new.append(after)
        else:
            left.remove(partner)
            both.append(after)
    return only_new, left, both


def _ordered(placed: Sequence[_Placed]) -> list[Finding]:
    return sorted((each.finding for each in placed), key=place_order)
