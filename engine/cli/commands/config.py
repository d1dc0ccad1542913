"""Checks a repository's configuration: unknown keys, values that are not taken, names that mean nothing."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.formats.plain import printable
from engine.cli.usage import WrongUse

if TYPE_CHECKING:
    from engine.project import Project
    from engine.settings import LoadedSettings

HELP = "check a repository's configuration"
EXAMPLES = (
    ("preflight config check", "the configuration of the working folder"),
    ("preflight config check ../training", "that of another repository"),
    ("preflight config check .github/preflight.yml", "one file"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `preflight config`."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    check = actions.add_parser("check", help="name what is not understood, and say what holds")
    check.add_argument(
        "path", nargs="?", default=".", metavar="PATH", help="a repository's folder, or one configuration file"
    )
    check.add_argument("--format", choices=("text", "json"), default="text")


def run(arguments: argparse.Namespace) -> int:
    """Prints what holds; 2 where something is not understood. Raises WrongUse."""
    from engine.project import Project

    path = Path(arguments.path)
    if path.is_dir():
        from engine.settings import load_settings

        project = Project.from_folder(path)
        loaded = load_settings(project)
    else:
        project, loaded = None, _from_file(path)
    problems = [*map(str, loaded.problems), *(_missing_scripts(loaded, project) if project is not None else ())]
    values = loaded.settings.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    if arguments.format == "json":
        print(json.dumps({"schema": 1, "path": loaded.path, "settings": values, "problems": problems}, indent=2))
    else:
        print(loaded.path or "There is no configuration: the defaults hold. `preflight init` writes one.")
        for key, value in values.items():
            print(f"  {key}: {json.dumps(value, ensure_ascii=False)}")
        if loaded.path and not problems:
            print("All of it is understood.")
    for problem in problems:
        print(printable(f"preflight config: {problem}"), file=sys.stderr)
    return 2 if problems else 0


def _missing_scripts(loaded: LoadedSettings, project: Project) -> Iterator[str]:
    place = loaded.origins.get("entry_points", loaded.path)
    for script in loaded.settings.named_scripts:
        if not project.exists(script):
            yield f"{place}: `entry-points`: {script} does not exist"


def _from_file(path: Path) -> LoadedSettings:
    """The settings of one file. Raises WrongUse."""
    from engine.project import Project
    from engine.settings import load_settings, parse_settings
    from engine.settings.loading import PYPROJECT_PATH

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise WrongUse(f"{path} can not be read: {problem}") from problem
    if path.name == PYPROJECT_PATH:
        return load_settings(Project.from_mapping({PYPROJECT_PATH: text}))
    if path.suffix not in (".yml", ".yaml"):
        raise WrongUse(
            f"{path} is no configuration: it is .github/preflight.yml, or [tool.preflight] in pyproject.toml"
        )
    return parse_settings(text, str(path))
