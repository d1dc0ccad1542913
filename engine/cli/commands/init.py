"""Sets Preflight up in a repository: configuration, pre-commit hook and CI workflow, after a look at what is there.

Nothing that exists is overwritten without asking or --force; a pre-commit configuration is added to.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from engine.cli.formats.plain import printable
from engine.cli.usage import WrongUse, split_list

if TYPE_CHECKING:
    from engine.cli.setting_up.files import Planned

PARTS = ("config", "pre-commit", "workflow")
NEXT = """\
next: `preflight check`; where old code has findings, `preflight check --baseline preflight.json --update-baseline`
takes them as known, and `--baseline preflight.json` in the hook and the workflow reports what is new"""
HELP = "write configuration, pre-commit hook and CI workflow"
EXAMPLES = (
    ("preflight init", "all three, for the repository in the working folder"),
    ("preflight init --dry-run", "print what would be written"),
    ("preflight init --only config --gpu a100-80gb", "the configuration alone, for this device"),
)


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of `preflight init`."""
    parser.add_argument("folder", nargs="?", default=".", metavar="DIR", help="the repository (default: here)")
    parser.add_argument("--only", action="append", default=[], metavar="PARTS", help=f"of {', '.join(PARTS)}")
    parser.add_argument(
        "--gpu", action="append", default=[], metavar="NAME", help="a device that runs have to fit; may be repeated"
    )
    parser.add_argument("--force", action="store_true", help="overwrite what exists")
    parser.add_argument("--dry-run", action="store_true", help="print what would be written, write nothing")


def run(arguments: argparse.Namespace) -> int:
    """Writes the files. Raises WrongUse."""
    from engine.cli.devices import known_gpus
    from engine.cli.setting_up.files import planned
    from engine.cli.setting_up.looking import look_at
    from engine.cli.setting_up.source import installed_source
    from engine.project import Project

    folder = Path(arguments.folder)
    if not folder.is_dir():
        raise WrongUse(f"{folder} is not a folder")
    parts = split_list(arguments.only) or PARTS
    if unknown := set(parts) - set(PARTS):
        raise WrongUse(f"--only takes {', '.join(PARTS)}, not {', '.join(sorted(unknown))}")
    seen = look_at(Project.from_folder(folder), known_gpus(arguments.gpu))
    for line in seen.told():
        print(printable(line), file=sys.stderr)
    source = installed_source()
    if not source.is_known:
        print(
            f"the source of this installation is not known: write its owner into {source.repository}", file=sys.stderr
        )
    for file in planned(seen, folder, parts, source):
        if arguments.dry_run:
            print(f"# {file.path}\n{file.text}")
        else:
            _write(folder, file, force=arguments.force)
    if not arguments.dry_run:
        print(NEXT, file=sys.stderr)
    return 0


def _write(folder: Path, file: Planned, *, force: bool) -> None:
    """Writes one file and says so; asks first where that would replace something. Raises WrongUse."""
    target = folder / file.path
    if file.problem is not None:
        print(f"{file.path}: {file.problem}", file=sys.stderr)
        return
    if target.is_symlink():
        print(f"{file.path}: is a link, left alone", file=sys.stderr)
        return
    if target.exists() and not file.adds_to_existing and not force and not _agreed(file.path):
        print(f"{file.path}: exists, left alone (--force overwrites it)", file=sys.stderr)
        return
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(file.text, encoding="utf-8")
    except OSError as problem:
        raise WrongUse(f"{file.path} can not be written: {problem}") from problem
    print(f"{file.path}: {'added to' if file.adds_to_existing else 'written'}")


def _agreed(path: str) -> bool:
    """Whether somebody at the terminal wants a file overwritten; nobody there is a no."""
    if not sys.stdin.isatty():
        return False
    try:
        return input(f"{path} exists. Overwrite it? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False
