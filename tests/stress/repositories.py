"""Repositories with many pull requests, written in one go."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.bot.scripts import CLEAN

CLEAR = "    optimizer.zero_grad()\n"
LINK, SUBMODULE = "120000", "160000"


def script(number: int, *, buggy: bool) -> str:
    """A training script that no other pull request has; the buggy one never clears its gradients."""
    text = CLEAN.replace("lr=0.1", f"lr=0.{number + 1:05d}").replace("\nmodel", "\ntorch.manual_seed(0)\nmodel", 1)
    return text.replace(CLEAR, "") if buggy else text


def module(number: int) -> str:
    """A module without a bug, as repositories have many."""
    return (
        f"import torch\nfrom torch import nn\n\n\nclass Block{number}(nn.Module):\n"
        f"    def __init__(self, width: int = {64 + number % 7}) -> None:\n        super().__init__()\n"
        "        self.inner = nn.Linear(width, width)\n\n"
        "    def forward(self, x: torch.Tensor) -> torch.Tensor:\n        return torch.relu(self.inner(x))\n"
    )


@dataclass(frozen=True)
class Branch:
    """A branch of one commit on top of another branch."""

    name: str
    files: Mapping[str, str | bytes]
    parent: str = "main"
    modes: Mapping[str, str] = field(default_factory=dict)
    """Of files that are no plain files: 120000 a link, whose content is its target, 160000 a submodule."""


def write(folder: Path, main: Mapping[str, str | bytes], branches: Iterable[Branch]) -> Path:
    """Make a bare repository whose `main` holds some files, and the branches."""
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", str(folder)], check=True)
    commits = [_commit(Branch("main", main, parent="")), *(_commit(branch) for branch in branches)]
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input=b"".join(commits), check=True)
    return folder


def _commit(branch: Branch) -> bytes:
    who = b"Ada <ada@example.org> 1800000000 +0000\n"
    lines = [b"commit refs/heads/%s\n" % branch.name.encode(), b"committer ", who, _data(b"work")]
    if branch.parent:
        lines.append(b"from refs/heads/%s\n" % branch.parent.encode())
    for path, content in branch.files.items():
        mode = branch.modes.get(path, "100644")
        if mode == SUBMODULE:
            lines.append(b"M %s %s %s\n" % (mode.encode(), _bytes(content), _quoted(path)))
            continue
        lines.append(b"M %s inline %s\n" % (mode.encode(), _quoted(path)))
        lines.append(_data(_bytes(content)))
    return b"".join(lines) + b"\n"


def _data(content: bytes) -> bytes:
    return b"data %d\n%s\n" % (len(content), content)


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


def _quoted(path: str) -> bytes:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return b'"%s"' % escaped.encode()


def small_pulls(count: int, *, second_push: Sequence[int] = ()) -> list[Branch]:
    """One buggy script each: `pull-N`, and for some a second push `push-N` that adds another buggy one."""
    first = [Branch(f"pull-{number}", {"train.py": script(number, buggy=True)}) for number in range(count)]
    later = [
        Branch(f"push-{number}", {"more.py": script(count + number, buggy=True)}, parent=f"pull-{number}")
        for number in second_push
    ]
    return first + later
