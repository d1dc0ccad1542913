"""`--set`: what was followed is shown as set, what the program does not take is said."""

from __future__ import annotations

import pytest

from engine.estimate import estimate
from engine.project import Project

SCRIPT = """import torch
from torch import nn

model = nn.Linear(64, 64).cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
data = torch.utils.data.TensorDataset(torch.zeros(4096, 64))
for (x,) in torch.utils.data.DataLoader(data, batch_size=8):
    optimizer.zero_grad()
    model(x.cuda()).sum().backward()
    optimizer.step()
"""
PROJECT = Project.from_mapping({"train.py": SCRIPT})


def test_a_setting_that_the_program_takes_is_followed() -> None:
    before = estimate(PROJECT, "train.py", savings=False)
    after = estimate(PROJECT, "train.py", overrides={"batch_size": "2048"}, savings=False)
    assert before.memory is not None and after.memory is not None
    assert after.memory.allocated.expected > before.memory.allocated.expected
    assert (after.configuration["batch_size"].value, after.configuration["batch_size"].path) == (2048, "--set")


@pytest.mark.parametrize(
    ("key", "value"), [("precision", "amp-bf16"), ("gradient_checkpointing", "on"), ("sharding", "zero-3")]
)
def test_a_setting_that_the_program_does_not_take_is_said(key: str, value: str) -> None:
    report = estimate(PROJECT, "train.py", overrides={key: value}, savings=False)
    assert any(f"{key}={value} was not followed" in note for note in report.notes)
    assert key not in report.configuration or report.configuration[key].path != "--set"


@pytest.mark.parametrize(
    "overrides", [{"batch_siz": "4"}, {"batch_size": "many"}, {"batch_size": "0"}, {"precision": "fp7"}]
)
def test_what_is_no_setting_is_refused(overrides: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=next(iter(overrides))[:9]):
        estimate(PROJECT, "train.py", overrides=overrides)
