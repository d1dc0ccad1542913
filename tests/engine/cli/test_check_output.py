"""What `check` prints for whom: diffs, colours, summaries of CI jobs, progress."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.cli import scanning

if TYPE_CHECKING:
    from tests.engine.cli.conftest import Git, Run

COLOURS = re.compile(r"\x1b\[(?:\d+;)*[39]\d")
HOSTILE = "<img src=x onerror=alert(1)> @everyone `x` | [a](http://b)"


def test_the_text_shows_what_the_fix_changes(work: Path, run: Run) -> None:
    lines = run("check").out.split("\n")
    assert "  12 -         total += loss" in lines
    assert "  12 +         total += loss.detach()" in lines


def test_diff_is_a_patch_that_git_applies_and_changes_nothing_itself(work: Path, git: Git, run: Run) -> None:
    before = (work / "train.py").read_bytes()
    answer = run("check", "--diff")
    assert answer.code == 1
    assert (work / "train.py").read_bytes() == before
    subprocess.run(["git", "apply", "-"], input=answer.out, text=True, check=True)
    assert "loss.detach()" in (work / "train.py").read_text()
    assert run("check", "--diff").out == ""


def test_diff_keeps_line_endings(work: Path, git: Git, run: Run) -> None:
    source = (work / "train.py").read_bytes().replace(b"\n", b"\r\n").removesuffix(b"\r\n")
    (work / "train.py").write_bytes(source)
    patch = run("check", "--diff").out
    subprocess.run(["git", "apply", "-"], input=patch.encode(), check=True)
    assert (work / "train.py").read_bytes() == source.replace(b"+= loss", b"+= loss.detach()")


@pytest.mark.parametrize("extra", [["--fix"], ["--format", "json"], ["--watch", "--format", "json"]])
def test_options_that_contradict_each_other_are_wrong_use(work: Path, run: Run, extra: list[str]) -> None:
    words = ["check", *extra] if "--watch" in extra else ["check", "--diff", *extra]
    assert run(*words).code == 2


def test_the_job_summary_is_added_to_the_file_and_escapes_everything(work: Path, run: Run) -> None:
    (work / "broken.py").write_text(f"import torch\n{HOSTILE}\n")
    target = work / "summary.md"
    target.write_text("before\n")
    assert run("check", "--summary", str(target)).code == 1
    text = target.read_text()
    assert text.startswith("before\n## Preflight: 1 error")
    assert "- 🛑 `train.py:12` PF101 **retained-graph**:" in text
    assert "`broken.py`" in text
    assert "<img" not in text and "@everyone" not in text


def test_a_summary_that_can_not_be_written_is_wrong_use(work: Path, run: Run) -> None:
    assert "summary" in run("check", "--summary", str(work / "no" / "where")).err


def in_terminal(work: Path, environment: dict[str, str], *words: str) -> str:
    """What `preflight` shows in a terminal."""
    master, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "engine.cli", *words],
        cwd=work,
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "TERM": "xterm", **environment},
    )
    os.close(terminal)
    shown = b""
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:
            break
        if not data:
            break
        shown += data
    process.wait()
    os.close(master)
    return shown.decode()


def test_colours_are_for_terminals_that_want_them(work: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert COLOURS.search(in_terminal(work, {}, "check"))
    assert not COLOURS.search(in_terminal(work, {"NO_COLOR": "1"}, "check"))
    assert "\x1b[" not in run("check").out


def test_nothing_in_a_source_file_reaches_the_terminal_as_a_command(work: Path) -> None:
    text = (work / "train.py").read_text().replace("total += loss", "total += loss  # \x1b]0;title\x07\u202e")
    (work / "train.py").write_text(text)
    for words in (["check"], ["check", "--diff"]):
        shown = in_terminal(work, {}, *words)
        assert "total += loss" in shown
        assert "\x1b]" not in shown and "\x07" not in shown and "\u202e" not in shown


def test_long_scans_show_their_progress_in_terminals_alone(work: Path, run: Run) -> None:
    for number in range(70):
        (work / f"plain_{number}.py").write_text(f"x = {number}\n")
    assert "files" in in_terminal(work, {}, "check", "--format", "json").split("{")[0]
    answer = run("check", "--format", "json")
    assert answer.err == ""
    assert json.loads(answer.out)["files"]["skipped"] == 70


def test_several_processes_say_what_one_says(work: Path, run: Run) -> None:
    for folder in ("one", "two", "three"):
        (work / folder).mkdir()
        (work / folder / "train.py").write_text((work / "train.py").read_text())
    (work / "three" / "broken.py").write_text("import torch\nprint 'x'\n")
    alone = run("check", "--format", "json", "--jobs", "1", "--no-cache")
    assert len(json.loads(alone.out)["findings"]) == 4
    several = run("check", "--format", "json", "--jobs", "2", "--no-cache")
    assert (several.code, several.out) == (alone.code, alone.out)
    assert run("check", "--jobs", "-1").code == 2


def test_processes_are_started_where_they_have_something_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "_processors", lambda: 8)
    one = [["a.py"] * 1000]
    assert scanning.that_pay(one, 0) == 1
    assert scanning.that_pay([*one, ["b.py"]], 0) == 1
    assert scanning.that_pay([["a.py"] * 200] * 5, 0) > 4
    assert scanning.that_pay([["a.py"], ["b.py"]], 8) == 2
