"""The script that a command is asked about: a file, or a whole command line behind `--`."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from engine.cli.formats.plain import printable
from engine.cli.usage import ROOT_MARKS, WrongUse

STARTERS = ("python", "python3", "torchrun", "accelerate", "deepspeed", "srun", "mpirun")
"""Programs that start scripts."""
COMMAND_LINE = "command-line.sh"
"""The launch script that a command line is read as."""


def add_script(parser: argparse.ArgumentParser) -> None:
    """`SCRIPT` and `--root DIR`."""
    parser.add_argument(
        "script",
        nargs="+",
        metavar="SCRIPT",
        help="Python file, notebook, launch script or configuration file; or, after --, a whole command line",
    )
    parser.add_argument("--root", metavar="DIR", help="where the paths that it names are looked up")


def named(words: Sequence[str], root: str | None) -> tuple[Path, str, dict[str, str]]:
    """The project root, the script in it, and the launch script that a command line stands for. Raises WrongUse."""
    command = len(words) > 1
    script = Path.cwd() / COMMAND_LINE if command else Path(words[0]).resolve()
    if not command and not script.is_file():
        hint = "; name the script in it" if script.is_dir() else ""
        if words[0] in STARTERS:
            hint = "; a command line names the script that it starts, as in `torchrun train.py`"
        raise WrongUse(f"{words[0]} is not a file{hint}")
    top = Path(root).resolve() if root else default_root(script)
    if not top.is_dir():
        raise WrongUse(f"{root} is not a folder")
    if command:
        return top, COMMAND_LINE, {COMMAND_LINE: shlex.join(words) + "\n"}
    if not script.is_relative_to(top):
        raise WrongUse(f"{words[0]} is not below {top}; name its project with --root")
    return top, script.relative_to(top).as_posix(), {}


def warn_of_no_program(words: Sequence[str]) -> None:
    """Says on stderr where several words are taken for a command line that begins with a script."""
    if words[0].endswith((".py", ".ipynb", ".yaml", ".yml", ".json", ".toml")) and not words[0].startswith("/"):
        told = f"{shlex.join(words)} is read as a command line, and {words[0]} is no program"
        print(
            printable(f"preflight: {told}: begin it with python or torchrun, or give one script and --set key=value"),
            file=sys.stderr,
        )


def default_root(script: Path) -> Path:
    """The nearest project root above the script that is at or below the working folder, else the script's folder."""
    here = Path.cwd().resolve()
    if script.is_relative_to(here):
        return here
    for folder in script.parents:
        if any((folder / mark).exists() for mark in ROOT_MARKS):
            return folder
    return script.parent
