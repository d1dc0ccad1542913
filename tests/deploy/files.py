"""The files of deploy/, and the programs that judge them where they are installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import yaml

from tests.stress.postgres import binaries, private_server

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def program(name: str, comes_with: str) -> str:
    """Return the path of a program, beside this interpreter or on the PATH; without it the test is skipped."""
    beside = Path(sys.executable).parent / name
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed; it comes with {comes_with}")
    return found


def compose() -> dict[str, Any]:
    """Return compose.yaml with its anchors merged, as the compose command sees it."""
    loaded: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    return loaded


def unit(name: str) -> dict[str, dict[str, list[str]]]:
    """Return a unit file: section, key, values in order."""
    sections: dict[str, dict[str, list[str]]] = {}
    section: dict[str, list[str]] = {}
    for line in (DEPLOY / "systemd" / name).read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = sections.setdefault(line.strip("[]"), {})
        elif line and not line.startswith("#"):
            key, _, value = line.partition("=")
            section.setdefault(key, []).append(value)
    return sections


@dataclass(frozen=True)
class PostgreSQL:
    """A running server of a test's own."""

    folder: Path
    url: str

    def of(self, database: str) -> str:
        """Return the address of another database of this server."""
        return sa.make_url(self.url).set(database=database).render_as_string(hide_password=False)

    def run(self, program: str, *arguments: str) -> str:
        """Run one of PostgreSQL's own programs and return what it printed."""
        done = subprocess.run([self.folder / program, *arguments], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout


@contextmanager
def postgresql() -> Iterator[PostgreSQL]:
    """Run a server for the duration of the block; where there is none on the machine, the test is skipped."""
    folder = binaries()
    if folder is None:
        pytest.skip("PostgreSQL's server is not installed; it comes with Debian's package postgresql")
    with private_server(folder) as url:
        yield PostgreSQL(folder, url)
