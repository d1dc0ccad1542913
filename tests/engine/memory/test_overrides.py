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
WIDE = "nn.Sequential(nn.Linear(64, 4096), nn.GELU(), nn.Linear(4096, 64))"
PROJECT = Project.from_mapping({"train.py": SCRIPT})


def test_a_setting_that_the_program_takes_is_followed() -> None:
    before = estimate(PROJECT, "train.py", savings=False)
    after = estimate(PROJECT, "train.py", overrides={"batch_size": "2048"}, savings=False)
    assert before.memory is not None and after.memory is not None
    assert after.memory.allocated.expected > before.memory.allocated.expected
    assert (after.configuration["batch_size"].value, after.configuration["batch_size"].path) == (2048, "--set")


def test_a_program_without_an_option_for_it_is_run_under_autocast() -> None:
    wide = Project.from_mapping({"train.py": SCRIPT.replace("nn.Linear(64, 64)", WIDE)})
    before = estimate(wide, "train.py", overrides={"batch_size": "2048"}, savings=False)
    asked = {"batch_size": "2048", "precision": "amp-bf16"}
    after = estimate(wide, "train.py", overrides=asked)
    assert before.memory is not None and after.memory is not None
    assert after.memory.allocated.expected < 0.8 * before.memory.allocated.expected
    assert (after.configuration["precision"].value, after.configuration["precision"].path) == ("amp-bf16", "--set")
    assert not any("mixed precision" in saving.change for saving in after.savings)
    assert not any("not followed" in note for note in after.notes)


def test_autocast_of_the_programs_own_stays_as_it_is() -> None:
    own = SCRIPT.replace(
        "    model(x.cuda()).sum()", "    with torch.autocast('cuda'):\n        out = model(x.cuda())\n    out.sum()"
    )
    report = estimate(Project.from_mapping({"train.py": own}), "train.py", overrides={"precision": "amp-bf16"})
    assert any("precision=amp-bf16 was not followed" in note for note in report.notes)
    assert report.configuration["precision"].value == "amp-fp16"


@pytest.mark.parametrize(
    ("key", "value"), [("precision", "pure-bf16"), ("gradient_checkpointing", "on"), ("sharding", "zero-3")]
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
