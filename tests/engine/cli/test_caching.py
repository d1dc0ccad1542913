"""Where the command line keeps results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from engine.cli.caching import cache_folder
from engine.cli.program import main

BUG = """
import torch

def train(model, loader, optimizer):
    losses = []
    for inputs in loader:
        loss = model(inputs).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return losses
"""


@pytest.mark.parametrize(
    ("environment", "platform", "folder"),
    [
        ({"PREFLIGHT_CACHE_DIR": "/c", "HOME": "/h"}, "linux", Path("/c")),
        ({"XDG_CACHE_HOME": "/x", "HOME": "/h"}, "linux", Path("/x/preflight")),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "linux", Path("/h/.cache/preflight")),
        ({"HOME": "/h"}, "darwin", Path("/h/Library/Caches/preflight")),
        ({"LOCALAPPDATA": "/l"}, "win32", Path("/l/preflight/cache")),
        ({}, "linux", None),
    ],
)
def test_each_platform_has_its_folder(environment: Mapping[str, str], platform: str, folder: Path | None) -> None:
    assert cache_folder(environment, platform) == folder


def test_a_second_check_says_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "train.py").write_text(BUG)
    monkeypatch.chdir(tmp_path / "work")
    options = ["check", "--format", "json", "--cache-dir", str(tmp_path / "kept")]
    assert main(options) == 1
    first = capsys.readouterr().out
    assert list((tmp_path / "kept").iterdir())
    assert main(options) == 1
    assert capsys.readouterr().out == first


def test_nothing_is_kept_with_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "train.py").write_text(BUG)
    monkeypatch.chdir(tmp_path / "work")
    assert main(["check", "--no-cache", "--cache-dir", str(tmp_path / "kept")]) == 1
    assert not (tmp_path / "kept").exists()
