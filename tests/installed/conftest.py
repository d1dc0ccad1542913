"""What a test of an installed Preflight needs: pip that reaches no network and finds the dependencies here."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import pytest

from engine.cli.setting_up.source import Source

TREE = Path(__file__).parents[2]

RETAINED = """\
import torch


def train(model, loader, optimizer):
    total = 0.0
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        total += loss
    return total
"""
STEP = """\
import torch
from torch import nn

model = nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(100):
    optimizer.zero_grad()
    model(torch.randn(32, 1024, device="cuda")).square().mean().backward()
    optimizer.step()
"""


@pytest.fixture(scope="session")
def offline() -> Mapping[str, str]:
    """An environment in which pip builds and installs a local tree, and its dependencies are this interpreter's."""
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling is not installed, and a build without it would reach the network")
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(("PIP_", "PYTHON", "GITHUB_"))},
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        # pip reads this one upside down: false turns the isolation off.
        "PIP_NO_BUILD_ISOLATION": "false",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_COMPILE": "1",
        "PYTHONPATH": sysconfig.get_paths()["purelib"],
    }


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """A git repository of the tree as it stands, at a release: hooks and `version` install from repositories alone."""
    clone = tmp_path_factory.mktemp("clone") / "preflight"
    clone.mkdir()
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
    git(clone, "tag", "v0.1.0")
    return Source(str(clone), "v0.1.0")
