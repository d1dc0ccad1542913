"""Small models of every family, a training step each: memory as the libraries themselves use it.

`measured.json` holds the scripts with their figures: the real library's model run on tensors without data, every
allocation of its operators added up. `parameters` is a count; `peak` and `after_forward` (what is allocated when the
backward pass of a steady step starts) are bytes.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engine.memory.libraries import library_module
from engine.memory.observations import Watcher
from engine.memory.program.machine import Interpreter
from engine.memory.tensors import Machine
from engine.project import Project

MEASURED: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "measured.json").read_text(encoding="utf-8"))
DEPTH = 40_000


def steady_step(script: str) -> tuple[int | None, int, int]:
    """Parameters, the peak, and what is allocated when backward starts, both after the first step."""
    interpreter = Interpreter(Project.from_mapping({"step.py": script}), library_module)
    interpreter.entry = "step.py"
    interpreter.state["overrides"] = {}
    starts: list[int] = []
    steps: list[Any] = []
    with Machine(arch="sm80") as machine:
        interpreter.device = machine
        watcher = Watcher(interpreter, machine)

        def on_step(optimizer: Any) -> None:
            watcher.on_step(optimizer)
            steps.append(optimizer)
            if len(steps) == 1:
                machine.reset_peak()
                starts.clear()

        def on_backward(moment: str) -> None:
            if moment == "begin":
                starts.append(machine.allocator.allocated)
            watcher.on_backward(moment)

        machine.on_step, machine.on_backward, machine.on_call = on_step, on_backward, watcher.on_call
        interpreter.run_main("step.py")
        seen = watcher.finish()
        return seen.parameters, machine.allocator.peak_allocated, max(starts)


def on_a_deep_stack(work: Callable[[], Any]) -> Any:
    """Model files nest deeper than a test's own stack allows."""
    box: list[Any] = []
    limit, size = sys.getrecursionlimit(), threading.stack_size(256 * 1024 * 1024)
    sys.setrecursionlimit(DEPTH)
    try:
        thread = threading.Thread(target=lambda: box.append(work()))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(size)
        sys.setrecursionlimit(limit)
    return box[0]


@pytest.mark.parametrize("name", sorted(MEASURED))
def test_a_step_takes_the_memory_that_was_measured(name: str) -> None:
    row = MEASURED[name]
    parameters, peak, after_forward = on_a_deep_stack(lambda: steady_step(row["script"]))
    assert parameters == row["parameters"]
    assert after_forward == pytest.approx(row["after_forward"], rel=0.005)
    assert peak == pytest.approx(row["peak"], rel=0.005)
