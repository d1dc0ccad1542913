"""`.pre-commit-hooks.yaml`, run by pre-commit itself on a repository."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from engine.cli.setting_up.files import planned
from engine.cli.setting_up.looking import look_at
from engine.cli.setting_up.source import Source
from engine.project import Project
from tests.installed.conftest import RETAINED, TREE, git


def test_the_hooks_find_fix_and_leave_out_what_is_excluded(
    offline: Mapping[str, str], clone: Source, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if importlib.util.find_spec("pre_commit") is None:
        pytest.skip("pre-commit is not installed")
    (tmp_path / "train.py").write_text(RETAINED)
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_train.py").write_text(RETAINED)
    git(tmp_path, "init", "-q")
    home = tmp_path_factory.mktemp("pre-commit")
    environment = {**offline, "PRE_COMMIT_HOME": str(home), "PREFLIGHT_CACHE_DIR": str(home / "kept")}

    # As `preflight init` writes it, with the fixing hook behind: one installation serves both.
    (written,) = planned(look_at(Project.from_folder(tmp_path)), tmp_path, ["pre-commit"], clone)
    (tmp_path / written.path).write_text(f"{written.text}      - id: preflight-fix\n")
    git(tmp_path, "add", ".")
    words = [sys.executable, "-m", "pre_commit", "run", "--all-files", "--color", "never"]
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
