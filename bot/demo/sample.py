"""Writes the demo's own repository: a small image-training project with two commits on two branches."""

from __future__ import annotations

import os
import subprocess
from importlib.resources import as_file, files
from pathlib import Path
from shutil import copytree

NAME = "leaf-doctor"
BASE = "main"
HEAD = "bigger-batches"
TITLE = "Larger batches, clipped gradients, a confusion matrix"
DESCRIPTION = """\
- Four times the batch, so that an epoch takes less time.
- Clips the gradients: the loss jumped now and then. Drops autocast, to rule it out as the cause.
- `accuracy` also counts which diseases are taken for each other.
"""


def write(folder: Path) -> Path:
    """Makes the repository `folder/leaf-doctor`, whatever git is configured to on this machine, and returns it."""
    repository = folder / NAME
    with as_file(files("bot.demo").joinpath("sample")) as sample:
        copytree(sample / "base", repository)
        _git(repository, "init", "--quiet", f"--initial-branch={BASE}")
        _commit(repository, "Train a ResNet-50 on photographs of leaves")
        _git(repository, "checkout", "--quiet", "-b", HEAD)
        copytree(sample / "head", repository, dirs_exist_ok=True)
        _commit(repository, TITLE)
    _git(repository, "checkout", "--quiet", BASE)
    return repository


def _commit(repository: Path, message: str) -> None:
    _git(repository, "add", "--all", "--force")
    _git(repository, "commit", "--quiet", "--no-verify", "--message", message)


def _git(repository: Path, *arguments: str) -> None:
    environment = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada Rivera",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada Rivera",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
    }
    command = ["git", "-c", "core.hooksPath=/dev/null", *arguments]
    subprocess.run(command, cwd=repository, env=environment, check=True, capture_output=True)
