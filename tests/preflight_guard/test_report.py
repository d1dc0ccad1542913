"""After a run the report compares prediction and counters, and becomes rows that the calibration reads."""

import json
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the guard needs PyTorch, which is optional")

from torch import nn  # noqa: E402

from preflight_guard import VRAMGuard  # noqa: E402
from preflight_guard import guard as guarding  # noqa: E402
from preflight_guard.rehearsal import rehearse  # noqa: E402
from tests.accuracy.memory_rows import hold  # noqa: E402

GIB = 1 << 30
SCRIPT = """
import torch

model = torch.nn.Linear(1024, 1024).cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(10):
    optimizer.zero_grad()
    model(torch.ones(64, 1024, device="cuda")).sum().backward()
    optimizer.step()
"""


@pytest.fixture
def resets(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A device with 10 of 80 GiB in use: 2 by another process, and 1 by tensors of this one."""
    seen: list[Any] = []
    answers: dict[str, Any] = {
        "is_available": lambda: True,
        "is_initialized": lambda: False,
        "current_device": lambda: 0,
        "synchronize": lambda _: None,
        "mem_get_info": lambda _: (70 * GIB, 80 * GIB),
        "memory_allocated": lambda _: GIB,
        "memory_reserved": lambda _: 8 * GIB,
        "max_memory_allocated": lambda _: 2 * GIB,
        "max_memory_reserved": lambda _: 9 * GIB,
        "get_device_name": lambda _: "NVIDIA A100-SXM4-80GB",
        "reset_peak_memory_stats": seen.append,
    }
    for name, answer in answers.items():
        monkeypatch.setattr(torch.cuda, name, answer)
    # The tensors of the rehearsal cannot be CUDA's here.
    cpu = torch.device("cpu")
    monkeypatch.setattr(guarding, "rehearse", lambda *args, **options: rehearse(*args, **{**options, "device": cpu}))
    return seen


def guard() -> VRAMGuard:
    model = nn.Linear(1024, 1024)
    return VRAMGuard(model, torch.optim.Adam(model.parameters()), batch=(64, 1024), loss=lambda m, b: m(b).sum())


def test_what_the_process_holds_already_counts_and_what_it_reserved_is_its_own(resets: list[Any]) -> None:
    report = guard().report
    assert (report.device, report.available, report.other) == ("NVIDIA A100-SXM4-80GB", 78 * GIB, GIB)
    assert report.allocated is not None
    assert GIB < report.allocated.expected < GIB + GIB // 4


def test_counters_are_read_on_leaving(resets: list[Any]) -> None:
    with guard() as entered:
        assert entered.report.measured is None
    report = entered.report
    assert len(resets) == 1
    assert report.measured is not None and report.allocated is not None and report.allocated_error is not None
    assert report.allocated_error == pytest.approx(report.allocated.expected / (2 * GIB) - 1)
    assert "measured: allocated 2.00 GiB" in str(report)


def test_rows_are_read_by_the_calibration(resets: list[Any], tmp_path: Path) -> None:
    with guard() as entered:
        pass
    entered.report.write(tmp_path / "rows.jsonl", "train.py", {"train.py": SCRIPT})
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    outcomes = [hold(row, "here") for row in rows]
    assert [(each.quantity, each.value) for each in outcomes] == [("allocated", 2 * GIB), ("reserved", 9 * GIB)]
    assert all(each.ratio is not None for each in outcomes)


def test_a_report_without_counters_makes_no_rows() -> None:
    model = nn.Linear(4, 4)
    report = VRAMGuard(model, batch=(2, 4), device_bytes=GIB).report
    assert report.rows("train.py", {}) == []
