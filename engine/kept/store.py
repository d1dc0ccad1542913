"""Where results are kept: texts by key, in memory or in a folder.

A folder may be damaged or written by somebody else: an entry that is not whole, too large or not ours counts as absent,
and nothing in it is ever executed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Protocol

ENTRY_BYTES = 8_000_000
"""Largest result that is kept or read."""
FOLDER_BYTES = 128_000_000
"""Most that a folder holds; what was used longest ago goes first."""
_KEPT_SHARE = 0.75
"""Part of it that is left when it is tidied, so that this happens rarely."""
_SUFFIX = ".result"


class Store(Protocol):
    """Texts by key."""

    def get(self, key: str) -> str | None:
        """The text kept under a key, None where there is none that is whole."""

    def put(self, key: str, text: str) -> None:
        """Keep a text. Where that fails it is not kept; nothing else is lost."""


class MemoryStore:
    """For the length of one run."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def get(self, key: str) -> str | None:
        return self._texts.get(key)

    def put(self, key: str, text: str) -> None:
        self._texts[key] = text


class FolderStore:
    """A folder of entries, each a checksum on the first line and the text below it. Bounded, shared by processes."""

    def __init__(self, folder: Path, limit_bytes: int = FOLDER_BYTES) -> None:
        self._folder = folder
        self._limit = limit_bytes
        self._held: int | None = None
        self._usable: bool | None = None

    def get(self, key: str) -> str | None:
        path = self._entry(key)
        if not self._is_ours():
            return None
        try:
            # Links and pipes are not followed: an entry is a plain file.
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return None
        with os.fdopen(descriptor, "rb") as stream:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode) or about.st_size > ENTRY_BYTES:
                return None
            data = stream.read(ENTRY_BYTES + 1)
        checksum, _, content = data.partition(b"\n")
        if checksum.decode("ascii", "replace") != _checksum(key, content):
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return content.decode("utf-8", "replace")

    def put(self, key: str, text: str) -> None:
        content = text.encode("utf-8", "replace")
        if len(content) >= min(ENTRY_BYTES - 100, self._limit):
            return
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not self._is_ours():
                return
            descriptor, name = tempfile.mkstemp(dir=self._folder, suffix=".part")
            try:
                with os.fdopen(descriptor, "wb") as stream:
                    stream.write(_checksum(key, content).encode("ascii") + b"\n" + content)
                Path(name).replace(self._entry(key))
            except OSError:
                with contextlib.suppress(OSError):
                    Path(name).unlink()
                return
        except OSError:
            return
        if self._held is None:
            self._held = sum(size for _, size, _ in self._entries())
        else:
            self._held += len(content)
        if self._held > self._limit:
            self._tidy()

    def _entry(self, key: str) -> Path:
        return self._folder / f"{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}{_SUFFIX}"

    def _is_ours(self) -> bool:
        """Whether the folder is a real one that nobody else may write to."""
        if self._usable is None:
            try:
                about = os.lstat(self._folder)
            except OSError:
                return False
            owned = not hasattr(os, "getuid") or about.st_uid == os.getuid()
            self._usable = stat.S_ISDIR(about.st_mode) and owned and not about.st_mode & stat.S_IWOTH
        return self._usable

    def _entries(self) -> list[tuple[float, int, str]]:
        """When each entry was used last, its bytes and its path."""
        found: list[tuple[float, int, str]] = []
        try:
            with os.scandir(self._folder) as listed:
                for entry in listed:
                    if entry.name.endswith((_SUFFIX, ".part")):
                        with contextlib.suppress(OSError):
                            about = entry.stat(follow_symlinks=False)
                            found.append((about.st_mtime, about.st_size, entry.path))
        except OSError:
            return []
        return sorted(found)

    def _tidy(self) -> None:
        entries = self._entries()
        held = sum(size for _, size, _ in entries)
        for _, size, path in entries:
            if held <= self._limit * _KEPT_SHARE:
                break
            with contextlib.suppress(OSError):
                Path(path).unlink()
            held -= size
        self._held = held


def _checksum(key: str, content: bytes) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass") + b"\0" + content).hexdigest()


@lru_cache(maxsize=1)
def engine_identity() -> str:
    """What made a result: the version, the sizes and times of the files of the engine and of its tables, and the rules
    and frameworks that other packages bring."""
    from engine.plugins import plugins

    try:
        released = version("preflight-review")
    except PackageNotFoundError:
        released = ""
    digest = hashlib.sha256(f"{released}\n{plugins().identity}\n".encode())
    engine = Path(__file__).parents[1]
    for folder in (engine, engine.parent / "hardware_catalog"):
        for path in sorted(folder.rglob("*")):
            if path.suffix in (".py", ".md", ".toml", ".json"):
                about = path.stat()
                digest.update(f"{path.name} {about.st_size} {about.st_mtime_ns}\n".encode())
    return digest.hexdigest()
