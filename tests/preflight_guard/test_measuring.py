"""`preflight-measure` runs a script for a few steps and writes what torch's counters say of it."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="measuring needs PyTorch, which is optional")

from hardware_catalog.measurement import find_measurement  # noqa: E402
from preflight_guard.__main__ import main  # noqa: E402

SCRIPT = """
import sys
import torch
from layers import width

model = torch.nn.Linear(width, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(int(sys.argv[1])):
    model(torch.ones(2, width)).sum().backward()
    optimizer.step()
    print("step", step)
"""
GIB = 1 << 30
HEAD = "a" * 40


class Counters:
    """Stands for a device's counters."""

    def __init__(self) -> None:
        self.resets = 0

    def reset(self) -> None:
        self.resets += 1


@pytest.fixture
def counters(monkeypatch: pytest.MonkeyPatch) -> Counters:
    counters = Counters()
    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "synchronize": lambda: None,
        "mem_get_info": lambda: (70 * GIB, 80 * GIB),
        "max_memory_allocated": lambda: 6 * GIB,
        "max_memory_reserved": lambda: 8 * GIB,
        "memory_reserved": lambda: 8 * GIB,
        "get_device_name": lambda: "NVIDIA A100-SXM4-80GB",
        "reset_peak_memory_stats": counters.reset,
    }
    for name, answer in answers.items():
        monkeypatch.setattr(torch.cuda, name, answer)
    for name in ("GITHUB_EVENT_PATH", "GITHUB_SHA", "RANK"):
        monkeypatch.delenv(name, raising=False)
    return counters


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delitem(sys.modules, "layers", raising=False)
    (tmp_path / "layers.py").write_text("width = 4\n", encoding="utf-8")
    path = tmp_path / "train.py"
    path.write_text(SCRIPT, encoding="utf-8")
    return path


def test_a_script_ends_after_its_steady_steps(
    counters: Counters, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--root", str(script.parent), "--head", HEAD, str(script), "100"]) == 0
    printed = capsys.readouterr().out
    assert "step 3" in printed and "step 4" not in printed
    assert counters.resets == 1
    row = json.loads(printed[printed.index("{") :])
    assert (row["entry"], row["head_sha"], row["steps"]) == ("train.py", HEAD, 5)
    assert (row["allocated_bytes"], row["reserved_bytes"], row["context_bytes"]) == (6 * GIB, 8 * GIB, 2 * GIB)


def test_a_script_may_run_to_its_end(counters: Counters, script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(script.parent), "--to-the-end", str(script), "7"]) == 0
    assert '"steps": 7' in capsys.readouterr().out


def test_the_check_run_carries_the_row_for_the_pull_requests_head(
    counters: Counters, script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"head": {"sha": HEAD}}}), encoding="utf-8")
    monkeypatch.setenv("GITHUB_EVENT_PATH", str(event))
    monkeypatch.setenv("GITHUB_SHA", "b" * 40)
    out = tmp_path / "check.json"
    assert main(["--root", str(script.parent), "--check-run", str(out), str(script), "9"]) == 0
    body = json.loads(out.read_text(encoding="utf-8"))
    assert (body["head_sha"], body["status"]) == (HEAD, "completed")
    found = find_measurement(body["output"]["text"])
    assert found is not None and found.reserved_bytes == 8 * GIB


def test_rows_for_the_calibration_hold_the_sources_of_the_repository(counters: Counters, script: Path) -> None:
    out = script.parent / "rows.jsonl"
    assert main(["--root", str(script.parent), "--row", str(out), str(script), "9"]) == 0
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["quantity"] for row in rows] == ["allocated", "reserved"]
    assert set(rows[0]["files"]) == {"train.py", "layers.py"}
    assert rows[1]["value_bytes"] == 8 * GIB


def test_one_rank_writes(
    counters: Counters, script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANK", "1")
    assert main(["--root", str(script.parent), str(script), "9"]) == 0
    assert "{" not in capsys.readouterr().out


def test_trouble_is_named(
    counters: Counters, script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(script.parent / "absent.py")]) == 2
    assert main(["--root", str(script.parent / "elsewhere"), str(script)]) == 2
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 0)
    assert main(["--root", str(script.parent), str(script), "1"]) == 2
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(["--root", str(script.parent), str(script), "1"]) == 2
    said = capsys.readouterr().err
    assert "there is no script" in said
    assert "--root" in said
    assert "allocated nothing" in said
    assert "no CUDA device" in said
