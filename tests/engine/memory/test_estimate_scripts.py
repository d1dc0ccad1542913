"""Estimates of whole scripts: what they read, and what they say when they cannot follow."""

from engine.estimate import estimate
from engine.project import Project

MLP = """
import torch
from torch import nn

BATCH = 64
model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.Adam(model.parameters())
for step in range(1000):
    x = torch.randn(BATCH, 1024, device="cuda")
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
"""
PARAMETERS = 2 * 1024 * 4096 + 4096 + 1024


def test_a_training_loop() -> None:
    report = estimate(Project.from_mapping({"train.py": MLP}), "train.py", gpus=["t4"])
    assert report.task == "train"
    assert report.model.parameters == PARAMETERS
    assert report.memory is not None
    # Weights, two states, gradients and one foreach temporary of that size at most.
    assert 3 * 4 * PARAMETERS < report.memory.allocated.expected < 6 * 4 * PARAMETERS
    assert report.targets[0].verdict == "fits"
    batch = report.configuration["batch_size"]
    assert (batch.value, batch.path, batch.line) == (64, "train.py", 5)


def test_the_breakdown_adds_up_to_what_is_occupied() -> None:
    memory = estimate(Project.from_mapping({"train.py": MLP}), "train.py", savings=False).memory
    assert memory is not None
    assert sum(memory.breakdown.model_dump().values()) == memory.occupied.expected
    assert memory.occupied.low <= memory.occupied.expected <= memory.occupied.high


def test_a_launch_script_of_the_repository_gives_the_arguments() -> None:
    source = MLP.replace("BATCH = 64", "import sys\nBATCH = int(sys.argv[1])")
    project = Project.from_mapping({"train.py": source, "run.sh": "SIZE=${1:-32}\npython train.py $SIZE\n"})
    report = estimate(project, "train.py", savings=False)
    assert report.configuration["batch_size"].value == 32
    assert any("run.sh" in note for note in report.notes)
    assert estimate(project, "run.sh", savings=False).memory == report.memory


def test_an_unknown_model_gives_no_figure() -> None:
    source = "from mystery import Model\nmodel = Model().cuda()\nfor x in range(3):\n    model(x).backward()\n"
    report = estimate(Project.from_mapping({"train.py": source}), "train.py", gpus=["t4"])
    assert report.memory is None
    assert report.targets[0].verdict == "unknown"
    assert report.notes


def test_a_failing_model_is_named_with_its_place() -> None:
    source = MLP.replace("torch.randn(BATCH, 1024", "torch.randn(BATCH, 1000")
    report = estimate(Project.from_mapping({"train.py": source}), "train.py")
    assert report.memory is None
    assert "train.py:11" in report.notes[0]
