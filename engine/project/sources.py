"""Where the files of a project come from: a folder, a git revision, or memory. None follows a link out of its tree."""

from __future__ import annotations

import hashlib
import os
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from engine.confinement import released

SKIPPED_FOLDERS = frozenset(
    {
        ".git", ".hg", ".svn", ".venv", "venv", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache",
        "__pycache__", "node_modules", "site-packages", ".ipynb_checkpoints", ".eggs", "wandb", "mlruns",
    }
)  # fmt: skip
"""Folders that hold no source of the project; a git revision is not filtered, since what is committed counts."""


MAX_FILE_BYTES = 2_000_000
"""Larger files are generated or data: no hand-written training script comes near."""

MAX_NOTEBOOK_BYTES = 5_000_000
"""Notebooks carry their outputs."""

_READ_AT_ONCE = 50
"""Blobs asked of git in one go: their names stay far below what a pipe holds, so neither side waits for the other."""


def most_bytes(path: str) -> int:
    """Bytes up to which a file is read."""
    return MAX_NOTEBOOK_BYTES if path.endswith(".ipynb") else MAX_FILE_BYTES


class RevisionNotFound(ValueError):
    """The repository or the revision does not exist."""


class Source(Protocol):
    """Raw files by POSIX path."""

    def paths(self) -> Sequence[str]: ...

    def size(self, path: str) -> int | None:
        """Bytes of the file, None if it is absent."""

    def read(self, path: str) -> bytes: ...

    def read_many(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Files that are there, one after the other: nothing is kept."""

    def key(self, path: str) -> str:
        """A hash of the content, equal for equal content within one kind of source."""


def is_inside(path: str) -> bool:
    """Whether a path stays in its tree: relative, and without `..`."""
    if path.startswith("/") or "\0" in path or "\\" in path:
        return False
    if ".." not in path and path[:1] not in ("", "."):
        return True
    parts = path.split("/")
    return ".." not in parts and any(part not in ("", ".") for part in parts)


def blob_hash(data: bytes) -> str:
    """git's own name for a content, so that folders, revisions and mappings share it."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


class MappingSource:
    """Files in memory."""

    def __init__(self, files: Mapping[str, str | bytes]) -> None:
        self._files = {
            path: content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content
            for path, content in files.items()
            if is_inside(path)
        }

    def paths(self) -> Sequence[str]:
        return tuple(sorted(self._files))

    def size(self, path: str) -> int | None:
        data = self._files.get(path)
        return None if data is None else len(data)

    def read(self, path: str) -> bytes:
        return self._files[path]

    def read_many(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        return ((path, self._files[path]) for path in paths if path in self._files)

    def key(self, path: str) -> str:
        return blob_hash(self._files[path])


class OverlaySource:
    """A source with further files, which stand before its own of the same path."""

    def __init__(self, below: Source, files: Mapping[str, str]) -> None:
        self._below, self._above = below, MappingSource(files)

    def _home(self, path: str) -> Source:
        return self._above if path in self._above.paths() else self._below

    def paths(self) -> Sequence[str]:
        return tuple(sorted({*self._below.paths(), *self._above.paths()}))

    def size(self, path: str) -> int | None:
        return self._home(path).size(path)

    def read(self, path: str) -> bytes:
        return self._home(path).read(path)

    def read_many(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        return ((path, self.read(path)) for path in paths if self.size(path) is not None)

    def key(self, path: str) -> str:
        return self._home(path).key(path)


class FolderSource:
    """Files under a folder; links are not followed, tool folders (`SKIPPED_FOLDERS`) are not entered."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._paths: tuple[str, ...] | None = None

    @released
    def paths(self) -> Sequence[str]:
        if self._paths is None:
            found: list[str] = []
            for folder, folders, names in os.walk(self._root, followlinks=False):
                here = Path(folder)
                folders[:] = sorted(f for f in folders if self._enters(here, f))
                found += [(here / n).relative_to(self._root).as_posix() for n in names if not (here / n).is_symlink()]
            self._paths = tuple(sorted(p for p in found if is_inside(p)))
        return self._paths

    def _enters(self, parent: Path, name: str) -> bool:
        folder = parent / name
        if name in SKIPPED_FOLDERS or folder.is_symlink():
            return False
        return not (folder / "pyvenv.cfg").exists()

    def _file(self, path: str) -> Path | None:
        if not is_inside(path):
            return None
        target = self._root / path
        if target.resolve() != target:
            # A link somewhere on the way.
            return None
        return target if target.is_file() else None

    def size(self, path: str) -> int | None:
        target = self._file(path)
        return None if target is None else target.stat().st_size

    @released
    def read(self, path: str) -> bytes:
        target = self._file(path)
        if target is None:
            raise FileNotFoundError(path)
        return target.read_bytes()

    def read_many(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        return ((path, self.read(path)) for path in paths if self.size(path) is not None)

    def key(self, path: str) -> str:
        size = self.size(path)
        # What is too large is never read: nothing but its size can matter.
        return f"size {size}" if size is not None and size > most_bytes(path) else blob_hash(self.read(path))


class GitSource:
    """Files of one revision, read through the git executable: no checkout, one `cat-file` process, started when needed.

    Raises RevisionNotFound if the repository or the revision is not there.
    """

    def __init__(self, repository: Path, revision: str) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._repository = repository
        self.commit = resolve_revision(repository, revision)
        self._entries: dict[str, str] | None = None
        self._paths: tuple[str, ...] | None = None
        #: The file whose size was asked last: it is read next.
        self._ahead: tuple[str, bytes] = ("", b"")
        #: Bytes of files that are too large to keep: they are passed over.
        self._large: dict[str, int] = {}
        self._lock = threading.Lock()

    @released
    def _tree(self) -> dict[str, str]:
        """Path to blob hash."""
        if self._entries is None:
            # Without sizes: git would open every object for them.
            listing = run_git(self._repository, "ls-tree", "-r", "-z", "--full-tree", self.commit)
            self._entries = {}
            for entry in listing.decode("utf-8", "surrogateescape").split("\0"):
                about, _, path = entry.partition("\t")
                # 120000 is a symbolic link, 160000 a submodule: neither is a file of this commit.
                if about.startswith("100") and is_inside(path):
                    self._entries[path] = about.rpartition(" ")[2]
        return self._entries

    def paths(self) -> Sequence[str]:
        if self._paths is None:
            self._paths = tuple(sorted(self._tree()))
        return self._paths

    def size(self, path: str) -> int | None:
        if path not in self._tree():
            return None
        if path not in self._large and self._ahead[0] != path:
            for _, data in self.read_many([path]):
                self._ahead = (path, data)
        return self._large.get(path, len(self._ahead[1]))

    def key(self, path: str) -> str:
        return self._tree()[path]

    def read(self, path: str) -> bytes:
        if self._ahead[0] == path:
            data, self._ahead = self._ahead[1], ("", b"")
            return data
        for _, data in self.read_many([path]):
            return data
        raise FileNotFoundError(f"{path} is not in the repository")

    def read_many(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        tree = self._tree()
        wanted = [path for path in paths if path in tree]
        for start in range(0, len(wanted), _READ_AT_ONCE):
            yield from self._read_some(wanted[start : start + _READ_AT_ONCE])

    @released
    def _read_some(self, paths: Sequence[str]) -> list[tuple[str, bytes]]:
        tree = self._tree()
        found: list[tuple[str, bytes]] = []
        with self._lock:
            process = self._started()
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write("".join(f"{tree[path]}\n" for path in paths).encode("ascii"))
            process.stdin.flush()
            for path in paths:
                header = process.stdout.readline().split()
                if len(header) != 3:
                    continue
                size = int(header[2])
                if size <= most_bytes(path):
                    found.append((path, process.stdout.read(size)))
                else:
                    self._large[path] = size
                    for start in range(0, size, MAX_FILE_BYTES):
                        process.stdout.read(min(MAX_FILE_BYTES, size - start))
                process.stdout.read(1)
        return found

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                ["git", *_repository_option(self._repository), "cat-file", "--batch"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=git_environment(),
            )
        return self._process

    def close(self) -> None:
        """Ends the reading process."""
        process, self._process = self._process, None
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()
            if process.stdout is not None:
                process.stdout.close()
            process.wait(timeout=10)

    def __del__(self) -> None:
        self.close()


def git_environment() -> dict[str, str]:
    """The environment for git: no prompts, no lazy fetches of a partial clone, and messages in English."""
    return {
        **os.environ,
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
        "LC_ALL": "C",
    }


def _repository_option(repository: Path) -> list[str]:
    """How git is told of a repository: a work tree, a `.git` folder, or a bare repository."""
    if (repository / "HEAD").is_file() and (repository / "objects").is_dir():
        return ["--git-dir", str(repository)]
    return ["-C", str(repository)]


def run_git(repository: Path, *arguments: str) -> bytes:
    """The output of a git command. Raises RevisionNotFound with git's own message if it fails."""
    try:
        done = subprocess.run(
            ["git", *_repository_option(repository), *arguments],
            capture_output=True,
            env=git_environment(),
            check=False,
        )
    except FileNotFoundError as problem:
        raise RevisionNotFound("git is not installed, or not on the PATH") from problem
    if done.returncode:
        message = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
        raise RevisionNotFound(message or f"git {arguments[0]} failed in {repository}")
    return done.stdout


def resolve_revision(repository: Path, revision: str) -> str:
    """The commit (or tree) that a revision names. Raises RevisionNotFound."""
    if not repository.is_dir():
        raise RevisionNotFound(f"{repository} is not a folder")
    if not revision or revision.startswith("-"):
        raise RevisionNotFound(f"{revision!r} is not a revision")
    try:
        return (
            run_git(repository, "rev-parse", "--verify", "--end-of-options", f"{revision}^{{object}}")
            .decode()
            .split()[-1]
        )
    except RevisionNotFound as problem:
        reason = str(problem)
        if reason == "Needed a single revision":
            # What git says of a name that it does not know.
            reason = "it has no branch, tag or commit of that name"
        raise RevisionNotFound(f"{revision} is not a revision of {repository}: {reason}") from problem
