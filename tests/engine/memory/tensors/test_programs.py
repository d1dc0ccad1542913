"""Whole training programs on shadow tensors against the peaks of PyTorch's own autograd.

The figures are those of torch 2.13.0 run on fake CUDA tensors (sm80) with the caching allocator simulated: the peak of
the second optimizer step, allocated and reserved, in bytes.
"""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

from engine.memory.tensors import Machine, import_module, namespace

PROGRAMS = Path(__file__).parents[3] / "cases" / "shadow_tensors"


class Stop(BaseException):
    """The second step is done."""


def run(source: str, machine: Machine, steps: int = 2) -> None:
    """Execute a program with ``torch`` replaced by the shadow; its window starts after the first step."""
    plain = builtins.__import__

    def importer(name: str, scope: Any = None, local: Any = None, names: Any = (), level: int = 0) -> Any:
        if name.split(".")[0] != "torch":
            return plain(name, scope, local, names, level)
        found = import_module(name)
        if found is None:
            raise ImportError(name)
        return found if names else namespace("torch")

    done = 0

    def on_step(optimizer: Any) -> None:
        nonlocal done
        done += 1
        if done == steps:
            raise Stop
        machine.reset_peak()

    machine.on_step = on_step
    scope = {"__name__": "__main__", "__builtins__": {**vars(builtins), "__import__": importer}}
    with machine:
        try:
            exec(compile(source, "program.py", "exec"), scope)
        except Stop as stop:
            stop.__traceback__ = None


@pytest.mark.parametrize(
    ("program", "allocated", "reserved"),
    [
        ("mlp_adam", 187223040, 216006656),
        ("gpt_float32", 4339944448, 4915724288),
        ("gpt_bfloat16_autocast", 3358673408, 4729077760),
        ("residual_network_sgd", 1064171520, 1755316224),
        ("lstm_float16_scaler", 1452343808, 1652555776),
        ("gpt_checkpointed", 3050816000, 4494196736),
        ("gpt_checkpointed_reentrant", 3051864576, 4494196736),
        ("encoder_label_smoothing", 1581747712, 1780482048),
    ],
)
def test_peak_is_that_of_torch(program: str, allocated: int, reserved: int) -> None:
    machine = Machine(arch="sm80")
    run((PROGRAMS / f"{program}.py").read_text(), machine)
    assert machine.allocator.peak_allocated == pytest.approx(allocated, rel=2e-3)
    assert machine.allocator.peak_reserved == pytest.approx(reserved, rel=1e-2)
    assert sum(machine.allocator.peak_categories().values()) == machine.allocator.peak_allocated


def test_nothing_is_left_when_the_program_has_gone() -> None:
    machine = Machine(arch="sm80")
    run((PROGRAMS / "mlp_adam.py").read_text(), machine)
    workspaces = machine.allocator.categories()["workspace"]
    assert machine.allocator.allocated == workspaces
