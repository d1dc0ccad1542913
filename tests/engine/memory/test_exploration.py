"""Trying changes of configuration together: what `engine.exploration` answers."""

from __future__ import annotations

import pytest

from engine.estimate import estimate
from engine.exploration import explore
from engine.explored import Exploration
from engine.project import Project

SCRIPT = """
import torch
from torch import nn

model = nn.Sequential(*[nn.Sequential(nn.Linear(2048, 2048), nn.ReLU()) for _ in range(8)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    x = torch.randn(4096, 2048, device="cuda")
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
PROJECT = Project.from_mapping({"train.py": SCRIPT})


def explored(*chosen: str) -> Exploration:
    return explore(PROJECT, "train.py", gpus=("t4",), chosen=chosen)


def expected(exploration: Exploration) -> int:
    assert exploration.occupied is not None, exploration.problem
    return exploration.occupied.expected


def test_without_a_choice_it_is_the_estimate() -> None:
    report = estimate(PROJECT, "train.py", gpus=("t4",))
    exploration = explored()
    assert report.memory is not None
    assert exploration.occupied == report.memory.occupied
    assert exploration.breakdown == report.memory.breakdown
    verdicts = [(target.gpu, target.usable_bytes, target.verdict) for target in report.targets]
    assert [(target.gpu, target.usable_bytes, target.verdict) for target in exploration.targets] == verdicts


def test_one_change_saves_what_the_estimate_says_of_it() -> None:
    savings = {saving.change: saving.occupied_bytes for saving in estimate(PROJECT, "train.py", gpus=("t4",)).savings}
    options = explored().options
    compared = [option for option in options if option.change in savings]
    assert compared
    for option in compared[:3]:
        assert expected(explored(option.key)) == savings[option.change]


def test_changes_add_up_as_a_run_of_their_own() -> None:
    alone = expected(explored("amp-bf16"))
    both = expected(explored("amp-bf16", "8bit-optimizer"))
    assert both < alone < expected(explored())


def test_the_curve_holds_the_peak_and_its_categories() -> None:
    curve = explored().curve
    assert curve is not None
    peak = max(sum(sample.live) for sample in curve.samples)
    report = estimate(PROJECT, "train.py", gpus=("t4",))
    assert report.memory is not None
    assert peak == pytest.approx(report.memory.allocated.expected, rel=1e-4)
    assert {len(sample.live) for sample in curve.samples} == {len(curve.categories)}


@pytest.mark.parametrize("chosen", [("8bit-optimizer", "sgd-optimizer"), ("no-such-change",), ("nf4",)])
def test_what_cannot_be_combined_says_so(chosen: tuple[str, ...]) -> None:
    exploration = explored(*chosen)
    assert exploration.occupied is None and exploration.problem == "these changes cannot be made together"


def test_a_script_that_trains_nothing_has_no_figures() -> None:
    exploration = explore(Project.from_mapping({"train.py": "print(1)\n"}), "train.py")
    assert exploration.occupied is None and exploration.problem
