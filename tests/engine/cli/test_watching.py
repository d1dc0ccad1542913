"""`check --watch` runs again when something that matters has changed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.cli import watching

if TYPE_CHECKING:
    from tests.engine.cli.conftest import Run


def test_it_hears_of_changes_of_what_is_read(work: Path) -> None:
    moments = iter(
        [
            lambda: (work / "notes.txt").write_text("no source"),
            lambda: (work / "train.py").write_text("import torch\n"),
            lambda: (work / "model.py").write_text("import torch\n"),
            lambda: (work / "train.py").unlink(),
        ]
    )
    told = watching.changes(work, pause=lambda seconds: next(moments)())
    assert [next(told) for _ in range(4)] == [[], ["train.py"], ["model.py"], ["train.py"]]


def test_every_change_is_checked_until_it_is_interrupted(work: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def edit(seconds: float) -> None:
        text = (work / "train.py").read_text()
        if "detach" in text:
            raise KeyboardInterrupt
        (work / "train.py").write_text(text.replace("+= loss", "+= loss.detach()"))

    monkeypatch.setattr(watching.time, "sleep", edit)
    monkeypatch.setattr(watching.changes, "__defaults__", (edit,))
    answer = run("check", "--watch")
    assert answer.out.count("retained-graph") == 1
    assert "Nothing found" in answer.out
    assert "1 changed: train.py" in answer.err
    assert answer.code == 0
