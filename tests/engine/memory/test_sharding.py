"""Sharded runs: what stays on a device, counted by hand."""

import pytest

from engine.estimate import estimate
from engine.findings import EstimateReport
from engine.project import Project

MIB = 1 << 20
BLOCKS = 8
BLOCK_PARAMETERS = 2 * 2048 * 2048

HEAD = f"""
import functools, torch, torch.nn as nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP, MixedPrecision, CPUOffload, fully_shard
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2048, 2048, bias=False)
        self.b = nn.Linear(2048, 2048, bias=False)
    def forward(self, x):
        return self.b(self.a(x))
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range({BLOCKS})])
    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x
torch.distributed.init_process_group("nccl")
torch.cuda.set_device(0)
policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={{Block}})
"""
LOOP = """
for _ in range(3):
    loss = model(torch.rand(1, 2048, device="cuda")).float().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
STEP = "optimizer = torch.optim.AdamW(model.parameters(), fused=True)" + LOOP


def run(source: str, processes: int, **files: str) -> EstimateReport:
    launch = f"torchrun --nproc_per_node {processes} train.py\n"
    project = Project.from_mapping({"train.py": source, "run.sh": launch, **files})
    report = estimate(project, "run.sh", gpus=["a100-80gb"], savings=False)
    assert report.memory is not None, report.notes
    return report


WAYS = {
    "wrapper": "model = FSDP(Net(), auto_wrap_policy=policy)\n",
    "composable": "model = Net()\nfor block in model.blocks:\n    fully_shard(block)\nfully_shard(model)\n",
}


@pytest.mark.parametrize("way", WAYS)
def test_states_shrink_with_the_world_and_two_units_are_whole(way: str) -> None:
    size = BLOCKS * BLOCK_PARAMETERS * 4
    for world in (2, 4):
        memory = run(HEAD + WAYS[way] + STEP, world).memory
        assert memory is not None
        assert memory.breakdown.optimizer == pytest.approx(2 * size / world, rel=0.01)
        # Weights, gradients and two states are shards; two whole units and one flat gradient come and go.
        unit = BLOCK_PARAMETERS * 4
        assert 3 * size / world < memory.allocated.expected < 4 * size / world + 4 * unit + 80 * MIB


def test_every_parameter_is_counted_once() -> None:
    report = run(HEAD + WAYS["wrapper"] + STEP, 4)
    assert report.model.parameters == BLOCKS * BLOCK_PARAMETERS


def test_offloaded_shards_leave_the_device() -> None:
    model = "model = FSDP(Net(), auto_wrap_policy=policy, cpu_offload=CPUOffload(offload_params=True))\n"
    memory = run(HEAD + model + STEP, 2).memory
    assert memory is not None
    assert memory.breakdown.optimizer < MIB  # fused steps count on the device
    assert memory.allocated.expected < 5 * BLOCK_PARAMETERS * 4 + 80 * MIB


ENGINE = """
import deepspeed
model = Net()
config = {{"train_micro_batch_size_per_gpu": 1, "bf16": {{"enabled": True}}, "optimizer": {{"type": "AdamW"}},
    "zero_optimization": {{"stage": {stage}, "reduce_bucket_size": 1000000,
        "offload_optimizer": {{"device": "{device}"}}}}}}
engine, optimizer, _, _ = deepspeed.initialize(model=model, model_parameters=model.parameters(), config=config)
for _ in range(3):
    loss = engine(torch.rand(1, 2048, device="cuda", dtype=torch.bfloat16)).float().mean()
    engine.backward(loss)
    engine.step()
"""


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_zero_partitions_states_then_gradients_then_parameters(stage: int) -> None:
    count, world = BLOCKS * BLOCK_PARAMETERS, 4
    report = run(HEAD + ENGINE.format(stage=stage, device="none"), world)
    memory = report.memory
    assert memory is not None
    assert report.configuration["sharding"].value == f"zero-{stage}"
    assert memory.breakdown.optimizer == pytest.approx(12 * count / world, rel=0.02)
    weights = memory.breakdown.parameters
    assert weights == pytest.approx(2 * count / (world if stage == 3 else 1), rel=0.05)


def test_an_offloaded_optimizer_leaves_the_device() -> None:
    memory = run(HEAD + ENGINE.format(stage=2, device="cpu"), 4).memory
    assert memory is not None
    assert memory.breakdown.optimizer < MIB  # fused steps count on the device
