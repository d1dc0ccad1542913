"""`init` sets up what runs: the repository and revision that Preflight was installed from, at an address for all."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from engine.cli.setting_up.source import Source, installed_source, of_installation

TREE = Path(__file__).parents[3]
RELEASE = Source("https://github.com/acme/preflight", "v9.0")
COMMIT = "0123456789abcdef0123456789abcdef01234567"


def from_git(url: str, asked: str | None = None) -> str:
    return json.dumps({"url": url, "vcs_info": {"vcs": "git", "commit_id": COMMIT, "requested_revision": asked}})


@pytest.mark.parametrize(
    ("noted", "repository", "revision"),
    [
        (from_git("https://github.com/acme/preflight", "v0.1.0"), "https://github.com/acme/preflight", "v0.1.0"),
        (from_git("https://github.com/acme/preflight.git", "main"), "https://github.com/acme/preflight", COMMIT),
        (from_git("https://x:secret@git.acme.dev/ml/preflight/"), "https://git.acme.dev/ml/preflight", COMMIT),
        (from_git("ssh://git@github.com/acme/preflight.git"), "https://github.com/acme/preflight", COMMIT),
        (None, RELEASE.repository, RELEASE.revision),
        ("{", RELEASE.repository, RELEASE.revision),
        ("[]", RELEASE.repository, RELEASE.revision),
        (from_git("https://a.dev/x: [y]\n"), RELEASE.repository, RELEASE.revision),
        (json.dumps({"url": "https://a.dev/p.whl", "archive_info": {}}), RELEASE.repository, RELEASE.revision),
    ],
)
def test_what_pip_noted_is_set_up_again(noted: str | None, repository: str, revision: str) -> None:
    assert of_installation(noted, RELEASE) == Source(repository, revision)


def test_a_clone_is_its_origin_at_its_commit(tmp_path: Path) -> None:
    def git(*words: str) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
        return subprocess.run(
            ["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout

    noted = json.dumps({"url": tmp_path.as_uri(), "dir_info": {"editable": True}})
    assert of_installation(noted, RELEASE) == RELEASE
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "first")
    assert of_installation(noted, RELEASE) == RELEASE
    git("remote", "add", "origin", "git@github.com:acme/preflight.git")
    assert of_installation(noted, RELEASE) == Source(RELEASE.repository, git("rev-parse", "HEAD").strip())


def test_every_page_names_the_address_and_release_of_pyproject() -> None:
    project = tomllib.loads((TREE / "pyproject.toml").read_text("utf-8"))["project"]
    address, release = project["urls"]["Source"], f"v{project['version']}"
    owner = address.removeprefix("https://github.com/")
    for page in [TREE / "README.md", *(TREE / "docs").glob("*.md")]:
        for shown, revision in re.findall(
            r"(https://github\.com/[\w.-]+/preflight)\b(?:@([\w.]+))?", page.read_text("utf-8")
        ):
            assert (shown, revision or release) == (address, release), page.name
        for shown, revision in re.findall(r"uses: ([\w.-]+/preflight)@([\w.]+)", page.read_text("utf-8")):
            assert (shown, revision) == (owner, release), page.name
    assert installed_source().requirement.startswith("preflight-review @ git+")
