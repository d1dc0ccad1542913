"""Places in notebooks as people see them: a cell and a line in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from engine.findings import Setting
from engine.project import Project, UnreadableFile


def settings_in_cells(project: Project, settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """Settings that were read from a notebook, with the cell in their path."""
    return {key: _in_cell(project, setting) for key, setting in settings.items()}


def _in_cell(project: Project, setting: Setting) -> Setting:
    if setting.path is None or setting.line is None or not setting.path.endswith(".ipynb"):
        return setting
    path, line = _displayed(project, setting.path, setting.line)
    return setting.model_copy(update={"path": path, "line": line})


def notes_in_cells(project: Project, script: str, notes: Iterable[str]) -> tuple[str, ...]:
    """Notes on a script; where that is a notebook, `notebook.ipynb:12` says the cell and the line in it."""
    if not script.endswith(".ipynb"):
        return tuple(notes)

    def place(match: re.Match[str]) -> str:
        path, line = _displayed(project, script, int(match[1]))
        return f"{path}:{line}"

    # Nothing imports a notebook, so no other one is spoken of.
    own = re.compile(rf"{re.escape(script)}:(\d+)\b")
    return tuple(own.sub(place, note) for note in notes)


def _displayed(project: Project, path: str, line: int) -> tuple[str, int]:
    try:
        return project.module(path).display_path(line)
    except UnreadableFile:
        return path, line
