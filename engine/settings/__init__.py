"""What a repository or an organisation configures: `.github/preflight.yml`, or `[tool.preflight]` in pyproject.toml.

Settings never fail a review: an unknown key or a bad value is named with its line, and the default holds for it.
Read them from the base branch, so that a pull request cannot reconfigure its own review.
"""

from engine.settings.loading import (
    ORGANISATION,
    PYPROJECT_PATH,
    YAML_PATHS,
    LoadedSettings,
    Origin,
    SettingsProblem,
    load_settings,
    parse_settings,
)
from engine.settings.model import COMMENT_LIMIT, EntryPoint, FailOn, Settings, show_value

__all__ = [
    "COMMENT_LIMIT",
    "ORGANISATION",
    "PYPROJECT_PATH",
    "YAML_PATHS",
    "EntryPoint",
    "FailOn",
    "LoadedSettings",
    "Origin",
    "Settings",
    "SettingsProblem",
    "load_settings",
    "parse_settings",
    "show_value",
]
