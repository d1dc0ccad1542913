"""Memory cases and how an estimate is held against one.

A row has an `id`, the `quantity` it states (allocated, reserved, occupied, or a verdict), `value_bytes`, the files of
the program and its `entry`. Rows of `simulated`, `projects`, `written` (scripts and small repositories for mechanisms
that the others lack) and `real_models` come from a real autograd run on fake tensors (torch 2.13, transformers 5.24);
rows of `measured` were measured on real GPUs, each with its `origin`.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.estimate import estimate
from engine.memory.evidence import class_of
from engine.project import Project

ROWS = Path(__file__).parent.parent / "cases" / "memory"


@dataclass(frozen=True)
class Outcome:
    """One estimate against one row. `ratio` is expected/value; None where the row was not resolved."""

    row: str
    source: str
    quantity: str
    evidence: str
    ratio: float | None
    covered: bool = False
    width: float = 0.0
    parameters_right: bool | None = None
    value: int = 0
    low: int = 0
    high: int = 0
    origin: str = ""
    stated: bool = True
    verdict: str = "unknown"
    outcome: str = ""
    note: str = ""


def rows(source: str) -> Iterator[dict[str, Any]]:
    """The rows of one file, as written; those of `native` are measured ones that start from a trainer's own files."""
    native = source == "native"
    for line in (ROWS / f"{'measured' if native else source}.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if not native:
            yield row
        elif row.get("native_entry"):
            yield {**row, "entry": row["native_entry"]}


def hold(row: dict[str, Any], source: str) -> Outcome:
    """Estimate the row's program and compare."""
    gpus = [row["gpu"]] if row.get("gpu") else []
    report = estimate(Project.from_mapping(row["files"]), row["entry"], gpus=gpus, savings=False)
    if report.memory is None:
        note = report.notes[0] if report.notes else ""
        return Outcome(row["id"], source, row["quantity"], report.confidence, None, note=note)
    sharding = report.configuration.get("sharding")
    evidence = class_of(report.confidence, report.notes, sharding.value if sharding is not None else None)
    truth = row.get("truth", {}).get("parameters")
    right = None if not truth else abs((report.model.parameters or 0) / truth - 1) < 0.002
    if row["quantity"] == "verdict":
        verdict = report.targets[0].verdict if report.targets else "unknown"
        return Outcome(row["id"], source, "verdict", evidence, None, verdict=verdict, outcome=row["outcome"])
    got = getattr(report.memory, row["quantity"])
    value = row["value_bytes"]
    return Outcome(
        row["id"],
        source,
        row["quantity"],
        evidence,
        got.expected / value,
        covered=got.low <= value <= got.high,
        width=(got.high - got.low) / max(1, got.expected),
        parameters_right=right,
        value=value,
        low=got.low,
        high=got.high,
        # Rows of one table of figures stand together; simulated ones are each their own.
        origin=str(row.get("origin") or row["id"]),
        stated="counter-not-stated" not in row.get("tags", ()),
    )


def summary(outcomes: Iterable[Outcome]) -> dict[str, float]:
    """Rates over the rows: resolved, mean absolute error, share within 5 %, coverage and median width of the range."""
    every = list(outcomes)
    numbers = [o for o in every if o.ratio is not None]
    verdicts = [o for o in every if o.quantity == "verdict"]
    errors = [abs((o.ratio or 0.0) - 1) for o in numbers]
    known = [o.parameters_right for o in every if o.parameters_right is not None]
    figures = {"rows": float(len(every)), "resolved": (len(numbers) + len(verdicts)) / max(1, len(every))}
    if errors:
        figures |= {
            "mean_error": statistics.mean(errors),
            "within_5": sum(e <= 0.05 for e in errors) / len(errors),
            "coverage": sum(o.covered for o in numbers) / len(numbers),
            "median_width": statistics.median(o.width for o in numbers),
        }
    if known:
        figures["parameters_right"] = sum(known) / len(known)
    return figures
