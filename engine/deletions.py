"""Which former lines a finding comes from, found by putting them back.

A finding may stand where the change touched nothing, because a line is gone: a `zero_grad()`, a `model.train()`. Each
block of deleted lines is put back alone, and the analysis asked again: where the finding is gone then, the block is its
cause. Nothing is guessed from names.

Of lines that were replaced, only those are put back that did something, by the base's trace, which the lines in their
place do not: beside the new ones for a finding that stands elsewhere, in place of the one new line on which it rests.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from engine.check import analyse
from engine.deeds import Deed, deeds
from engine.diff import FileDiff, Hunk
from engine.findings import Evidence, Finding
from engine.kept import Store
from engine.project import Project, UnreadableFile
from engine.project.module import split_cell
from engine.settings import Settings

MOST_TRIED = 6
"""Blocks and lines put back in one review: each costs the analysis of what the file belongs to."""
LONGEST_QUOTE = 80


@dataclass(frozen=True)
class Deletion:
    """A block of lines that the change takes away. Lines are 1-based."""

    path: str
    """The file's name in the head."""
    base_line: int
    """The block's first line that is neither blank nor a comment, in the base."""
    head_line: int
    """The line of the head before which the block stood, or that stands in its place."""
    lines: tuple[str, ...]
    quoted: str
    replaced: bool = False
    """Whether the change puts something else in its place."""
    instead: int = 0
    """Lines of the head, from `head_line` on, that give way where it is put back."""

    def evidence(self) -> Evidence:
        """The step of a finding's chain that says which line is gone."""
        quote = self.quoted if len(self.quoted) <= LONGEST_QUOTE else f"{self.quoted[:LONGEST_QUOTE]}…"
        verb = "replaces" if self.replaced else "deletes"
        message = f"this change {verb} `{quote.replace('`', ' ')}` here (line {self.base_line} before)"
        return Evidence(path=self.path, line=self.head_line, message=message)


def explained(
    introduced: Sequence[Finding],
    base: Project,
    head: Project,
    changed: Sequence[FileDiff],
    roots: Sequence[str],
    settings: Settings,
    store: Store | None,
) -> tuple[Sequence[Finding], Mapping[str, Deletion]]:
    """The findings, those that come from a deletion with a further step in their chain; and these deletions by
    fingerprint."""
    added = {diff.head_path: diff.added_lines for diff in changed if diff.head_path is not None}
    touched = {finding.fingerprint for finding in introduced if _touched(finding, added)}
    search = _Search(head, roots, settings, store)
    open_ = {finding.fingerprint for finding in introduced if finding.fingerprint} - touched
    for block in (block for diff in changed for block in deletions(diff, base, head)):
        open_ -= search.blame(block, open_)
    grave = [each for each in introduced if each.severity != "note" and each.fingerprint not in search.causes]
    for line, stands_there in replacements(grave, touched, base, head, changed):
        search.blame(line, stands_there)
    return [_with_cause(finding, search.causes.get(finding.fingerprint)) for finding in introduced], search.causes


class _Search:
    """Puts former lines back, and asks the analysis again, a few times at most."""

    def __init__(self, head: Project, roots: Sequence[str], settings: Settings, store: Store | None) -> None:
        self.causes: dict[str, Deletion] = {}
        self._head, self._roots, self._settings, self._store = head, roots, settings, store
        self._left = MOST_TRIED

    def blame(self, block: Deletion, suspects: Iterable[str]) -> set[str]:
        """Remember the block as the cause of those of the findings that are gone once it is back; return them."""
        open_ = set(suspects) - set(self.causes)
        restored = _restored(self._head, block) if open_ and self._left else None
        if restored is None:
            return set()
        self._left -= 1
        again = analyse(restored, self._roots, settings=self._settings, store=self._store, in_groups=True)
        if any(file.path == block.path for file in again.report.files.failed):
            return set()
        gone = open_ - {finding.fingerprint for finding in again.report.findings}
        self.causes |= dict.fromkeys(gone, block)
        return gone


def _touched(finding: Finding, added: Mapping[str, frozenset[int]]) -> bool:
    """Whether the change wrote a line on which the finding rests."""
    places = [(finding.path, finding.line), *((step.path, step.line) for step in finding.evidence)]
    return any("#" in path or line in added.get(path, frozenset()) for path, line in places)


def _with_cause(finding: Finding, block: Deletion | None) -> Finding:
    if block is None:
        return finding
    return finding.model_copy(update={"evidence": (*finding.evidence, block.evidence())})


def deletions(diff: FileDiff, base: Project, head: Project) -> Iterator[Deletion]:
    """The blocks of code that a change deletes from a Python file without putting anything in their place."""
    before = _base_lines(diff, base, head)
    if diff.head_path is None:
        return
    for hunk in diff.hunks:
        for lines, head_line in _blocks(hunk):
            texts = tuple(before[line - 1] for line in lines if line <= len(before))
            code = [(line, text.strip()) for line, text in zip(lines, texts, strict=False)]
            worth = [(line, text) for line, text in code if text and not text.startswith("#")]
            if worth:
                yield Deletion(diff.head_path, worth[0][0], head_line, texts, worth[0][1])


def _base_lines(diff: FileDiff, base: Project, head: Project) -> Sequence[str]:
    """The lines of a Python file before the change; none where it is not on both sides."""
    if diff.base_path is None or diff.head_path is None or not split_cell(diff.path)[0].endswith(".py"):
        return ()
    try:
        head.read_text(diff.head_path)
        return base.read_text(diff.base_path).split("\n")
    except UnreadableFile:
        return ()


def replacements(
    findings: Sequence[Finding], touched: Collection[str], base: Project, head: Project, changed: Sequence[FileDiff]
) -> Iterator[tuple[Deletion, Sequence[str]]]:
    """Single lines that the change replaces and that did what the new lines do not, each with the findings that may
    come from it, by fingerprint: those that rest on the very line in its place, or those on no line of the change.
    """
    elsewhere = [finding.fingerprint for finding in findings if finding.fingerprint not in touched]
    blocks = [
        (diff, removed, added) for diff in changed if diff.head_path for removed, added in _replaced(diff, base, head)
    ]
    if not findings or not blocks:
        return
    to_base = {diff.head_path: diff.base_path for diff in changed}
    files = {split_cell(finding.path)[0] for finding in findings}
    was = deeds(base, sorted(name for path in files if (name := to_base.get(path, path)) is not None))
    now = deeds(head, sorted(files))
    for diff, removed, added in blocks:
        before = _base_lines(diff, base, head)
        path, former = str(diff.head_path), str(diff.base_path)
        done = frozenset[Deed]().union(*(now.get((path, line), frozenset()) for line in added))
        for position, line in enumerate(removed):
            if line > len(before) or not was.get((former, line), frozenset()) - done:
                continue
            text = before[line - 1]
            there: Sequence[str] = ()
            pair = len(removed) == len(added)
            if pair:
                there = [each.fingerprint for each in findings if _rests_on(each, path, added[position])]
            # The head of a block needs the block that stands there.
            if pair and text.rstrip().endswith(":"):
                there = [*there, *elsewhere]
            else:
                yield Deletion(path, line, added[0], (text,), text.strip(), replaced=True), elsewhere
            if there:
                yield Deletion(path, line, added[position], (text,), text.strip(), replaced=True, instead=1), there


def _rests_on(finding: Finding, path: str, line: int) -> bool:
    return (path, line) in {(finding.path, finding.line), *((step.path, step.line) for step in finding.evidence)}


def _replaced(diff: FileDiff, base: Project, head: Project) -> Iterator[tuple[list[int], list[int]]]:
    """Blocks of lines of a Python file that others stand in place of: numbers in the base, and in the head."""
    if not _base_lines(diff, base, head):
        return
    for hunk in diff.hunks:
        base_line, head_line = hunk.base_start, hunk.head_start
        while base_line < hunk.base_start + hunk.base_count or head_line < hunk.head_start + hunk.head_count:
            removed, added = [], []
            while base_line in hunk.removed:
                removed.append(base_line)
                base_line += 1
            while head_line in hunk.added:
                added.append(head_line)
                head_line += 1
            if removed and added:
                yield removed, added
            if not removed and not added:
                base_line, head_line = base_line + 1, head_line + 1


def _blocks(hunk: Hunk) -> Iterator[tuple[list[int], int]]:
    """Runs of removed base lines that no added line follows, each with the head line before which it stood."""
    head_line = hunk.head_start if hunk.head_count else hunk.head_start + 1
    run: list[int] = []
    for line in range(hunk.base_start, hunk.base_start + hunk.base_count + 1):
        if line in hunk.removed:
            run.append(line)
            continue
        if run and head_line not in hunk.added:
            yield run, head_line
        run = []
        while head_line in hunk.added:
            head_line += 1
        head_line += 1


def _restored(head: Project, block: Deletion) -> Project | None:
    try:
        after = head.read_text(block.path).split("\n")
    except UnreadableFile:
        return None
    at = block.head_line - 1
    return head.with_files({block.path: "\n".join([*after[:at], *block.lines, *after[at + block.instead :]])})
