"""`.pre-commit-hooks.yaml`, run by pre-commit itself on a repository."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.installed.conftest import RETAINED, TREE


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A git clone of the tree as it stands: pre-commit installs from repositories alone."""
    clone = tmp_path_factory.mktemp("clone")
    if not (TREE / ".git").exists():
        pytest.skip("this is no git checkout, and pre-commit installs from repositories alone")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=TREE, check=True, capture_output=True, text=True,
    )  # fmt: skip
    needed = ("bot/", "engine/", "hardware_catalog/", "preflight_guard/", "pyproject.toml", "README.md", "LICENSE")
    for name in listed.stdout.split("\0"):
        if name.startswith((*needed, ".pre-commit-hooks.yaml")) and (TREE / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            (clone / name).write_bytes((TREE / name).read_bytes())
    git(clone, "init", "-q")
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "release")
    return clone


def test_the_hooks_find_fix_and_leave_out_what_is_excluded(
    offline: Mapping[str, str], hooks: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if importlib.util.find_spec("pre_commit") is None:
        pytest.skip("pre-commit is not installed")
    (tmp_path / "train.py").write_text(RETAINED)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_train.py").write_text(RETAINED)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    home = tmp_path_factory.mktemp("pre-commit")
    environment = {**offline, "PRE_COMMIT_HOME": str(home), "PREFLIGHT_CACHE_DIR": str(home / "kept")}

    # One installation for both hooks: try-repo makes a new one each time.
    words = [sys.executable, "-m", "pre_commit", "try-repo", str(hooks), "--all-files", "--color", "never"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 1, done.stdout + done.stderr
    found, fixed = done.stdout.split("hook id: preflight-fix")
    assert "train.py:11:" in found and "retained-graph" in found
    assert "files were modified by this hook" in fixed
    assert "total += loss.detach()" in (tmp_path / "train.py").read_text()
    assert "test_train.py" not in done.stdout
    assert (tmp_path / "tests" / "test_train.py").read_text() == RETAINED


def test_every_hook_takes_python_and_notebooks() -> None:
    for hook in yaml.safe_load((TREE / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")):
        assert hook["types_or"] == ["python", "jupyter"]
        assert hook["entry"].startswith("preflight check")
        assert hook["language"] == "python"
