"""Reads a local git repository the way GitHub serves one. Only reading: nothing is ever written to it."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Status = Literal["added", "removed", "modified", "renamed", "copied", "changed"]
STATUSES: dict[str, Status] = {
    "A": "added",
    "D": "removed",
    "M": "modified",
    "R": "renamed",
    "C": "copied",
    "T": "changed",
}
LARGEST_PATCH_BYTES = 500_000
"""GitHub shows no ``patch`` for a file with more; its page on repository limits says 500 KB a file."""


class UnknownRevision(LookupError):
    """The repository has no such revision, tree, blob or path."""


@dataclass(frozen=True)
class ChangedFile:
    path: str
    status: Status
    blob_sha: str
    additions: int
    deletions: int
    patch: str | None
    previous_path: str | None = None


@dataclass(frozen=True)
class TreeEntry:
    mode: str
    kind: str
    """blob, tree or commit (a submodule)."""
    sha: str
    path: str
    size: int | None


@dataclass(frozen=True)
class CommitFacts:
    sha: str
    tree_sha: str
    parents: tuple[str, ...]
    author: str
    email: str
    date: str
    message: str


def surroundings() -> dict[str, str]:
    """They must not change what git prints: no user configuration, no pager, no translation."""
    return {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}


class GitFolder:
    """One repository on disk, bare or with a work tree."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._diffs: dict[tuple[str, str], list[ChangedFile]] = {}
        self._reader: subprocess.Popen[bytes] | None = None

    def command(self, *arguments: str) -> list[str]:
        return ["git", "-c", "safe.directory=*", "-c", "core.quotepath=off", "-C", str(self.folder), *arguments]

    def run(self, *arguments: str) -> bytes:
        done = subprocess.run(self.command(*arguments), capture_output=True, env=surroundings(), check=False)
        if done.returncode:
            raise UnknownRevision(done.stderr.decode(errors="replace").strip() or f"git {arguments[0]} failed")
        return done.stdout

    def text(self, *arguments: str) -> str:
        return self.run(*arguments).decode(errors="replace").strip()

    def commit_sha(self, revision: str) -> str:
        try:
            return self.read(f"{revision}^{{commit}}")[1]
        except UnknownRevision:
            raise UnknownRevision(f"{self.folder} has no commit {revision!r}") from None

    def is_branch(self, name: str) -> bool:
        try:
            self.run("show-ref", "--verify", "--quiet", f"refs/heads/{name}")
        except UnknownRevision:
            return False
        return True

    def default_branch(self) -> str:
        try:
            return self.text("symbolic-ref", "--short", "HEAD")
        except UnknownRevision:
            return "main"

    def merge_base(self, base: str, head: str) -> str:
        return self.text("merge-base", base, head)

    def commit(self, revision: str) -> CommitFacts:
        fields = self.text("show", "-s", "--format=%H%x00%T%x00%P%x00%an%x00%ae%x00%aI%x00%B", revision).split("\0")
        sha, tree, parents, author, email, date, message = fields
        return CommitFacts(sha, tree, tuple(parents.split()), author, email, date, message.strip())

    def commits_between(self, base: str, head: str) -> list[CommitFacts]:
        """Oldest first, as GitHub lists the commits of a pull request."""
        return [self.commit(sha) for sha in self.text("rev-list", "--reverse", f"{base}..{head}").split()]

    def read(self, name: str) -> tuple[str, str, bytes]:
        """Kind, sha and content of an object by any name. One process reads them all: repositories have many files."""
        if "\n" in name:
            raise UnknownRevision(f"no object has the name {name!r}")
        if self._reader is None:
            self._reader = subprocess.Popen(
                self.command("cat-file", "--batch"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=surroundings()
            )
        reading, writing = self._reader.stdout, self._reader.stdin
        if reading is None or writing is None:
            raise UnknownRevision("git cannot be spoken to")
        writing.write(name.encode() + b"\n")
        writing.flush()
        header = reading.readline().decode(errors="replace").split()
        if len(header) != 3 or not header[2].isdigit():
            raise UnknownRevision(f"{self.folder} has no object {name!r}")
        sha, kind, size = header
        content = reading.read(int(size))
        reading.read(1)
        return kind, sha, content

    def close(self) -> None:
        if self._reader is not None:
            self._reader.communicate()
            self._reader = None

    def blob(self, sha: str) -> bytes:
        kind, _, content = self.read(sha)
        if kind != "blob":
            raise UnknownRevision(f"{sha} is no blob")
        return content

    def object_at(self, revision: str, path: str) -> tuple[str, str]:
        """Kind and sha of what stands at a path (the empty path is the root tree)."""
        kind, sha, _ = self.read(f"{revision}:{path}" if path else f"{revision}^{{tree}}")
        return kind, sha

    def tree(self, sha: str, *, recursive: bool = False) -> list[TreeEntry]:
        options = ["-r", "-t"] if recursive else []
        entries = []
        for record in self.run("ls-tree", "-l", "-z", *options, sha).decode(errors="replace").split("\0"):
            if record:
                facts, path = record.split("\t", 1)
                mode, kind, entry_sha, size = facts.split()
                entries.append(TreeEntry(mode, kind, entry_sha, path, int(size) if size.isdigit() else None))
        return entries

    def archive(self, revision: str, prefix: str) -> bytes:
        return self.run("archive", "--format=tar.gz", f"--prefix={prefix}/", revision)

    def raw_diff(self, base: str, head: str) -> str:
        return self.run("diff", "-M", "--no-color", "--no-ext-diff", "--full-index", base, head).decode(
            errors="replace"
        )

    def diff(self, base: str, head: str) -> list[ChangedFile]:
        """The files that differ, renames found, each with its hunks as GitHub gives them in ``patch``."""
        if (base, head) not in self._diffs:
            self._diffs[base, head] = self._diff(base, head)
        return self._diffs[base, head]

    def _diff(self, base: str, head: str) -> list[ChangedFile]:
        raw = self.run("diff", "-M", "--raw", "-z", "--no-abbrev", base, head).decode(errors="replace").split("\0")
        patches = re.split(r"^diff --git .*\n", self.raw_diff(base, head), flags=re.MULTILINE)[1:]
        changed, at = [], 0
        for text in patches:
            facts = raw[at].split()
            status = STATUSES.get(facts[4][0], "changed")
            if status in ("renamed", "copied"):
                previous, path, at = raw[at + 1], raw[at + 2], at + 3
            else:
                previous, path, at = None, raw[at + 1], at + 2
            start = re.search(r"^@@ ", text, re.MULTILINE)
            patch = text[start.start() :].removesuffix("\n") if start else None
            lines = patch.split("\n") if patch else []
            changed.append(
                ChangedFile(
                    path=path,
                    status=status,
                    blob_sha=facts[2] if status == "removed" else facts[3],
                    additions=sum(line.startswith("+") for line in lines),
                    deletions=sum(line.startswith("-") for line in lines),
                    patch=patch if patch and len(patch.encode()) <= LARGEST_PATCH_BYTES else None,
                    previous_path=previous,
                )
            )
        return changed
