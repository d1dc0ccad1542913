"""What single operators keep for backward and allocate in it, in MiB: each figure is that of PyTorch's own autograd."""

from collections.abc import Mapping

import pytest

from engine.memory.shadow import Launch, shadow_run
from engine.project import Project

MIB = 1 << 20
HEAD = """
import torch
from torch import nn
import torch.nn.functional as F

def memory(shape, function, autocast=False):
    leaf = nn.Parameter(torch.empty(*shape, device="cuda"))
    before = torch.cuda.memory_allocated()
    def forward():
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=autocast):
            return function(leaf * 1.0)
    out = forward()
    kept = torch.cuda.memory_allocated() - before
    return kept

"""


def kept(expression: str, shape: tuple[int, ...], autocast: bool) -> float:
    """MiB alive after `expression` of `x`, a fresh tensor that carries a graph: its output and what is saved."""
    source = f"{HEAD}raise ValueError(memory({shape}, lambda x: {expression}, {autocast}))\n"
    outcome = shadow_run(Project.from_mapping({"train.py": source}), Launch("train.py"))
    assert outcome.problem is not None
    return int(outcome.problem.rpartition("ValueError: ")[2]) / MIB


# 8 MiB of float32; under autocast the input stays float32
KEPT: Mapping[str, float] = {
    "F.relu6(x, True)": 16,
    "F.leaky_relu(x, 0.1, True)": 8,
    "F.elu(x, 1.0, True)": 8,
    "F.selu(x)": 16,
    "F.softsign(x)": 24,
    "x - torch.tanh(x)": 16,
    "F.tanhshrink(x)": 16,
    "torch.zeros(256, 200, 64, device='cuda').index_add_(1, torch.arange(128, device='cuda'), x)": 20.5,
    "torch.complex(x, x).abs()": 32,
    "torch.fft.fft(x).real": 24,
    "torch.logaddexp(x, x)": 16,
    "torch.fmod(x, 3.0)": 8,
    "F.adaptive_avg_pool1d(x, 1)": 0.125,
    "x.mean((0, 1), keepdims=True).squeeze(0)": 0,
}


@pytest.mark.parametrize(("expression", "megabytes"), KEPT.items())
def test_what_an_operator_keeps(expression: str, megabytes: float) -> None:
    assert kept(expression, (256, 128, 64), autocast=False) == pytest.approx(megabytes, abs=0.01)


UNDER_AUTOCAST: Mapping[str, float] = {
    # upsample_* run in float32, whatever comes in
    "F.interpolate(x.bfloat16(), scale_factor=2, mode='linear')": 16,
    "F.interpolate(x.bfloat16(), scale_factor=2)": 16,
    # a sum and a norm read half precision as it is: nothing but the half tensor and the small result
    "x.bfloat16().sum(-1)": 0.125,
    "x.bfloat16().norm(dim=-1)": 4.125,
    "F.prelu(x, torch.ones(1, device='cuda'))": 8,
}


@pytest.mark.parametrize(("expression", "megabytes"), UNDER_AUTOCAST.items())
def test_what_an_operator_keeps_under_autocast(expression: str, megabytes: float) -> None:
    assert kept(expression, (256, 128, 64), autocast=True) == pytest.approx(megabytes, abs=0.01)
