"""Fixes of public repositories, played backwards: what counts as found, and what each missed one needs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.accuracy.bugfixes import Missed, judge, read_ledger, read_sites, report

EVALUATION = """\
import torch
from torch import nn
from torch.utils.data import DataLoader

model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1), nn.Linear(8, 1))


def evaluate(loader: DataLoader) -> float:
    model.eval()
    right = 0.0
    for inputs, targets in loader:
        right += (model(inputs) - targets).abs().mean().item()
    return right
"""

FIXED = EVALUATION.replace("def evaluate", "@torch.no_grad()\ndef evaluate")


@pytest.fixture
def sites(tmp_path: Path) -> Path:
    """Two sites of one fix, of which one is of a family that the file has no finding of, and one without a mirror."""
    home = tmp_path / "acme+trainer" / "repo"
    work = tmp_path / "work"
    work.mkdir()

    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
        command = ["git", "-C", str(work), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "-q")
    commits = []
    for text in (EVALUATION, FIXED):
        (work / "train.py").write_text(text)
        git("add", ".")
        git("commit", "-qm", "a")
        commits.append(git("rev-parse", "HEAD"))
    git("clone", "-q", "--bare", str(work), str(home))
    site = {"repo": "acme/trainer", "path": "train.py", "parent": commits[0], "fix_commit": commits[1]}
    rows = [
        {**site, "buggy_line": 11, "family": "eval-without-no-grad"},
        {**site, "buggy_line": 12, "family": "scheduler-order"},
        {**site, "repo": "acme/elsewhere", "buggy_line": 12, "family": "scheduler-order"},
    ]
    path = tmp_path / "sites.jsonl"
    path.write_text("".join(json.dumps({**row, "explanation": "as written"}) + "\n" for row in rows))
    return path


def test_each_missed_site_needs_a_reason_and_no_other_has_one(sites: Path) -> None:
    found, missed, elsewhere = (judge(sites.parent, site) for site in read_sites(sites))
    assert found.hits == ["eval-without-no-grad (warning) train.py:11"] and found.fix_seen
    assert elsewhere.skipped and not missed.found

    lines, complete = report([found, missed, elsewhere], {})
    assert not complete and any("no reason is written down" in line for line in lines)
    figures = json.loads(lines[-1])
    assert (figures["sites"], figures["found"], figures["without a reason"]) == (2, 1, 1)

    why = Missed(**missed.site.model_dump(include=set(Missed.model_fields)), why="invisible", reason="set by its user")
    lines, complete = report([found, missed, elsewhere], {why.key: why})
    assert complete and any(line.endswith("scheduler-order: invisible: set by its user") for line in lines)
    assert json.loads(lines[-1])["recall_of_visible"] == 1.0

    stale = why.model_copy(update={"buggy_line": found.site.buggy_line})
    lines, complete = report([found, missed], {why.key: why, stale.key: stale})
    assert not complete and any(line.startswith("found, and called missed") for line in lines)


def test_the_ledger_names_each_site_once_with_a_reason(tmp_path: Path) -> None:
    assert all(row.reason.strip().endswith(".") for row in read_ledger().values())
    row = """
[[missed]]
repo = "a/b"
fix_commit = "0123456789"
path = "a.py"
buggy_line = 1
why = "%s"
reason = "As it is set by users."
"""
    twice = tmp_path / "twice.toml"
    twice.write_text(row % "invisible" * 2)
    with pytest.raises(ValueError, match="has a site twice"):
        read_ledger(twice)
    twice.write_text(row % "bad luck")
    with pytest.raises(ValidationError):
        read_ledger(twice)
