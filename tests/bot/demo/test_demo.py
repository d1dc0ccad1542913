"""`preflight-bot demo` from end to end, as a person starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from bot.demo import sample


def demo(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    # No git configuration, and a terminal wide enough that no word is broken.
    environment = {**os.environ, "HOME": str(home), "COLUMNS": "200", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "bot", "demo", *arguments]
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, timeout=300, check=False
    )


def test_the_sample_is_reviewed_and_shown(tmp_path: Path) -> None:
    done = demo(home=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    for words in (
        "Larger batches, clipped gradients, a confusion matrix",
        "retained-graph",
        "missing-zero-grad",
        "validation-without-eval",
        "Suggested change",
        "GiB",
        "does not fit rtx-4090",
        "What would save memory",
        "The pages of the pull request, its report and the set-up were opened once",
    ):
        assert words in done.stdout, done.stdout


def test_any_local_repository_can_be_reviewed(tmp_path: Path) -> None:
    repository = sample.write(tmp_path)
    done = demo("--repo", str(repository), "--head", sample.HEAD, "--base", f"{sample.HEAD}~1", home=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "local/leaf-doctor" in done.stdout and "retained-graph" in done.stdout


def test_a_wrong_revision_is_named(tmp_path: Path) -> None:
    repository = sample.write(tmp_path)
    done = demo("--repo", str(repository), "--head", "nowhere", home=tmp_path)
    assert done.returncode == 2
    assert "nowhere" in done.stderr and "Traceback" not in done.stderr
