"""Wrong use of the command line, and the pieces that commands share to tell of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.project import Project

ROOT_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg")


class WrongUse(Exception):
    """Something the caller can put right; printed as one line, exit code 2."""


def split_list(values: Sequence[str]) -> tuple[str, ...]:
    """`--select A,B --select C` as one tuple."""
    return tuple(part.strip() for value in values for part in value.split(",") if part.strip())


@dataclass(frozen=True)
class Selection:
    """A project, and the paths in it that were asked for."""

    root: Path
    project: Project
    paths: tuple[str, ...]


def select_paths(paths: Sequence[str]) -> Selection:
    """The project around the given paths: the working folder where it holds them all, else the nearest project root.

    Raises WrongUse for a path that does not exist or paths of several projects.
    """
    from engine.project import Project

    given = [Path(path) for path in paths or ["."]]
    for path in given:
        if not path.exists():
            raise WrongUse(f"{path} does not exist")
    here = Path.cwd().resolve()
    resolved = [path.resolve() for path in given]
    if all(path.is_relative_to(here) for path in resolved):
        root = here
    else:
        roots = {_project_root(path) for path in resolved}
        if len(roots) > 1:
            raise WrongUse(
                f"these paths belong to different projects: {', '.join(map(str, sorted(roots)))}; name one's, or "
                "start in a folder that holds them all"
            )
        root = roots.pop()
    relative = tuple(path.relative_to(root).as_posix() for path in resolved)
    return Selection(root, Project.from_folder(root), relative)


def _project_root(path: Path) -> Path:
    folder = path if path.is_dir() else path.parent
    if path.is_dir():
        return folder
    return next((parent for parent in (folder, *folder.parents) if _is_root(parent)), folder)


def _is_root(folder: Path) -> bool:
    return any((folder / mark).exists() for mark in ROOT_MARKS)
