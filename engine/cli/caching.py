"""Where the command line keeps results between runs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.kept.store import FolderStore

VARIABLE = "PREFLIGHT_CACHE_DIR"


def add_cache(parser: argparse._ActionsContainer) -> None:
    """`--no-cache` and `--cache-dir DIR`."""
    parser.add_argument("--no-cache", action="store_true", help="use no earlier results, keep none")
    parser.add_argument(
        "--cache-dir",
        metavar="DIR",
        help=f"where results are kept (default: ${VARIABLE} or the user's cache folder)",
    )


def chosen_store(arguments: argparse.Namespace) -> FolderStore | None:
    """The store that the options ask for, None with `--no-cache` and where there is no home for one."""
    if arguments.no_cache:
        return None
    from engine.kept.store import FolderStore

    folder = Path(arguments.cache_dir) if arguments.cache_dir else cache_folder(os.environ, sys.platform)
    return FolderStore(folder) if folder is not None else None


def cache_folder(environment: Mapping[str, str], platform: str) -> Path | None:
    """The folder for caches of this user and platform; None where the environment names no home."""
    if environment.get(VARIABLE):
        return Path(environment[VARIABLE])
    if platform == "win32":
        root = environment.get("LOCALAPPDATA")
        return Path(root) / "preflight" / "cache" if root else None
    home = environment.get("HOME")
    if platform == "darwin":
        return Path(home) / "Library" / "Caches" / "preflight" if home else None
    root = environment.get("XDG_CACHE_HOME")
    if root and Path(root).is_absolute():
        return Path(root) / "preflight"
    return Path(home) / ".cache" / "preflight" if home else None
