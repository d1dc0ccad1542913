"""What is open in an editor, as files of a project."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.project.module import split_cell

ROOT_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg")


@dataclass(frozen=True)
class Part:
    """A text that the editor knows by a name of its own: a file, or one code cell of a notebook."""

    uri: str
    version: int | None
    text: str

    @property
    def lines(self) -> list[str]:
        """The lines as the engine counts them, without their newlines."""
        return self.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


@dataclass(frozen=True)
class Document:
    """An open file at a place of this machine: one part, or a notebook's code cells in order."""

    path: Path
    parts: Sequence[Part]

    @property
    def is_notebook(self) -> bool:
        return self.path.suffix == ".ipynb"

    @property
    def text(self) -> str:
        """The content as it would stand in the file."""
        if not self.is_notebook:
            return self.parts[0].text if self.parts else ""
        cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": part.text} for part in self.parts]
        return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})

    def part_of(self, display_path: str) -> Part | None:
        """The part that a finding's path means: `nb.ipynb#cell=2` is the second one."""
        number = int(split_cell(display_path)[1] or 1)
        return self.parts[number - 1] if 0 < number <= len(self.parts) else None


@dataclass(frozen=True)
class Opened:
    """Open documents of one project folder, by their path in it."""

    root: Path
    documents: Mapping[str, Document]

    @property
    def texts(self) -> dict[str, str]:
        """Their contents, which stand before those on disk."""
        return {path: document.text for path, document in self.documents.items()}


def by_root(documents: Iterable[Document], folders: Sequence[Path]) -> list[Opened]:
    """Documents by the project that they belong to: the innermost workspace folder, else the nearest project root."""
    grouped: dict[Path, dict[str, Document]] = {}
    for document in documents:
        around = [folder for folder in folders if document.path.is_relative_to(folder)]
        root = max(around, key=lambda folder: len(folder.parts)) if around else _nearest_root(document.path)
        grouped.setdefault(root, {})[document.path.relative_to(root).as_posix()] = document
    return [Opened(root, found) for root, found in grouped.items()]


def _nearest_root(path: Path) -> Path:
    marked = (folder for folder in path.parents if any((folder / mark).exists() for mark in ROOT_MARKS))
    return next(marked, path.parent)
