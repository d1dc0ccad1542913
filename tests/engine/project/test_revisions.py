"""Files of a git revision, read without a checkout."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from engine.project import Project, UnreadableFile
from engine.project.sources import RevisionNotFound


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    (tmp_path / "train.py").write_text("import torch\n")
    (tmp_path / "ünï cödé.py").write_text("x = 1\n")
    (tmp_path / "link.py").symlink_to("/etc/passwd")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    (tmp_path / "train.py").write_text("import torch\nimport math\n")
    git(tmp_path, "commit", "-q", "-am", "second")
    return tmp_path


def test_each_revision_has_its_own_files(repository: Path) -> None:
    first = Project.from_revision(repository, "HEAD~1")
    second = Project.from_revision(repository, "main")
    assert first.read_text("train.py") == "import torch\n"
    assert second.read_text("train.py") == "import torch\nimport math\n"
    assert first.content_key("ünï cödé.py") == second.content_key("ünï cödé.py")
    assert first.content_key("train.py") != second.content_key("train.py")
    assert second.content_key("train.py") == Project.from_folder(repository).content_key("train.py")


def test_links_are_not_files_of_the_commit(repository: Path) -> None:
    project = Project.from_revision(repository, "HEAD")
    assert list(project.paths()) == ["train.py", "ünï cödé.py"]
    with pytest.raises(UnreadableFile):
        project.read_text("link.py")


@pytest.mark.parametrize("revision", ["nope", "", "--output=x", "HEAD~9"])
def test_an_unknown_revision_is_named(repository: Path, revision: str) -> None:
    with pytest.raises(RevisionNotFound):
        Project.from_revision(repository, revision)
