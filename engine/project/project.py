"""A project: the files of one commit, decoded, parsed and resolved on demand."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path, PurePosixPath

from engine.project.module import Module
from engine.project.notebooks import Cell, read_notebook
from engine.project.reading import UnreadableFile, decode, parse
from engine.project.sources import (
    FolderSource,
    GitSource,
    MappingSource,
    OverlaySource,
    Source,
    is_inside,
    most_bytes,
)
from engine.project.suppressions import find_suppressions

_SOURCE_FOLDERS = ("", "src", "lib", "python")
"""Folders below an import root that projects put their packages in."""

_INSTALLED = frozenset(sys.stdlib_module_names) | frozenset(
    {
        "accelerate", "apex", "datasets", "deepspeed", "diffusers", "einops", "fairscale", "hydra", "ignite", "jax",
        "lightning", "matplotlib", "numpy", "omegaconf", "pandas", "peft", "pytorch_lightning", "ray", "safetensors",
        "scipy", "sklearn", "tensorboard", "tensorflow", "timm", "tokenizers", "torch", "torchaudio", "torchmetrics",
        "torchtext", "torchvision", "tqdm", "transformers", "trl", "wandb", "xformers", "yaml",
    }
)  # fmt: skip
"""Names that mean an installed package, even where a file inside a package is called the same."""


class Project:
    """An immutable snapshot of files. Reading is lazy and cached; what fails is named and loses nothing else."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._texts: dict[str, str] = {}
        self._modules: dict[str, Module] = {}
        self._problems: dict[str, UnreadableFile] = {}
        self._lost_cells: dict[str, str] = {}
        self._found: dict[tuple[str, str, int], str | None] = {}

    @classmethod
    def from_folder(cls, root: Path) -> Project:
        """The files under a folder, links not followed."""
        return cls(FolderSource(root))

    @classmethod
    def from_revision(cls, repository: Path, revision: str) -> Project:
        """The files of a git revision, without a checkout. Raises RevisionNotFound."""
        return cls(GitSource(repository, revision))

    @classmethod
    def from_mapping(cls, files: Mapping[str, str | bytes]) -> Project:
        """Files in memory; paths that leave the tree are dropped."""
        return cls(MappingSource(files))

    def with_files(self, files: Mapping[str, str]) -> Project:
        """The same snapshot with further files, which stand before its own."""
        return Project(OverlaySource(self._source, files)) if files else self

    @property
    def failed(self) -> dict[str, str]:
        """Path to reason, for every file that was asked for and could not be read or parsed."""
        return {**self._lost_cells, **{path: str(problem) for path, problem in self._problems.items()}}

    def paths(self) -> Sequence[str]:
        """All files, POSIX, relative, sorted."""
        return self._source.paths()

    @cached_property
    def _path_set(self) -> frozenset[str]:
        return frozenset(self.paths())

    def exists(self, path: str) -> bool:
        """Whether there is such a file. Paths out of the tree never exist."""
        return path in self._path_set and is_inside(path)

    def content_key(self, path: str) -> str:
        """git's blob hash of the content: equal keys, equal content."""
        return self._source.key(path)

    def read_raw(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Files as they are, one after the other, for a search through many: nothing is decoded, nothing is kept."""
        return self._source.read_many(paths)

    def read_text(self, path: str) -> str:
        """The decoded text with `\\n` newlines. Raises UnreadableFile."""
        if path in self._texts:
            return self._texts[path]
        if path in self._problems:
            raise self._problems[path]
        try:
            text = self._texts[path] = self._read(path)
        except UnreadableFile as problem:
            if self.exists(path):
                self._problems[path] = problem
            raise
        return text

    def _read(self, path: str) -> str:
        if not is_inside(path):
            raise UnreadableFile(path, "leaves the project")
        size = self._source.size(path) if self.exists(path) else None
        if size is None:
            raise UnreadableFile(path, "does not exist")
        if size > most_bytes(path):
            raise UnreadableFile(path, f"is too large to analyse ({size:,} bytes, limit {most_bytes(path):,})")
        try:
            data = self._source.read(path)
        except OSError as problem:
            raise UnreadableFile(path, f"cannot be read: {problem}") from problem
        if len(data) > most_bytes(path):
            raise UnreadableFile(path, f"is too large to analyse ({len(data):,} bytes, limit {most_bytes(path):,})")
        return decode(path, data)

    def module(self, path: str) -> Module:
        """The parsed file. Raises UnreadableFile, each time the same, where it cannot be parsed."""
        if path in self._modules:
            return self._modules[path]
        text = self.read_text(path)
        if path in self._problems:
            raise self._problems[path]
        try:
            module = self._modules[path] = self._parsed(path, text)
        except UnreadableFile as problem:
            self._problems[path] = problem
            raise
        return module

    def _parsed(self, path: str, text: str) -> Module:
        if not path.endswith(".ipynb"):
            return Module(path, text, parse(path, text), text.split("\n"), suppressions=find_suppressions(text))
        code, cells = read_notebook(path, text)
        first_lines = tuple(cell.first_line for cell in cells)
        lines = code.split("\n")
        try:
            tree = parse(path, code)
        except UnreadableFile as problem:
            if problem.line is None:
                raise
            self._lose_cells(path, cells, lines)
            code = "\n".join(lines)
            tree = parse(path, code)
        return Module(path, code, tree, lines, cells, find_suppressions(code), first_lines)

    def _lose_cells(self, path: str, cells: Sequence[Cell], lines: list[str]) -> None:
        """Names the cells that do not parse, and blanks them: the others are still read.

        Each is parsed alone: what one leaves unfinished would be told of the next.
        """
        lost: list[str] = []
        for cell in cells:
            first, last = cell.first_line - 1, cell.first_line - 1 + cell.line_count
            try:
                parse(path, "\n".join(lines[first:last]) + "\n")
            except UnreadableFile as problem:
                lines[first:last] = [""] * cell.line_count
                lost.append(f"cell {cell.number} {problem}")
        self._lost_cells[path] = "; ".join(lost)

    def find_module(self, dotted: str, importer: str | None = None, level: int = 0) -> str | None:
        """The path of a module or of a package's `__init__.py`, None if it is not in the project.

        `level` counts the leading dots of a relative import, `importer` is the path of the importing file.
        """
        # Files of one folder find the same modules.
        asked = (dotted, "" if importer is None else f"{importer.rpartition('/')[0]}/", level)
        if asked not in self._found:
            self._found[asked] = self._find_module(dotted, importer, level)
        return self._found[asked]

    def _find_module(self, dotted: str, importer: str | None, level: int) -> str | None:
        if level > 0:
            if importer is None:
                return None
            folder = PurePosixPath(importer).parent
            for _ in range(level - 1):
                if folder == PurePosixPath("."):
                    return None
                folder = folder.parent
            return self._below(_joined(folder.as_posix(), dotted.replace(".", "/")), package=True)
        if not dotted:
            return None
        relative = dotted.replace(".", "/")
        for root in self._import_roots(importer, dotted.partition(".")[0]):
            found = self._below(_joined(root, relative))
            if found is not None:
                return found
        return None

    def _below(self, stem: str, package: bool = False) -> str | None:
        candidates = [f"{stem}.py", _joined(stem, "__init__.py")]
        for candidate in candidates:
            if (not package or stem) and self.exists(candidate) and candidate != ".py":
                return candidate
        return None

    def _import_roots(self, importer: str | None, top: str) -> Iterator[str]:
        """Folders that Python would plausibly have on its path, nearest first: the script's own, then its parents."""
        own = PurePosixPath(importer).parent.as_posix() if importer else "."
        folder = own
        while True:
            if not self.exists(_joined(folder, "__init__.py")):
                for below in _SOURCE_FOLDERS:
                    yield _joined(folder, below)
            if folder == ".":
                break
            folder = PurePosixPath(folder).parent.as_posix()
        if top not in _INSTALLED:
            # A file inside a package that is run as a script finds its siblings.
            yield own


def _joined(folder: str, name: str) -> str:
    if folder in ("", "."):
        return name
    return f"{folder}/{name}" if name else folder
