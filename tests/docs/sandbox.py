"""The repository that the documentation's commands run in: a training program, two merges, a branch with a bug."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

TRAINING = """\
import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=64)
parser.add_argument("--width", type=int, default=4096)
arguments = parser.parse_args()

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1024, arguments.width), nn.ReLU(), nn.Linear(arguments.width, 10)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

losses = []
for step in range(1000):
    inputs = torch.randn(arguments.batch_size, 1024, device="cuda")
    targets = torch.randint(0, 10, (arguments.batch_size,), device="cuda")
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(inputs), targets)
    loss.backward()
    optimizer.step()
    losses.append(loss.detach())
"""
LAUNCH = "#!/bin/sh\ntorchrun --nproc_per_node 1 train.py --batch-size 128\n"
BUG = TRAINING.replace("losses.append(loss.detach())", "losses.append(loss)")


def make_repository(folder: Path) -> None:
    """Makes the repository, with the branch `faster` checked out."""
    folder.mkdir(parents=True)
    _git(folder, "init", "-q", "-b", "main")
    _commit(folder, {"train.py": TRAINING.replace("4096", "2048")}, "Train a classifier")
    for number, files in enumerate(({"train.py": TRAINING}, {"train.sh": LAUNCH}), start=1):
        _git(folder, "switch", "-q", "-c", f"change-{number}")
        _commit(folder, files, f"Change {number}")
        _git(folder, "switch", "-q", "main")
        _git(folder, "merge", "-q", "--no-ff", "-m", f"Merge change {number}", f"change-{number}")
    _git(folder, "switch", "-q", "-c", "faster")
    _commit(folder, {"train.py": BUG}, "Keep the losses")


def _commit(folder: Path, files: dict[str, str], message: str) -> None:
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    _git(folder, "add", ".")
    _git(folder, "commit", "-q", "-m", message)


def _git(folder: Path, *arguments: str) -> None:
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_CONFIG_GLOBAL": os.devnull}
    who |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}
    subprocess.run(["git", *arguments], cwd=folder, env={**os.environ, **who}, check=True, capture_output=True)
