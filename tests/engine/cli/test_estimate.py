"""`preflight estimate`: command lines in place of scripts, and verdicts as exit codes."""

import json
from pathlib import Path

import pytest

from engine.cli.devices import devices_here
from engine.cli.program import main

TRAIN = """
import argparse
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--batch-size", type=int, default=4)
arguments = parser.parse_args()
model = nn.Sequential(nn.Linear(4096, 8192), nn.ReLU(), nn.Linear(8192, 4096)).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for step in range(100):
    optimizer.zero_grad()
    model(torch.randn(arguments.batch_size, 4096, device="cuda")).square().mean().backward()
    optimizer.step()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "train.py").write_text(TRAIN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def estimated(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, dict[str, dict[str, object]]]:
    assert main(["estimate", "--format", "json", *words]) == 0
    answer: dict[str, dict[str, dict[str, object]]] = json.loads(capsys.readouterr().out)
    return answer


def test_a_command_line_is_read_as_a_launch_script(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = estimated(capsys, "--", "torchrun", "--nproc-per-node", "4", "train.py", "--batch-size", "32")
    size = found["configuration"]["batch_size"]
    assert (size["value"], size["path"], size["line"]) == (32, "command-line.sh", 1)
    assert found["configuration"]["world_size"]["value"] == 4
    assert not (folder / "command-line.sh").exists()


def test_options_of_a_launch_script_are_found_in_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "run.sh").write_text("set -e\npython train.py \\\n  --batch-size 16\n")
    size = estimated(capsys, "run.sh")["configuration"]["batch_size"]
    assert (size["value"], size["path"], size["line"]) == (16, "run.sh", 3)


@pytest.mark.parametrize(
    ("gpu", "fail_on", "code"),
    [("a100-80gb", "borderline", 0), ("a100-80gb", "unknown", 0), ("t4", "never", 0), ("t4", "does-not-fit", 1)],
)
def test_verdicts_as_exit_codes(folder: Path, gpu: str, fail_on: str, code: int) -> None:
    command = ["python", "train.py", "--batch-size", "200000"]
    assert main(["estimate", "--gpu", gpu, "--fail-on", fail_on, "--", *command]) == code


def test_an_unknown_verdict_fails_only_where_it_is_asked_to(folder: Path) -> None:
    (folder / "train.py").write_text("from mystery import Model\nModel().cuda()(1).backward()\n")
    assert main(["estimate", "--gpu", "t4", "--fail-on", "borderline", "train.py"]) == 0
    assert main(["estimate", "--gpu", "t4", "--fail-on", "unknown", "train.py"]) == 1


def test_a_script_that_does_not_parse_is_named_with_its_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "train.py").write_text("import torch\ndef step(:\n")
    assert main(["estimate", "--gpu", "t4", "train.py"]) == 0
    assert "could not be followed: train.py does not parse: invalid syntax (line 2)" in capsys.readouterr().out


def test_a_verdict_needs_a_device(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["estimate", "--fail-on", "borderline", "train.py"]) == 2
    assert "--gpu" in capsys.readouterr().err


def test_the_devices_of_this_machine(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    driver = programs / "nvidia-smi"
    driver.write_text("#!/bin/sh\necho 'Tesla T4'\necho 'Tesla T4'\n")
    driver.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    assert devices_here() == ("Tesla T4",)
    found = estimated(capsys, "--gpu", "here", "train.py")
    assert [target["gpu"] for target in found["targets"]] == ["t4"]
    driver.unlink()
    assert main(["estimate", "--gpu", "here", "train.py"]) == 2
    assert "nvidia-smi" in capsys.readouterr().err
