"""Which deleted lines a finding comes from, found by putting them back.

A finding may stand where the change touched nothing, because a line is gone: a `zero_grad()`, a `model.train()`. Each
block of deleted lines is put back alone, and the analysis asked again: where the finding is gone then, the block is its
cause. Nothing is guessed from names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from engine.check import analyse
from engine.diff import FileDiff, Hunk
from engine.findings import Evidence, Finding
from engine.kept import Store
from engine.project import Project, UnreadableFile
from engine.project.module import split_cell
from engine.settings import Settings

MOST_TRIED = 6
"""Blocks put back in one review: each costs the analysis of what the file belongs to."""
LONGEST_QUOTE = 80


@dataclass(frozen=True)
class Deletion:
    """A block of lines that the change deletes and puts nothing in place of. Lines are 1-based."""

    path: str
    """The file's name in the head."""
    base_line: int
    """The block's first line that is neither blank nor a comment, in the base."""
    head_line: int
    """The line of the head before which the block stood."""
    lines: tuple[str, ...]
    quoted: str

    def evidence(self) -> Evidence:
        """The step of a finding's chain that says which line is gone."""
        quote = self.quoted if len(self.quoted) <= LONGEST_QUOTE else f"{self.quoted[:LONGEST_QUOTE]}…"
        message = f"this change deletes `{quote.replace('`', ' ')}` here (line {self.base_line} before)"
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
    open_ = {finding.fingerprint for finding in introduced if finding.fingerprint and not _touched(finding, added)}
    causes: dict[str, Deletion] = {}
    blocks = (block for diff in changed for block in deletions(diff, base, head))
    for _, block in zip(range(MOST_TRIED if open_ else 0), blocks, strict=False):
        restored = _restored(head, block)
        if restored is None or not open_:
            continue
        again = analyse(restored, roots, settings=settings, store=store, in_groups=True)
        if any(file.path == block.path for file in again.report.files.failed):
            continue
        gone = open_ - {finding.fingerprint for finding in again.report.findings}
        causes |= dict.fromkeys(gone, block)
        open_ -= gone
    return [_with_cause(finding, causes.get(finding.fingerprint)) for finding in introduced], causes


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
    if diff.base_path is None or diff.head_path is None or not split_cell(diff.path)[0].endswith(".py"):
        return
    try:
        before = base.read_text(diff.base_path).split("\n")
        head.read_text(diff.head_path)
    except UnreadableFile:
        return
    for hunk in diff.hunks:
        for lines, head_line in _blocks(hunk):
            texts = tuple(before[line - 1] for line in lines if line <= len(before))
            code = [(line, text.strip()) for line, text in zip(lines, texts, strict=False)]
            worth = [(line, text) for line, text in code if text and not text.startswith("#")]
            if worth:
                yield Deletion(diff.head_path, worth[0][0], head_line, texts, worth[0][1])


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
    return head.with_files({block.path: "\n".join([*after[:at], *block.lines, *after[at:]])})
