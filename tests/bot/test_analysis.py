"""The analysis process: its limits, and that one file cannot spoil the rest."""

from __future__ import annotations

import contextlib
import difflib
import os
import resource
import select
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bot.github.models import ChangedFile
from bot.review.analysis import AnalysisBroken, Limits, ProcessAnalyst
from bot.review.exchange import Content
from bot.review.reading import Sides
from bot.review.results import ResultFolders
from engine.settings import Settings
from tests.bot.scripts import BUG, CLEAN

ROOT = Path(__file__).parents[2]
LIMITS = Limits(seconds=60, memory_bytes=4 * 2**30)


def changed(path: str, before: str, after: str) -> ChangedFile:
    lines = list(difflib.unified_diff(before.split("\n"), after.split("\n"), lineterm=""))
    return ChangedFile(filename=path, status="modified" if before else "added", patch="\n".join(lines[2:]))


async def test_a_report_comes_back_from_the_process() -> None:
    sides = Sides({"train.py": CLEAN}, {"train.py": BUG})

    analysis = await ProcessAnalyst(LIMITS).review(sides, [changed("train.py", CLEAN, BUG)], Settings(memory=False))

    assert [finding.name for finding in analysis.report.introduced] == ["missing-zero-grad"]
    assert analysis.report.conclusion == "neutral"


async def test_results_are_kept_for_each_repository(tmp_path: Path) -> None:
    analyst = ProcessAnalyst(LIMITS, results=ResultFolders(tmp_path, 10_000_000))
    sides = Sides({"train.py": CLEAN}, {"train.py": BUG}, repository="owner/name")
    files = [changed("train.py", CLEAN, BUG)]

    first = await analyst.review(sides, files, Settings(memory=False))
    (folder,) = tmp_path.iterdir()
    kept = {path: path.read_bytes() for path in folder.iterdir()}
    assert kept
    assert await analyst.review(sides, files, Settings(memory=False)) == first
    assert {path: path.read_bytes() for path in folder.iterdir()} == kept

    await analyst.review(replace(sides, repository="other/name"), files, Settings(memory=False))
    assert len(list(tmp_path.iterdir())) == 2


def test_folders_of_results_stay_within_their_limit(tmp_path: Path) -> None:
    folders = ResultFolders(tmp_path, 3_000)
    for number in range(6):
        folder = folders.of(f"owner/{number}")
        (folder / "entry.result").write_bytes(b"x" * 1_000)
        os.utime(folder, (number, number))
    folders.tidy()
    assert folders.of("owner/5").joinpath("entry.result").exists()
    assert not folders.of("owner/0").joinpath("entry.result").exists()


async def test_a_file_that_does_not_parse_is_named_and_the_rest_reviewed() -> None:
    broken = "import torch\ndef f(:\n"
    sides = Sides({"train.py": CLEAN}, {"train.py": BUG, "broken.py": broken})
    files = [changed("train.py", CLEAN, BUG), changed("broken.py", "", broken)]

    analysis = await ProcessAnalyst(LIMITS).review(sides, files, Settings(memory=False))

    assert [failed.path for failed in analysis.report.failed] == ["broken.py"]
    assert analysis.report.introduced


@pytest.mark.parametrize("way", ["never ends", "eats memory", "crashes"])
async def test_a_file_that_breaks_the_process_is_named_and_the_rest_reviewed(way: str) -> None:
    names = [f"file_{number}.py" for number in range(2)]
    head: dict[str, str | bytes] = dict.fromkeys(names, "fine") | {"file_1.py": way}
    files = [ChangedFile(filename=name, status="added") for name in names]
    limits = Limits(seconds=4, memory_bytes=2**30)

    analysis = await ProcessAnalyst(limits, module="tests.bot.breaking_analyst").review(
        Sides({}, head), files, Settings(memory=False)
    )

    assert [failed.path for failed in analysis.report.failed] == ["file_1.py"]
    assert [finding.path for finding in analysis.report.introduced] == ["file_0.py"]


async def test_of_more_than_one_analysis_may_take_the_first_files_are_reviewed_and_the_others_named() -> None:
    names = [f"file_{number}.py" for number in range(16)]
    files = [ChangedFile(filename=name, status="added") for name in names]
    limits = Limits(seconds=12, memory_bytes=2**30)

    analysis = await ProcessAnalyst(limits, module="tests.bot.breaking_analyst").review(
        Sides({}, dict.fromkeys(names, "takes a second")), files, Settings(memory=False)
    )

    reviewed = [finding.path for finding in analysis.report.introduced]
    assert 3 < len(reviewed) <= 12
    assert [*reviewed, *(failed.path for failed in analysis.report.failed)] == names
    assert f"Of 16 changed files {len(reviewed)} were reviewed" in analysis.notes[0]


async def test_an_analysis_that_no_file_explains_is_no_report() -> None:
    analyst = ProcessAnalyst(Limits(seconds=8, memory_bytes=2**30), module="tests.bot.no_such_module")
    with pytest.raises(AnalysisBroken):
        await analyst.review(Sides({}, {}), [], Settings())


async def test_an_estimate_that_breaks_costs_only_the_estimate() -> None:
    head: dict[str, str | bytes] = {"train.py": "breaks the estimate"}
    files = [ChangedFile(filename="train.py", status="added")]

    analysis = await ProcessAnalyst(LIMITS, module="tests.bot.breaking_analyst").review(
        Sides({}, head), files, Settings()
    )

    assert analysis.report.introduced
    assert not analysis.report.failed
    assert "not estimated" in analysis.notes[0]


@pytest.mark.parametrize("content", ["text", "ünï", b"\xff\xfe\x00"])
def test_contents_come_through_as_they_are(content: str | bytes) -> None:
    assert Content.model_validate_json(Content.of(content).model_dump_json()).value() == content


def test_the_process_limits_itself() -> None:
    code = (
        "from bot.review.analyst import limit_resources\n"
        f"limit_resources({3 * 2**30}, 60)\n"
        "import resource\n"
        "print(resource.getrlimit(resource.RLIMIT_AS)[0], resource.getrlimit(resource.RLIMIT_CPU)[0])\n"
        "try:\n    bytearray(4 * 2**30)\nexcept MemoryError:\n    print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [str(3 * 2**30), "60", "refused"]
    assert resource.getrlimit(resource.RLIMIT_AS)[0] != 3 * 2**30


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a process with its parent")
def test_an_analysis_ends_with_the_bot() -> None:
    program = (
        "import sys, time\nfrom bot.review.analyst import end_with_parent\nend_with_parent()\n"
        "print('ready', flush=True)\ntime.sleep(600)\n"
    )
    parent = (
        "import subprocess, sys, os, signal\n"
        f"child = subprocess.Popen([sys.executable, '-c', {program!r}], stdout=subprocess.PIPE)\n"
        "child.stdout.readline()\n"
        "print(child.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", parent], cwd=ROOT, stdout=subprocess.PIPE, timeout=60, check=False)

    with contextlib.suppress(ProcessLookupError):
        child = os.pidfd_open(int(done.stdout))
        assert select.select([child], [], [], 60)[0], "it lives on"
        os.close(child)


async def test_a_report_page_gets_its_run_and_its_suppressions() -> None:
    script = TRAINED + "print(loss.item())  # preflight: ignore[sync-in-loop, PF101] once a run\nx = 1  # noqa: PF101\n"
    sides = Sides({"train.py": CLEAN}, {"train.py": script})
    analyst = ProcessAnalyst(LIMITS, details=True)

    analysis = await analyst.review(sides, [changed("train.py", CLEAN, script)], Settings(gpus=("t4",)))

    assert analysis.details.suppressions == {"retained-graph": 2, "sync-in-loop": 1}
    exploration = analysis.details.exploration
    assert exploration is not None and exploration.curve is not None and analysis.report.memory.head is not None
    assert analysis.report.memory.head.memory is not None
    assert exploration.occupied == analysis.report.memory.head.memory.occupied

    tried = await analyst.explore(sides.head, exploration, ("amp-bf16",))
    assert tried.chosen == ("amp-bf16",)
    assert tried.occupied is not None and tried.occupied.expected < exploration.occupied.expected


TRAINED = """
import torch
from torch import nn

model = nn.Sequential(*[nn.Sequential(nn.Linear(1024, 1024), nn.ReLU()) for _ in range(6)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    optimizer.zero_grad()
    loss = model(torch.randn(8192, 1024, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
"""
