"""The command blocks of README.md and docs/: read, run, and compared with the output that a page shows.

    <!-- not run: serves, it runs until it is stopped -->   before a block that a test cannot run: a kind and a reason
    `train.py`:                                             before a block that is the content of a file
    ```sh                                                   commands; exit codes 0 and 1 (something found) are fine
    ```text                                                 right behind them: what they print, exactly

`python -m tests.docs.commands` writes the outputs of all pages anew.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from engine.cli import main as preflight
from tests.docs.sandbox import make_repository

ROOT = Path(__file__).parents[2]
KINDS = {
    "serves": "runs until it is stopped",
    "github": "needs an App at GitHub",
    "installs": "installs packages",
    "device": "needs PyTorch and a CUDA device",
    "long": "CI runs it as a step of its own",
}
"""Why a block may be left out."""
WIDTH = "100"

_NOT_RUN = re.compile(r"<!-- not run: (\w+)(?:, ([^>]+?))? -->")
_FILE = re.compile(r"^`([\w./-]+)`:$")
_SHELL = re.compile(r"[|<>;&$`]")


@dataclass
class Block:
    """Commands of a page, with the files that the page has shown above them."""

    page: Path
    line: int
    commands: list[str]
    files: dict[str, str] = field(default_factory=dict)
    kind: str = ""
    expected: str | None = None
    expected_lines: tuple[int, int] = (0, 0)
    """First and last line of the output in the page, counted from 0."""

    @property
    def name(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def documents() -> list[Path]:
    """The pages whose commands are run."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def fences(text: str) -> Iterator[tuple[int, str, list[str], str]]:
    """Line (from 1), language, lines and the nearest text above, of each fenced block."""
    lines = text.split("\n")
    above, number = "", 0
    while number < len(lines):
        line = lines[number]
        if line.startswith("```"):
            start = number + 1
            number = start
            while lines[number] != "```":
                number += 1
            yield start + 1, line[3:].strip(), lines[start:number], above
            above = ""
        elif line.strip():
            above = line.strip()
        number += 1


def blocks(page: Path) -> list[Block]:
    """The command blocks of a page."""
    found: list[Block] = []
    files: dict[str, str] = {}
    for line, language, lines, above in fences(page.read_text("utf-8")):
        named = _FILE.match(above)
        if language == "sh":
            left_out = _NOT_RUN.match(above)
            found.append(Block(page, line, _joined(lines), dict(files), left_out[1] if left_out else ""))
        elif language == "text" and not above and found:
            found[-1].expected = "\n".join(lines)
            found[-1].expected_lines = (line - 1, line - 1 + len(lines))
        elif named is not None:
            files[named[1]] = "\n".join(lines) + "\n"
    return found


def _joined(lines: list[str]) -> list[str]:
    """Commands, each on one line."""
    whole = "\n".join(lines).replace("\\\n", " ")
    return [line for line in whole.split("\n") if line.strip() and not line.startswith("#")]


def run(block: Block, folder: Path) -> tuple[int, str]:
    """The worst exit code of a block's commands and what they print, in a fresh copy of the sandbox's repository."""
    shutil.copytree(_repository(), folder, symlinks=True)
    for name, text in block.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    worst, printed = 0, ""
    for command in block.commands:
        code, output = _run(command, folder)
        worst, printed = max(worst, code), printed + output
    return worst, "\n".join(line.rstrip() for line in printed.split("\n")).strip("\n")


@cache
def _repository() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="preflight-docs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    make_repository(folder / "repository")
    return folder / "repository"


def _run(command: str, folder: Path) -> tuple[int, str]:
    words = shlex.split(command, comments=True)
    if words[0] == "preflight" and not _SHELL.search(command.partition(" #")[0]):
        return _in_process(words[1:], folder)
    # Elsewhere in the line, `preflight` is a command as any other.
    shims = folder.parent / "shims"
    shims.mkdir(exist_ok=True)
    shim = shims / "preflight"
    shim.write_text(f'#!/bin/sh\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m engine.cli "$@"\n')
    shim.chmod(0o755)
    environment = {**os.environ, "PATH": f"{shims}{os.pathsep}{os.environ['PATH']}", "COLUMNS": WIDTH}
    done = subprocess.run(
        ["bash", "-eu", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


def _in_process(arguments: list[str], folder: Path) -> tuple[int, str]:
    before, width = Path.cwd(), os.environ.get("COLUMNS")
    output = io.StringIO()
    os.chdir(folder)
    os.environ["COLUMNS"] = WIDTH
    try:
        with contextlib.redirect_stdout(output):
            try:
                code = preflight(arguments)
            except SystemExit as leaving:
                code = leaving.code if isinstance(leaving.code, int) else 2
    finally:
        os.chdir(before)
        del os.environ["COLUMNS"]
        if width is not None:
            os.environ["COLUMNS"] = width
    return code, output.getvalue()


def main() -> None:
    """Writes the outputs of all pages anew."""
    for page in documents():
        lines = page.read_text("utf-8").split("\n")
        for block in reversed(blocks(page)):
            if block.expected is not None:
                with tempfile.TemporaryDirectory() as folder:
                    _, printed = run(block, Path(folder) / "repository")
                first, last = block.expected_lines
                lines[first:last] = printed.split("\n")
        page.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
