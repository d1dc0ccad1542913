"""Which files of a commit are fetched: what training code consists of, within limits, the changed ones first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from bot.github.models import ChangedFile, TreeEntry
from engine.project import MAX_NOTEBOOK_BYTES

SOURCE_SUFFIXES = frozenset({".py", ".ipynb"})
CONFIGURATION_SUFFIXES = frozenset({".yaml", ".yml", ".json", ".toml", ".sh", ".cfg", ".ini"})
LARGEST_SOURCE_BYTES = 1_000_000
LARGEST_CONFIGURATION_BYTES = 200_000
"""Larger ones are data."""
MOST_FILES = 3_000
MOST_BYTES = 40_000_000

_FOREIGN_FOLDERS = frozenset({"node_modules", ".venv", "venv", "site-packages", ".git", "__pycache__"})
_FILE_MODES = frozenset({"100644", "100755", "100664", ""})


@dataclass(frozen=True)
class Selection:
    """Paths to fetch, each with its blob's hash, and how many sources the limits left out."""

    blobs: Mapping[str, str]
    left_out: Sequence[str] = ()


def may_matter(path: str) -> bool:
    """Tell whether a file can be training code or its configuration."""
    return PurePosixPath(path).suffix.lower() in SOURCE_SUFFIXES | CONFIGURATION_SUFFIXES


def concerns_training(changed: Iterable[ChangedFile]) -> bool:
    """Tell whether a pull request changes anything that the analysis reads."""
    return any(may_matter(file.filename) or may_matter(file.previous_filename or "") for file in changed)


def select(entries: Iterable[TreeEntry], changed: frozenset[str]) -> Selection:
    """Choose the files of one commit. Where limits bind, files near the changed ones come first."""
    near = {str(PurePosixPath(path).parent) for path in changed}
    tops = {PurePosixPath(path).parts[0] for path in changed if "/" in path}

    def distance(entry: TreeEntry) -> tuple[int, int, str]:
        path = PurePosixPath(entry.path)
        source = path.suffix.lower() in SOURCE_SUFFIXES
        if entry.path in changed:
            place = 0
        elif str(path.parent) in near:
            place = 1
        elif path.parts[0] in tops:
            place = 2
        else:
            place = 3
        return (place if source or place == 0 else place + 2, len(path.parts), entry.path)

    blobs: dict[str, str] = {}
    left_out: list[str] = []
    total = 0
    for entry in sorted((entry for entry in entries if _is_candidate(entry, changed)), key=distance):
        size = entry.size or 0
        if size > _largest(entry.path) or len(blobs) >= MOST_FILES or total + size > MOST_BYTES:
            if PurePosixPath(entry.path).suffix.lower() in SOURCE_SUFFIXES:
                left_out.append(entry.path)
            continue
        blobs[entry.path] = entry.sha
        total += size
    return Selection(blobs, tuple(left_out))


def _is_candidate(entry: TreeEntry, changed: frozenset[str]) -> bool:
    if entry.type != "blob" or entry.mode not in _FILE_MODES or not may_matter(entry.path):
        return False
    return entry.path in changed or _FOREIGN_FOLDERS.isdisjoint(PurePosixPath(entry.path).parts)


def _largest(path: str) -> int:
    suffix = PurePosixPath(path).suffix.lower()
    if suffix == ".ipynb":
        return MAX_NOTEBOOK_BYTES
    return LARGEST_SOURCE_BYTES if suffix == ".py" else LARGEST_CONFIGURATION_BYTES
