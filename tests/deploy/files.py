"""The files of deploy/, and the programs that judge them where they are installed."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

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
