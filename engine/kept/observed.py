"""A view of a project that notes what is asked of it.

What an analysis depends on is exactly what it looked at: contents that it read, and paths that were there or not. A
result with these observations holds in every project that answers them alike.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from pydantic import BaseModel, ConfigDict

from engine.project import Module, Project

_ABSENT = ""
_PRESENT = "+"


class Observations(BaseModel):
    """What was seen of a project: for each path its content key, `+` where only its presence was asked, "" where it is
    absent; and a hash of the list of all paths, "" where nobody asked for it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seen: dict[str, str]
    listing: str = ""

    def hold_in(self, project: Project) -> bool:
        """Whether this project would answer the same. Reads no file: content keys come from the source's own list."""
        if self.listing and self.listing != listing_key(project.paths()):
            return False
        for path, key in self.seen.items():
            present = project.exists(path)
            if present != (key != _ABSENT) or (key not in (_ABSENT, _PRESENT) and project.content_key(path) != key):
                return False
        return True


class ObservedProject(Project):
    """The same files, read once for all views, with notes of what this view was asked for."""

    def __init__(self, project: Project) -> None:
        super().__init__(project._source)
        self._texts = project._texts
        self._modules = project._modules
        self._problems = project._problems
        self._lost_cells = project._lost_cells
        self._behind = project
        self._seen: dict[str, str] = {}
        self._listing = ""
        self.is_complete = True
        """Whether all that was looked at went through this view."""

    def observations(self) -> Observations:
        """The notes so far."""
        return Observations(seen=dict(sorted(self._seen.items())), listing=self._listing)

    @property
    def failed(self) -> dict[str, str]:
        """As of the project, for the files that this view was asked for."""
        return {path: reason for path, reason in self._behind.failed.items() if path in self._seen}

    def with_files(self, files: Mapping[str, str]) -> Project:
        """As of the project; what is asked of the snapshot with further files is not noted."""
        if files:
            self.is_complete = False
        return super().with_files(files)

    def paths(self) -> Sequence[str]:
        found = self._behind.paths()
        self._listing = self._listing or listing_key(found)
        return found

    def exists(self, path: str) -> bool:
        found = self._behind.exists(path)
        self._seen.setdefault(path, _PRESENT if found else _ABSENT)
        return found

    def content_key(self, path: str) -> str:
        self._read_note(path)
        return self._behind.content_key(path)

    def read_raw(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        wanted = list(paths)
        for path in wanted:
            self._read_note(path)
        return self._behind.read_raw(wanted)

    def read_text(self, path: str) -> str:
        self._read_note(path)
        return self._behind.read_text(path)

    def module(self, path: str) -> Module:
        self._read_note(path)
        return self._behind.module(path)

    def _read_note(self, path: str) -> None:
        if self._seen.get(path, _PRESENT) == _PRESENT:
            self._seen[path] = self._behind.content_key(path) if self._behind.exists(path) else _ABSENT


def listing_key(paths: Iterable[str]) -> str:
    """A hash of a list of paths."""
    return hashlib.sha256("\0".join(paths).encode("utf-8", "surrogatepass")).hexdigest()
