"""A repository of several training scripts, each for devices of its own: one summary, a row each."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from bot.github.models import ChangedFile
from bot.review.analysis import Analysis
from bot.review.reading import Sides
from engine.diff import FileDiff
from engine.project import Project
from engine.review import review
from engine.settings import Settings
from tests.bot.conftest import Bench, FakeAnalyst
from tests.bot.rendered import escapes

SCRIPT = """
import torch
from shared.data import batches

batch_size = {size}
model = torch.nn.Sequential(torch.nn.Linear(512, {width}), torch.nn.ReLU(), torch.nn.Linear({width}, 16)).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(100):
    model(torch.randn(batch_size, 512, device="cuda")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
ODD = "vision/train |@octocat` b.py"
SCRIPTS = {
    "speech/train.py": SCRIPT.format(size=512, width=8192),
    "text/finetune.py": SCRIPT.format(size=1024, width=16384),
    ODD: SCRIPT.format(size=256, width=4096),
}
SHARED = "def batches():\n    return []\n"
CONFIGURED = """\
memory: true
gpus: [t4]
entry_points:
  - speech/train.py
  - {script: text/finetune.py, gpus: [a100-80gb]}
  - "vision/train |@octocat` b.py"
"""


class HereAnalyst(FakeAnalyst):
    """The engine's own review, in this process."""

    async def review(self, sides: Sides, changed: Sequence[ChangedFile], settings: Settings) -> Analysis:
        diffs = [FileDiff.from_patch(each.filename, each.patch, each.status) for each in changed]  # type: ignore[arg-type]
        base, head = Project.from_mapping(sides.base), Project.from_mapping(sides.head)
        return Analysis(review(base, head, changed=diffs, settings=settings, gpus=()))


def rows(summary: str) -> dict[str, str]:
    """The table of programs: the cells behind each program's name."""
    section = summary.split("### Peak GPU memory by program")[1].split("###")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    parted = [re.split(r"(?<!\\) \| ", line, maxsplit=1) for line in lines]
    return {name.removeprefix("| "): rest for name, rest in parted}


@pytest.mark.parametrize("configured", [True, False], ids=["configured", "discovered"])
async def test_a_change_of_what_all_of_them_use_gives_one_summary_with_a_row_for_each(
    bench: Bench, configured: bool
) -> None:
    files: dict[str, str | bytes | None] = {**SCRIPTS, "shared/data.py": SHARED, "shared/__init__.py": ""}
    files[".github/preflight.yml"] = CONFIGURED if configured else "gpus: [t4, a100-80gb]\n"
    bench.folder.commit({**files, "train.py": None})
    larger = SCRIPTS["text/finetune.py"].replace("batch_size = 1024", "batch_size = 65536")
    bench.pipeline.analyst = HereAnalyst()
    pull = bench.open({"shared/data.py": SHARED + "\n\nSEED = 1\n", "text/finetune.py": larger})

    await bench.review(pull)

    (summary,) = bench.github.comments
    found = rows(summary.body)
    assert set(found) == {"`speech/train.py`", "`text/finetune.py`", "``vision/train \\|@octocat` b.py``"}
    assert "no change" in found["`speech/train.py`"]
    assert re.search(r"\+\d+\.\d GiB", found["`text/finetune.py`"])
    devices = {name: set(re.findall(r"`([a-z0-9-]+)` [✅❌⚠]", row)) for name, row in found.items()}
    assert devices["`speech/train.py`"] == ({"t4"} if configured else {"t4", "a100-sxm4-80gb"})
    assert devices["`text/finetune.py`"] == ({"a100-sxm4-80gb"} if configured else {"t4", "a100-sxm4-80gb"})
    assert summary.body.count("### Peak GPU memory of") == 1, "in detail only the one that moves most"
    assert "### Peak GPU memory of `text/finetune.py`" in summary.body
    assert not escapes(summary.body)
    (check,) = bench.github.checks
    assert not escapes(check.summary or "")
    assert len(check.title or "") <= 255


async def test_a_second_push_edits_the_one_summary(bench: Bench) -> None:
    files: dict[str, str | bytes | None] = {**SCRIPTS, "shared/data.py": SHARED, "shared/__init__.py": ""}
    bench.folder.commit({**files, ".github/preflight.yml": CONFIGURED, "train.py": None})
    bench.pipeline.analyst = HereAnalyst()
    text = SCRIPTS["text/finetune.py"]
    pull = bench.open({"text/finetune.py": text.replace("batch_size = 1024", "batch_size = 65536")})
    await bench.review(pull)

    bench.push(pull, {"text/finetune.py": text.replace("batch_size = 1024", "batch_size = 32768")})
    await bench.review(pull)

    (summary,) = bench.github.comments
    assert len(summary.edits) == 1
