"""What a launch script and its configuration say reaches the estimate."""

from engine.estimate import estimate
from engine.memory.launch import plan
from engine.project import Project

SCRIPT = """
import torch
from accelerate import Accelerator

accelerator = Accelerator()
net = torch.nn.Sequential(torch.nn.Linear(2048, 2048), torch.nn.ReLU(), torch.nn.Linear(2048, 10))
optimizer = torch.optim.AdamW(net.parameters())
net, optimizer = accelerator.prepare(net, optimizer)
for step in range(4):
    optimizer.zero_grad()
    loss = net(torch.randn(64, 2048, device=accelerator.device)).float().sum()
    accelerator.backward(loss)
    optimizer.step()
"""
CONFIG = "distributed_type: {kind}\nmixed_precision: bf16\nnum_processes: 4\n"
LAUNCH = "accelerate launch --config_file accelerate.yaml train.py\n"


def project(kind: str) -> Project:
    return Project.from_mapping({"train.py": SCRIPT, "accelerate.yaml": CONFIG.format(kind=kind), "run.sh": LAUNCH})


def test_processes_and_precision_come_from_the_accelerate_configuration() -> None:
    launch = plan(project("MULTI_GPU"), "run.sh")
    assert (launch.script, launch.world_size) == ("train.py", 4)
    report = estimate(project("MULTI_GPU"), "run.sh", savings=False)
    assert report.configuration["precision"].value == "amp-bf16"
    assert report.memory is not None


def test_sharding_that_is_not_played_never_says_that_a_run_does_not_fit() -> None:
    assert plan(project("MEGATRON_LM"), "train.py").notes[1:] == plan(project("MEGATRON_LM"), "run.sh").notes
    report = estimate(project("MEGATRON_LM"), "run.sh", gpus=["t4"], savings=False)
    assert any("needs less than this" in note for note in report.notes)
    assert report.targets[0].verdict in ("fits", "unknown")
    assert report.confidence != "high"


def test_sharding_of_the_accelerate_configuration_is_played() -> None:
    whole = estimate(project("MULTI_GPU"), "run.sh", savings=False).memory
    assert whole is not None
    for kind, name in (("FSDP", "fsdp"), ("DEEPSPEED", "zero-2")):
        report = estimate(project(kind), "run.sh", savings=False)
        assert report.configuration["sharding"].value == name
        assert report.memory is not None
        assert report.memory.breakdown.optimizer < whole.breakdown.optimizer


def test_a_missing_or_broken_configuration_is_named() -> None:
    files = {"train.py": SCRIPT, "run.sh": LAUNCH}
    assert "not in the repository" in plan(Project.from_mapping(files), "run.sh").notes[0]
    broken = Project.from_mapping({**files, "accelerate.yaml": "a: [1"})
    assert "could not be read" in plan(broken, "run.sh").notes[0]
