"""Checks a repository's configuration: unknown keys, values that are not taken, names that mean nothing."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.configured import settings_of_file
from engine.cli.formats.plain import printable

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
        project, loaded = None, settings_of_file(path)
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
