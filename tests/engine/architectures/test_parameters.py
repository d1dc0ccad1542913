"""Parameter counts: the model files, read by the interpreter, against what is published."""

import pytest

from engine import architectures
from engine.memory.libraries import library_module
from engine.memory.program.machine import Interpreter
from engine.memory.tensors import Machine
from engine.project import Project


def smallest_of_each_type() -> list[architectures.Checkpoint]:
    chosen: dict[str, architectures.Checkpoint] = {}
    for checkpoint in architectures.checkpoints():
        kept = chosen.get(checkpoint.model_type)
        if kept is None or (checkpoint.parameters or 0) < (kept.parameters or 0):
            chosen[checkpoint.model_type] = checkpoint
    return list(chosen.values())


def program(checkpoint: architectures.Checkpoint) -> str:
    if checkpoint.library == "transformers":
        name = checkpoint.architecture
        build = f"from transformers import {name}\nmodel = {name}.from_pretrained({checkpoint.name!r})\n"
    elif checkpoint.library == "timm":
        build = f"import timm\nmodel = timm.create_model({checkpoint.name!r})\n"
    elif checkpoint.library == "torchvision":
        build = f"from torchvision import models\nmodel = models.{checkpoint.name}()\n"
    else:
        name = checkpoint.architecture
        build = f"from diffusers import {name}\nmodel = {name}.from_pretrained({checkpoint.name!r})\n"
    return build + "count = sum(parameter.numel() for parameter in model.parameters())\n"


def count(text: str) -> int:
    interpreter = Interpreter(Project.from_mapping({"count.py": text}), library_module)
    with Machine(arch="sm80") as machine:
        interpreter.device = machine
        interpreter.run_main("count.py")
        return int(interpreter.modules["__main__"].special("__dict__")["count"])


@pytest.mark.parametrize("checkpoint", smallest_of_each_type(), ids=lambda item: f"{item.library}:{item.name}")
def test_parameters_are_those_published(checkpoint: architectures.Checkpoint) -> None:
    assert checkpoint.parameters is not None
    assert count(program(checkpoint)) == pytest.approx(checkpoint.parameters, rel=0.002)
