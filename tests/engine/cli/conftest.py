"""What tests of the command line start from."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.cli import main

RETAINED = """\
import torch
from torch import nn


def train(model: nn.Module, loader, optimizer):
    total = 0.0
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss
    return total
"""

Git = Callable[..., str]
Run = Callable[..., "Answer"]


class Answer:
    """What a command left: its exit code and what it printed."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs `preflight` with these words, away from the terminal that the tests themselves may run in."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def answer(*words: str) -> Answer:
        code = main(words)
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return answer


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with `train.py` whose line 12 keeps every step's graph."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "train.py").write_text(RETAINED)
    return folder


@pytest.fixture
def git(work: Path) -> Git:
    """Runs git in the working folder, which is a repository of one commit."""

    def run_git(*arguments: str) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *identity, *arguments], cwd=work, check=True, capture_output=True, text=True)
        return done.stdout

    run_git("init", "-q", "-b", "main")
    run_git("add", ".")
    run_git("commit", "-q", "-m", "first")
    return run_git
