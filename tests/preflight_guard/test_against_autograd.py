"""The prediction against peaks of the whole program: a real autograd run on fake CUDA tensors, torch 2.13, sm80.

The programs ran to their third step with every storage booked in a caching allocator; the peaks of the last step are
stated here. The guard's rehearsal without CUDA meets them.
"""

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the guard needs PyTorch, which is optional")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

from engine.memory.interval import spreads  # noqa: E402
from preflight_guard import Shape, VRAMGuard  # noqa: E402
from preflight_guard.guard import ALLOCATED_HIGH, ALLOCATED_LOW, RESERVED_HIGH, RESERVED_LOW  # noqa: E402


def perceptron() -> Any:
    model = nn.Sequential(nn.Linear(1024, 4096), nn.ReLU(), nn.Dropout(0.1), nn.Linear(4096, 1000))
    return model, torch.optim.Adam(model.parameters()), (Shape(256, 1024), Shape(256, dtype=torch.long))


def convolutions(frozen: int = 0) -> Any:
    def block(inputs: int, outputs: int) -> Any:
        return nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
        )

    model = nn.Sequential(
        block(3, 64), block(64, 64), nn.MaxPool2d(2), block(64, 128), block(128, 128), nn.MaxPool2d(2),
        block(128, 256), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(256, 100),
    )  # fmt: skip
    for parameter in model[:frozen].parameters():
        parameter.requires_grad = False
    trained = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.SGD(trained, lr=0.1, momentum=0.9, weight_decay=1e-4)
    return model, optimizer, (Shape(32, 3, 64, 64), Shape(32, dtype=torch.long))


class Encoder(nn.Module):
    """Four post-norm layers and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True), 4)
        self.head = nn.Linear(256, 2)

    def forward(self, rows: Any) -> Any:
        return self.head(self.layers(rows).mean(1))


def encoder() -> Any:
    model = Encoder()
    return model, torch.optim.Adafactor(model.parameters()), (Shape(16, 128, 256), Shape(16, dtype=torch.long))


@pytest.mark.parametrize(
    ("build", "allocated", "reserved"),
    [
        (perceptron, 185_965_056, 216_006_656),
        (convolutions, 296_148_480, 396_361_728),
        (lambda: convolutions(frozen=5), 123_161_088, 157_286_400),
        (encoder, 198_483_456, 218_103_808),
    ],
    ids=["perceptron", "convolutions", "frozen", "encoder"],
)
def test_peaks_are_met(build: Any, allocated: int, reserved: int) -> None:
    model, optimizer, batch = build()

    def loss(given: Any, pair: Any) -> Any:
        return F.cross_entropy(given(pair[0]), pair[1])

    report = VRAMGuard(model, optimizer, batch=batch, loss=loss, device="a100").report
    assert report.allocated is not None and report.reserved is not None
    assert report.allocated.expected == pytest.approx(allocated, rel=0.001)
    assert report.reserved.expected == pytest.approx(reserved, rel=0.001)


def test_the_range_is_no_narrower_than_what_the_calibration_found() -> None:
    allocated, reserved = spreads()["allocated-followed"], spreads()["reserved-followed"]
    assert allocated.low >= ALLOCATED_LOW and allocated.high <= ALLOCATED_HIGH
    assert reserved.low >= RESERVED_LOW and reserved.high <= RESERVED_HIGH
