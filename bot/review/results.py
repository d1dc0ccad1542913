"""Folders in which analysis processes keep results.

Each repository has its own: a process that reads hostile code could at worst mislead reviews of that same code.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from pathlib import Path

_KEPT_SHARE = 0.75
"""Part of the limit that is left when the folders are tidied."""
_RUNS_BETWEEN = 50
"""Reviews between two looks at what the folders hold; one repository's is bounded by itself."""


class ResultFolders:
    """A folder for each repository, together within a limit of bytes."""

    def __init__(self, root: Path, limit_bytes: int) -> None:
        self._root = root
        self._limit = limit_bytes
        self._runs = 0

    def of(self, repository: str) -> Path:
        """Return the folder of a repository, and make it the one used last."""
        if self._runs % _RUNS_BETWEEN == 0:
            self.tidy()
        self._runs += 1
        folder = self._root / hashlib.sha256(repository.lower().encode("utf-8")).hexdigest()[:32]
        with contextlib.suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.utime(folder)
        return folder

    def tidy(self) -> None:
        """Remove the folders that were used longest ago where all together hold too much."""
        folders: list[tuple[float, int, Path]] = []
        for folder in self._root.iterdir() if self._root.is_dir() else ():
            with contextlib.suppress(OSError):
                held = sum(path.lstat().st_size for path in folder.iterdir())
                folders.append((folder.lstat().st_mtime, held, folder))
        total = sum(held for _, held, _ in folders)
        if total <= self._limit:
            return
        for _, held, folder in sorted(folders):
            if total <= self._limit * _KEPT_SHARE:
                break
            shutil.rmtree(folder, ignore_errors=True)
            total -= held
