"""What a guard predicted, what torch measured, and the row that the calibration reads."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hardware_catalog import GIB

Verdict = Literal["fits", "borderline", "unlikely", "does-not-fit", "unknown"]


@dataclass(frozen=True)
class Range:
    """Low, expected and high bytes."""

    low: int
    expected: int
    high: int


@dataclass(frozen=True)
class Peaks:
    """What `torch.cuda` counted while the guard was on; bytes."""

    allocated: int
    reserved: int
    device: str
    total: int
    context: int
    torch: str


@dataclass(frozen=True)
class Report:
    """The prediction of a guard, and the peaks where the run is over. All sizes are bytes."""

    verdict: Verdict
    device: str
    available: int
    allocated: Range | None = None
    reserved: Range | None = None
    parameters: int = 0
    """Parameters and buffers."""
    gradients: int = 0
    optimizer_state: int = 0
    inputs: int = 0
    at_peak: Mapping[str, int] | None = None
    """Bytes by category at the allocated peak of a steady step."""
    other: int = 0
    """Held on the device when the guard was entered, beside the model, its optimizers and gradients."""
    notes: tuple[str, ...] = ()
    problem: str | None = None
    """Why nothing was predicted."""
    measured: Peaks | None = None

    @property
    def allocated_error(self) -> float | None:
        """Predicted over measured allocated bytes, less one."""
        return _error(self.allocated, None if self.measured is None else self.measured.allocated)

    @property
    def reserved_error(self) -> float | None:
        """Predicted over measured reserved bytes, less one."""
        return _error(self.reserved, None if self.measured is None else self.measured.reserved)

    def __str__(self) -> str:
        if self.allocated is None or self.reserved is None:
            return f"not checked: {self.problem}"
        lines = [
            f"{self.verdict} on {self.device}: {_gib(self.available)} left for the process",
            f"  allocated {_range(self.allocated)}, reserved {_range(self.reserved)}",
            f"  parameters {_gib(self.parameters)}, gradients {_gib(self.gradients)}, "
            f"optimizer {_gib(self.optimizer_state)}, batch {_gib(self.inputs)}, other {_gib(self.other)}",
        ]
        if self.measured is not None:
            lines.append(
                f"  measured: allocated {_gib(self.measured.allocated)} ({self.allocated_error:+.1%}), "
                f"reserved {_gib(self.measured.reserved)} ({self.reserved_error:+.1%})"
            )
        return "\n".join([*lines, *(f"  note: {note}" for note in self.notes)])

    def rows(self, entry: str, files: Mapping[str, str]) -> list[dict[str, Any]]:
        """Two rows of the calibration's format, one a quantity; empty before torch has measured anything.

        `files` are the program's sources by path, `entry` the one that was started.
        """
        if self.measured is None:
            return []
        return rows(
            entry,
            files,
            {"allocated": self.measured.allocated, "reserved": self.measured.reserved},
            device=self.measured.device,
            torch_version=self.measured.torch,
            truth={"cuda_context_bytes": self.measured.context, "total_bytes": self.measured.total},
        )

    def write(self, path: str | Path, entry: str, files: Mapping[str, str]) -> None:
        """Append the rows to a JSON-lines file."""
        with Path(path).open("a", encoding="utf-8") as out:
            for row in self.rows(entry, files):
                out.write(json.dumps(row) + "\n")


def rows(
    entry: str,
    files: Mapping[str, str],
    peaks: Mapping[str, int],
    *,
    device: str,
    torch_version: str,
    truth: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Rows of the format of `tests/cases/memory/measured.jsonl`, one a quantity of `peaks`."""
    return [
        {
            "id": f"{entry}-{quantity}-here",
            "origin": f"preflight_guard, {device}, torch {torch_version}",
            "quantity": quantity,
            "value_bytes": value,
            "gpu": device,
            "group": f"measured-here/{entry}",
            "entry": entry,
            "files": dict(files),
            "tags": ["measured-here"],
            "confidence": "high",
            "truth": dict(truth),
        }
        for quantity, value in peaks.items()
    ]


def _error(predicted: Range | None, measured: int | None) -> float | None:
    return predicted.expected / measured - 1 if predicted is not None and measured else None


def _gib(size: int) -> str:
    return f"{size / GIB:.2f} GiB"


def _range(value: Range) -> str:
    return f"{_gib(value.low)} to {_gib(value.high)} (expected {_gib(value.expected)})"
