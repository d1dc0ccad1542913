"""Puts a package into a folder as an installer does: its modules, and the metadata that importlib reads."""

from __future__ import annotations

import shutil
import tomllib
from pathlib import Path

ACME = Path(__file__).parent / "acme"


def install(package: Path, folder: Path) -> Path:
    """Installs a source tree with a `pyproject.toml` and one top-level package below `folder`."""
    project = tomllib.loads((package / "pyproject.toml").read_text("utf-8"))["project"]
    for source in package.iterdir():
        if source.is_dir():
            shutil.copytree(source, folder / source.name)
    write_metadata(folder, project["name"], project["version"], project["entry-points"])
    return folder


def write_metadata(folder: Path, name: str, version: str, groups: dict[str, dict[str, str]]) -> None:
    """The `dist-info` of a package."""
    about = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [line for group, entries in groups.items() for line in (f"[{group}]", *_lines(entries))]
    (about / "entry_points.txt").write_text("\n".join(lines) + "\n")


def _lines(entries: dict[str, str]) -> list[str]:
    return [f"{name} = {value}" for name, value in entries.items()]
