"""Places in notebooks as people see them: a cell and a line in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from engine.findings import Setting
from engine.project import Project, UnreadableFile

_PLACE = re.compile(r"([^\s:]+\.ipynb):(\d+)\b")


def settings_in_cells(project: Project, settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """Settings that were read from a notebook, with the cell in their path."""
    return {key: _in_cell(project, setting) for key, setting in settings.items()}


def _in_cell(project: Project, setting: Setting) -> Setting:
    if setting.path is None or setting.line is None or not setting.path.endswith(".ipynb"):
        return setting
    path, line = _displayed(project, setting.path, setting.line)
    return setting.model_copy(update={"path": path, "line": line})


def notes_in_cells(project: Project, notes: Iterable[str]) -> tuple[str, ...]:
    """Notes whose `notebook.ipynb:12` says the cell and the line in it."""

    def place(match: re.Match[str]) -> str:
        path, line = _displayed(project, match[1], int(match[2]))
        return f"{path}:{line}"

    return tuple(_PLACE.sub(place, note) if ".ipynb:" in note else note for note in notes)


def _displayed(project: Project, path: str, line: int) -> tuple[str, int]:
    try:
        return project.module(path).display_path(line)
    except UnreadableFile:
        return path, line
