"""The settings of a run: the repository's own, or those of a file that was named."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.usage import WrongUse

if TYPE_CHECKING:
    from engine.settings import LoadedSettings


def settings_of_file(path: Path) -> LoadedSettings:
    """The settings of one configuration file. Raises WrongUse."""
    from engine.project import Project
    from engine.settings import load_settings, parse_settings
    from engine.settings.loading import PYPROJECT_PATH

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise WrongUse(f"{path} can not be read: {getattr(problem, 'strerror', None) or problem}") from problem
    if path.name == PYPROJECT_PATH:
        return load_settings(Project.from_mapping({PYPROJECT_PATH: text}))
    if path.suffix not in (".yml", ".yaml"):
        raise WrongUse(f"{path} is no configuration: that is .github/preflight.yml, or a table of pyproject.toml")
    return parse_settings(text, str(path))
