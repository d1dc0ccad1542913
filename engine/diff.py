"""Unified diffs: which lines a change touches, and where GitHub lets a comment stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from engine.project.sources import resolve_revision, run_git

Status = Literal["added", "removed", "modified", "renamed", "copied", "changed", "unchanged"]

_HUNK = re.compile(r"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_STATUS_LETTERS: dict[str, Status] = {
    "A": "added",
    "D": "removed",
    "M": "modified",
    "R": "renamed",
    "C": "copied",
    "T": "changed",
}


@dataclass(frozen=True)
class Hunk:
    """One hunk: its ranges, and the lines it removes (base numbering) and adds (head numbering). Lines are 1-based."""

    base_start: int
    base_count: int
    head_start: int
    head_count: int
    removed: frozenset[int]
    added: frozenset[int]

    def holds(self, first: int, last: int) -> bool:
        """Whether the head lines `first` to `last` lie in this hunk, as changed or context lines."""
        return self.head_start <= first and last < self.head_start + self.head_count


@dataclass(frozen=True)
class FileDiff:
    """What a change does to one file. `path` is its name in the head (in the base, if removed)."""

    path: str
    status: Status
    previous_path: str | None = None
    hunks: tuple[Hunk, ...] = ()

    @classmethod
    def from_patch(
        cls, path: str, patch: str | None, status: Status = "modified", previous_path: str | None = None
    ) -> FileDiff:
        """From the `patch` of GitHub's list of files, which is absent for binary and for large files."""
        return cls(path, status, previous_path, tuple(parse_hunks(patch or "")))

    @property
    def base_path(self) -> str | None:
        """The file's name in the base, None if it is new."""
        if self.status in ("added", "copied"):
            return None
        return self.previous_path or self.path

    @property
    def head_path(self) -> str | None:
        """The file's name in the head, None if it is gone."""
        return None if self.status == "removed" else self.path

    def hunk_of(self, first: int, last: int | None = None) -> Hunk | None:
        """The hunk that holds these head lines, all of them; only there a comment can stand."""
        end = first if last is None else last
        return next((hunk for hunk in self.hunks if hunk.holds(first, end)), None)

    @cached_property
    def added_lines(self) -> frozenset[int]:
        """Head lines that the change adds."""
        return frozenset().union(*(hunk.added for hunk in self.hunks))

    def same_place(self, base_line: int, head_line: int) -> bool:
        """Whether a line of the base and one of the head are the same line, moved or rewritten by the same hunk."""
        shift = 0
        for hunk in self.hunks:
            if base_line < hunk.base_start + (hunk.base_count == 0):
                break
            if base_line < hunk.base_start + hunk.base_count:
                if base_line in hunk.removed:
                    return head_line in hunk.added
                return head_line not in hunk.added and self._unchanged(hunk, base_line) == head_line
            shift += hunk.head_count - hunk.base_count
        return base_line + shift == head_line

    @staticmethod
    def _unchanged(hunk: Hunk, base_line: int) -> int:
        """The head line of a context line of a hunk."""
        kept = [n for n in range(hunk.base_start, hunk.base_start + hunk.base_count) if n not in hunk.removed]
        present = [n for n in range(hunk.head_start, hunk.head_start + hunk.head_count) if n not in hunk.added]
        position = kept.index(base_line)
        return present[position] if position < len(present) else -1


def parse_hunks(patch: str) -> list[Hunk]:
    """The hunks of one file's patch. Lines before the first hunk and unknown lines do not count."""
    hunks: list[Hunk] = []
    lines = patch.split("\n")
    at = 0
    while at < len(lines):
        match = _HUNK.match(lines[at])
        at += 1
        if match is None:
            continue
        base_start, head_start = int(match[1]), int(match[3])
        base_count = int(match[2]) if match[2] is not None else 1
        head_count = int(match[4]) if match[4] is not None else 1
        base_line, head_line = base_start, head_start
        removed: set[int] = set()
        added: set[int] = set()
        base_end, head_end = base_start + base_count, head_start + head_count
        while at < len(lines) and (base_line < base_end or head_line < head_end):
            kind = lines[at][:1]
            if kind == "-":
                removed.add(base_line)
                base_line += 1
            elif kind == "+":
                added.add(head_line)
                head_line += 1
            elif kind in (" ", ""):
                base_line += 1
                head_line += 1
            elif kind != "\\":
                break
            at += 1
        hunks.append(Hunk(base_start, base_count, head_start, head_count, frozenset(removed), frozenset(added)))
    return hunks


def revision_diff(repository: Path, base: str, head: str) -> list[FileDiff]:
    """The change between two revisions, as git sees it, renames found. Raises RevisionNotFound."""
    return _diff(repository, resolve_revision(repository, base), resolve_revision(repository, head))


def work_tree_diff(repository: Path, base: str) -> list[FileDiff]:
    """The change from a revision to the work tree as it stands, with files that git does not know yet. Ignored files
    are none of it. Raises RevisionNotFound."""
    new = run_git(repository, "ls-files", "--others", "--exclude-standard", "-z").decode("utf-8", "surrogateescape")
    known = _diff(repository, resolve_revision(repository, base))
    return [*known, *(FileDiff(path, "added") for path in new.split("\0") if path)]


def _diff(repository: Path, *revisions: str) -> list[FileDiff]:
    options = ("--no-color", "--no-ext-diff", "--no-textconv", "-M", "--ignore-submodules")
    raw = run_git(repository, "diff", "--raw", "-z", *options, *revisions, "--")
    statuses = _raw_entries(raw.decode("utf-8", "surrogateescape").split("\0"))
    patch = run_git(
        repository, "-c", "core.quotePath=false", "diff", "-p", "-U3", "--src-prefix=a/", "--dst-prefix=b/", *options,
        *revisions, "--",
    )  # fmt: skip
    hunks = _hunks_by_path(patch.decode("utf-8", "surrogateescape"))
    return [FileDiff(path, status, previous, tuple(hunks.get(path, ()))) for path, status, previous in statuses]


def _raw_entries(fields: Sequence[str]) -> list[tuple[str, Status, str | None]]:
    entries: list[tuple[str, Status, str | None]] = []
    at = 0
    while at < len(fields) and fields[at].startswith(":"):
        letter = fields[at].split(" ")[-1][:1]
        if letter in "RC":
            previous = fields[at + 1] if letter == "R" else None
            entries.append((fields[at + 2], _STATUS_LETTERS[letter], previous))
            at += 3
        else:
            entries.append((fields[at + 1], _STATUS_LETTERS.get(letter, "modified"), None))
            at += 2
    return entries


def _hunks_by_path(patch: str) -> dict[str, list[Hunk]]:
    found: dict[str, list[Hunk]] = {}
    for block in re.split(r"^diff --git ", patch, flags=re.MULTILINE)[1:]:
        header, _, body = block.partition("\n@@ ")
        if not body:
            continue
        names: dict[str, str] = {}
        for line in header.split("\n"):
            if line.startswith(("--- ", "+++ ")):
                names[line[:3]] = _unquoted(line[4:].rstrip("\t"))
        name = names.get("+++", "/dev/null")
        if name == "/dev/null":
            name = names.get("---", "/dev/null")
        found[name[2:]] = parse_hunks("@@ " + body)
    return found


def _unquoted(name: str) -> str:
    """git quotes names with control characters, quotes or backslashes as C does."""
    if not (name.startswith('"') and name.endswith('"')):
        return name
    raw = name[1:-1].encode("utf-8", "surrogateescape")
    return raw.decode("unicode_escape").encode("latin-1", "replace").decode("utf-8", "surrogateescape")


def by_head_path(changed: Iterable[FileDiff]) -> Mapping[str, FileDiff]:
    """The diffs of files that exist in the head, by path."""
    return {diff.head_path: diff for diff in changed if diff.head_path is not None}
