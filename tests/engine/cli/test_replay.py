"""`replay`: what installing Preflight would have meant for a repository, and how often."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engine.replay import Replayed, per_week

if TYPE_CHECKING:
    from tests.engine.cli.conftest import Git, Run

DAY = 24 * 3600


def merged(committed: int, comments: int, conclusion: str = "success") -> Replayed:
    return Replayed("c", "s", committed, 1, 0, 0, 0, 0, comments, conclusion, (), None, None)


def test_rates_count_over_the_time_that_the_merges_span() -> None:
    rates = per_week([merged(day * 7 * DAY, comments=day % 2) for day in range(4)])
    assert rates is not None
    assert (rates.weeks, rates.merges, rates.comments) == pytest.approx((4, 1, 0.5))
    assert per_week([merged(0, 1)]) is None
    assert per_week([merged(0, 1), merged(60, 1)]) is None


def test_each_merge_is_a_row_with_its_time(work: Path, git: Git, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    buggy = (work / "train.py").read_text()
    for day, text in ((7, buggy.replace("+= loss", "+= loss.item()")), (14, buggy)):
        monkeypatch.setenv("GIT_COMMITTER_DATE", f"{1_700_000_000 + day * DAY} +0000")
        git("checkout", "-q", "-b", f"change-{day}")
        (work / "train.py").write_text(text)
        git("commit", "-qam", f"change {day}")
        git("checkout", "-q", "main")
        git("merge", "-q", "--no-ff", "-m", f"merge {day}", f"change-{day}")
    rows = json.loads(run("replay", ".", "--format", "json").out)
    assert [(row["subject"], row["committed"]) for row in rows] == [
        ("merge 14", 1_700_000_000 + 14 * DAY),
        ("merge 7", 1_700_000_000 + 7 * DAY),
    ]
    assert (rows[0]["errors"], rows[0]["rules"], rows[0]["comments"]) == (1, ["retained-graph"], 1)
    assert (rows[1]["errors"], rows[1]["fixed"]) == (0, 1)
    text = run("replay", ".").out
    assert "2 merges: 1 comment, 1 without any." in text
    assert "Over 2.0 weeks that is 1.0 merges, 0.5 comments" in text


def test_a_repository_without_history_says_so(work: Path, run: Run) -> None:
    subprocess.run(["git", "init", "-q", "."], check=True)
    assert run("replay", ".").code == 2
